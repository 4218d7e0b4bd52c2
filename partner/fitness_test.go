package partner

import (
	"edigw/internal/testfixture"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestForeignCertificates: those of other products are X.509 v1, have no key
// usage, or say that they are authorities. They are pinned, so they will do.
func TestForeignCertificates(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(testfixture.Path(t, "as2", "keys", "*.crt"))
	if err != nil || len(files) != 4 {
		t.Fatal(files, err)
	}
	at := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	dir := installation(t)
	s := mustLoad(t, dir)
	for _, file := range files {
		data := []byte(read(t, file))
		if _, err := s.Import(Import{Owner: "minimal", Use: []string{UseVerify, UseEncrypt}, Data: data}, at); err != nil {
			t.Errorf("%s: %v", filepath.Base(file), err)
		}
	}
	a, err := mustLoad(t, dir).Receiving("minimal", at)
	if err != nil || len(a.Verify) != 5 || len(a.Recipients) != 1 {
		t.Errorf("verifies with %d, encrypts to %d, %v", len(a.Verify), len(a.Recipients), err)
	}
}

// TestShortKeyOfAPartnerIsWarnedOf: it is his, and works.
func TestShortKeyOfAPartnerIsWarnedOf(t *testing.T) {
	t.Parallel()
	dir := installation(t)
	edit(t, filepath.Join(dir, "good", "minimal.yaml"), "verify: ../keys/northwind-2026.der", "verify: ../keys/acme-weak.pem")
	s, problems, err := Load(filepath.Join(dir, "edigw.yaml"), today)
	if err != nil {
		t.Fatal(err)
	}
	if text := lines(problems); !strings.Contains(text, "good/minimal.yaml:3: warning: certificates.verify[0].file: keys/acme-weak.pem holds an RSA key of 1024 bits; 2048 is the least") {
		t.Errorf("not warned of:\n%s", text)
	}
	if a, err := s.Receiving("minimal", today); err != nil || len(a.Verify) != 1 {
		t.Errorf("%d, %v", len(a.Verify), err)
	}
}

// TestClientCertificatesNobodyAsksForAreAMistake: every message would be
// refused.
func TestClientCertificatesNobodyAsksForAreAMistake(t *testing.T) {
	t.Parallel()
	for listener, mistake := range map[string]bool{", client: request}": false, ", client: require}": false, ", client: none}": true, "}": true} {
		dir := installation(t)
		edit(t, filepath.Join(dir, "edigw.yaml"), ", client: request}", listener)
		s, problems, err := Load(filepath.Join(dir, "edigw.yaml"), today)
		if err != nil {
			t.Fatal(err, lines(problems))
		}
		p, _ := s.Partner("every-key")
		if text := lines(p.Problems); p.Misconfigured != mistake || mistake != strings.Contains(text, "tls.inbound: their client certificate is never asked for") {
			t.Errorf("%s: misconfigured %t\n%s", listener, p.Misconfigured, text)
		}
	}
}

// TestClientCertificatesOfAPartner: nil asks for none; an empty list lets
// nobody in.
func TestClientCertificatesOfAPartner(t *testing.T) {
	t.Parallel()
	s := mustLoad(t, installation(t))
	for _, test := range []struct {
		id   string
		at   time.Time
		n    int
		asks bool
	}{
		{"minimal", today, 0, false},
		{"every-key", today, 1, true},
		{"every-key", time.Date(2049, 12, 31, 12, 0, 0, 0, time.UTC), 0, true},
	} {
		a, err := s.Receiving(test.id, test.at)
		if err != nil || len(a.Receive.Clients) != test.n || (a.Receive.Clients != nil) != test.asks {
			t.Errorf("%s at %v: %d clients, asked for: %t, %v", test.id, test.at, len(a.Receive.Clients), a.Receive.Clients != nil, err)
		}
	}
}
