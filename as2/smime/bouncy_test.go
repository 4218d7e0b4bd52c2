package smime

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestBouncyCastle exchanges every kind of message with Bouncy Castle, which
// most AS2 products stand on, and which is the only other reader of
// CompressedData at hand. Its jars (Debian: libbcpkix-java) are looked for
// in /usr/share/java or the folder that EDIGW_BOUNCYCASTLE names.
func TestBouncyCastle(t *testing.T) {
	t.Parallel()
	jars := os.Getenv("EDIGW_BOUNCYCASTLE")
	if jars == "" {
		jars = "/usr/share/java"
	}
	classes := ""
	for _, jar := range []string{"bcprov.jar", "bcutil.jar", "bcpkix.jar"} {
		path := filepath.Join(jars, jar)
		if _, err := os.Stat(path); err != nil {
			missing(t, "Bouncy Castle is not installed")
		}
		classes += path + string(os.PathListSeparator)
	}
	if _, err := exec.LookPath("java"); err != nil {
		missing(t, "java is not installed")
	}

	content := payload(300_000)
	dir := t.TempDir()
	write := func(name string, b []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	read := func(name string) []byte { return readFile(t, filepath.Join(dir, name)) }
	key, err := x509.MarshalPKCS8PrivateKey(partner().key)
	if err != nil {
		t.Fatal(err)
	}
	write("content", content)
	write("cert", partner().cert.Raw)
	write("key", key)
	write("ours.compressed", compress(t, content))
	write("ours.encrypted", encrypt(t, content, AES256CBC, gateway().cert, partner().cert))
	write("ours.signed", sign(t, content, partner().options(crypto.SHA256)))
	cmd := exec.Command("java", "-cp", classes, filepath.Join("testdata", "Bouncy.java"), dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	same := func(name string, got []byte, err error) {
		t.Helper()
		if err != nil || !bytes.Equal(got, content) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
	same("our compression", read("ours.compressed.out"), nil)
	same("our encryption", read("ours.encrypted.out"), nil)
	for _, name := range []string{"theirs.compressed", "theirs.compressed.der"} {
		got, err := decompress(read(name), Limits{})
		same(name, got, err)
	}
	for i := range allCiphers {
		name := fmt.Sprintf("theirs.encrypted.%d", i)
		got, err := decrypt(read(name), partner().recipient())
		same(name, got, err)
	}
	for _, digest := range []string{"SHA1", "SHA256", "SHA384", "SHA512"} {
		v, err := VerifyDetached(read("theirs.signed."+digest), digestOf(content), partner().pins())
		if want, _ := HashByName(digest); err != nil || v.Hash != want {
			t.Errorf("%s: %v", digest, err)
		}
		checkOpaque(t, read("theirs.opaque."+digest), content, partner())
	}
}
