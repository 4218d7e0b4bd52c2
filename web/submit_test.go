package web

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"edigw/access"
	"edigw/fault"
	"edigw/queue"
)

const documents = Base + "/partners/northwind/messages"

func TestADocumentIsAccepted(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	got := b.as(access.Send, http.MethodPost, documents, "ISA*00*~", "Idempotency-Key", "INV-20931-v3", "Content-Type", "application/edi-x12",
		"Content-Disposition", `attachment; filename="invoice 20931.edi"`, "Deliver-By", "4h", "Correlation-Id", "C-1").want(http.StatusAccepted)
	var m message
	got.json(&m)
	if got.header.Get("Location") != Base+"/messages/"+m.ID || got.header.Get("Idempotency-Replayed") != "" {
		t.Errorf("headers %v", got.header)
	}
	if m.State != "queued" || m.Key != "INV-20931-v3" || m.Partner != "northwind" || m.Size != 8 || len(m.SHA256) != 64 || m.MessageID == "" {
		t.Errorf("message %+v", m)
	}
	d := b.intake.got[0]
	want := Document{Partner: "northwind", Key: "INV-20931-v3", FileName: "invoice 20931.edi", ContentType: "application/edi-x12", CorrelationID: "C-1",
		DeliverBy: now.Add(4 * time.Hour), Source: "api", Size: 8}
	want.Actor = d.Actor
	equal(t, "document", want, d)
	if d.Actor.Name != "only-send" || d.Actor.From != "192.0.2.1" {
		t.Errorf("actor %+v", d.Actor)
	}
}

func TestTheSameDocumentAgainIsTheStoredResult(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var first, second message
	b.as(access.Send, http.MethodPost, documents, "ISA*00*~", "Idempotency-Key", "K1").want(http.StatusAccepted).json(&first)
	got := b.as(access.Send, http.MethodPost, documents, "ISA*00*~", "Idempotency-Key", "K1").want(http.StatusOK).json(&second)
	if got.header.Get("Idempotency-Replayed") != "true" || second.ID != first.ID {
		t.Errorf("headers %v, message %s, first %s", got.header, second.ID, first.ID)
	}
	p := b.as(access.Send, http.MethodPost, documents, "other", "Idempotency-Key", "K1").problem(KeyReused)
	if p.Field != "Idempotency-Key" {
		t.Errorf("field %q", p.Field)
	}
}

func TestACorrectedDocumentSaysWhatItReplaces(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var first, second submitted
	b.intake.derived = "x12:000020931"
	b.as(access.Send, http.MethodPost, documents, "ISA*00*~").want(http.StatusAccepted).json(&first)
	b.as(access.Send, http.MethodPost, documents, "ISA*00*CORRECTED~").want(http.StatusAccepted).json(&second)
	if len(first.Supersedes) != 0 || first.State != "queued" {
		t.Errorf("the first: %+v", first)
	}
	equal(t, "replaced", []string{first.ID}, second.Supersedes)
}

// TestATokenThatSendsReadsItsOwn: it may follow the Location that it was given,
// and nothing else.
func TestATokenThatSendsReadsItsOwn(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var m message
	where := b.as(access.Send, http.MethodPost, documents, "ISA*00*~").want(http.StatusAccepted).json(&m).header.Get("Location")
	var got wholeMessage
	b.as(access.Send, http.MethodGet, where, "").want(http.StatusOK).json(&got)
	if got.ID != m.ID || len(got.Timeline) == 0 {
		t.Errorf("got %+v", got)
	}
	other := b.as(access.Admin, http.MethodPost, documents, "another").want(http.StatusAccepted).header.Get("Location")
	dead := b.bury("northwind", "a")
	for name, path := range map[string]string{
		"another token's":       other,
		"one without a token":   Base + "/messages/" + dead.ID,
		"one that is not there": Base + "/messages/m9",
		"its payload":           where + "/payload",
		"its evidence":          where + "/evidence",
		"the list":              Base + "/messages",
	} {
		if p := b.as(access.Send, http.MethodGet, path, "").problem(Forbidden); p.Detail != "This needs the scope read, which token only-send has not." {
			t.Errorf("%s: %s", name, p.Detail)
		}
	}
}

func TestWhatATokenHandedIn(t *testing.T) {
	t.Parallel()
	m := queue.Message{Source: "api", Actor: fault.Actor{Name: "erp", From: "192.0.2.1"}, Accepted: now}
	for name, c := range map[string]struct {
		who  identity
		m    queue.Message
		want bool
	}{
		"its own, from elsewhere":      {identity{fault.Actor{Name: "erp", From: "192.0.2.9"}, []access.Scope{access.Send}, now}, m, true},
		"another token":                {identity{fault.Actor{Name: "wms"}, []access.Scope{access.Send}, now}, m, false},
		"made anew under the name":     {identity{fault.Actor{Name: "erp"}, []access.Scope{access.Send}, now.Add(1)}, m, false},
		"it may not send any more":     {identity{fault.Actor{Name: "erp"}, nil, now}, m, false},
		"a person of the name sent it": {identity{fault.Actor{Name: "erp"}, []access.Scope{access.Send}, now}, queue.Message{Source: "api", Actor: fault.Actor{Name: "erp", Role: "operator"}, Accepted: now}, false},
		"it came by the outbox":        {identity{fault.Actor{Name: "outbox"}, []access.Scope{access.Send}, now}, queue.Message{Source: "outbox", Actor: fault.Actor{Name: "outbox"}, Accepted: now}, false},
	} {
		if got := c.who.handedIn(c.m); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestTheRequestIDIsTheCorrelationID(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	got := b.as(access.Send, http.MethodPost, documents, "a").want(http.StatusAccepted)
	if id := b.intake.got[0].CorrelationID; id == "" || id != got.header.Get("X-Request-Id") {
		t.Errorf("correlation id %q, request id %q", id, got.header.Get("X-Request-Id"))
	}
}

func TestHeadersOfADocumentAreChecked(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for name, c := range map[string][]string{
		"a deadline that is none":  {"Deliver-By", "soon"},
		"no length of time at all": {"Deliver-By", "0s"},
		"a date before 1970":       {"Deliver-By", "0001-01-01T00:00:00Z"},
		"a key that is empty":      {"Idempotency-Key", ""},
		"two keys":                 {"Idempotency-Key", "a", "Idempotency-Key", "b"},
		"a name that is none":      {"Content-Disposition", `attachment; filename="`},
	} {
		p := b.as(access.Send, http.MethodPost, documents, "a", c...).problem(BadRequest)
		if p.Field != c[0] {
			t.Errorf("%s: field %q", name, p.Field)
		}
	}
	if len(b.intake.got) != 0 {
		t.Error("a refused document was handed in")
	}
}

func TestAFileNameMayHaveAnyLetters(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.as(access.Send, http.MethodPost, documents, "a", "Content-Disposition", "attachment; filename*=UTF-8''%E2%82%AC%20rechnung.edi").want(http.StatusAccepted)
	if got := b.intake.got[0].FileName; got != "€ rechnung.edi" {
		t.Errorf("file name %q", got)
	}
}

// TestRefusalsAtTheDoorKeepTheirStatus covers every answer of the call.
func TestRefusalsAtTheDoorKeepTheirStatus(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for slug, status := range map[Slug]int{
		InProgress: 409, KeyReused: 422, NoProperties: 422, ReservedProperty: 422, MissingProperty: 422, WrongStage: 422, TooLate: 422, Empty: 422, NotFound: 404, TooLarge: 413, Backlog: 429, DiskFull: 507, BadRequest: 400, Stopping: 503,
	} {
		b.intake.refuse = &Problem{Slug: slug, Detail: "No.", Field: "x", RetryAfter: 30 * time.Second, Message: "m000009"}
		got := b.as(access.Send, http.MethodPost, documents, "a").want(status)
		if p := got.problem(slug); p.Message != "m000009" || p.Field != "x" || got.header.Get("Retry-After") != "30" {
			t.Errorf("%s: %s, Retry-After %q", slug, got.body, got.header.Get("Retry-After"))
		}
	}
	b.intake.refuse = errBroken
	b.as(access.Send, http.MethodPost, documents, "a").problem(Internal)
}

// TestATokenLearnsNothingOfAnothersKey: neither the record nor whether the
// content is the same. Who may read, and who handed it in, is told.
func TestATokenLearnsNothingOfAnothersKey(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.as(access.Admin, http.MethodPost, documents, "ours", "Idempotency-Key", "ours-1").want(http.StatusAccepted)
	stored, _, err := b.store.Messages(t.Context(), queue.MessageFilter{}, queue.Page{Limit: 1})
	if err != nil || len(stored) != 1 {
		t.Fatalf("%+v, %v", stored, err)
	}
	m, key := stored[0], "ours-1"
	held := &Problem{Slug: KeyReused, Detail: "Key " + key + " belongs to message " + m.ID + ".", Holder: m}
	for name, refusal := range map[string]error{"same content": nil, "other content": held} {
		b.intake.refuse = refusal
		p := b.as(access.Send, http.MethodPost, documents, "ours", "Idempotency-Key", key).problem(KeyReused)
		if strings.Contains(p.Detail, m.ID) || p.Message != "" || !strings.Contains(p.Detail, key) {
			t.Errorf("%s: %+v", name, p)
		}
	}
	b.intake.refuse = held
	if p := b.as(access.Admin, http.MethodPost, documents, "ours", "Idempotency-Key", key).problem(KeyReused); !strings.Contains(p.Detail, m.ID) {
		t.Errorf("who may read learns too little: %+v", p)
	}
	b.intake.refuse = nil
	b.as(access.Send, http.MethodPost, documents, "mine", "Idempotency-Key", "mine-1").want(http.StatusAccepted)
	b.as(access.Send, http.MethodPost, documents, "mine", "Idempotency-Key", "mine-1").want(http.StatusOK)
}
