package queue

import (
	"testing"

	"edigw/edi"
	"edigw/fault"
)

func TestAdmit(t *testing.T) {
	t.Parallel()
	type edition struct {
		state     State
		uncertain bool
		parked    bool
		sha       string
		given     string // value of a property
	}
	cases := map[string]struct {
		earlier []edition
		given   bool
		problem bool
		backlog Backlog
		want    Admitted
		n       int
		state   State
		gone    int // editions superseded
	}{
		"first":                                      {want: AdmitNew, state: Queued},
		"same content again":                         {earlier: []edition{{state: Delivered, sha: "new"}}, want: AdmitReplayed},
		"same content as an older edition":           {earlier: []edition{{state: Superseded, sha: "new"}, {state: Delivered, sha: "b"}}, want: AdmitReplayed},
		"given key, other content":                   {earlier: []edition{{state: Queued, sha: "a"}}, given: true, want: AdmitReused},
		"corrected while queued":                     {earlier: []edition{{state: Queued, sha: "a"}}, want: AdmitNew, n: 1, state: Queued, gone: 1},
		"corrected while a letter":                   {earlier: []edition{{state: Dead, sha: "a"}}, want: AdmitNew, n: 1, state: Queued, gone: 1},
		"corrected while uncertain":                  {earlier: []edition{{state: Waiting, uncertain: true, sha: "a"}}, want: AdmitParked, n: 1, state: Dead},
		"corrected while sending":                    {earlier: []edition{{state: Sending, sha: "a"}}, want: AdmitParked, n: 1, state: Dead},
		"corrected after delivery":                   {earlier: []edition{{state: Delivered, sha: "a"}}, want: AdmitParked, n: 1, state: Dead},
		"corrected after a discard":                  {earlier: []edition{{state: Discarded, sha: "a"}}, want: AdmitNew, n: 1, state: Queued},
		"a parked one is replaced by a parked one":   {earlier: []edition{{state: Delivered, sha: "a"}, {state: Dead, parked: true, sha: "b"}}, want: AdmitParked, n: 2, state: Dead, gone: 1},
		"other properties, given key":                {earlier: []edition{{state: Queued, sha: "new", given: "other"}}, given: true, want: AdmitReused},
		"other properties while queued":              {earlier: []edition{{state: Queued, sha: "new", given: "other"}}, want: AdmitNew, n: 1, state: Queued, gone: 1},
		"other properties after delivery":            {earlier: []edition{{state: Delivered, sha: "new", given: "other"}}, want: AdmitParked, n: 1, state: Dead},
		"properties of an older edition again":       {earlier: []edition{{state: Superseded, sha: "new"}, {state: Delivered, sha: "new", given: "other"}}, want: AdmitReplayed},
		"backlog of messages full":                   {backlog: Backlog{Messages: 3}, want: AdmitFull},
		"backlog of bytes full":                      {backlog: Backlog{Bytes: 1009}, want: AdmitFull},
		"a repeat is answered in spite of backlog":   {backlog: Backlog{Messages: 3}, earlier: []edition{{state: Queued, sha: "new"}}, want: AdmitReplayed},
		"a failed envelope check is a letter":        {problem: true, want: AdmitNew, state: Dead},
		"a failed check leaves no room for parking":  {problem: true, earlier: []edition{{state: Delivered, sha: "a"}}, want: AdmitParked, n: 1, state: Dead},
		"dead on arrival beside one that waits":      {problem: true, earlier: []edition{{state: Waiting, sha: "a"}}, want: AdmitParked, n: 1, state: Dead},
		"dead on arrival beside one that is queued":  {problem: true, earlier: []edition{{state: Queued, sha: "a"}}, want: AdmitParked, n: 1, state: Dead},
		"dead on arrival beside an open letter":      {problem: true, earlier: []edition{{state: Dead, sha: "a"}}, want: AdmitParked, n: 1, state: Dead},
		"dead on arrival after a discard":            {problem: true, earlier: []edition{{state: Discarded, sha: "a"}}, want: AdmitNew, n: 1, state: Dead},
		"dead on arrival beside another one":         {problem: true, earlier: []edition{{state: Waiting, sha: "a"}, {state: Dead, parked: true, sha: "b"}}, want: AdmitParked, n: 2, state: Dead},
		"a good one replaces all that were not sent": {earlier: []edition{{state: Waiting, sha: "a"}, {state: Dead, parked: true, sha: "b"}}, want: AdmitNew, n: 2, state: Queued, gone: 2},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var earlier []Edition
			for i, e := range c.earlier {
				m := Message{ID: "old", Partner: "northwind", Key: "k", Edition: i, State: e.state, Uncertain: e.uncertain, Parked: e.parked, Payload: Payload{SHA256: e.sha, Size: 10}}
				if e.given != "" {
					m.Properties.Part = []Property{{"type", e.given}}
				}
				ed := Edition{Message: m}
				if e.state == Dead {
					ed.Message.Letter = "l"
					ed.Letter = &Letter{ID: "l", Status: LetterOpen}
				}
				earlier = append(earlier, ed)
			}
			a := Arrival{
				Message:  Message{ID: "new", Partner: "northwind", Lane: "northwind", Key: "k", KeyGiven: c.given, Payload: Payload{SHA256: "new", Size: 10}},
				Identity: Identity{From: "ACME", To: "NORTHWIND", Domain: "edi.acme.example", Brackets: true},
				Backlog:  c.backlog, Now: t0, LetterID: "l1",
			}
			if c.problem {
				a.Problem = &edi.Problem{Text: "SE01 says 24, counted 23 (segment 25)"}
			}
			got, err := Admit(a, earlier, Backlog{Messages: 3, Bytes: 1000})
			if err != nil {
				t.Fatal(err)
			}
			if got.Outcome != c.want {
				t.Fatalf("outcome %s, want %s", got.Outcome, c.want)
			}
			if c.state == "" {
				return
			}
			m := got.Message
			if m.State != c.state || m.Edition != c.n || m.MessageID != a.Identity.MessageID("k", c.n) {
				t.Errorf("message %s edition %d id %s", m.State, m.Edition, m.MessageID)
			}
			if gone := len(got.Results) - 1; gone != c.gone {
				t.Errorf("%d editions superseded, want %d", gone, c.gone)
			}
			if len(got.Supersedes) != c.gone || m.Parked != (c.want == AdmitParked) {
				t.Errorf("supersedes %v, parked %v", got.Supersedes, m.Parked)
			}
			for _, r := range got.Results[:c.gone] {
				if e := r.Events[len(r.Events)-1]; e.Type != EventSuperseded || e.Facts["next"] != "new" || e.Text != "replaced by edition new" {
					t.Errorf("event of the superseded one: %+v", e)
				}
			}
			opened := got.Results[len(got.Results)-1].Opened
			switch {
			case c.problem && opened.Reason != fault.ReasonFormat, !c.problem && c.want == AdmitParked && opened.Reason != fault.ReasonChangedContent:
				t.Errorf("letter %+v", opened)
			}
		})
	}
}

// The formula is a promise to partners: it must never change (delivery.md §3).
func TestMessageIDIsFixed(t *testing.T) {
	t.Parallel()
	i := Identity{From: "ACME-AS2", To: "NORTHWIND", Domain: "edi.acme.example", Brackets: true}
	const want = "<6vv6udijcvmi5xq4bnoibba2g66mwsox@edi.acme.example>"
	if got := i.MessageID("INV-20931", 0); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if i.MessageID("INV-20931", 1) == i.MessageID("INV-20931", 0) {
		t.Error("editions share an id")
	}
}
