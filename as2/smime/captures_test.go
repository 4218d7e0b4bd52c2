package smime

import (
	"bufio"
	"bytes"
	"crypto"
	"edigw/internal/testfixture"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// splitSigned takes a multipart/signed body apart: the exact first part and the
// decoded signature.
func splitSigned(t testing.TB, body []byte, boundary string) (part, sig []byte) {
	t.Helper()
	pieces := bytes.Split(body, []byte("\r\n--"+boundary))
	first, ok := bytes.CutPrefix(body, []byte("--"+boundary))
	if ok {
		pieces = bytes.Split(first, []byte("\r\n--"+boundary))
		pieces = append([][]byte{nil}, pieces...)
	}
	if len(pieces) < 4 {
		t.Fatalf("%d pieces", len(pieces))
	}
	part = bytes.TrimPrefix(pieces[1], []byte("\r\n"))
	header, sig, ok := bytes.Cut(bytes.TrimPrefix(pieces[2], []byte("\r\n")), []byte("\r\n\r\n"))
	if !ok {
		t.Fatal("signature part without a header")
	}
	if strings.Contains(strings.ToLower(string(header)), "base64") {
		der, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(string(sig)), ""))
		if err != nil {
			t.Fatal(err)
		}
		sig = der
	}
	return part, sig
}

// boundaryOf finds the parameter in a header, folded or not.
func boundaryOf(t testing.TB, header string) string {
	t.Helper()
	_, after, ok := strings.Cut(header, "boundary=")
	if !ok {
		t.Fatal("no boundary")
	}
	return strings.FieldsFunc(after, func(r rune) bool { return strings.ContainsRune("\"; \t\r\n", r) })[0]
}

func TestCapturesOfOpenAS2(t *testing.T) {
	t.Parallel()
	client := testfixture.Certificate(t, testfixture.Path(t, "as2", "keys", "client.crt"))
	server := Recipient{
		Certificate: testfixture.Certificate(t, testfixture.Path(t, "as2", "keys", "server.crt")),
		Key:         readKey(t, testfixture.Path(t, "as2", "keys", "server.key")),
	}
	files, err := filepath.Glob(testfixture.Path(t, "as2", "openas2", "*.pkcs7"))
	if err != nil || len(files) != 8 {
		t.Fatalf("%d captures, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			stem := strings.TrimSuffix(file, ".pkcs7")
			d, err := NewDecrypter(bytes.NewReader(testfixture.Read(t, file)), []Recipient{server}, Limits{})
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(d)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, testfixture.Read(t, stem+".mime")) {
				t.Fatal("decrypts to something else")
			}
			if d.Cipher() != TripleDES {
				t.Errorf("cipher %s", d.Cipher())
			}
			header, body, _ := bytes.Cut(got, []byte("\r\n\r\n"))
			part, sig := splitSigned(t, body, boundaryOf(t, string(header)))
			if want := bytes.TrimPrefix(testfixture.Read(t, stem+".txt"), []byte("\r\n")); !bytes.Equal(part, want) {
				t.Fatalf("part is %q", part)
			}
			v, err := VerifyDetached(sig, digestOf(part), append(stranger().pins(), client))
			if err != nil {
				t.Fatal(err)
			}
			if v.Hash != crypto.SHA256 || v.SigningTime.Year() < 2022 || len(v.Embedded) != 0 {
				t.Errorf("hash %v, at %v, %d certificates", v.Hash, v.SigningTime, len(v.Embedded))
			}
		})
	}
}

// hostileBody gives the body of a recorded request and its Content-Type.
func hostileBody(t testing.TB, name string) (contentType string, body []byte) {
	t.Helper()
	f, err := os.Open(testfixture.Path(t, "hostile", "as2", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	req, err := http.ReadRequest(bufio.NewReader(f))
	if err != nil {
		t.Fatal(err)
	}
	if body, err = io.ReadAll(req.Body); err != nil {
		t.Fatal(err)
	}
	return req.Header.Get("Content-Type"), body
}

func TestHostileSignatures(t *testing.T) {
	t.Parallel()
	known := testfixture.Certificate(t, testfixture.Path(t, "hostile", "keys", "partner.crt.pem"))
	tests := []struct {
		file string
		want error
		hash crypto.Hash
	}{
		{"control-ok.http", nil, crypto.SHA256},
		{"two-signers-stranger-bad-partner-good.http", nil, crypto.SHA256},
		{"two-signers-stranger-good-partner-bad.http", ErrSignature, 0},
		{"signer-stranger.http", ErrSignerUnknown, 0},
		{"signer-lookalike-cert.http", ErrSignature, 0},
		{"signed-no-signers.http", ErrNoSigner, 0},
		{"wrap-embedded-content.http", ErrEmbeddedContent, 0},
		{"sha1-under-micalg-sha256.http", nil, crypto.SHA1},
		{"sha1-digest-claimed-sha256.http", ErrDigest, 0},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			t.Parallel()
			contentType, body := hostileBody(t, tt.file)
			part, sig := splitSigned(t, body, boundaryOf(t, contentType))
			v, err := VerifyDetached(sig, digestOf(part), append(stranger().pins(), known))
			if !errors.Is(err, tt.want) {
				t.Fatalf("got %v, want %v", err, tt.want)
			}
			if tt.want == nil && (v.Hash != tt.hash || !v.Signer.Equal(known)) {
				t.Errorf("verified %v by %v", v.Hash, v.Signer.Subject)
			}
			if strings.HasPrefix(tt.file, "two-signers") && len(v.Signers) != 2 {
				t.Errorf("%d signers reported", len(v.Signers))
			}
		})
	}
}

func TestHostileBER(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]error{
		"ber-nested-200.http":  ErrNesting,
		"ber-open-20000.http":  ErrMalformed, // not even the first of them is in its place
		"ber-length-4gib.http": ErrMalformed,
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			_, body := hostileBody(t, file)
			s, err := NewSignedReader(bytes.NewReader(body), Limits{})
			if err == nil {
				_, err = io.Copy(io.Discard, s)
			}
			if !errors.Is(err, want) {
				t.Errorf("got %v, want %v", err, want)
			}
		})
	}
}

func TestHostileCompression(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]error{
		"compressed-ok.http":         nil,
		"compressed-bomb.http":       ErrDecompress,
		"compressed-twice-bomb.http": nil, // the second layer is another call
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			_, body := hostileBody(t, file)
			r, err := NewDecompressor(bytes.NewReader(body), Limits{})
			if err != nil {
				t.Fatal(err)
			}
			n, err := io.Copy(io.Discard, r)
			if !errors.Is(err, want) {
				t.Errorf("got %v, want %v", err, want)
			}
			if n > 16<<20 {
				t.Errorf("%d bytes came out", n)
			}
		})
	}
}
