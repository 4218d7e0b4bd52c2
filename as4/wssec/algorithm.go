package wssec

import (
	"crypto"

	"edigw/internal/xmldsig"
)

// DigestURI is the identifier of a digest algorithm, "" for one that is not
// taken here.
func DigestURI(h crypto.Hash) string {
	d, _ := xmldsig.DigestByHash(h)
	return d.URI
}

// DigestByURI finds a digest algorithm by its identifier.
func DigestByURI(uri string) (crypto.Hash, bool) {
	d, ok := xmldsig.DigestByURI(uri)
	return d.Hash, ok
}
