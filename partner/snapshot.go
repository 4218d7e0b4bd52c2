package partner

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"edigw/internal/conf"
)

// maxPartners bounds the partner files of one gateway.
const maxPartners = 100_000

// ErrSettings says that edigw.yaml cannot be used; the problems say why.
var ErrSettings = errors.New("edigw.yaml has mistakes")

var idPattern = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)

// ValidID reports whether id can name a partner: it becomes the name of files
// and folders and a label of metrics.
func ValidID(id string) bool { return idPattern.MatchString(id) }

// Snapshot is all settings at one time. It is immutable and may be shared;
// whoever began something with one goes on with it.
type Snapshot struct {
	gateway  *Gateway
	dir      string
	now      time.Time
	own      []ownKey
	tls      *clientKey
	schema   *conf.Schema
	root     *conf.Node
	below    *layers
	settings []Setting // effective ones of edigw.yaml
	partners map[string]*Partner
	ids      []string // sorted
	problems []Problem

	names     map[pair]string      // AS2: id
	byParties map[parties][]string // AS4: ids
	sharing   map[parties]int      // AS4: how many files name them, those with mistakes as well
	byMPC     map[string][]string  // AS4: ids of those who pull from a channel
}

// pair is our AS2 name and theirs.
type pair struct{ ours, theirs string }

// Load reads edigw.yaml at path and the partner files that belong to it. A
// partner whose file has mistakes is in the Snapshot as misconfigured. The
// problems are sorted and hold all mistakes and warnings of all files. The
// error is ErrSettings if edigw.yaml cannot be used, with a nil Snapshot.
func Load(path string, now time.Time) (*Snapshot, []Problem, error) {
	l, err := newLoader(path, now)
	if err != nil {
		return nil, nil, err
	}
	problems, ok := l.loadGateway()
	if !ok {
		return nil, problems, ErrSettings
	}
	s, err := l.snapshot(problems, nil)
	if err != nil {
		return nil, problems, err
	}
	return s, s.problems, nil
}

// snapshot reads the partner files. Those with mistakes keep their last good
// settings from old, if there are any.
func (l *loader) snapshot(problems []Problem, old *Snapshot) (*Snapshot, error) {
	s := &Snapshot{
		gateway: l.gateway, dir: l.dir, now: l.now, own: l.own, tls: l.tls,
		schema: l.schema, root: l.root, below: l.below,
		partners: make(map[string]*Partner), names: make(map[pair]string),
		byParties: make(map[parties][]string), sharing: make(map[parties]int), byMPC: make(map[string][]string),
	}
	whole := []conf.Layer{{Origin: OriginGateway, Dir: l.dir, Root: l.root, Silent: true}}
	l.schema.Decode(new(Gateway), whole, new(conf.Report), conf.Options{Settings: &s.settings})
	ids, more, err := l.list()
	if err != nil {
		return nil, err
	}
	problems = append(slices.Clone(problems), more...)
	loaded := l.buildAll(ids)
	keep(loaded, old)
	for l.part(loaded) { // who falls back to an older pair may collide again
		keep(loaded, old)
	}
	for _, p := range loaded {
		s.partners[p.ID] = p
		s.ids = append(s.ids, p.ID)
		problems = append(problems, p.Problems...)
	}
	s.index()
	conf.Sort(problems)
	s.problems = slices.Clip(problems)
	return s, nil
}

// list finds the partner files. Other files in the folder are told of, those
// that edigw itself puts there and hidden ones excepted.
func (l *loader) list() (ids []string, problems []Problem, err error) {
	dir := string(l.gateway.Partners)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("read the folder of the partner files: %w", err)
	}
	for _, e := range entries {
		name := e.Name()
		at := Problem{File: l.relative(filepath.Join(dir, name))}
		id, yaml := strings.CutSuffix(name, ".yaml")
		switch {
		case strings.HasPrefix(name, "."), strings.HasSuffix(name, "-sheet.txt"):
		case e.IsDir() || !yaml:
			at.Reason, at.Hint, at.Warning = "not a partner file", "partner files end in .yaml", true
			problems = append(problems, at)
		case id == OwnerGateway:
			at.Reason, at.Hint = "the name is that of the gateway itself in lists of certificates and in commands", "another id, such as acme-edigw"
			problems = append(problems, at)
		case !ValidID(id):
			at.Reason, at.Hint = "the name is not a partner id", "lower-case letters, digits and dashes, at most 63, such as northwind-de.yaml"
			problems = append(problems, at)
		case len(ids) == maxPartners:
			at.Reason = fmt.Sprintf("more than %d partner files", maxPartners)
			return ids, append(problems, at), nil
		default:
			ids = append(ids, id)
		}
	}
	return ids, problems, nil
}

// buildAll reads partner files on all cores, in the order of ids.
func (l *loader) buildAll(ids []string) []*Partner {
	out := make([]*Partner, len(ids))
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), max(len(ids), 1)) {
		workers.Go(func() {
			for i := range next {
				out[i] = l.load(ids[i])
			}
		})
	}
	for i := range ids {
		next <- i
	}
	close(next)
	workers.Wait()
	return out
}

func (l *loader) load(id string) *Partner {
	path := filepath.Join(string(l.gateway.Partners), id+".yaml")
	name := l.relative(path)
	text, err := readSettings(path)
	if err != nil {
		p := l.build(id, name, nil)
		p.Misconfigured = true
		p.Problems = []Problem{{File: name, Reason: fmt.Sprintf("cannot read it: %v", err)}}
		return p
	}
	return l.build(id, name, text)
}

// partnerFile is the file of a partner for people.
func (l *loader) partnerFile(id string) string {
	return l.relative(filepath.Join(string(l.gateway.Partners), id+".yaml"))
}

// pair are the AS2 names by which messages of the partner are told; a
// misconfigured partner has none.
func (p *Partner) pair() (pair, bool) {
	if p.AS2 == nil || p.Misconfigured || p.AS2.Template.From == "" || p.AS2.Template.To == "" {
		return pair{}, false
	}
	return pair{p.AS2.Template.From, p.AS2.Template.To}, true
}

// keep puts the last good settings in the place of partners whose file went
// bad.
func keep(loaded []*Partner, old *Snapshot) {
	if old == nil {
		return
	}
	for i, p := range loaded {
		before := old.partners[p.ID]
		if !p.Misconfigured || before == nil || before.Misconfigured {
			continue
		}
		kept := *before
		kept.Stale, kept.Problems = true, p.Problems
		loaded[i] = &kept
	}
}

func (s *Snapshot) index() {
	for _, id := range s.ids {
		p := s.partners[id]
		if k, ok := p.pair(); ok {
			s.names[k] = id
		}
		s.indexAS4(p)
	}
}

// NoPartner says that no partner has an id, and which one may be meant.
func (s *Snapshot) NoPartner(id string) string {
	text := fmt.Sprintf("There is no partner %.80q.", id)
	if near := conf.Nearest(id, s.ids); near != "" {
		text += " Did you mean " + near + "?"
	}
	return text
}

// Gateway is edigw.yaml.
func (s *Snapshot) Gateway() *Gateway { return s.gateway }

// Dir is the folder of edigw.yaml; outbox, inbox and secrets lie beside it.
func (s *Snapshot) Dir() string { return s.dir }

// Partner is the partner of that id.
func (s *Snapshot) Partner(id string) (*Partner, bool) {
	p, ok := s.partners[id]
	return p, ok
}

// IDs are the ids of all partners, sorted. The slice belongs to the Snapshot.
func (s *Snapshot) IDs() []string { return s.ids }

// ByAS2Names is the partner that calls itself theirs and us ours, both
// unquoted; case matters (RFC 4130 §6.2). A misconfigured partner is not
// found.
func (s *Snapshot) ByAS2Names(theirs, ours string) (*Partner, bool) {
	id, ok := s.names[pair{ours, theirs}]
	return s.partners[id], ok
}

// Problems are all mistakes and warnings of all files, sorted. The slice
// belongs to the Snapshot.
func (s *Snapshot) Problems() []Problem { return s.problems }

// file is the partner's file for people.
func (s *Snapshot) file(id string) string {
	l := loader{dir: s.dir, gateway: s.gateway}
	return l.partnerFile(id)
}
