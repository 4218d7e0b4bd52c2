package partner

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"edigw/internal/conf"
)

// Registry holds the current Snapshot. It is safe for concurrent use; readers
// never wait.
type Registry struct {
	path    string
	now     func() time.Time
	loading sync.Mutex
	current atomic.Pointer[Snapshot]
}

// Open loads the settings at path. The problems are those of all files; the
// error is that of Load.
func Open(path string, now func() time.Time) (*Registry, []Problem, error) {
	s, problems, err := Load(path, now())
	if err != nil {
		return nil, problems, err
	}
	r := &Registry{path: path, now: now}
	r.current.Store(s)
	return r, problems, nil
}

// Current is the Snapshot in force.
func (r *Registry) Current() *Snapshot { return r.current.Load() }

// Reload reads all files anew and swaps the Snapshot (interfaces.md §3). A bad
// partner file keeps its last good settings, marked stale; a bad edigw.yaml
// leaves the old one whole while partner files are reloaded all the same, and so
// does one with another identity.domain; what needs a restart stays as it was
// and is named. If even the folder of partner files cannot be read, everything
// stays and the problem says so. It blocks for the time of the reading; one
// reload runs at a time.
func (r *Registry) Reload() (Change, []Problem) {
	r.loading.Lock()
	defer r.loading.Unlock()
	old := r.current.Load()
	s, restart, problems, ok := r.reread(old)
	if !ok {
		return Change{}, problems
	}
	r.current.Store(s)
	change := compare(old, s)
	change.Restart = restart
	return change, problems
}

func (r *Registry) reread(old *Snapshot) (s *Snapshot, restart []string, problems []Problem, ok bool) {
	l, err := newLoader(r.path, r.now())
	if err != nil {
		return nil, nil, []Problem{{File: r.path, Reason: err.Error()}}, false
	}
	problems, good := l.loadGateway()
	if good {
		if p, moved := l.moved(old); moved {
			problems, good = append(problems, p), false
		}
	}
	if good {
		restart = l.pin(old)
	} else {
		l.revert(old)
	}
	s, err = l.snapshot(problems, old)
	if err != nil {
		return nil, nil, append(problems, Problem{File: l.relative(l.path), Key: "partners", Reason: err.Error(), Hint: "the old settings stay in force"}), false
	}
	return s, restart, s.problems, true
}

// moved finds another identity.domain than before.
func (l *loader) moved(old *Snapshot) (Problem, bool) {
	return movedDomain(l.relative(l.path), l.root, old.gateway.Identity.Domain, l.gateway.Identity.Domain)
}

// MovedDomain finds another identity.domain than documents were sent with.
func (s *Snapshot) MovedDomain(was string) (Problem, bool) {
	return movedDomain(s.below.rest.File, s.root, was, s.gateway.Identity.Domain)
}

// movedDomain refuses a domain that changed. Message-IDs end in it, and by them
// partners recognise a repeat, so one that changed would make duplicates.
func movedDomain(file string, root *conf.Node, was, is string) (Problem, bool) {
	const key = "identity.domain"
	return Problem{
		File: file, Line: root.LineOf(key), Key: key,
		Reason: fmt.Sprintf("was %s, is %s: it is fixed from the first start on, since partners recognise repeats by Message-IDs that end in it", was, is),
		Hint:   "set it back to " + was + "; a restart does not take another one either",
	}, is != was
}

// revert takes edigw.yaml, keys included, from an older load.
func (l *loader) revert(old *Snapshot) {
	l.gateway, l.own, l.tls, l.below = old.gateway, old.own, old.tls, old.below
	l.schema, l.root = old.schema, old.root
}

// pin keeps the settings that only a restart can change and names those that
// the file has otherwise.
func (l *loader) pin(old *Snapshot) (restart []string) {
	g := *l.gateway
	was := old.gateway
	add := func(key string, same bool) {
		if !same {
			restart = append(restart, key)
		}
	}
	add("node", g.Node == was.Node)
	add("data", g.Data == was.Data)
	add("store", g.Store == was.Store)
	add("listen", g.Listen.equal(was.Listen))
	g.Node, g.Data, g.Store, g.Listen = was.Node, was.Data, was.Store, was.Listen.renewed(g.Listen)
	*l.gateway = g
	return restart
}

// equal reports whether no restart is needed to go from l to o: an address or
// whether there is TLS at all counts, its certificate does not.
func (l Listen) equal(o Listen) bool {
	if l.Console != o.Console || (l.Partners == nil) != (o.Partners == nil) {
		return false
	}
	if l.Partners == nil {
		return true
	}
	a, b := *l.Partners, *o.Partners
	same := (a.TLS == nil) == (b.TLS == nil)
	a.TLS, b.TLS = nil, nil
	return same && a == b
}

// renewed is l with the TLS certificate of o, if both have TLS: it is read at
// every handshake.
func (l Listen) renewed(o Listen) Listen {
	if l.Partners == nil || o.Partners == nil || l.Partners.TLS == nil || o.Partners.TLS == nil {
		return l
	}
	p := *l.Partners
	p.TLS = o.Partners.TLS
	l.Partners = &p
	return l
}

// Change is what a reload changed.
type Change struct {
	Gateway  []SettingChange // keys of edigw.yaml
	Keys     bool            // own keys: all partners are concerned
	Restart  []string        // top keys of edigw.yaml that need a restart to count
	Added    []string        // ids, sorted
	Removed  []string        // ids, sorted: their lanes are orphaned while messages or letters exist
	Partners []PartnerChange // of partners before and after, sorted by id
}

// PartnerChange is what changed for one partner. Any change but Stale
// releases a lane that needs a fix.
type PartnerChange struct { //nolint:revive // Change is what the whole reload changed
	ID           string
	Settings     []SettingChange
	Certificates bool // theirs: verify, encrypt
	Trust        bool // TLS: whom we trust, who we are, which URL, which proxy
	Credentials  bool // login or the file of its password
	Stale        bool // its file went bad, its settings stay
	Fixed        bool // it was misconfigured or stale and is no more
}

// Released reports whether the change may mend what stopped the lane.
func (c PartnerChange) Released() bool {
	return len(c.Settings) > 0 || c.Certificates || c.Trust || c.Credentials || c.Fixed
}

// Reach reports whether the way to the partner changed: its URL, our proxy, TLS
// trust or login. What failed before may work now, so the test of an open
// breaker is due at once.
func (c PartnerChange) Reach() bool { return c.Trust || c.Credentials }

// Empty reports whether nothing changed.
func (c Change) Empty() bool {
	return len(c.Gateway)+len(c.Restart)+len(c.Added)+len(c.Removed)+len(c.Partners) == 0 && !c.Keys
}

func compare(old, s *Snapshot) Change {
	c := Change{Gateway: changes(old.settings, s.settings), Keys: digestOwn(old.own) != digestOwn(s.own)}
	for _, id := range slices.Sorted(maps.Keys(old.partners)) {
		if _, ok := s.partners[id]; !ok {
			c.Removed = append(c.Removed, id)
		}
	}
	for _, id := range s.ids {
		before, ok := old.partners[id]
		if !ok {
			c.Added = append(c.Added, id)
			continue
		}
		if pc, changed := comparePartner(before, s.partners[id], s.file(id)); changed {
			c.Partners = append(c.Partners, pc)
		}
	}
	return c
}

func comparePartner(before, after *Partner, file string) (PartnerChange, bool) {
	c := PartnerChange{
		ID:           after.ID,
		Certificates: before.marks.certificates != after.marks.certificates,
		Trust:        before.marks.trust != after.marks.trust,
		Credentials:  before.marks.credentials != after.marks.credentials,
		Stale:        after.Stale && !before.Stale,
		Fixed:        (before.Misconfigured || before.Stale) && !after.Misconfigured && !after.Stale,
	}
	if before.source != after.source || before.below.digest != after.below.digest {
		c.Settings = changes(before.effective(file), after.effective(file))
	}
	return c, c.Released() || c.Stale
}

// marks tell whether what lies behind the settings changed, without holding
// any of it.
type marks struct{ certificates, trust, credentials string }

func (p *Partner) mark() marks {
	var m marks
	for _, list := range [][]term{p.certificates.verify, p.certificates.encrypt} {
		m.certificates += digestTerms(list) + ";"
	}
	m.certificates += digestTerms(p.certificates.inbound)
	m.trust = digestTerms(p.certificates.trust) + ";" + digestTerms(clientTerms(p.certificates.client))
	if p.Proxy != nil {
		m.trust += fmt.Sprintf(" %q %q %q %s", p.Proxy.URL, p.Proxy.User, p.Proxy.Except, touched(p.Proxy.Password))
	}
	m.trust += " " + p.URL()
	logins := []*Auth{p.Auth}
	if p.AS4 != nil {
		m.certificates += digestTerms(p.certificates.authorities) + digestTerms(p.certificates.publishers)
		logins = append(logins, p.AS4.pull)
		if f := p.AS4.Fetch; f != nil {
			logins = append(logins, f.login)
		}
	}
	for _, a := range logins {
		if a != nil {
			m.credentials += a.User + " " + touched(a.Password) + ";"
		}
	}
	return m
}

func digestTerms(terms []term) string {
	var b strings.Builder
	for _, t := range terms {
		fmt.Fprintf(&b, "%x %d %d,", t.sum[:8], t.from.Unix(), t.until.Unix())
	}
	return b.String()
}

func digestOwn(own []ownKey) string {
	var b strings.Builder
	for _, k := range own {
		b.WriteString(strings.Join(k.uses, "+") + " " + digestTerms([]term{k.term}))
	}
	return b.String()
}
