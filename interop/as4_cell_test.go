package interop

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"edigw/internal/xmltree"
)

// as4Cell is one exchange of the AS4 matrix.
type as4Cell struct {
	*site
	peer      as4Peer
	profile   as4Profile
	terms     as4Terms
	direction direction
	wire      *front // before the peer
}

func (c as4Cell) run(ctx context.Context, t *testing.T) (r result) {
	all := newPapers(t, c.profile.partner(c.peer)+" "+string(c.direction), c.profile)
	if c.direction == toPeer {
		c.out(ctx, t, all, &r)
	} else {
		c.in(ctx, t, all, &r)
	}
	return r
}

// out sends documents to the peer.
func (c as4Cell) out(ctx context.Context, t *testing.T, all papers, r *result) {
	if err := c.handIn(all); err != nil {
		r.add("not taken in: %v", err)
		return
	}
	m, err := c.ending(ctx, c.profile.partner(c.peer))
	if err != nil {
		r.add("%s: %v: %s", m.State, err, m.Detail)
		return
	}
	c.judgeMessage(t, m, r)
	if m.State != "delivered" {
		return
	}
	got, err := c.peer.received(ctx, c.terms, m.MessageID, 0)
	if err != nil {
		r.add("not received: %v", err)
		return
	}
	if got.Signed != c.profile.signed() || got.Encrypted != c.profile.encrypted() {
		r.add("came signed %v, encrypted %v", got.Signed, got.Encrypted)
	}
	if len(got.Payloads) != len(all) {
		r.add("%d payloads", len(got.Payloads))
		return
	}
	for i, p := range got.Payloads {
		c.compareFile(p.File, all[i], r)
		if p.ContentType != all[i].contentType {
			r.add("payload %d has type %q", i+1, p.ContentType)
		}
		if c.profile.fileName && p.Properties["FileName"] != all[i].fileName {
			r.add("file name %q", p.Properties["FileName"])
		}
		compareProperties(p.Properties, c.profile.names(c.peer).partProperties, r)
	}
	compareProperties(got.Properties, c.terms.Properties, r)
	c.judgeWire(c.wire.onWire(t, m.MessageID), all, r)
}

// compareProperties holds those that arrived against those that were settled.
func compareProperties(got, want map[string]string, r *result) {
	for name, value := range want {
		if got[name] != value {
			r.add("property %s is %q", name, got[name])
		}
	}
}

// ending waits for the end of the newest message to a partner.
func (s *site) ending(ctx context.Context, partner string) (m message, err error) {
	err = await(ctx, "the message has its end", func() bool {
		now, found, err := s.sent(ctx, partner)
		if err == nil && found {
			m = now
		}
		return m.ended()
	})
	return m, err
}

// handIn gives the documents to edigw as one message.
func (c as4Cell) handIn(all papers) error {
	args := []string{"send", c.profile.partner(c.peer), all[0].file, "--content-type", all[0].contentType}
	for _, more := range all[1:] {
		args = append(args, "--attach", more.file)
	}
	return c.command(args...)
}

// judgeMessage compares what became of a message with what the profile asks.
func (c as4Cell) judgeMessage(t *testing.T, m message, r *result) {
	t.Logf("%s: %s, proof %q, %s", m.MessageID, m.State, m.Proof, m.Detail)
	var last attempt
	if n := len(m.Attempts); n > 0 {
		last = m.Attempts[n-1]
	}
	t.Logf("last attempt: class %s, status %d, %s, receipt %+v, %s", last.Class, last.Status, last.Detail, last.Ack, last.Head)
	switch ack := last.Ack; {
	case m.State != "delivered" || m.Proof != "receipt":
		r.add("%s, class %s", m.State, last.Class)
		if ack != nil {
			r.add("answer %s", strings.TrimSpace(ack.Verdict+" "+ack.EBMS))
		}
	case ack == nil:
		r.add("no receipt")
	case c.profile.signed() && ack.Signer == "":
		r.add("the receipt is not signed")
	}
	if n := len(m.Attempts); n > 1 && c.profile.receipt != "async" {
		r.add("%d attempts", n)
	}
}

// compareFile holds what arrived against what was sent. Of a payload in the Body
// the canonical XML counts: the rest of a file is not in the message.
func (c as4Cell) compareFile(file string, want paper, r *result) {
	got, err := os.ReadFile(file)
	if err != nil {
		r.add("content: %v", err)
		return
	}
	expected := want.body
	if c.profile.body {
		if got, err = canonical(got); err == nil {
			expected, err = canonical(expected)
		}
		if err != nil {
			r.add("content: %v", err)
			return
		}
	}
	if string(got) != string(expected) {
		r.add("content differs: %s", difference(got, expected))
	}
}

// canonical is the root of an XML document, as it is in any message.
func canonical(b []byte) ([]byte, error) {
	d, err := xmltree.Parse(b, xmltree.Limits{})
	if err != nil {
		return nil, err
	}
	var out strings.Builder
	err = xmltree.Canonical(&out, d.Root(), xmltree.Method{})
	return []byte(out.String()), err
}

// in has the peer send documents to edigw.
func (c as4Cell) in(ctx context.Context, t *testing.T, all papers, r *result) {
	o, err := c.peer.send(ctx, question{Terms: c.terms, Documents: all.forDriver()})
	if err != nil {
		r.add("not sent: %v", err)
		return
	}
	t.Logf("%+v", o)
	c.judgeOutcome(o, r)
	if len(o.Errors) > 0 || o.MessageID == "" {
		return
	}
	if c.profile.receipt == "async" {
		if a, err := c.peer.acknowledged(ctx, c.terms, o.MessageID); err != nil {
			r.add("no receipt: %v", err)
		} else if !a.Receipt || !a.Verified || !a.Equal {
			r.add("receipt %v, its signature verified %v, its digests equal %v: %s", a.Receipt, a.Verified, a.Equal, a.Difference)
		}
	}
	got, err := c.arrived(ctx, c.profile.partner(c.peer), o.MessageID, len(all))
	if err != nil {
		r.add("%v", err)
		return
	}
	if o.Sent != "" { // the peer made something else of it
		if all[0].body, err = os.ReadFile(o.Sent); err != nil {
			r.add("content: %v", err)
		}
	}
	for i, f := range got {
		c.compareFile(f.document, all[i], r)
		if f.ContentType != all[i].contentType {
			r.add("payload %d has type %q", i+1, f.ContentType)
		}
		if c.profile.fileName && f.FileName != all[i].fileName {
			r.add("file name %q", f.FileName)
		}
	}
	c.judgeFacts(got[0], r)
	c.judgeWire(c.front.onWire(t, o.MessageID), all, r)
}

// arrived waits until all files of a message lie in the inbox, in their order.
func (s *site) arrived(ctx context.Context, partner, messageID string, n int) (got []facts, err error) {
	err = await(ctx, fmt.Sprintf("%d files of %s lie in the inbox", n, messageID), func() bool {
		all, err := s.inbox(partner)
		got = make([]facts, n)
		found := 0
		for _, f := range all {
			if f.MessageID != messageID {
				continue
			}
			if _, missing := os.Stat(f.document); missing != nil {
				return false // the facts come first
			}
			if at := max(f.Part-1, 0); at < n {
				got[at] = f
			}
			found++
		}
		return err == nil && found == n
	})
	return got, err
}

// judgeFacts compares what edigw saw with what the peer was to do.
func (c as4Cell) judgeFacts(f facts, r *result) {
	p := c.profile
	if f.Signed != p.signed() || f.Encrypted != p.encrypted() || f.Compressed != !p.plain {
		r.add("came signed %v, encrypted %v, compressed %v", f.Signed, f.Encrypted, f.Compressed)
	}
	if f.Problem != "" {
		r.add("edigw says: %s", f.Problem)
	}
	for name, want := range c.terms.Properties {
		if got := f.property(name); got != want {
			r.add("property %s is %q", name, got)
		}
	}
}

// property is the value of one; empty if there is none.
func (f facts) property(name string) string {
	for _, p := range f.AS4.Properties {
		if p.Name == name {
			return p.Value
		}
	}
	return ""
}

// judgeOutcome looks at what the peer says of edigw's receipt.
func (c as4Cell) judgeOutcome(o as4Outcome, r *result) {
	for _, e := range o.Errors {
		r.add("error %s", e.Code)
	}
	if c.profile.receipt == "async" {
		if o.Receipt {
			r.add("a receipt in the response")
		}
		return
	}
	switch {
	case o.Problem != "":
		r.add("the peer says: %s", o.Problem)
	case !o.Receipt:
		r.add("no receipt")
	case c.profile.signed() && !o.Verified:
		r.add("the receipt's signature is not verified")
	case c.profile.signed() && !o.Equal:
		r.add("the digests differ: %s", o.Difference)
	}
}
