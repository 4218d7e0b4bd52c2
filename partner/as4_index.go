package partner

import (
	"slices"
	"strings"
	"time"

	"edigw/as4"
	"edigw/as4/ebms"
)

// longestMPC is the longest name of a channel above which another is looked for:
// whoever may not pull names what he likes.
const longestMPC = 1 << 10

// parties are an id of ours and one of theirs.
type parties struct{ ours, theirs ebms.PartyID }

// parties are the pairs of ids by which messages of the partner are told; a
// misconfigured partner has none.
func (p *Partner) parties() []parties {
	if p.AS4 == nil || p.Misconfigured {
		return nil
	}
	return p.AS4.parties()
}

// parties are the pairs of ids that the file names.
func (a *AS4) parties() (out []parties) {
	for _, ours := range a.Template.From.IDs {
		for _, theirs := range a.Template.To.IDs {
			out = append(out, parties{ours, theirs})
		}
	}
	return out
}

// collaborations are what the partner may send us.
func (a *AS4) collaborations() []as4.Collaboration {
	return append([]as4.Collaboration{a.Template.Collaboration}, a.Template.Receive.Also...)
}

// ByMessage finds the P-Mode in force at now of an inbound message: a partner of
// which one id is among those of its From and one of ours among those of its To,
// and who may send it. Partners may share their ids if they differ in what they
// send. Messages to the test service are everybody's, under no agreement or one of
// his.
//
// The error is as4.ErrNoPMode, or an *as4.MismatchError when the partner is known
// and the rest does not fit: P-Mode and partner are good then. A misconfigured
// partner is not found.
func (s *Snapshot) ByMessage(u *ebms.UserMessage, now time.Time) (as4.PMode, string, error) {
	var candidates []string
	for _, ours := range u.To.IDs {
		for _, theirs := range u.From.IDs {
			candidates = append(candidates, s.byParties[parties{ours, theirs}]...)
		}
	}
	if len(candidates) == 0 {
		return as4.PMode{}, "", as4.ErrNoPMode
	}
	slices.Sort(candidates)
	best, nearest := "", -1
	for _, id := range slices.Compact(candidates) {
		a := s.partners[id].AS4
		if a.Template.Receive.AnyCollaboration {
			best, nearest = id, len(fields)
			break
		}
		for _, c := range a.collaborations() {
			if n := agreeing(c, u); n > nearest {
				best, nearest = id, n
			}
		}
	}
	p := s.partners[best]
	m := s.receivingAS4(p, now)
	switch known := p.AS4.collaborations(); {
	case nearest == len(fields), u.Test() && (u.Agreement == nil || fields[agreed].known(known, u)):
		return m, best, nil
	case u.Test():
		return m, best, fields[agreed].strange(known, u)
	default:
		return m, best, mismatch(known, u)
	}
}

// field is one of those that a collaboration is made of.
type field struct {
	name string
	same func(c as4.Collaboration, u *ebms.UserMessage) bool
	want func(c as4.Collaboration) string
	got  func(u *ebms.UserMessage) string
}

// known reports whether one of some collaborations has it as the message.
func (f field) known(list []as4.Collaboration, u *ebms.UserMessage) bool {
	return slices.ContainsFunc(list, func(c as4.Collaboration) bool { return f.same(c, u) })
}

// strange says that none has.
func (f field) strange(list []as4.Collaboration, u *ebms.UserMessage) *as4.MismatchError {
	return &as4.MismatchError{Code: "EBMS:0001", Field: f.name, Got: f.got(u), Want: wanted(list, f.want)}
}

// agreed is the place of the agreement among fields.
const agreed = 2

// fields are what a collaboration is made of, in the order in which people are
// told of them.
var fields = []field{
	{"Service", func(c as4.Collaboration, u *ebms.UserMessage) bool { return c.Service == u.Service },
		func(c as4.Collaboration) string { return typed(c.Service.Value, c.Service.Type) }, func(u *ebms.UserMessage) string { return typed(u.Service.Value, u.Service.Type) }},
	{"Action", func(c as4.Collaboration, u *ebms.UserMessage) bool { return c.Action == u.Action },
		func(c as4.Collaboration) string { return c.Action }, func(u *ebms.UserMessage) string { return u.Action }},
	{"AgreementRef", func(c as4.Collaboration, u *ebms.UserMessage) bool { return sameAgreement(c.Agreement, u.Agreement) },
		func(c as4.Collaboration) string { return agreementText(c.Agreement) }, func(u *ebms.UserMessage) string { return agreementText(u.Agreement) }},
}

// agreeing is how many fields of a message are as a collaboration has them.
func agreeing(c as4.Collaboration, u *ebms.UserMessage) (n int) {
	for _, f := range fields {
		if f.same(c, u) {
			n++
		}
	}
	return n
}

// mismatch names the first field that is as no collaboration has it, or, if each
// is known by itself, what is left of the nearest.
func mismatch(known []as4.Collaboration, u *ebms.UserMessage) *as4.MismatchError {
	for _, f := range fields {
		if !f.known(known, u) {
			return f.strange(known, u)
		}
	}
	near := slices.MaxFunc(known, func(a, b as4.Collaboration) int { return agreeing(a, u) - agreeing(b, u) })
	for _, f := range fields {
		if !f.same(near, u) {
			return &as4.MismatchError{Code: "EBMS:0010", Field: f.name, Got: f.got(u), Want: f.want(near)}
		}
	}
	return &as4.MismatchError{Code: "EBMS:0010", Field: "Service"}
}

// wanted lists what a field may be.
func wanted(known []as4.Collaboration, want func(as4.Collaboration) string) string {
	var all []string
	for _, c := range known {
		all = append(all, want(c))
	}
	slices.Sort(all)
	all = slices.Compact(all)
	if len(all) == 1 && all[0] == "" {
		return ""
	}
	const most = 5
	text := strings.Join(all[:min(len(all), most)], " or ")
	if len(all) > most {
		text += " or another"
	}
	return text
}

func typed(value, kind string) string {
	if kind == "" {
		return value
	}
	return value + " (type " + kind + ")"
}

func agreementText(a *ebms.AgreementRef) string {
	if a == nil {
		return ""
	}
	return typed(a.Value, a.Type)
}

// sameAgreement compares what was settled with what a message says. None is not
// the same as an empty one. The id of the P-Mode is a hint and compared where we
// have one.
func sameAgreement(settled, said *ebms.AgreementRef) bool {
	if settled == nil || said == nil {
		return settled == said
	}
	return settled.Value == said.Value && settled.Type == said.Type && (settled.PMode == "" || said.PMode == "" || settled.PMode == said.PMode)
}

// ByMPC gives the partners that may pull from a channel, by their ids, with what
// holds at now to know them by: those of the nearest channel that it is, or is a
// sub-channel of (AS4 §3.5); at most as4.MaxPullers. One whose password cannot be
// read is left out; an empty mpc is the default one, which has no sub-channels.
func (s *Snapshot) ByMPC(mpc string, now time.Time) (out []as4.Puller) {
	for _, id := range s.byMPC[s.channel(ebms.Partition(mpc))] {
		p := s.partners[id]
		m := s.receivingAS4(p, now)
		if p.AS4.pull != nil {
			password, err := p.AS4.pull.read("as4.pull.password_file")
			if err != nil {
				continue
			}
			m.PullUser, m.PullPassword = p.AS4.pull.User, password
		}
		out = append(out, as4.Puller{Partner: id, PMode: m})
	}
	return out
}

// channel is the nearest one with pullers that an MPC is, or is below; else the
// MPC itself.
func (s *Snapshot) channel(mpc string) string {
	if s.byMPC[mpc] != nil || len(mpc) > longestMPC {
		return mpc
	}
	for above := mpc; ; {
		i := strings.LastIndexAny(above, "/?#:")
		if i < 0 {
			return mpc
		}
		if above = above[:i]; s.byMPC[above] != nil && above != ebms.DefaultMPC {
			return above
		}
	}
}

// indexAS4 takes up a partner that speaks AS4. Ids come sorted.
func (s *Snapshot) indexAS4(p *Partner) {
	if p.AS4 == nil {
		return
	}
	for _, k := range p.AS4.parties() {
		s.sharing[k]++
	}
	for _, k := range p.parties() {
		s.byParties[k] = append(s.byParties[k], p.ID)
	}
	if !p.Misconfigured && p.AS4.Pulled() {
		mpc := ebms.Partition(p.AS4.Template.MPC)
		s.byMPC[mpc] = append(s.byMPC[mpc], p.ID)
	}
}
