package takeover

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"edigw/as4/ebms"
)

// Options say how the P-Modes of another product become partner files.
type Options struct {
	Us    string       // who we are, as the product names us, or our party id; empty: as it says itself, or Party
	Party ebms.PartyID // identity.as4 of the gateway, which needs not be repeated; zero: there is none
	Taken []string     // partner ids that exist already
	Home  string       // folder of edigw.yaml, seen from that of the partner files; empty: ".."
	// Known tells which partner would get a message with this header already; ""
	// if none.
	Known func(u *ebms.UserMessage) string
}

// Leg is one kind of message that goes one way.
type Leg struct {
	Name           string // of the product, for people
	Out            bool   // we send it
	Pulled         bool   // whoever gets it fetches it
	TwoWay         bool
	URL            string // where the other side listens; empty: unknown
	From, To       ebms.Party
	Agreement      *ebms.AgreementRef
	Service        ebms.Service
	Action, MPC    string
	Properties     []ebms.Property
	Compress, Body bool
	Security       Security
	Receipt        string // none, sync, async; empty: the product does not say
	Copy           bool   // the receipt holds a copy of the header, no digests
	User, Password string // of the pull request
}

// Security is what a message is protected by, in values of as4.security; Sign and
// Encrypt are empty for none.
type Security struct{ Sign, Digest, Token, Encrypt, KeyTransport, EncryptToken string }

// Counterpart is a partner with all that goes between him and us.
type Counterpart struct {
	Name            string
	Legs            []Leg
	Ours            []string // aliases of our keys
	Verify, Encrypt []string // aliases of his certificates
}

// Writer makes partner files of counterparts.
type Writer struct {
	Plan    Plan
	Store   *Keystore
	Product string // "Holodeck B2B"
	o       Options
	names   *Names
	keys    map[string]bool
	known   []string
}

// NewWriter begins a plan.
func NewWriter(product, source string, store *Keystore, o Options) *Writer {
	return &Writer{Plan: Plan{Source: source}, Store: store, Product: product, o: o, names: NewNames(o.Taken), keys: map[string]bool{}}
}

// Done is the plan, or why there is none.
func (w *Writer) Done() (*Plan, error) {
	switch {
	case len(w.Plan.Partners) > 0:
		return &w.Plan, nil
	case len(w.known) > 0:
		return nil, fmt.Errorf("every partner of it is here already: %s", strings.Join(w.known, ", "))
	}
	var lost []string
	for _, r := range w.Plan.Remarks {
		if r.Lost {
			lost = append(lost, r.About+": "+r.Text)
		}
	}
	const shown = 5
	return nil, errors.New(strings.Join(append([]string{"nothing of it can be taken over"}, lost[:min(len(lost), shown)]...), "; "))
}

// Partner writes the files of a counterpart: one for each kind of message that we
// send, since a partner of edigw has one. What he sends goes into the first,
// unless it is what another sends.
func (w *Writer) Partner(c Counterpart) {
	var out, in []Leg
	for _, l := range c.Legs {
		if l.Service.Value == ebms.TestService && l.Action == ebms.TestAction {
			w.Plan.Note("", l.Name, "messages to the test service need no setting: edigw takes and answers them")
			continue
		}
		list := &in
		if l.Out {
			list = &out
		}
		if !slices.ContainsFunc(*list, l.same) {
			*list = append(*list, l)
		}
	}
	more := slices.DeleteFunc(slices.Clone(in), func(l Leg) bool { return slices.ContainsFunc(out, l.same) })
	switch {
	case len(out)+len(in) == 0:
		return
	case len(out) == 0:
		w.file(c, in[0], nil, in, more[1:], "")
		return
	}
	for i, l := range out {
		mine := slices.DeleteFunc(slices.Clone(in), func(other Leg) bool { return !l.same(other) })
		if i == 0 {
			mine = append(mine, more...)
		}
		w.file(c, l, &l, mine, more, ending(out[0], l))
		more = nil
	}
}

// same reports whether a message of one leg could be one of the other, whichever
// way it goes.
func (l Leg) same(o Leg) bool {
	return l.Service == o.Service && l.Action == o.Action && (l.Agreement == nil) == (o.Agreement == nil) && (l.Agreement == nil || *l.Agreement == *o.Agreement)
}

// sides are who we are and who they are.
func (l Leg) sides() (ours, theirs ebms.Party) {
	if l.Out {
		return l.From, l.To
	}
	return l.To, l.From
}

// file writes one partner file: main is what it is about, out what we send, in
// what they send, also what of that is not main.
func (w *Writer) file(c Counterpart, main Leg, out *Leg, in, also []Leg, ending string) {
	for _, l := range in {
		main.URL = cmp.Or(main.URL, l.URL)
	}
	ours, theirs := main.sides()
	if id := w.taken(main); id != "" {
		w.known = append(w.known, theirs.IDs[0].Value+" is "+id)
		w.Plan.Note(id, main.Name, "it is here already and was left as it is")
		return
	}
	also = slices.DeleteFunc(slices.Clone(also), func(l Leg) bool { return w.taken(l) != "" })
	name := cmp.Or(c.Name, theirs.IDs[0].Value)
	if ending != "" {
		name += " " + ending
	}
	s := &sheet{w: w, id: w.names.ID(name, "-encrypt"), main: main}
	s.parties(ours, theirs)
	s.sending(out)
	s.receiving(out, in, also)
	s.fetch(in)
	s.certificates(c)
	for _, alias := range c.Ours {
		w.own(alias, s.id)
	}
	w.Plan.Partners = append(w.Plan.Partners, s.id)
	w.Plan.Files = append(w.Plan.Files, File{"partners/" + s.id + ".yaml", s.yaml(name)})
}

// taken is the partner who has such messages already; empty if none has.
func (w *Writer) taken(l Leg) string {
	if w.o.Known == nil {
		return ""
	}
	ours, theirs := l.sides()
	return w.o.Known(&ebms.UserMessage{From: theirs, To: ours, Agreement: l.Agreement, Service: l.Service, Action: l.Action})
}

// ending tells a leg from the first one of the same partner, by what differs; empty
// for that.
func ending(first, l Leg) string {
	switch {
	case l.Action != first.Action:
		return lastWord(l.Action)
	case l.Service != first.Service:
		return lastWord(l.Service.Value)
	case l.Agreement != nil && !l.same(first):
		return lastWord(l.Agreement.Value)
	}
	return ""
}

// lastWord is what stands behind the last separator of a URI or name.
func lastWord(s string) string {
	return s[strings.LastIndexAny(strings.TrimRight(s, "/:#"), "/:#")+1:]
}

// own puts a key of ours into the plan, once.
func (w *Writer) own(alias, id string) {
	key := strings.ToLower(alias)
	if alias == "" || w.keys[key] {
		return
	}
	w.keys[key] = true
	e := w.Store.Find(alias)
	switch {
	case w.Store.Empty():
		w.Plan.Lost("", "key "+alias, "no keystore was given; the key that partners know is needed to sign and decrypt. Importing it changes what we sign with for ALL partners: edigw cert import edigw FILE --use sign,decrypt")
		return
	case !e.Own():
		w.Plan.Lost("", "key "+alias, "%s holds no key of that alias; partner %s needs one of ours to sign and decrypt", w.Store.File, id)
		return
	}
	file := "keys/" + w.names.Free(Word(w.Product)+"-"+cmp.Or(Word(alias), "key"), "") + ".pem"
	w.Plan.Files = append(w.Plan.Files, File{file, e.PEM(true)})
	w.Plan.Keys = append(w.Plan.Keys, OwnKey{file, alias})
}
