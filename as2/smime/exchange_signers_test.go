package smime

import (
	"bytes"
	"crypto"
	"crypto/rsa"
	"crypto/x509"
	"encoding/asn1"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"edigw/internal/testfixture"
	"go.mozilla.org/pkcs7"
)

// How each of the other products signs and verifies a form of SignedData.

func (f signedForm) opensslVerifies(o openssl, name string, content []byte) error {
	args := []string{"cms", "-verify", "-binary", "-inform", "DER", "-in", name, "-content", "content"}
	switch {
	case f.chain:
		args = append(args, "-CAfile", "root.crt")
	case f.none:
		args = append(args, "-certfile", f.signers[0].name+".crt", "-noverify")
	default:
		args = append(args, "-noverify")
	}
	out, err := o.try(args...)
	if err == nil && !bytes.Equal(out, content) {
		err = errors.New("openssl gave other content")
	}
	return err
}

func (f signedForm) opensslSigns(o openssl) ([]byte, error) {
	args := []string{"cms", "-sign", "-binary", "-outform", "DER", "-in", "content", "-md", digestName(f.signers[0].hash)}
	for _, s := range f.signers {
		args = append(args, "-signer", s.name+".crt", "-inkey", s.name+".key")
		if f.pss {
			args = append(args, "-keyopt", "rsa_padding_mode:pss")
		}
	}
	for flag, on := range map[string]bool{
		"-noattr": f.bare, "-keyid": f.keyID, "-nocerts": f.none, "-nodetach": f.opaque, "-stream": f.pieces,
	} {
		if on {
			args = append(args, flag)
		}
	}
	if f.chain {
		args = append(args, "-certfile", "issuer.crt")
	}
	return o.try(args...)
}

// digestName is the spelling of openssl and Bouncy Castle: sha256.
func digestName(h crypto.Hash) string { return strings.ReplaceAll(HashName(h), "-", "") }

// bouncyFolder is what BouncySigned.java works through.
type bouncyFolder struct {
	dir   string
	cases []string
}

func (b *bouncyFolder) write(t testing.TB, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(b.dir, name), content, 0o600); err != nil {
		t.Fatal(err)
	}
}

func (b *bouncyFolder) party(t testing.TB, name string, p party) {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(p.key)
	if err != nil {
		t.Fatal(err)
	}
	b.write(t, name+".key", der)
	b.write(t, name+".crt", p.cert.Raw)
}

func (b *bouncyFolder) verify(t testing.TB, name string, message []byte, f signedForm) {
	t.Helper()
	b.write(t, name, message)
	line := "verify " + name
	if f.none {
		line += " " + f.signers[0].name
	}
	b.cases = append(b.cases, line)
}

func (b *bouncyFolder) sign(name string, f signedForm) {
	options := []string{"-"}
	for option, on := range map[string]bool{"bare": f.bare, "keyid": f.keyID, "opaque": f.opaque, "stream": f.pieces} {
		if on {
			options = append(options, option)
		}
	}
	line := "sign " + name + " " + strings.Join(options, ",")
	for _, s := range f.signers {
		algorithm := "withECDSA"
		if _, isRSA := signedParties()[s.name].key.(*rsa.PrivateKey); isRSA {
			algorithm = "withRSA"
		}
		if f.pss {
			algorithm += "andMGF1"
		}
		line += " " + strings.ToUpper(digestName(s.hash)) + algorithm + "/" + s.name
		if !f.none {
			line += " +" + s.name
		}
	}
	if f.chain {
		line += " +issuer"
	}
	b.cases = append(b.cases, line)
}

func (b *bouncyFolder) run(t testing.TB) {
	t.Helper()
	b.write(t, "cases", []byte(strings.Join(b.cases, "\n")+"\n"))
	runBouncy(t, "BouncySigned.java", b.dir)
}

func (b *bouncyFolder) verdict(t testing.TB, name string) error {
	t.Helper()
	if verdict := string(testfixture.Read(t, filepath.Join(b.dir, name+".verdict"))); verdict != "yes" {
		return errors.New(verdict)
	}
	return nil
}

func (f signedForm) mozillaVerifies(message, content []byte) error {
	p7, err := pkcs7.Parse(message)
	if err != nil {
		return err
	}
	if f.none {
		p7.Certificates = signedParties()[f.signers[0].name].pins()
	}
	if len(p7.Signers) != len(f.signers) {
		return fmt.Errorf("%d signers", len(p7.Signers))
	}
	p7.Content = content[1:]
	if p7.Verify() == nil {
		return errors.New("verifies over other content")
	}
	p7.Content = content
	if f.chain {
		roots := x509.NewCertPool()
		roots.AddCert(branch().root.cert)
		return p7.VerifyWithChain(roots)
	}
	return p7.Verify()
}

func (f signedForm) mozillaSigns(content []byte) ([]byte, error) {
	sd, err := pkcs7.NewSignedData(content)
	if err != nil {
		return nil, err
	}
	for _, s := range f.signers {
		p := signedParties()[s.name]
		sd.SetDigestAlgorithm(mozillaDigests[s.hash])
		switch {
		case f.bare:
			err = sd.SignWithoutAttr(p.cert, p.key, pkcs7.SignerInfoConfig{})
		case f.chain:
			err = sd.AddSignerChain(p.cert, p.key, branch().issuer.pins(), pkcs7.SignerInfoConfig{})
		default:
			err = sd.AddSigner(p.cert, p.key, pkcs7.SignerInfoConfig{})
		}
		if err != nil {
			return nil, err
		}
	}
	if !f.opaque {
		sd.Detach()
	}
	return sd.Finish()
}

var mozillaDigests = map[crypto.Hash]asn1.ObjectIdentifier{
	crypto.SHA1: pkcs7.OIDDigestAlgorithmSHA1, crypto.SHA256: pkcs7.OIDDigestAlgorithmSHA256,
	crypto.SHA384: pkcs7.OIDDigestAlgorithmSHA384, crypto.SHA512: pkcs7.OIDDigestAlgorithmSHA512,
}
