package demo

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"edigw/queue"
)

// account is what a demo comes to.
type account struct {
	delivered  int // messages that the store calls delivered
	dead       int // letters that were opened
	retried    int
	opened     int // outages
	alerts     int // mails and posts that arrived
	replayed   int
	lost       int
	duplicated int
}

// String is the last line of a demo.
func (a account) String() string {
	return fmt.Sprintf("demo: delivered=%d dead=%d retried=%d opened=%d alerts=%d replayed=%d lost=%d duplicated=%d",
		a.delivered, a.dead, a.retried, a.opened, a.alerts, a.replayed, a.lost, a.duplicated)
}

// reckon compares what was handed in, what the store says and what each
// partner's own record says. faults tells every document that is lost or
// duplicated.
//
// Lost is a document that was taken and is not in the store; one that the
// store calls delivered and its partner does not have; one that a partner has
// and the store does not know. Duplicated is one that had its effect at a
// partner more than once, by Message-ID or by content.
func reckon(given []document, v view, business map[string][]effect) (a account, faults []string) {
	a.count(v)
	held := map[string]map[effect]bool{}
	for partner, effects := range business {
		held[partner] = map[effect]bool{}
		ids, contents := map[string]bool{}, map[string]bool{}
		for _, e := range effects {
			if ids[e.MessageID] || contents[e.SHA256] {
				a.duplicated++
				faults = append(faults, fmt.Sprintf("duplicated: %s took %s again", partner, e.MessageID))
			}
			ids[e.MessageID], contents[e.SHA256], held[partner][e] = true, true, true
		}
	}
	lost := func(format string, args ...any) {
		a.lost++
		faults = append(faults, fmt.Sprintf("lost: "+format, args...))
	}
	stored := map[string]bool{}           // partner and content
	known := map[string]map[effect]bool{} // partner, then what it may hold
	for _, id := range slices.Sorted(maps.Keys(v.messages)) {
		m := v.messages[id]
		if m.Direction != string(queue.Out) || queue.State(m.State) == queue.Refused {
			continue
		}
		e := effect{MessageID: m.MessageID, SHA256: m.SHA256}
		stored[m.Partner+" "+m.SHA256] = true
		if known[m.Partner] == nil {
			known[m.Partner] = map[effect]bool{}
		}
		known[m.Partner][e] = true
		if queue.State(m.State) == queue.Delivered && !held[m.Partner][e] {
			lost("%s is delivered to %s, which does not have it", m.title(), m.Partner)
		}
	}
	for _, d := range given {
		if d.accepted && !stored[d.partner+" "+d.sha256] {
			lost("%s was taken for %s and is not in the store", d.reference, d.partner)
		}
	}
	for _, partner := range slices.Sorted(maps.Keys(business)) {
		for _, e := range business[partner] {
			if !known[partner][e] {
				lost("%s has %s, which the store does not know", partner, e.MessageID)
			}
		}
	}
	return a, faults
}

// balance adds up what became of the documents, and of the letters that were
// made on the way: two sums that a reader can check.
func balance(v view) []string {
	states, ends := map[string]int{}, map[string]int{}
	documents, letters := 0, 0
	for _, m := range v.messages {
		if m.Direction != string(queue.Out) || m.State == string(queue.Refused) {
			continue
		}
		documents++
		switch queue.State(m.State) {
		case queue.Delivered, queue.Dead, queue.Discarded, queue.Superseded:
			states[m.State]++
		default:
			states["under way"]++
		}
		for _, l := range m.Letters {
			letters++
			ends[cmp.Or(l.ClosedAs, l.Status)]++
		}
	}
	return []string{
		fmt.Sprintf("%d documents accepted = %s.", documents, sum(states, [][2]string{
			{"delivered", "delivered"}, {"dead", "not delivered"}, {"under way", "under way"}, {"discarded", "discarded"}, {"superseded", "replaced"},
		})),
		fmt.Sprintf("%d dead letters made on the way = %s.", letters, sum(ends, [][2]string{
			{"delivered", "delivered by a replay"}, {"delivered-late", "delivered by a late receipt"}, {"confirmed", "closed on the partner's word"},
			{"discarded", "discarded"}, {"superseded", "replaced"}, {"withdrawn", "withdrawn"}, {"failed-again", "failed again"},
			{"replaying", "being replayed"}, {"open", "open"},
		})),
	}
}

// sum writes counts as a sum, each with its words; those that are 0 are left
// out, the first two excepted.
func sum(counts map[string]int, parts [][2]string) string {
	var terms []string
	for i, p := range parts {
		if n := counts[p[0]]; n > 0 || i < 2 {
			terms = append(terms, fmt.Sprintf("%d %s", n, p[1]))
		}
	}
	return strings.Join(terms, " + ")
}

// count adds up what the store says.
func (a *account) count(v view) {
	a.opened = len(v.outages)
	for _, m := range v.messages {
		if m.Direction != string(queue.Out) {
			continue
		}
		if queue.State(m.State) == queue.Delivered {
			a.delivered++
		}
		for _, e := range m.Timeline {
			switch queue.EventType(e.Type) {
			case queue.EventRetry:
				a.retried++
			case queue.EventReplay:
				a.replayed++
			case queue.EventDead:
				a.dead++
			}
		}
	}
}
