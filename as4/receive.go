package as4

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"edigw/as4/ebms"
	"edigw/as4/wssec"
	"edigw/internal/door"
	"edigw/internal/scratch"
	"edigw/internal/tame"

	"github.com/beevik/etree"
)

// delivery is one user message on its way into the inbox.
type delivery struct {
	h       *Handler
	framing framing
	env     *ebms.Envelope
	p       PMode
	partner string
	problem error // what is wrong with it that was found before it was opened, to be told if its signature holds; nil: nothing
	header  http.Header
	wire    func() io.Reader
	layer   *scratch.Layer // that wire reads; nil: it lies elsewhere
	size    int64
	sum     string // SHA-256 of wire
	space   *scratch.Space
	pulled  bool

	// What becomes of the parts on their way, each step of all of them in one
	// layer: they may be many.
	aside    *scratch.Layer // without transfer encoding, where they had one
	plain    *scratch.Layer // decrypted
	unpacked *scratch.Layer // decompressed, or out of the Body

	parts      map[string]*attachment // by Content-ID
	report     *wssec.Report          // of the signature; nil: there is none
	stranger   bool                   // it is by nobody on file
	sealed     map[string]bool        // Content-IDs of what came encrypted
	sealedBody bool                   // the Body did
	warnings   []string
	duplicate  bool // it was accepted before
}

// message receives a user message, and the signals beside it. found is what is
// wrong with its header, nil if nothing is.
func (q *request) message(found error) {
	d, err := q.h.delivery(q.env, found)
	switch {
	case errors.Is(err, ErrNoPMode):
		q.turnAway(found)
		return
	case err != nil:
		q.unavailable("", "find the P-Mode", err)
		return
	}
	if d.p.Receive.Clients != nil && !door.Shows(q.r.TLS, d.p.Receive.Clients) {
		q.unproven(d.partner)
		return
	}
	if !q.identified(d.partner) {
		return
	}
	if err := q.rest(d.partner); err != nil {
		if !q.transport(err) {
			q.unavailable(d.partner, "read message", err)
		}
		return
	}
	if err := q.acknowledge(q.r.Context()); err != nil {
		q.h.unavailable(q.w, d.partner, "keep signal", err)
		return
	}
	d.framing, d.header, d.space = q.framing, q.r.Header, q.upload.space
	d.wire, d.layer, d.size, d.sum = q.upload.wire, q.upload.layer, q.upload.layer.Size(), q.upload.digest()
	answer, _, err := d.receive(q.r.Context())
	if err != nil {
		q.h.unavailable(q.w, d.partner, "receive message", err)
		return
	}
	answer.send(q.w)
}

// identified tells whose request it is, and answers it if he sends too many at
// once.
func (q *request) identified(partner string) bool {
	if q.h.o.Identified == nil || q.h.o.Identified(q.r, partner) {
		return true
	}
	q.unavailable(partner, "read message", errCrowd)
	return false
}

// errCrowd is why a message is put off whose partner sends too many at once.
var errCrowd = errors.New("too many requests of the partner at once")

// rest reads what stands behind the envelope, on the partner's account.
func (q *request) rest(partner string) error {
	if err := q.upload.charge(q.h.space(q.r, partner), q.r.ContentLength); err != nil {
		return err
	}
	return q.upload.finish()
}

// excused reports whether the message is to the test service, which every
// P-Mode has besides its own (ebMS 3.0 Core §5.2.2).
func (e *MismatchError) excused(u *ebms.UserMessage) bool {
	return u.Test() && (e.Field == "Service" || e.Field == "Action")
}

// receive opens a message, has it kept with its answer, and gives the answer
// that is due in the response, nil is none, and what became of the message. The
// error is a fault of ours.
func (d *delivery) receive(ctx context.Context) (*Answer, Received, error) {
	rec, err := d.examine()
	if err != nil {
		return nil, rec, err
	}
	if d.env.User.Test() {
		return d.tested(rec), rec, nil
	}
	answer, err := d.keep(ctx, &rec)
	return answer, rec, err
}

// tested answers a message to the test service, which goes nowhere: there is no
// document in it that anybody could want, so one that is refused leaves a line
// in the log and no letter. Its receipt goes into the response whatever was
// settled: nothing is kept that could be owed.
func (d *delivery) tested(rec Received) *Answer {
	if !rec.Accepted {
		d.h.failedTest(rec)
	} else if d.h.o.Tested != nil {
		d.h.o.Tested(d.partner)
	}
	if rec.Answer != nil && rec.Answer.URL != "" {
		rec.Answer.URL, rec.Answer.Status = "", http.StatusOK
	}
	return rec.Answer
}

// failedTest tells of a message to the test service that was refused, once a
// minute of each partner.
func (h *Handler) failedTest(rec Received) {
	if n, tell := h.tests.Comes(rec.Partner, "", rec.At); tell {
		h.o.Log.Warn("AS4 message to the test service refused", "partner", rec.Partner, "message_id", tame.Clip(rec.MessageID, maxShown), "code", rec.Code, "problem", tame.Clip(tame.Line(rec.Problem), 2*maxShown), "since_last_line", n)
	}
}

// keep has the message made durable and gives the answer that is due; a
// duplicate gets the answer that its first copy got (AS4 §3.2).
func (d *delivery) keep(ctx context.Context, rec *Received) (*Answer, error) {
	stored, duplicate, err := d.h.o.Inbox.Receive(ctx, *rec)
	d.duplicate = duplicate && err == nil
	switch {
	case errors.Is(err, ErrReused):
		no := &refusal{code: codeOther, told: ErrReused.Error(), problem: ErrReused.Error()}
		rec.Accepted, rec.Code, rec.Problem = false, no.code, no.problem
		return no.answer(d.h, d.p, d.env.User.MessageID)
	case err != nil:
		return nil, err
	case duplicate && (stored != nil || !rec.Accepted):
		// The first copy is with its reader: that this one would be refused
		// today must not be told.
		return stored, nil
	}
	return rec.Answer, nil
}

// examine opens a message and makes the answer to it. The error is a fault of
// ours.
func (d *delivery) examine() (Received, error) {
	u := d.env.User
	rec := Received{
		Partner: d.partner, MessageID: bareID(u.MessageID), User: *u, At: d.h.o.Now(), Accepted: true, Pulled: d.pulled,
		Header: door.WithoutCredentials(d.header), Wire: d.wire(), WireSize: d.size, WireSHA256: d.sum,
	}
	var no *refusal
	err := d.open(&rec)
	rec.Report = reportLines(d.report)
	switch {
	case errors.As(err, &no):
		rec.Accepted, rec.Code, rec.Reason, rec.Problem = false, no.name(), no.reason(), no.problem
		rec.Payloads, rec.Signer = nil, ""
		rec.Answer, err = no.answer(d.h, d.p, u.MessageID)
	case err == nil:
		rec.Answer, err = d.receipt(rec.At)
	default:
		return rec, err
	}
	if err != nil {
		return rec, fmt.Errorf("make the answer: %w", err)
	}
	rec.Warning = strings.Join(d.warnings, "; ")
	if d.pulled && rec.Answer != nil {
		rec.Answer.URL, rec.Answer.Status = d.p.URL, 0 // there is no response to put it into
	}
	return rec, nil
}

// open takes the message apart and fills in what it holds, in the order of ebMS
// 3.0 Core §7.6 and AS4 §3.1: decrypt, verify, decompress. The error is a
// *refusal, or a fault of ours.
func (d *delivery) open(rec *Received) error {
	if ebms.CheckMessageID(rec.MessageID) != nil {
		rec.MessageID = ""
		if d.problem == nil {
			d.problem = refuse(codeHeader, "the MessageId is missing, or holds blanks or control characters")
		}
	}
	var err error
	d.aside, d.plain, d.unpacked = d.space.New(), d.space.New(), d.space.New()
	if d.parts, err = d.framing.readAttachments(d.wire(), d.layer, d.aside); err != nil {
		return refuseReading(err)
	}
	var broken *ebms.ProblemError
	if errors.As(d.problem, &broken) {
		return refuseReading(d.problem) // what is signed is not known to be what was meant
	}
	if err := d.checkAttached(); err != nil {
		return err
	}
	err = d.checkSecurity()
	rec.Encrypted, rec.Signed = len(d.sealed) > 0 || d.sealedBody, d.report != nil
	if err != nil {
		rec.Claims = d.claims()
		return err
	}
	if d.report != nil {
		rec.Signer = Fingerprint(d.report.Signer)
	}
	if d.problem != nil {
		return refuseReading(d.problem)
	}
	if err := d.checkParts(); err != nil {
		return err
	}
	return d.readPayloads(rec)
}

// receipt is due for a message that was taken; nil if none was settled. It names
// what the signature covers, as it stands in the message (AS4 §5.1.8).
func (d *delivery) receipt(now time.Time) (*Answer, error) {
	var references []*etree.Element
	if d.report != nil {
		references = d.report.SignedInfoReferences
	}
	return NewReceipt(d.p, NewSignalID(d.h.o.Domain), d.env.User, d.env.UserElement, references, now)
}
