package dlq

import (
	"errors"
	"testing"
	"time"

	"edigw/breaker"
	"edigw/fault"
	"edigw/queue"
	"github.com/google/go-cmp/cmp"
)

func TestAssess(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	type set struct {
		l *queue.Letter
		m *queue.Message
		f *Facts
	}
	cases := map[string]struct {
		change  func(set)
		refused bool
		codes   []Code
	}{
		"one that was never tried needs no word": {},
		"running":                                {change: func(s set) { s.f.Running = true }, refused: true},
		"replaying already":                      {change: func(s set) { s.l.Status = queue.LetterReplaying }, refused: true},
		"closed":                                 {change: func(s set) { s.l.Status = queue.LetterClosed }, refused: true},
		"inbound":                                {change: func(s set) { s.l.Direction = queue.In }, refused: true},
		"settings file gone":                     {change: func(s set) { s.f.Known = false }, refused: true},
		"uncertain letter":                       {change: func(s set) { s.l.Uncertain = true }, codes: []Code{PossibleDuplicate}},
		"uncertain message":                      {change: func(s set) { s.m.Uncertain = true }, codes: []Code{PossibleDuplicate}},
		"tried, and they no longer remember it":  {change: func(s set) { s.m.Total, s.m.FirstFailure = 1, t0.Add(-8*day) }, codes: []Code{PossibleDuplicate}},
		"tried, and they remember it":            {change: func(s set) { s.m.Total, s.m.FirstFailure = 1, t0.Add(-6*day) }},
		"old, but never tried":                   {change: func(s set) { s.m.Accepted = t0.Add(-8 * day) }},
		"tried, they never remember, no doubt":   {change: func(s set) { s.m.Total, s.m.FirstFailure, s.f.Duplicates = 1, t0.Add(-8*day), 0 }},
		"parked":                                 {change: func(s set) { s.m.Parked, s.l.Reason = true, fault.ReasonChangedContent }, codes: []Code{ChangedContent}},
		"overtaken, first in first out":          {change: func(s set) { s.l.Overtaken, s.f.FIFO = true, true }, codes: []Code{Overtaken}},
		"overtaken, no order":                    {change: func(s set) { s.l.Overtaken = true }},
		"past the caller's deadline":             {change: func(s set) { s.m.DeadlineGiven, s.m.DeliverBy = true, t0.Add(-1) }, codes: []Code{Overdue}},
		"past the partner's own deadline":        {change: func(s set) { s.m.DeliverBy = t0.Add(-1) }},
		"before the deadline":                    {change: func(s set) { s.m.DeadlineGiven, s.m.DeliverBy = true, t0.Add(1) }},
		"window closed":                          {change: func(s set) { s.f.Window = false }, codes: []Code{OutsideWindow}},
		"breaker open":                           {change: func(s set) { s.f.Phase = breaker.Open }, codes: []Code{BreakerWait, BreakerProbe}},
		"breaker being tested":                   {change: func(s set) { s.f.Phase = breaker.HalfOpen }, codes: []Code{BreakerWait, BreakerProbe}},
		"answering: it is the test anyway":       {change: func(s set) { s.f.Phase, s.f.Answering = breaker.HalfOpen, true }},
		"several, in the order of Codes": {change: func(s set) {
			s.f.Phase, s.f.Window, s.l.Uncertain = breaker.Open, false, true
		}, codes: []Code{PossibleDuplicate, OutsideWindow, BreakerWait, BreakerProbe}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := queue.Message{ID: "m1", State: queue.Dead, Letter: "l1", Accepted: t0.Add(-time.Hour)}
			l := queue.Letter{ID: "l1", Message: "m1", Status: queue.LetterOpen, Direction: queue.Out, Reason: fault.ReasonCircuitOpen}
			f := Facts{Known: true, Window: true, Phase: breaker.Closed, Duplicates: 7 * day}
			if c.change != nil {
				c.change(set{&l, &m, &f})
			}
			got := Assess(l, m, f, t0)
			if (got.Refused != "") != c.refused {
				t.Errorf("refused %q, want %v", got.Refused, c.refused)
			}
			if d := cmp.Diff(c.codes, got.Codes); d != "" {
				t.Errorf("codes (-want +got)\n%s", d)
			}
		})
	}
}

func TestEitherBreakerCodeIsEnough(t *testing.T) {
	t.Parallel()
	a := Assessment{Codes: []Code{Overdue, BreakerWait, BreakerProbe}}
	for _, c := range []struct {
		confirm, missing []Code
		test             bool
	}{
		{nil, a.Codes, false},
		{[]Code{Overdue}, []Code{BreakerWait, BreakerProbe}, false},
		{[]Code{Overdue, BreakerWait}, nil, false},
		{[]Code{Overdue, BreakerProbe}, nil, true},
		{[]Code{Overdue, BreakerProbe, BreakerWait}, nil, false},
	} {
		if d := cmp.Diff(c.missing, a.Missing(c.confirm)); d != "" {
			t.Errorf("confirmed %v: missing (-want +got)\n%s", c.confirm, d)
		}
		if asTest(c.confirm) != c.test {
			t.Errorf("confirmed %v: as the test %v, want %v", c.confirm, !c.test, c.test)
		}
	}
}

func TestUnknownCodeNamesItsField(t *testing.T) {
	t.Parallel()
	if codes, err := ParseCodes("confirm", []string{"overdue", "breaker-wait"}); err != nil || len(codes) != 2 {
		t.Errorf("got %v, %v", codes, err)
	}
	_, err := ParseCodes("skip", []string{"overdue", "nonsense"})
	var in *InputError
	if !errors.As(err, &in) || in.Field != "skip" {
		t.Errorf("got %v, want an InputError about skip", err)
	}
}
