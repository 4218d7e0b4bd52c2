package demo

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestReckon: each kind of loss and repetition is found, and nothing else.
func TestReckon(t *testing.T) {
	t.Parallel()
	one := effect{MessageID: "<1@x>", SHA256: "aa"}
	two := effect{MessageID: "<2@x>", SHA256: "bb"}
	stored := func(e effect, state string) message {
		return message{ID: e.MessageID, MessageID: e.MessageID, Partner: "p", Direction: "out", State: state, SHA256: e.SHA256}
	}
	given := document{partner: "p", sha256: "aa", accepted: true}
	for name, c := range map[string]struct {
		given    []document
		store    []message
		business []effect
		want     [2]int // lost, duplicated
	}{
		"delivered and booked":                 {[]document{given}, []message{stored(one, "delivered")}, []effect{one}, [2]int{0, 0}},
		"dead and not booked":                  {[]document{given}, []message{stored(one, "dead")}, nil, [2]int{0, 0}},
		"dead and booked: nobody knew":         {[]document{given}, []message{stored(one, "dead")}, []effect{one}, [2]int{0, 0}},
		"still under way":                      {[]document{given}, []message{stored(one, "waiting")}, nil, [2]int{0, 0}},
		"taken and not stored":                 {[]document{given}, nil, nil, [2]int{1, 0}},
		"not taken and not stored":             {[]document{{partner: "p", sha256: "aa"}}, nil, nil, [2]int{0, 0}},
		"stored for somebody else":             {[]document{{partner: "q", sha256: "aa", accepted: true}}, []message{stored(one, "delivered")}, []effect{one}, [2]int{1, 0}},
		"delivered and not booked":             {nil, []message{stored(one, "delivered")}, nil, [2]int{1, 0}},
		"delivered, other content booked":      {nil, []message{stored(one, "delivered")}, []effect{{MessageID: one.MessageID, SHA256: "zz"}}, [2]int{2, 0}},
		"booked and unknown to the store":      {nil, nil, []effect{two}, [2]int{1, 0}},
		"booked twice under one Message-ID":    {nil, []message{stored(one, "delivered")}, []effect{one, one}, [2]int{0, 1}},
		"booked twice under other Message-IDs": {nil, []message{stored(one, "delivered"), stored(effect{"<3@x>", "aa"}, "delivered")}, []effect{one, {"<3@x>", "aa"}}, [2]int{0, 1}},
		"refused at the door":                  {nil, []message{stored(one, "refused")}, nil, [2]int{0, 0}},
		"inbound is not ours to count":         {nil, []message{{ID: "i", Direction: "in", State: "delivered"}}, nil, [2]int{0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := view{messages: map[string]message{}}
			for _, m := range c.store {
				v.messages[m.ID] = m
			}
			a, faults := reckon(c.given, v, map[string][]effect{"p": c.business})
			if diff := cmp.Diff(c.want, [2]int{a.lost, a.duplicated}); diff != "" {
				t.Errorf("lost, duplicated: %s\n%v", diff, faults)
			}
			if len(faults) != a.lost+a.duplicated {
				t.Errorf("%d faults told of %d", len(faults), a.lost+a.duplicated)
			}
		})
	}
}

func TestAccountCountsTheTimeline(t *testing.T) {
	t.Parallel()
	v := view{
		messages: map[string]message{
			"1": {Direction: "out", State: "delivered", Timeline: []event{{Type: "accepted"}, {Type: "retry"}, {Type: "retry"}, {Type: "dead"}, {Type: "replay"}, {Type: "delivered"}}},
			"2": {Direction: "out", State: "dead", Timeline: []event{{Type: "dead"}}},
			"3": {Direction: "in", State: "delivered", Timeline: []event{{Type: "dead"}}},
		},
		outages: map[string]outage{"OUT-1": {}},
	}
	var a account
	a.count(v)
	want := "demo: delivered=1 dead=2 retried=2 opened=1 alerts=0 replayed=1 lost=0 duplicated=0"
	if a.String() != want {
		t.Errorf("got  %s\nwant %s", a, want)
	}
}

// TestBalanceAddsUp: whatever became of the documents, the terms are all of
// them.
func TestBalanceAddsUp(t *testing.T) {
	t.Parallel()
	v := view{messages: map[string]message{}}
	for id, m := range map[string]message{
		"1": {State: "delivered"}, "2": {State: "delivered", Letters: []letter{{Status: "closed", ClosedAs: "delivered"}}},
		"3": {State: "dead", Letters: []letter{{Status: "closed", ClosedAs: "failed-again"}, {Status: "open"}}},
		"4": {State: "waiting"}, "5": {State: "sending", Letters: []letter{{Status: "replaying"}}}, "6": {State: "discarded", Letters: []letter{{Status: "closed", ClosedAs: "discarded"}}},
		"7": {State: "refused"},
	} {
		m.Direction = "out"
		v.messages[id] = m
	}
	v.messages["8"] = message{Direction: "in", State: "delivered"}
	want := []string{
		"6 documents accepted = 2 delivered + 1 not delivered + 2 under way + 1 discarded.",
		"5 dead letters made on the way = 1 delivered by a replay + 0 delivered by a late receipt + 1 discarded + 1 failed again + 1 being replayed + 1 open.",
	}
	if diff := cmp.Diff(want, balance(v)); diff != "" {
		t.Error(diff)
	}
}

func TestChecklist(t *testing.T) {
	t.Parallel()
	var c checklist
	c.expect("a", "b", "c")
	c.seen("b")
	c.seen("nobody asked")
	if got := c.missing(); got != "a; c" {
		t.Errorf("missing: %q", got)
	}
	c.seen("a")
	c.seen("c")
	if got := c.missing(); got != "" {
		t.Errorf("missing: %q", got)
	}
}
