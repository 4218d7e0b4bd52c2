package web

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"edigw/internal/conf"
	"edigw/partner"
	"edigw/queue"
)

// Bounds of lists.
const (
	defaultLimit = 100
	maxLimit     = 500
	maxReference = 300
)

// list is an answer of several, newest first where they have an age.
type list[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next" doc:"cursor of the next page, empty for the last"`
}

// listOf makes every item of a page its view.
func listOf[T, V any](all []T, next string, view func(T) V) list[V] {
	l := list[V]{Items: make([]V, 0, len(all)), Next: next}
	for _, v := range all {
		l.Items = append(l.Items, view(v))
	}
	return l
}

// paging are the parameters of every list.
var paging = []param{
	{name: "limit", about: "1 to 500, else 100"},
	{name: "cursor", about: "next of the page before"},
}

// span are the parameters of lists of things with an age.
var span = []param{
	{name: "from", about: "not before this time, RFC 3339 or a date (UTC)"},
	{name: "to", about: "before this time"},
}

// page reads limit and cursor.
func (c *call) page() (queue.Page, error) {
	p := queue.Page{Limit: defaultLimit, Cursor: c.query.Get("cursor")}
	if text := c.query.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxLimit {
			return p, bad("limit", "The limit is a number from 1 to %d.", maxLimit)
		}
		p.Limit = n
	}
	if len(p.Cursor) > maxReference {
		return p, queue.ErrBadCursor
	}
	return p, nil
}

// choice reads a parameter that has only some values; "" if it is not given.
func choice[T ~string](c *call, name string, from []T) (T, error) {
	value := T(c.query.Get(name))
	if value == "" || slices.Contains(from, value) {
		return value, nil
	}
	return "", bad(name, "There is no %s %.80q; there are %s.", name, string(value), strings.Join(texts(from), ", "))
}

// choices reads a parameter of several values, joined by commas.
func choices[T ~string](c *call, name string, from []T) ([]T, error) {
	var all []T
	if c.query.Get(name) == "" {
		return nil, nil
	}
	for _, part := range strings.Split(c.query.Get(name), ",") {
		value := T(strings.TrimSpace(part))
		if !slices.Contains(from, value) {
			return nil, bad(name, "There is no %s %.80q; there are %s.", name, string(value), strings.Join(texts(from), ", "))
		}
		if !slices.Contains(all, value) {
			all = append(all, value)
		}
	}
	return all, nil
}

func texts[T ~string](all []T) []string {
	var names []string
	for _, v := range all {
		names = append(names, string(v))
	}
	return names
}

// partner reads the parameter partner. One without a settings file may still
// have messages.
func (c *call) partner() (string, error) {
	id := c.query.Get("partner")
	if id != "" && !partner.ValidID(id) {
		return "", bad("partner", "This is no partner's id: lower-case letters, digits and dashes.")
	}
	return id, nil
}

// word reads a parameter of free text, bounded.
func (c *call) word(name string) (string, error) {
	value := c.query.Get(name)
	if len(value) > maxReference {
		return "", bad(name, "At most %d bytes.", maxReference)
	}
	return value, nil
}

// flag reads a parameter that is true or false.
func (c *call) flag(name string) (bool, error) {
	switch c.query.Get(name) {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	}
	return false, bad(name, "This is true or false.")
}

// span reads from and to.
func (c *call) span() (from, to time.Time, err error) {
	if from, err = moment("from", c.query.Get("from")); err != nil {
		return from, to, err
	}
	to, err = moment("to", c.query.Get("to"))
	if err == nil && !from.IsZero() && !to.IsZero() && !from.Before(to) {
		err = bad("to", "The end is not after the beginning.")
	}
	return from, to, err
}

// moment reads a time or a date; zero if there is none.
func moment(field, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil && t.Year() >= 1970 {
			return t.UTC(), nil
		}
	}
	return time.Time{}, bad(field, "This is no time: write 2026-12-01T06:00:00Z or 2026-12-01.")
}

// deadline reads a time or a length of time from now; zero if there is none.
func deadline(field, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil && t.Year() >= 1970 {
		return t.UTC(), nil
	}
	var d conf.Duration
	if err := d.UnmarshalText([]byte(text)); err != nil || d == 0 {
		return time.Time{}, bad(field, "This is neither a time, such as 2026-12-01T06:00:00Z, nor a duration, such as 4h.")
	}
	return now.Add(time.Duration(d)).UTC(), nil
}

// cut gives one page of a list that is held in memory, in its own order. The
// cursor is the place where the next page begins; name ties it to its list.
func cut[T any](all []T, name string, p queue.Page) ([]T, string, error) {
	begin := 0
	if p.Cursor != "" {
		raw, err := base64.RawURLEncoding.DecodeString(p.Cursor)
		number, ok := strings.CutPrefix(string(raw), name+":")
		n, wrong := strconv.Atoi(number)
		if err != nil || !ok || wrong != nil || n <= 0 {
			return nil, "", queue.ErrBadCursor
		}
		begin = min(n, len(all))
	}
	end := min(begin+p.Limit, len(all))
	next := ""
	if end < len(all) {
		next = base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%s:%d", name, end))
	}
	return all[begin:end], next, nil
}

// when is a time on the wire: UTC, to the microsecond as stores keep it, null
// if there is none.
func when(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC().Truncate(time.Microsecond)
	return &t
}
