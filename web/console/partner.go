package console

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"edigw/access"
	"edigw/internal/words"
	"edigw/partner"
	"edigw/queue"
	"edigw/web"
)

// Bounds of a partner's page.
const (
	linePage     = 20 // documents of the line
	movesPage    = 20 // what the lane did
	changesPage  = 5  // what changed in its settings
	documentPage = 8  // newest documents
)

// partnerPage says how it stands with one partner and what to do about it.
type partnerPage struct {
	ID, Name, Stage string
	Mark            mark
	Sentence        string
	Note            string
	Strip           []stripItem
	Others          []string // how its other lanes stand, and fetching from it, if they ail
	Since, Next     moment
	Deadline        moment
	Stale           bool
	Problems        []partner.Problem
	Primary         *button
	More            []button
	Tabs            []filterLink
	Changed         []eventRow
	Plan            []string // the schedule in words
	PMode           []fact   // of AS4, by the names of the standard
	Line            []placeRow
	Behind          int // documents of the line that are not shown
	Moves           []eventRow
	Charged         []eventRow // tests that were charged to the lane
	Certificates    []certificateRow
	Documents       []exchangeRow
	Owner           owner
}

// owner is whom to call.
type owner struct {
	Team, Mail, Phone, Note string
	Call                    string // the phone as a link dials it
}

// eventRow is something that happened.
type eventRow struct {
	Key  int64
	At   moment
	What string
	Text string
	By   string
}

// placeRow is a document in line.
type placeRow struct {
	ID, Document string
	Place        int
	Mark         mark
	Sentence     string
	Accepted     moment
	Deadline     moment
}

// exchangeRow is a document with its last exchange.
type exchangeRow struct {
	ID, Document string
	In           bool
	When         moment
	Mark         mark
	Sentence     string
	Last         string
}

func (c *Console) partnerPages() []page {
	return []page{
		{path: "/partners/{id}", show: c.partner},
		{path: "/partners/{id}/settings", show: c.partnerSettings},
	}
}

// shownPartner is a partner by its path. One whose file is gone is shown as
// long as it has documents.
func (c *Console) shownPartner(v *visit) (standing, error) {
	id := v.param("id")
	d, some, err := c.reader.Depth(v.r.Context(), id)
	if err != nil {
		return standing{}, err
	}
	s := standing{id: id, name: id, lane: c.Lanes.View(id), depth: d, fetching: c.reader.Failing(id)}
	if p, known := c.Settings().Partner(id); known {
		s.settings, s.name = p, p.Name
	} else if !some {
		return s, &web.Problem{Slug: web.NotFound, Detail: c.Settings().NoPartner(id)}
	}
	for _, n := range d.Letters {
		s.letters += n
	}
	lanes, err := c.Ledger.PartnerDepths(v.r.Context(), id)
	if err != nil {
		return standing{}, err
	}
	waiting := map[string]int{}
	for _, one := range lanes {
		waiting[one.Lane] = one.Lined
	}
	s.others = c.sideLanes(id, waiting)
	return s, nil
}

func (c *Console) partner(v *visit) (view, error) {
	s, err := c.shownPartner(v)
	if err != nil {
		return view{}, err
	}
	p := partnerPage{ID: s.id, Name: s.name, Tabs: partnerTabs(s.id, ""), Plan: c.plan(v, s)}
	for _, t := range c.Settings().Terms(s.id, v.now) {
		p.PMode = append(p.PMode, fact{Name: t.Name, Value: plain(t.Value), Code: true})
	}
	c.stands(v, s, &p)
	if p.Primary, p.More, err = c.partnerButtons(v, s); err != nil {
		return view{}, err
	}
	ctx := v.r.Context()
	if err := c.partnerPast(ctx, v, s, &p); err != nil {
		return view{}, err
	}
	if p.Line, err = c.line(v, s); err != nil {
		return view{}, err
	}
	p.Behind = max(0, s.depth.Lined-len(p.Line))
	if p.Documents, err = c.exchanges(v, s); err != nil {
		return view{}, err
	}
	last, err := c.lastOfBoth(v, s)
	if err != nil {
		return view{}, err
	}
	p.Strip = append(p.Strip, last...)
	for _, i := range c.certificatesOf(v, s.id) {
		p.Certificates = append(p.Certificates, v.certificateRow(i, ""))
	}
	return view{template: "partner", title: s.name, nav: "/", topic: "partner:" + s.id, data: p}, nil
}

func partnerTabs(id, lit string) []filterLink {
	base := "/partners/" + id
	return []filterLink{
		{"Now", base, lit == ""}, {"Settings and certificates", base + "/settings", lit == "settings"},
		{"Messages", "/messages?partner=" + id, false}, {"Dead letters", "/letters?partner=" + id, false}, {"Audit", "/audit?partner=" + id, false},
	}
}

// stands fills in what must be seen first.
func (c *Console) stands(v *visit, s standing, p *partnerPage) {
	zone := v.zoneOf(s.settings)
	p.Mark, p.Sentence = laneMark(s.lane.State), v.laneSentence(s.lane, s.depth.Lined, s.settings)
	if s.lane.State == queue.LaneOpen && s.lane.Note != "" {
		p.Note = plain(s.lane.Note)
	}
	p.Others = v.ailing(&s, true)
	p.Since, p.Next, p.Deadline = v.in(s.lane.Since, zone), v.in(s.lane.Next, zone), v.in(s.depth.First, zone)
	if s.settings != nil {
		p.Stale, p.Problems = s.settings.Stale, s.settings.Problems
		if s.settings.Stage != partner.StageLive {
			p.Stage = string(s.settings.Stage)
		}
		o := s.settings.Owner
		p.Owner = owner{Team: o.Team, Mail: o.Mail, Phone: o.Phone, Note: o.Note, Call: dialled(o.Phone)}
	}
	p.Strip = []stripItem{
		{Label: "In line", Value: words.Number(int64(s.depth.Lined))},
		{Label: "Being sent", Value: words.Number(int64(s.lane.Running))},
		{Label: "Receipts due", Value: words.Number(int64(s.depth.Acks))},
		{Label: "Dead letters", Value: words.Number(int64(s.letters)), Path: "/letters?partner=" + s.id, Bad: s.letters > 0},
	}
	if s.lane.Outage != "" {
		p.Strip = append(p.Strip, stripItem{Label: "Outage", Value: s.lane.Outage, Path: "/outages/" + s.lane.Outage, Bad: true})
	}
	for _, one := range slices.Backward(s.lane.Charged) {
		p.Charged = append(p.Charged, eventRow{At: v.in(one.At, zone), Text: plain(one.Detail), What: one.Message})
	}
}

// dialled is a phone number as a link dials it: digits and a leading plus.
func dialled(phone string) string {
	var b []byte
	for i := range len(phone) {
		if ch := phone[i]; ch >= '0' && ch <= '9' || ch == '+' && len(b) == 0 {
			b = append(b, ch)
		}
	}
	return string(b)
}

// moves are what a lane did, and changes what was done to its settings.
var (
	moves = []queue.EventType{
		queue.EventBreakerOpened, queue.EventBreakerReopened, queue.EventBreakerProbing, queue.EventAnswering, queue.EventBreakerClosed, queue.EventLaneStopped, queue.EventLaneStarted,
		queue.EventLaneNeedsFix, queue.EventLaneReleased, queue.EventLaneOrphaned, queue.EventLaneBlocked, queue.EventCheck, queue.EventFetchFailed, queue.EventFetchWorks,
	}
	changes = []queue.EventType{queue.EventSettings, queue.EventMisconfig, queue.EventCertificate}
)

func (c *Console) partnerPast(ctx context.Context, v *visit, s standing, p *partnerPage) error {
	changed, err := c.Ledger.History(ctx, queue.HistoryFilter{Partner: s.id, Types: changes}, changesPage)
	if err != nil {
		return err
	}
	moved, err := c.Ledger.History(ctx, queue.HistoryFilter{Partner: s.id, Types: moves}, movesPage)
	p.Changed, p.Moves = v.eventRows(changed, s.settings), v.eventRows(moved, s.settings)
	return err
}

// eventRows are events as pages print them, newest first. Of tests that failed
// one after the other the newest stands for all.
func (v *visit) eventRows(all []queue.Event, p *partner.Partner) (rows []eventRow) {
	for i := 0; i < len(all); i++ {
		e := all[i]
		failed, last := failedTests(all[i:])
		r := eventRow{Key: e.ID, At: v.in(e.At, v.zoneOf(p)), What: words.MilestoneOf(string(kindOf(e)), string(e.Type)), Text: plain(e.Text)}
		if e.Type == queue.EventBreakerOpened && e.Facts["manual"] == "true" {
			r.What = words.Tripped
		}
		if !e.Actor.Gateway() {
			r.By = plain(e.Actor.Name)
		}
		if failed > 1 {
			r.Text = strings.Join(nonEmpty(r.Text, words.Number(int64(failed))+" tests failed since "+v.in(all[i+last].At, v.zoneOf(p)).Clock), "; ")
			i += last
		}
		rows = append(rows, r)
	}
	return rows
}

// kindOf is what the lane of an event carries.
func kindOf(e queue.Event) queue.Kind {
	for _, k := range queue.Kinds {
		if e.Lane == queue.LaneKey(e.Partner, k) {
			return k
		}
	}
	return queue.KindDocument
}

// failedTests counts the failed tests at the beginning of events, newest first,
// and tells where the oldest of them stands.
func failedTests(all []queue.Event) (n, last int) {
	for i, e := range all {
		switch e.Type {
		case queue.EventBreakerReopened:
			n, last = n+1, i
		case queue.EventBreakerProbing, queue.EventCheck:
			if !e.Actor.Gateway() { // somebody's own
				return n, last
			}
			if n == 0 { // one is running
				return 0, 0
			}
			last = i
		default:
			return n, last
		}
	}
	return n, last
}

// line is the beginning of the line of a partner's documents, each with why it
// waits.
func (c *Console) line(v *visit, s standing) (rows []placeRow, err error) {
	ready, _, err := c.Ledger.Ready(v.r.Context(), queue.LaneKey(s.id, queue.KindDocument), true, v.now, linePage)
	if err != nil {
		return nil, err
	}
	zone := v.zoneOf(s.settings)
	for i, m := range ready {
		shown := c.Lanes.Overlay(m, i)
		r := placeRow{ID: m.ID, Document: documentName(m), Place: i + 1, Mark: messageMark(shown.State, m.Uncertain), Accepted: v.in(m.Accepted, zone), Deadline: v.in(m.DeliverBy, zone)}
		switch {
		case shown.State == queue.Queued:
			r.Sentence = words.Message(words.MessageFacts{State: string(shown.State), Place: i + 1})
		case shown.Why == queue.WhyOrder:
			r.Sentence = words.Message(words.MessageFacts{State: string(shown.State), Why: string(shown.Why), Ahead: documentName(ready[0])})
		default:
			r.Sentence = c.messageSentence(v, m, shown, nil)
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// partnerButtons are what may be done about a partner: the one thing that is
// most likely right, and the rest.
func (c *Console) partnerButtons(v *visit, s standing) (first *button, more []button, err error) {
	if !v.may(access.Operate) {
		return nil, nil, nil
	}
	base := "/partners/" + url.PathEscape(s.id)
	do := func(label, name string) button { return button{Label: label, Path: base + "/" + name, Back: base} }
	replay, err := c.replayOutage(v, s.lane.Outage, s.id, base)
	if err != nil {
		return nil, nil, err
	}
	if s.settings == nil {
		return replay, nil, nil
	}
	test, start, stop := do("Connection test", "test"), do("Start", "start"), do("Stop until …", "stop")
	usable := !s.settings.Misconfigured
	switch {
	case !usable:
		return &button{Label: "See what to fix", Path: base + "/settings", Get: true, Kind: primary}, []button{stop}, nil
	case s.lane.State == queue.LaneStopped || s.lane.State == queue.LaneNeedsFix:
		first, more = &start, []button{test}
	case replay != nil && (s.lane.State == queue.LaneAnswering || s.lane.State == queue.LaneSending):
		first, more = replay, []button{test, stop}
		replay = nil
	case s.letters > 0 && s.lane.State == queue.LaneSending:
		first, more = &button{Label: "See " + words.Count(s.letters, "dead letter", "dead letters"), Path: "/letters?partner=" + s.id, Get: true}, []button{test, stop}
	default:
		first, more = &test, []button{stop}
	}
	if replay != nil {
		replay.Kind = ""
		more = append(more, *replay)
	}
	first.Kind = primary
	if s.lane.State == queue.LaneOpen || s.lane.State == queue.LaneHalfOpen || s.lane.State == queue.LaneAnswering {
		return first, append(more, do("Send at once …", "reset")), nil
	}
	return first, append(more, do("Hold back until a test …", "trip")), nil
}

// replayOutage is the button that replays what an outage left; nil if nothing.
func (c *Console) replayOutage(v *visit, outage, id, back string) (*button, error) {
	if outage == "" || !v.may(access.Operate) {
		return nil, nil
	}
	o, err := c.Ledger.Outage(v.r.Context(), outage)
	if err != nil || o.Open == 0 {
		return nil, err
	}
	return &button{Label: "Replay " + words.Number(int64(o.Open)), Path: "/letters/replays", Kind: primary, Back: back,
		Fields: []field{{"outage", outage}, {"partner", id}, {"status", string(queue.LetterOpen)}}}, nil
}
