package takeover

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	"edigw/internal/certs"
	"edigw/internal/p12"
)

const maxKeystore = 16 << 20

// Keystore holds the entries of PKCS #12 files by alias. Aliases are found
// whatever their case, as Java does. The zero one is empty.
type Keystore struct {
	File    string // the last one that was read, for people
	entries map[string]*Entry
}

// Entry is what goes by one alias.
type Entry struct {
	Certificates []*x509.Certificate
	key          []byte // PEM; nil: a partner's certificate only
}

// Find is the entry of an alias; nil if there is none.
func (k *Keystore) Find(alias string) *Entry { return k.entries[strings.ToLower(alias)] }

// Empty reports whether there is nothing in it.
func (k *Keystore) Empty() bool { return len(k.entries) == 0 }

// Own reports whether a key of ours is in it.
func (e *Entry) Own() bool { return e != nil && e.key != nil && len(e.Certificates) > 0 }

// Read adds a keystore of any number of keys and certificates. hint says where
// its password may come from.
func (k *Keystore) Read(file, password, hint string) error {
	data, err := Content(file, maxKeystore)
	if err != nil {
		return err
	}
	found, err := p12.Read(data, password)
	if err != nil {
		if errors.Is(err, p12.ErrPassword) {
			err = fmt.Errorf("%w; give another by --password-file", err)
			if password == "" {
				err = errors.New(hint)
			}
		}
		return fmt.Errorf("%s: %w", file, err)
	}
	if k.entries == nil {
		k.entries = map[string]*Entry{}
	}
	k.File = file
	for _, f := range found {
		if f.Name == "" {
			continue // an authority in a chain
		}
		e := &Entry{Certificates: f.Certificates}
		if f.Key != nil {
			der, err := certs.MarshalPrivateKey(f.Key)
			if err != nil {
				return fmt.Errorf("%s: the key %q: %w", file, f.Name, err)
			}
			e.key = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
		}
		if k.entries[strings.ToLower(f.Name)].Own() {
			continue // that of another store is a copy of the certificate
		}
		k.entries[strings.ToLower(f.Name)] = e
	}
	return nil
}

// PEM is the entry's certificates, and its key before them; without it, as of a
// partner, the leaf alone.
func (e *Entry) PEM(withKey bool) []byte {
	var out []byte
	if withKey {
		out = append(out, e.key...)
	}
	for _, c := range e.Certificates {
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})...)
		if !withKey {
			break
		}
	}
	return out
}
