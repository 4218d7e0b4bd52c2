package console

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"time"

	"edigw/access"
	"edigw/fault"
	"edigw/internal/words"
	"edigw/partner"
	"edigw/queue"
	"edigw/web"
)

// lettersPage is how many letters are shown at once.
const lettersPage = 50

// letters is the page of dead letters: outages and causes first, with counts
// and one button each, then the list.
type letters struct {
	Groups  []groupRow
	Rows    []letterRow
	Filter  []filterLink // what is selected, each with the way to drop it
	Status  []filterLink
	Partner string
	Here    string
	CSV     string // the list as a file
	Newer   string
	Older   string
	Empty   string
	Fields  []field // the filter, for "all matching"
	All     int     // open letters of the filter that can be replayed, by the groups
	Acts    bool    // whether the user may act
}

// groupRow is an outage or a cause with all its letters.
type groupRow struct {
	Key     string
	Partner string
	Name    string
	Mark    mark
	Reason  string
	Cause   string
	Outage  string
	Open    int
	Unsure  int
	Moving  int
	Oldest  moment
	List    string // its letters
	Button  *button
}

// letterRow is a letter in a list.
type letterRow struct {
	ID, Message string
	Created     moment
	Partner     string
	Name        string
	Lane        mark
	Document    string
	Reason      string
	Mark        mark
	Flags       []flag
	Status      string // replaying or closed, in words; empty: open
	Button      *button
	Open        bool
}

// flag is what one must know of a letter before it is replayed.
type flag struct{ Word, Class string }

func (c *Console) letterPages() []page {
	return []page{
		{path: "/letters", params: []string{"partner", "reason", "status", "outage", "cause", "direction", "cursor"}, show: c.letters},
		{path: "/letters/{id}", show: c.letter},
	}
}

func (c *Console) letters(v *visit) (view, error) {
	f, err := letterFilter(v.query)
	if err != nil {
		return view{}, err
	}
	ctx := v.r.Context()
	l := letters{Partner: f.Partner, Here: v.here(), CSV: with(v.query, "/letters.csv", "", ""), Fields: filterFields(f), Status: statusLinks(v.query, f.Status)}
	if l.Groups, l.All, err = c.groups(v, f); err != nil {
		return view{}, err
	}
	found, next, err := c.Ledger.Letters(ctx, f, queue.Page{Limit: lettersPage, Cursor: v.query.Get("cursor")})
	if err != nil {
		return view{}, err
	}
	for _, one := range found {
		row, err := c.letterRow(v, one)
		if errors.Is(err, queue.ErrNotFound) { // retention let it go in this moment
			continue
		}
		if err != nil {
			return view{}, err
		}
		l.Rows = append(l.Rows, row)
	}
	l.Acts = v.may(access.Operate)
	l.Filter, l.Older = chosen(v.query, c), olderLink(v.query, "/letters", next)
	if len(found) == 0 && len(l.Groups) == 0 {
		if l.Empty, err = c.noLetters(v, f); err != nil {
			return view{}, err
		}
	}
	return view{template: "letters", title: "Dead letters", nav: "/letters", topic: partnerTopic(f.Partner), data: l}, nil
}

// letter shows a letter where its document is shown.
func (c *Console) letter(v *visit) (view, error) {
	l, err := c.Ledger.Letter(v.r.Context(), v.param("id"))
	if err != nil {
		return view{}, err
	}
	return view{redirect: "/messages/" + url.PathEscape(l.Message) + "#letter-" + l.ID}, nil
}

func partnerTopic(id string) string {
	if id == "" {
		return ""
	}
	return "partner:" + id
}

// groups are the outages and causes of the open letters, the largest first,
// and how many letters can be replayed in all.
func (c *Console) groups(v *visit, f queue.LetterFilter) (rows []groupRow, open int, err error) {
	largest, open, err := c.Ledger.LargestGroups(v.r.Context(), f, mostGroups)
	if err != nil {
		return nil, 0, err
	}
	for _, g := range largest {
		rows = append(rows, c.groupRow(v, g))
	}
	received, err := c.openLetters(v, f, queue.In)
	return rows, open - received, err
}

// openLetters counts the open letters of a filter in one direction.
func (c *Console) openLetters(v *visit, f queue.LetterFilter, d queue.Direction) (int, error) {
	if f.Direction != "" && f.Direction != d {
		return 0, nil
	}
	f.Direction = d
	_, open, err := c.Ledger.LargestGroups(v.r.Context(), f, 0)
	return open, err
}

// mostGroups bounds the groups shown at once.
const mostGroups = 100

func (c *Console) groupRow(v *visit, g queue.LetterGroup) groupRow {
	lane := c.Lanes.View(g.Partner)
	r := groupRow{
		Key: strings.Join([]string{g.Partner, string(g.Reason), g.Cause, g.Outage, string(g.Direction)}, "|"), Partner: g.Partner, Name: c.partnerName(g.Partner), Mark: laneMark(lane.State),
		Reason: words.ReasonGroup(string(g.Reason)), Cause: g.Cause, Outage: g.Outage, Open: g.Open, Unsure: g.Uncertain, Moving: g.Replaying, Oldest: v.at(g.Oldest),
	}
	q := url.Values{"partner": {g.Partner}, "reason": {string(g.Reason)}, "direction": {string(g.Direction)}}
	fields := []field{{"partner", g.Partner}, {"reason", string(g.Reason)}, {"status", "open"}, {"direction", string(g.Direction)}}
	for _, more := range []field{{"cause", g.Cause}, {"outage", g.Outage}} {
		if more.Value != "" {
			q.Set(more.Name, more.Value)
			fields = append(fields, more)
		}
	}
	r.List = "/letters?" + q.Encode()
	if g.Direction == queue.In {
		r.Reason = words.ReasonGroupReceived(string(g.Reason))
	}
	switch {
	case g.Open == 0 || !v.may(access.Operate):
	case g.Direction == queue.In:
		r.Button = &button{Label: "Process " + words.Number(int64(g.Open)) + " again …", Path: "/letters/process", Kind: primary, Fields: fields, Back: v.here()}
	default:
		r.Button = &button{Label: "Replay " + words.Number(int64(g.Open)), Path: "/letters/replays", Kind: primary, Fields: fields, Back: v.here()}
		if !replaysFirst(g.Reason) {
			r.Button.Kind = ""
		}
	}
	return r
}

// letterRow is a letter as a list prints it.
func (c *Console) letterRow(v *visit, l queue.Letter) (letterRow, error) {
	m, err := c.Ledger.Message(v.r.Context(), l.Message)
	if err != nil {
		return letterRow{}, err
	}
	p, _ := c.Settings().Partner(l.Partner)
	r := letterRow{
		ID: l.ID, Message: l.Message, Created: v.in(l.Created, v.zoneOf(p)), Partner: l.Partner, Name: c.partnerName(l.Partner), Lane: laneMark(c.Lanes.View(l.Partner).State),
		Document: letterDocument(m), Reason: brief(v.reason(l, m, p)), Mark: deadMark(m), Flags: letterFlags(l, m), Open: l.Status == queue.LetterOpen,
	}
	if l.Uncertain {
		r.Mark = markUnknown
	}
	switch l.Status {
	case queue.LetterReplaying:
		s, err := c.reader.Shown(v.r.Context(), m)
		if err != nil {
			return letterRow{}, err
		}
		r.Mark, r.Status = messageMark(s.State, m.Uncertain), c.messageSentence(v, m, s, nil)
	case queue.LetterClosed:
		r.Mark, r.Status = markClosed, closedAs(string(l.ClosedAs), l.Lane, l.Partner)
		if l.ClosedAs == queue.ClosedDelivered || l.ClosedAs == queue.ClosedDeliveredLate {
			r.Mark = markDelivered
		}
	}
	if v.may(access.Operate) {
		p, err := c.processing(v, m)
		if err != nil {
			return letterRow{}, err
		}
		if p.Why == "" {
			r.Button = v.letterButton(l, m, v.here())
		}
	}
	return r, nil
}

// letterDocument is what a letter is about: what a partner sent says so, lest
// it be taken for what we send.
func letterDocument(m queue.Message) string {
	if m.Direction == queue.In {
		return "Received: " + documentName(m)
	}
	return documentName(m)
}

// mostReason is how much of a reason a list prints, in characters; the page of
// the message has all of it.
const mostReason = 200

func brief(reason string) string {
	if r := []rune(reason); len(r) > mostReason {
		return strings.TrimRight(string(r[:mostReason]), " ") + " …"
	}
	return reason
}

func letterFlags(l queue.Letter, m queue.Message) (all []flag) {
	for _, f := range []struct {
		on bool
		flag
	}{
		{l.Uncertain && l.Status != queue.LetterClosed, flag{words.Uncertain, "warn"}}, {l.Overtaken, flag{"overtaken by a later document", ""}}, {l.Overdue, flag{"past its due time", "bad"}},
		{l.Again, flag{"failed again", "bad"}}, {m.Edition > 0, flag{"edition " + words.Number(int64(m.Edition+1)), ""}},
	} {
		if f.on {
			all = append(all, f.flag)
		}
	}
	return all
}

// reason is a letter's reason in words.
func (v *visit) reason(l queue.Letter, m queue.Message, p *partner.Partner) string {
	f := words.ReasonFacts{Inbound: l.Direction == queue.In, Hook: m.Kind == queue.KindWebhook, Contradicted: l.Contradicted(), Now: v.now, Zone: v.zoneOf(p), Tried: l.Attempts, Due: m.DeliverBy, Detail: said(l.Detail)}
	switch {
	case p != nil && p.AS2 != nil:
		f.Wait = p.AS2.Wait
	case p != nil && p.AS4 != nil:
		f.Wait = p.AS4.Wait
	}
	if a := l.Last; a != nil {
		f.Status = a.Status
		if a.Ack != nil {
			f.Words = plain(web.TheirWords(a.Ack.Text, a.Ack.EBMS, a.Ack.Detail))
		}
		f.Partly = a.Phase < fault.PhaseSent
	}
	return words.Reason(string(l.Reason), f)
}

// noLetters says when the last letter was, and what became of it.
func (c *Console) noLetters(v *visit, f queue.LetterFilter) (string, error) {
	if f.Partner != "" || f.Reason != "" || f.Outage != "" || f.Cause != "" {
		return "No dead letter matches.", nil
	}
	last, err := c.lastLetter(v.r.Context())
	if err != nil || last.ID == "" {
		return words.NoLetters(time.Time{}, v.now, v.zone, ""), err
	}
	fate := strings.ToLower(words.ClosedAs(string(last.ClosedAs)))
	if last.Actor.Name != "" {
		fate += " (" + last.Actor.Name + ")"
	}
	return words.NoLetters(last.Created, v.now, v.zone, fate), nil
}

func (c *Console) lastLetter(ctx context.Context) (queue.Letter, error) {
	some, _, err := c.Ledger.Letters(ctx, queue.LetterFilter{}, queue.Page{Limit: 1})
	if err != nil || len(some) == 0 {
		return queue.Letter{}, err
	}
	return some[0], nil
}
