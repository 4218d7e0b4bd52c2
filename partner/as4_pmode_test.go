package partner

import (
	"crypto"
	"crypto/x509"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"edigw/as2/smime"
	"edigw/as4"
	"edigw/as4/ebms"
	"edigw/as4/wssec"
	"edigw/fault"
)

func mustPMode(t *testing.T, s *Snapshot, id string, now time.Time) as4.PMode {
	t.Helper()
	m, err := s.PMode(id, now)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func serial(c *x509.Certificate) string {
	if c == nil {
		return ""
	}
	return smime.CertificateID(c).Serial
}

// TestPModeHoldsWhatTheFileSays: every value of the sample that has every key.
func TestPModeHoldsWhatTheFileSays(t *testing.T) {
	t.Parallel()
	s := mustLoad(t, installationAS4(t))
	m := mustPMode(t, s, "every-key", today)
	const gln = "urn:oasis:names:tc:ebcore:partyid-type:iso6523:0088"
	type settled struct {
		From, To                                     ebms.Party
		Collaboration                                as4.Collaboration
		Also                                         []as4.Collaboration
		Properties, PartProperties                   []ebms.Property
		URL, MPC, Conversation, FileName, User, Pull string
		MEP                                          as4.MEP
		Compress, Body                               bool
		Receipt, Answer                              as4.ReceiptRequest
		Algorithms                                   []wssec.SignatureAlgorithm
	}
	got := settled{m.From, m.To, m.Collaboration, m.Receive.Also, m.Properties, m.PartProperties, m.URL, m.MPC, m.Conversation, m.FileNameProperty,
		m.AuthUser + " " + m.AuthPassword, m.PullUser + " " + m.PullPassword, m.MEP, m.Compress, m.Body, m.Receipt, m.Receive.Receipt, m.Receive.Algorithms}
	want := settled{
		From:          ebms.Party{IDs: []ebms.PartyID{{Value: "9990011111111", Type: gln}}, Role: ebms.RoleInitiator},
		To:            ebms.Party{IDs: []ebms.PartyID{{Value: "4012345000009", Type: gln}, {Value: "NORTHWIND", Type: "urn:example:partners"}}, Role: ebms.RoleResponder},
		Collaboration: as4.Collaboration{Agreement: &ebms.AgreementRef{Value: "https://agreements.example/1", Type: "urn:example:agreements", PMode: "orders"}, Service: ebms.Service{Value: "Orders", Type: "urn:example:services"}, Action: "Deliver"},
		Also: []as4.Collaboration{
			{Service: ebms.Service{Value: "Invoices", Type: "urn:example:services"}, Action: "Deliver"},
			{Agreement: &ebms.AgreementRef{Value: "https://agreements.example/2", Type: "urn:example:agreements", PMode: "orders"}, Service: ebms.Service{Value: "urn:example:confirmations"}, Action: "Confirm"},
		},
		Properties:     []ebms.Property{{Name: "originalSender", Value: "urn:example:acme"}, {Name: "finalRecipient", Type: "urn:example:ids", Value: "urn:example:northwind"}},
		PartProperties: []ebms.Property{{Name: "DocumentType", Value: "ORDERS"}},
		URL:            "https://as4.northwind.example/msh", MPC: "urn:example:mpc:northwind", Conversation: "orders-{message}", FileName: "FileName",
		User: "acme northwind-test", Pull: "northwind erp-test", MEP: as4.OneWayPull, Compress: true,
		Receipt: as4.ReceiptRequest{Mode: as4.ReceiptAsync, NonRepudiation: true, Signed: true}, Answer: as4.ReceiptRequest{Mode: as4.ReceiptAsync, NonRepudiation: true, Signed: true},
		Algorithms: []wssec.SignatureAlgorithm{wssec.RSASHA256, wssec.RSASHA384},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if m.Sign.Algorithm != wssec.RSASHA384 || m.Sign.Digest != crypto.SHA384 || m.Sign.Token != wssec.TokenPKIPath || m.Receive.Digest != crypto.SHA256 || !m.Receive.Signed || !m.Receive.Encrypted {
		t.Errorf("signature: %+v, receive %+v", m.Sign, m.Receive)
	}
	if m.Encrypt.Cipher != wssec.AES256GCM || m.Encrypt.Token != wssec.TokenIssuerSerial || m.Encrypt.Transport != (wssec.KeyTransport{Method: "rsa-oaep", Digest: crypto.SHA256, MGF: crypto.SHA1}) {
		t.Errorf("encryption: %+v", m.Encrypt)
	}
	if !m.SubjectIsParty || m.Authorities == nil {
		t.Errorf("trust: subject %t, authorities %v", m.SubjectIsParty, m.Authorities)
	}
	p, _ := s.Partner("every-key")
	if p.AS4.Wait != 90*time.Minute || p.Duplicates != 14*24*time.Hour || p.AS4.Fetch.Every != 2*time.Minute || !p.AS4.Pulled() || p.URL() != m.URL {
		t.Errorf("%+v", p.AS4)
	}
}

// TestPModeOfTheSmallestFile: the values that AS4 has for what nobody said.
func TestPModeOfTheSmallestFile(t *testing.T) {
	t.Parallel()
	m := mustPMode(t, mustLoad(t, installationAS4(t)), "minimal", today)
	if m.Service.Value != ebms.DefaultService || m.Action != ebms.DefaultAction || m.Agreement != nil || m.MPC != "" || m.Conversation != "{message}" || !m.Compress {
		t.Errorf("%+v", m.Collaboration)
	}
	if m.Sign.Algorithm != wssec.RSASHA256 || m.Encrypt.Transport != (wssec.KeyTransport{Method: "rsa-oaep", Digest: crypto.SHA256, MGF: crypto.SHA256}) || m.Encrypt.Token != "" {
		t.Errorf("%+v %+v", m.Sign.Algorithm, m.Encrypt)
	}
	if m.Receipt != (as4.ReceiptRequest{Mode: as4.ReceiptSync, NonRepudiation: true, Signed: true}) || m.Receive.Receipt != m.Receipt || m.Receive.AnyCollaboration || m.Receive.Algorithms != nil || m.Authorities != nil {
		t.Errorf("%+v %+v", m.Receipt, m.Receive)
	}
	if m.From.IDs[0].Value != "9990098765432" || m.From.Role != ebms.RoleInitiator || m.To.Role != ebms.RoleResponder {
		t.Errorf("%+v %+v", m.From, m.To)
	}
}

// TestKeysOfAS4InForce: the signature says of which kind the key is, of that the
// newest that has begun signs; by-key is the profile's first choice that we have,
// and their certificate decides how the content key goes.
func TestKeysOfAS4InForce(t *testing.T) {
	t.Parallel()
	s := mustLoad(t, installationAS4(t))
	type inForce struct {
		Signs     string
		Algorithm wssec.SignatureAlgorithm
		Encrypts  string
		Transport string
		Wrap      int
		Verify    []string
		Opens     int
	}
	berlin := zone(t, "Europe/Berlin")
	for _, test := range []struct {
		id   string
		now  time.Time
		want inForce
	}{
		{"minimal", today, inForce{"4F:20", wssec.RSASHA256, "4F:22", "rsa-oaep", 0, []string{"4F:22"}, 3}},
		{"minimal", at(t, time.UTC, "2027-01-01 00:00"), inForce{"4F:21", wssec.RSASHA256, "4F:22", "rsa-oaep", 0, []string{"4F:22"}, 3}},
		{"every-key", at(t, berlin, "2027-01-01 00:00"), inForce{"4F:20", wssec.RSASHA384, "4F:23", "rsa-oaep", 0, []string{"4F:22", "4F:23"}, 3}},
		{"fabrikam", today, inForce{"4F:40", wssec.Ed25519, "4F:47", "x25519", 128, []string{"4F:44"}, 3}},
		{"stadtwerke", today, inForce{"4F:41", wssec.ECDSASHA256, "4F:43", "ecdh-es", 128, []string{"4F:43"}, 3}},
		{"fluxgas", today, inForce{"4F:20", wssec.RSASHA256, "4F:22", "rsa-oaep", 0, []string{"4F:22"}, 3}},
		{"customs", today, inForce{"4F:20", wssec.RSASHA256, "", "", 0, []string{"4F:22"}, 3}},
		{"wingtip", today, inForce{"4F:20", wssec.RSASHA256, "4F:49", "rsa-oaep", 0, nil, 3}},
	} {
		m := mustPMode(t, s, test.id, test.now)
		got := inForce{serial(m.Sign.Certificate), m.Sign.Algorithm, serial(m.Encrypt.Recipient), m.Encrypt.Transport.Method, m.Encrypt.Transport.Wrap, serials(m.Verify), len(m.Decrypt)}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s at %v (-want +got):\n%s", test.id, test.now, diff)
		}
		public, ok := m.Sign.Certificate.PublicKey.(interface{ Equal(crypto.PublicKey) bool })
		if m.Sign.Key == nil || !ok || !public.Equal(m.Sign.Key.Public()) {
			t.Errorf("%s: the key is not that of the certificate", test.id)
		}
	}
}

// TestOurCurveComesFirst: of elliptic curves the German energy market takes its
// own, everybody else that of NIST.
func TestOurCurveComesFirst(t *testing.T) {
	t.Parallel()
	dir := installationAS4(t)
	edit(t, filepath.Join(dir, "edigw.yaml"), "listen:", "  - {use: sign, file: ../keys/acme-p256.pem, from: 2026-06-01}\nlisten:")
	edit(t, filepath.Join(dir, "edigw.yaml"), "  - {use: sign, file: ../keys/acme-ed25519.pem}\n", "")
	s := mustLoad(t, dir)
	for id, want := range map[string]string{"stadtwerke": "4F:41", "fabrikam": "4F:42"} {
		if m := mustPMode(t, s, id, today); serial(m.Sign.Certificate) != want || m.Sign.Algorithm != wssec.ECDSASHA256 {
			t.Errorf("%s signs with %s, %s; want %s", id, serial(m.Sign.Certificate), m.Sign.Algorithm, want)
		}
	}
}

// TestAS2TakesKeysOfItsOwnKinds: those of AS4 alone beside them change nothing.
func TestAS2TakesKeysOfItsOwnKinds(t *testing.T) {
	t.Parallel()
	dir := installation(t)
	edit(t, filepath.Join(dir, "edigw.yaml"), "listen:", `  - {use: sign, file: keys/acme-ed25519.pem, from: 2026-11-01}
  - {use: [sign, decrypt], file: keys/acme-brainpool.pem, from: 2026-11-01}
  - {use: decrypt, file: keys/acme-x25519.pem, from: 2026-11-01}
listen:`)
	s := mustLoad(t, dir)
	a := mustAgreement(t, s, "every-key", today)
	if serial(a.SigningCertificate) != "4F:20" || len(a.Decrypt) != 1 || len(a.Recipients) != 2 || serial(a.Recipients[1]) != "4F:20" {
		t.Errorf("signs with %s, opens with %d, encrypts to %v", serial(a.SigningCertificate), len(a.Decrypt), serials(a.Recipients))
	}
	for use, want := range map[string]string{UseSign: "4F:20", UseDecrypt: "4F:20"} {
		if c, err := s.OwnCertificate(use, today); err != nil || serial(c) != want {
			t.Errorf("partners should have %s to %s, %v", serial(c), use, err)
		}
	}
}

func TestPModeOfAMissingKeyNamesIt(t *testing.T) {
	t.Parallel()
	dir := installationAS4(t)
	edit(t, filepath.Join(dir, "good", "wingtip.yaml"), "authorities: ../../keys/network-ca.pem", "authorities: {file: ../../keys/network-ca.pem, until: 2026-06-01}")
	s := mustLoad(t, dir)
	for _, test := range []struct {
		name, id string
		now      time.Time
		cause    fault.Cause
		want     string
	}{
		{"ours not begun", "minimal", at(t, time.UTC, "2019-01-01 00:00"), fault.CauseKey, "keys: our signing key in keys/acme.p12, serial 4F:20, is not used before 2020-01-01T00:00:00Z"},
		{"of the right kind", "fabrikam", at(t, time.UTC, "2050-01-02 00:00"), fault.CauseKey, "keys: our signing key in keys/acme-ed25519.pem, serial 4F:40, ended 2049-12-31T23:59:59Z"},
		{"none at all", "setup", today, fault.CauseBuild, "certificates.encrypt: the partner's certificate is missing"},
		{"their authority", "wingtip", today, fault.CauseBuild, "as4.trust.authorities: the authority of the partner's certificate in keys/network-ca.pem, serial 4F:48, ended 2026-06-01T23:59:59Z"},
	} {
		_, err := s.PMode(test.id, test.now)
		setting := (*fault.SettingError)(nil)
		if !errors.As(err, &setting) {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if got := strings.ReplaceAll(err.Error(), "../", ""); !strings.HasPrefix(got, test.want) || setting.Cause != test.cause {
			t.Errorf("%s: %v, cause %s", test.name, err, setting.Cause)
		}
		if m, err := s.ReceivingPMode(test.id, test.now); err != nil || m.Sign.Algorithm == "" {
			t.Errorf("%s: receiving: %v, signs with %q", test.name, err, m.Sign.Algorithm)
		}
	}
	for _, id := range []string{"nobody", "minimal"} {
		if _, err := mustLoad(t, filepath.Dir(dir)).PMode(id, today); !errors.Is(err, ErrUnknown) {
			t.Errorf("%s, who speaks AS2 or does not exist: %v", id, err)
		}
	}
	if _, err := s.FetchingPMode("minimal", today); !errors.Is(err, ErrUnknown) {
		t.Errorf("nothing is fetched: %v", err)
	}
}

// TestSecretsOfAS4AreReadAtEachUse: those of pulling, of fetching and of HTTP.
func TestSecretsOfAS4AreReadAtEachUse(t *testing.T) {
	t.Parallel()
	dir := installationAS4(t)
	s := mustLoad(t, dir)
	secret := filepath.Join(filepath.Dir(dir), "secrets", "northwind")
	write(t, secret, "new\n")
	write(t, filepath.Join(filepath.Dir(secret), "erp"), "theirs\n")
	if m := mustPMode(t, s, "every-key", today); m.AuthPassword != "new" || m.PullUser != "northwind" || m.PullPassword != "theirs" {
		t.Error("the passwords are not those of the file now")
	}
	f, err := s.FetchingPMode("every-key", today)
	if err != nil || f.MPC != "urn:example:mpc:acme" || f.PullUser != "acme" || f.PullPassword != "new" || f.AuthPassword != "new" || f.Sign.Key == nil {
		t.Errorf("fetching: %q %q, %v", f.MPC, f.PullUser, err)
	}
	if err := os.Remove(secret); err != nil {
		t.Fatal(err)
	}
	for name, get := range map[string]func(string, time.Time) (as4.PMode, error){"sending": s.PMode, "fetching": s.FetchingPMode} {
		setting := (*fault.SettingError)(nil)
		if _, err := get("every-key", today); !errors.As(err, &setting) || !strings.HasSuffix(setting.Key, "password_file") || setting.Cause != fault.CauseBuild {
			t.Errorf("%s without the file: %v", name, err)
		}
	}
	if m, err := s.ReceivingPMode("every-key", today); err != nil || m.PullPassword+m.AuthPassword != "" {
		t.Errorf("receiving needs a password: %v", err)
	}
}

// TestSignalsVerifyWithThoseAtSendingOrReceipt: certificates and authorities.
func TestSignalsVerifyWithThoseAtSendingOrReceipt(t *testing.T) {
	t.Parallel()
	dir := installationAS4(t)
	edit(t, filepath.Join(dir, "good", "every-key.yaml"), "verify:  [{file: ../../keys/northwind-2026.pem}", "verify:  [{file: ../../keys/northwind-2026.pem, until: 2027-01-08}")
	edit(t, filepath.Join(dir, "good", "every-key.yaml"), "until: 2048-12-31", "until: 2027-01-08")
	s := mustLoad(t, dir)
	sent, later := at(t, time.UTC, "2026-12-30 12:00"), at(t, time.UTC, "2027-02-01 12:00")
	m, err := s.AcknowledgingPMode("every-key", sent, later)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"4F:22", "4F:23"}, serials(m.Verify)); diff != "" || m.Authorities == nil || len(m.Lapsed) > 0 {
		t.Errorf("authorities %v, lapsed %v (-want +got):\n%s", m.Authorities, serials(m.Lapsed), diff)
	}
	now, err := s.ReceivingPMode("every-key", later)
	if err != nil || !cmp.Equal([]string{"4F:23"}, serials(now.Verify)) || now.Authorities != nil || len(now.Lapsed) != 1 {
		t.Errorf("a message at receipt verifies with %v, authorities %v, %v", serials(now.Verify), now.Authorities, err)
	}
}

// TestMisconfiguredPartnersSendNothing: the file is named.
func TestMisconfiguredPartnersSendNothing(t *testing.T) {
	t.Parallel()
	dir := installationAS4(t)
	edit(t, filepath.Join(dir, "good", "minimal.yaml"), "as4:", "stage: prod\nas4:")
	s := mustLoad(t, dir)
	for _, get := range []func(string, time.Time) (as4.PMode, error){s.PMode, s.FetchingPMode} {
		setting := (*fault.SettingError)(nil)
		if _, err := get("minimal", today); !errors.As(err, &setting) || setting.Key != "good/minimal.yaml" {
			t.Errorf("%v", err)
		}
	}
}
