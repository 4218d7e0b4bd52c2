package console

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"edigw/access"
	"edigw/alerts"
	"edigw/internal/words"
	"edigw/partner"
	"edigw/queue"
	"edigw/web"
)

// Bounds of the board.
const (
	boardPage  = 100 // partners shown at once
	boardFresh = 500 * time.Millisecond
)

// board answers without a click: is any partner in trouble, since when, what
// is stuck, what do I do next?
type board struct {
	Sentence string
	Fine     bool
	Strip    []stripItem
	Search   string
	State    string // filter: "", trouble, waiting, letters
	Troubled []partnerRow
	Healthy  []partnerRow
	Found    int // partners that the filter leaves
	Newer    string
	Older    string
	Filters  []filterLink
}

// stripItem is a figure of the strip below the sentence.
type stripItem struct {
	Label, Value, Path string
	Bad                bool
}

// filterLink is a filter that a click sets.
type filterLink struct {
	Label, Path string
	Lit         bool
}

// partnerRow is a partner on the board.
type partnerRow struct {
	ID, Name string
	Mark     mark
	Sentence string
	Since    moment
	Next     moment
	Waiting  int
	Acks     int
	Letters  int
	Deadline moment
	Outage   string
	Stale    bool
	Others   []string // how its other lanes stand, and fetching from it, if they ail
	Button   *button
}

// standing is a partner as the board judges it.
type standing struct {
	id, name string
	sorts    string // what the name is sorted by
	rank     int
	lane     queue.LaneView
	depth    queue.Depth
	letters  int
	others   []sideLane // its lanes besides documents that ail
	fetching *queue.FetchTrouble
	settings *partner.Partner // nil: its file is gone
}

// needs reports whether a partner needs someone. One that an operator stopped,
// or that is outside its hours, is where it should be.
func (s *standing) needs() bool {
	if s.fetching != nil && s.fetching.Lasting {
		return true
	}
	switch s.lane.State {
	case queue.LaneSending, queue.LaneStopped, queue.LaneBlackout, queue.LaneWindow:
		return s.letters > 0 || len(s.others) > 0 || s.settings != nil && s.settings.Stale
	}
	return true
}

// overview is where all partners stand at one moment.
type overview struct {
	all      []*standing // those that need someone first, then by name
	troubled int
	letters  int
	oldest   time.Time // open letter
	deadline time.Time // first of a troubled partner
	last     queue.Message
	outages  string
	ending   int // certificates to act on
	isolated queue.Isolation
	store    string // what ails the store; empty: fine
	channels string // which alert channels fail; empty: fine
}

// boards keeps the last overview: a wall of screens must not cost more than
// one.
type boards struct {
	mu   sync.Mutex
	at   time.Time
	last overview
}

func (c *Console) boardPages() []page {
	return []page{{path: "/", params: []string{"q", "show", "from"}, show: c.board}}
}

func (c *Console) board(v *visit) (view, error) {
	all, err := c.overview(v.r.Context(), v.now)
	if err != nil {
		return view{}, err
	}
	b := board{Search: v.query.Get("q"), State: v.query.Get("show"), Fine: all.troubled == 0, Strip: c.strip(v, all)}
	b.Sentence = words.Board(c.boardFacts(v, all))
	rows, err := filtered(all.all, b.Search, b.State)
	if err != nil {
		return view{}, err
	}
	from, _ := strconv.Atoi(v.query.Get("from"))
	from = max(0, min(from, len(rows)))
	b.Found = len(rows)
	for _, s := range rows[from:min(from+boardPage, len(rows))] {
		row := v.row(s)
		if s.needs() {
			b.Troubled = append(b.Troubled, row)
		} else {
			b.Healthy = append(b.Healthy, row)
		}
	}
	address := func(at int) string { return boardAddress(b.Search, b.State, at) }
	if from > 0 {
		b.Newer = address(max(0, from-boardPage))
	}
	if from+boardPage < len(rows) {
		b.Older = address(from + boardPage)
	}
	for _, f := range boardFilters {
		b.Filters = append(b.Filters, filterLink{f.label, boardAddress(b.Search, f.name, 0), f.name == b.State})
	}
	return view{template: "board", title: title(all), nav: "/", data: b}, nil
}

var boardFilters = []struct{ name, label string }{{"", "All"}, {"trouble", "Need you"}, {"waiting", "With documents in line"}, {"letters", "With dead letters"}}

func boardAddress(search, show string, from int) string {
	q := url.Values{}
	if search != "" {
		q.Set("q", search)
	}
	if show != "" {
		q.Set("show", show)
	}
	if from > 0 {
		q.Set("from", strconv.Itoa(from))
	}
	if len(q) == 0 {
		return "/"
	}
	return "/?" + q.Encode()
}

func filtered(all []*standing, search, show string) ([]*standing, error) {
	if !slices.ContainsFunc(boardFilters, func(f struct{ name, label string }) bool { return f.name == show }) {
		return nil, &web.Problem{Slug: web.BadRequest, Field: "show", Detail: "There is no such filter: " + show + "."}
	}
	search = strings.ToLower(strings.TrimSpace(search))
	var rows []*standing
	for _, s := range all {
		switch {
		case search != "" && !strings.Contains(s.id, search) && !strings.Contains(s.sorts, search):
		case show == "trouble" && !s.needs(), show == "waiting" && s.depth.Lined == 0, show == "letters" && s.letters == 0:
		default:
			rows = append(rows, s)
		}
	}
	return rows, nil
}

// title says in a browser's tab whether somebody is needed.
func title(all overview) string {
	if all.troubled == 0 {
		return "All fine"
	}
	return words.Count(all.troubled, "partner", "partners") + " in trouble"
}

// overview is where all partners stand, at most half a second old.
func (c *Console) overview(ctx context.Context, now time.Time) (overview, error) {
	c.boards.mu.Lock()
	defer c.boards.mu.Unlock()
	if age := now.Sub(c.boards.at); age >= 0 && age < boardFresh {
		return c.boards.last, nil
	}
	all, err := c.lookOver(ctx, now)
	if err == nil {
		c.boards.at, c.boards.last = now, all
	}
	return all, err
}

func (c *Console) lookOver(ctx context.Context, now time.Time) (o overview, err error) {
	census, err := c.Ledger.Census(ctx)
	if err != nil {
		return o, err
	}
	settings := c.Settings()
	depths, letters := counted(census)
	waiting := map[string]int{}
	for _, n := range census.Lanes {
		waiting[n.Lane] = n.Lined
	}
	for _, id := range c.reader.Partners(depths) {
		s := &standing{id: id, name: id, lane: c.Lanes.View(id), depth: depths[id], letters: letters[id], others: c.sideLanes(id, waiting), fetching: c.reader.Failing(id)}
		if p, known := settings.Partner(id); known {
			s.settings, s.name = p, p.Name
		}
		s.sorts, s.rank = strings.ToLower(s.name), rank(s)
		o.add(s)
	}
	o.oldest = census.Oldest
	slices.SortFunc(o.all, func(x, y *standing) int {
		return cmp.Or(cmp.Compare(y.rank, x.rank), strings.Compare(x.sorts, y.sorts), strings.Compare(x.id, y.id))
	})
	o.ending = len(c.certs.of(settings, now).must)
	if o.last, err = c.lastDelivered(ctx); err != nil {
		return o, err
	}
	running, more, err := c.Ledger.Outages(ctx, "", true, queue.Page{Limit: 500})
	if err != nil {
		return o, err
	}
	if o.outages = words.Number(int64(len(running))); more != "" {
		o.outages += "+"
	}
	err = c.lookInside(ctx, &o)
	return o, err
}

// counted sums a census by partner: what waits is documents, letters may be of
// any lane.
func counted(census queue.Census) (depths map[string]queue.Depth, letters map[string]int) {
	depths, letters = map[string]queue.Depth{}, map[string]int{}
	for _, n := range census.Lanes {
		letters[n.Partner] += n.Letters
		d := depths[n.Partner]
		if n.Lane == n.Partner {
			d.Lined, d.Acks, d.First = n.Lined, n.Acks, n.First
		}
		depths[n.Partner] = d
	}
	return depths, letters
}

// lookInside finds what ails the gateway itself: its store, and the channels
// over which people would hear of it.
func (c *Console) lookInside(ctx context.Context, o *overview) error {
	on, _, err := c.Alerts.Incidents(ctx, true, queue.Page{Limit: 500})
	if err != nil {
		return err
	}
	var failing []string
	for _, in := range on {
		switch {
		case in.Stage == alerts.Over:
		case in.Kind == alerts.KindStore:
			o.store = "fails"
		case in.Kind == alerts.KindChannel:
			failing = append(failing, plain(in.Cause)+" fails")
		}
	}
	if o.channels = strings.Join(failing, ", "); len(alerts.Route(c.Settings().Gateway())) == 0 {
		o.channels = "none set"
	}
	if c.Ready(ctx) != nil {
		o.store = "does not answer"
	}
	return nil
}

// endingDays is when a certificate needs someone.
const endingDays = 14

func (o *overview) add(s *standing) {
	o.all = append(o.all, s)
	o.letters += s.letters
	if s.lane.Isolation.On() {
		o.isolated = s.lane.Isolation
	}
	if !s.needs() {
		return
	}
	o.troubled++
	if t := s.depth.First; !t.IsZero() && (o.deadline.IsZero() || t.Before(o.deadline)) {
		o.deadline = t
	}
}

// rank orders the board: who needs someone first, among them whose documents
// are dead or about to be late.
func rank(s *standing) int {
	switch {
	case !s.needs() && s.lane.State == queue.LaneSending:
		return 0
	case !s.needs():
		return 1
	case s.letters == 0:
		return 2
	}
	return 3
}

func (c *Console) lastDelivered(ctx context.Context) (queue.Message, error) {
	some, _, err := c.Ledger.Messages(ctx, queue.MessageFilter{States: []queue.State{queue.Delivered}, Direction: queue.Out}, queue.Page{Limit: 1})
	if err != nil || len(some) == 0 {
		return queue.Message{}, err
	}
	return some[0], nil
}

func (c *Console) boardFacts(v *visit, o overview) words.BoardFacts {
	f := words.BoardFacts{Partners: len(o.all), Troubled: o.troubled}
	if o.last.ID != "" {
		f.Last, f.LastTo = v.now.Sub(o.last.Finished), c.partnerName(o.last.Partner)
	}
	if o.deadline.After(v.now) {
		f.FirstLost = o.deadline.Sub(v.now)
	}
	return f
}

// row is a partner as the board prints it.
func (v *visit) row(s *standing) partnerRow {
	zone := v.zoneOf(s.settings)
	r := partnerRow{
		ID: s.id, Name: s.name, Mark: laneMark(s.lane.State), Sentence: v.laneSentence(s.lane, s.depth.Lined, s.settings), Since: v.in(s.lane.Since, zone), Next: v.in(s.lane.Next, zone),
		Waiting: s.depth.Lined, Acks: s.depth.Acks, Letters: s.letters, Deadline: v.in(s.depth.First, zone), Outage: s.lane.Outage,
		Stale: s.settings != nil && s.settings.Stale, Others: v.ailing(s, false),
	}
	r.Button = rowButton(s, v.may(access.Operate))
	return r
}

// rowButton is the one thing to do about a partner, by who may act.
func rowButton(s *standing, acts bool) *button {
	see := func(label string) *button { return &button{Label: label, Path: "/partners/" + s.id, Get: true} }
	switch {
	case s.lane.State == queue.LaneNeedsFix, s.lane.State == queue.LaneMisconfigured, s.lane.State == queue.LaneOrphaned:
		return see("See what to fix")
	case s.lane.State == queue.LaneStopped && acts:
		return &button{Label: "Start", Path: "/partners/" + s.id + "/start", Back: "/"}
	case s.lane.Outage != "":
		return &button{Label: "Open the outage", Path: "/outages/" + s.lane.Outage, Get: true, Kind: primary}
	case s.letters > 0:
		return &button{Label: "See " + words.Count(s.letters, "dead letter", "dead letters"), Path: "/letters?partner=" + s.id, Get: true, Kind: primary}
	case s.needs():
		return see("See why")
	}
	return nil
}
