package web

import (
	"context"
	"net/http"
	"slices"
	"time"

	"edigw/access"
	"edigw/dlq"
	"edigw/fault"
	"edigw/internal/conf"
	"edigw/queue"
)

// LetterBox reads letters; every store does.
type LetterBox interface {
	Letter(ctx context.Context, id string) (queue.Letter, error)
	Letters(ctx context.Context, f queue.LetterFilter, p queue.Page) ([]queue.Letter, string, error)
	LetterGroups(ctx context.Context, f queue.LetterFilter) ([]queue.LetterGroup, error)
	LargestGroups(ctx context.Context, f queue.LetterFilter, limit int) (groups []queue.LetterGroup, open int, err error)
}

// Letters acts on letters and their messages; *dlq.Service does.
type Letters interface {
	LetterActions
	Editor
	MessageActions
	Replays
}

// LetterActions act on one letter. Errors are those of package dlq.
type LetterActions interface {
	Replay(ctx context.Context, id string, ask dlq.Ask) (dlq.Replayed, error)
	Recheck(ctx context.Context, id string, ask dlq.Ask) (dlq.Rechecked, error)
	Settle(ctx context.Context, id string, ask dlq.Ask) (queue.Letter, error)
	Discard(ctx context.Context, id string, ask dlq.Ask) (queue.Letter, error)
	Undo(ctx context.Context, id string, ask dlq.Ask) (queue.Letter, error)
}

// MessageActions act on one message. Errors are those of package dlq.
type MessageActions interface {
	Cancel(ctx context.Context, message string, ask dlq.Ask) (queue.Message, error)
	Again(ctx context.Context, message string, ask dlq.Ask) (queue.Message, error)
}

// letter is a letter on the wire (interfaces.md §5).
type letter struct {
	ID        string     `json:"id"`
	Message   string     `json:"message"`
	Partner   string     `json:"partner"`
	Protocol  string     `json:"protocol"`
	Direction string     `json:"direction" enum:"out,in"`
	Reason    string     `json:"reason"`
	Class     string     `json:"class"`
	Cause     string     `json:"cause" doc:"groups letters of one fault of configuration"`
	Status    string     `json:"status" enum:"open,replaying,closed"`
	ClosedAs  string     `json:"closed_as"`
	Detail    string     `json:"detail" doc:"the last error"`
	Attempts  int        `json:"attempts" doc:"of the round that ended"`
	Uncertain bool       `json:"uncertain" doc:"the partner may have it"`
	Contra    bool       `json:"contradicted" doc:"the partner refused it, then acknowledged it, and nothing was sent in between"`
	Overtaken bool       `json:"overtaken"`
	Overdue   bool       `json:"overdue"`
	Again     bool       `json:"failed_again" doc:"a replay failed"`
	Outage    string     `json:"outage"`
	Created   *time.Time `json:"created"`
	First     *time.Time `json:"first_failure"`
	Replayed  *time.Time `json:"replayed"`
	Closed    *time.Time `json:"closed"`
	Actor     string     `json:"actor" doc:"who closed it or asked for the replay"`
	Note      string     `json:"note"`
}

// wholeLetter is a letter with the last exchange.
type wholeLetter struct {
	letter
	Last *attempt `json:"last,omitempty" doc:"the last exchange in full"`
}

// letterGroup is a line of the letters' overview on the wire.
type letterGroup struct {
	Partner   string     `json:"partner"`
	Reason    string     `json:"reason"`
	Cause     string     `json:"cause"`
	Outage    string     `json:"outage"`
	Direction string     `json:"direction" enum:"out,in"`
	Open      int        `json:"open"`
	Replaying int        `json:"replaying"`
	Uncertain int        `json:"uncertain"`
	Oldest    *time.Time `json:"oldest"`
	Newest    *time.Time `json:"newest"`
}

// ask is the body of an action. All members are optional unless the action
// says otherwise.
type ask struct {
	Reason  string   `json:"reason,omitempty" doc:"why, kept for ever"`
	Note    string   `json:"note,omitempty" doc:"the same as reason"`
	Confirm []string `json:"confirm,omitempty" doc:"codes that were asked for; for a message sent again its key"`
	FreshID bool     `json:"fresh_id,omitempty" doc:"replay under a new Message-ID, after a definite refusal only"`
	UndoFor string   `json:"undo_for,omitempty" doc:"replay: start only after this time, such as 5s; until then it can be undone"`
}

// asked is what package dlq takes.
func (in ask) asked(c *call) (dlq.Ask, error) {
	codes, err := dlq.ParseCodes("confirm", in.Confirm)
	if err != nil {
		return dlq.Ask{}, err
	}
	var undo conf.Duration
	if in.UndoFor != "" {
		if err := undo.UnmarshalText([]byte(in.UndoFor)); err != nil {
			return dlq.Ask{}, bad("undo_for", "This is %s.", err)
		}
	}
	note := in.Reason
	if note == "" {
		note = in.Note
	}
	return dlq.Ask{Actor: c.actor, Note: note, Confirm: codes, FreshID: in.FreshID, UndoFor: time.Duration(undo)}, nil
}

var letterStatuses = []queue.LetterStatus{queue.LetterOpen, queue.LetterReplaying, queue.LetterClosed}

// letterParams select letters.
var letterParams = []param{
	{name: "partner", about: "only this partner's"},
	{name: "reason", about: "only of this reason", enum: texts(fault.Reasons)},
	{name: "status", about: "all without it", enum: texts(letterStatuses)},
	{name: "outage", about: "only of this outage"},
	{name: "cause", about: "only of this cause"},
	{name: "direction", about: "out: of what we send; in: of what partners sent, which is processed again instead of replayed", enum: directions},
}

func (a *API) letterRoutes() []route {
	var action letterAction = func(name, about string, out any, act func(*API, *call, string, dlq.Ask) (any, error)) route {
		return route{method: http.MethodPost, path: "/letters/{id}/" + name, scope: access.Operate, about: about, in: ask{}, out: out,
			status: http.StatusAccepted, also: []Slug{NotFound, Conflict, ConfirmNeeded, DiskFull}, do: func(c *call) error { return a.actOnLetter(c, act) }}
	}
	return []route{
		{method: http.MethodGet, path: "/letters", scope: access.Read, about: "Letters, newest first.", query: slices.Concat(letterParams, span, paging),
			out: list[letter]{}, status: http.StatusOK, do: a.listLetters},
		{method: http.MethodGet, path: "/letters/groups", scope: access.Read, about: "Open and replaying letters by partner, reason, cause, outage and direction.",
			query: slices.Concat(letterParams, span, paging), out: list[letterGroup]{}, status: http.StatusOK, do: a.listGroups},
		{method: http.MethodGet, path: "/letters/{id}", scope: access.Read, about: "A letter with the last exchange.",
			out: wholeLetter{}, status: http.StatusOK, also: []Slug{NotFound}, do: a.showLetter},
		action("replay", "Send the document again under the same Message-ID.", replayed{}, replayLetter),
		action("recheck", "Verify the stored receipt again; nothing is sent.", rechecked{}, recheckLetter),
		action("settle", "Close on the partner's word.", letter{}, settleLetter),
		action("discard", "Give the document up; a reason is required.", letter{}, discardLetter),
		action("undo", "Take back a replay that has not started.", letter{}, undoLetter),
		a.processRoute(action),
		a.editRoute(),
	}
}

func (a *API) listLetters(c *call) error {
	f, p, err := letterFilter(c)
	if err != nil {
		return err
	}
	letters, next, err := a.Ledger.Letters(c.r.Context(), f, p)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, listOf(letters, next, viewLetter))
}

func letterFilter(c *call) (f queue.LetterFilter, p queue.Page, err error) {
	if f.Partner, err = c.partner(); err != nil {
		return f, p, err
	}
	if f.Reason, err = choice(c, "reason", fault.Reasons); err != nil {
		return f, p, err
	}
	if f.Status, err = choice(c, "status", letterStatuses); err != nil {
		return f, p, err
	}
	if f.Outage, err = c.word("outage"); err != nil {
		return f, p, err
	}
	if f.Cause, err = c.word("cause"); err != nil {
		return f, p, err
	}
	direction, err := choice(c, "direction", directions)
	if err != nil {
		return f, p, err
	}
	f.Direction = queue.Direction(direction)
	if f.From, f.To, err = c.span(); err != nil {
		return f, p, err
	}
	p, err = c.page()
	return f, p, err
}

func (a *API) listGroups(c *call) error {
	f, p, err := letterFilter(c)
	if err != nil {
		return err
	}
	groups, err := a.Ledger.LetterGroups(c.r.Context(), f)
	if err != nil {
		return err
	}
	slices.SortStableFunc(groups, func(x, y queue.LetterGroup) int { return y.Newest.Compare(x.Newest) })
	groups, next, err := cut(groups, "groups", p)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, listOf(groups, next, viewGroup))
}

func (a *API) showLetter(c *call) error {
	id := c.param("id")
	l, err := a.Ledger.Letter(c.r.Context(), id)
	if err != nil {
		return absent(err, "letter", id)
	}
	v := wholeLetter{letter: viewLetter(l)}
	if l.Last != nil {
		last := viewAttempt(*l.Last)
		v.Last = &last
	}
	return c.answer(http.StatusOK, v)
}

// actOnLetter does one action. Codes are checked before the letter is looked
// up, and the letter before anything else.
func (a *API) actOnLetter(c *call, act func(*API, *call, string, dlq.Ask) (any, error)) error {
	var in ask
	if err := c.read(&in); err != nil {
		return err
	}
	what, err := in.asked(c)
	if err != nil {
		return err
	}
	id := c.param("id")
	v, err := act(a, c, id, what)
	if err != nil {
		return absent(err, "letter", id)
	}
	return c.answer(http.StatusAccepted, v)
}

// replayed is the answer to a replay.
type replayed struct {
	letter
	Sends     string     `json:"sends" doc:"message that goes out: the letter's, or a new edition"`
	UndoUntil *time.Time `json:"undo_until"`
}

func replayLetter(a *API, c *call, id string, what dlq.Ask) (any, error) {
	done, err := a.Letters.Replay(c.r.Context(), id, what)
	return replayed{viewLetter(done.Letter), done.Message.ID, when(done.Undo)}, err
}

// rechecked is the answer to a re-check.
type rechecked struct {
	letter
	Found string `json:"found" doc:"what the receipt says today"`
}

func recheckLetter(a *API, c *call, id string, what dlq.Ask) (any, error) {
	done, err := a.Letters.Recheck(c.r.Context(), id, what)
	return rechecked{viewLetter(done.Letter), done.Detail}, err
}

func settleLetter(a *API, c *call, id string, what dlq.Ask) (any, error) {
	l, err := a.Letters.Settle(c.r.Context(), id, what)
	return viewLetter(l), err
}

func discardLetter(a *API, c *call, id string, what dlq.Ask) (any, error) {
	l, err := a.Letters.Discard(c.r.Context(), id, what)
	return viewLetter(l), err
}

func undoLetter(a *API, c *call, id string, what dlq.Ask) (any, error) {
	l, err := a.Letters.Undo(c.r.Context(), id, what)
	return viewLetter(l), err
}

func viewLetter(l queue.Letter) letter {
	return letter{
		ID: l.ID, Message: l.Message, Partner: l.Partner, Protocol: l.Protocol, Direction: string(l.Direction), Reason: string(l.Reason), Class: string(l.Class),
		Cause: l.Cause, Status: string(l.Status), ClosedAs: string(l.ClosedAs), Detail: l.Detail, Attempts: l.Attempts, Uncertain: l.Uncertain, Contra: l.Contradicted(),
		Overtaken: l.Overtaken, Overdue: l.Overdue, Again: l.Again, Outage: l.Outage, Created: when(l.Created), First: when(l.First),
		Replayed: when(l.Replayed), Closed: when(l.Closed), Actor: l.Actor.Name, Note: l.Note,
	}
}

func viewGroup(g queue.LetterGroup) letterGroup {
	return letterGroup{Partner: g.Partner, Reason: string(g.Reason), Cause: g.Cause, Outage: g.Outage, Direction: string(g.Direction), Open: g.Open, Replaying: g.Replaying,
		Uncertain: g.Uncertain, Oldest: when(g.Oldest), Newest: when(g.Newest)}
}
