package as2

import (
	"bytes"
	"crypto"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"edigw/fault"
	"edigw/internal/rawmime"
	"edigw/internal/tame"
)

// Bounds on what an MDN may hold.
const (
	maxMDN       = 1 << 20 // the whole body
	maxPartHead  = 64 << 10
	maxMDNParts  = 8
	maxNesting   = 4 // multiparts in multiparts
	maxMDNFields = 64 << 10
	maxWords     = 1 << 10 // of the text for people
)

// MDN is a message disposition notification as it was received (RFC 4130 §7.4).
// What the partner wrote is bounded and free of control characters.
type MDN struct {
	From, To          string // AS2 names in its own header, unquoted; may be empty
	MessageID         string // its own; may be empty (QUIRK(OpenText))
	OriginalMessageID string // of the message that it is about
	Recipient         string // Final-Recipient without its address type
	Reporter          string // Reporting-UA
	Disposition       Disposition
	MIC               MIC    // as received; zero if it has none
	Text              string // the part for people, at most 1 KiB
	Signed            bool   // it carries a signature; the verdict says whether that is good
	Digest            crypto.Hash
	Problem           string // one sentence when the verdict is not trusted
}

// mdnError is a fault of an MDN and the verdict that it means.
type mdnError struct {
	verdict fault.AckVerdict
	why     string
}

// Error implements error.
func (e *mdnError) Error() string { return e.why }

func badMDN(verdict fault.AckVerdict, why string, args ...any) error {
	return &mdnError{verdict, fmt.Sprintf(why, args...)}
}

// errNoMDN: the content is something else.
var errNoMDN = errors.New("not an MDN")

// mdnReader takes an MDN apart and keeps the bytes that its signature covers.
type mdnReader struct {
	MDN
	part          []byte // exactly as it arrived
	signature     []byte // CMS
	notifications int
}

// ParseMDN reads an MDN without believing it: VerifyMDN judges. ok is false if
// the content is no MDN, or so broken that not even the message that it is
// about can be told.
func ParseMDN(header http.Header, body []byte) (m MDN, ok bool) {
	r, err := readMDN(header, body)
	return r.MDN, err == nil || !errors.Is(err, errNoMDN) && r.OriginalMessageID != ""
}

// readMDN takes an MDN apart as far as it can; the error is errNoMDN or an
// *mdnError.
func readMDN(header http.Header, body []byte) (mdnReader, error) {
	var r mdnReader
	err := r.read(header, body)
	if err == nil && r.notifications == 0 {
		err = badMDN(fault.AckMalformed, "The receipt has no part message/disposition-notification")
	}
	return r, err
}

func (r *mdnReader) read(header http.Header, body []byte) error {
	r.From, _ = ParseName(header.Get("AS2-From"))
	r.To, _ = ParseName(header.Get("AS2-To"))
	r.MessageID = tame.Clip(tame.Line(header.Get("Message-ID")), maxMessageID)
	mediaType, params, err := rawmime.ParseMediaType(header.Get("Content-Type"))
	if err != nil {
		return errNoMDN
	}
	switch mediaType {
	case "multipart/report":
		return r.readParts(bytes.NewReader(body), params["boundary"], 1)
	case "multipart/signed":
		r.Signed = true
		if err := r.readSigned(bytes.NewReader(body), params["boundary"]); err != nil {
			r.signature = nil // or what there is of it
			return err
		}
		return r.readEntity(bytes.NewReader(r.part), 1)
	case "message/disposition-notification":
		return r.readFields(bytes.NewReader(body))
	}
	return errNoMDN
}

// readSigned splits multipart/signed, which must have two parts (RFC 1847 §2.1).
func (r *mdnReader) readSigned(body *bytes.Reader, boundary string) error {
	size := body.Len()
	buffered, done := readHead(body)
	defer done()
	parts := rawmime.NewMultipart(buffered, boundary, 2)
	first, err := parts.Next()
	if err != nil {
		return mimeFault(err)
	}
	if r.part, err = readAll(first, size); err != nil {
		return mimeFault(err)
	}
	second, err := parts.Next()
	if errors.Is(err, io.EOF) {
		return badMDN(fault.AckMalformed, "The receipt's multipart/signed has one part, not two")
	} else if err != nil {
		return mimeFault(err)
	}
	whole, err := readAll(second, size-len(r.part)) // its end first: half a delimiter is no bad base64
	if err != nil {
		return mimeFault(err)
	}
	br, end := readHead(bytes.NewReader(whole))
	defer end()
	header, err := rawmime.ReadHeader(br, maxPartHead)
	if err != nil {
		return mimeFault(err)
	}
	signature, err := rawmime.DecodeTransfer(br, header.Get("Content-Transfer-Encoding"))
	if err != nil {
		return mimeFault(err)
	}
	if r.signature, err = readAll(signature, len(whole)*3/4); err != nil {
		return mimeFault(err)
	}
	if _, err := parts.Next(); !errors.Is(err, io.EOF) {
		return mimeFault(err)
	}
	return nil
}

// readEntity reads one part: the notification, the text, or a multipart.
func (r *mdnReader) readEntity(part io.Reader, depth int) error {
	br, done := readHead(part)
	defer done()
	header, err := rawmime.ReadHeader(br, maxPartHead)
	if err != nil {
		return mimeFault(err)
	}
	value := header.Get("Content-Type")
	if value == "" {
		value = "text/plain"
	}
	mediaType, params, err := rawmime.ParseMediaType(value)
	if err != nil {
		return mimeFault(err)
	}
	if strings.HasPrefix(mediaType, "multipart/") {
		// QUIRK(several, as2-lib #156): multiparts around or beside the
		// notification.
		return r.readParts(br, params["boundary"], depth)
	}
	content, err := rawmime.DecodeTransfer(br, header.Get("Content-Transfer-Encoding"))
	switch {
	case mediaType == "message/disposition-notification" && err != nil:
		return mimeFault(err)
	case mediaType == "message/disposition-notification":
		return r.readFields(content)
	case mediaType == "text/plain" && err == nil && r.Text == "":
		text, _ := io.ReadAll(io.LimitReader(content, maxWords)) // nothing depends on it
		r.Text = tame.Line(string(text))
	}
	return nil
}

// readParts reads the parts of multipart/report (RFC 6522 §3).
func (r *mdnReader) readParts(body io.Reader, boundary string, depth int) error {
	if depth > maxNesting {
		return badMDN(fault.AckMalformed, "The receipt has more than %d multiparts in one another", maxNesting)
	}
	parts := rawmime.NewMultipart(body, boundary, maxMDNParts)
	for {
		part, err := parts.Next()
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return mimeFault(err)
		}
		if err := r.readEntity(part, depth+1); err != nil {
			return err
		}
	}
}

// readFields reads the fields that machines go by (RFC 4130 §7.4.3). Blank
// lines between them do not hide those that follow.
func (r *mdnReader) readFields(content io.Reader) error {
	if r.notifications++; r.notifications > 1 {
		return badMDN(fault.AckContradictory, "The receipt has two parts message/disposition-notification")
	}
	raw, err := io.ReadAll(io.LimitReader(content, maxMDNFields+1))
	if err != nil {
		return mimeFault(err)
	}
	var block []byte
	for _, line := range bytes.SplitAfter(raw, []byte("\n")) {
		if len(bytes.Trim(line, "\r\n")) > 0 {
			block = append(block, line...)
		}
	}
	block = append(block, "\r\n\r\n"...)
	br, done := readHead(bytes.NewReader(block))
	defer done()
	h, err := rawmime.ReadHeader(br, maxMDNFields)
	if err != nil {
		return mimeFault(err)
	}
	r.OriginalMessageID = tame.Clip(tame.Line(h.Get("Original-Message-ID")), maxMessageID)
	r.Recipient = address(h.Get("Final-Recipient"))
	r.Reporter = tame.Clip(tame.Line(h.Get("Reporting-UA")), maxWords)
	switch {
	case h.Count("Disposition") > 1:
		return badMDN(fault.AckContradictory, "The receipt has %d Disposition fields", h.Count("Disposition"))
	case h.Count("Original-Message-ID") > 1:
		return badMDN(fault.AckContradictory, "The receipt names %d messages", h.Count("Original-Message-ID"))
	case h.Count("Received-Content-MIC") > 1:
		return badMDN(fault.AckContradictory, "The receipt has %d Received-Content-MIC fields", h.Count("Received-Content-MIC"))
	}
	if r.Disposition, err = disposition(h); err != nil {
		return badMDN(fault.AckMalformed, "The receipt has no Disposition that can be read")
	}
	if field := h.Get("Received-Content-MIC"); field != "" {
		m, _ := ParseMIC(field) // one that does not fit equals none of ours
		r.MIC = MIC{Algorithm: tame.Clip(tame.Line(m.Algorithm), maxWords), Value: tame.Clip(tame.Line(m.Value), maxWords)}
	}
	if r.OriginalMessageID == "" {
		return badMDN(fault.AckMalformed, "The receipt does not name the message that it is about")
	}
	return nil
}

// disposition reads the Disposition field, and those that say more of it. The
// worst of them counts: "processed" beside an Error is a refusal.
// QUIRK(RFC 2298 senders): the modifier stands in a field of its own, or its
// text does.
func disposition(h rawmime.Header) (Disposition, error) {
	d, err := ParseDisposition(h.Get("Disposition"))
	if err != nil {
		return d, err
	}
	for _, name := range []string{"Failure", "Error", "Warning"} {
		modifier := strings.ToLower(name)
		switch {
		case h.Count(name) == 0:
		case d.Modifier == "", d.Modifier == "warning" && modifier != "warning":
			d.Modifier, d.Text = modifier, h.Get(name)
		case d.Modifier == modifier && d.Text == "":
			d.Text = h.Get(name)
		}
	}
	d.Mode, d.Text = tame.Clip(tame.Line(d.Mode), maxWords), tame.Clip(tame.Line(d.Text), maxWords)
	d.Type, d.Modifier = tame.Clip(tame.Line(d.Type), maxWords), tame.Clip(tame.Line(d.Modifier), maxWords)
	return d, nil
}

// address drops the address type: "rfc822; NAME". QUIRK(pyas2-lib #33): there
// may be none.
func address(field string) string {
	if _, name, ok := strings.Cut(field, ";"); ok {
		field = name
	}
	return tame.Clip(tame.Line(field), maxWords)
}

// mimeFault tells what never came from what came wrong.
func mimeFault(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return badMDN(fault.AckCutOff, "The receipt began, but its end is missing")
	}
	return badMDN(fault.AckMalformed, "The receipt is not well-formed: %v", err)
}
