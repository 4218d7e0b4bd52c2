package p12

import (
	"crypto"
	"edigw/internal/testfixture"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const password = "test material"

// run runs another program in dir.
func run(t testing.TB, dir, program string, args ...string) {
	t.Helper()
	cmd := exec.Command(testfixture.Program(t, program), args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
	}
}

// keytool makes a store with two keys and two certificates of others.
func keytool(t testing.TB, dir string, more ...string) {
	t.Helper()
	common := append([]string{"-storetype", "PKCS12", "-keystore", "store.p12", "-storepass", password}, more...)
	for _, alias := range []string{"Acme", "acme-next"} {
		run(t, dir, "keytool", append([]string{"-genkeypair", "-alias", alias, "-keyalg", "RSA", "-keysize", "2048", "-dname", "CN=" + alias}, common...)...)
		run(t, dir, "keytool", append([]string{"-exportcert", "-alias", alias, "-file", alias + ".der"}, common...)...)
	}
	for _, alias := range []string{"northwind", "contoso"} {
		run(t, dir, "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", alias+".key", "-out", alias+".pem", "-subj", "/CN="+alias)
		run(t, dir, "keytool", append([]string{"-importcert", "-noprompt", "-alias", alias, "-file", alias + ".pem"}, common...)...)
	}
}

// openssl makes a store with one key.
func openssl(t testing.TB, dir string, more ...string) {
	t.Helper()
	run(t, dir, "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "k.pem", "-out", "c.pem", "-subj", "/CN=acme")
	run(t, dir, "openssl", append([]string{"pkcs12", "-export", "-inkey", "k.pem", "-in", "c.pem", "-name", "acme", "-passout", "pass:" + password, "-out", "store.p12"}, more...)...)
}

func TestRow70ForeignStores(t *testing.T) {
	t.Parallel()
	bouncy := []string{"-provider", "org.bouncycastle.jce.provider.BouncyCastleProvider", "-providerpath", "/usr/share/java/bcprov.jar"}
	two := []string{"acme", "acme-next"}
	for name, tc := range map[string]struct {
		make func(t testing.TB, dir string)
		keys []string
		only []string // certificates without a key
	}{
		"Java":                        {func(t testing.TB, d string) { keytool(t, d) }, two, []string{"contoso", "northwind"}},
		"Java, as older releases did": {func(t testing.TB, d string) { keytool(t, d, "-J-Dkeystore.pkcs12.legacy=true") }, two, []string{"contoso", "northwind"}},
		"Bouncy Castle, in BER":       {func(t testing.TB, d string) { keytool(t, d, bouncy...) }, two, []string{"contoso", "northwind"}},
		"OpenSSL":                     {func(t testing.TB, d string) { openssl(t, d) }, []string{"acme"}, nil},
		"OpenSSL, RC2 and 3DES":       {func(t testing.TB, d string) { openssl(t, d, "-legacy") }, []string{"acme"}, nil},
		"OpenSSL, RC2-128": {func(t testing.TB, d string) {
			openssl(t, d, "-legacy", "-certpbe", "PBE-SHA1-RC2-128", "-keypbe", "PBE-SHA1-2DES")
		}, []string{"acme"}, nil},
		"OpenSSL, certificates plain":  {func(t testing.TB, d string) { openssl(t, d, "-certpbe", "NONE", "-keypbe", "NONE") }, []string{"acme"}, nil},
		"OpenSSL, AES-128 and SHA-512": {func(t testing.TB, d string) { openssl(t, d, "-keypbe", "AES-128-CBC", "-macalg", "sha512") }, []string{"acme"}, nil},
		"OpenSSL, no MAC":              {func(t testing.TB, d string) { openssl(t, d, "-nomac") }, []string{"acme"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			tc.make(t, dir)
			data, err := os.ReadFile(filepath.Join(dir, "store.p12"))
			if err != nil {
				t.Fatal(err)
			}
			entries, err := Read(data, password)
			if err != nil {
				t.Fatal(err)
			}
			checkEntries(t, entries, tc.keys, tc.only)
			if _, err := Read(data, "wrong"); !errors.Is(err, ErrPassword) && !strings.Contains(name, "plain") {
				t.Errorf("with a wrong password: %v", err)
			}
		})
	}
}

// checkEntries wants these names, and keys that belong to their certificates.
func checkEntries(t *testing.T, entries []Entry, wantKeys, wantOnly []string) {
	t.Helper()
	var keys, only []string
	for _, e := range entries {
		if len(e.Certificates) != 1 {
			t.Errorf("%q has %d certificates", e.Name, len(e.Certificates))
			continue
		}
		if got := e.Certificates[0].Subject.CommonName; !strings.EqualFold(got, e.Name) {
			t.Errorf("%q has the certificate of %q", e.Name, got)
		}
		if e.Key == nil {
			only = append(only, strings.ToLower(e.Name))
			continue
		}
		keys = append(keys, strings.ToLower(e.Name))
		public := e.Certificates[0].PublicKey.(interface{ Equal(crypto.PublicKey) bool })
		if !public.Equal(e.Key.(crypto.Signer).Public()) {
			t.Errorf("the key of %q is not that of its certificate", e.Name)
		}
	}
	slices.Sort(keys)
	slices.Sort(only)
	if !slices.Equal(keys, wantKeys) || !slices.Equal(only, wantOnly) {
		t.Errorf("keys %q and certificates %q, want %q and %q", keys, only, wantKeys, wantOnly)
	}
}

func TestDamagedStore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	openssl(t, dir)
	data, err := os.ReadFile(filepath.Join(dir, "store.p12"))
	if err != nil {
		t.Fatal(err)
	}
	// The parameters of the MAC's digest say nothing, whatever their type.
	null := len(data) - len(octets(make([]byte, 32))) - len(octets(make([]byte, 8))) - len(number(2048)) - len(tlv(0x05))
	for i := range data {
		broken := slices.Clone(data)
		broken[i] ^= 0x40
		if _, err := Read(broken, password); err == nil && i != null {
			t.Errorf("byte %d of %d changed and nobody noticed", i, len(data))
		}
	}
	for n := range 40 {
		if _, err := Read(data[:len(data)*n/40], password); err == nil {
			t.Errorf("cut off at %d of 40, and read", n)
		}
	}
}

func FuzzRead(f *testing.F) {
	cert, key := pair(f)
	f.Add([]byte{0x30, 0x80, 0x02, 0x01, 0x03, 0x00, 0x00}, "")
	f.Add(store(nil, plain(certificate(cert), privateKey(key))), "")
	f.Add(store(nil, sealed(f, 1, certificate(cert)), plain(shroud(f, key, 1))), password)
	f.Add(store(mac(seq(oid(oidPBMAC1), seq(kdf(1, 32), hmacID("11"))), make([]byte, 64)), plain()), password)
	f.Fuzz(func(t *testing.T, data []byte, password string) {
		if len(data) > 4<<10 || len(password) > 64 {
			return
		}
		entries, err := read(data, password, 10_000)
		for _, kind := range []error{nil, ErrMalformed, ErrPassword, ErrUnsupported} {
			if errors.Is(err, kind) {
				if err != nil && entries != nil {
					t.Errorf("%d entries beside %v", len(entries), err)
				}
				return
			}
		}
		t.Errorf("an error of no kind: %v", err)
	})
}

func TestJavaKeyStoreIsNamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run(t, dir, "keytool", "-genkeypair", "-alias", "acme", "-keyalg", "RSA", "-dname", "CN=acme", "-storetype", "JKS", "-keystore", "store.jks", "-storepass", password, "-keypass", password)
	data, err := os.ReadFile(filepath.Join(dir, "store.jks"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Read(data, password); !errors.Is(err, ErrJKS) || !errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), "-deststoretype pkcs12") {
		t.Errorf("%v", err)
	}
}
