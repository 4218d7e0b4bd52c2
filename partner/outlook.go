package partner

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"edigw/fault"
	"edigw/internal/conf"
)

// Outlook is the problems of the files and, as mistakes, what keeps every
// document of a partner from working at now although the files are well formed:
// keys and certificates that are needed and of which none is in force. They do
// not make a partner misconfigured, since time alone makes them: what does not
// need them goes on.
func (s *Snapshot) Outlook(now time.Time) []Problem {
	o := outlook{s: s, now: now, ours: map[string][]string{}}
	for _, id := range s.ids {
		p := s.partners[id]
		if p.Misconfigured || p.AS2 == nil && p.AS4 == nil || p.Stage == StageSetup || p.Stage == StageRetired {
			continue
		}
		o.of(p)
	}
	for _, why := range o.whys {
		o.found = append(o.found, Problem{
			File: s.below.rest.File, Line: s.root.LineOf("keys"), Key: "keys", Reason: why + ": " + some(o.ours[why]),
			Hint: "take the next one into use: edigw cert import edigw FILE; edigw cert new makes one",
		})
	}
	out := slices.DeleteFunc(slices.Clone(s.problems), o.said)
	out = append(out, o.found...)
	conf.Sort(out)
	return out
}

// outlook gathers what does not work.
type outlook struct {
	s     *Snapshot
	now   time.Time
	found []Problem
	whys  []string            // what is missing of our own keys
	ours  map[string][]string // by that, whom it concerns
}

// said reports whether a warning says no more than what was found.
func (o *outlook) said(p Problem) bool {
	return p.Warning && strings.Contains(p.Reason, noneInForce) && slices.ContainsFunc(o.found, func(f Problem) bool { return f.File == p.File && f.Key == p.Key })
}

// of looks at one partner.
func (o *outlook) of(p *Partner) {
	const sending, receiving = "every document to them becomes a dead letter", "every message of theirs is refused"
	var n needs
	if p.AS4 != nil {
		n = o.s.needsAS4(p, o.now)
	} else {
		n = o.s.needsAS2(p, o.now)
	}
	for _, err := range n.lacking {
		o.note(p, err, sending)
	}
	if x, err := o.s.Transport(p.ID, func() time.Time { return o.now }); err != nil {
		o.note(p, err, sending)
	} else if x.Client != nil {
		_, err := x.Client()
		o.note(p, err, "every connection to them fails")
	}
	if n.opener {
		o.note(p, missing("keys", "our key to decrypt", fault.CauseKey, n.opening, o.now), receiving)
	}
	if n.signer {
		o.note(p, p.certificates.missingSigner(o.now), receiving)
	}
	if c := p.certificates.clients(o.now); c != nil && len(c) == 0 {
		o.note(p, missing("tls.inbound", "the partner's client certificate", fault.CauseBuild, p.certificates.inbound, o.now), receiving)
	}
}

// needs is what a partner's protocol lacks at a time.
type needs struct {
	lacking []error // that sending needs, each a *fault.SettingError
	opening []term  // our keys that may decrypt
	opener  bool    // their messages must be encrypted, and nothing opens them
	signer  bool    // their messages must be signed, and nothing verifies them
}

func (s *Snapshot) needsAS2(p *Partner, now time.Time) needs {
	a := s.receiving(p, now)
	return needs{
		lacking: s.lacking(p, a, now), opening: termsOf(forAS2(s.own, UseDecrypt)),
		opener: a.Receive.Encrypted && len(a.Decrypt) == 0, signer: a.Receive.Signed && len(a.Verify) == 0,
	}
}

func (s *Snapshot) needsAS4(p *Partner, now time.Time) needs {
	m := s.receivingAS4(p, now)
	return needs{
		lacking: s.lackingAS4(p, m, now), opening: ownTerms(s.own, UseDecrypt),
		opener: m.Receive.Encrypted && len(m.Decrypt) == 0, signer: m.Receive.Signed && !verifiable(m),
	}
}

// note takes up an error of a setting: each key of a file once, and our own keys
// once for all partners.
func (o *outlook) note(p *Partner, err error, follows string) {
	var e *fault.SettingError
	if !errors.As(err, &e) {
		return
	}
	if e.Key == "keys" {
		if _, known := o.ours[e.Why]; !known {
			o.whys = append(o.whys, e.Why)
		}
		o.ours[e.Why] = append(o.ours[e.Why], p.ID)
		return
	}
	file := o.s.file(p.ID)
	if slices.ContainsFunc(o.found, func(f Problem) bool { return f.File == file && f.Key == e.Key }) {
		return
	}
	root, _ := conf.Parse("", []byte(p.source))
	o.found = append(o.found, Problem{
		File: file, Line: root.LineOf(e.Key), Key: e.Key, Reason: e.Why + ": " + follows,
		Hint: "get the successor from its owner, then edigw cert import " + p.ID + " FILE",
	})
}

// some names the first of some partners that a missing key of ours concerns.
func some(ids []string) string {
	const most = 5
	text := strings.Join(ids[:min(len(ids), most)], ", ")
	if n := len(ids) - most; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return "nothing that needs it works with " + text
}
