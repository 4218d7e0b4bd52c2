package domibus

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"edigw/as4/ebms"
	"edigw/partner/takeover"
)

// Translate makes the plan. Our side is Options.Us, the name of a party or one of
// its ids, or Options.Party, or whom the configuration is for. It fails if none of
// them is a party of it, or nothing is left to import.
func Translate(c *Configuration, store *takeover.Keystore, o takeover.Options) (*takeover.Plan, error) {
	us, err := c.us(o)
	if err != nil {
		return nil, err
	}
	t := translator{c: c, us: us, w: takeover.NewWriter("Domibus", c.File, store, o), at: map[string]*takeover.Counterpart{}, told: map[string]bool{}}
	for _, missing := range c.Uneven {
		t.once("", missing, true, "it is named and not defined")
	}
	for _, p := range c.Processes {
		if t.process(p); t.legsRead > maxLegs {
			return nil, fmt.Errorf("%s: more than %d kinds of messages between us and others", c.File, maxLegs)
		}
	}
	for _, name := range t.order {
		t.w.Partner(*t.at[name])
	}
	return t.w.Done()
}

// us finds our party.
func (c *Configuration) us(o takeover.Options) (Party, error) {
	for _, who := range []string{o.Us, o.Party.Value, c.Party} {
		if who == "" {
			continue
		}
		if p, ok := c.Parties[strings.ToLower(who)]; ok {
			return p, nil
		}
		for _, p := range c.Parties {
			if slices.ContainsFunc(p.IDs, func(id ebms.PartyID) bool { return id.Value == who }) {
				return p, nil
			}
		}
		if who == o.Us {
			return Party{}, fmt.Errorf("%s: no party is called %q, nor has that id: %s", c.File, o.Us, c.names())
		}
	}
	return Party{}, fmt.Errorf("%s: who are we? name our party with --us: %s", c.File, c.names())
}

// names lists the parties, for people.
func (c *Configuration) names() string {
	var names []string
	for _, p := range c.Parties {
		names = append(names, takeover.Plain(takeover.Clip(p.Name)))
	}
	slices.Sort(names)
	const shown = 10
	return "parties are " + strings.Join(names[:min(len(names), shown)], ", ")
}

// translator is one translation on its way.
type translator struct {
	c     *Configuration
	us    Party
	w     *takeover.Writer
	at    map[string]*takeover.Counterpart
	order []string
	told  map[string]bool

	legsRead int
}

// maxLegs bounds what processes come to when each leg is counted for each party.
const maxLegs = 20_000

// once tells the same thing once.
func (t *translator) once(id, about string, lost bool, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if t.told[about+text] {
		return
	}
	t.told[about+text] = true
	if lost {
		t.w.Plan.Lost(id, about, "%s", text)
	} else {
		t.w.Plan.Note(id, about, "%s", text)
	}
}

// process takes up the legs of a process between us and each other party.
func (t *translator) process(p Process) {
	about := "process " + p.Name
	is := func(list []string) bool {
		return slices.ContainsFunc(list, func(n string) bool { return strings.EqualFold(n, t.us.Name) })
	}
	initiator, responder := is(p.Initiators), is(p.Responders)
	switch {
	case !initiator && !responder:
		if len(p.Initiators) == 0 || len(p.Responders) == 0 {
			t.once("", about, true, "one side of it is found out at run time (dynamic discovery); a partner of edigw has a file")
			return
		}
		t.once("", about, true, "neither side is ours (%s)", t.us.Name)
		return
	case p.Binding != "push" && p.Binding != "pull" && !twoWay(p):
		t.once("", about, true, "edigw has no binding %s", cmp.Or(p.Binding, "without a value"))
		return
	case initiator && len(p.Responders) == 0, responder && len(p.Initiators) == 0:
		t.once("", about, true, "the other side is found out at run time (dynamic discovery); a partner of edigw has a file")
		return
	}
	if initiator {
		t.legs(p, p.Responders, true)
	}
	if responder {
		t.legs(p, p.Initiators, false)
	}
}

func twoWay(p Process) bool {
	return strings.EqualFold(p.MEP, "twoWay") && (strings.EqualFold(p.Binding, "push-and-push") || strings.EqualFold(p.Binding, "pushAndPush"))
}

// legs takes up those between us and some parties; first says that we begin. Who
// begins a pull gets the message.
func (t *translator) legs(p Process, others []string, first bool) {
	for _, name := range others {
		if strings.EqualFold(name, t.us.Name) {
			continue
		}
		other, ok := t.c.Parties[strings.ToLower(name)]
		if !ok || len(other.IDs) == 0 {
			t.once("", "party "+name, true, "it is named and not defined, or has no identifier")
			continue
		}
		if t.legsRead += len(p.Legs); t.legsRead > maxLegs {
			return
		}
		for i, l := range p.Legs {
			out := first != (p.Binding == "pull")
			if twoWay(p) && i%2 == 1 { // the answer
				out = !out
			}
			t.leg(p, l, other, out, first)
		}
		if other.Login {
			t.once("", "party "+other.Name, true, "it has a user name and password, which edigw does not send with messages")
		}
	}
}

func (t *translator) leg(p Process, l Leg, other Party, out, first bool) {
	about := "leg " + l.Name
	ours, theirs := p.InitiatorRole, p.ResponderRole
	if !first {
		ours, theirs = theirs, ours
	}
	leg := takeover.Leg{
		Name: about, Out: out, Pulled: p.Binding == "pull", TwoWay: twoWay(p), URL: other.Endpoint,
		From: ebms.Party{IDs: t.us.IDs, Role: ours}, To: ebms.Party{IDs: other.IDs, Role: theirs},
		Agreement: p.Agreement, Service: l.Service, Action: l.Action, MPC: l.MPC, Compress: l.Compress, Body: l.Body,
		Security: t.security(l, about), Receipt: "sync", Copy: !l.NRR,
	}
	if !out {
		leg.From, leg.To = leg.To, leg.From
	}
	if out && leg.Pulled {
		leg.URL = ""
	}
	if l.Callback {
		leg.Receipt = "async"
	}
	t.remarks(l, about, out)
	c := t.at[other.Name]
	if c == nil {
		c = &takeover.Counterpart{Name: other.Name, Ours: []string{t.us.Name}, Verify: []string{other.Name}, Encrypt: []string{other.Name}}
		t.at[other.Name] = c
		t.order = append(t.order, other.Name)
	}
	c.Legs = append(c.Legs, leg)
}

// remarks tells what of a leg edigw does otherwise.
func (t *translator) remarks(l Leg, about string, out bool) {
	if l.Retry != "" && out {
		t.once("", about, false, "retry was %s; edigw tries 7 times with growing waits (retry.attempts), then makes a dead letter that can be replayed", takeover.Clip(l.Retry))
	}
	if !l.Duplicates && !out {
		t.once("", about, false, "duplicates were not recognised; edigw always does")
	}
	if len(l.Required) > 0 && out {
		t.once("", about, false, "each document must have the properties %s: as4.properties gives one value to every document of the partner file, and only a Standard Business Document gives originalSender and finalRecipient of its own; for another value of a property write another partner file", strings.Join(l.Required, ", "))
	}
}

// security reads a policy by its name and the signature method.
func (t *translator) security(l Leg, about string) (s takeover.Security) {
	policy := strings.ToLower(strings.TrimSuffix(l.Policy, ".xml"))
	switch {
	case policy == "donothingpolicy": // no other name turns security off
		return s
	case policy == "":
		t.once("", about, true, "its security is not defined; signed and encrypted is put in its place")
	case !strings.Contains(policy, "edeliveryas4") && !strings.Contains(policy, "signonly") && !strings.Contains(policy, "sign"):
		t.once("", about, true, "what policy %s asks for is not said here; signed and encrypted is put in its place, agree it with the partner", takeover.Clip(l.Policy))
	}
	s = takeover.Security{Sign: "rsa-sha256", Digest: "sha256", Token: tokenOf(policy)}
	switch method := strings.ToUpper(strings.NewReplacer("-", "_", "/", "_").Replace(l.Method)); method {
	case "RSA_SHA256", "RSA", "":
	case "ECC", "ECDSA_SHA256", "ECC_SHA256":
		s.Sign = "ecdsa-sha256"
	case "EDDSA_ED25519", "ED25519":
		s.Sign = "ed25519"
	default:
		t.once("", about, true, "the signature %s is not used by edigw; rsa-sha256 was put in its place, agree it with the partner", takeover.Clip(l.Method))
	}
	if strings.Contains(policy, "signonly") || strings.Contains(policy, "sign_only") {
		return s
	}
	s.Encrypt, s.KeyTransport = "aes128-gcm", "rsa-oaep-mgf1-sha256"
	if s.Sign != "rsa-sha256" {
		s.KeyTransport = "by-key"
	}
	return s
}

// tokenOf is how certificates are named, which the ends of policies say.
func tokenOf(policy string) string {
	switch {
	case strings.HasSuffix(policy, "_pkip"):
		return "pkipath"
	case strings.HasSuffix(policy, "_bst"):
		return "bst"
	case strings.HasSuffix(policy, "_is"):
		return "issuer-serial"
	}
	return "ski"
}
