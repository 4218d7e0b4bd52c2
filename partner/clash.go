package partner

import (
	"fmt"
	"slices"

	"edigw/as4"
	"edigw/as4/ebms"
	"edigw/internal/conf"
)

// clash is why a partner cannot be used beside the others.
type clash struct {
	partner           *Partner
	key, reason, hint string
}

// part refuses every partner whose messages could not be told from another's:
// which file is wrong nobody here can know. It reports whether it refused any
// that has not fallen back to its last good settings yet.
func (l *loader) part(loaded []*Partner) (refused bool) {
	for _, c := range slices.Concat(l.sameNames(loaded), l.sameParties(loaded), crowded(loaded)) {
		p := c.partner
		root, _ := conf.Parse("", []byte(p.source))
		// Others may share its Problems: those of last good settings.
		p.Problems = append(slices.Clip(p.Problems), Problem{
			File: l.partnerFile(p.ID), Line: root.LineOf(c.key), Key: c.key, Reason: c.reason, Hint: c.hint,
		})
		refused = refused || !p.Stale
		p.Misconfigured = true
	}
	return refused
}

// sameNames finds partners with the same pair of AS2 names.
func (l *loader) sameNames(loaded []*Partner) (out []clash) {
	holders := make(map[pair][]*Partner)
	for _, p := range loaded {
		if k, ok := p.pair(); ok {
			holders[k] = append(holders[k], p)
		}
	}
	for k, same := range holders {
		for _, p := range same {
			if other := notHim(same, p); other != nil {
				out = append(out, clash{
					p, "as2.id", fmt.Sprintf("%s has the same AS2 names (ours %s, theirs %s): messages could not be told apart", l.partnerFile(other.ID), k.ours, k.theirs),
					"take one of the files out, or agree on another as2.our_id with one of them",
				})
			}
		}
	}
	return out
}

// notHim is the first of some partners who is not p; nil if there is none.
func notHim(list []*Partner, p *Partner) *Partner {
	for _, other := range list {
		if other != p {
			return other
		}
	}
	return nil
}

// told is what a message by AS4 is told by.
type told struct {
	parties
	service                  ebms.Service
	action                   string
	agreed                   bool
	agreement, agreementType string
}

func (k parties) told(c as4.Collaboration) told {
	out := told{parties: k, service: c.Service, action: c.Action}
	if c.Agreement != nil { // its P-Mode's id is a hint that few send
		out.agreed, out.agreement, out.agreementType = true, c.Agreement.Value, c.Agreement.Type
	}
	return out
}

// sameParties finds partners who share an id of theirs and of ours, and do not
// differ in what they send.
func (l *loader) sameParties(loaded []*Partner) (out []clash) {
	holders, any, same := make(map[parties][]*Partner), make(map[parties][]*Partner), make(map[told][]*Partner)
	for _, p := range loaded {
		for _, k := range p.parties() {
			holders[k] = append(holders[k], p)
			if p.AS4.Template.Receive.AnyCollaboration {
				any[k] = append(any[k], p)
			}
			for _, c := range p.AS4.collaborations() {
				if t := k.told(c); !slices.Contains(same[t], p) {
					same[t] = append(same[t], p)
				}
			}
		}
	}
	for _, p := range loaded {
		other, k, why := p.rival(holders, any, same)
		if other == nil {
			continue
		}
		out = append(out, clash{
			p, "as4.to", fmt.Sprintf("%s has the same parties (ours %s, theirs %s)%s: messages could not be told apart", l.partnerFile(other.ID),
				typed(k.ours.Value, k.ours.Type), typed(k.theirs.Value, k.theirs.Type), why),
			"let service, action or agreement differ, or make one file of both with as4.receive.also",
		})
	}
	return out
}

// rival is a partner whose messages could be taken for those of p.
func (p *Partner) rival(holders, any map[parties][]*Partner, same map[told][]*Partner) (other *Partner, k parties, why string) {
	for _, k = range p.parties() {
		if p.AS4.Template.Receive.AnyCollaboration {
			other, why = notHim(holders[k], p), ", and this one takes every service and action"
		} else {
			other, why = notHim(any[k], p), ", and takes every service and action"
		}
		if other != nil {
			return other, k, why
		}
		for _, c := range p.AS4.collaborations() {
			if other = notHim(same[k.told(c)], p); other != nil {
				return other, k, ", service, action and agreement"
			}
		}
	}
	return nil, k, ""
}

// crowded finds those who pull from a channel beyond its bound, and those who
// would show the same login there.
func crowded(loaded []*Partner) (out []clash) {
	type login struct{ mpc, user string }
	pullers, logins := make(map[string]int), make(map[login][]*Partner)
	for _, p := range loaded {
		if p.AS4 == nil || p.Misconfigured || !p.AS4.Pulled() {
			continue
		}
		mpc := ebms.Partition(p.AS4.Template.MPC)
		if pullers[mpc]++; pullers[mpc] > as4.MaxPullers {
			out = append(out, clash{p, "as4.mpc", fmt.Sprintf("%d partners pull from %s already", as4.MaxPullers, mpc), "a channel of their own"})
		}
		if p.AS4.pull != nil {
			k := login{mpc, p.AS4.pull.User}
			logins[k] = append(logins[k], p)
		}
	}
	for k, same := range logins {
		for _, p := range same {
			if other := notHim(same, p); other != nil {
				out = append(out, clash{p, "as4.pull.user", fmt.Sprintf("%s pulls from the same channel as %s: they could not be told apart", k.user, other.ID), "another user, or a channel of their own"})
			}
		}
	}
	return out
}
