package openas2

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"edigw/partner/takeover"
)

// Options say how an installation becomes partner files.
type Options struct {
	Us    string   // name or AS2 id of our side; empty: whoever has a key in the keystore
	OurID string   // identity.as2 of the gateway, which needs not be repeated
	Taken []string // partner ids that exist already
	Home  string   // folder of edigw.yaml, seen from that of the partner files; empty: ".."
	// Known tells which partner has this pair of AS2 names already; "" if none.
	Known func(ours, theirs string) string
}

// Translate makes the plan. It fails if our own side cannot be told, or nothing
// is left to import.
func Translate(in *Installation, o Options) (*takeover.Plan, error) {
	t := translator{in: in, o: o, names: takeover.NewNames(o.Taken), keys: map[string]bool{}}
	t.plan.Source = in.Config
	if err := t.findUs(); err != nil {
		return nil, err
	}
	var known []string
	for _, p := range t.pairs() {
		if id := t.known(p); id != "" {
			known = append(known, p.theirs.AS2ID+" is "+id)
			t.note(id, "partner "+p.theirs.Name, "it is here already and was left as it is")
			continue
		}
		t.pair(p)
	}
	switch {
	case len(t.plan.Partners) > 0:
	case len(known) > 0:
		return nil, fmt.Errorf("every partner of it is here already: %s", strings.Join(known, ", "))
	default:
		return nil, fmt.Errorf("%s: no partnership has our side (%s) on one end and somebody else on the other", in.Config, strings.Join(t.us, ", "))
	}
	t.installation()
	return &t.plan, nil
}

// translator is one translation on its way.
type translator struct {
	in    *Installation
	o     Options
	us    []string // our AS2 ids
	names *takeover.Names
	keys  map[string]bool
	plan  takeover.Plan
}

func (t *translator) known(p *pair) string {
	if t.o.Known == nil {
		return ""
	}
	return t.o.Known(p.ours.AS2ID, p.theirs.AS2ID)
}

// pair is both directions between our id and a partner's.
type pair struct {
	ours, theirs Partner
	out, in      *Partnership // either may be missing
}

func (t *translator) findUs() error {
	for _, p := range t.in.Partners {
		if t.o.Us == "" && t.in.Store.Find(p.Alias).Own() || t.o.Us != "" && (p.Name == t.o.Us || p.AS2ID == t.o.Us) {
			t.us = append(t.us, p.AS2ID)
		}
	}
	switch {
	case len(t.us) > 0:
		return nil
	case t.o.Us != "":
		return fmt.Errorf("no partner of partnerships.xml is called %q, nor has that AS2 id", t.o.Us)
	}
	return fmt.Errorf("%s: no partner's x509_alias names a key in %s, so it cannot be told which of them we are; name ours with --us", t.in.Config, t.in.Store.File)
}

func (t *translator) pairs() []*pair {
	var all []*pair
	at := map[[2]string]*pair{}
	for i := range t.in.Partnerships {
		p := &t.in.Partnerships[i]
		ours, theirs, sending := p.Sender, p.Receiver, true
		if !slices.Contains(t.us, ours.AS2ID) {
			ours, theirs, sending = p.Receiver, p.Sender, false
		}
		if !slices.Contains(t.us, ours.AS2ID) {
			t.lost("", "partnership "+p.Name, "neither end is ours (%s)", strings.Join(t.us, ", "))
			continue
		}
		key := [2]string{ours.AS2ID, theirs.AS2ID}
		one := at[key]
		if one == nil {
			one = &pair{ours: ours, theirs: theirs}
			at[key] = one
			all = append(all, one)
		}
		to := &one.out
		if !sending {
			to = &one.in
		}
		if *to != nil {
			t.lost("", "partnership "+p.Name, "there is another one between the same two AS2 ids, %q; an id pair is one partner in edigw", (*to).Name)
			continue
		}
		*to = p
	}
	return all
}

// id makes a free partner id of a name.
func (t *translator) id(p Partner) string {
	return t.names.ID(cmp.Or(p.Name, p.AS2ID), fallbackMark)
}

// fallbackMark follows a partner's id in the name of the file with the
// certificate of his fallback alias.
const fallbackMark = "-fallback"

// pair writes one partner file with its certificates and secrets.
func (t *translator) pair(p *pair) {
	id := t.id(p.theirs)
	s := &settings{t: t, id: id, pair: p}
	s.names()
	if p.out != nil {
		s.sending(p.out)
	} else {
		s.note("partnership", "nothing was sent to them; as2.url is a placeholder")
		s.set("as2.url", "https://unknown.invalid/as2")
		s.set("as2.sign", "none")
		s.set("as2.encrypt", "none")
		s.set("as2.mdn", "{mode: none}")
	}
	if p.in != nil {
		s.receiving(p.in)
	}
	s.certificates()
	t.own(p.ours, id)
	t.plan.Partners = append(t.plan.Partners, id)
	t.plan.Files = append(t.plan.Files, takeover.File{Path: path.Join("partners", id+".yaml"), Content: s.yaml()})
}

// own puts our keys into the plan, once each.
func (t *translator) own(p Partner, id string) {
	for _, alias := range []string{p.Alias, p.Fallback} {
		if alias == "" || t.keys[strings.ToLower(alias)] {
			continue
		}
		t.keys[strings.ToLower(alias)] = true
		e := t.in.Store.Find(alias)
		if !e.Own() {
			t.lost("", "x509_alias "+alias, "%s holds no key of that alias; partner %s needs one of ours to sign and decrypt", t.in.Store.File, id)
			continue
		}
		file := "keys/" + t.names.Free("openas2-"+cmp.Or(takeover.Word(alias), "key"), "") + ".pem"
		t.plan.Files = append(t.plan.Files, takeover.File{Path: file, Content: e.PEM(true)})
		t.plan.Keys = append(t.plan.Keys, takeover.OwnKey{File: file, Alias: alias})
	}
}

// installation tells what belongs to no single partner.
func (t *translator) installation() {
	for _, r := range t.in.Receivers {
		kind := "http"
		if r.TLS {
			kind = "https"
		}
		what := "partners post messages there"
		if r.Kind == "receipts" {
			what = "asynchronous receipts came there; edigw takes both at one address"
		}
		t.note("", "port "+r.Port, "OpenAS2 listened by %s: %s. listen.partners.address in edigw.yaml says where edigw does", kind, what)
	}
	for _, p := range t.in.Pollers {
		if p.Sender == "" && p.Partnership == "" {
			t.lost("", "outboxdir "+p.Dir, "partner and sender were told by the file's name; in edigw each partner has a folder of its own, outbox/<id>/")
		}
	}
	for _, p := range t.in.Partners {
		if p.Mail != "" && !slices.Contains(t.us, p.AS2ID) {
			t.note("", "email of "+p.Name, "%s: who is called about a partner is owner.mail of the partner file", p.Mail)
		}
	}
}

func (t *translator) lost(id, about, format string, args ...any) {
	t.plan.Lost(id, about, format, args...)
}

func (t *translator) note(id, about, format string, args ...any) {
	t.plan.Note(id, about, format, args...)
}
