package partner

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"edigw/as2/smime"
	"edigw/internal/conf"
)

// Why a certificate is not imported, by errors.Is.
var (
	ErrCertificateUse        = errors.New("not a use of a partner's certificate; verify and encrypt are")
	ErrCertificateUnreadable = errors.New("not one certificate in PEM, DER or P7B")
	ErrCertificateKind       = errors.New("the certificate's kind of key does not suit")
	ErrCertificateEnded      = errors.New("the certificate has ended")
	ErrCertificateListed     = errors.New("the certificate is listed already")
	ErrPartnerFile           = errors.New("the partner's file cannot be changed by program")
)

// Imported is a certificate that was taken into use.
type Imported struct {
	File      string    `json:"file"`     // that was written, relative to edigw.yaml
	Settings  string    `json:"settings"` // the partner's file, which lists it now
	Use       []string  `json:"use"`      // lists that it was added to
	Subject   string    `json:"subject"`
	Serial    string    `json:"serial"` // "4F:22"
	SHA256    string    `json:"sha256"` // "9A:1C:…"
	NotBefore time.Time `json:"not_before"`
	NotAfter  time.Time `json:"not_after"`
}

// ImportCertificate takes a certificate of a partner, given as PEM, DER or P7B,
// into use from an instant on; the zero time means at once, and then encrypt
// uses it at once, too. It writes keys/<id>-<serial>.pem beside edigw.yaml and
// lists it in the partner's file behind what is listed there, every other byte
// of which stays. The new text is loaded before it replaces the old one; if any
// step fails nothing changes. A list that has the certificate already is left
// alone. It counts from the next reload on, as does whatever else was changed
// in that file.
//
// Errors, by errors.Is: ErrUnknown, the ErrCertificate… above, ErrPartnerFile;
// or a fault of the disk. It may be called concurrently, also by several
// processes.
func (s *Snapshot) ImportCertificate(id string, use []string, data []byte, from, now time.Time) (Imported, error) {
	if _, ok := s.partners[id]; !ok {
		return Imported{}, fmt.Errorf("%s: %w", id, ErrUnknown)
	}
	c, err := acceptable(use, data, from, now)
	if err != nil {
		return Imported{}, err
	}
	unlock, err := lockFolder(s.below.dir)
	if err != nil {
		return Imported{}, err
	}
	defer unlock()
	i := importer{snapshot: s, id: id, now: now, from: from, leaf: newLeaf(c)}
	if err := i.read(); err != nil {
		return Imported{}, err
	}
	if err := i.edit(use); err != nil {
		return Imported{}, err
	}
	if err := i.write(); err != nil {
		return Imported{}, err
	}
	return Imported{
		File: i.relative(i.key), Settings: s.file(id), Use: i.uses, Subject: c.Subject.String(),
		Serial: i.leaf.serial, SHA256: smime.Fingerprint(c), NotBefore: c.NotBefore, NotAfter: c.NotAfter,
	}, nil
}

// acceptable reads the certificate and refuses one that could not serve.
func acceptable(use []string, data []byte, from, now time.Time) (*x509.Certificate, error) {
	if len(use) == 0 {
		return nil, ErrCertificateUse
	}
	if len(data) > maxCertificateFile {
		return nil, fmt.Errorf("%w: larger than %d bytes", ErrCertificateUnreadable, maxCertificateFile)
	}
	certs, err := parseCertificates(data)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCertificateUnreadable, err)
	}
	c, err := single(certs)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCertificateUnreadable, err)
	}
	for _, u := range use {
		switch kind := c.PublicKeyAlgorithm; {
		case u != UseVerify && u != UseEncrypt:
			return nil, fmt.Errorf("%q: %w", u, ErrCertificateUse)
		case u == UseEncrypt && kind != x509.RSA:
			return nil, fmt.Errorf("%w: it is %v, to encrypt to it must be RSA", ErrCertificateKind, kind)
		case kind != x509.RSA && kind != x509.ECDSA:
			return nil, fmt.Errorf("%w: it is %v, signatures are verified with RSA and ECDSA", ErrCertificateKind, kind)
		}
	}
	t := term{leaf: newLeaf(c), from: from}
	if !now.Before(t.ends()) || !t.begins().Before(t.ends()) {
		return nil, fmt.Errorf("%w: serial %s is valid through %s", ErrCertificateEnded, t.serial, c.NotAfter.UTC().Format(time.RFC3339))
	}
	return c, nil
}

// importer is one import on its way.
type importer struct {
	snapshot  *Snapshot
	id        string
	now, from time.Time
	leaf      *leaf

	path string // of the partner's file, links followed
	text []byte // of it, as it is on disk
	was  *Partner
	key  string // the certificate's file
	keep bool   // that file holds the certificate already
	uses []string
	next []byte // the text that replaces text
}

// load builds the partner of a text as a reload would.
func (i *importer) load(text []byte) *Partner {
	s := i.snapshot
	l := &loader{dir: s.dir, now: i.now, gateway: s.gateway, own: s.own, tls: s.tls, schema: s.schema, root: s.root, below: s.below}
	return l.build(i.id, s.file(i.id), text)
}

func (i *importer) relative(path string) string {
	l := loader{dir: i.snapshot.dir}
	return l.relative(path)
}

// read takes the partner's file as it is now: it may be newer than the
// snapshot.
func (i *importer) read() error {
	var err error
	if i.path, err = filepath.EvalSymlinks(filepath.Join(i.snapshot.below.dir, i.id+".yaml")); err != nil {
		return fmt.Errorf("%s: %w", i.snapshot.file(i.id), plain(err))
	}
	if i.text, err = readSettings(i.path); err != nil {
		return fmt.Errorf("%s: %w", i.snapshot.file(i.id), err)
	}
	i.was = i.load(i.text)
	i.key, i.keep, err = i.keyFile()
	return err
}

// keyFile is where the certificate goes, and whether it is there already. Home
// made certificates often have the serial of their predecessor.
func (i *importer) keyFile() (path string, there bool, err error) {
	base := filepath.Join(i.snapshot.dir, "keys", i.id+"-"+strings.Trim(strings.ReplaceAll(i.leaf.serial, ":", ""), "…"))
	for _, path := range []string{base + ".pem", fmt.Sprintf("%s-%x.pem", base, i.leaf.sum[:8])} {
		held, err := ReadCertificates(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return path, false, nil
		case err == nil && len(held) == 1 && bytes.Equal(held[0].Raw, i.leaf.der):
			return path, true, nil
		}
	}
	return "", false, fmt.Errorf("%s.pem holds something else", i.relative(base))
}

// edit makes the new text and loads it on trial.
func (i *importer) edit(use []string) error {
	root, _ := conf.Parse("", i.text)
	if root == nil {
		return i.refuse("it is not valid YAML; edigw check tells where")
	}
	file, err := filepath.Rel(i.snapshot.below.dir, i.key)
	if err != nil {
		return err
	}
	i.next = i.text
	for _, u := range []string{UseVerify, UseEncrypt} {
		terms := i.was.certificates.verify
		if u == UseEncrypt {
			terms = i.was.certificates.encrypt
		}
		if !slices.Contains(use, u) || slices.ContainsFunc(terms, func(t term) bool { return t.sum == i.leaf.sum }) {
			continue
		}
		if len(terms) > 0 && !root.Has("certificates."+u) {
			return i.refuse("certificates." + u + " is that of defaults in edigw.yaml, which the partner's own would replace")
		}
		e := entry{filepath.ToSlash(file), i.begin(u, terms)}
		if i.next, err = list(i.next, u, e); err != nil {
			return i.refuse(fmt.Sprintf("%v; add %s to certificates.%s by hand", err, e, u))
		}
		i.uses = append(i.uses, u)
	}
	if len(i.uses) == 0 {
		return fmt.Errorf("%w: serial %s, in %s", ErrCertificateListed, i.leaf.serial, i.snapshot.file(i.id))
	}
	return nil
}

// begin is the text of from: for a use, empty if the certificate's own begin
// will do.
func (i *importer) begin(use string, terms []term) string {
	from := i.from
	if best := newest(terms, i.now); from.IsZero() && use == UseEncrypt && best >= 0 && terms[best].begins().After(i.leaf.begin) {
		from = i.now // else the one in use, which began later, would stay in use
	}
	if from.IsZero() {
		return ""
	}
	if local := from.In(i.was.Zone); local.Equal(time.Date(local.Year(), local.Month(), local.Day(), 0, 0, 0, 0, i.was.Zone)) {
		return local.Format(time.DateOnly)
	}
	return from.UTC().Format(time.RFC3339)
}

// write puts both files in place, or neither.
func (i *importer) write() (err error) {
	if !i.keep {
		if err := os.MkdirAll(filepath.Dir(i.key), 0o700); err != nil {
			return err
		}
		if err := replace(i.key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: i.leaf.der}), 0o600); err != nil {
			return err
		}
		defer func() {
			if now, _ := readSettings(i.path); err != nil && !bytes.Equal(now, i.next) {
				os.Remove(i.key)
			}
		}()
	}
	if err := i.try(); err != nil {
		return err
	}
	info, err := os.Stat(i.path)
	if err != nil {
		return err
	}
	if now, err := readSettings(i.path); err != nil || !bytes.Equal(now, i.text) {
		return i.refuse("somebody changed it meanwhile; try again")
	}
	return replace(i.path, i.next, info.Mode().Perm())
}

// try loads the new text and refuses what it has wrong that the old one had
// not.
func (i *importer) try() error {
	is := i.load(i.next)
	for _, p := range is.Problems {
		known := slices.ContainsFunc(i.was.Problems, func(o Problem) bool { return o.Key == p.Key && o.Reason == p.Reason })
		if !p.Warning && !known {
			return i.refuse("it would have a new mistake: " + p.String())
		}
	}
	for _, u := range i.uses {
		terms := is.certificates.verify
		if u == UseEncrypt {
			terms = is.certificates.encrypt
		}
		if !slices.ContainsFunc(terms, func(t term) bool { return t.sum == i.leaf.sum }) {
			return i.refuse("the certificate would not count for " + u)
		}
	}
	return nil
}

func (i *importer) refuse(why string) error {
	return fmt.Errorf("%w: %s: %s", ErrPartnerFile, i.snapshot.file(i.id), why)
}

// lockFolder keeps other imports out, also those of other processes.
func lockFolder(dir string) (unlock func(), err error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(d.Fd()), syscall.LOCK_EX); err != nil {
		d.Close()
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	return func() { d.Close() }, nil
}

// replace writes a file durably under its name, or leaves what was there.
func replace(path string, data []byte, mode fs.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".edigw-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if _, err := f.Write(data); err != nil {
		return err
	}
	if err := errors.Join(f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}
