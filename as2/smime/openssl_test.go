package smime

import (
	"bytes"
	"crypto"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

var digestNames = []string{"sha1", "sha256", "sha384", "sha512"}

func TestOpenSSLVerifiesOurSignatures(t *testing.T) {
	t.Parallel()
	content := []byte("Content-Type: text/plain\r\n\r\nISA*00*\nwith a lone line feed")
	signers := map[string]func() party{"rsa": partner, "p256": p256, "p384": p384, "p521": p521}
	for name, signer := range signers {
		for _, digest := range digestNames {
			for _, variant := range []string{"plain", "no certificates", "no attributes", "chain"} {
				t.Run(fmt.Sprintf("%s %s %s", name, digest, variant), func(t *testing.T) {
					t.Parallel()
					o := newOpenSSL(t)
					h, _ := HashByName(digest)
					options := signer().options(h)
					switch variant {
					case "no certificates":
						options.OmitCertificates = true
					case "no attributes":
						options.NoAttributes = true
					case "chain":
						options.Chain = stranger().pins()
					}
					cert, _ := o.party("signer", signer())
					o.write("sig", sign(t, content, options))
					o.write("content", content)
					out := o.run("cms", "-verify", "-binary", "-inform", "DER", "-in", "sig", "-content", "content",
						"-certfile", cert, "-noverify")
					if !bytes.Equal(out, content) {
						t.Errorf("openssl gave %q", out)
					}
				})
			}
		}
	}
}

func TestOpenSSLSignaturesVerify(t *testing.T) {
	t.Parallel()
	content := []byte("Content-Type: text/plain\r\n\r\nISA*00*\nwith a lone line feed")
	signers := map[string]func() party{"rsa": partner, "p256": p256, "p384": p384, "p521": p521}
	flags := map[string][]string{
		"plain": nil, "no certificates": {"-nocerts"}, "no attributes": {"-noattr"}, "key identifier": {"-keyid"},
		"stream": {"-stream"}, "pss": {"-keyopt", "rsa_padding_mode:pss"},
		"pss without a salt":        {"-keyopt", "rsa_padding_mode:pss", "-keyopt", "rsa_pss_saltlen:0"},
		"pss with the longest salt": {"-keyopt", "rsa_padding_mode:pss", "-keyopt", "rsa_pss_saltlen:max"},
	}
	for name, signer := range signers {
		for _, digest := range digestNames {
			for variant, more := range flags {
				if strings.HasPrefix(variant, "pss") && name != "rsa" {
					continue
				}
				t.Run(fmt.Sprintf("%s %s %s", name, digest, variant), func(t *testing.T) {
					t.Parallel()
					o := newOpenSSL(t)
					cert, key := o.party("signer", signer())
					o.write("content", content)
					args := append([]string{"cms", "-sign", "-binary", "-outform", "DER", "-in", "content", "-md", digest,
						"-signer", cert, "-inkey", key}, more...)
					sig := o.run(args...)
					v, err := VerifyDetached(sig, digestOf(content), append(stranger().pins(), signer().cert))
					if variant == "stream" { // its DER output embeds the content unasked
						if !errors.Is(err, ErrEmbeddedContent) {
							t.Fatalf("got %v", err)
						}
						checkOpaque(t, sig, content, signer())
						return
					}
					if err != nil {
						t.Fatal(err)
					}
					h, _ := HashByName(digest)
					if !v.Signer.Equal(signer().cert) || v.Hash != h || !bytes.Equal(v.Digest, sumOf(h, content)) {
						t.Errorf("got %s by %v", CertificateID(v.Signer), v.Hash)
					}
					if (variant == "no attributes") != v.SigningTime.IsZero() {
						t.Errorf("signing time %v", v.SigningTime)
					}

					checkOpaque(t, o.run(append(args, "-nodetach")...), content, signer())
				})
			}
		}
	}
}

func checkOpaque(t *testing.T, message, content []byte, signer party) {
	t.Helper()
	s, err := NewSignedReader(bytes.NewReader(message), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(s)
	if err != nil || !bytes.Equal(got, content) {
		t.Fatalf("opaque: got %q, %v", got, err)
	}
	if _, err := s.Verify(signer.pins()); err != nil {
		t.Errorf("opaque: %v", err)
	}
	if _, err := s.Verify(stranger().pins()); !errors.Is(err, ErrSignerUnknown) {
		t.Errorf("opaque, pinned to a stranger: %v", err)
	}
}

// TestOpenSSLRoundTrip crosses every digest with every cipher: signed and
// encrypted by one side, opened by the other.
func TestOpenSSLRoundTrip(t *testing.T) {
	t.Parallel()
	ciphers := map[Cipher]string{TripleDES: "-des3", AES128CBC: "-aes128", AES192CBC: "-aes192", AES256CBC: "-aes256"}
	content := payload(100_001)
	for c, flag := range ciphers {
		for _, digest := range digestNames {
			t.Run(fmt.Sprintf("%s %s", c, digest), func(t *testing.T) {
				t.Parallel()
				o := newOpenSSL(t)
				h, _ := HashByName(digest)
				ourCert, _ := o.party("gateway", gateway())
				theirCert, theirKey := o.party("partner", partner())

				// Ours, opened by openssl.
				o.write("sig", sign(t, content, gateway().options(h)))
				o.write("encrypted", encrypt(t, content, c, partner().cert, stranger().cert))
				opened := o.run("cms", "-decrypt", "-binary", "-inform", "DER", "-in", "encrypted", "-recip", theirCert, "-inkey", theirKey)
				if !bytes.Equal(opened, content) {
					t.Error("openssl decrypts something else")
				}
				o.write("opened", opened)
				o.run("cms", "-verify", "-binary", "-inform", "DER", "-in", "sig", "-content", "opened", "-certfile", ourCert, "-noverify")

				// Theirs, opened by us.
				o.write("content", content)
				sig := o.run("cms", "-sign", "-binary", "-outform", "DER", "-in", "content", "-md", digest, "-signer", theirCert, "-inkey", theirKey)
				for _, more := range [][]string{nil, {"-stream"}, {"-keyid"}, {"-stream", "-keyid"}} {
					args := append([]string{"cms", "-encrypt", "-binary", "-outform", "DER", "-in", "content", flag}, more...)
					got, err := decrypt(o.run(append(args, "-recip", ourCert)...), stranger().recipient(), gateway().recipient())
					if err != nil || !bytes.Equal(got, content) {
						t.Fatalf("%v: %d bytes, %v", more, len(got), err)
					}
					if _, err := VerifyDetached(sig, digestOf(got), partner().pins()); err != nil {
						t.Errorf("%v: %v", more, err)
					}
				}
			})
		}
	}
}

func TestOpenSSLReadsOurStructure(t *testing.T) {
	t.Parallel()
	o := newOpenSSL(t)
	o.write("sig", sign(t, nil, partner().options(crypto.SHA256)))
	o.run("asn1parse", "-inform", "DER", "-in", "sig")
	o.write("encrypted", encrypt(t, payload(70_000), AES256CBC, partner().cert))
	o.run("asn1parse", "-inform", "DER", "-in", "encrypted")
}
