package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"edigw/access"
	"edigw/dlq"
	"edigw/internal/words"
	"edigw/queue"
)

// Slug names a kind of problem (docs/errors.md, part 3). Slugs never change.
type Slug string

// Slugs.
const (
	KeyReused        Slug = "key-reused"
	NoProperties     Slug = "no-properties"
	ReservedProperty Slug = "reserved-property"
	MissingProperty  Slug = "missing-property"
	WrongStage       Slug = "wrong-stage"
	TooLate          Slug = "too-late"
	Empty            Slug = "empty"
	BadParts         Slug = "bad-parts"
	InProgress       Slug = "in-progress"
	Backlog          Slug = "backlog"
	DiskFull         Slug = "disk-full"
	TooLarge         Slug = "too-large"
	NotFound         Slug = "not-found"
	Unauthorized     Slug = "unauthorized"
	Forbidden        Slug = "forbidden"
	MethodNotAllowed Slug = "method-not-allowed"
	BadRequest       Slug = "bad-request"
	ConfirmNeeded    Slug = "confirm-needed"
	Conflict         Slug = "conflict"
	NothingSelected  Slug = "nothing-selected"
	StillRefused     Slug = "still-refused"
	Stopping         Slug = "stopping"
	Internal         Slug = "internal"
)

// slugs is the only place where a problem gets its status and title.
var slugs = map[Slug]struct {
	status int
	title  string
}{
	KeyReused:        {http.StatusUnprocessableEntity, "Key belongs to another document"},
	NoProperties:     {http.StatusUnprocessableEntity, "No properties in AS2"},
	ReservedProperty: {http.StatusUnprocessableEntity, "Property is filled in by edigw"},
	MissingProperty:  {http.StatusUnprocessableEntity, "Property is missing"},
	WrongStage:       {http.StatusUnprocessableEntity, "Not at this stage of the partner"},
	TooLate:          {http.StatusUnprocessableEntity, "Deadline has passed"},
	Empty:            {http.StatusUnprocessableEntity, "Document is empty"},
	BadParts:         {http.StatusUnprocessableEntity, "Files cannot be taken apart"},
	InProgress:       {http.StatusConflict, "First request with this key still running"},
	Backlog:          {http.StatusTooManyRequests, "Too many documents wait for this partner"},
	DiskFull:         {http.StatusInsufficientStorage, "No room on the disk"},
	TooLarge:         {http.StatusRequestEntityTooLarge, "Too large"},
	NotFound:         {http.StatusNotFound, "Not found"},
	Unauthorized:     {http.StatusUnauthorized, "No valid token"},
	Forbidden:        {http.StatusForbidden, "Not allowed"},
	MethodNotAllowed: {http.StatusMethodNotAllowed, "Method not allowed"},
	BadRequest:       {http.StatusBadRequest, "Request cannot be read"},
	ConfirmNeeded:    {http.StatusPreconditionRequired, "To be confirmed first"},
	Conflict:         {http.StatusConflict, "Not possible any more"},
	NothingSelected:  {http.StatusUnprocessableEntity, "Nothing selected"},
	StillRefused:     {http.StatusUnprocessableEntity, "Still refused"},
	Stopping:         {http.StatusServiceUnavailable, "Gateway is stopping"},
	Internal:         {http.StatusInternalServerError, "Failed on our side"},
}

// Status is the HTTP status of a kind of problem.
func (s Slug) Status() int { return slugs[s].status }

// Title is what a kind of problem is called.
func (s Slug) Title() string { return slugs[s].title }

// Problem says why a request was refused; it is written as RFC 9457 has it.
// Whoever the API asks may return one as an error. Nothing was changed.
type Problem struct {
	Slug       Slug
	Detail     string         // what was wrong, in a sentence; never a secret, never payload
	Field      string         // header, parameter or member at fault, empty if none
	RetryAfter time.Duration  // the same request may succeed later; 0: it will not by itself
	Confirm    []string       // codes to be confirmed
	Counts     map[string]int // bulk: letters with each code
	Letter     string         // that it is about, empty if none
	Message    string         // that it is about, or that the refusal was recorded as
	By         string         // who was faster
	At         time.Time      // when
	Holder     queue.Message  // KeyReused: whose key it is; for who may see it, never on the wire
	Allow      []string       // methods that the path has
	Err        error          // cause, for the log only
}

// Error is the detail.
func (p *Problem) Error() string { return p.Detail }

// Unwrap gives the cause.
func (p *Problem) Unwrap() error { return p.Err }

// problemView is a problem on the wire.
type problemView struct {
	Type      string         `json:"type" doc:"ends in a stable slug, see docs/errors.md"`
	Title     string         `json:"title"`
	Status    int            `json:"status"`
	Detail    string         `json:"detail"`
	RequestID string         `json:"request_id" doc:"stands in the log too"`
	Field     string         `json:"field,omitempty" doc:"header, parameter or member at fault"`
	Confirm   []string       `json:"confirm,omitempty" doc:"codes to be confirmed first"`
	Counts    map[string]int `json:"counts,omitempty" doc:"letters with each code"`
	Letter    string         `json:"letter,omitempty"`
	Message   string         `json:"message,omitempty"`
	By        string         `json:"by,omitempty" doc:"who was faster"`
	At        *time.Time     `json:"at,omitempty"`
}

func bad(field, detail string, args ...any) *Problem {
	return &Problem{Slug: BadRequest, Field: field, Detail: fmt.Sprintf(detail, args...)}
}

func missing(what, name string) *Problem {
	return &Problem{Slug: NotFound, Detail: fmt.Sprintf("There is no %s %.80q.", what, name)}
}

// absent names what a record that is not there was asked for as.
func absent(err error, what, name string) error {
	if isAbsent(err) {
		return missing(what, name)
	}
	return err
}

func isAbsent(err error) bool { return errors.Is(err, queue.ErrNotFound) }

// ProblemOf turns any error into a problem. What nobody knows is our own
// defect.
func ProblemOf(err error) *Problem {
	var (
		problem  *Problem
		input    *dlq.InputError
		confirm  *dlq.ConfirmError
		conflict *dlq.ConflictError
		move     *queue.MoveError
		field    *access.InputError
		taken    *access.TakenError
		tooLarge *http.MaxBytesError
	)
	switch {
	case errors.As(err, &problem):
		return problem
	case errors.As(err, &input):
		return bad(input.Field, "%s.", capital(input.Reason))
	case errors.As(err, &confirm):
		return confirmNeeded(confirm)
	case errors.As(err, &conflict):
		p := &Problem{Slug: Conflict, Detail: conflict.Text, Letter: conflict.Letter, Message: conflict.Message, At: conflict.At}
		if !conflict.By.Gateway() {
			p.By = conflict.By.Name
		}
		return p
	case errors.As(err, &move):
		return &Problem{Slug: Conflict, Detail: capital(move.Error()) + ".", Message: move.Message}
	case errors.As(err, &field):
		return bad(field.Field, "%s.", capital(field.Reason))
	case errors.As(err, &taken):
		return &Problem{Slug: Conflict, Field: "name", Detail: capital(taken.Error()) + "."}
	case errors.As(err, &tooLarge):
		return &Problem{Slug: TooLarge, Detail: fmt.Sprintf("The body has more than %d bytes.", tooLarge.Limit)}
	case errors.Is(err, dlq.ErrNothingSelected):
		return &Problem{Slug: NothingSelected, Detail: capital(dlq.ErrNothingSelected.Error()) + "."}
	case errors.Is(err, dlq.ErrOnlyReceived):
		return &Problem{Slug: NothingSelected, Detail: capital(dlq.ErrOnlyReceived.Error()) + "."}
	case errors.Is(err, queue.ErrBadCursor):
		return bad("cursor", "This is no cursor of this list: begin without one.")
	case errors.Is(err, queue.ErrNotFound):
		return &Problem{Slug: NotFound, Detail: "There is no such record. Ids are case-sensitive."}
	case errors.Is(err, queue.ErrConflict):
		return &Problem{Slug: Conflict, Detail: "Somebody else changed this at the same moment. Read it again and decide anew; nothing was done."}
	case errors.Is(err, queue.ErrNoSpace):
		return &Problem{Slug: DiskFull, Detail: "There is no room to record this safely; nothing was done.", RetryAfter: 30 * time.Second, Err: err}
	}
	return &Problem{Slug: Internal, Detail: "The gateway could not do this. The log says why, under the request id.", Err: err}
}

func confirmNeeded(e *dlq.ConfirmError) *Problem {
	p := &Problem{Slug: ConfirmNeeded, Detail: "Check, then repeat with the codes in confirm."}
	for _, c := range e.Codes {
		p.Confirm = append(p.Confirm, string(c))
		p.Detail += " " + string(c) + ": " + words.Confirm(string(c))
	}
	if e.Counts != nil {
		p.Counts = map[string]int{}
		for c, n := range e.Counts {
			p.Counts[string(c)] = n
		}
	}
	return p
}

// capital makes the beginning of a sentence.
func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// refuse answers a request with a problem and logs what nobody else will.
func (a *API) refuse(w http.ResponseWriter, r *http.Request, err error) {
	p := ProblemOf(err)
	f, known := slugs[p.Slug]
	if !known {
		p = &Problem{Slug: Internal, Detail: p.Detail, Err: fmt.Errorf("unknown slug %q", p.Slug)}
		f = slugs[Internal]
	}
	id := RequestID(r.Context())
	if p.Slug == Internal && !errors.Is(err, context.Canceled) {
		a.Log.Error("a request failed", keyRequest, id, keyPath, r.URL.Path, keyErr, err)
	}
	h := w.Header()
	if p.RetryAfter > 0 {
		h.Set("Retry-After", strconv.FormatInt(int64(math.Ceil(p.RetryAfter.Seconds())), 10))
	}
	if len(p.Allow) > 0 {
		h.Set("Allow", strings.Join(p.Allow, ", ")) // RFC 9110 §15.5.6
	}
	if p.Slug == Unauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="edigw"`) // RFC 6750 §3
	}
	body, err := json.Marshal(problemView{
		Type: "/problems/" + string(p.Slug), Title: f.title, Status: f.status, Detail: p.Detail, RequestID: id, Field: p.Field,
		Confirm: p.Confirm, Counts: p.Counts, Letter: p.Letter, Message: p.Message, By: p.By, At: when(p.At),
	})
	if err != nil {
		a.Log.Error("a problem cannot be written", keyRequest, id, keyErr, err)
	}
	h.Set("Content-Type", "application/problem+json") // RFC 9457 §3
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(f.status)
	w.Write(body)
}
