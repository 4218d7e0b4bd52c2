package interop

import (
	"bytes"
	"context"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// cell is one exchange of the matrix.
type cell struct {
	*site
	peer      peer
	profile   profile
	direction direction
	way       int    // by which of the ways in a document comes to edigw
	wire      *front // before the peer
}

// result says what is not as it should be; empty: all is. Its words are the same
// in every run, so that deviations can name them; what varies goes to the log.
type result []string

func (r *result) add(format string, args ...any) { *r = append(*r, fmt.Sprintf(format, args...)) }

// String is "ok", or what is wrong.
func (r result) String() string {
	if len(r) == 0 {
		return "ok"
	}
	return strings.Join(r, "; ")
}

func (c cell) run(ctx context.Context, t *testing.T) (r result) {
	d := newDocument(t, c.profile.partner(c.peer)+" "+string(c.direction), c.profile)
	if c.direction == toPeer {
		c.out(ctx, t, d, &r)
	} else {
		c.in(ctx, t, d, &r)
	}
	return r
}

// out sends a document to the peer.
func (c cell) out(ctx context.Context, t *testing.T, d document, r *result) {
	if err := c.handIn(ctx, d); err != nil {
		r.add("not taken in: %v", err)
		return
	}
	var m message
	err := await(ctx, "the message has its end", func() bool {
		now, found, err := c.sent(ctx, c.profile.partner(c.peer))
		if err == nil && found {
			m = now
		}
		return m.ended()
	})
	if err != nil {
		r.add("%s: %v: %s", m.State, err, m.Detail)
		return
	}
	t.Logf("%s: %s, proof %q, %s", m.MessageID, m.State, m.Proof, m.Detail)
	c.judgeMessage(m, r)
	if m.State == "dead" && m.refused() {
		return
	}
	got, err := c.peer.received(ctx, c.profile, m.MessageID)
	if err != nil {
		r.add("not received: %v", err)
		return
	}
	c.compare(got.File, got.FileName, d, r)
	c.judgeWire(ctx, t, c.wire, m.MessageID, r)
}

// handIn gives the document to edigw, in turn over the API, the command line
// and the outbox folder.
func (c cell) handIn(ctx context.Context, d document) error {
	to := c.profile.partner(c.peer)
	switch c.way % 3 {
	case 0:
		f, err := os.Open(d.file)
		if err != nil {
			return err
		}
		defer f.Close()
		header := http.Header{
			"Idempotency-Key":     {to},
			"Content-Disposition": {mime.FormatMediaType("attachment", map[string]string{"filename": d.fileName})},
		}
		_, err = c.api.Send(ctx, "/partners/"+url.PathEscape(to)+"/messages", header, f, nil)
		return err
	case 1:
		return c.command("send", to, d.file)
	}
	box := c.path("site", "outbox", to)
	if err := os.MkdirAll(box, 0o700); err != nil {
		return err
	}
	return os.Rename(d.file, filepath.Join(box, d.fileName))
}

// judgeMessage compares what became of a message with what the profile asks.
func (c cell) judgeMessage(m message, r *result) {
	proof := "receipt"
	if !c.profile.receipt() {
		proof = "http-only"
	}
	var last attempt
	if n := len(m.Attempts); n > 0 {
		last = m.Attempts[n-1]
	}
	if m.State != "delivered" || m.Proof != proof {
		r.add("%s, class %s", m.State, last.Class)
		if last.Ack != nil {
			r.add("receipt %s, %s", last.Ack.Verdict, last.Ack.Disposition)
		}
		return
	}
	if !c.profile.receipt() {
		return
	}
	ack := last.Ack
	switch {
	case ack == nil:
		r.add("no receipt")
	case ack.Disposition != "processed":
		r.add("disposition %s", ack.Disposition)
	case c.profile.mdnSigned && ack.Signer == "":
		r.add("the receipt is not signed")
	}
	if n := len(m.Attempts); n > 1 && c.profile.mdn != "async" {
		r.add("%d attempts", n)
	}
}

// compare holds what arrived against what was sent.
func (c cell) compare(file, fileName string, d document, r *result) {
	got, err := os.ReadFile(file)
	if err != nil {
		r.add("content: %v", err)
		return
	}
	if !bytes.Equal(got, d.body) {
		r.add("content differs: %s", difference(got, d.body))
	}
	switch fileName {
	case d.fileName:
	case "":
		r.add("no file name")
	default:
		r.add("file name %q", fileName)
	}
}

// difference tells two contents apart in a few words that never change.
func difference(got, want []byte) string {
	switch {
	case bytes.Equal(got, toCRLF(want)):
		return "line ends became CRLF"
	case bytes.HasPrefix(got, want):
		return fmt.Sprintf("%q more at the end", got[len(want):min(len(got), len(want)+20)])
	case bytes.HasPrefix(want, got):
		return fmt.Sprintf("%d bytes less at the end", len(want)-len(got))
	}
	at := 0
	for at < min(len(got), len(want)) && got[at] == want[at] {
		at++
	}
	return fmt.Sprintf("from byte %d on, %d bytes instead of %d", at, len(got), len(want))
}

// toCRLF writes every line end as CRLF.
func toCRLF(b []byte) []byte {
	b = bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n"))
	b = bytes.ReplaceAll(b, []byte("\r"), []byte("\n"))
	return bytes.ReplaceAll(b, []byte("\n"), []byte("\r\n"))
}

// in has the peer send a document to edigw.
func (c cell) in(ctx context.Context, t *testing.T, d document, r *result) {
	o, err := c.peer.send(ctx, c.profile, d)
	if err != nil {
		r.add("not sent: %v", err)
		return
	}
	t.Logf("%+v", o)
	c.judgeOutcome(o, r)
	if strings.Contains(o.Disposition, "error") {
		return // edigw refused it
	}
	var f facts
	err = await(ctx, "the document lies in the inbox", func() bool {
		all, err := c.inbox(c.profile.partner(c.peer))
		for _, one := range all {
			if one.MessageID == o.MessageID || o.MessageID == "" {
				f = one
			}
		}
		if err == nil && f.document != "" {
			_, err = os.Stat(f.document) // the facts come first
		}
		return err == nil && f.document != ""
	})
	if err != nil {
		r.add("%v", err)
		return
	}
	c.compare(f.document, f.FileName, d, r)
	c.judgeFacts(f, r)
	c.judgeWire(ctx, t, c.front, f.MessageID, r)
}

// judgeFacts compares what edigw saw with what the peer was to do.
func (c cell) judgeFacts(f facts, r *result) {
	p := c.profile
	if f.Signed != (p.sign != "none") || f.Encrypted != (p.encrypt != "none") || f.Compressed != (p.compress != "none") {
		r.add("came signed %v, encrypted %v, compressed %v", f.Signed, f.Encrypted, f.Compressed)
	}
	if f.Problem != "" {
		r.add("edigw says: %s", f.Problem)
	}
}

// judgeOutcome looks at what the peer says of edigw's receipt.
func (c cell) judgeOutcome(o outcome, r *result) {
	if o.Problem != "" {
		r.add("the peer says: %s", o.Problem)
	}
	if !c.profile.receipt() {
		if o.Disposition != "" {
			r.add("a receipt that nobody asked for: %s", o.Disposition)
		}
		return
	}
	if o.Disposition != "processed" {
		r.add("disposition %q", o.Disposition)
	}
	if c.profile.mdnSigned && (!o.Signed || !o.Verified) {
		r.add("the receipt's signature: signed %v, verified %v", o.Signed, o.Verified)
	}
	switch {
	case o.MIC == "" && o.MICReturned != "" && !o.Equal:
		r.add("the MIC is not compared")
	case !o.Equal:
		r.add("the MIC differs")
	}
}
