package partner

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"edigw/as2/smime"
	"edigw/internal/testpki"
)

// span2026 has today in it.
var span2026 = testpki.Span{NotBefore: today.AddDate(0, -1, 0), NotAfter: today.AddDate(2, 0, 0)}

func certificatePEM(c *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
}

func theirs(t *testing.T, span testpki.Span) *x509.Certificate {
	t.Helper()
	return testpki.SelfSigned(t, testpki.RSA(t, 0), "as2.contoso.example", span).Cert
}

func read(t *testing.T, elem ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(elem...))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// everything is every file of an installation with its content.
func everything(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := make(map[string]string)
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			out[path] = read(t, dir, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestImportedCertificateCountsFromTheNextReload(t *testing.T) {
	t.Parallel()
	dir := installation(t)
	file := filepath.Join(dir, "good", "minimal.yaml")
	write(t, file, "# Contoso\r\nprotocol: as2\r\nas2: {id: CONTOSO, url: https://as2.contoso.example/as2} # new\r\ncertificates: {verify: ../keys/northwind-2026.der, encrypt: ../keys/northwind-2026.pem}\r\n")
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	r := open(t, dir)
	c := theirs(t, span2026)
	serial := smime.CertificateID(c).Serial
	name := "minimal-" + strings.ReplaceAll(serial, ":", "") + ".pem"
	got, err := r.Current().Import(Import{Owner: "minimal", Use: []string{UseEncrypt, UseVerify}, Data: certificatePEM(c)}, today)
	if err != nil {
		t.Fatal(err)
	}
	want := Imported{
		File: "keys/" + name, Settings: "good/minimal.yaml", Use: []string{UseVerify, UseEncrypt}, Subject: c.Subject.String(),
		Serial: serial, SHA256: smime.Fingerprint(c), NotBefore: c.NotBefore, NotAfter: c.NotAfter,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	text := "# Contoso\r\nprotocol: as2\r\nas2: {id: CONTOSO, url: https://as2.contoso.example/as2} # new\r\ncertificates: {verify: [../keys/northwind-2026.der, ../keys/" + name + "], encrypt: [../keys/northwind-2026.pem, ../keys/" + name + "]}\r\n"
	if diff := cmp.Diff(text, read(t, file)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for path, mode := range map[string]fs.FileMode{file: 0o640, filepath.Join(dir, "keys", name): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v %v, want %v", path, info.Mode(), err, mode)
		}
	}
	if change, _ := r.Reload(); len(change.Partners) != 1 || !change.Partners[0].Certificates {
		t.Errorf("%+v", change)
	}
	a, err := r.Current().Agreement("minimal", today)
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Verify) != 2 || !a.Verify[1].Equal(c) || !a.Recipients[0].Equal(c) {
		t.Errorf("verifies with %d, encrypts to %s", len(a.Verify), a.Recipients[0].Subject)
	}
	if _, err := r.Current().Import(Import{Owner: "minimal", Use: []string{UseVerify}, Data: c.Raw}, today); !errors.Is(err, ErrCertificateListed) {
		t.Errorf("again: %v", err)
	}
}

func TestImportSaysWhenItsUseBegins(t *testing.T) {
	t.Parallel()
	later := testpki.Span{NotBefore: today.AddDate(0, 0, 3), NotAfter: today.AddDate(1, 0, 0)}
	old := testpki.Span{NotBefore: today.AddDate(-30, 0, 0), NotAfter: today.AddDate(1, 0, 0)}
	for _, test := range []struct {
		name            string
		span            testpki.Span
		from            time.Time
		verify, encrypt string
	}{
		{"at once", span2026, time.Time{}, "", ""},
		{"at once, though the one in use began later", old, time.Time{}, "", "2026-12-01T12:00:00Z"},
		{"at once, but not valid yet", later, time.Time{}, "", ""},
		{"midnight in the partner's zone", span2026, time.Date(2026, 12, 31, 23, 0, 0, 0, time.UTC), "2027-01-01", "2027-01-01"},
		{"a time of day", span2026, time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC), "2027-01-01T00:00:00Z", "2027-01-01T00:00:00Z"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := installation(t)
			edit(t, filepath.Join(dir, "good", "minimal.yaml"), "protocol: as2", "protocol: as2\nzone: Europe/Berlin")
			s := mustLoad(t, dir)
			got, err := s.Import(Import{Owner: "minimal", Use: []string{UseVerify, UseEncrypt}, Data: certificatePEM(theirs(t, test.span)), From: test.from}, today)
			if err != nil {
				t.Fatal(err)
			}
			item := func(from string) string { return string(fileEntry("../"+got.File, from)) }
			want := "certificates: {verify: [../keys/northwind-2026.der, " + item(test.verify) + "], encrypt: [../keys/northwind-2026.pem, " + item(test.encrypt) + "]}\n"
			if text := read(t, dir, "good", "minimal.yaml"); !strings.HasSuffix(text, want) {
				t.Errorf("got\n%s\nwant at its end\n%s", text, want)
			}
			after := mustLoad(t, dir)
			if p, _ := after.Partner("minimal"); p.Misconfigured {
				t.Errorf("%s", lines(p.Problems))
			}
		})
	}
}

func TestImportMendsAPartnerThatLacksCertificates(t *testing.T) {
	t.Parallel()
	dir := installation(t)
	edit(t, filepath.Join(dir, "good", "setup.yaml"), "stage: setup", "stage: live")
	r := open(t, dir)
	if !mustPartner(t, r, "setup").Misconfigured {
		t.Fatal("the partner has its certificates")
	}
	c := theirs(t, span2026)
	if _, err := r.Current().Import(Import{Owner: "setup", Use: []string{UseVerify, UseEncrypt}, Data: certificatePEM(c)}, today); err != nil {
		t.Fatal(err)
	}
	r.Reload()
	if p := mustPartner(t, r, "setup"); p.Misconfigured {
		t.Errorf("%s", lines(p.Problems))
	}
}

// TestImportedSerialOfAnother: home made certificates often repeat the serial.
func TestImportedSerialOfAnother(t *testing.T) {
	t.Parallel()
	dir := installation(t)
	c := theirs(t, span2026)
	taken := filepath.Join(dir, "keys", "minimal-"+strings.ReplaceAll(smime.CertificateID(c).Serial, ":", "")+".pem")
	before := string(sampleKey(t, "northwind-2026.pem"))
	write(t, taken, before)
	got, err := mustLoad(t, dir).Import(Import{Owner: "minimal", Use: []string{UseVerify}, Data: certificatePEM(c)}, today)
	if err != nil {
		t.Fatal(err)
	}
	if read(t, taken) != before || filepath.Join(dir, got.File) == taken || read(t, dir, got.File) != string(certificatePEM(c)) {
		t.Errorf("written to %s", got.File)
	}
}

func TestImportRefusesAndChangesNothing(t *testing.T) {
	t.Parallel()
	good := theirs(t, span2026)
	ended := theirs(t, testpki.Span{NotBefore: today.AddDate(-2, 0, 0), NotAfter: today.AddDate(0, 0, -1)})
	both := []string{UseVerify, UseEncrypt}
	for _, test := range []struct {
		name, id string
		use      []string
		data     []byte
		from     time.Time
		yaml     string // the partner's file instead of the sample
		want     error
		says     string
	}{
		{name: "unknown partner", id: "nobody", use: both, data: good.Raw, want: ErrUnknown},
		{name: "no use", use: nil, data: good.Raw, want: ErrCertificateUse},
		{name: "strange use", use: []string{UseSign}, data: good.Raw, want: ErrCertificateUse},
		{name: "text", use: both, data: []byte("hello"), want: ErrCertificateUnreadable},
		{name: "nothing", use: both, want: ErrCertificateUnreadable},
		{name: "too large", use: both, data: make([]byte, maxCertificateFile+1), want: ErrCertificateUnreadable},
		{name: "two certificates", use: both, data: sampleKey(t, "two.pem"), want: ErrCertificateUnreadable},
		{name: "a private key alone", use: both, data: sampleKey(t, "tls.key"), want: ErrCertificateUnreadable},
		{name: "elliptic curve to encrypt to", use: both, data: sampleKey(t, "contoso-p224.pem"), want: ErrCertificateKind},
		{name: "Ed25519", use: []string{UseVerify}, data: edwards(t), want: ErrCertificateKind},
		{name: "ended", use: both, data: ended.Raw, want: ErrCertificateEnded},
		{name: "ends before it is used", use: both, data: good.Raw, from: today.AddDate(3, 0, 0), want: ErrCertificateFrom},
		{name: "listed", use: both, data: sampleKey(t, "northwind-2026.pem"), want: ErrCertificateListed, says: "4F:22"},
		{name: "not YAML", use: both, data: good.Raw, yaml: "protocol: [\n", want: ErrPartnerFile, says: "good/minimal.yaml"},
		{name: "written so that it is not edited", use: both, data: good.Raw, want: ErrPartnerFile, says: "by hand",
			yaml: "protocol: as2\nas2: {id: C, url: https://c.example/}\ncertificates:\n  encrypt: ../keys/northwind-2026.pem\n  verify: >-\n    ../keys/northwind-2026.pem\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := installation(t)
			s := mustLoad(t, dir)
			id := test.id
			if id == "" {
				id = "minimal"
			}
			if test.yaml != "" {
				write(t, filepath.Join(dir, "good", "minimal.yaml"), test.yaml)
			}
			before := everything(t, dir)
			_, err := s.Import(Import{Owner: id, Use: test.use, Data: test.data, From: test.from}, today)
			if !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v, want %v", err, test.want)
			}
			if diff := cmp.Diff(before, everything(t, dir)); diff != "" {
				t.Errorf("changed:\n%s", diff)
			}
		})
	}
}

// edwards is a certificate of a kind of key that nothing here verifies with.
func edwards(t *testing.T) []byte {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(9), Subject: pkix.Name{CommonName: "contoso"}, NotBefore: span2026.NotBefore, NotAfter: span2026.NotAfter}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

// TestImportThatCannotBeWrittenLeavesNothing: the certificate's file is taken
// back when the partner's cannot be replaced.
func TestImportThatCannotBeWrittenLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := installation(t)
	s := mustLoad(t, dir)
	c := theirs(t, span2026)
	i := importer{snapshot: s, in: Import{Owner: "minimal", Use: []string{UseVerify}}, now: today, material: material{cert: c}, leaf: newLeaf(c), target: s.target("minimal")}
	if err := i.read(); err != nil {
		t.Fatal(err)
	}
	if err := i.edit(); err != nil {
		t.Fatal(err)
	}
	edit(t, filepath.Join(dir, "good", "minimal.yaml"), "CONTOSO", "CONTOSO-2")
	before := everything(t, dir)
	if err := i.write(); !errors.Is(err, ErrPartnerFile) {
		t.Errorf("over the change of somebody else: %v", err)
	}
	i.text = []byte(before["good/minimal.yaml"])
	i.next = append(i.next, "lane: {concurrency: 0}\n"...)
	if err := i.write(); !errors.Is(err, ErrPartnerFile) || !strings.Contains(err.Error(), "lane.concurrency") {
		t.Errorf("with a new mistake: %v", err)
	}
	if diff := cmp.Diff(before, everything(t, dir)); diff != "" {
		t.Errorf("changed:\n%s", diff)
	}
}

// TestImportDoesNotReplaceDefaults: a list of the partner's own would.
func TestImportDoesNotReplaceDefaults(t *testing.T) {
	t.Parallel()
	dir := installation(t)
	edit(t, filepath.Join(dir, "edigw.yaml"), "defaults:", "defaults:\n  certificates: {verify: keys/northwind-2026.pem}")
	edit(t, filepath.Join(dir, "good", "minimal.yaml"), "verify: ../keys/northwind-2026.der, ", "")
	_, err := mustLoad(t, dir).Import(Import{Owner: "minimal", Use: []string{UseVerify}, Data: theirs(t, span2026).Raw}, today)
	if !errors.Is(err, ErrPartnerFile) || !strings.Contains(err.Error(), "defaults") {
		t.Errorf("%v", err)
	}
}

func TestImportsAtTheSameTimeAllCount(t *testing.T) {
	t.Parallel()
	dir := installation(t)
	s := mustLoad(t, dir)
	var importers sync.WaitGroup
	for range 6 {
		c := theirs(t, span2026)
		importers.Go(func() {
			if _, err := s.Import(Import{Owner: "minimal", Use: []string{UseVerify}, Data: c.Raw}, today); err != nil {
				t.Error(err)
			}
		})
	}
	importers.Wait()
	if a, err := mustLoad(t, dir).Agreement("minimal", today); err != nil || len(a.Verify) != 7 {
		t.Errorf("%d certificates, %v", len(a.Verify), err)
	}
}

func TestOwnCertificateIsTheOneInForce(t *testing.T) {
	t.Parallel()
	s := mustLoad(t, installation(t))
	for _, test := range []struct {
		use  string
		now  time.Time
		want string
	}{
		{UseSign, today, "4F:20"},
		{UseSign, time.Date(2027, 1, 2, 0, 0, 0, 0, time.UTC), "4F:21"},
		{UseDecrypt, time.Date(2027, 1, 2, 0, 0, 0, 0, time.UTC), "4F:20"},
		{UseSign, time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), ""},
		{"anything", today, ""},
	} {
		c, err := s.OwnCertificate(test.use, test.now)
		if (err == nil) != (test.want != "") || c != nil && smime.CertificateID(c).Serial != test.want {
			t.Errorf("%s at %v: %v, want %s", test.use, test.now, err, test.want)
			if c != nil {
				t.Errorf("got %s", smime.CertificateID(c))
			}
		}
	}
}
