package exchange_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"edigw/fault"
	"edigw/internal/exchange"
	"edigw/internal/testpki"
)

func serverConfig(id testpki.Identity) *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{id.TLS()}}
}

func TestServerTrust(t *testing.T) {
	t.Parallel()
	ca := testpki.CA(t, "Root", testpki.Valid())
	middle := ca.Intermediate(t, "Middle", testpki.Valid())
	selfSigned := testpki.Server(t)
	nameless := testpki.SelfSigned(t, testpki.P256(t), "AS2 box", testpki.Valid())
	issued := middle.Issue(t, testpki.P256(t), "server", testpki.Valid(), "127.0.0.1")
	expired := ca.Issue(t, testpki.P256(t), "old", testpki.Expired(), "127.0.0.1")
	early := ca.Issue(t, testpki.P256(t), "new", testpki.Span{NotBefore: time.Now().Add(time.Hour), NotAfter: time.Now().AddDate(1, 0, 0)}, "127.0.0.1")
	expiredPin := testpki.SelfSigned(t, testpki.P256(t), "old pin", testpki.Expired(), "127.0.0.1")
	otherHost := ca.Issue(t, testpki.P256(t), "other", testpki.Valid(), "other.northwind.example")

	for name, tc := range map[string]struct {
		server testpki.Identity
		trust  []*x509.Certificate
		words  string // empty: trusted
	}{
		"pinned self-signed":            {selfSigned, []*x509.Certificate{selfSigned.Cert}, ""},
		"pin without any name":          {nameless, []*x509.Certificate{nameless.Cert}, ""},
		"pinned leaf of an unlisted CA": {issued, []*x509.Certificate{issued.Cert}, ""},
		"listed CA, through another":    {issued, []*x509.Certificate{ca.Cert}, ""},
		"not listed":                    {selfSigned, []*x509.Certificate{ca.Cert}, "not trusted"},
		"system roots do not know it":   {selfSigned, nil, "not trusted"},
		"expired":                       {expired, []*x509.Certificate{ca.Cert}, "valid only from"},
		"not yet valid":                 {early, []*x509.Certificate{ca.Cert}, "valid only from"},
		"expired pin":                   {expiredPin, []*x509.Certificate{expiredPin.Cert}, "valid only from"},
		"of another host":               {otherHost, []*x509.Certificate{ca.Cert}, "is not for 127.0.0.1 but for other.northwind.example"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := listen(t, serverConfig(tc.server), answering(reply(200, "ok")))
			res, out := send(t, client(t, exchange.Settings{Trust: tc.trust}), "https://"+p.addr, "document")
			if tc.words == "" {
				wantOutcome(t, out, fault.PhaseDone, fault.CauseNone)
				if res != nil && out.Timings.TLS == 0 {
					t.Error("the handshake took no time")
				}
				return
			}
			serial := exchange.Serial(tc.server.Cert.SerialNumber)
			wantOutcome(t, out, fault.PhaseTLS, fault.CauseTLSTrust, tc.words, serial)
			if want := "127.0.0.1 serial " + serial; out.Suspect != want {
				t.Errorf("suspect: got %q, want %q", out.Suspect, want)
			}
		})
	}
}

func TestCertificatesAreJudgedByTheClockGiven(t *testing.T) {
	t.Parallel()
	id := testpki.Server(t)
	p := listen(t, serverConfig(id), answering(reply(200, "ok")))
	s := exchange.Settings{Trust: []*x509.Certificate{id.Cert}, Now: func() time.Time { return id.Cert.NotAfter.Add(time.Second) }}
	_, out := send(t, client(t, s), "https://"+p.addr, "document")
	wantOutcome(t, out, fault.PhaseTLS, fault.CauseTLSTrust)
}

func TestClientCertificate(t *testing.T) {
	t.Parallel()
	ca := testpki.CA(t, "Partner CA", testpki.Valid())
	server := testpki.Server(t)
	ours := ca.Issue(t, testpki.P256(t), "acme", testpki.Valid(), "acme.example")
	stranger := testpki.SelfSigned(t, testpki.P256(t), "stranger", testpki.Valid(), "acme.example")
	pool := x509.NewCertPool()
	pool.AddCert(ca.Cert)

	give := func(id testpki.Identity) func() (*tls.Certificate, error) {
		c := id.TLS()
		return func() (*tls.Certificate, error) { return &c, nil }
	}
	for name, tc := range map[string]struct {
		client func() (*tls.Certificate, error)
		cause  fault.Cause
		words  string
	}{
		"the right one": {give(ours), fault.CauseNone, ""},
		"none":          {nil, fault.CauseTLS, "it "},
		"a stranger's":  {give(stranger), fault.CauseTLS, "it "},
		"cannot be read": {func() (*tls.Certificate, error) { return nil, io.ErrUnexpectedEOF },
			fault.CauseKey, "Our client certificate"},
	} {
		for version, max := range map[string]uint16{"TLS 1.2": tls.VersionTLS12, "TLS 1.3": tls.VersionTLS13} {
			t.Run(name+"/"+version, func(t *testing.T) {
				t.Parallel()
				config := serverConfig(server)
				config.ClientAuth, config.ClientCAs, config.MaxVersion = tls.RequireAndVerifyClientCert, pool, max
				p := listen(t, config, answering(reply(200, "ok")))
				s := exchange.Settings{Trust: []*x509.Certificate{server.Cert}, Client: tc.client}
				_, out := send(t, client(t, s), "https://"+p.addr, "document")
				if tc.cause == fault.CauseNone {
					wantOutcome(t, out, fault.PhaseDone, fault.CauseNone)
					return
				}
				wantOutcome(t, out, fault.PhaseTLS, tc.cause, tc.words)
			})
		}
	}
}

func TestServerThatDoesNotSpeakTLS(t *testing.T) {
	t.Parallel()
	p := listen(t, nil, func(c net.Conn, _ *bufio.Reader) {
		io.WriteString(c, "HTTP/1.0 400 Bad Request\r\n\r\n")
		io.Copy(io.Discard, c)
	})
	_, out := send(t, client(t, exchange.Settings{}), "https://"+p.addr, "document")
	wantOutcome(t, out, fault.PhaseTLS, fault.CauseTLS, "does not speak TLS")

	p = listen(t, nil, func(c net.Conn, r *bufio.Reader) { r.Peek(1); reset(c) })
	_, out = send(t, client(t, exchange.Settings{}), "https://"+p.addr, "document")
	wantOutcome(t, out, fault.PhaseTLS, fault.CauseTLS, "during the TLS handshake")
}

func TestResetBehindTLSIsToldApart(t *testing.T) {
	t.Parallel()
	id := testpki.Server(t)
	p := listen(t, serverConfig(id), func(c net.Conn, r *bufio.Reader) {
		readRequest(r)
		reset(c)
	})
	s := exchange.Settings{Trust: []*x509.Certificate{id.Cert}}
	_, out := send(t, client(t, s), "https://"+p.addr, "document")
	wantOutcome(t, out, fault.PhaseSent, fault.CauseReset)
}

func TestCheck(t *testing.T) {
	t.Parallel()
	id := testpki.Server(t)
	s := exchange.Settings{Trust: []*x509.Certificate{id.Cert}}
	for status, ok := range map[int]bool{200: true, 301: true, 401: true, 404: true, 405: true, 500: true, 502: false, 503: false, 504: false} {
		p := listen(t, serverConfig(id), answering(reply(status, "")))
		got := exchange.Check(t.Context(), client(t, s), "https://"+p.addr+"/as2", limits())
		if got.OK() != ok || got.Outcome.Status != status {
			t.Errorf("%d: got OK %v, status %d (%s)", status, got.OK(), got.Outcome.Status, got.Outcome.Detail)
		}
		if names := strings.TrimSuffix(stepNames(got), "!"); names != "TCP TLS HTTP" {
			t.Errorf("%d: got steps %q", status, names)
		}
	}
}

func TestCheckStopsAtTheStepThatFailed(t *testing.T) {
	t.Parallel()
	id := testpki.Server(t)
	p := listen(t, serverConfig(id), answering(reply(200, "")))
	untrusted := exchange.Check(t.Context(), client(t, exchange.Settings{}), "https://"+p.addr, limits())
	if names := stepNames(untrusted); names != "TCP TLS!" || untrusted.OK() {
		t.Errorf("untrusted: got steps %q", names)
	}
	nowhere := exchange.Check(t.Context(), client(t, exchange.Settings{Resolver: noNames()}), "https://nx.invalid", limits())
	if names := stepNames(nowhere); names != "DNS!" || nowhere.OK() {
		t.Errorf("no such name: got steps %q", names)
	}
	silent := listen(t, nil, func(_ net.Conn, r *bufio.Reader) { readHeader(r); <-t.Context().Done() })
	mute := exchange.Check(t.Context(), client(t, exchange.Settings{}), "http://"+silent.addr, exchange.Limits{Response: short})
	if names := stepNames(mute); names != "TCP HTTP!" || mute.Outcome.Cause != fault.CauseTimeout {
		t.Errorf("silent: got steps %q, cause %q", names, mute.Outcome.Cause)
	}
	if bad := exchange.Check(context.Background(), client(t, exchange.Settings{}), "ftp://northwind.example", limits()); bad.OK() {
		t.Error("an ftp address passed the check")
	}
}

func stepNames(r exchange.Report) string {
	var names string
	for i, s := range r.Steps {
		if i > 0 {
			names += " "
		}
		names += s.Name
		if !s.OK {
			names += "!"
		}
	}
	return names
}
