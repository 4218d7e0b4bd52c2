package partner

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"

	"go.mozilla.org/pkcs7"

	"edigw/internal/ber"
	"edigw/internal/certs"
	"edigw/internal/conf"
)

// Bounds of a certificate file.
const (
	maxCertificateFile = 256 << 10
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

// parseCertificates reads PEM (certificates, PKCS#7 bundles), DER, or PKCS#7
// in DER or BER, in the order of the file. What else a PEM file holds is passed over.
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
			c, err := certs.ParseCertificate(block.Bytes)
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

// HoldsPrivateKey reports whether a file of certificates or keys holds a private
// key: one in PEM, or a P12.
func HoldsPrivateKey(data []byte) bool {
	return bytes.Contains(data, []byte("PRIVATE KEY-----")) || storeOfKeys(data)
}

// storeOfKeys reports whether data begins as a P12 does (RFC 7292 §4): a
// sequence whose first item is the version 3.
func storeOfKeys(data []byte) bool {
	if len(data) < 2 || data[0] != 0x30 {
		return false
	}
	length := 1 // of the length itself
	if data[1] > 0x80 {
		length += int(data[1] & 0x7f)
	}
	return len(data) > 1+length && bytes.HasPrefix(data[1+length:], []byte{0x02, 0x01, 0x03})
}

func parseDER(data []byte) ([]*x509.Certificate, error) {
	if out, err := x509.ParseCertificates(data); err == nil {
		return out, nil
	}
	if c, err := certs.ParseCertificate(data); err == nil {
		return []*x509.Certificate{c}, nil
	}
	if storeOfKeys(data) {
		return nil, errStore
	}
	return parseBundle(data)
}

func parseBundle(data []byte) (out []*x509.Certificate, err error) {
	data, err = ber.NewReader().DER(data)
	if errors.Is(err, ber.ErrMalformed) {
		return nil, errBundle
	}
	if err != nil {
		return nil, err
	}
	defer func() {
		if recover() != nil { // the library indexes crafted input beyond its end
			out, err = nil, errBundle
		}
	}()
	bundle, err := pkcs7.Parse(data)
	if err != nil {
		return nil, errBundle
	}
	return bundle.Certificates, nil
}

var (
	errBundle = errors.New("neither PEM, DER nor P7B, or cut off")
	errStore  = errors.New("a P12, which holds a private key: the partner's certificate alone is needed, in PEM, DER or P7B")
)

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
