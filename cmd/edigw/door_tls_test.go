package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"edigw/internal/testpki"
)

// replace changes a settings file in one place.
func (s *site) replace(name, from, to string) {
	s.Helper()
	text, err := os.ReadFile(s.path(name))
	if err != nil || !strings.Contains(string(text), from) {
		s.Fatalf("%s does not hold %q, %v", name, from, err)
	}
	s.write(name, strings.Replace(string(text), from, to, 1))
}

// handshake connects to the partners' listener, with a client certificate or
// without, and gives the certificate of the listener.
func (s *site) handshake(client *testpki.Identity) (*x509.Certificate, error) {
	config := &tls.Config{InsecureSkipVerify: true} //nolint:gosec // what it shows is compared
	if client != nil {
		config.Certificates = []tls.Certificate{client.TLS()}
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	d := tls.Dialer{Config: config}
	conn, err := d.DialContext(ctx, "tcp", s.receive)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	// In TLS 1.3 a server that wants a certificate says so after the handshake.
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: edigw\r\nConnection: close\r\n\r\n"); err != nil {
		return nil, err
	}
	if _, err := io.ReadAll(conn); err != nil {
		return nil, err
	}
	return conn.(*tls.Conn).ConnectionState().PeerCertificates[0], nil
}

// TestListenersCertificateIsRenewedByReload, and whether clients must show
// one; nothing is restarted.
func TestListenersCertificateIsRenewedByReload(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	first, second := testpki.Server(t), testpki.Server(t)
	client := testpki.SelfSigned(t, testpki.P256(t), "northwind", testpki.Valid(), "northwind.example")
	put := func(id testpki.Identity) {
		s.write("keys/tls.pem", string(id.CertPEM()))
		s.write("keys/tls.key", string(id.KeyPEM(t)))
	}
	put(first)
	s.replace("edigw.yaml", "base_url: \"http://", "tls: {cert: keys/tls.pem, key: keys/tls.key, client: none}, base_url: \"http://")
	s.start()
	sees := func(want testpki.Identity, client *testpki.Identity) {
		t.Helper()
		if got, err := s.handshake(client); err != nil || !got.Equal(want.Cert) {
			t.Fatalf("the listener shows another certificate: %v", err)
		}
	}
	sees(first, nil)
	reload := func() {
		t.Helper()
		if code, text := s.run("reload"); code != exitFine || strings.Contains(text, "restart") {
			t.Fatalf("reload: %d, %s", code, text)
		}
	}
	put(second)
	sees(first, nil) // files are not watched
	reload()
	sees(second, nil)

	s.replace("edigw.yaml", "client: none}", "client: require}")
	reload()
	if _, err := s.handshake(nil); err == nil {
		t.Error("a client without a certificate is let in")
	}
	sees(second, &client)

	s.write("keys/tls.key", "not a key") // a bad file leaves the old one
	if code, text := s.run("reload"); code == exitFine || !strings.Contains(text, "listen.partners.tls") {
		t.Errorf("a bad key: %d, %s", code, text)
	}
	sees(second, &client)
}

// TestClientCertificateOfAPartner: whoever posts in the name of a partner with
// tls.inbound must hold the key.
func TestClientCertificateOfAPartner(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	listener := testpki.Server(t)
	theirs := testpki.SelfSigned(t, testpki.P256(t), "northwind", testpki.Valid(), "northwind.example")
	other := testpki.SelfSigned(t, testpki.P256(t), "northwind", testpki.Valid(), "northwind.example")
	s.write("keys/tls.pem", string(listener.CertPEM()))
	s.write("keys/tls.key", string(listener.KeyPEM(t)))
	s.write("keys/northwind-login.crt", string(theirs.CertPEM()))
	s.replace("edigw.yaml", "base_url: \"http://", "tls: {cert: keys/tls.pem, key: keys/tls.key, client: request}, base_url: \"https://")
	c := newSender(s, "")
	c.renewFile()
	s.replace("partners/northwind.yaml", "certificates:", "tls: {inbound: ../keys/northwind-login.crt}\ncertificates:")
	if code, text := s.run("check"); code != exitFine {
		t.Fatalf("check: %d, %s", code, text)
	}
	s.start()
	for n, test := range []struct {
		client *testpki.Identity
		want   int
	}{{nil, http.StatusForbidden}, {&other, http.StatusForbidden}, {&theirs, http.StatusOK}} {
		config := &tls.Config{InsecureSkipVerify: true} //nolint:gosec // the test is about the client
		if test.client != nil {
			config.Certificates = []tls.Certificate{test.client.TLS()}
		}
		transport := &http.Transport{TLSClientConfig: config}
		req, _ := c.request("https://"+s.receive, fmt.Sprintf("<%d@northwind.example>", n), orderX12)
		res, err := (&http.Client{Transport: transport, Timeout: patience}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		transport.CloseIdleConnections()
		if res.StatusCode != test.want {
			t.Errorf("client %d: status %d, want %d", n, res.StatusCode, test.want)
		}
	}
}
