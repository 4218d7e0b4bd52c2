package main

import (
	"encoding/json"
	"fmt"
	"net/url"

	"edigw/internal/apiclient"
	"edigw/internal/words"
)

// DLQCommands are what can be done with dead letters.
type DLQCommands struct {
	List    DLQList    `cmd:"" help:"Letters, newest first."`
	Show    DLQShow    `cmd:"" help:"One letter with its message."`
	Replay  DLQReplay  `cmd:"" help:"Send letters again, under the same Message-IDs."`
	Recheck DLQRecheck `cmd:"" help:"Verify the stored receipts again; good ones are delivered, nothing is sent."`
	Process DLQProcess `cmd:"" help:"Take up what partners sent: open refused messages again, hand documents on again."`
	Settle  DLQSettle  `cmd:"" help:"Close letters on the partner's word."`
	Discard DLQDiscard `cmd:"" help:"Give documents up: they will never be sent."`
}

// letterFilter selects letters.
type letterFilter struct {
	Partner string `help:"Only this partner's."`
	Reason  string `help:"Only of this reason, such as circuit-open."`
	Outage  string `help:"Only of this outage, such as OUT-231."`
}

// DLQList lists letters.
type DLQList struct {
	letterFilter
	Status string `default:"open" enum:"open,replaying,closed,all" help:"open, replaying, closed or all."`
	Limit  int    `default:"100" help:"At most so many."`
}

// Help is shown by --help.
func (DLQList) Help() string {
	return "Example:\n  edigw dlq list --partner northwind --reason circuit-open"
}

// Run prints them.
func (c *DLQList) Run(e *env) error {
	gateway, err := e.gateway()
	if err != nil {
		return err
	}
	status := c.Status
	if status == "all" {
		status = ""
	}
	var list page[letterView]
	if err := gateway.Get(e.ctx, "/letters", query("partner", c.Partner, "reason", c.Reason, "outage", c.Outage, "status", status, "limit", fmt.Sprint(c.Limit)), &list); err != nil {
		return err
	}
	var rows [][]string
	for _, l := range list.Items {
		rows = append(rows, []string{l.ID, local(l.Created), l.Partner, string(l.Reason), l.status(), l.Outage, l.flags(), l.Detail})
	}
	if len(rows) == 0 {
		e.say("No dead letters.%s", e.noSuch(c.Partner))
	} else {
		e.table("LETTER\tSINCE\tPARTNER\tREASON\tSTATUS\tOUTAGE\tFLAGS\tLAST ERROR", rows)
	}
	if list.Next != "" {
		e.say("There are more: use --limit, or --partner, --reason and --outage.")
	}
	return e.result(list)
}

// DLQShow shows one letter.
type DLQShow struct {
	ID string `arg:"" help:"The letter's id, or its beginning."`
}

// Help is shown by --help.
func (DLQShow) Help() string {
	return "Example:\n  edigw dlq show 01j…"
}

// Run prints it.
func (c *DLQShow) Run(e *env) error {
	gateway, err := e.gateway()
	if err != nil {
		return err
	}
	id, err := e.letterID(gateway, c.ID)
	if err != nil {
		return err
	}
	var raw json.RawMessage
	if err := gateway.Get(e.ctx, "/letters/"+url.PathEscape(id), nil, &raw); err != nil {
		return e.noLetter(gateway, id, err)
	}
	if e.json {
		return e.result(raw)
	}
	var l letterView
	if err := json.Unmarshal(raw, &l); err != nil {
		return err
	}
	var m messageView
	if err := gateway.Get(e.ctx, "/messages/"+url.PathEscape(l.Message), nil, &m); err != nil {
		return err
	}
	e.say("Letter %s, %s, since %s", l.ID, l.Status, local(l.Created))
	e.say("  %s", l.sentence(m))
	e.say("  partner     %s", l.Partner)
	e.say("  reason      %s", l.headline())
	if l.Status != "open" || !l.refused() { // of that one it follows below
		e.say("  last error  %s", l.Detail)
	}
	if l.Uncertain {
		e.say("  %s", words.Uncertain)
	}
	if l.ClosedAs != "" {
		e.say("  closed      %s: %s%s", local(l.Closed), l.end(m.Kind), l.by())
	}
	return showMessage(e, gateway, l.Message)
}

// selection is which letters an action is for.
type selection struct {
	IDs []string `arg:"" optional:"" name:"letter" help:"Ids of letters, or their beginnings."`
	letterFilter
	All         bool `help:"Every letter that matches; needs --partner or --all-partners."`
	AllPartners bool `name:"all-partners" help:"With --all: of every partner."`
	Yes         bool `short:"y" help:"Do not ask."`
}

// check refuses a selection that could mean more than its author thinks.
func (s selection) check() error {
	filtered := s.Partner != "" || s.Reason != "" || s.Outage != ""
	switch {
	case len(s.IDs) > 0 && (filtered || s.All):
		return wrong("name letters, or select them by --partner, --reason, --outage; not both")
	case len(s.IDs) == 0 && !filtered && !s.All:
		return wrong("which letters? name their ids, or use --outage, --partner, --reason or --all")
	case s.All && s.Partner == "" && !s.AllPartners:
		return wrong("--all needs --partner P, or --all-partners")
	case len(s.IDs) == 0 && s.Partner == "" && s.Outage == "" && !s.AllPartners:
		return wrong("a reason alone selects letters of every partner: add --partner P or --all-partners")
	}
	return nil
}

// ids gives the open letters of the selection; only, if not nil, says which of
// those that a filter matches.
func (s selection) ids(e *env, gateway *apiclient.Client, only func(letterView) bool) ([]string, error) {
	if len(s.IDs) > 0 {
		return s.whole(e, gateway)
	}
	var ids []string
	cursor := ""
	for {
		var list page[letterView]
		q := query("partner", s.Partner, "reason", s.Reason, "outage", s.Outage, "status", "open", "limit", "500", "cursor", cursor)
		if err := gateway.Get(e.ctx, "/letters", q, &list); err != nil {
			return nil, err
		}
		for _, l := range list.Items {
			if only == nil || only(l) {
				ids = append(ids, l.ID)
			}
		}
		if cursor = list.Next; cursor == "" {
			return ids, nil
		}
	}
}

// whole are the ids that were named, in full.
func (s selection) whole(e *env, gateway *apiclient.Client) ([]string, error) {
	var ids []string
	for _, typed := range s.IDs {
		id, err := e.letterID(gateway, typed)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// letterAction is one action on many letters.
type letterAction struct {
	name     string
	question string
	body     any
	done     func(letterView) (said string, ended bool) // what came of it, and whether the letter is closed
	only     func(letterView) bool                      // which of a filter's letters it is for; nil: all
}

// each does one action to every letter of a selection, and tells what came of
// each.
func (s selection) each(e *env, a letterAction) error {
	if err := s.check(); err != nil {
		return err
	}
	gateway, err := e.gateway()
	if err != nil {
		return err
	}
	ids, err := s.ids(e, gateway, a.only)
	if err != nil {
		return err
	}
	if len(ids) == 0 {
		return fmt.Errorf("no open letter matches%s", e.noSuch(s.Partner))
	}
	if !s.Yes && !e.ask(a.question, words.Count(len(ids), "letter", "letters")) {
		return fmt.Errorf("nothing was done")
	}
	failed, left := 0, 0
	results := map[string]string{}
	for _, id := range ids {
		var l letterView
		ended := false
		if err := gateway.Post(e.ctx, "/letters/"+url.PathEscape(id)+"/"+a.name, a.body, &l); err != nil {
			failed++
			results[id] = e.noLetter(gateway, id, err).Error()
		} else if results[id], ended = a.done(l); !ended {
			left++
		}
		e.say("%s  %s", id, results[id])
	}
	if err := e.result(results); err != nil {
		return err
	}
	switch {
	case failed == len(ids):
		return fmt.Errorf("%s failed for every letter", a.name)
	case failed > 0:
		return partly("%s failed for %d of %d letters", a.name, failed, len(ids))
	case left == len(ids):
		return fmt.Errorf("no letter could be closed")
	case left > 0:
		return partly("%d of %d letters stay open", left, len(ids))
	}
	return nil
}

// DLQRecheck verifies stored receipts again.
type DLQRecheck struct{ selection }

// Help is shown by --help.
func (DLQRecheck) Help() string {
	return "Example, after the partner's new certificate was imported:\n  edigw dlq recheck --partner northwind --reason receipt-invalid\n\nExit code 1 if no receipt is good now, 3 if some are."
}

// Run does it.
func (c *DLQRecheck) Run(e *env) error {
	return c.each(e, letterAction{name: "recheck", question: "Verify the receipts of %s again?", done: letterView.rechecked})
}

// DLQSettle closes letters on the partner's word.
type DLQSettle struct {
	selection
	Note string `required:"" help:"Who at the partner confirmed it, and how."`
}

// Help is shown by --help.
func (DLQSettle) Help() string {
	return "Example:\n  edigw dlq settle 01j… --note \"Ms Lee by phone, booked as 4711\""
}

// Run does it.
func (c *DLQSettle) Run(e *env) error {
	return c.each(e, letterAction{name: "settle", question: "Close %s as delivered, on the partner's word?", body: map[string]string{"note": c.Note}, done: letterView.closed})
}

// DLQDiscard gives documents up.
type DLQDiscard struct {
	selection
	Why string `required:"" name:"why" help:"Reason, kept for ever."`
}

// Help is shown by --help.
func (DLQDiscard) Help() string {
	return "Example:\n  edigw dlq discard 01j… --why \"test file\"\nIf the partner has the document, use settle instead."
}

// Run does it.
func (c *DLQDiscard) Run(e *env) error {
	return c.each(e, letterAction{name: "discard", question: "Discard %s? They will never be sent.", body: map[string]string{"reason": c.Why, "note": c.Why}, done: letterView.closed})
}
