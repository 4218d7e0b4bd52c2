package partner

import (
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"edigw/internal/testpki"
)

// rollover is an installation in which every use has a certificate of today and
// the next one. The current ones end 60 days from today, the next ones are
// valid from today on and used from the 30th day.
type rollover struct {
	dir   string
	names map[string]string // "current" and "next", by what names a certificate
}

func newRollover(t *testing.T) rollover {
	t.Helper()
	r := rollover{dir: t.TempDir(), names: map[string]string{}}
	for _, folder := range []string{"keys", "partners"} {
		if err := os.Mkdir(filepath.Join(r.dir, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	spans := map[string]testpki.Span{
		"current": {NotBefore: today.AddDate(-1, 0, 0), NotAfter: today.AddDate(0, 0, 60)},
		"next":    {NotBefore: today, NotAfter: today.AddDate(2, 0, 0)},
	}
	for n, use := range []string{"own", "theirs", "login", "server"} {
		for when, span := range spans {
			id := testpki.SelfSigned(t, testpki.RSA(t, n%2+2*map[string]int{"next": 1}[when]), use+" "+when, span)
			write(t, filepath.Join(r.dir, "keys", use+"-"+when+".pem"), string(id.CertPEM())+string(id.KeyPEM(t)))
			write(t, filepath.Join(r.dir, "keys", use+"-"+when+".crt"), string(id.CertPEM()))
			r.names[string(id.Cert.Raw)] = when
		}
	}
	from := today.AddDate(0, 0, 30).Format(time.RFC3339)
	write(t, filepath.Join(r.dir, "edigw.yaml"), fmt.Sprintf(`identity: {domain: edi.acme.example, as2: ACME}
listen: {partners: {address: ":4080"}}
alerts: {mail: {host: localhost, tls: none, from: a@acme.example, to: b@acme.example}}
keys:
  - {use: [sign, decrypt], file: keys/own-current.pem}
  - {use: [sign, decrypt], file: keys/own-next.pem, from: %s}
`, from))
	pair := func(name, ext string) string {
		return fmt.Sprintf("[../keys/%s-current.%s, {file: ../keys/%s-next.%s, from: %s}]", name, ext, name, ext, from)
	}
	write(t, filepath.Join(r.dir, "partners", "northwind.yaml"), fmt.Sprintf(`protocol: as2
as2: {id: NORTHWIND, url: "https://as2.northwind.example/as2"}
certificates: {verify: %[1]s, encrypt: %[1]s}
tls:
  trust: %[2]s
  client: [{cert: ../keys/login-current.crt, key: ../keys/login-current.pem}, {cert: ../keys/login-next.crt, key: ../keys/login-next.pem, from: %[3]s}]
`, pair("theirs", "crt"), pair("server", "crt"), from))
	return r
}

// named are certificates by when they serve.
func (r rollover) named(list ...*x509.Certificate) (out []string) {
	for _, c := range list {
		out = append(out, r.names[string(c.Raw)])
	}
	slices.Sort(out)
	return out
}

// TestRow37RollOverOfAllSixUses looks at every use before the next certificate is
// used, while both are valid, and after the current one ended. What others may
// have made with either, or may still use, is accepted all the while; we use the
// newest (OpenAS2 #612: an overlap at one of six places).
func TestRow37RollOverOfAllSixUses(t *testing.T) {
	t.Parallel()
	r := newRollover(t)
	s, problems, err := Load(filepath.Join(r.dir, "edigw.yaml"), today)
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	for _, test := range []struct {
		use string
		get func(at time.Time) ([]*x509.Certificate, error)
		all bool // all that are valid are accepted, not the newest alone
	}{
		{UseSign, func(at time.Time) ([]*x509.Certificate, error) {
			a, err := s.Agreement("northwind", at)
			if err == nil && !a.SigningKey.Public().(interface{ Equal(crypto.PublicKey) bool }).Equal(a.SigningCertificate.PublicKey) {
				t.Errorf("%v: signing key and certificate differ", at)
			}
			return []*x509.Certificate{a.SigningCertificate}, err
		}, false},
		{UseDecrypt, func(at time.Time) (list []*x509.Certificate, err error) {
			a, err := s.Receiving("northwind", at)
			for _, d := range a.Decrypt {
				list = append(list, d.Certificate)
			}
			return list, err
		}, true},
		{UseVerify, func(at time.Time) ([]*x509.Certificate, error) {
			a, err := s.Receiving("northwind", at)
			return a.Verify, err
		}, true},
		{UseEncrypt, func(at time.Time) ([]*x509.Certificate, error) {
			a, err := s.Agreement("northwind", at)
			return a.Recipients, err
		}, false},
		{UseTLSClient, func(at time.Time) ([]*x509.Certificate, error) {
			x, err := s.Transport("northwind", func() time.Time { return at })
			if err != nil {
				return nil, err
			}
			var pair *tls.Certificate
			if pair, err = x.Client(); err != nil {
				return nil, err
			}
			return []*x509.Certificate{pair.Leaf}, nil
		}, false},
		{UseTLSTrust, func(at time.Time) ([]*x509.Certificate, error) {
			x, err := s.Transport("northwind", func() time.Time { return at })
			return x.Trust, err
		}, true},
	} {
		t.Run(test.use, func(t *testing.T) {
			t.Parallel()
			before, both := []string{"current"}, []string{"next"}
			if test.all {
				both = []string{"current", "next"}
			}
			if test.use == UseDecrypt { // a partner may encrypt to the next one as soon as he has it
				before = both
			}
			for _, phase := range []struct {
				name string
				days int
				want []string
			}{
				{"before", 1, before}, {"the last moment before", 30, before},
				{"the cut-over", 30, both}, {"in the overlap", 45, both}, {"after", 61, []string{"next"}},
			} {
				at := today.AddDate(0, 0, phase.days)
				if phase.name == "the last moment before" {
					at = at.Add(-time.Second)
				}
				got, err := test.get(at)
				if err != nil {
					t.Fatalf("%s: %v", phase.name, err)
				}
				if diff := cmp.Diff(phase.want, r.named(got...)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", phase.name, diff)
				}
			}
			for _, i := range s.Certificates(today) {
				if i.Use == test.use && (i.Successor != "") != i.InForce {
					t.Errorf("serial %s in force %t, its successor %q", i.Serial, i.InForce, i.Successor)
				}
				if i.Use == test.use && i.InUse != (i.InForce || i.Use == UseDecrypt) {
					t.Errorf("serial %s in force %t, in use %t", i.Serial, i.InForce, i.InUse)
				}
				if told := i.InForce && (newestOnly(i.Use) || i.Use == UseDecrypt); i.Use == test.use && (i.Next != "") != told {
					t.Errorf("serial %s gives way to %q from %v", i.Serial, i.Next, i.NextFrom)
				}
			}
		})
	}
}

// TestReceiptMayVerifyWithWhatWasValidWhenItsMessageWent: the partner may have
// signed before he changed.
func TestReceiptMayVerifyWithWhatWasValidWhenItsMessageWent(t *testing.T) {
	t.Parallel()
	r := newRollover(t)
	s := mustLoad(t, r.dir)
	a, err := s.Acknowledging("northwind", today.AddDate(0, 0, 59), today.AddDate(0, 0, 61))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"current", "next"}, r.named(a.Verify...)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
