package partner

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"

	"go.mozilla.org/pkcs7"

	"edigw/internal/conf"
)

// Bounds of a certificate file. The library that reads bundles recurses with
// their nesting and takes quadratic time over many small objects, so both are
// checked before it sees a byte.
const (
	maxCertificateFile = 256 << 10
	maxNesting         = 24
	maxObjects         = 20000
	maxBundle          = 200
)

// readFile reads a file of certificates or keys, bounded.
func readFile(path string) ([]byte, error) {
	data, err := conf.ReadFile(path, maxCertificateFile)
	return data, plain(err)
}

// plain takes the path off an error of the file system: the problem names it
// already.
func plain(err error) error {
	if e := (*os.PathError)(nil); errors.As(err, &e) {
		return e.Err
	}
	return err
}

// parseCertificates reads PEM (certificates, PKCS#7 bundles), DER or DER
// PKCS#7, in the order of the file. What else a PEM file holds is passed over.
func parseCertificates(data []byte) ([]*x509.Certificate, error) {
	var out []*x509.Certificate
	var err error
	if bytes.Contains(data, []byte("-----BEGIN ")) {
		out, err = parsePEM(data)
	} else {
		out, err = parseDER(data)
	}
	switch {
	case err != nil:
		return nil, err
	case len(out) == 0:
		return nil, errors.New("no certificate in it")
	case len(out) > maxBundle:
		return nil, fmt.Errorf("more than %d certificates in it", maxBundle)
	}
	return out, nil
}

func parsePEM(data []byte) ([]*x509.Certificate, error) {
	var out []*x509.Certificate
	for block, rest := pem.Decode(data); block != nil && len(out) <= maxBundle; block, rest = pem.Decode(rest) {
		switch block.Type {
		case "CERTIFICATE":
			c, err := x509.ParseCertificate(block.Bytes)
			if err != nil {
				return nil, fmt.Errorf("not a certificate: %w", err)
			}
			out = append(out, c)
		case "PKCS7":
			bundle, err := parseBundle(block.Bytes)
			if err != nil {
				return nil, err
			}
			out = append(out, bundle...)
		}
	}
	return out, nil
}

func parseDER(data []byte) ([]*x509.Certificate, error) {
	if out, err := x509.ParseCertificates(data); err == nil {
		return out, nil
	}
	return parseBundle(data)
}

func parseBundle(data []byte) (out []*x509.Certificate, err error) {
	objects := 0
	if _, err := nesting(data, 0, &objects); err != nil {
		return nil, err
	}
	defer func() {
		if recover() != nil { // the library indexes crafted input beyond its end
			out, err = nil, errors.New("neither PEM, DER nor P7B")
		}
	}()
	bundle, err := pkcs7.Parse(data)
	if err != nil {
		return nil, errors.New("neither PEM, DER nor P7B")
	}
	return bundle.Certificates, nil
}

var errBundle = errors.New("neither PEM, DER nor P7B, or cut off")

// nesting walks BER objects and refuses what is too deep or too many. It
// returns how many bytes the objects took; at depth 0 and in indefinite
// lengths it ends after the end-of-contents.
func nesting(data []byte, depth int, objects *int) (int, error) {
	if depth > maxNesting {
		return 0, fmt.Errorf("more than %d objects inside each other", maxNesting)
	}
	pos := 0
	for pos < len(data) {
		if *objects++; *objects > maxObjects {
			return 0, fmt.Errorf("more than %d objects in it", maxObjects)
		}
		head, length, constructed, err := header(data[pos:])
		if err != nil {
			return 0, err
		}
		if data[pos] == 0 && length == 0 && depth > 0 {
			return pos + head, nil // end-of-contents
		}
		pos += head
		switch {
		case length < 0:
			n, err := nesting(data[pos:], depth+1, objects)
			if err != nil {
				return 0, err
			}
			pos += n
		case length > len(data)-pos:
			return 0, errBundle
		default:
			if constructed {
				if _, err := nesting(data[pos:pos+length], depth+1, objects); err != nil {
					return 0, err
				}
			}
			pos += length
		}
	}
	return pos, nil
}

// header reads tag and length; a length of −1 is indefinite.
func header(data []byte) (size, length int, constructed bool, err error) {
	if len(data) < 2 || data[0]&0x1f == 0x1f {
		return 0, 0, false, errBundle // no certificate needs a tag above 30
	}
	constructed = data[0]&0x20 != 0
	switch n := int(data[1]); {
	case n < 0x80:
		return 2, n, constructed, nil
	case n == 0x80 && constructed:
		return 2, -1, constructed, nil
	case n == 0x80 || n > 0x84 || len(data) < 2+n-0x80:
		return 0, 0, false, errBundle
	default:
		for _, b := range data[2 : 2+n-0x80] {
			length = length<<8 | int(b)
		}
		return 2 + n - 0x80, length, constructed, nil
	}
}

// single picks the certificate that a file is about: the only one, or the only
// one that has not issued another of the file.
func single(list []*x509.Certificate) (*x509.Certificate, error) {
	var found *x509.Certificate
	for _, c := range list {
		if issued(c, list) {
			continue
		}
		if found != nil && !found.Equal(c) {
			return nil, errors.New("several certificates in it, none of which issued the others")
		}
		found = c
	}
	if found == nil {
		return nil, errors.New("no end certificate in it")
	}
	return found, nil
}

func issued(c *x509.Certificate, list []*x509.Certificate) bool {
	for _, other := range list {
		if !other.Equal(c) && bytes.Equal(other.RawIssuer, c.RawSubject) && other.CheckSignatureFrom(c) == nil {
			return true
		}
	}
	return false
}
