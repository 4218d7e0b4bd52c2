package web

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"edigw/access"
	"edigw/dlq"
	"edigw/fault"
	"edigw/queue"
)

// TestProblemsEqualDocs holds the table of slugs equal, both ways, with part 3
// of docs/errors.md.
func TestProblemsEqualDocs(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/errors.md")
	if err != nil {
		t.Fatal(err)
	}
	_, part, found := strings.Cut(string(page), `<a id="problems"></a>`)
	if !found {
		t.Fatal("docs/errors.md has no part 3")
	}
	docs := map[string]int{}
	for _, m := range regexp.MustCompile(`(?m)^\| ([a-z-]+) \| (\d{3}) \|`).FindAllStringSubmatch(part, -1) {
		status, err := strconv.Atoi(m[2])
		if err != nil {
			t.Fatal(err)
		}
		docs[m[1]] = status
	}
	table := map[string]int{}
	for s, f := range slugs {
		table[string(s)] = f.status
		if f.title == "" {
			t.Errorf("%s has no title", s)
		}
	}
	equal(t, "docs/errors.md and the table", docs, table)
}

func TestErrorsBecomeProblems(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err   error
		want  Slug
		field string
	}{
		"a problem":               {&Problem{Slug: Backlog}, Backlog, ""},
		"one that was wrapped":    {fmt.Errorf("x: %w", &Problem{Slug: TooLate, Field: "Deliver-By"}), TooLate, "Deliver-By"},
		"a field of an action":    {&dlq.InputError{Field: "reason", Reason: "say why"}, BadRequest, "reason"},
		"a question":              {&dlq.ConfirmError{Codes: []dlq.Code{dlq.Overdue}}, ConfirmNeeded, ""},
		"somebody was faster":     {&dlq.ConflictError{Text: "Kim did it.", By: fault.Actor{Name: "kim"}}, Conflict, ""},
		"nothing selected":        {dlq.ErrNothingSelected, NothingSelected, ""},
		"a state that moved on":   {&queue.MoveError{Message: "m1", State: queue.Delivered, Trigger: queue.OnReplay}, Conflict, ""},
		"a version that moved on": {fmt.Errorf("x: %w", queue.ErrConflict), Conflict, ""},
		"no record":               {fmt.Errorf("x: %w", queue.ErrNotFound), NotFound, ""},
		"a bad cursor":            {fmt.Errorf("x: %w", queue.ErrBadCursor), BadRequest, "cursor"},
		"a full disk":             {fmt.Errorf("%w (%w)", queue.ErrUnavailable, queue.ErrNoSpace), DiskFull, ""},
		"a broken store":          {queue.ErrUnavailable, Internal, ""},
		"a name of a token":       {&access.InputError{Field: "name", Reason: "letters"}, BadRequest, "name"},
		"a taken name":            {&access.TakenError{Kind: "token", Name: "erp"}, Conflict, "name"},
		"a body without end":      {&http.MaxBytesError{Limit: 5}, TooLarge, ""},
		"a client that left":      {context.Canceled, Internal, ""},
		"anything else":           {errBroken, Internal, ""},
	} {
		if p := ProblemOf(c.err); p.Slug != c.want || p.Field != c.field {
			t.Errorf("%s: %s, field %q; want %s, field %q", name, p.Slug, p.Field, c.want, c.field)
		}
	}
}

func TestAProblemTellsNothingOfOurInside(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := httptest.NewRecorder()
	b.identified(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { b.refuse(w, r, errBroken) })).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/x", nil))
	p := answer{t, w.Code, w.Result().Header, w.Body.Bytes()}.problem(Internal)
	if strings.Contains(w.Body.String(), "secret") {
		t.Errorf("the answer: %s", w.Body)
	}
	if log := b.log.String(); !strings.Contains(log, "/secret/place") || !strings.Contains(log, p.RequestID) {
		t.Errorf("the log does not say why: %s", log)
	}
}

func TestRetryAfterIsRoundedUp(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := httptest.NewRecorder()
	b.refuse(w, httptest.NewRequest(http.MethodGet, "/x", nil), &Problem{Slug: Backlog, Detail: "x", RetryAfter: 1500 * time.Millisecond})
	if got := w.Header().Get("Retry-After"); got != "2" {
		t.Errorf("Retry-After %q, want 2", got)
	}
}

func TestSlugsOfRoutesAreKnown(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	used := map[Slug]bool{}
	for _, s := range general {
		used[s] = true
	}
	for _, r := range b.routes() {
		for _, s := range r.also {
			used[s] = true
		}
	}
	used[MethodNotAllowed] = true // of every path
	for s := range maps.Keys(used) {
		if _, known := slugs[s]; !known {
			t.Errorf("a route names %s", s)
		}
	}
	for s := range slugs {
		if !used[s] {
			t.Errorf("no route names %s", s)
		}
	}
}
