package as2

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"strings"
)

// fingerprint hashes the settings line by line. Each value is quoted, so no
// two agreements give the same lines. Certificates that a message does not use
// are left out: adding an encryption certificate for a partner who gets
// nothing encrypted changes nothing.
func fingerprint(a Agreement) string {
	var b strings.Builder
	line := func(key string, values ...any) {
		fmt.Fprintf(&b, "%s %q\n", key, values)
	}
	line("names", a.From, a.To)
	line("layers", a.Sign.String(), string(a.Encrypt), string(a.Compress), string(a.TransferEncoding))
	if a.Sign != 0 {
		line("signature", fmt.Sprint(a.NoAttributes, a.OmitCertificate))
		line("signer", certificateID(a.SigningCertificate))
		for _, c := range a.SigningChain {
			line("chain", certificateID(c))
		}
	}
	if encrypts(a) {
		for _, c := range a.Recipients {
			line("recipient", certificateID(c))
		}
	}
	line("receipt", string(a.MDN.Mode), fmt.Sprint(a.MDN.Signed), a.MDN.Algorithm.String(), a.MDN.URL)
	sum := sha256.Sum256([]byte(b.String()))
	return hex.EncodeToString(sum[:])
}

// certificateID is the SHA-256 of a certificate in hex, "" for none.
func certificateID(c *x509.Certificate) string {
	if c == nil {
		return ""
	}
	sum := sha256.Sum256(c.Raw)
	return hex.EncodeToString(sum[:])
}
