package console

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"edigw/access"
	"edigw/alerts"
	"edigw/fault"
	"edigw/internal/words"
	"edigw/partner"
	"edigw/queue"
	"edigw/web"
)

// Bounds of an outage's page.
const (
	outageLetters = 50
	outageMoves   = 40
	outageBuried  = 5 // batches of letters that were made
)

// outagePage is where the link of an alert leads: what, since, whose side,
// impact, next step, and what to do with one thumb.
type outagePage struct {
	ID, Title, Class string
	Partner, Name    string
	Since, Over      moment
	Next             moment // next automatic step of the partner's lane
	Lines            []string
	Do               []string
	Owner            owner
	Strip            []stripItem
	Counted          string // what the counts are of, if not of all
	Ack              *ackRow
	Buttons          []button
	Timeline         []eventRow
	Told             []toldRow
	Letters          []letterRow
	List             string // all of its letters
	Most             int
}

// ackRow says who has an incident.
type ackRow struct {
	By   string
	At   moment
	Note string
}

func (c *Console) outagePages() []page {
	return []page{{path: "/outages/{id}", show: c.outage}}
}

func (c *Console) outage(v *visit) (view, error) {
	ctx, id := v.r.Context(), v.param("id")
	a, err := c.Alarm.Account(ctx, id)
	if err != nil {
		return view{}, absent(err, "outage or incident", id)
	}
	in := a.Incident
	f := lettersOf(in)
	p := outagePage{ID: id, Title: plain(a.Title), Class: stageClass(in.Stage), Partner: in.Partner, Name: c.partnerName(in.Partner), Since: v.at(in.Opened), Over: v.at(in.Over), Do: a.Do,
		Strip: impact(a), Ack: v.ackRow(in.Ack), Most: outageLetters}
	for _, l := range a.Lines {
		p.Lines = append(p.Lines, plain(l))
	}
	if a.Letters.More {
		p.Counted = "Counted: the newest " + words.Number(int64(a.Letters.Read)) + "."
	}
	s, _ := c.Settings().Partner(in.Partner)
	if in.Partner != "" {
		p.Next = v.in(c.Lanes.View(in.Partner).Next, v.zoneOf(s))
	}
	if s != nil {
		p.Since, p.Over = v.in(in.Opened, v.zoneOf(s)), v.in(in.Over, v.zoneOf(s))
		p.Owner = owner{Team: s.Owner.Team, Mail: s.Owner.Mail, Phone: s.Owner.Phone, Note: s.Owner.Note, Call: dialled(s.Owner.Phone)}
	}
	if in.Kind == alerts.KindOutage && in.Stage == alerts.Running && a.Letters.Open > 0 && v.may(access.Operate) {
		p.Do = append(slices.Clone(p.Do), "when they answer: Replay "+words.Number(int64(a.Letters.Open)))
	}
	received := 0
	if a.Letters.Open > 0 && in.Kind == alerts.KindLetters {
		if received, err = c.openLetters(v, f, queue.In); err != nil {
			return view{}, err
		}
	}
	p.Buttons = c.outageButtons(v, a, f, s, received)
	if p.Timeline, err = c.outagePast(ctx, v, in, s); err != nil {
		return view{}, err
	}
	sent, err := c.Alerts.Notifications(ctx, id)
	if err != nil {
		return view{}, err
	}
	p.Told = v.told(sent)
	if f != (queue.LetterFilter{}) {
		if p.Letters, p.List, err = c.outageLetters(v, f, a.Letters.Open); err != nil {
			return view{}, err
		}
	}
	return view{template: "outage", title: p.Title, nav: "/alerts", topic: partnerTopic(in.Partner), data: p}, nil
}

// absent names what a record that is not there was asked for as.
func absent(err error, what, id string) error {
	if web.ProblemOf(err).Slug == web.NotFound {
		return &web.Problem{Slug: web.NotFound, Detail: "There is no " + what + " " + plain(id) + "."}
	}
	return err
}

func stageClass(s alerts.Stage) string {
	switch s {
	case alerts.Over:
		return "ok"
	case alerts.Answering:
		return "warn"
	}
	return "bad"
}

// impact is what an incident did to documents, in numbers: what to decide on,
// and what one must know before.
func impact(a alerts.Account) (items []stripItem) {
	in, l := a.Incident, a.Letters
	if in.Kind != alerts.KindOutage && in.Kind != alerts.KindLetters || in.Stage == alerts.Over {
		return nil
	}
	for _, f := range []struct {
		label  string
		n      int
		bad    bool
		always bool
	}{
		{"To decide", l.Open, true, true}, {"Never tried", l.Untried, false, true}, {"May be there", l.Uncertain, true, true}, {"Past due", l.Overdue, true, true},
		{"Tried, did not arrive", l.Tried, false, false}, {"Being replayed", l.Replaying, false, false}, {"In line", a.Waiting, false, false},
	} {
		if f.always || f.n > 0 {
			items = append(items, stripItem{Label: f.label, Value: words.Number(int64(f.n)), Bad: f.bad && f.n > 0})
		}
	}
	return items
}

func (v *visit) ackRow(a *alerts.Ack) *ackRow {
	if a == nil {
		return nil
	}
	return &ackRow{By: plain(a.By.Name), At: v.at(a.At), Note: plain(a.Note)}
}

// lettersOf selects the letters of an incident; the zero filter if it has none.
func lettersOf(in alerts.Incident) (f queue.LetterFilter) {
	switch in.Kind {
	case alerts.KindOutage:
		f.Outage = in.ID
	case alerts.KindLetters:
		f.Partner = in.Partner
		if slices.Contains(fault.Reasons, fault.Reason(in.Cause)) {
			f.Reason = fault.Reason(in.Cause)
		} else {
			f.Cause = in.Cause
		}
	}
	return f
}

// outageButtons are the thumb's: say that somebody has it, look whether the
// partner answers, send what was left.
// Of the letters received many are of what the partner sent.
func (c *Console) outageButtons(v *visit, a alerts.Account, f queue.LetterFilter, s *partner.Partner, received int) (all []button) {
	if !v.may(access.Operate) {
		return nil
	}
	in, here := a.Incident, v.here()
	if in.Version > 0 && in.Active() && in.Stage != alerts.Over && in.Ack == nil && c.Acknowledger != nil {
		all = append(all, button{Label: "Acknowledge", Path: "/alerts/" + url.PathEscape(in.ID) + "/acknowledge", Back: here})
	}
	if s != nil && !s.Misconfigured {
		all = append(all, button{Label: "Connection test", Path: "/partners/" + url.PathEscape(s.ID) + "/test", Back: here})
	}
	all = append(all, c.laneButtons(a, s, here)...)
	if received > 0 {
		all = append(all, button{Label: "Process " + words.Number(int64(received)) + " again …", Path: "/letters/process", Fields: append(filterFields(f), field{"direction", string(queue.In)}), Back: here})
	}
	if n := a.Letters.Open - received; n > 0 {
		all = append(all, button{Label: "Replay " + words.Number(int64(n)), Path: "/letters/replays", Fields: filterFields(f), Back: here})
	}
	if i := firstButton(all, a, f); i >= 0 {
		all[i].Kind = primary
	}
	return all
}

// laneButtons are what the text of an alert says to do besides.
func (c *Console) laneButtons(a alerts.Account, s *partner.Partner, here string) (all []button) {
	if s == nil || !a.Incident.Active() || a.Incident.Stage == alerts.Over {
		return nil
	}
	path, lane := "/partners/"+url.PathEscape(s.ID), c.Lanes.View(s.ID)
	if c.Importer != nil && slices.ContainsFunc(a.Do, func(do string) bool { return strings.Contains(do, "import it") }) {
		all = append(all, button{Label: "Import a certificate", Path: path + "/settings#import", Get: true})
	}
	switch {
	case s.Misconfigured:
	case lane.State == queue.LaneNeedsFix, lane.State == queue.LaneStopped:
		all = append(all, button{Label: "Start", Path: path + "/start", Back: here})
	case offersStop(a.Incident, lane):
		all = append(all, button{Label: "Stop until …", Path: path + "/stop", Back: here})
	}
	return all
}

// firstButton is the one to press first; -1 if there is none.
func firstButton(all []button, a alerts.Account, f queue.LetterFilter) int {
	if a.Incident.Kind == alerts.KindLetters {
		if i := slices.IndexFunc(all, func(b button) bool { return b.Get }); i >= 0 { // a certificate
			return i
		}
	}
	if a.Letters.Open > 0 && (a.Incident.Stage == alerts.Answering || a.Incident.Kind == alerts.KindLetters && replaysFirst(f.Reason)) {
		return len(all) - 1
	}
	return min(0, len(all)-1)
}

// replaysFirst reports whether replaying is what to do first about letters of
// a reason: not where the partner probably has them, or where they would fail
// again.
func replaysFirst(r fault.Reason) bool {
	return r != fault.ReasonReceiptInvalid && r != fault.ReasonFormat
}

// offersStop reports whether an alert says that a stop may be what to do: the
// partner is down, perhaps for maintenance.
func offersStop(in alerts.Incident, lane queue.LaneView) bool {
	return in.Kind == alerts.KindOutage && in.Stage == alerts.Running && lane.State != queue.LaneStopped
}

// outagePast is what happened, newest first. Of the batches of letters that
// were made only the last are told.
func (c *Console) outagePast(ctx context.Context, v *visit, in alerts.Incident, s *partner.Partner) ([]eventRow, error) {
	what := queue.HistoryFilter{Outage: in.ID, Types: slices.Concat(moves, []queue.EventType{queue.EventOutageEnded, queue.EventBulk})}
	if in.Kind != alerts.KindOutage {
		what.Outage, what.Partner = "", in.Partner
		what.Types = slices.Concat(moves, changes)
	}
	if what.Outage == "" && what.Partner == "" {
		return nil, nil
	}
	all, err := c.Ledger.History(ctx, what, outageMoves)
	if err != nil {
		return nil, err
	}
	if in.Kind == alerts.KindOutage {
		buried, err := c.Ledger.History(ctx, queue.HistoryFilter{Outage: in.ID, Types: []queue.EventType{queue.EventOutageBuried}}, outageBuried)
		if err != nil {
			return nil, err
		}
		all = append(all, buried...)
		slices.SortFunc(all, func(x, y queue.Event) int { return cmp.Compare(y.ID, x.ID) })
	} else {
		all = slices.DeleteFunc(all, func(e queue.Event) bool { return e.At.Before(in.Opened.Add(-time.Hour)) })
	}
	rows := v.eventRows(all, s)
	if in.Ack != nil {
		rows = append([]eventRow{{At: v.at(in.Ack.At), What: words.Milestone(string(alerts.EventAcknowledged)), By: plain(in.Ack.By.Name), Text: plain(in.Ack.Note)}}, rows...)
	}
	return rows, nil
}

// outageLetters are the first letters of an incident: those to decide on, if
// there are any.
func (c *Console) outageLetters(v *visit, f queue.LetterFilter, open int) (rows []letterRow, list string, err error) {
	q := url.Values{}
	for _, one := range filterFields(f) {
		q.Set(one.Name, one.Value)
	}
	if f.Status = queue.LetterOpen; open == 0 {
		f.Status = ""
		q.Set("status", "all")
	}
	found, _, err := c.Ledger.Letters(v.r.Context(), f, queue.Page{Limit: outageLetters})
	if err != nil {
		return nil, "", err
	}
	for _, l := range found {
		row, err := c.letterRow(v, l)
		if errors.Is(err, queue.ErrNotFound) { // retention let it go in this moment
			continue
		}
		if err != nil {
			return nil, "", err
		}
		rows = append(rows, row)
	}
	return rows, "/letters?" + q.Encode(), nil
}

// toldRow is what one channel was told of an incident.
type toldRow struct {
	Channel string
	Sent    int
	Last    moment
	Waiting int
	Problem string
	Next    moment
	Tries   int
	Mark    mark
}

// told folds notifications, oldest first, by channel.
func (v *visit) told(all []alerts.Notification) (rows []toldRow) {
	for _, n := range all {
		i := slices.IndexFunc(rows, func(r toldRow) bool { return r.Channel == n.Channel })
		if i < 0 {
			i = len(rows)
			rows = append(rows, toldRow{Channel: n.Channel, Mark: mark{"ok", "✓", "Told"}})
		}
		r := &rows[i]
		if !n.Sent.IsZero() {
			r.Sent++
			r.Last = v.at(n.Sent)
			continue
		}
		r.Waiting++
		r.Problem, r.Next, r.Tries = plain(n.Problem), v.at(n.NextAt), n.Attempts
		r.Mark = mark{"idle", "…", "On its way"}
		if n.Problem != "" {
			r.Mark = mark{"bad", "✕", "Not told yet"}
		}
	}
	return rows
}

// newsOf is what a notification says, without the frame of its subject.
func newsOf(n alerts.Notification) string {
	s := n.Text.Subject
	if _, after, ok := strings.Cut(s, "] "); ok && strings.HasPrefix(s, "[") {
		s = after
	}
	return plain(strings.TrimSuffix(s, " ["+n.Incident+"]"))
}
