package as2

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"strings"

	"edigw/as2/smime"
)

// fingerprint hashes the settings line by line. Each value is quoted, so no
// two agreements give the same lines. Certificates that a message does not use
// are left out: adding an encryption certificate for a partner who gets
// nothing encrypted changes nothing. What is as built in adds no line, so a new
// release with new settings builds nothing anew.
func fingerprint(a Agreement) string {
	var b strings.Builder
	line := func(key string, values ...any) {
		fmt.Fprintf(&b, "%s %q\n", key, values)
	}
	changed := func(on bool, key string, values ...any) {
		if on {
			line(key, values...)
		}
	}
	line("names", a.From, a.To)
	changed(a.version() != as2Version, "version", a.version())
	line("layers", a.Sign.String(), string(a.Encrypt), string(a.Compress), string(a.TransferEncoding))
	if a.Sign != 0 {
		line("signature", fmt.Sprint(a.NoAttributes, a.OmitCertificate))
		line("signer", certificateID(a.SigningCertificate))
		for _, c := range a.SigningChain {
			line("chain", certificateID(c))
		}
		changed(a.PSS && isRSA(a.SigningCertificate), "pss")
		changed(a.AlgorithmProtection, "algorithm protection")
		changed(a.KeyID, "signer by key")
	}
	if encrypts(a) {
		for _, c := range a.Recipients {
			line("recipient", certificateID(c))
		}
		t := a.transport()
		changed(t.OAEP, "transport", t.Hash.String(), t.MGF.String())
		changed(a.KeyID, "recipients by key")
	}
	changed(a.DashlessNames && (a.Sign != 0 || a.MDN.Signed), "digest names")
	line("receipt", string(a.MDN.Mode), fmt.Sprint(a.MDN.Signed), a.MDN.Algorithm.String(), a.MDN.URL)
	sum := sha256.Sum256([]byte(b.String()))
	return hex.EncodeToString(sum[:])
}

// transport is how the content key is wrapped for recipients that have an RSA
// key; those of elliptic curves do not look at it.
func (a Agreement) transport() smime.KeyTransport {
	for _, c := range a.Recipients {
		if isRSA(c) {
			return a.Transport
		}
	}
	return smime.KeyTransport{}
}

func isRSA(c *x509.Certificate) bool { return c != nil && c.PublicKeyAlgorithm == x509.RSA }

// certificateID is the SHA-256 of a certificate in hex, "" for none.
func certificateID(c *x509.Certificate) string {
	if c == nil {
		return ""
	}
	sum := sha256.Sum256(c.Raw)
	return hex.EncodeToString(sum[:])
}
