package as2

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"

	"edigw/as2/smime"
	"edigw/internal/door"
	"edigw/internal/scratch"
	"edigw/internal/tame"
)

// delivery is one message on its way into the inbox.
type delivery struct {
	h       *Handler
	q       request
	a       Agreement
	partner string
	wire    func() io.Reader
	size    int64
	sum     string // SHA-256 of wire
	space   *scratch.Space
	opener  opener
}

// receive opens a message, has it kept with its answer, then answers.
func (h *Handler) receive(w http.ResponseWriter, r *http.Request, d *delivery) {
	rec, err := d.examine(r.Header)
	if err != nil {
		h.unavailable(w, d.partner, "open message", err)
		return
	}
	h.keep(r.Context(), w, rec)
}

// examine opens a message and makes the answer to it. The error is a fault of
// ours.
func (d *delivery) examine(header http.Header) (Received, error) {
	rec := Received{
		Partner: d.partner, From: d.q.from, To: d.q.to, MessageID: d.q.messageID, Subject: d.q.subject, At: d.h.o.Now(),
		Accepted: true, Disposition: processed(),
		Header: door.WithoutCredentials(header), Wire: d.wire(), WireSize: d.size, WireSHA256: d.sum,
	}
	write := d.h.answerer()
	var no *refusal
	switch err := d.told(d.open(header, &rec)); {
	case errors.As(err, &no):
		rec.Accepted, rec.Disposition, rec.Reason, rec.Problem = false, no.disposition, no.reason, no.problem
		rec.Payload, rec.Root, rec.Attachments, rec.Signer, rec.MIC = nil, nil, nil, "", MIC{}
		rec.Claims = claims(d.opener.signature)
		write.told = no.told
	case err != nil:
		return rec, err
	}
	if !d.q.wantsMDN {
		return rec, nil
	}
	if d.q.emptyURL {
		rec.Warning = "Receipt-Delivery-Option is there and empty: the receipt goes into the response"
	}
	mic := &rec.MIC
	if !rec.Accepted {
		mic = nil
	}
	answer, err := write.answer(d.q, &d.a, rec.Disposition, mic)
	if err != nil {
		return rec, fmt.Errorf("make receipt: %w", err)
	}
	if allowedURL(d.q.receiptURL, d.a.Receive.ReceiptURLs) {
		answer.URL = d.q.receiptURL
	}
	rec.Answer = answer
	return rec, nil
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
	if duplicate && (stored != nil || !rec.Accepted) {
		// The first copy is with its reader: that this one would be refused
		// today must not be told, even if the first asked for no receipt.
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
		text := unexpectedError
		if d.q.succeeds() {
			text = invalidMessageID
		}
		return refuse(text, "the Message-ID is missing, or holds blanks or control characters")
	}
	if err := d.q.checkReceipt(d.a); err != nil {
		return err
	}
	o := &d.opener
	o.a, o.space, o.limits = d.a, d.space, smime.Limits{InflateTotal: d.h.o.Body}
	outer, err := httpPart(header, d.wire)
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
	rec.ContentType = tame.Clip(tame.Line(o.document.contentType), maxWords)
	rec.FileName = o.document.fileName
	if rec.Payload, err = o.document.content(); err != nil {
		return err
	}
	return o.describeParts(rec)
}

// describeParts is describe for each part of a document of several.
func (o *opener) describeParts(rec *Received) error {
	all, root, err := o.document.attachments()
	if err != nil {
		return refuseLayer(err, o.other())
	}
	rec.Attachments = all
	if root >= 0 {
		rec.Root, err = o.document.nth(root)
	}
	return err
}

// receivedMIC is the digest that the sender expects back: that of the signature
// (RFC 4130 §7.4.3), else of what the table of RFC 4130 §7.3.1, RFC 5402 §4
// says and as2.receive.mic changes of it.
func (o *opener) receivedMIC(q request) (MIC, error) {
	if o.signature != nil {
		m := newMIC(o.signature.Hash, o.signature.Digest)
		m.Algorithm = q.spell(o.signature.Hash, o.micalg, o.a.digestName(o.signature.Hash))
		return m, nil
	}
	h := q.unsignedMIC(o.a.Receive.MIC)
	sum := newDigester(h)
	r, err := o.covered()
	if err == nil {
		_, err = copyAll(sum, r)
	}
	m := newMIC(h, sum.sum(h))
	m.Algorithm = q.spell(h, o.a.digestName(h))
	return m, err
}

// covered is what the MIC of a message that is not signed is over.
func (o *opener) covered() (io.Reader, error) {
	rules := o.a.Receive.MIC
	switch {
	case o.raw == nil && rules.EncodedBody:
		return o.document.body(), nil
	case o.raw == nil:
		return o.document.content() // a plain message: the content alone
	case o.compressed && !o.encrypted && rules.CompressedBody:
		return o.document.body(), nil // QUIRK(OpenAS2): without its headers
	}
	return o.raw.Open(), nil
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
