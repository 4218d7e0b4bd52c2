package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"edigw/internal/apiclient"
	"edigw/queue"
)

// An id can be typed by its beginning, if that is its alone.
const (
	wholeID  = 26
	fewestID = 6
	mostSeen = 5  // candidates that an ambiguous beginning shows
	mostRead = 20 // pages of 500 that are searched for it
)

// idView is what tells messages or letters apart.
type idView struct {
	ID       string    `json:"id"`
	Partner  string    `json:"partner"`
	Key      string    `json:"key"`
	Reason   string    `json:"reason"`
	Accepted time.Time `json:"accepted"`
	Created  time.Time `json:"created"`
}

// namedMessage gives the gateway and the id of the message whose id begins
// with what was typed.
func (e *env) namedMessage(typed string) (*apiclient.Client, string, error) {
	gateway, err := e.gateway()
	if err != nil {
		return nil, "", err
	}
	id, err := e.wholeID(gateway, "message", "/messages", typed)
	return gateway, id, err
}

// letterID gives the id of the letter whose id begins with what was typed.
func (e *env) letterID(gateway *apiclient.Client, typed string) (string, error) {
	return e.wholeID(gateway, "letter", "/letters", typed)
}

// wholeID looks among what was made at the time that every id begins with.
// What is whole, or begins no id, is left to the gateway to judge.
func (e *env) wholeID(gateway *apiclient.Client, what, list, typed string) (string, error) {
	first, last, ok := queue.IDTimes(typed)
	switch {
	case !ok || len(typed) >= wholeID:
		return typed, nil
	case len(typed) < fewestID:
		return "", wrong("%q is too short for an id: at least %d characters of its beginning", typed, fewestID)
	}
	found, err := e.beginning(gateway, list, typed, first, last)
	switch {
	case err != nil:
		return "", err
	case len(found) == 0:
		return "", fmt.Errorf("no %s has an id that begins with %q; edigw %s lists them", what, typed, map[string]string{"message": "message list", "letter": "dlq list"}[what])
	case len(found) > 1:
		var lines strings.Builder
		for _, v := range found[:min(len(found), mostSeen)] {
			fmt.Fprintf(&lines, "\n  %s  %s  %s  %s", v.ID, local(later(v.Accepted, v.Created)), v.Partner, v.Key+v.Reason)
		}
		if len(found) > mostSeen {
			lines.WriteString("\n  …")
		}
		return "", wrong("several %ss have ids that begin with %q; type more of it:%s", what, typed, lines.String())
	}
	return found[0].ID, nil
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// beginning lists what has an id with a beginning. Ids and rows are made at the
// same time, but for a moment.
func (e *env) beginning(gateway *apiclient.Client, list, typed string, first, last time.Time) ([]idView, error) {
	const moment = time.Minute
	if last.Year() < 2000 || first.After(time.Now().Add(time.Hour)) {
		return nil, nil // nothing was made then
	}
	q := query("limit", "500", "from", first.Add(-time.Second).Format(time.RFC3339Nano), "to", last.Add(moment).Format(time.RFC3339Nano))
	var found []idView
	for range mostRead {
		var got page[idView]
		if err := gateway.Get(e.ctx, list, q, &got); err != nil {
			return nil, err
		}
		for _, v := range got.Items {
			if strings.HasPrefix(v.ID, typed) {
				found = append(found, v)
			}
		}
		if got.Next == "" {
			return found, nil
		}
		q.Set("cursor", got.Next)
	}
	return nil, wrong("too many were made at the time with which %q begins: type the whole id", typed)
}

// noLetter explains why there is no letter of an id: perhaps it is the id of a
// message. Any other error stays.
func (e *env) noLetter(gateway *apiclient.Client, id string, err error) error {
	var p *apiclient.Problem
	if !errors.As(err, &p) || p.Status != http.StatusNotFound {
		return err
	}
	var m messageView
	switch gateway.Get(e.ctx, "/messages/"+url.PathEscape(id), nil, &m) {
	case nil:
	default:
		return err
	}
	if m.Letter == "" {
		return fmt.Errorf("%s is a message, and it has no open letter: %s (edigw message show %s)", id, m.sentence(), id)
	}
	return fmt.Errorf("%s is a message; its letter is %s", id, m.Letter)
}
