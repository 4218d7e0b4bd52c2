package as4

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"edigw/as4/ebms"

	"github.com/beevik/etree"
)

// FuzzHandler: whatever is posted, nothing unsigned is accepted where a signature
// was settled, nobody may pull, and the answer is a signal of ours, a fault or a
// plain refusal.
func FuzzHandler(f *testing.F) {
	m := &receiver{p: fromAcmePlain(), pullers: []Puller{{"north", pulledFrom()}}}
	add := func(c *crafted) {
		contentType, body := c.compose(f)
		f.Add(contentType, body)
	}
	add(craft())
	add(craft(plainPart("a@x", "text/plain", "x")))
	add(craft(zippedPart("a@x", "text/plain", "x"), zippedPart("b@x", "text/plain", "y")))
	unsigned := craft(zippedPart("a@x", "text/plain", "x"))
	unsigned.sign.Algorithm, unsigned.rootAt, unsigned.preamble = "", 1, "X: y\r\n\r\n"
	add(unsigned)
	payload := craft()
	payload.body, payload.user.Parts, payload.sign.Algorithm = "<Order/>", []ebms.PartInfo{{}}, ""
	add(payload)
	signal := craft()
	signal.user, signal.sign.Algorithm = nil, ""
	signal.signals = []*etree.Element{(&ebms.SignalMessage{
		MessageInfo: ebms.MessageInfo{Timestamp: testNow, MessageID: "e@x", RefToMessageID: "m@x"}, Errors: []ebms.Error{ebms.NewError(codeOther, "no", "")},
	}).Element()}
	add(signal)
	pull, err := NewPullRequest(PMode{MPC: testMPC}, "pull@x", testNow)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(pull.ContentType, pull.Body)
	f.Add("multipart/related; boundary=b", []byte("--b\r\n\r\n<a/>\r\n--b--"))
	h := receiverHandler(f, m)
	h.o.Body, h.o.Envelope = 1<<20, 256<<10
	f.Fuzz(func(t *testing.T, contentType string, body []byte) {
		for _, signed := range []bool{true, false} {
			m.mu.Lock()
			m.received, m.payloads, m.wires, m.acks, m.answers = nil, nil, nil, nil, nil
			m.mu.Unlock()
			m.p.Receive.Signed = signed
			req := httptest.NewRequest(http.MethodPost, "/as4", bytes.NewReader(body))
			req.Header.Set("Content-Type", contentType)
			res := serve(h, req)
			if res.StatusCode == http.StatusServiceUnavailable {
				t.Fatalf("a fault of ours: %s", readBody(t, res))
			}
			if strings.HasPrefix(res.Header.Get("Content-Type"), typeSOAP) {
				answered(t, res)
			}
			for _, r := range m.received {
				if r.Accepted && signed && r.Signer == "" {
					t.Fatalf("accepted without a signature: %+v", r)
				}
				if r.Accepted && ebms.CheckMessageID(r.MessageID) != nil {
					t.Fatalf("accepted under %q", r.MessageID)
				}
				if !r.Accepted && (r.Problem == "" || r.Code == "") {
					t.Fatalf("refused without a reason: %+v", r)
				}
			}
			for _, a := range m.acks {
				if ebms.CheckMessageID(a.MessageID) != nil {
					t.Fatalf("a signal about %q", a.MessageID)
				}
			}
		}
	})
}
