package smime

import (
	"bytes"
	"crypto"
	"edigw/internal/testfixture"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// encryptedForm is a form of EnvelopedData or AuthEnvelopedData.
type encryptedForm struct {
	form      string
	cipher    Cipher
	to        []string // of encryptedParties
	transport KeyTransport
	keyID     bool
	options   []string // for BouncyEncrypted.java
	flags     []string // for openssl
	foreign   string   // why edigw does not write it; "": it does
	dash      map[string]string
}

func encryptedParties() map[string]party {
	return map[string]party{"rsa": partner(), "rsa2": gateway(), "p256": p256(), "p384": p384(), "p521": p521()}
}

const (
	onlyDefinite = "edigw writes definite lengths only"
	noUKM        = "edigw writes no keying material"
	hasNoOption  = "has no option for it"
)

// encryptedForms are every cipher with every kind of recipient, every pair of
// hashes of RSAES-OAEP, and what else may be different.
func encryptedForms() []encryptedForm {
	var forms []encryptedForm
	sha256 := KeyTransport{OAEP: true, Hash: crypto.SHA256, MGF: crypto.SHA256}
	for _, c := range allCiphers {
		forms = append(forms,
			encryptedForm{form: string(c) + ", RSA PKCS #1", cipher: c, to: []string{"rsa"}},
			encryptedForm{form: string(c) + ", RSA-OAEP SHA-256/SHA-256", cipher: c, to: []string{"rsa"}, transport: sha256})
		for _, curve := range []string{"p256", "p384", "p521"} {
			f := encryptedForm{form: fmt.Sprintf("%s, ECDH P-%s", c, curve[1:]), cipher: c, to: []string{curve}}
			if c == TripleDES { // unasked, openssl wraps the key of this cipher by Triple DES
				f.flags = []string{"-wrap", "id-aes192-wrap"}
			}
			forms = append(forms, f)
		}
	}
	for _, h := range allHashes {
		for _, m := range allHashes {
			transport := KeyTransport{OAEP: true, Hash: h, MGF: m}
			if transport == sha256 {
				continue // is there already
			}
			forms = append(forms, encryptedForm{
				form: fmt.Sprintf("aes256-cbc, RSA-OAEP %s/%s", h, m), cipher: AES256CBC, to: []string{"rsa"}, transport: transport,
			})
		}
	}
	for _, c := range []Cipher{AES256CBC, AES256GCM} {
		forms = append(forms,
			encryptedForm{form: string(c) + ", RSA PKCS #1, key identifier", cipher: c, to: []string{"rsa"}, keyID: true},
			encryptedForm{form: string(c) + ", ECDH P-256, key identifier", cipher: c, to: []string{"p256"}, keyID: true},
			encryptedForm{form: string(c) + ", two recipients, RSA PKCS #1", cipher: c, to: []string{"rsa2", "rsa"}},
			encryptedForm{form: string(c) + ", five recipients, RSA-OAEP and ECDH", cipher: c, to: []string{"p384", "rsa", "p256", "rsa2", "p521"}, transport: sha256},
			encryptedForm{form: string(c) + ", RSA PKCS #1, of indefinite length", cipher: c, to: []string{"rsa"},
				options: []string{"stream"}, flags: []string{"-stream"}, foreign: onlyDefinite},
			encryptedForm{form: string(c) + ", ECDH P-256, of indefinite length", cipher: c, to: []string{"p256"},
				options: []string{"stream"}, flags: []string{"-stream"}, foreign: onlyDefinite})
	}
	return append(forms,
		encryptedForm{form: "aes256-cbc, ECDH P-256, SHA-1 derivation", cipher: AES256CBC, to: []string{"p256"}, options: []string{"sha1kdf"},
			flags: []string{"sha1kdf"}, foreign: "edigw writes SHA-2 only"},
		encryptedForm{form: "aes256-cbc, cofactor ECDH P-384", cipher: AES256CBC, to: []string{"p384"}, options: []string{"cofactor"},
			flags: []string{"cofactor"}, foreign: "edigw writes standard ECDH, the same on these curves"},
		encryptedForm{form: "aes256-cbc, ECDH P-521, user keying material", cipher: AES256CBC, to: []string{"p521"}, options: []string{"ukm"},
			foreign: noUKM, dash: map[string]string{"openssl→we": hasNoOption}},
		encryptedForm{form: "aes256-gcm, RSA PKCS #1, authenticated attributes", cipher: AES256GCM, to: []string{"rsa"}, options: []string{"attributes"},
			foreign: "edigw writes no attributes", dash: map[string]string{"openssl→we": hasNoOption}},
		encryptedForm{form: "aes128-gcm inside EnvelopedData", cipher: AES128GCM, to: []string{"rsa"}, options: []string{"enveloped"},
			foreign: "not what the standard says", dash: map[string]string{
				"openssl→we": "does not write it", "mozilla→we": "writes it in a form of its own",
			}})
}

// because says why a direction is not to succeed; "" if it is.
func (f encryptedForm) because(direction string) string {
	if reason, ok := f.dash[direction]; ok {
		return reason
	}
	if strings.HasPrefix(direction, "we→") && f.foreign != "" {
		return f.foreign
	}
	if !strings.Contains(direction, "mozilla") {
		return ""
	}
	writes := strings.HasPrefix(direction, "mozilla")
	a, _ := cipherByName(f.cipher)
	switch {
	case slices.ContainsFunc(f.to, func(name string) bool { return strings.HasPrefix(name, "p") }):
		return "knows RSA keys only"
	case f.transport.OAEP:
		return "knows no RSAES-OAEP"
	case a.gcm:
		return "knows no AuthEnvelopedData"
	case f.keyID:
		return noKeyID
	case f.cipher == AES192CBC:
		return "knows no AES-192"
	case writes && f.cipher == TripleDES:
		return "does not write it"
	case writes && slices.Contains(f.options, "stream"):
		return "writes definite lengths only"
	}
	return ""
}

func (f encryptedForm) judge(t *testing.T, row exchanged, direction string, exchange func() error) {
	t.Helper()
	row.judge(t, direction, f.because(direction), f.foreign == "", exchange)
}

func exchangedEncryption(t *testing.T) []exchanged {
	content := payload(70_001)
	o, b := judges(t, content, encryptedParties())
	forms := encryptedForms()
	for i, f := range forms {
		ours := fmt.Sprint("ours.", i)
		if f.foreign == "" {
			message := encryptWith(t, content, f.written())
			if err := f.opens(message, content); err != nil {
				t.Errorf("%s, read by ourselves: %v", f.form, err)
			}
			o.write(ours, message)
			b.write(t, ours, message)
			for _, name := range f.to {
				b.cases = append(b.cases, "decrypt "+ours+" "+name)
			}
		}
		b.encrypt(fmt.Sprint("theirs.", i), f)
	}
	compressed := compress(t, content)
	o.write("ours.compressed", compressed)
	b.write(t, "ours.compressed", compressed)
	b.cases = append(b.cases, "inflate ours.compressed", "deflate theirs.compressed.0 -", "deflate theirs.compressed.1 stream")
	b.write(t, "cases", []byte(strings.Join(b.cases, "\n")+"\n"))
	runBouncy(t, "BouncyEncrypted.java", b.dir)
	var rows []exchanged
	for i, f := range forms {
		row := newExchanged("encrypted: " + f.form)
		ours, theirs := fmt.Sprint("ours.", i), fmt.Sprint("theirs.", i)
		f.judge(t, row, "we→openssl", func() error { return f.opensslOpens(o, ours, content) })
		f.judge(t, row, "openssl→we", func() error { return f.opensOf(content)(f.opensslEncrypts(o)) })
		f.judge(t, row, "we→bouncy", func() error {
			var errs []error
			for _, name := range f.to {
				errs = append(errs, b.verdict(t, ours+"."+name))
			}
			return errors.Join(errs...)
		})
		f.judge(t, row, "bouncy→we", func() error {
			if err := b.verdict(t, theirs); err != nil {
				return err
			}
			return f.opens(testfixture.Read(t, filepath.Join(b.dir, theirs)), content)
		})
		f.judge(t, row, "we→mozilla", func() error { return f.mozillaOpens(testfixture.Read(t, filepath.Join(o.dir, ours)), content) })
		f.judge(t, row, "mozilla→we", func() error { return f.opensOf(content)(f.mozillaEncrypts(content)) })
		rows = append(rows, row)
	}
	return append(rows, exchangedCompression(t, o, b, content)...)
}

// exchangedCompression are the rows of CompressedData, of both lengths.
func exchangedCompression(t *testing.T, o openssl, b bouncyFolder, content []byte) []exchanged {
	const noZlib, noCompression = "is built without zlib", "knows no CompressedData"
	var rows []exchanged
	for i, length := range []string{"definite", "indefinite"} {
		row := newExchanged("compressed: zlib, of " + length + " length")
		if length == "indefinite" {
			_, err := o.try("cms", "-uncompress", "-binary", "-inform", "DER", "-in", "ours.compressed")
			row.refuses(t, "we→openssl", noZlib, err)
			row.works(t, "we→bouncy", b.verdict(t, "ours.compressed"))
		} else {
			for _, direction := range []string{"we→openssl", "we→bouncy"} {
				row.cannot(direction, "its length is not known before its end")
			}
		}
		row.cannot("we→mozilla", noCompression)
		_, err := o.try("cms", "-compress", "-binary", "-outform", "DER", "-in", "content")
		row.refuses(t, "openssl→we", noZlib, err)
		theirs := fmt.Sprint("theirs.compressed.", i)
		row.works(t, "bouncy→we", func() error {
			if err := b.verdict(t, theirs); err != nil {
				return err
			}
			message := testfixture.Read(t, filepath.Join(b.dir, theirs))
			if (message[1] == 0x80) != (length == "indefinite") {
				return fmt.Errorf("its length begins with 0x%02x", message[1])
			}
			got, err := decompress(message, Limits{})
			if err == nil && !bytes.Equal(got, content) {
				return errors.New("other content came out")
			}
			return err
		}())
		row.cannot("mozilla→we", noCompression)
		rows = append(rows, row)
	}
	return rows
}
