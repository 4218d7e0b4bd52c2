package smime

import (
	"bytes"
	"crypto"
	"crypto/rsa"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.mozilla.org/pkcs7"
)

func (f encryptedForm) certificates() []*x509.Certificate {
	var to []*x509.Certificate
	for _, name := range f.to {
		to = append(to, encryptedParties()[name].cert)
	}
	return to
}

func (f encryptedForm) written() EncryptOptions {
	return EncryptOptions{Cipher: f.cipher, Recipients: f.certificates(), Transport: f.transport, KeyID: f.keyID}
}

func (f encryptedForm) opensOf(content []byte) func([]byte, error) error {
	return func(message []byte, err error) error {
		if err != nil {
			return err
		}
		return f.opens(message, content)
	}
}

// opens reads a message as each of its recipients: it must be of the form that
// the row says.
func (f encryptedForm) opens(message, content []byte) error {
	_, infos, err := newMemoryBERReader(message).envelopeRecipients()
	if err != nil {
		return err
	}
	if err := f.is(infos); err != nil {
		return err
	}
	if (message[1] == 0x80) != slices.Contains(f.options, "stream") {
		return fmt.Errorf("its length begins with 0x%02x", message[1])
	}
	kind := f.cipher.Kind()
	if slices.Contains(f.options, "enveloped") {
		kind = EnvelopedData
	}
	for _, name := range f.to {
		d, err := NewDecrypter(bytes.NewReader(message), []Recipient{stranger().recipient(), encryptedParties()[name].recipient()}, Limits{})
		if err != nil {
			return err
		}
		got, err := io.ReadAll(d)
		switch {
		case err != nil:
			return fmt.Errorf("as %s: %w", name, err)
		case !bytes.Equal(got, content):
			return fmt.Errorf("as %s: other content came out", name)
		case d.Cipher() != f.cipher || d.Kind() != kind:
			return fmt.Errorf("%s of %s", d.Kind(), d.Cipher())
		}
	}
	if _, err := decrypt(message, stranger().recipient()); !errors.Is(err, ErrNotRecipient) {
		return fmt.Errorf("as a stranger: %w", err)
	}
	return nil
}

// is holds the recipients of a message to the form.
func (f encryptedForm) is(infos []recipientInfo) error {
	if len(infos) != len(f.to) {
		return fmt.Errorf("%d recipients", len(infos))
	}
	for _, info := range infos {
		if (info.id.keyID != nil) != f.keyID {
			return fmt.Errorf("a recipient is named as %s", info.id.text())
		}
		if info.agreed != nil {
			if (info.agreed.ukm != nil) != slices.Contains(f.options, "ukm") {
				return fmt.Errorf("user keying material %x", info.agreed.ukm)
			}
			if (info.alg.oid == oidStdDHSHA1) != slices.Contains(f.options, "sha1kdf") ||
				(info.alg.oid == oidCofactorDHSHA384) != slices.Contains(f.options, "cofactor") {
				return fmt.Errorf("key agreement %s", oidText(info.alg.oid))
			}
			continue
		}
		if (info.alg.oid == oidRSAOAEP) != f.transport.OAEP {
			return fmt.Errorf("key transport %s", oidText(info.alg.oid))
		}
		if f.transport.OAEP {
			got, err := readOAEP(info.alg.params)
			if err != nil || got.Hash != f.transport.Hash || got.MGFHash != f.transport.MGF {
				return fmt.Errorf("RSAES-OAEP of %v, %w", got, err)
			}
		}
	}
	return nil
}

func (f encryptedForm) opensslOpens(o openssl, name string, content []byte) error {
	for _, to := range f.to {
		got, err := o.try("cms", "-decrypt", "-binary", "-inform", "DER", "-in", name, "-recip", to+".crt", "-inkey", to+".key")
		if err != nil {
			return fmt.Errorf("as %s: %w", to, err)
		}
		if !bytes.Equal(got, content) {
			return fmt.Errorf("as %s: other content came out", to)
		}
	}
	return nil
}

func (f encryptedForm) opensslEncrypts(o openssl) ([]byte, error) {
	cipher := map[Cipher]string{
		TripleDES: "-des3", AES128CBC: "-aes-128-cbc", AES192CBC: "-aes-192-cbc", AES256CBC: "-aes-256-cbc",
		AES128GCM: "-aes-128-gcm", AES192GCM: "-aes-192-gcm", AES256GCM: "-aes-256-gcm",
	}[f.cipher]
	derivation := map[string]string{"p256": "sha256", "p384": "sha384", "p521": "sha512"}
	digest := func(h crypto.Hash) string { return strings.ToLower(strings.ReplaceAll(h.String(), "-", "")) }
	args := []string{"cms", "-encrypt", "-binary", "-outform", "DER", "-in", "content", cipher}
	if f.keyID {
		args = append(args, "-keyid")
	}
	var cofactor, sha1 bool
	for _, flag := range f.flags {
		switch flag {
		case "cofactor":
			cofactor = true
		case "sha1kdf":
			sha1 = true
		default:
			args = append(args, flag)
		}
	}
	for _, to := range f.to {
		args = append(args, "-recip", to+".crt")
		md, agree := derivation[to]
		switch {
		case agree && !sha1: // SHA-1 is what it takes unasked
			args = append(args, "-keyopt", "ecdh_kdf_md:"+md)
		case f.transport.OAEP && !agree:
			args = append(args, "-keyopt", "rsa_padding_mode:oaep",
				"-keyopt", "rsa_oaep_md:"+digest(f.transport.Hash), "-keyopt", "rsa_mgf1_md:"+digest(f.transport.MGF))
		}
		if cofactor {
			args = append(args, "-keyopt", "ecdh_cofactor_mode:1")
		}
	}
	return o.try(args...)
}

// encrypt has Bouncy Castle write the form.
func (b *bouncyFolder) encrypt(name string, f encryptedForm) {
	options := append([]string{"-"}, f.options...)
	if f.keyID {
		options = append(options, "keyid")
	}
	transport := "pkcs1"
	if f.transport.OAEP {
		transport = fmt.Sprintf("%s/%s", f.transport.Hash, f.transport.MGF)
	}
	b.cases = append(b.cases, strings.Join(append([]string{
		"encrypt", name, strings.Join(options, ","), string(f.cipher), transport,
	}, f.to...), " "))
}

func (f encryptedForm) mozillaOpens(message, content []byte) error {
	p7, err := pkcs7.Parse(message)
	if err != nil {
		return err
	}
	for _, name := range f.to {
		to := encryptedParties()[name]
		if _, ok := to.key.(*rsa.PrivateKey); !ok {
			return errors.New("not an RSA key")
		}
		got, err := p7.Decrypt(to.cert, to.key)
		if err != nil {
			return err
		}
		if !bytes.Equal(got, content) {
			return errors.New("other content came out")
		}
	}
	return nil
}

func (f encryptedForm) mozillaEncrypts(content []byte) ([]byte, error) {
	defer func(old int) { pkcs7.ContentEncryptionAlgorithm = old }(pkcs7.ContentEncryptionAlgorithm)
	pkcs7.ContentEncryptionAlgorithm = map[Cipher]int{
		AES128CBC: pkcs7.EncryptionAlgorithmAES128CBC, AES256CBC: pkcs7.EncryptionAlgorithmAES256CBC,
		AES128GCM: pkcs7.EncryptionAlgorithmAES128GCM,
	}[f.cipher]
	return pkcs7.Encrypt(bytes.Clone(content), f.certificates())
}
