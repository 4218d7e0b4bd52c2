package as4

import (
	"crypto/sha256"
	"crypto/x509"
	"fmt"
	"strings"

	"edigw/internal/tame"
)

// Fingerprint is the SHA-256 of a whole certificate in upper-case hexadecimal
// with colons, to be compared by eye or phone; "" for none.
func Fingerprint(c *x509.Certificate) string {
	if c == nil {
		return ""
	}
	sum := sha256.Sum256(c.Raw)
	return colons(sum[:])
}

// serial is the serial number of a certificate, written as its fingerprint is.
func serial(c *x509.Certificate) string { return colons(c.SerialNumber.Bytes()) }

func colons(b []byte) string {
	if len(b) == 0 {
		return "00"
	}
	return strings.ReplaceAll(fmt.Sprintf("% X", b), " ", ":")
}

// certificateName names a certificate by what its owner can compare.
func certificateName(c *x509.Certificate) string {
	return "serial " + serial(c) + " of " + tame.Clip(tame.Line(c.Issuer.String()), maxShown)
}
