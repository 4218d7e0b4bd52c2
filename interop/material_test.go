package interop

import (
	"os"
	"os/exec"

	"edigw/internal/testpki"
)

// material is what a peer needs to know: its keys, edigw's certificate, where
// things are. All of it is made for one run and worth nothing after it.
type material struct {
	Dir      string `json:"dir"`      // the peer's own, empty but for the files named here
	URL      string `json:"url"`      // edigw's, for messages; receipts go where each message says
	Key      string `json:"key"`      // file: the peer's RSA key, PEM, PKCS #8
	Cert     string `json:"cert"`     // file: its certificate, PEM
	Edigw    string `json:"edigw"`    // file: edigw's certificate, PEM
	Store    string `json:"store"`    // file: PKCS #12 in old ciphers: alias peer with key, alias edigw without
	Password string `json:"password"` // of the store
}

// materialFor makes the folder of a peer.
func (s *site) materialFor(p peer) material {
	s.Helper()
	file := func(name string) string { return s.path(p.name(), name) }
	m := material{
		Dir: s.path(p.name()), URL: s.url(), Key: file("peer.key"), Cert: file("peer.crt"),
		Edigw: file("edigw.crt"), Store: file("peer.p12"), Password: "interop-test",
	}
	ours, err := os.ReadFile(s.path("site", "keys", "own.crt"))
	if err != nil {
		s.Fatal(err)
	}
	s.write(string(ours), p.name(), "edigw.crt")
	s.identity(testpki.SelfSigned(s, testpki.RSA(s, 1), p.name(), testpki.Valid()), m.Key, m.Cert, m.Store, m)
	return m
}

// identity writes key, certificate and PKCS #12 of a peer. Java programs with
// an old Bouncy Castle read old ciphers only.
func (s *site) identity(id testpki.Identity, key, cert, store string, m material) {
	s.Helper()
	for name, text := range map[string][]byte{key: id.KeyPEM(s), cert: id.CertPEM()} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			s.Fatal(err)
		}
	}
	out, err := exec.Command("openssl", "pkcs12", "-export", "-legacy", "-inkey", key, "-in", cert, "-name", "peer",
		"-certfile", m.Edigw, "-caname", "edigw", "-passout", "pass:"+m.Password, "-out", store).CombinedOutput()
	if err != nil {
		s.Fatalf("openssl pkcs12: %v\n%s", err, out)
	}
}
