package main

import (
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"edigw/as2/smime"
	"edigw/internal/testpki"
	"edigw/partner"
	"edigw/queue"
)

// read gives a page as it is.
func (v visitor) read(t *testing.T, path string) string {
	t.Helper()
	resp, err := v.Get(v.base + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: status %d, %v", path, resp.StatusCode, err)
	}
	return string(body)
}

// shows reports whether a page has a fingerprint in the groups in which it is
// read out over the phone.
func shows(page string, c *x509.Certificate) bool {
	rest := smime.Fingerprint(c)
	for n := 24; len(rest) > 0; rest = rest[min(n, len(rest)):] {
		if !strings.Contains(page, "<span>"+rest[:min(n, len(rest))]+"</span>") {
			return false
		}
	}
	return true
}

// trusts takes the certificate that signed into use, on the page of a message:
// not before it was compared.
func (v visitor) trusts(t *testing.T, letter, message string, known, stranger *x509.Certificate) {
	t.Helper()
	page := v.read(t, "/messages/"+message)
	if !shows(page, known) || !shows(page, stranger) || !strings.Contains(page, "Import this certificate and") {
		t.Fatalf("the page does not show both certificates and what to do:\n%s", page)
	}
	path := "/letters/" + letter + "/trust"
	if code, _ := v.post(t, path, nil); code != http.StatusOK {
		t.Fatalf("no question: status %d", code)
	}
	content := base64.StdEncoding.EncodeToString(stranger.Raw)
	if code, _ := v.post(t, path, url.Values{"sure": {"yes"}, "content": {content}}); code != http.StatusOK {
		t.Fatalf("without the tick: status %d", code)
	}
	other := base64.StdEncoding.EncodeToString(known.Raw)
	if code, _ := v.post(t, path, url.Values{"sure": {"yes"}, "checked": {"yes"}, "content": {other}}); code != http.StatusOK {
		t.Fatalf("another certificate than was compared: status %d", code)
	}
	if code, _ := v.post(t, path, url.Values{"sure": {"yes"}, "checked": {"yes"}, "content": {content}}); code != http.StatusSeeOther {
		t.Fatalf("compared: status %d", code)
	}
}

func operatorOf(t *testing.T, s *site) visitor {
	t.Helper()
	s.person("kim", "operator")
	v := newVisitor(s)
	if code, _ := v.signIn(t, "kim", password); code != http.StatusSeeOther {
		t.Fatalf("no sign-in: %d", code)
	}
	return v
}

// TestReceiptByAStranger: the partner signs receipts with a new certificate. It
// is shown beside the old one, compared, imported, and the receipt is good.
func TestReceiptByAStranger(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	c := newCounterpart(s, "", "")
	known := testpki.SelfSigned(t, testpki.RSA(t, 2), "NORTHWIND", testpki.Valid())
	s.write("keys/old.crt", string(known.CertPEM()))
	s.write("partners/northwind.yaml", fmt.Sprintf("protocol: as2\nas2: {id: NORTHWIND, url: \"%s/as2\"}\ncertificates: {verify: ../keys/old.crt, encrypt: ../keys/northwind.crt}\n", c.server.URL))
	s.start()
	m := s.end(s.sent("northwind", "INV-1", []byte("an invoice")).ID)
	l := s.letter()
	if m.State != string(queue.Dead) || l.Reason != "receipt-invalid" {
		t.Fatalf("%s, %s", m.State, l.Reason)
	}
	operatorOf(t, s).trusts(t, l.ID, m.ID, known.Cert, c.agreement.SigningCertificate)
	if m = s.message(m.ID); m.State != string(queue.Delivered) || len(m.Attempts) != 1 {
		t.Errorf("%s after %d attempts: %+v", m.State, len(m.Attempts), m)
	}
	if n := c.booked()[m.MessageID]; n != 1 {
		t.Errorf("booked %d times", n)
	}
	audited(s, "certificate imported to verify: serial "+smime.CertificateID(c.agreement.SigningCertificate).Serial)
}

// audited wants an entry of the audit log by kim.
func audited(s *site, text string) {
	s.Helper()
	for _, e := range everything[map[string]any](s, "/audit", nil) {
		if said := fmt.Sprint(e); strings.Contains(said, text) && strings.Contains(said, "kim") {
			return
		}
	}
	s.Errorf("the audit log does not say %q", text)
}

// TestMessageByAStranger: the same for a message of theirs, which is processed
// again.
func TestMessageByAStranger(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	c := newSender(s, "")
	known := testpki.SelfSigned(t, testpki.RSA(t, 3), "NORTHWIND", testpki.Valid())
	s.write("keys/northwind.crt", string(known.CertPEM()))
	s.start()
	if got := c.send("<1@northwind.example>", orderX12); got != "processed/error: authentication-failed" {
		t.Fatalf("answered %q", got)
	}
	l := s.letter()
	operatorOf(t, s).trusts(t, l.ID, l.Message, known.Cert, c.sends.SigningCertificate)
	s.await("the document is in the inbox", func() bool {
		found, err := filepath.Glob(s.path("inbox", "northwind", "*", "order.x12"))
		return err == nil && len(found) == 1
	})
	audited(s, "certificate imported to verify")
}

// TestEncryptedForAnotherKey: the letter names for whom the message is, and
// which keys we hold.
func TestEncryptedForAnotherKey(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	c := newSender(s, "")
	c.renewFile()
	s.start()
	gone := testpki.SelfSigned(t, testpki.RSA(t, 3), "ACME-OLD", testpki.Valid())
	c.sends.Recipients = []*x509.Certificate{gone.Cert}
	if got := c.send("<1@northwind.example>", orderX12); got != "processed/error: decryption-failed" {
		t.Fatalf("answered %q", got)
	}
	want := fmt.Sprintf("message is encrypted for %s; we hold %s", smime.CertificateID(gone.Cert), smime.CertificateID(s.own.Cert))
	if l := s.letter(); l.Reason != "signature" || l.Detail != want {
		t.Errorf("%s: %s\nwant %s", l.Reason, l.Detail, want)
	}
}

// renewFile puts their certificate of today in place before the start.
func (c *sender) renewFile() {
	c.site.Helper()
	c.site.write("keys/northwind.crt", string(testpki.Identity{Key: c.sends.SigningKey, Cert: c.sends.SigningCertificate}.CertPEM()))
}

// TestDaysLeftFollowTheClock: a use is covered as long as the last of its
// certificates, and the metric goes below zero when that has ended.
func TestDaysLeftFollowTheClock(t *testing.T) {
	t.Parallel()
	day := func(n int) time.Time { return time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC).AddDate(0, 0, n) }
	all := []partner.CertificateInfo{{Owner: "a", Use: "encrypt", Ends: day(14)}, {Owner: "a", Use: "encrypt", Ends: day(60)}, {Owner: "edigw", Use: "sign", Ends: day(1)}}
	for n, want := range map[int]map[ownerUse]int{
		0:  {{"a", "encrypt"}: 60, {"edigw", "sign"}: 1},
		30: {{"a", "encrypt"}: 30, {"edigw", "sign"}: -29},
		61: {{"a", "encrypt"}: -1, {"edigw", "sign"}: -60},
	} {
		if got := certificateDays(all, day(n)); !maps.Equal(got, want) {
			t.Errorf("day %d: %v, want %v", n, got, want)
		}
	}
}

// TestOurCertificateIsDownloaded: the page has each certificate of ours as a
// file for partners, without its key.
func TestOurCertificateIsDownloaded(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	s.start()
	v := operatorOf(t, s)
	page := v.read(t, "/certificates?owner=edigw")
	_, link, found := strings.Cut(page, `href="/certificates/ours?sha256=`)
	link, _, _ = strings.Cut(link, `"`)
	if !found {
		t.Fatalf("no link:\n%s", page)
	}
	code, own := s.run("cert", "export")
	if got := v.read(t, "/certificates/ours?sha256="+link); code != exitFine || got != own || !strings.Contains(got, "BEGIN CERTIFICATE") {
		t.Errorf("downloaded %q, want what cert export prints: %q", got, own)
	}
	resp, err := v.Get(v.base + "/certificates/ours?sha256=00:11")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusNotFound {
		t.Errorf("another fingerprint: status %d", resp.StatusCode)
	}
}
