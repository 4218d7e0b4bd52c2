package console

import (
	"context"
	"errors"
	"net/url"
	"strconv"
	"strings"

	"edigw/internal/words"
	"edigw/partner"
	"edigw/queue"
)

// auditPage is how many entries are shown at once.
const auditPage = 100

// audit is the page of who did what, when, from where and why.
type audit struct {
	Actor, Partner string
	From, To       string // dates, as typed
	Rows           []auditRow
	CSV            string
	Newer          string
	Older          string
}

// auditRow is one entry.
type auditRow struct {
	Key           int64
	At            moment
	Actor         string
	Role          string
	From          string
	What          string
	Text          string
	Why           string // in their words
	Partner, Name string
	Message       string
	Outage        string
}

func (c *Console) auditPages() []page {
	return []page{{path: "/audit", params: []string{"actor", "partner", "from", "to", "cursor"}, show: c.audit}}
}

// auditFilter reads the filter out of the address; dates are whole days of the
// console's zone.
func (v *visit) auditFilter() (f queue.AuditFilter, err error) {
	f.Actor, f.Partner = strings.TrimSpace(v.query.Get("actor")), strings.TrimSpace(v.query.Get("partner"))
	if f.Partner != "" && !partner.ValidID(f.Partner) {
		return f, wrong("partner", f.Partner)
	}
	f.From, f.To, err = v.days()
	return f, err
}

func (c *Console) audit(v *visit) (view, error) {
	f, err := v.auditFilter()
	if err != nil {
		return view{}, err
	}
	found, next, err := c.Ledger.Audit(v.r.Context(), f, queue.Page{Limit: auditPage, Cursor: v.query.Get("cursor")})
	if err != nil {
		return view{}, err
	}
	p := audit{Actor: f.Actor, Partner: f.Partner, From: v.query.Get("from"), To: v.query.Get("to"), CSV: with(v.query, "/audit.csv", "", ""), Older: olderLink(v.query, "/audit", next)}
	for _, e := range found {
		why, err := c.why(v.r.Context(), e)
		if err != nil {
			return view{}, err
		}
		what, text := told(e)
		p.Rows = append(p.Rows, auditRow{Key: e.ID, At: v.at(e.At), Actor: plain(e.Actor.Name), Role: e.Actor.Role, From: plain(e.Actor.From), What: what, Text: text, Why: why,
			Partner: e.Partner, Name: c.partnerName(e.Partner), Message: e.Message, Outage: e.Outage})
	}
	return view{template: "audit", title: "Audit", nav: "/audit", data: p}, nil
}

// told names an entry, and gives what it says besides.
func told(e queue.Event) (what, text string) {
	if e.Type == queue.EventAckIgnored { // somebody had a receipt checked again
		_, text, _ = strings.Cut(e.Text, ": ")
		return words.Rechecked, plain(text)
	}
	if as := e.Facts["as"]; e.Type == queue.EventLetterClosed && as == e.Text {
		return words.Milestone(string(e.Type)), closedAs(as, e.Lane, e.Partner)
	}
	return words.Milestone(string(e.Type)), plain(e.Text)
}

// why is what somebody said when they replayed or closed a letter: it stands
// in the letter until somebody acts upon it again.
func (c *Console) why(ctx context.Context, e queue.Event) (string, error) {
	if e.Letter == "" || e.Type != queue.EventReplay && e.Type != queue.EventLetterClosed {
		return "", nil
	}
	l, err := c.Ledger.Letter(ctx, e.Letter)
	if errors.Is(err, queue.ErrNotFound) { // retention dropped it
		return "", nil
	}
	at := l.Closed
	if e.Type == queue.EventReplay {
		at = l.Replayed
	}
	if err != nil || !at.Equal(e.At) || l.Actor.Name != e.Actor.Name {
		return "", err
	}
	return plain(l.Note), nil
}

// auditCSV is the list of entries as a file.
func (c *Console) auditCSV(v *visit) (view, error) {
	f, err := v.auditFilter()
	if err != nil {
		return view{}, err
	}
	file := v.sendCSV("audit", "number", "at", "actor", "role", "from", "event", "what", "text", "why", "partner", "message", "letter", "outage", "facts")
	ctx := v.r.Context()
	err = exported(file, func(p queue.Page) ([]queue.Event, string, error) { return c.Ledger.Audit(ctx, f, p) }, func(e queue.Event) error {
		why, err := c.why(ctx, e)
		if err != nil {
			return err
		}
		facts := url.Values{}
		for k, value := range e.Facts {
			facts.Set(k, value)
		}
		file.row(strconv.FormatInt(e.ID, 10), stamp(e.At), e.Actor.Name, e.Actor.Role, e.Actor.From, string(e.Type), words.Milestone(string(e.Type)), e.Text, why, e.Partner, e.Message, e.Letter, e.Outage, facts.Encode())
		return nil
	})
	return view{sent: true}, err
}
