package partner

import (
	"time"

	"edigw/as2/smime"
	"edigw/internal/exchange"
)

// PreviewCertificate says what ImportCertificate would take out of data, so
// that somebody can compare the fingerprint first. It reads and changes no
// file. Errors are the ErrCertificate… of ImportCertificate but
// ErrCertificateListed.
func PreviewCertificate(use []string, data []byte, from, now time.Time) (Imported, error) {
	c, err := acceptable(use, data, from, now)
	if err != nil {
		return Imported{}, err
	}
	return Imported{Use: use, Subject: c.Subject.String(), Serial: exchange.Serial(c.SerialNumber), SHA256: smime.Fingerprint(c), NotBefore: c.NotBefore, NotAfter: c.NotAfter}, nil
}
