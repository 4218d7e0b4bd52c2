package holodeck

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"edigw/as4/ebms"
	"edigw/partner/takeover"
)

// Translate makes the plan of P-Modes; source says what they were read from. Our
// side is Options.Us or Options.Party, one of the party ids. It fails if neither
// is, or nothing is left to import.
func Translate(source string, all []PMode, store *takeover.Keystore, o takeover.Options) (*takeover.Plan, error) {
	us := cmp.Or(o.Us, o.Party.Value)
	if us == "" {
		return nil, fmt.Errorf("who are we? name our party id with --us, or set identity.as4 in edigw.yaml: %s", parties(all))
	}
	w := takeover.NewWriter("Holodeck B2B", source, store, o)
	t := translator{w: w, us: us, at: map[string]*takeover.Counterpart{}}
	for i := range all {
		t.pmode(&all[i])
	}
	if len(t.order) == 0 && !t.found {
		return nil, fmt.Errorf("no P-Mode has our party id %q: %s; name ours with --us", us, parties(all))
	}
	for _, key := range t.order {
		w.Partner(*t.at[key])
	}
	return w.Done()
}

// parties lists the party ids of P-Modes, for people.
func parties(all []PMode) string {
	var ids []string
	for i := range all {
		for _, side := range []string{"Initiator", "Responder"} {
			for _, s := range all[i].all(side + "/PartyId") {
				if v := takeover.Plain(takeover.Clip(s.Value)); !slices.Contains(ids, v) {
					ids = append(ids, v)
				}
			}
		}
	}
	const shown = 10
	return "party ids in it are " + strings.Join(ids[:min(len(ids), shown)], ", ")
}

// translator is one translation on its way.
type translator struct {
	w     *takeover.Writer
	us    string
	found bool // we are in a P-Mode at all
	at    map[string]*takeover.Counterpart
	order []string
}

// pmode takes up one document.
func (t *translator) pmode(p *PMode) {
	about := "P-Mode " + cmp.Or(p.first("id"), p.File)
	ours, theirs := "", ""
	for _, side := range [][2]string{{"Initiator", "Responder"}, {"Responder", "Initiator"}} {
		if slices.ContainsFunc(p.all(side[0]+"/PartyId"), func(s Setting) bool { return s.Value == t.us }) {
			ours, theirs = side[0], side[1]
			break
		}
	}
	if ours == "" {
		t.w.Plan.Lost("", about, "neither side is ours (%s)", t.us)
		return
	}
	t.found = true
	switch {
	case len(p.all(theirs+"/PartyId")) == 0:
		t.w.Plan.Lost("", about, "it names no %s: a partner of edigw has a party id", theirs)
		return
	case strings.HasSuffix(p.first("mep"), "twoWay"):
		t.w.Plan.Lost("", about, "it is a two-way exchange, which Holodeck B2B spells as two P-Modes")
		return
	}
	if path := p.unknownSecurity(); path != "" {
		t.w.Plan.Lost("", about, "not imported: edigw does not know %s and cannot say what it secures; correct the P-Mode and import again, or write the partner file by hand", takeover.Clip(path))
		return
	}
	leg := t.leg(p, about, ours, theirs)
	c := t.counterpart(leg)
	c.Legs = append(c.Legs, leg)
	add := func(list *[]string, path string) {
		if alias := p.first(path); alias != "" && !slices.Contains(*list, alias) {
			*list = append(*list, alias)
		}
	}
	const sign, seal = "/SecurityConfiguration/Signing/KeystoreAlias", "/SecurityConfiguration/Encryption/KeystoreAlias"
	add(&c.Ours, ours+sign)
	add(&c.Ours, ours+seal)
	add(&c.Verify, theirs+sign)
	add(&c.Encrypt, theirs+seal)
	if len(c.Verify) == 0 {
		add(&c.Verify, theirs+seal) // Holodeck B2B verifies by the trust store, of which nothing is said here
	}
	if len(c.Encrypt) == 0 {
		add(&c.Encrypt, theirs+sign)
	}
	t.rest(p, about)
}

// counterpart is the partner of a leg.
func (t *translator) counterpart(l takeover.Leg) *takeover.Counterpart {
	ids := l.To.IDs
	if !l.Out {
		ids = l.From.IDs
	}
	key := fmt.Sprintf("%q", ids)
	if t.at[key] == nil {
		t.at[key] = &takeover.Counterpart{Name: ids[0].Value}
		t.order = append(t.order, key)
	}
	return t.at[key]
}

// leg reads what a P-Mode says of its messages.
func (t *translator) leg(p *PMode, about, ours, theirs string) takeover.Leg {
	pulled := strings.HasSuffix(p.first("mepBinding"), "/pull")
	sender, receiver := "Initiator", "Responder"
	if pulled { // who sends the pull request begins
		sender, receiver = receiver, sender
	}
	l := takeover.Leg{
		Name: about, Out: ours == sender, Pulled: pulled, From: side(p, sender), To: side(p, receiver),
		Agreement: agreement(p), Action: p.first("Leg/UserMessageFlow/BusinessInfo/Action"), MPC: p.first("Leg/UserMessageFlow/BusinessInfo/Mpc"),
		Service:  ebms.Service{Value: p.first("Leg/UserMessageFlow/BusinessInfo/Service/name"), Type: p.first("Leg/UserMessageFlow/BusinessInfo/Service/type")},
		Compress: p.first("Leg/UserMessageFlow/PayloadProfile/UseAS4Compression") == "true",
		Security: t.security(p, about, sender, receiver),
	}
	if l.Service.Value == "" {
		l.Service.Value = ebms.DefaultService
		t.w.Plan.Note("", about, "it says no service: whoever submits does; that of AS4 is used")
	}
	if l.Action == "" {
		l.Action = ebms.DefaultAction
		t.w.Plan.Note("", about, "it says no action: whoever submits does; that of AS4 is used")
	}
	names, values := p.all("Leg/UserMessageFlow/BusinessInfo/Property/name"), p.all("Leg/UserMessageFlow/BusinessInfo/Property/value")
	for i := range min(len(names), len(values)) {
		l.Properties = append(l.Properties, ebms.Property{Name: names[i].Value, Value: values[i].Value})
	}
	if l.Out != pulled { // whoever connects knows where
		l.URL = p.first("Leg/Protocol/Address")
	}
	l.Receipt = t.receipt(p, about, l)
	t.pull(p, about, &l, ours, theirs)
	return l
}

func side(p *PMode, name string) (out ebms.Party) {
	for _, s := range p.all(name + "/PartyId") {
		out.IDs = append(out.IDs, ebms.PartyID{Value: s.Value, Type: s.attributes["type"]})
	}
	out.Role = p.first(name + "/Role")
	return out
}

func agreement(p *PMode) *ebms.AgreementRef {
	name := p.first("Agreement/name")
	if name == "" {
		return nil
	}
	a := &ebms.AgreementRef{Value: name, Type: p.first("Agreement/type")}
	if id := p.all("id"); len(id) > 0 && id[0].attributes["include"] == "true" {
		a.PMode = id[0].Value
	}
	return a
}

// receipt is how a receipt comes back.
func (t *translator) receipt(p *PMode, about string, l takeover.Leg) string {
	if !p.has("Leg/Receipt") {
		return "none"
	}
	if strings.EqualFold(p.first("Leg/Receipt/ReplyPattern"), "CALLBACK") {
		if to := p.first("Leg/Receipt/To"); to != "" && !l.Out && to != l.URL {
			t.w.Plan.Lost("", about, "receipts that we owe went to %s; edigw posts them to as4.url", takeover.Clip(to))
		}
		return "async"
	}
	return "sync"
}

// pull reads the channel and the login of pull requests.
func (t *translator) pull(p *PMode, about string, l *takeover.Leg, ours, theirs string) {
	const flow = "Leg/PullRequestFlow/"
	if !l.Pulled {
		return
	}
	channels := p.all(flow + "Mpc")
	if len(channels) > 0 && (l.MPC == "" || !l.Out) {
		l.MPC = channels[0].Value
	}
	for _, more := range channels[min(len(channels), 1):] {
		t.w.Plan.Lost("", about, "a sub-channel has no line of its own in edigw: whoever pulls from it gets what waits in its channel: %s", takeover.Clip(more.Value))
	}
	puller := theirs
	if !l.Out {
		puller = ours
	}
	for _, path := range []string{flow + "SecurityConfiguration/UsernameToken/", puller + "/SecurityConfiguration/UsernameToken/"} {
		if user := p.first(path + "username"); user != "" && l.User == "" {
			l.User, l.Password = user, p.first(path+"password")
			if kind := p.all(path + "password"); len(kind) > 0 && kind[0].attributes["type"] == "Text" && !l.Out {
				t.w.Plan.Note("", about, "the password went in clear text; edigw sends its digest, which they must take")
			}
		}
	}
}
