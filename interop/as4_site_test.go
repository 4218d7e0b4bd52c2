package interop

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// as4Material is what an AS4 peer needs to know: its keys and edigw's
// certificates, each by the name of its kind. All of it is made for one run and
// worth nothing after it.
type as4Material struct {
	Dir   string             `json:"dir"`   // the peer's own
	Keys  map[string]keyPair `json:"keys"`  // its own
	Edigw map[string]string  `json:"edigw"` // file of edigw's certificate, PEM
}

// keyPair are files: a key (PEM, PKCS #8) and its certificate.
type keyPair struct {
	Key  string `json:"key"`
	Cert string `json:"cert"`
}

// kinds of keys. Those of other are for what goes wrong: nobody trusts it.
var kinds = []string{"rsa", "ec", "ed25519", "x25519", "brainpool", "other"}

// newKey makes a key of a kind with its certificate, by openssl.
func (s *site) newKey(dir, kind, owner string) keyPair {
	s.Helper()
	file := func(end string) string { return filepath.Join(dir, kind+end) }
	p := keyPair{file(".key"), file(".crt")}
	options := map[string][]string{
		"rsa": {"RSA", "rsa_keygen_bits:2048"}, "other": {"RSA", "rsa_keygen_bits:2048"}, "ec": {"EC", "ec_paramgen_curve:P-256"},
		"brainpool": {"EC", "ec_paramgen_curve:brainpoolP256r1"}, "ed25519": {"ED25519"}, "x25519": {"X25519"},
	}[kind]
	generate := []string{"genpkey", "-algorithm", options[0], "-out", p.Key}
	if len(options) > 1 {
		generate = append(generate, "-pkeyopt", options[1])
	}
	s.openssl(generate...)
	subject := "/CN=" + owner
	if kind != "x25519" {
		s.openssl("req", "-x509", "-new", "-key", p.Key, "-subj", subject, "-days", "30", "-out", p.Cert)
		return p
	}
	// Such a key signs nothing, not even for itself: another one does.
	s.openssl("pkey", "-in", p.Key, "-pubout", "-out", file(".pub"))
	issuer, ca := file("-ca.key"), file("-ca.crt")
	s.openssl("genpkey", "-algorithm", "ED25519", "-out", issuer)
	s.openssl("req", "-x509", "-new", "-key", issuer, "-subj", subject+" issuer", "-days", "30", "-out", ca)
	s.openssl("req", "-new", "-key", issuer, "-subj", subject, "-out", file(".csr"))
	if err := os.WriteFile(file(".ext"), []byte("subjectKeyIdentifier = hash\n"), 0o600); err != nil {
		s.Fatal(err)
	}
	s.openssl("x509", "-req", "-in", file(".csr"), "-force_pubkey", file(".pub"), "-extfile", file(".ext"),
		"-CA", ca, "-CAkey", issuer, "-CAcreateserial", "-days", "30", "-out", p.Cert)
	return p
}

func (s *site) openssl(args ...string) {
	s.Helper()
	if out, err := exec.Command("openssl", args...).CombinedOutput(); err != nil {
		s.Fatalf("openssl %v: %v\n%s", args, err, out)
	}
}

// edigws are the installations of edigw that AS4 is tried with. Of several keys
// for ECDSA the newest signs, so that brainpool has an installation of its own.
type edigws struct {
	main, energy *site
}

func newEdigws(t *testing.T) edigws {
	t.Helper()
	return edigws{main: newAS4Site(t, "rsa", "ec", "ed25519", "x25519"), energy: newAS4Site(t, "brainpool")}
}

// newAS4Site makes an installation with keys of these kinds and starts it.
func newAS4Site(t *testing.T, kinds ...string) *site {
	t.Helper()
	s := newSite(t)
	keys := s.path("site", "keys")
	var list []string
	for _, kind := range kinds {
		p := s.newKey(keys, kind, "EDIGW "+kind)
		var pem []byte
		for _, f := range []string{p.Key, p.Cert} {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			pem = append(pem, text...)
		}
		s.write(string(pem), "site", "keys", kind+".pem")
		use := map[string]string{"ed25519": "sign", "x25519": "decrypt"}[kind]
		if use == "" {
			use = "[sign, decrypt]"
		}
		list = append(list, fmt.Sprintf("{use: %s, file: keys/%s.pem}", use, kind))
	}
	s.replace("edigw.yaml", "{use: [sign, decrypt], file: keys/own.pem}", strings.Join(list, "\n  - "))
	s.start()
	return s
}

// of is the installation that a profile is tried with.
func (e edigws) of(p as4Profile) *site {
	if p.keys == "brainpool" {
		return e.energy
	}
	return e.main
}

// materialFor makes the folders of a peer, one beside each installation: partner
// files name certificates from there.
func (e edigws) materialFor(p named) as4Material {
	m := as4Material{Dir: e.main.path(p.name()), Keys: map[string]keyPair{}, Edigw: map[string]string{}}
	for _, s := range []*site{e.main, e.energy} {
		s.Helper()
		if err := os.MkdirAll(s.path(p.name()), 0o700); err != nil {
			s.Fatal(err)
		}
	}
	for _, kind := range kinds {
		s := e.main
		if kind == "brainpool" {
			s = e.energy
		}
		m.Keys[kind] = s.newKey(s.path(p.name()), kind, p.name()+" "+kind)
		m.Edigw[kind] = s.path("site", "keys", kind+".crt")
	}
	m.Edigw["other"] = m.Keys["other"].Cert // edigw has no such key
	return m
}

// introduce writes the partner files of a peer, one a profile, and takes them
// into use. It is reached at an address.
func (e edigws) introduce(p as4Peer, all []as4Profile, at string) {
	for _, pr := range all {
		e.of(pr).write(strings.ReplaceAll(pr.partnerFile(p), p.listens(), at), "site", "partners", pr.partner(p)+".yaml")
	}
	e.main.reload()
	e.energy.reload()
}

// terms are those of all profiles, as a peer's driver sees them.
func (e edigws) terms(p named, all []as4Profile) []as4Terms {
	var out []as4Terms
	for _, pr := range all {
		t := as4TermsOf(pr, p)
		t.URL = "http://" + e.of(pr).front.address + "/as4"
		out = append(out, t)
	}
	return out
}
