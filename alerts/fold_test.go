package alerts

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"edigw/breaker"
	"edigw/partner"
	"edigw/queue"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var (
	t0   = time.Date(2026, 12, 1, 1, 10, 4, 0, time.UTC)
	pace = Pace{Wait: 30 * time.Second, Repeat: 4 * time.Hour}
)

func event(t queue.EventType, id string, facts ...string) queue.Event {
	e := queue.Event{At: t0, Type: t, Partner: id, Lane: id, Text: "said"}
	for i := 0; i+1 < len(facts); i += 2 {
		if e.Facts == nil {
			e.Facts = map[string]string{}
		}
		e.Facts[facts[i]] = facts[i+1]
	}
	return e
}

func ofOut(id string, e queue.Event) queue.Event { e.Outage = id; return e }

func TestEventsOpenTheIncidentsOfTheTable(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		events []queue.Event
		want   []string // key and severity
	}{
		"outage is a page":                              {[]queue.Event{ofOut("OUT-1", event(queue.EventBreakerOpened, "a"))}, []string{"outage/*/OUT-1 page"}},
		"tripped by an operator is none":                {[]queue.Event{event(queue.EventBreakerOpened, "a")}, nil},
		"its letters are the outage's":                  {[]queue.Event{ofOut("OUT-1", event(queue.EventDead, "a", "reason", "circuit-open"))}, []string{"outage/*/OUT-1 page"}},
		"a letter is a ticket by reason":                {[]queue.Event{event(queue.EventDead, "a", "reason", "rejected", "cause", "")}, []string{"letters/a/rejected ticket"}},
		"a letter is a ticket by cause":                 {[]queue.Event{event(queue.EventDead, "a", "reason", "signature", "cause", "decryption-failed")}, []string{"letters/a/decryption-failed ticket"}},
		"needs-fix joins the letters of its cause":      {[]queue.Event{event(queue.EventDead, "a", "reason", "signature", "cause", "decryption-failed"), event(queue.EventLaneNeedsFix, "a", "cause", "decryption-failed")}, []string{"letters/a/decryption-failed ticket"}},
		"causes and partners stay apart":                {[]queue.Event{event(queue.EventDead, "a", "reason", "rejected"), event(queue.EventDead, "b", "reason", "rejected"), event(queue.EventDead, "a", "reason", "format")}, []string{"letters/a/rejected ticket", "letters/b/rejected ticket", "letters/a/format ticket"}},
		"our own network is a page, of no partner":      {[]queue.Event{event(queue.EventIsolated, "a")}, []string{"isolated/*/ page"}},
		"misconfigured is a ticket":                     {[]queue.Event{event(queue.EventMisconfig, "a")}, []string{"settings/a/ ticket"}},
		"orphaned is a ticket":                          {[]queue.Event{event(queue.EventLaneOrphaned, "a")}, []string{"orphaned/a/ ticket"}},
		"blocked is a ticket":                           {[]queue.Event{event(queue.EventLaneBlocked, "a")}, []string{"blocked/a/ ticket"}},
		"store trouble is a page":                       {[]queue.Event{event(queue.EventStoreBroken, "")}, []string{"store/*/ page"}},
		"no room is a page of its own":                  {[]queue.Event{event(queue.EventStoreBroken, "", "what", "room"), event(queue.EventStoreBroken, "")}, []string{"store/*/room page", "store/*/ page"}},
		"a failing channel is a page":                   {[]queue.Event{event(queue.EventChannel, "", "channel", "mail", "state", "failing")}, []string{"channel/*/mail page"}},
		"a channel that works opens nothing":            {[]queue.Event{event(queue.EventChannel, "", "channel", "mail", "state", "ok")}, nil},
		"one key for two documents is a ticket":         {[]queue.Event{event(queue.EventKeyReused, "a"), event(queue.EventKeyReused, "a")}, []string{"key-reused/a/ ticket"}},
		"a first deadline near is a page":               {[]queue.Event{event(EventDeadlineNear, "a")}, []string{"deadline/a/ page"}},
		"a certificate is a ticket":                     {[]queue.Event{event(EventCertEnds, "a", "id", "encrypt/9A")}, []string{"certificate/a/encrypt/9A ticket"}},
		"dlq health is a ticket":                        {[]queue.Event{event(queue.EventDLQHealth, "")}, []string{"dlq-health/*/ ticket"}},
		"a duplicate answer is info":                    {[]queue.Event{event(queue.EventDelivered, "a", "proof", "duplicate-answer")}, []string{"duplicate/a/ info"}},
		"a delivery is nothing":                         {[]queue.Event{event(queue.EventDelivered, "a", "proof", "receipt")}, nil},
		"warn-by and overdue are tickets":               {[]queue.Event{event(queue.EventWarnBy, "a"), event(queue.EventOverdue, "a")}, []string{"warn-by/a/ ticket", "overdue/a/ ticket"}},
		"contradicting receipts are a ticket":           {[]queue.Event{event(queue.EventAckConflict, "a")}, []string{"contradiction/a/ ticket"}},
		"a receipt without evidence is a ticket":        {[]queue.Event{event(queue.EventEvidenceLost, "a")}, []string{"evidence/a/ ticket"}},
		"fetching that fails is a ticket":               {[]queue.Event{event(queue.EventFetchFailed, "a", "why", "refused"), event(queue.EventFetchFailed, "a", "why", "refused")}, []string{"fetch/a/ ticket"}},
		"fetching that works opens nothing":             {[]queue.Event{event(queue.EventFetchWorks, "a")}, nil},
		"lock-outs of all names are one ticket":         {[]queue.Event{event(queue.EventSignIn, "", "user", "kim", "locked", "true"), event(queue.EventSignIn, "", "user", "root", "locked", "true")}, []string{"lock-out/*/ ticket"}},
		"a sign-in is nothing":                          {[]queue.Event{event(queue.EventSignIn, "")}, nil},
		"an operator's stop is nothing":                 {[]queue.Event{event(queue.EventLaneStopped, "a")}, nil},
		"a defect and a restore are tickets":            {[]queue.Event{event(queue.EventDefect, ""), event(queue.EventRestored, "")}, []string{"defect/*/ ticket", "restored/*/ ticket"}},
		"a late refusal moves the letter to its reason": {[]queue.Event{event(queue.EventLetterChanged, "a", "reason", "rejected")}, []string{"letters/a/rejected ticket"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, touched := Fold(Book{}, c.events, pace, t0)
			var got []string
			for _, in := range b.Incidents {
				got = append(got, in.Key+" "+string(in.Severity))
				if !touched[in.Key] {
					t.Errorf("%s is not looked at", in.Key)
				}
				if in.News != NewsOpened || !in.Due.Equal(t0.Add(30*time.Second)) {
					t.Errorf("%s: news %q due %v, want opened after the group wait", in.Key, in.News, in.Due)
				}
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("-want +got\n%s", d)
			}
		})
	}
}

func TestThousandLettersAreOneIncident(t *testing.T) {
	t.Parallel()
	var events []queue.Event
	for i := range 1000 {
		e := event(queue.EventDead, "a", "reason", "rejected")
		e.ID = int64(i + 1)
		events = append(events, e)
	}
	b, _ := Fold(Book{}, events, pace, t0)
	if len(b.Incidents) != 1 || b.Incidents[0].Events != 1000 || b.State.Cursor != 1000 || b.State.Tally.Dead != 1000 {
		t.Errorf("%d incidents, %+v", len(b.Incidents), b.State)
	}
}

// When our own network works again, lanes get the group wait to take back what
// it did to them before anybody is told of that.
func TestTheEndOfAnIsolationGivesGrace(t *testing.T) {
	t.Parallel()
	now := t0.Add(10 * time.Minute)
	due := now.Add(time.Second)
	grace := now.Add(pace.Wait)
	for name, c := range map[string]struct {
		kind Kind
		told int
		want time.Time
	}{
		"an outage nobody was told of":       {KindOutage, 0, grace},
		"letters nobody was told of":         {KindLetters, 0, grace},
		"a deadline nobody was told of":      {KindDeadline, 0, grace},
		"an outage that was told":            {KindOutage, 1, due},
		"a certificate has nothing to do":    {KindCertificate, 0, due},
		"nor has a settings file that's bad": {KindSettings, 0, due},
	} {
		was := Book{Incidents: []Incident{{Key: "x", Kind: c.kind, Partner: "a", Stage: Running, News: NewsOpened, Told: c.told, Due: due}}}
		b, _ := Fold(was, []queue.Event{event(queue.EventReconnected, "b")}, pace, now)
		if got := b.Incidents[0].Due; !got.Equal(c.want) {
			t.Errorf("%s: due %v, want %v", name, got, c.want)
		}
	}
}

func TestFoldChangesNothingOfItsInput(t *testing.T) {
	t.Parallel()
	was, _ := Fold(Book{}, []queue.Event{event(queue.EventDead, "a", "reason", "rejected")}, pace, t0)
	kept := was
	kept.Incidents = slices.Clone(was.Incidents)
	kept.Incidents[0].Facts = maps.Clone(was.Incidents[0].Facts)
	Fold(was, []queue.Event{event(queue.EventDead, "a", "reason", "rejected", "new", "fact"), event(queue.EventLetterClosed, "a", "reason", "rejected", "as", "discarded")}, pace, t0.Add(time.Hour))
	if d := cmp.Diff(kept, was, cmpopts.EquateEmpty()); d != "" {
		t.Errorf("the book passed in was altered: -before +after\n%s", d)
	}
}

func TestFactsOfAnEventAreBounded(t *testing.T) {
	t.Parallel()
	e := event(queue.EventDead, "a", "reason", "rejected")
	for i := range 100 {
		e.Facts[fmt.Sprintf("fact %d", i)] = string(make([]byte, 1000))
	}
	e.Text = string(make([]rune, 5000)) + "x"
	b, _ := Fold(Book{}, []queue.Event{e}, pace, t0)
	in := b.Incidents[0]
	if len(in.Facts) > maxFacts || len([]rune(in.Detail)) > maxText {
		t.Errorf("%d facts, %d runes of text", len(in.Facts), len(in.Detail))
	}
}

// at is an incident as it stands after it was told at t0.
func told(kind Kind) Incident {
	return Incident{ID: "X-1", Key: string(kind) + "/a/", Kind: kind, Partner: "a", Lane: "a", Cause: "rejected", Stage: Running, Opened: t0, Changed: t0, Told: 1, LastTold: t0}
}

func TestIncidentsFollowTheStore(t *testing.T) {
	t.Parallel()
	now := t0.Add(10 * time.Minute)
	running := queue.Outage{ID: "X-1", Since: t0}
	answering, ended, withdrawn := running, running, running
	answering.Answering, answering.Open = now, 3
	ended.Recovered, ended.Ended = now, now
	withdrawn.Withdrawn, withdrawn.Recovered = true, now
	untold := told(KindOutage)
	untold.Told, untold.LastTold, untold.News, untold.Due = 0, time.Time{}, NewsOpened, t0.Add(30*time.Second)
	for name, c := range map[string]struct {
		in     Incident
		s      Situation
		stage  Stage
		news   News
		due    time.Time
		closed bool
	}{
		"outage goes on: reminder after a repeat":       {told(KindOutage), Situation{Found: true, Outage: running}, Running, NewsReminder, t0.Add(4 * time.Hour), false},
		"outage answers: told after the group wait":     {told(KindOutage), Situation{Found: true, Outage: answering}, Answering, NewsAnswers, now.Add(30 * time.Second), false},
		"outage ends: told at once":                     {told(KindOutage), Situation{Found: true, Outage: ended}, Over, NewsOver, now, false},
		"outage withdrawn after it was told":            {told(KindOutage), Situation{Found: true, Outage: withdrawn}, Over, NewsOver, now, false},
		"outage withdrawn before it was told: nothing":  {untold, Situation{Found: true, Outage: withdrawn}, Over, NewsNone, untold.Due, true},
		"outage over before it was told is told as one": {untold, Situation{Found: true, Outage: ended}, Over, NewsOver, untold.Due, false},
		"outage answers before it was told: no delay":   {untold, Situation{Found: true, Outage: answering}, Answering, NewsAnswers, untold.Due, false},
		"letters stay":                         {told(KindLetters), Situation{Letters: Letters{Open: 2}}, Running, NewsNone, time.Time{}, false},
		"letters on their way are not settled": {told(KindLetters), Situation{Letters: Letters{Replaying: 1}}, Running, NewsNone, time.Time{}, false},
		"letters settled":                      {told(KindLetters), Situation{}, Over, NewsOver, now, false},
		"letters settled, lane still stopped":  {told(KindLetters), Situation{Lane: queue.Lane{Fix: &queue.Fix{Cause: "rejected"}}}, Running, NewsNone, time.Time{}, false},
		"settings repaired":                    {told(KindSettings), Situation{Partner: &partner.Partner{}}, Over, NewsOver, now, false},
		"settings still stale":                 {told(KindSettings), Situation{Partner: &partner.Partner{Stale: true}}, Running, NewsNone, time.Time{}, false},
		"file is back":                         {told(KindOrphaned), Situation{}, Over, NewsOver, now, false},
		"isolated goes on":                     {told(KindIsolated), Situation{Isolation: queue.Isolation{Since: t0}}, Running, NewsReminder, t0.Add(4 * time.Hour), false},
		"successor staged":                     {told(KindCertificate), Situation{Certificate: &partner.CertificateInfo{Successor: "5A"}}, Over, NewsOver, now, false},
		"certificate not replaced":             {told(KindCertificate), Situation{Certificate: &partner.CertificateInfo{}}, Running, NewsNone, time.Time{}, false},
		"deadline passed: its end is not told": {told(KindDeadline), Situation{}, Over, NewsNone, time.Time{}, true},
		"deadline near": {told(KindDeadline), Situation{Depth: queue.Depth{First: now.Add(time.Minute)}, Lane: queue.Lane{Breaker: breaker.State{Phase: breaker.Open}}},
			Running, NewsNone, time.Time{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Advance(c.in, c.s, pace, now)
			if got.Stage != c.stage || got.News != c.news || !got.Due.Equal(c.due) || got.Closed.IsZero() == c.closed {
				t.Errorf("stage %s, news %q due %v, closed %v; want %s, %q due %v, %v", got.Stage, got.News, got.Due, !got.Closed.IsZero(), c.stage, c.news, c.due, c.closed)
			}
			if again := Advance(got, c.s, pace, now); !same(got, again) {
				t.Errorf("a second look changes it: %+v, then %+v", got, again)
			}
		})
	}
}

func TestSingleFactsAreClosedWhenTheyWereQuiet(t *testing.T) {
	t.Parallel()
	in := told(KindKeyReused)
	if got := Advance(in, Situation{}, pace, t0.Add(3*time.Hour)); !got.Active() {
		t.Error("closed before a repeat passed")
	}
	if got := Advance(in, Situation{}, pace, t0.Add(4*time.Hour)); got.Active() || got.News != NewsNone {
		t.Errorf("not closed quietly: %+v", got)
	}
}

func TestMoreOfTheSameIsToldAfterARepeat(t *testing.T) {
	t.Parallel()
	b := Book{Incidents: []Incident{told(KindLetters)}}
	b.Incidents[0].Key = "letters/a/rejected"
	b, _ = Fold(b, []queue.Event{event(queue.EventDead, "a", "reason", "rejected")}, pace, t0.Add(time.Minute))
	if in := b.Incidents[0]; in.News != NewsChanged || !in.Due.Equal(t0.Add(4*time.Hour)) {
		t.Errorf("news %q due %v", in.News, in.Due)
	}
	late := t0.Add(9 * time.Hour)
	b.Incidents[0].News = NewsNone
	b, _ = Fold(b, []queue.Event{event(queue.EventDead, "a", "reason", "rejected")}, pace, late)
	if in := b.Incidents[0]; in.News != NewsChanged || !in.Due.Equal(late.Add(30*time.Second)) {
		t.Errorf("after a long silence: news %q due %v", in.News, in.Due)
	}
}

func TestIncidentsInhibitWhatTheySayAlready(t *testing.T) {
	t.Parallel()
	isolated, out, lost, refused, deadline := told(KindIsolated), told(KindOutage), told(KindLetters), told(KindLetters), told(KindDeadline)
	isolated.Partner, lost.Cause, lost.Told = "", "max-attempts", 0
	answering := out
	answering.Stage = Answering
	other := out
	other.Partner = "b"
	deadline.Facts = map[string]string{"due": t0.Add(30 * time.Minute).Format(time.RFC3339)}
	later := deadline
	later.Facts = map[string]string{"due": t0.Add(90 * time.Minute).Format(time.RFC3339)}
	over := out
	over.News = NewsOver
	for name, c := range map[string]struct {
		in  Incident
		all []Incident
		yes bool
	}{
		"our own network inhibits outages":           {out, []Incident{isolated}, true},
		"but not what partners refuse":               {refused, []Incident{isolated}, false},
		"an outage inhibits what it made fail":       {lost, []Incident{out}, true},
		"not once the partner answers":               {lost, []Incident{answering}, false},
		"not of another partner":                     {lost, []Incident{other}, false},
		"not what was refused":                       {refused, []Incident{out}, false},
		"an outage that names the deadline":          {deadline, []Incident{out}, true},
		"an outage that was told before it was near": {later, []Incident{out}, false},
		"the end of what was told is told":           {over, []Incident{isolated}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if by, yes := inhibited(c.in, c.all); yes != c.yes {
				t.Errorf("inhibited by %q: %v, want %v", by, yes, c.yes)
			}
		})
	}
}

func TestPartnersDecideHowLoud(t *testing.T) {
	t.Parallel()
	live := &partner.Partner{Stage: partner.StageLive, Notify: partner.Notify{Tier: 1}}
	test := &partner.Partner{Stage: partner.StageTest, Notify: partner.Notify{Tier: 1}}
	second := &partner.Partner{Stage: partner.StageLive, Notify: partner.Notify{Tier: 2}}
	for name, c := range map[string]struct {
		kind Kind
		news News
		p    *partner.Partner
		open int
		want Severity
	}{
		"live, tier 1":                    {KindOutage, NewsOpened, live, 0, Page},
		"a test partner never pages":      {KindOutage, NewsOpened, test, 0, Ticket},
		"tier 2 gets tickets":             {KindDeadline, NewsOpened, second, 0, Ticket},
		"answers again with letters":      {KindOutage, NewsAnswers, live, 3, Page},
		"answers again with nothing left": {KindOutage, NewsAnswers, live, 0, Info},
		"test partner answers again":      {KindOutage, NewsAnswers, test, 3, Ticket},
		"the end is info":                 {KindOutage, NewsOver, live, 0, Info},
		"the gateway itself":              {KindIsolated, NewsOpened, nil, 0, Page},
		"letters of a test partner":       {KindLetters, NewsOpened, test, 1, Ticket},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := (Incident{Kind: c.kind, News: c.news}).severity(c.p, c.open); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

func TestEveryKindHasMannersAndWords(t *testing.T) {
	t.Parallel()
	kinds := map[Kind]bool{}
	for _, list := range rules {
		for _, r := range list {
			kinds[r.kind] = true
		}
	}
	for k := range kinds {
		if manners[k].severity == "" || drafts[k] == nil {
			t.Errorf("%s has no severity or no text", k)
		}
	}
	for k := range manners {
		if !kinds[k] {
			t.Errorf("no event leads to %s", k)
		}
	}
}

// TestFetchingEndsByItsEvent: only that tells the end, of that partner alone; and
// while a partner is down nobody is told that he cannot be fetched from.
func TestFetchingEndsByItsEvent(t *testing.T) {
	t.Parallel()
	b, _ := Fold(Book{}, []queue.Event{event(queue.EventFetchFailed, "a", "why", "refused"), event(queue.EventFetchFailed, "b"), event(queue.EventFetchWorks, "a")}, pace, t0)
	stages := map[string]Stage{}
	for _, in := range b.Incidents {
		in = Advance(in, Situation{}, pace, t0.Add(time.Minute))
		stages[in.Partner] = in.Stage
	}
	if d := cmp.Diff(map[string]Stage{"a": Over, "b": Running}, stages); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	down := Incident{ID: "OUT-1", Kind: KindOutage, Partner: "b", Stage: Running}
	if by, yes := inhibited(b.Incidents[1], []Incident{down}); !yes || by != "OUT-1" {
		t.Error("told beside the outage")
	}
	if _, yes := inhibited(b.Incidents[0], []Incident{down}); yes {
		t.Error("another partner's outage keeps it from being told")
	}
}
