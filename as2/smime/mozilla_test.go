package smime

import (
	"bytes"
	"crypto"
	"fmt"
	"testing"

	"go.mozilla.org/pkcs7"
)

// A second opinion by an independent Go implementation, each reading what the
// other wrote.

func TestMozillaVerifiesOurSignatures(t *testing.T) {
	t.Parallel()
	content := payload(3000)
	for _, signer := range []party{partner(), p256(), p384()} {
		for _, h := range []crypto.Hash{crypto.SHA1, crypto.SHA256, crypto.SHA384, crypto.SHA512} {
			p7, err := pkcs7.Parse(sign(t, content, signer.options(h)))
			if err != nil {
				t.Fatal(err)
			}
			p7.Content = content
			if err := p7.Verify(); err != nil {
				t.Errorf("%s %v: %v", signer.cert.Subject, h, err)
			}
			p7.Content = content[1:]
			if err := p7.Verify(); err == nil {
				t.Errorf("%s %v: verifies over other content", signer.cert.Subject, h)
			}
		}
	}
}

func TestMozillaSignaturesVerify(t *testing.T) {
	t.Parallel()
	content := payload(3000)
	for _, signer := range []party{partner(), p256(), p384()} {
		for h, oid := range mozillaDigests {
			sd, err := pkcs7.NewSignedData(content)
			if err != nil {
				t.Fatal(err)
			}
			sd.SetDigestAlgorithm(oid)
			if err := sd.AddSigner(signer.cert, signer.key, pkcs7.SignerInfoConfig{}); err != nil {
				t.Fatal(err)
			}
			sd.Detach()
			sig, err := sd.Finish()
			if err != nil {
				t.Fatal(err)
			}
			v, err := VerifyDetached(sig, digestOf(content), signer.pins())
			if err != nil {
				t.Errorf("%s %v: %v", signer.cert.Subject, h, err)
			} else if v.Hash != h {
				t.Errorf("hash %v, want %v", v.Hash, h)
			}
		}
	}
}

func TestMozillaDecryptsOurs(t *testing.T) {
	t.Parallel()
	for _, c := range []Cipher{TripleDES, AES128CBC, AES256CBC} { // it does not know AES-192
		for _, size := range []int{0, 1, 15, 16, 17, 70_000} {
			content := payload(size)
			p7, err := pkcs7.Parse(encrypt(t, content, c, partner().cert))
			if err != nil {
				t.Fatal(err)
			}
			got, err := p7.Decrypt(partner().cert, partner().key)
			if err != nil || !bytes.Equal(got, content) {
				t.Errorf("%s, %d bytes: got %d, %v", c, size, len(got), err)
			}
		}
	}
}

// Not parallel: the cipher is a variable of that package.
func TestMozillaEncryptionDecrypts(t *testing.T) {
	defer func(old int) { pkcs7.ContentEncryptionAlgorithm = old }(pkcs7.ContentEncryptionAlgorithm)
	for c, algorithm := range map[Cipher]int{AES128CBC: pkcs7.EncryptionAlgorithmAES128CBC, AES256CBC: pkcs7.EncryptionAlgorithmAES256CBC} {
		pkcs7.ContentEncryptionAlgorithm = algorithm
		for _, size := range []int{1, 16, 70_000} {
			t.Run(fmt.Sprintf("%s %d", c, size), func(t *testing.T) {
				content := payload(size)
				message, err := pkcs7.Encrypt(bytes.Clone(content), partner().pins())
				if err != nil {
					t.Fatal(err)
				}
				got, err := decrypt(message, partner().recipient())
				if err != nil || !bytes.Equal(got, content) {
					t.Errorf("got %d bytes, %v", len(got), err)
				}
			})
		}
	}
}
