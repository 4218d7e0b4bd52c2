package partner

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"edigw/internal/conf"
)

// settingsFile is a settings file that an import lengthens.
type settingsFile interface {
	name() string   // for people
	path() string   // on disk
	folder() string // from which the paths in it begin
	load(text []byte, now time.Time) trial
}

// trial is what came of a text when it was loaded.
type trial struct {
	problems []Problem
	terms    map[string][]term // by use
	zone     *time.Location    // of dates without one
	strict   bool              // one mistake makes all of it count for nothing
}

func (s *Snapshot) target(owner string) settingsFile {
	if owner == OwnerGateway {
		return gatewayFile{s}
	}
	return partnerFile{s, owner}
}

// partnerFile is that of one partner.
type partnerFile struct {
	s  *Snapshot
	id string
}

func (f partnerFile) name() string   { return f.s.file(f.id) }
func (f partnerFile) path() string   { return filepath.Join(f.s.below.dir, f.id+".yaml") }
func (f partnerFile) folder() string { return f.s.below.dir }

// load builds the partner of a text as a reload would.
func (f partnerFile) load(text []byte, now time.Time) trial {
	s := f.s
	l := &loader{dir: s.dir, now: now, gateway: s.gateway, own: s.own, tls: s.tls, schema: s.schema, root: s.root, below: s.below}
	p := l.build(f.id, f.name(), text)
	c := p.certificates
	return trial{problems: p.Problems, zone: p.Zone, terms: map[string][]term{
		UseVerify: c.verify, UseEncrypt: c.encrypt, UseTLSTrust: c.trust, UseTLSClient: clientTerms(c.client),
	}}
}

// Trial is the mistakes and warnings that a partner file of that id would have
// with this text, now.
func (s *Snapshot) Trial(id string, text []byte, now time.Time) []Problem {
	return partnerFile{s, id}.load(text, now).problems
}

// gatewayFile is edigw.yaml.
type gatewayFile struct{ s *Snapshot }

func (f gatewayFile) name() string   { return f.s.below.rest.File }
func (f gatewayFile) path() string   { return filepath.Join(f.s.dir, f.s.below.rest.File) }
func (f gatewayFile) folder() string { return f.s.dir }

// load reads the text as edigw.yaml as a reload would.
func (f gatewayFile) load(text []byte, now time.Time) trial {
	l := &loader{path: f.path(), dir: f.s.dir, now: now, text: text}
	problems, _ := l.loadGateway()
	return trial{problems: problems, zone: time.UTC, strict: true, terms: map[string][]term{UseSign: ownTerms(l.own, UseSign), UseDecrypt: ownTerms(l.own, UseDecrypt)}}
}

// importer is one import on its way.
type importer struct {
	snapshot *Snapshot
	in       Import
	now      time.Time
	material material
	leaf     *leaf
	target   settingsFile

	path  string // of the settings file, links followed
	text  []byte // of it, as it is on disk
	was   trial
	files []newFile
	uses  []string
	next  []byte // the text that replaces text
}

func (i *importer) relative(path string) string {
	l := loader{dir: i.snapshot.dir}
	return l.relative(path)
}

// read takes the settings file as it is now: it may be newer than the
// snapshot.
func (i *importer) read() error {
	var err error
	if i.path, err = filepath.EvalSymlinks(i.target.path()); err != nil {
		return fmt.Errorf("%s: %w", i.target.name(), plain(err))
	}
	if i.text, err = readSettings(i.path); err != nil {
		return fmt.Errorf("%s: %w", i.target.name(), err)
	}
	i.was = i.target.load(i.text, i.now)
	if i.files, err = i.material.filed(i.in); err != nil {
		return err
	}
	for n := range i.files {
		if err := i.name(&i.files[n]); err != nil {
			return err
		}
	}
	return nil
}

// name finds where a file goes, and whether it is there already. Home made
// certificates often have the serial of their predecessor.
func (i *importer) name(f *newFile) error {
	base := filepath.Join(i.snapshot.dir, filepath.FromSlash(f.path))
	ext := filepath.Ext(base)
	for _, path := range []string{base, fmt.Sprintf("%s-%x%s", strings.TrimSuffix(base, ext), i.leaf.sum[:8], ext)} {
		held, err := readFile(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			f.path = path
			return nil
		case err == nil && bytes.Equal(held, f.data):
			f.path, f.there = path, true
			return nil
		}
	}
	return fmt.Errorf("%s holds something else", f.path)
}

// edit makes the new text.
func (i *importer) edit() error {
	root, _ := conf.Parse("", i.text)
	if root == nil {
		return i.refuse("it is not valid YAML; edigw check tells where")
	}
	i.next = i.text
	for _, u := range []string{UseVerify, UseEncrypt, UseTLSTrust, UseTLSClient, UseSign, UseDecrypt} {
		if slices.Contains(i.in.Use, u) && !slices.ContainsFunc(i.was.terms[u], func(t term) bool { return t.sum == i.leaf.sum }) {
			i.uses = append(i.uses, u)
		}
	}
	if len(i.uses) == 0 {
		return fmt.Errorf("%w: serial %s, in %s", ErrCertificateListed, i.leaf.serial, i.target.name())
	}
	if err := i.early(); err != nil {
		return err
	}
	if i.in.Owner == OwnerGateway { // one entry for all of its uses
		return i.list(listKeys, i.ownEntry())
	}
	for _, u := range i.uses {
		at := map[string]place{UseVerify: listVerify, UseEncrypt: listEncrypt, UseTLSTrust: listTrust, UseTLSClient: listClient}[u]
		if len(i.was.terms[u]) > 0 && !root.Has(at.String()) {
			return i.refuse(at.String() + " is that of defaults in edigw.yaml, which the partner's own would replace")
		}
		e := fileEntry(i.shown(0), i.begin(u))
		if u == UseTLSClient {
			e = fieldsEntry([2]string{"cert", quoted(i.shown(0))}, [2]string{"key", quoted(i.shown(0))}, [2]string{"from", i.begin(u)})
		}
		if err := i.list(at, e); err != nil {
			return err
		}
	}
	return nil
}

// early refuses the first entry of a list that is optional, if its use begins
// later: from now until then the list would be there with nothing in force, and
// nobody would be reached.
func (i *importer) early() error {
	for _, u := range i.uses {
		begins := term{leaf: i.leaf, from: i.in.From}.begins()
		if (u == UseTLSTrust || u == UseTLSClient) && len(i.was.terms[u]) == 0 && begins.After(i.now) {
			return i.refuse(fmt.Sprintf("nothing is listed for %s yet, and with this alone no server of theirs would be reached until %s: import it when it begins, or list what is in use now first", u, moment(begins)))
		}
	}
	return nil
}

func (i *importer) list(at place, e entry) (err error) {
	if i.next, err = list(i.next, at, e); err != nil {
		return i.refuse(fmt.Sprintf("%v; add %s to %s by hand", err, e, at))
	}
	return nil
}

// ownEntry is the item of keys in edigw.yaml.
func (i *importer) ownEntry() entry {
	password, from := "", ""
	if len(i.files) > 1 {
		password = quoted(i.shown(1))
	}
	for _, u := range i.uses {
		from = max(from, i.begin(u)) // either none, or the same for all
	}
	return fieldsEntry([2]string{"use", "[" + strings.Join(i.uses, ", ") + "]"}, [2]string{"file", quoted(i.shown(0))}, [2]string{"password_file", password}, [2]string{"from", from})
}

// shown is a file as the settings file names it.
func (i *importer) shown(n int) string {
	rel, err := filepath.Rel(i.target.folder(), i.files[n].path)
	if err != nil {
		return filepath.ToSlash(i.files[n].path)
	}
	return filepath.ToSlash(rel)
}

// begin is the text of from: for a use, empty if the certificate's own begin
// will do.
func (i *importer) begin(use string) string {
	from := i.in.From
	terms := slices.DeleteFunc(slices.Clone(i.was.terms[use]), func(t term) bool { return i.in.Owner == OwnerGateway && !follows(i.leaf.kind, t.kind) })
	if best := newest(terms, i.now); from.IsZero() && newestOnly(use) && best >= 0 && terms[best].begins().After(i.leaf.begin) {
		from = i.now // else the one in use, which began later, would stay in use
	}
	if from.IsZero() {
		return ""
	}
	if local := from.In(i.was.zone); local.Equal(time.Date(local.Year(), local.Month(), local.Day(), 0, 0, 0, 0, i.was.zone)) {
		return local.Format(time.DateOnly)
	}
	return from.UTC().Format(time.RFC3339)
}

// write puts all files in place, or none.
func (i *importer) write() (err error) {
	defer func() {
		if now, _ := readSettings(i.path); err == nil || bytes.Equal(now, i.next) {
			return
		}
		for _, f := range i.files {
			if !f.there {
				os.Remove(f.path)
			}
		}
	}()
	for _, f := range i.files {
		if f.there {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
			return err
		}
		if err := replace(f.path, f.data, 0o600); err != nil {
			return err
		}
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
	is := i.target.load(i.next, i.now)
	for _, p := range is.problems {
		if p.Warning {
			continue
		}
		if slices.ContainsFunc(i.was.problems, func(o Problem) bool { return o.Key == p.Key && o.Reason == p.Reason }) {
			if is.strict {
				return i.refuse("it has mistakes already, which would keep it from being used: " + p.String())
			}
			continue
		}
		return i.refuse("it would have a new mistake: " + p.String())
	}
	for _, u := range i.uses {
		if !slices.ContainsFunc(is.terms[u], func(t term) bool { return t.sum == i.leaf.sum }) {
			return i.refuse("the certificate would not count for " + u)
		}
	}
	return nil
}

func (i *importer) refuse(why string) error {
	return fmt.Errorf("%w: %s: %s", ErrPartnerFile, i.target.name(), why)
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
