package intake

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"edigw/edi"
	"edigw/partner"
	"edigw/queue"
)

// Accept takes a document in, or says why not. It reads body once, to its end,
// and returns when document and message would survive a power cut: the caller
// may forget the document then. It blocks as long as body and disk do and ends
// early when ctx does. The caller closes body.
//
// The error is a *Refusal for all that the caller can understand or mend;
// anything else is a fault of the store or of ctx, after which the same
// request can be repeated safely.
func (in *Intake) Accept(ctx context.Context, r Request, body io.Reader) (Accepted, error) {
	if !in.enter() {
		return Accepted{}, refuse(Stopping, "", "The gateway is stopping.")
	}
	defer in.running.Done()
	r.FileName = cleanFileName(r.FileName)
	a := &arrival{in: in, r: r, settings: in.Settings(), key: r.Key}
	done, err := a.accept(ctx, body)
	var no *Refusal
	if errors.As(err, &no) {
		a.refused(ctx, no)
	}
	return done, err
}

// arrival is one document at the door.
type arrival struct {
	in       *Intake
	r        Request
	settings Settings
	partner  *partner.Partner // nil: unknown
	key      string           // given, later also derived
	checked  bool             // what the caller says can be stored as it is
	doc      *document        // nil until it was read
	digest   string           // of doc, once it is known
}

func (a *arrival) accept(ctx context.Context, body io.Reader) (Accepted, error) {
	if err := a.front(); err != nil {
		return Accepted{}, err
	}
	if a.key != "" {
		if err := a.hold(); err != nil {
			return Accepted{}, err
		}
		defer a.release()
	}
	// Where something came again a moment ago, the store is asked before the
	// bytes are made durable: a producer that loops leaves no files behind.
	wary := a.in.door.wary(a.partner.ID, a.in.Now())
	doc, err := readDocument(ctx, a.in.Spool, body, a.expected(wary))
	if err != nil {
		return Accepted{}, err
	}
	a.doc = doc
	defer doc.close()
	if err := a.inspect(); err != nil {
		return Accepted{}, err
	}
	if a.digest, err = doc.digest(); err != nil {
		return Accepted{}, err
	}
	if a.key == "" {
		if a.key, err = a.derive(); err != nil {
			return Accepted{}, err
		}
		if err := a.hold(); err != nil {
			return Accepted{}, err
		}
		defer a.release()
	}
	return a.admit(ctx, wary)
}

// expected is what is known of the document before it is read.
func (a *arrival) expected(wary bool) expectation {
	e := expectation{size: a.r.Size, limit: int64(a.settings.Gateway().Limits.Document), sum: wary}
	if isRelated(a.r.ContentType) {
		e.related = strings.TrimSpace(a.r.ContentType)
	}
	return e
}

// front checks what needs no document.
func (a *arrival) front() error {
	p, ok := a.settings.Partner(a.r.Partner)
	if !ok {
		return refuse(NotFound, "partner", "There is no partner %.80q.", a.r.Partner)
	}
	a.partner = p
	switch p.Stage {
	case partner.StageSetup:
		return refuse(WrongStage, "stage", "Partner %s is in setup: only connection tests are possible.", p.ID)
	case partner.StageRetired:
		return refuse(WrongStage, "stage", "Partner %s is retired and takes no new documents.", p.ID)
	}
	if err := a.r.check(); err != nil {
		return err
	}
	a.checked = true
	if err := a.fit(); err != nil {
		return err
	}
	return a.punctual()
}

func (a *arrival) punctual() error {
	if by := a.r.DeliverBy; !by.IsZero() && !by.After(a.in.Now()) {
		return refuse(TooLate, "Deliver-By", "The deadline %s has passed already.", by.UTC().Format(time.RFC3339))
	}
	return nil
}

// inspect checks what needs the document.
func (a *arrival) inspect() error {
	p, report := a.partner, a.doc.report
	switch {
	case a.doc.size == 0 && !p.AllowEmpty:
		return refuse(Empty, "", "The document has no bytes.")
	case p.CheckEnvelope && p.Stage == partner.StageTest && report.Production:
		return refuse(WrongStage, "stage", "This is a production interchange (%s), but partner %s has stage: test.", indicator(report.Kind, "P", "not 1"), p.ID)
	case p.CheckEnvelope && p.Stage != partner.StageTest && report.Test:
		return refuse(WrongStage, "stage", "This is a test interchange (%s), but partner %s has stage: %s.", indicator(report.Kind, "T", "1"), p.ID, p.Stage)
	}
	if err := a.punctual(); err != nil {
		return err
	}
	return room(a.in.Spool, wireSize(a.doc.size))
}

// indicator is the mark of test or production, as its format writes it.
func indicator(k edi.Kind, x12, edifact string) string {
	if k == edi.EDIFACT {
		return "UNB 0035 is " + edifact
	}
	return "ISA15 is " + x12
}

func (a *arrival) hold() error {
	if !a.in.keys.hold(key{a.partner.ID, a.key}) {
		return refuse(InProgress, "", "The first document with key %s is still being stored.", a.key)
	}
	return nil
}

func (a *arrival) release() { a.in.keys.release(key{a.partner.ID, a.key}) }

// derive makes the key of a document for which none was given.
func (a *arrival) derive() (string, error) {
	var sum [32]byte
	if _, err := hex.Decode(sum[:], []byte(a.digest)); err != nil {
		return "", fmt.Errorf("intake: %.80q is no digest: %w", a.digest, err)
	}
	return a.doc.report.DerivedKey(identified(sum, a.r.Properties), a.r.FileName), nil
}

// admit makes the message, by the rules of queue.Admit.
func (a *arrival) admit(ctx context.Context, wary bool) (Accepted, error) {
	arrival, err := a.message(a.r.ID)
	if err != nil {
		return Accepted{}, err
	}
	if wary {
		ad, known, err := a.foresee(ctx, arrival)
		if err != nil {
			return Accepted{}, err
		}
		if known {
			return a.answer(ad)
		}
	}
	if err := a.doc.commit(); err != nil {
		return Accepted{}, err
	}
	ad, err := a.in.Store.Accept(ctx, arrival)
	if errors.Is(err, queue.ErrConflict) { // the id is another document's
		if arrival, err = a.message(""); err == nil {
			ad, err = a.in.Store.Accept(ctx, arrival)
		}
	}
	switch {
	case errors.Is(err, queue.ErrNoSpace):
		return Accepted{}, refuse(DiskFull, "", "There is no room to store the message safely.")
	case err != nil:
		return Accepted{}, fmt.Errorf("intake: accept a document for %s: %w", a.partner.ID, err)
	}
	return a.answer(ad)
}

// foresee tells whether the store would make nothing of an arrival; its events
// are written at most once a minute for each key.
func (a *arrival) foresee(ctx context.Context, arrival queue.Arrival) (ad queue.Admission, known bool, err error) {
	m := arrival.Message
	editions, err := a.in.Store.Editions(ctx, m.Partner, m.Key)
	if err != nil {
		return ad, false, fmt.Errorf("intake: look up key %s of %s: %w", m.Key, m.Partner, err)
	}
	work, err := a.in.Store.LaneWork(ctx, m.Lane)
	if err != nil {
		return ad, false, fmt.Errorf("intake: look up what waits for %s: %w", m.Partner, err)
	}
	ad, err = queue.Admit(arrival, editions, queue.Backlog{Messages: work.Depth, Bytes: work.Bytes})
	if err != nil || ad.Outcome == queue.AdmitNew || ad.Outcome == queue.AdmitParked {
		return ad, false, err
	}
	if len(ad.Results) > 0 && a.in.door.first(m.Partner, m.Key, string(ad.Outcome), time.Minute, arrival.Now) {
		if err := a.in.Store.Record(ctx, &ad.Results[0]); err != nil {
			return ad, false, fmt.Errorf("intake: record a repeat of key %s of %s: %w", m.Key, m.Partner, err)
		}
	}
	return ad, true, nil
}

// answer tells the caller, and everybody else, what became of the document.
func (a *arrival) answer(ad queue.Admission) (Accepted, error) {
	in, m := a.in, ad.Message
	if ad.Outcome != queue.AdmitNew {
		in.door.alert(a.partner.ID, in.Now())
	}
	switch ad.Outcome {
	case queue.AdmitReused:
		other := "other content"
		if m.Payload.SHA256 == a.digest {
			other = "the same content, but other properties"
		}
		no := refuse(KeyReused, "Idempotency-Key", "Key %s belongs to message %s, which has %s.", m.Key, m.ID, other)
		no.Holder = m
		return Accepted{}, no
	case queue.AdmitFull:
		return Accepted{}, refuse(Backlog, "", "As many documents wait for partner %s as its backlog allows.", a.partner.ID)
	case queue.AdmitReplayed:
		in.repeats.WithLabelValues(m.Partner).Inc()
	default:
		for _, r := range ad.Results {
			if r.Message != nil {
				in.Count(*r.Message)
			}
		}
		in.Wake(m.Lane)
	}
	in.Log.Info("document accepted", keyPartner, m.Partner, keyMessage, m.ID, keyKey, m.Key, keyOutcome, ad.Outcome,
		keyState, m.State, keySource, a.r.Source, keyCorrelation, a.r.CorrelationID, keySize, a.doc.size)
	return Accepted{Message: m, Outcome: ad.Outcome, Supersedes: ad.Supersedes}, nil
}
