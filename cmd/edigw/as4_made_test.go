package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// community is one that uses other keys than RSA, and what its members type.
type community struct {
	profile string
	kinds   []string // of cert new, with the name of the file
	keys    string   // in edigw.yaml
	certs   []string // for the other side: who signs, what is encrypted to
	idType  string   // of party ids; empty: they are URIs, or the profile knows
	flags   []string
	wire    []string // what stands in a message
	told    string   // what edigw check has to say of the partner file; empty: nothing
}

var communities = []community{
	{
		profile: "bdew", kinds: []string{"brainpoolP256r1 sign.pem", "brainpoolP256r1 open.pem"},
		keys:  "- {use: [sign], file: keys/sign.pem}\n  - {use: [decrypt], file: keys/open.pem}",
		certs: []string{"sign.crt", "open.crt"}, idType: "urn:oasis:names:tc:ebcore:partyid-type:unregistered:BDEW",
		flags: []string{"--service", "https://www.bdew.de/as4/communication/services/MP", "--tls-client", "keys/tls.pem"},
		told:  "tls: has no effect on an http URL",
		wire:  []string{"xmldsig-more#ecdsa-sha256", "xmlenc11#ECDH-ES", "xmlenc11#ConcatKDF", "urn:oid:1.3.36.3.3.2.8.1.1.7"},
	},
	{
		profile: "entsog", kinds: []string{"ed25519-x25519 as4.pem"},
		keys:  "- {use: [sign], file: keys/as4-sign.pem}\n  - {use: [decrypt], file: keys/as4-decrypt.pem}",
		certs: []string{"as4-sign.crt", "as4-decrypt.crt"}, idType: "http://www.entsoe.eu/eic-codes/eic-party-codes-x",
		told:  "as4.part_properties.EDIGASDocumentType: profile entsog wants a value, or required: true",
		flags: []string{"--service", "A01", "--agreement", "http://entsog.eu/communication/agreements/21XACME/21XNORTH/1"},
		wire:  []string{"xmldsig-more#eddsa-ed25519", "xmldsig-more#x25519"},
	},
	{
		profile: "edelivery-2.0", kinds: []string{"ed25519-x25519 as4.pem"},
		keys:  "- {use: [sign], file: keys/as4-sign.pem}\n  - {use: [decrypt], file: keys/as4-decrypt.pem}",
		certs: []string{"as4-sign.crt", "as4-decrypt.crt"},
		flags: []string{"--service", "Orders", "--service-type", "urn:example:services", "--action", "Deliver"},
		wire:  []string{"xmldsig-more#eddsa-ed25519", "xmldsig-more#x25519", "xmldsig-more#hkdf"},
	},
	{
		profile: "edelivery-2.0", kinds: []string{"p-256 as4.pem"},
		keys:  "- {use: [sign, decrypt], file: keys/as4.pem}",
		certs: []string{"as4.crt"},
		wire:  []string{"xmldsig-more#ecdsa-sha256", "xmlenc11#ECDH-ES", "xmldsig-more#hkdf"},
	},
}

// listened passes on what is posted, and keeps it.
type listened struct {
	server *httptest.Server
	mu     sync.Mutex
	body   []byte
}

func newListened(t *testing.T, to string) *listened {
	t.Helper()
	l := &listened{}
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: to})
	l.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		l.mu.Lock()
		l.body = append(l.body, body...)
		l.mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(l.server.Close)
	return l
}

func (l *listened) said(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Contains(l.body, []byte(text))
}

// member makes the keys of a site and its name in AS4 with the commands of a new
// user.
func (c community) member(s *site, name string) {
	s.Helper()
	for _, k := range c.kinds {
		kind, file, _ := strings.Cut(k, " ")
		if code, out := s.run("cert", "new", strings.ToUpper(name), "--kind", kind, "--out", "keys/"+file); code != exitFine {
			s.Fatalf("cert new: %s", out)
		}
	}
	if code, out := s.run("cert", "new", name+".example", "--kind", "p-256", "--host", name+".example", "--out", "keys/tls.pem"); code != exitFine {
		s.Fatalf("cert new: %s", out)
	}
	text, err := os.ReadFile(s.path("edigw.yaml"))
	if err != nil {
		s.Fatal(err)
	}
	id := "urn:example:ids:" + name
	if c.idType != "" {
		id = "21X" + strings.ToUpper(name) + `", type: "` + c.idType
	}
	s.write("edigw.yaml", strings.NewReplacer(
		"as2: ACME-AS2}", fmt.Sprintf("as2: ACME-AS2, as4: {party: \"%s\"}}", id),
		"keys: [{use: [sign, decrypt], file: keys/own.pem}]", "keys:\n  - {use: [sign, decrypt], file: keys/own.pem}\n  "+c.keys,
	).Replace(string(text)))
}

// meets writes the file of the other with partner new; edigw check says what is
// left to be done, and no more.
func (c community) meets(s, other *site, name, url string) {
	s.Helper()
	args := append([]string{"partner", "new", name, "--protocol", "as4", "--profile", c.profile, "--address", url + "/as4", "--name", name,
		"--receipt", "sync", "--when-down", "hold", "--owner", "EDI desk"}, c.flags...)
	party := []string{"--party", "urn:example:ids:" + name}
	if c.idType != "" {
		party = []string{"--party", "21X" + strings.ToUpper(name), "--party-type", c.idType}
	}
	args = append(args, party...)
	for _, cert := range c.certs {
		args = append(args, "--cert", other.path("keys", cert))
	}
	if code, out := s.run(args...); code != exitFine {
		s.Fatalf("partner new: %s", out)
	}
	code, out := s.run("check")
	lines := 0
	if c.told != "" {
		lines = 1
	}
	if code != exitFine || strings.Count(out, "partners/") != lines || !strings.Contains(out, c.told) {
		s.Errorf("check says: %s", out)
	}
	sheet, err := os.ReadFile(s.path("partners", name+"-sheet.txt"))
	if err != nil {
		s.Fatal(err)
	}
	for _, want := range []string{"Signature  ", "digest SHA-256", "Key transport  ", "for sign: ", "for decrypt: "} {
		if n := strings.Count(string(sheet), want); n != 1 {
			s.Errorf("%d times %q on the sheet:\n%s", n, want, sheet)
		}
	}
}

// TestAS4KeysOfEachCommunity has two gateways, set up by a new user with keys that
// edigw made, exchange documents under each profile that uses elliptic curves.
func TestAS4KeysOfEachCommunity(t *testing.T) {
	t.Parallel()
	for _, c := range communities {
		t.Run(c.profile+" "+strings.Join(c.kinds, ", "), func(t *testing.T) {
			t.Parallel()
			p := &duo{TB: t, acme: newSite(t, ""), north: newSite(t, "")}
			c.member(p.acme, "acme")
			c.member(p.north, "north")
			wire := newListened(t, p.north.receive)
			c.meets(p.acme, p.north, "north", wire.server.URL)
			c.meets(p.north, p.acme, "acme", "http://"+p.acme.receive)
			p.start()
			there, back := strings.Repeat("an order\r\n", 1000), "an invoice"
			one, other := p.acme.sent("north", "PO-1", []byte(there)), p.north.sent("acme", "INV-1", []byte(back))
			p.delivered(p.acme, p.north, one, there)
			p.delivered(p.north, p.acme, other, back)
			for _, want := range c.wire {
				if !wire.said(want) {
					t.Errorf("no message has %s", want)
				}
			}
			if wire.said("rsa-") {
				t.Error("a message used RSA")
			}
		})
	}
}

// TestNewPartnerMustFitTheProfile: a certificate or key of a kind that the profile
// does not use is refused before anything is written, in the words of edigw check.
func TestNewPartnerMustFitTheProfile(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	community{kinds: []string{"ed25519-x25519 as4.pem", "brainpoolP256r1 bp.pem", "p-256 ec.pem"}}.member(s, "theirs")
	for name, c := range map[string]struct {
		profile string
		certs   []string
		want    []string
	}{
		"an X25519 certificate for RSA": {"edelivery-1.15", []string{"as4-sign.crt", "as4-decrypt.crt"},
			[]string{"as4.security.key_transport: rsa-oaep-mgf1-sha256 is for another kind of key than keys/as4-decrypt.crt", "holds: an X25519 key", "ask the partner for an RSA certificate",
				"certificates.verify: profile edelivery-1.15 wants signatures by rsa-sha256", "correct 2 answers"}},
		"an Ed25519 certificate to encrypt to": {"edelivery-1.15", []string{"as4-sign.crt"},
			[]string{"certificates.encrypt[0].file: keys/as4-sign.crt holds an Ed25519 key; encryption needs RSA"}},
		"no key of ours that signs": {"bdew", []string{"bp.crt"},
			[]string{"as4.security.sign: is ecdsa-sha256, but none of keys with use sign is a key of kind brainpoolP256r1", "edigw cert new NAME --out keys/bdew.pem --kind brainpoolP256r1"}},
		"no key of ours for edition 4.0": {"entsog", []string{"as4-sign.crt", "as4-decrypt.crt"},
			[]string{"as4.security.sign: is ed25519, but none of keys", "keys: profile entsog wants", "they could not encrypt to us"}},
	} {
		args := []string{"partner", "new", "contoso", "--profile", c.profile, "--name", "C", "--party", "CONTOSO", "--party-type", "urn:example:ids", "--service", "urn:example:s",
			"--agreement", "urn:example:a", "--action", "A", "--address", "https://as4.contoso.example/msh", "--receipt", "sync", "--when-down", "hold", "--owner", "x"}
		for _, cert := range c.certs {
			args = append(args, "--cert", s.path("keys", cert))
		}
		code, out := s.run(args...)
		if code != exitUse || !strings.Contains(out, "nothing was written") {
			t.Errorf("%s: exit code %d: %s", name, code, out)
		}
		for _, want := range c.want {
			if !strings.Contains(out, want) {
				t.Errorf("%s: it does not say %q:\n%s", name, want, out)
			}
		}
		for _, pattern := range []string{"partners/*", "keys/contoso*"} {
			if found, err := filepath.Glob(s.path(pattern)); err != nil || len(found) > 0 {
				t.Errorf("%s: %q was written (%v)", name, found, err)
			}
		}
	}
}
