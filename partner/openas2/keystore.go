package openas2

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	"edigw/internal/p12"
)

// Keystore holds the entries of a PKCS #12 file by alias. Aliases are found
// whatever their case, as Java does.
type Keystore struct {
	File    string
	entries map[string]*entry
}

// entry is what goes by one alias.
type entry struct {
	alias string
	key   []byte // PEM; nil: a partner's certificate only
	certs []*x509.Certificate
}

func (k Keystore) find(alias string) *entry { return k.entries[strings.ToLower(alias)] }

// readKeystore opens a keystore of any number of keys and certificates.
func readKeystore(file, password string) (Keystore, error) {
	k := Keystore{File: file, entries: map[string]*entry{}}
	data, err := readFile(file, maxKeystore)
	if err != nil {
		return k, err
	}
	found, err := p12.Read(data, password)
	if err != nil {
		if errors.Is(err, p12.ErrPassword) {
			err = fmt.Errorf("%w; give another by --password-file", err)
			if password == "" {
				err = errors.New("config.xml names no password for it; give it by --password-file")
			}
		}
		return k, fmt.Errorf("%s: %w", file, err)
	}
	for _, f := range found {
		if f.Name == "" {
			continue // an authority in a chain
		}
		e := &entry{alias: f.Name, certs: f.Certificates}
		if f.Key != nil {
			der, err := x509.MarshalPKCS8PrivateKey(f.Key)
			if err != nil {
				return k, fmt.Errorf("%s: the key %q: %w", file, f.Name, err)
			}
			e.key = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
		}
		k.entries[strings.ToLower(f.Name)] = e
	}
	return k, nil
}

// pem is the entry's certificates, and its key before them.
func (e *entry) pem(withKey bool) []byte {
	var out []byte
	if withKey {
		out = append(out, e.key...)
	}
	for _, c := range e.certs {
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})...)
		if !withKey {
			break // of a partner the leaf alone
		}
	}
	return out
}
