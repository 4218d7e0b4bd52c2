package partner

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"edigw/internal/testpki"
)

// TestWhatEndedIsAMistakeWhereItIsNeeded: the files are well formed, and still
// every document would die. Nobody is misconfigured by it.
func TestWhatEndedIsAMistakeWhereItIsNeeded(t *testing.T) {
	t.Parallel()
	r := newRollover(t)
	write(t, filepath.Join(r.dir, "partners", "plain.yaml"), `protocol: as2
as2: {id: PLAIN, url: "https://as2.plain.example/as2", sign: none, encrypt: none, mdn: {mode: none}}
`)
	said := func(at time.Time) (mistakes, warnings []string) {
		s, _, err := Load(filepath.Join(r.dir, "edigw.yaml"), at)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range s.Outlook(at) {
			text := fmt.Sprintf("%s %s: %s", p.File, p.Key, p.Reason)
			if p.Warning {
				warnings = append(warnings, text)
				continue
			}
			mistakes = append(mistakes, text)
		}
		for _, id := range s.IDs() {
			if p, _ := s.Partner(id); p.Misconfigured {
				t.Errorf("%s is misconfigured", id)
			}
		}
		return mistakes, warnings
	}
	if mistakes, warnings := said(today); len(mistakes)+len(warnings) > 0 {
		t.Errorf("today: %q, %q", mistakes, warnings)
	}
	mistakes, warnings := said(today.AddDate(3, 0, 0))
	for i, m := range mistakes {
		mistakes[i], _, _ = strings.Cut(m, " in keys/") // serials differ from run to run
		_, follows, _ := strings.Cut(m, "Z: ")
		mistakes[i] += ": " + follows
	}
	if diff := cmp.Diff([]string{
		"edigw.yaml keys: our signing key: nothing that needs it works with northwind",
		"edigw.yaml keys: our key to decrypt: nothing that needs it works with northwind",
		"partners/northwind.yaml certificates.encrypt: the partner's certificate: every document to them becomes a dead letter",
		"partners/northwind.yaml certificates.verify: the partner's certificate: every document to them becomes a dead letter",
		"partners/northwind.yaml tls.client: our client certificate: every connection to them fails",
	}, mistakes); diff != "" {
		t.Errorf("mistakes (-want +got):\n%s", diff)
	}
	for _, w := range warnings { // what is a mistake is not told again
		if strings.Contains(w, noneInForce) && !strings.Contains(w, "tls.trust") {
			t.Errorf("told twice: %s", w)
		}
	}
}

// TestOwnKeyOutOfUseIsNamedOnceForEachUse: which use it is decides what stops.
func TestOwnKeyOutOfUseIsNamedOnceForEachUse(t *testing.T) {
	t.Parallel()
	dir := installation(t)
	_, problems, err := Load(filepath.Join(dir, "edigw.yaml"), today.AddDate(60, 0, 0))
	if err != nil {
		t.Fatal(err)
	}
	text := lines(problems)
	for _, use := range []string{"to sign: none is in force; ", "to decrypt: none is in force; "} {
		if strings.Count(text, "warning: keys: "+use) != 1 {
			t.Errorf("%q is not there once in\n%s", use, text)
		}
	}
}

// TestStagedCertificateIsTheNewestToCome.
func TestStagedCertificateIsTheNewestToCome(t *testing.T) {
	t.Parallel()
	r := newRollover(t)
	s := mustLoad(t, r.dir)
	for _, use := range []string{UseSign, UseDecrypt} {
		c, err := s.StagedCertificate(use, today)
		if err != nil || r.names[string(c.Raw)] != "next" {
			t.Errorf("%s: %v", use, err)
		}
		if got, ok := s.OwnCertificateOf(colons(newLeaf(c).sum[:])); !ok || !got.Equal(c) {
			t.Errorf("%s: not found by its fingerprint", use)
		}
		if c, err := s.StagedCertificate(use, today.AddDate(0, 0, 30)); err == nil {
			t.Errorf("%s: %s is in use by then", use, c.Subject)
		}
	}
	if _, ok := s.OwnCertificateOf("00:11"); ok {
		t.Error("found one that is not there")
	}
}

// TestStoresOfKeysAreNoCertificates: also a P12 in BER, and one cut off.
func TestStoresOfKeysAreNoCertificates(t *testing.T) {
	t.Parallel()
	id := testpki.SelfSigned(t, testpki.P256(t), "p12.example", span2026)
	for name, c := range map[string]struct {
		data []byte
		is   bool
	}{
		"long form":   {[]byte{0x30, 0x82, 0x09, 0x51, 0x02, 0x01, 0x03, 0x30}, true},
		"indefinite":  {[]byte{0x30, 0x80, 0x02, 0x01, 0x03, 0x30}, true},
		"short form":  {[]byte{0x30, 0x10, 0x02, 0x01, 0x03}, true},
		"certificate": {id.Cert.Raw, false},
		"cut off":     {[]byte{0x30, 0xff}, false},
		"nothing":     {nil, false},
		"PEM key":     {id.KeyPEM(t), true},
	} {
		if got := HoldsPrivateKey(c.data); got != c.is {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestAMistakeSaysWhoseValueItIs: in the partner's file nobody would find it.
func TestAMistakeSaysWhoseValueItIs(t *testing.T) {
	t.Parallel()
	r := newRollover(t)
	edit(t, filepath.Join(r.dir, "edigw.yaml"), "identity:", "defaults: {as2: {version: \"1.3\", encrypt_to_self: false, mdn: {algorithm: sha1}}}\nidentity:")
	_, problems, err := Load(filepath.Join(r.dir, "edigw.yaml"), today)
	if err != nil {
		t.Fatal(err)
	}
	const want = "as2.mdn.algorithm: AS2 1.3 from defaults in edigw.yaml does not allow SHA-1; it is from defaults in edigw.yaml"
	if !strings.Contains(lines(problems), want) {
		t.Errorf("want %q in\n%s", want, lines(problems))
	}
}
