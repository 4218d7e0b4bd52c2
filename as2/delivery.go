package as2

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"

	"edigw/as2/smime"
)

// delivery is one message on its way into the inbox.
type delivery struct {
	h       *Handler
	q       request
	a       Agreement
	partner string
	wire    *scratch
	sum     string // SHA-256 of wire
	space   *space
	opener  opener
}

// receive opens a message, has it kept with its answer, then answers.
func (h *Handler) receive(w http.ResponseWriter, r *http.Request, d *delivery) {
	rec := Received{
		Partner: d.partner, From: d.q.from, To: d.q.to, MessageID: d.q.messageID, Subject: d.q.subject, At: h.o.Now(),
		Accepted: true, Disposition: processed(),
		Header: withoutCredentials(r.Header), Wire: d.wire.open(), WireSize: d.wire.size, WireSHA256: d.sum,
	}
	var no *refusal
	switch err := d.open(r.Header, &rec); {
	case errors.As(err, &no):
		rec.Accepted, rec.Disposition, rec.Reason, rec.Problem = false, no.disposition, no.reason, no.problem
		rec.Payload, rec.Signer, rec.MIC = nil, "", MIC{}
	case err != nil:
		h.unavailable(w, d.partner, "open message", err)
		return
	}
	if d.q.wantsMDN {
		mic := &rec.MIC
		if !rec.Accepted {
			mic = nil
		}
		answer, err := h.answerer().answer(d.q, &d.a, rec.Disposition, mic)
		if err != nil {
			h.unavailable(w, d.partner, "make receipt", err)
			return
		}
		if allowedURL(d.q.receiptURL, d.a.Receive.ReceiptURLs) {
			answer.URL = d.q.receiptURL
		}
		rec.Answer = answer
	}
	h.keep(r.Context(), w, rec)
}

// keep has the message made durable and answers it; a duplicate gets the answer
// that its first copy got (RFC 4130 §5.5).
func (h *Handler) keep(ctx context.Context, w http.ResponseWriter, rec Received) {
	stored, duplicate, err := h.o.Inbox.Receive(ctx, rec)
	if err != nil {
		h.unavailable(w, rec.Partner, "keep message", err)
		return
	}
	answer := rec.Answer
	if duplicate && stored != nil {
		answer = stored
	}
	switch {
	case answer != nil && answer.URL == "":
		answer.send(w)
	case answer != nil || rec.Accepted || duplicate:
		w.WriteHeader(http.StatusOK)
	default:
		// Without an MDN the status is the only word that the sender gets.
		http.Error(w, rec.Disposition.State()+". "+refusalTexts[rec.Disposition.Text], http.StatusForbidden)
	}
}

// open takes the message apart and fills in what it holds. The error is a
// *refusal, or a fault of ours.
func (d *delivery) open(header http.Header, rec *Received) error {
	if rec.MessageID == "" {
		return refuse(unexpectedError, "the Message-ID is missing, or holds blanks or control characters")
	}
	if err := d.q.checkReceipt(d.a); err != nil {
		return err
	}
	o := &d.opener
	o.a, o.space, o.limits = d.a, d.space, smime.Limits{InflateTotal: d.h.o.Body}
	outer, err := httpPart(header, d.wire.open)
	if err != nil {
		return refuseLayer(err, unexpectedError)
	}
	err = o.open(outer)
	rec.Encrypted, rec.Compressed, rec.Signed = o.encrypted, o.compressed, o.signature != nil
	if err != nil {
		return err
	}
	if err := o.checkSecurity(); err != nil {
		return err
	}
	if o.signature != nil {
		rec.Signer = smime.Fingerprint(o.signature.Signer)
	}
	if rec.MIC, err = o.receivedMIC(d.q); err != nil {
		return refuseLayer(err, o.other())
	}
	return o.describe(rec)
}

// describe reads the document once, so that it is known to be whole, and hands
// it over to be read again.
func (o *opener) describe(rec *Received) error {
	content, err := o.document.content()
	if err != nil {
		return refuseLayer(err, o.other())
	}
	sum := sha256.New()
	if rec.Size, err = copyAll(sum, content); err != nil {
		return refuseLayer(err, o.other())
	}
	rec.SHA256 = hex.EncodeToString(sum.Sum(nil))
	rec.ContentType = clip(cleanText(o.document.contentType), maxWords)
	rec.FileName = o.document.fileName
	rec.Payload, err = o.document.content()
	return err
}

// receivedMIC is the digest that the sender expects back: that of the signature
// (RFC 4130 §7.4.3), else of what table RFC 4130 §7.3.1, RFC 5402 §4 says.
func (o *opener) receivedMIC(q request) (MIC, error) {
	if o.signature != nil {
		m := newMIC(o.signature.Hash, o.signature.Digest)
		m.Algorithm = q.spell(o.signature.Hash)
		return m, nil
	}
	h := q.unsignedMIC()
	sum := newDigester(h)
	covered := func() (io.Reader, error) { return o.raw.open(), nil }
	if o.raw == nil {
		covered = o.document.content // a plain message: the content alone
	}
	r, err := covered()
	if err == nil {
		_, err = copyAll(sum, r)
	}
	m := newMIC(h, sum.sum(h))
	m.Algorithm = q.spell(h)
	return m, err
}

// checkSecurity refuses what is less than agreed. Policy looks at the
// SignerInfo, not at micalg.
func (o *opener) checkSecurity() error {
	want := o.a.Receive
	weakest := want.Digest
	if weakest == 0 {
		weakest = fallbackDigest
	}
	switch {
	case want.Encrypted && !o.encrypted:
		return refuse(insufficientSecurity, "the message is not encrypted, which as2.receive.require demands")
	case want.Signed && o.signature == nil:
		return refuse(insufficientSecurity, "the message is not signed, which as2.receive.require demands")
	case o.signature != nil && o.signature.Hash.Size() < weakest.Size():
		return refuse(insufficientSecurity, "the signature uses %s, which is weaker than as2.receive.digest allows", smime.HashName(o.signature.Hash))
	}
	return nil
}
