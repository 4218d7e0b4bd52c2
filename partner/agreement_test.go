package partner

import (
	"crypto/x509"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"edigw/as2"
	"edigw/as2/smime"
	"edigw/fault"
)

func serials(list []*x509.Certificate) []string {
	var out []string
	for _, c := range list {
		out = append(out, smime.CertificateID(c).Serial)
	}
	return out
}

func mustAgreement(t *testing.T, s *Snapshot, id string, now time.Time) as2.Agreement {
	t.Helper()
	a, err := s.Agreement(id, now)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// The samples roll over on 1 January 2027: ours from 4F:20 to 4F:21 at 00:00
// UTC, theirs from 4F:22 to 4F:23 at 00:00 in Berlin; 4F:20 is encrypted to, too,
// since it is the one of ours that decrypts.
func TestKeysInForce(t *testing.T) {
	t.Parallel()
	s := mustLoad(t, installation(t))
	berlin := zone(t, "Europe/Berlin")
	type inForce struct {
		Sign                     string
		Encrypt, Verify, Decrypt []string
	}
	for _, test := range []struct {
		name string
		now  time.Time
		want inForce
	}{
		{"before the roll-over", at(t, berlin, "2026-12-31 23:59"), inForce{"4F:20", []string{"4F:22", "4F:20"}, []string{"4F:22"}, []string{"4F:20"}}},
		{"their new one has begun", at(t, berlin, "2027-01-01 00:00"), inForce{"4F:20", []string{"4F:23", "4F:20"}, []string{"4F:22", "4F:23"}, []string{"4F:20"}}},
		{"ours, too", at(t, time.UTC, "2027-01-01 00:00"), inForce{"4F:21", []string{"4F:23", "4F:20"}, []string{"4F:22", "4F:23"}, []string{"4F:20"}}},
		{"the last day of ours", at(t, time.UTC, "2049-06-30 23:59"), inForce{"4F:21", []string{"4F:23", "4F:20"}, []string{"4F:22", "4F:23"}, []string{"4F:20"}}},
		{"back to the one that is left", at(t, time.UTC, "2049-07-01 00:00"), inForce{"4F:20", []string{"4F:23", "4F:20"}, []string{"4F:22", "4F:23"}, []string{"4F:20"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			a := mustAgreement(t, s, "every-key", test.now)
			got := inForce{smime.CertificateID(a.SigningCertificate).Serial, serials(a.Recipients), serials(a.Verify), nil}
			for _, r := range a.Decrypt {
				got.Decrypt = append(got.Decrypt, smime.CertificateID(r.Certificate).Serial)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAgreementHoldsWhatTheFileSays(t *testing.T) {
	t.Parallel()
	s := mustLoad(t, installation(t))
	a := mustAgreement(t, s, "every-key", today)
	if a.From != "ACME-DE" || a.To != "NORTHWIND" || a.URL != "https://as2.northwind.example/as2" || a.Subject != "Invoice {reference}" {
		t.Errorf("names and URL: %q %q %q %q", a.From, a.To, a.URL, a.Subject)
	}
	if a.AuthUser != "acme" || a.AuthPassword != "northwind-test" {
		t.Errorf("login %q, password right: %t", a.AuthUser, a.AuthPassword == "northwind-test")
	}
	if a.MDN != (as2.MDNRequest{Mode: as2.MDNAsync, Signed: true, Algorithm: digest("sha256"), URL: "https://edi.acme.example/as2"}) {
		t.Errorf("MDN: %+v", a.MDN)
	}
	if a.Compress != as2.CompressBeforeSign || a.Encrypt != smime.AES256CBC || !a.Receive.Signed || !a.Receive.Encrypted {
		t.Errorf("layers: %+v", a)
	}
	if a.Version != "1.2" || !a.PSS || !a.AlgorithmProtection || !a.KeyID || !a.DashlessNames || a.OmitCertificate || !a.Chunked || !a.ExpectContinue {
		t.Errorf("signature and transfer: %+v", a)
	}
	if want := (smime.KeyTransport{OAEP: true, Hash: digest("sha256"), MGF: digest("sha256")}); a.Transport != want {
		t.Errorf("key transport %+v", a.Transport)
	}
	if want := (as2.MICRules{Unsigned: digest("sha256"), CompressedBody: true, EncodedBody: true}); a.Receive.MIC != want {
		t.Errorf("MIC rules %+v", a.Receive.MIC)
	}
	if got := serials(a.Recipients); len(got) != 2 || got[1] != "4F:20" {
		t.Errorf("encrypted to %v, want theirs and ours", got)
	}
	old := mustAgreement(t, s, "no-duplicates", today)
	if old.PSS || old.AlgorithmProtection || old.KeyID || old.DashlessNames || old.Chunked || old.ExpectContinue || old.Transport != (smime.KeyTransport{}) || old.Receive.MIC != (as2.MICRules{Unsigned: digest("sha1")}) { // mendelson
		t.Errorf("built in: %+v", old)
	}
	if old.From != "ACME-AS2" || old.MDN.Signed || old.Receive.Signed || old.Receive.Encrypted || old.Encrypt != smime.TripleDES {
		t.Errorf("no-duplicates: %+v", old)
	}
	if got := serials(old.Recipients); len(got) != 1 || got[0] != "4F:2A" {
		t.Errorf("the end certificate of a P7B: %v", got)
	}
	if plain := mustAgreement(t, s, "blocking", today); plain.Encrypt != "" || plain.Recipients != nil {
		t.Errorf("blocking: %+v", plain)
	}
}

func TestSecretsAreReadAtEachUse(t *testing.T) {
	t.Parallel()
	dir := installation(t)
	s := mustLoad(t, dir)
	secret := filepath.Join(dir, "secrets", "northwind")
	write(t, secret, "new \r\n")
	if a := mustAgreement(t, s, "every-key", today); a.AuthPassword != "new " {
		t.Error("the password is not that of the file now, without one line end")
	}
	if err := os.Remove(secret); err != nil {
		t.Fatal(err)
	}
	_, err := s.Agreement("every-key", today)
	if setting := (*fault.SettingError)(nil); !errors.As(err, &setting) || setting.Key != "auth.basic.password_file" {
		t.Errorf("without the file: %v", err)
	}
}

func TestAcknowledgementVerifiesWithThoseAtSendingOrReceipt(t *testing.T) {
	t.Parallel()
	dir := installation(t)
	edit(t, filepath.Join(dir, "good", "every-key.yaml"), "verify:  [{file: ../keys/northwind-2026.pem}", "verify:  [{file: ../keys/northwind-2026.pem, until: 2027-01-08}")
	s := mustLoad(t, dir)
	sent, later := at(t, time.UTC, "2026-12-30 12:00"), at(t, time.UTC, "2027-02-01 12:00")
	a, err := s.Acknowledging("every-key", sent, later)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"4F:22", "4F:23"}, serials(a.Verify)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if now := mustAgreement(t, s, "every-key", later); !cmp.Equal([]string{"4F:23"}, serials(now.Verify)) {
		t.Errorf("a message at receipt verifies with %v", serials(now.Verify))
	}
}

func TestRow79MissingKeysAreNamedWithFileAndDate(t *testing.T) {
	t.Parallel()
	dir := installation(t)
	s := mustLoad(t, dir)
	for _, test := range []struct {
		name, id string
		now      time.Time
		cause    fault.Cause
		suspect  string
		want     string
	}{
		{"ours not begun", "minimal", at(t, time.UTC, "2019-01-01 00:00"), fault.CauseKey, "4F:20",
			"keys: our signing key in keys/acme.p12, serial 4F:20, is not used before 2026-01-01T00:00:00Z"},
		{"ours ended", "minimal", at(t, time.UTC, "2050-01-02 00:00"), fault.CauseKey, "4F:20",
			"keys: our signing key in keys/acme.p12, serial 4F:20, ended 2049-12-31T23:59:59Z"},
		{"none at all", "setup", today, fault.CauseBuild, "", "certificates.encrypt: the partner's certificate is missing"},
	} {
		_, err := s.Agreement(test.id, test.now)
		setting := (*fault.SettingError)(nil)
		if !errors.As(err, &setting) {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if err.Error() != test.want || setting.Cause != test.cause || setting.Suspect != test.suspect {
			t.Errorf("%s: %v, cause %s", test.name, err, setting.Cause)
		}
		if _, err := s.Receiving(test.id, test.now); err != nil {
			t.Errorf("%s: receiving fails: %v", test.name, err)
		}
	}
	if _, err := s.Agreement("nobody", today); !errors.Is(err, ErrUnknown) {
		t.Errorf("an unknown partner: %v", err)
	}
}

func TestByAS2NamesTellsCase(t *testing.T) {
	t.Parallel()
	s := mustLoad(t, installation(t))
	if p, ok := s.ByAS2Names("NORTHWIND", "ACME-DE"); !ok || p.ID != "every-key" {
		t.Errorf("got %v, %t", p, ok)
	}
	if _, ok := s.ByAS2Names("Northwind", "ACME-DE"); ok {
		t.Error("case does not count")
	}
	if _, ok := s.ByAS2Names("NORTHWIND", "ACME-AS2"); ok {
		t.Error("our name does not count")
	}
}

func TestTransport(t *testing.T) {
	t.Parallel()
	dir := installation(t)
	s := mustLoad(t, dir)
	now := today
	clock := func() time.Time { return now }
	x, err := s.Transport("every-key", clock)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"4F:24", "4F:28"}, serials(x.Trust)); diff != "" {
		t.Errorf("trust (-want +got):\n%s", diff)
	}
	if x.Proxy.String() != "http://edigw:proxy-test@dmz.acme.example:3128" || !cmp.Equal(x.Except, []string{"192.0.2.0/24"}) {
		t.Errorf("proxy %s, except %v", x.Proxy.Redacted(), x.Except)
	}
	if pair, err := x.Client(); err != nil || pair == nil {
		t.Errorf("client certificate: %v", err)
	}
	key := s.TransportKey("every-key", now)
	now = at(t, time.UTC, "2049-01-02 00:00")
	if s.TransportKey("every-key", now) == key {
		t.Error("the key is the same after a trusted certificate ended")
	}
	if _, err := x.Client(); err == nil || !strings.Contains(err.Error(), "acme-client.pem") {
		t.Errorf("after the client certificate ended: %v", err)
	}
	now = at(t, time.UTC, "2051-01-01 00:00")
	// The handshake then says that the partner's certificate has ended.
	if x, err := s.Transport("every-key", clock); err != nil || len(x.Trust) == 0 || !now.After(x.Trust[0].NotAfter) {
		t.Errorf("with no trusted certificate left: trust %v, %v", x.Trust, err)
	}
	now = today
	if x, err := s.Transport("minimal", clock); err != nil || x.Proxy == nil || x.Proxy.Hostname() != "proxy.acme.example" || x.Trust != nil || x.Client != nil {
		t.Errorf("minimal: %+v, %v", x.Proxy, err)
	}
	if x, err := s.Transport("no-duplicates", clock); err != nil || x.Proxy != nil {
		t.Errorf("proxy: none has %v, %v", x.Proxy, err)
	}
}

func TestCertificatesListsEveryUse(t *testing.T) {
	t.Parallel()
	s := mustLoad(t, installation(t))
	var got []string
	for _, c := range s.Certificates(today) {
		if c.Owner == OwnerGateway || c.Owner == "every-key" {
			got = append(got, strings.Join([]string{c.Owner, c.Use, c.Serial, c.File, c.Successor}, " "))
		}
		if c.Use == UseEncrypt && c.Serial == "4F:22" && c.Owner == "every-key" {
			if days := c.DaysLeft(today); days != 38 || !c.InForce {
				t.Errorf("%d days left, in force %t", days, c.InForce)
			}
			if len(c.SHA256) != 95 {
				t.Errorf("fingerprint %s", c.SHA256)
			}
		}
	}
	want := []string{
		"edigw sign 4F:20 keys/acme.p12 ",
		"edigw sign 4F:21 keys/acme-next.pem ",
		"edigw decrypt 4F:20 keys/acme.p12 ",
		"edigw tls-server 4F:28 keys/tls.pem ",
		"every-key verify 4F:22 keys/northwind-2026.pem ",
		"every-key verify 4F:23 keys/northwind-2027.pem ",
		"every-key encrypt 4F:22 keys/northwind-2026.pem 4F:23",
		"every-key encrypt 4F:23 keys/northwind-2027.pem ",
		"every-key tls-client 4F:27 keys/acme-client.pem ",
		"every-key tls-trust 4F:24 keys/tailspin-ca.pem ",
		"every-key tls-trust 4F:28 keys/tls.pem ",
		"every-key tls-inbound 4F:22 keys/northwind-2026.pem ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestCertificatesThatGoIntoSignatures: none, the leaf, or its intermediates too.
func TestCertificatesThatGoIntoSignatures(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]struct{ omit, chain bool }{"none": {true, false}, "leaf": {false, false}, "chain": {false, true}} {
		dir := installation(t)
		edit(t, filepath.Join(dir, "good", "minimal.yaml"), "id: CONTOSO,", "id: CONTOSO, attach_certificate: "+value+",")
		s := mustLoad(t, dir)
		p, _ := s.Partner("minimal")
		s.own[0].chain = []*x509.Certificate{s.own[0].certificate()} // the samples have none
		a := mustAgreement(t, s, "minimal", today)
		if a.OmitCertificate != want.omit || (len(a.SigningChain) > 0) != want.chain || p.AS2.AttachChain != want.chain {
			t.Errorf("%s: omitted %t, chain of %d", value, a.OmitCertificate, len(a.SigningChain))
		}
	}
}

// TestEncryptedToOurselvesWithTheKeyInForce: without one nothing is sent that we
// could not open.
func TestEncryptedToOurselvesWithTheKeyInForce(t *testing.T) {
	t.Parallel()
	dir := installation(t)
	edit(t, filepath.Join(dir, "good", "minimal.yaml"), "id: CONTOSO,", "id: CONTOSO, encrypt_to_self: true, sign: none,")
	s := mustLoad(t, dir)
	if got := serials(mustAgreement(t, s, "minimal", today).Recipients); len(got) != 2 || got[1] != "4F:20" {
		t.Errorf("encrypted to %v", got)
	}
	_, err := s.Agreement("minimal", at(t, time.UTC, "2025-12-31 23:59"))
	if setting := (*fault.SettingError)(nil); !errors.As(err, &setting) || setting.Key != "keys" || setting.Cause != fault.CauseKey || setting.Suspect != "4F:20" {
		t.Errorf("before ours is used: %v", err)
	}
}
