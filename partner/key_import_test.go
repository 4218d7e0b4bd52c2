package partner

import (
	"crypto"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"edigw/as2/smime"
	"edigw/internal/testfixture"
	"edigw/internal/testpki"
)

// opening is the password of the key stores of these tests.
const opening = "test material"

// run runs another program; a test whose judge is missing is skipped by name.
func run(t *testing.T, dir, program string, args ...string) {
	t.Helper()
	cmd := exec.Command(testfixture.Program(t, program), args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
	}
}

// store is a P12 that OpenSSL makes of a key.
func store(t *testing.T, id testpki.Identity, password string, more ...string) []byte {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "id.pem"), string(id.KeyPEM(t))+string(id.CertPEM()))
	run(t, dir, "openssl", append([]string{"pkcs12", "-export", "-in", "id.pem", "-name", "acme", "-passout", "pass:" + password, "-out", "id.p12"}, more...)...)
	return []byte(read(t, dir, "id.p12"))
}

// java is a P12 that keytool makes, with one key for each name.
func java(t *testing.T, names []string, more ...string) []byte {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		run(t, dir, "keytool", append([]string{"-genkeypair", "-alias", name, "-keyalg", "RSA", "-keysize", "2048", "-dname", "CN=" + name, "-validity", "20000",
			"-startdate", "2026/01/01 00:00:00", "-storetype", "PKCS12", "-keystore", "id.p12", "-storepass", opening}, more...)...)
	}
	return []byte(read(t, dir, "id.p12"))
}

// bouncy has keytool write BER, as mendelson does.
var bouncy = []string{"-provider", "org.bouncycastle.jce.provider.BouncyCastleProvider", "-providerpath", "/usr/share/java/bcprov.jar"}

func ours(t *testing.T, span testpki.Span) testpki.Identity {
	t.Helper()
	return testpki.SelfSigned(t, testpki.RSA(t, 3), "edigw.acme.example", span)
}

func TestOwnKeyCountsFromTheNextReload(t *testing.T) {
	t.Parallel()
	id := ours(t, span2026)
	for _, test := range []struct {
		name     string
		data     func(t *testing.T) []byte
		password string
		ext      string
	}{
		{"P12", func(t *testing.T) []byte { return store(t, id, opening) }, opening, ".p12"},
		{"P12 of older programs", func(t *testing.T) []byte { return store(t, id, opening, "-legacy") }, opening, ".p12"},
		{"P12 without a password", func(t *testing.T) []byte { return store(t, id, "") }, "", ".p12"},
		{"P12 of Java", func(t *testing.T) []byte { return java(t, []string{"acme"}) }, opening, ".p12"},
		{"P12 in BER", func(t *testing.T) []byte {
			if _, err := os.Stat(bouncy[3]); err != nil {
				testfixture.Missing(t, "Bouncy Castle")
			}
			return java(t, []string{"acme"}, bouncy...)
		}, opening, ".p12"},
		{"PEM", func(t *testing.T) []byte { return append(id.KeyPEM(t), id.CertPEM()...) }, "", ".pem"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := installation(t)
			file := filepath.Join(dir, "edigw.yaml")
			if err := os.Chmod(file, 0o640); err != nil {
				t.Fatal(err)
			}
			was := read(t, file)
			r := open(t, dir)
			data := test.data(t)
			got, err := r.Current().Import(Import{Owner: OwnerGateway, Use: []string{UseDecrypt, UseSign}, Data: data, Password: test.password, From: time.Date(2026, 12, 24, 0, 0, 0, 0, time.UTC)}, today)
			if err != nil {
				t.Fatal(err)
			}
			name := "edigw-" + strings.ReplaceAll(got.Serial, ":", "")
			if got.File != "keys/"+name+test.ext || got.Settings != "edigw.yaml" || !cmp.Equal(got.Use, []string{UseSign, UseDecrypt}) {
				t.Errorf("%+v", got)
			}
			item, secret := "{use: [sign, decrypt], file: "+got.File, "secrets/"+name
			if test.password != "" {
				item += ", password_file: " + secret
				if text := read(t, dir, secret); text != test.password {
					t.Errorf("the password file holds %d bytes", len(text))
				}
			}
			line := "  - {use: sign, file: keys/acme-next.pem, from: 2027-01-01, until: 2049-06-30}\n"
			if diff := cmp.Diff(strings.Replace(was, line, line+"  - "+item+", from: 2026-12-24}\n", 1), read(t, file)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if read(t, dir, got.File) != string(data) {
				t.Error("the key's file is not what was sent")
			}
			checkModes(t, dir, map[string]fs.FileMode{"edigw.yaml": 0o640, got.File: 0o600})
			if test.password != "" {
				checkModes(t, dir, map[string]fs.FileMode{secret: 0o600})
			}
			if change, problems := r.Reload(); !change.Keys {
				t.Errorf("%+v\n%s", change, lines(problems))
			}
			c, err := r.Current().OwnCertificate(UseSign, time.Date(2026, 12, 24, 0, 0, 0, 0, time.UTC))
			if err != nil || smime.Fingerprint(c) != got.SHA256 {
				t.Errorf("signs with another certificate: %v", err)
			}
		})
	}
}

func checkModes(t *testing.T, dir string, want map[string]fs.FileMode) {
	t.Helper()
	for path, mode := range want {
		if info, err := os.Stat(filepath.Join(dir, path)); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v %v, want %v", path, info.Mode(), err, mode)
		}
	}
}

// TestFirstOwnKey: edigw.yaml may name none yet.
func TestFirstOwnKey(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "partners"), 0o700); err != nil {
		t.Fatal(err)
	}
	text := "identity: {domain: edi.acme.example, as2: ACME}\nlisten: {partners: {address: \":4080\"}}\n# end\n"
	write(t, filepath.Join(dir, "edigw.yaml"), text)
	id := ours(t, span2026)
	got, err := mustLoad(t, dir).Import(Import{Owner: OwnerGateway, Use: []string{UseSign}, Data: append(id.KeyPEM(t), id.CertPEM()...)}, today)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(text+"keys: [{use: [sign], file: "+got.File+"}]\n", read(t, dir, "edigw.yaml")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := mustLoad(t, dir).OwnCertificate(UseSign, today); err != nil {
		t.Error(err)
	}
}

// TestOwnKeyAtOnce: one that is older than the one in use would not sign
// without a day of its own.
func TestOwnKeyAtOnce(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		begin time.Time
		from  string
	}{{today.AddDate(-2, 0, 0), ", from: 2026-12-01T12:00:00Z"}, {today.AddDate(0, -1, 0), ""}} {
		dir := installation(t)
		id := ours(t, testpki.Span{NotBefore: test.begin, NotAfter: today.AddDate(2, 0, 0)})
		got, err := mustLoad(t, dir).Import(Import{Owner: OwnerGateway, Use: []string{UseSign, UseDecrypt}, Data: append(id.KeyPEM(t), id.CertPEM()...)}, today)
		if err != nil {
			t.Fatal(err)
		}
		if want := "file: " + got.File + test.from + "}\n"; !strings.Contains(read(t, dir, "edigw.yaml"), want) {
			t.Errorf("%q is missing in\n%s", want, read(t, dir, "edigw.yaml"))
		}
		if c, err := mustLoad(t, dir).OwnCertificate(UseSign, today); err != nil || !c.Equal(id.Cert) {
			t.Errorf("another one signs: %v", err)
		}
	}
}

func TestKeyThatIsRefusedChangesNothing(t *testing.T) {
	t.Parallel()
	good := ours(t, span2026)
	pem := append(good.KeyPEM(t), good.CertPEM()...)
	other := append(testpki.SelfSigned(t, testpki.RSA(t, 2), "other", span2026).KeyPEM(t), good.CertPEM()...)
	ended := ours(t, testpki.Span{NotBefore: today.AddDate(-2, 0, 0), NotAfter: today.AddDate(0, 0, -1)})
	own := []string{UseSign, UseDecrypt}
	for _, test := range []struct {
		name, owner string
		use         []string
		data        func(t *testing.T) []byte
		password    string
		from        time.Time
		yaml        string // appended to edigw.yaml
		want        error
		says        []string
	}{
		{name: "wrong password", use: own, data: func(t *testing.T) []byte { return store(t, good, opening) }, password: "another one", want: ErrPassword},
		{name: "no password", use: own, data: func(t *testing.T) []byte { return store(t, good, opening) }, want: ErrNoPassword},
		{name: "several keys", use: own, data: func(t *testing.T) []byte { return java(t, []string{"acme-2026", "acme-2027"}) }, password: opening, want: ErrKey,
			says: []string{"several keys", `"acme-2026", "acme-2027"`, "one of them alone"}},
		{name: "a certificate alone", use: own, data: func(*testing.T) []byte { return good.CertPEM() }, want: ErrKey, says: []string{"no private key"}},
		{name: "the key of another certificate", use: own, data: func(*testing.T) []byte { return other }, want: ErrKey,
			says: []string{"none of its certificates belongs to its key", smime.CertificateID(good.Cert).Serial}},
		{name: "an encrypted PEM", use: own, data: func(t *testing.T) []byte { return sampleKey(t, "acme-encrypted.pem") }, want: ErrKey, says: []string{"encrypted"}},
		{name: "too short", use: own, data: func(t *testing.T) []byte { return sampleKey(t, "acme-weak.pem") }, want: ErrCertificateKind, says: []string{"2048"}},
		{name: "a curve that cannot decrypt", use: own, data: func(t *testing.T) []byte { return sampleKey(t, "acme-p224.pem") }, want: ErrCertificateKind, says: []string{"P-224"}},
		{name: "text", use: own, data: func(*testing.T) []byte { return []byte("hello") }, want: ErrKey},
		{name: "too large", use: own, data: func(*testing.T) []byte { return make([]byte, maxCertificateFile+1) }, want: ErrKey},
		{name: "ended", use: own, data: func(t *testing.T) []byte { return append(ended.KeyPEM(t), ended.CertPEM()...) }, want: ErrCertificateEnded},
		{name: "ends before it is used", use: own, data: func(*testing.T) []byte { return pem }, from: today.AddDate(3, 0, 0), want: ErrCertificateFrom},
		{name: "listed", use: []string{UseSign}, data: func(t *testing.T) []byte { return sampleKey(t, "acme-next.pem") }, want: ErrCertificateListed, says: []string{"4F:21", "edigw.yaml"}},
		{name: "a use of partners", use: []string{UseVerify}, data: func(*testing.T) []byte { return pem }, want: ErrCertificateUse},
		{name: "no use", data: func(*testing.T) []byte { return pem }, want: ErrCertificateUse},
		{name: "our own for a partner", owner: "minimal", use: []string{UseSign}, data: func(*testing.T) []byte { return pem }, want: ErrCertificateUse},
		{name: "login beside another use", owner: "minimal", use: []string{UseTLSClient, UseVerify}, data: func(*testing.T) []byte { return pem }, want: ErrCertificateUse},
		{name: "edigw.yaml has a mistake", use: own, data: func(*testing.T) []byte { return pem }, yaml: "nonsense: 1\n", want: ErrPartnerFile, says: []string{"edigw.yaml", "nonsense"}},
		{name: "edigw.yaml is not YAML", use: own, data: func(*testing.T) []byte { return pem }, yaml: "a: [\n", want: ErrPartnerFile, says: []string{"edigw.yaml"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := installation(t)
			s := mustLoad(t, dir)
			data := test.data(t)
			write(t, filepath.Join(dir, "edigw.yaml"), read(t, dir, "edigw.yaml")+test.yaml)
			before := everything(t, dir)
			owner := test.owner
			if owner == "" {
				owner = OwnerGateway
			}
			_, err := s.Import(Import{Owner: owner, Use: test.use, Data: data, Password: test.password, From: test.from}, today)
			if !errors.Is(err, test.want) {
				t.Fatalf("got %v, want %v", err, test.want)
			}
			for _, want := range test.says {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is missing in: %v", want, err)
				}
			}
			if test.password != "" && strings.Contains(err.Error(), test.password) {
				t.Error("the error holds the password")
			}
			if diff := cmp.Diff(before, everything(t, dir)); diff != "" {
				t.Errorf("changed:\n%s", diff)
			}
		})
	}
}

// TestLoginOfOurs: a P12 becomes the PEM that TLS reads.
func TestLoginOfOurs(t *testing.T) {
	t.Parallel()
	dir := installation(t)
	r := open(t, dir)
	id := ours(t, span2026)
	got, err := r.Current().Import(Import{Owner: "minimal", Use: []string{UseTLSClient}, Data: store(t, id, opening), Password: opening}, today)
	if err != nil {
		t.Fatal(err)
	}
	if want := "tls:\n  client: {cert: ../" + got.File + ", key: ../" + got.File + "}\n"; !strings.HasSuffix(read(t, dir, "good", "minimal.yaml"), want) {
		t.Errorf("%s\nwant at its end\n%s", read(t, dir, "good", "minimal.yaml"), want)
	}
	checkModes(t, dir, map[string]fs.FileMode{got.File: 0o600})
	if change, _ := r.Reload(); len(change.Partners) != 1 || !change.Partners[0].Trust {
		t.Errorf("%+v", change)
	}
	x, err := r.Current().Transport("minimal", func() time.Time { return today })
	if err != nil {
		t.Fatal(err)
	}
	pair, err := x.Client()
	if err != nil || !pair.Leaf.Equal(id.Cert) || !pair.PrivateKey.(interface{ Equal(crypto.PrivateKey) bool }).Equal(id.Key) {
		t.Errorf("logs in with another key: %v", err)
	}
}

// TestTrustOfTheirServer: the first one replaces the system's authorities.
func TestTrustOfTheirServer(t *testing.T) {
	t.Parallel()
	dir := installation(t)
	r := open(t, dir)
	c := theirs(t, span2026)
	if _, err := r.Current().Import(Import{Owner: "minimal", Use: []string{UseTLSTrust}, Data: c.Raw}, today); err != nil {
		t.Fatal(err)
	}
	r.Reload()
	x, err := r.Current().Transport("minimal", func() time.Time { return today })
	if err != nil || len(x.Trust) != 1 || !x.Trust[0].Equal(c) {
		t.Errorf("trusts %d, %v", len(x.Trust), err)
	}
}

// TestFirstOfAnOptionalListBeginsNow: until it begins nothing would be in force,
// and every message would die.
func TestFirstOfAnOptionalListBeginsNow(t *testing.T) {
	t.Parallel()
	later := today.AddDate(0, 1, 0)
	id := testpki.SelfSigned(t, testpki.RSA(t, 0), "login.example", testpki.Valid())
	for use, data := range map[string][]byte{UseTLSTrust: id.CertPEM(), UseTLSClient: append(id.KeyPEM(t), id.CertPEM()...)} {
		dir := installation(t)
		before := read(t, dir, "good", "minimal.yaml")
		s := mustLoad(t, dir)
		_, err := s.Import(Import{Owner: "minimal", Use: []string{use}, Data: data, From: later}, today)
		if !errors.Is(err, ErrPartnerFile) || !strings.Contains(err.Error(), "nothing is listed for "+use+" yet") || read(t, dir, "good", "minimal.yaml") != before {
			t.Errorf("%s: %v", use, err)
		}
		if _, err := s.Import(Import{Owner: "minimal", Use: []string{use}, Data: data}, today); err != nil {
			t.Errorf("%s at once: %v", use, err)
		}
	}
}

// TestKeysOfEllipticCurves sign and decrypt, and are encrypted to.
func TestKeysOfEllipticCurves(t *testing.T) {
	t.Parallel()
	dir := installation(t)
	r := open(t, dir)
	id := testpki.SelfSigned(t, testpki.P256(t), "edigw.acme.example", span2026)
	if _, err := r.Current().Import(Import{Owner: OwnerGateway, Use: []string{UseSign, UseDecrypt}, Data: append(id.KeyPEM(t), id.CertPEM()...), From: today}, today); err != nil {
		t.Fatal(err)
	}
	his := testpki.SelfSigned(t, testpki.P256(t), "as2.northwind.example", span2026)
	if _, err := r.Current().Import(Import{Owner: "minimal", Use: []string{UseEncrypt}, Data: his.Cert.Raw, From: today}, today); err != nil {
		t.Fatal(err)
	}
	_, problems := r.Reload()
	a, err := r.Current().Agreement("minimal", today)
	if err != nil {
		t.Fatal(err, lines(problems))
	}
	if !a.SigningCertificate.Equal(id.Cert) || !a.Recipients[0].Equal(his.Cert) {
		t.Errorf("signs with %s, encrypts to %s", a.SigningCertificate.Subject, a.Recipients[0].Subject)
	}
	last := a.Decrypt[len(a.Decrypt)-1]
	if !last.Certificate.Equal(id.Cert) || last.Agree == nil {
		t.Errorf("decrypts with %s, agrees on a key: %t", last.Certificate.Subject, last.Agree != nil)
	}
}
