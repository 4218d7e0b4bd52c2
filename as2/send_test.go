package as2

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"edigw/fault"
	"edigw/internal/exchange"
)

// send sends a build to a server and interprets what comes back.
func send(t *testing.T, a Agreement, r Rendition, wire []byte, h http.Handler) (Reply, fault.Outcome, MDN) {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	client, err := exchange.NewClient(exchange.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	a.URL = server.URL + "/as2"
	reply, out := Send(t.Context(), client, a, r, func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(wire)), nil
	}, exchange.Limits{})
	out, mdn := Interpret(out, reply, []Rendition{r}, a)
	return reply, out, mdn
}

func TestSendAndInterpret(t *testing.T) {
	t.Parallel()
	a := toNorthwind()
	a.AuthUser, a.AuthPassword = "acme", "s3cret"
	content := contents()["usual"]
	r, wire := mustBuild(t, a, content)
	for _, f := range r.Headers {
		if strings.Contains(f.Name+f.Value, "Authorization") || strings.Contains(f.Value, "s3cret") {
			t.Errorf("the rendition holds credentials: %v", f)
		}
	}
	m := &memory{agreement: fromAcme()}
	h := testHandler(t, m)
	var seen *http.Request
	_, out, mdn := send(t, a, r, wire, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		seen = req
		h.ServeHTTP(w, req)
	}))
	if out.Phase != fault.PhaseDone || out.Status != 200 || !out.Protocol || out.AckAsked != fault.AckSync {
		t.Errorf("outcome %+v", out)
	}
	if out.Ack == nil || out.Ack.Verdict != fault.AckTrusted || !out.Ack.Positive || out.Ack.Ref != r.MessageID {
		t.Fatalf("acknowledgement %+v: %s", out.Ack, mdn.Problem)
	}
	t.Run("row 41: the login goes with the first request", func(t *testing.T) {
		if user, password, _ := seen.BasicAuth(); user != "acme" || password != "s3cret" {
			t.Errorf("login %q", user)
		}
	})
	if seen.ContentLength != r.Size || len(seen.TransferEncoding) != 0 || seen.Header.Get("Idempotency-Key") != "" {
		t.Errorf("length %d, encoding %v, headers %v", seen.ContentLength, seen.TransferEncoding, seen.Header)
	}
	for _, f := range r.Headers {
		if got := seen.Header.Values(f.Name); len(got) != 1 || got[0] != f.Value {
			t.Errorf("%s arrived as %q, want %q", f.Name, got, f.Value)
		}
	}
	if _, payload := m.last(t); !bytes.Equal(payload, content) {
		t.Error("another document arrived")
	}
}

// TestEmptyPlainMessageHasLength: a body of no bytes goes out with
// Content-Length: 0, not chunked.
func TestEmptyPlainMessageHasLength(t *testing.T) {
	t.Parallel()
	a := toNorthwind()
	a.Sign, a.Encrypt, a.MDN = 0, "", MDNRequest{}
	r, wire := mustBuild(t, a, nil)
	_, out, _ := send(t, a, r, wire, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.ContentLength != 0 || len(req.TransferEncoding) != 0 || req.Header.Get("Content-Length") != "0" {
			t.Errorf("length %d, encoding %v, header %q", req.ContentLength, req.TransferEncoding, req.Header.Get("Content-Length"))
		}
	}))
	if out.Status != 200 || out.Ack != nil || out.AckAsked != fault.AckNotAsked {
		t.Errorf("outcome %+v", out)
	}
}

// TestRow10Row42Row81ReplyThatIsNoMDN: pages and silence are shown, never taken
// for a receipt.
func TestRow10Row42Row81ReplyThatIsNoMDN(t *testing.T) {
	t.Parallel()
	a := toNorthwind()
	r, wire := mustBuild(t, a, []byte("ISA~"))
	for name, tc := range map[string]struct {
		contentType, body string
		status            int
	}{
		"HTML page":         {"text/html", "<html>Welcome to IIS</html>", 200},
		"nothing":           {"", "", 200},
		"plain text":        {"text/plain", "automatic-action/MDN-sent-automatically; processed", 200},
		"broken type":       {";;", "x", 200},
		"proxy error":       {"text/html", "Bad Gateway", 502},
		"redirect":          {"text/html", "moved", 302},
		"other report":      {"multipart/alternative; boundary=x", "--x\r\n\r\nhello\r\n--x--\r\n", 200},
		"accepted, no body": {"", "", 204},
	} {
		calls := 0
		reply, out, mdn := send(t, a, r, wire, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			calls++
			io.Copy(io.Discard, req.Body)
			w.Header().Set("Location", "/elsewhere")
			w.Header().Set("Content-Type", tc.contentType)
			w.WriteHeader(tc.status)
			io.WriteString(w, tc.body)
		}))
		if out.Ack != nil || out.Protocol || mdn != (MDN{}) {
			t.Errorf("%s: taken for an MDN: %+v", name, out.Ack)
		}
		if out.Status != tc.status || calls != 1 {
			t.Errorf("%s: status %d after %d requests", name, out.Status, calls)
		}
		if tc.body != "" && string(reply.Body) != tc.body && tc.status != 204 {
			t.Errorf("%s: body %q", name, reply.Body)
		}
	}
}

// TestCutOffReply: the connection breaks inside the MDN.
func TestCutOffReply(t *testing.T) {
	t.Parallel()
	a := toNorthwind()
	r, wire := mustBuild(t, a, []byte("ISA~"))
	m := &memory{agreement: fromAcme()}
	answer := serve(testHandler(t, m), wireRequest(t, r, wire))
	body := readBody(t, answer)
	_, out, _ := send(t, a, r, wire, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		io.Copy(io.Discard, req.Body)
		for name, values := range answer.Header {
			w.Header()[name] = values
		}
		w.Write(body[:len(body)/2])
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}))
	if out.Ack == nil || out.Ack.Verdict != fault.AckCutOff || !out.Protocol || out.Status != 200 {
		t.Errorf("outcome %+v, acknowledgement %+v", out, out.Ack)
	}
	if out.Detail == "" {
		t.Error("no detail")
	}
}

// TestUnreadableWireBytes is a fault of our own side: nothing is contacted.
func TestUnreadableWireBytes(t *testing.T) {
	t.Parallel()
	_, out := Send(t.Context(), http.DefaultClient, toNorthwind(), Rendition{Ack: fault.AckSync}, func() (io.ReadCloser, error) {
		return nil, errors.New("input/output error")
	}, exchange.Limits{})
	if out.Cause != fault.CausePayload || out.Phase != fault.PhaseNone || out.AckAsked != fault.AckSync || out.Detail == "" {
		t.Errorf("outcome %+v", out)
	}
}

// TestBodyIsFramedAsThePartnerWants: with its length, or in chunks; asked for
// first, or not. The stored message is the same.
func TestBodyIsFramedAsThePartnerWants(t *testing.T) {
	t.Parallel()
	a := toNorthwind()
	content := contents()["binary"]
	r, wire := mustBuild(t, a, content)
	for name, tc := range map[string]struct {
		chunked, expect bool
		length          int64
		encoding        []string
	}{
		"as built in": {false, false, r.Size, nil},
		"chunked":     {true, false, -1, []string{"chunked"}},
		"asked":       {false, true, r.Size, nil},
		"both":        {true, true, -1, []string{"chunked"}},
	} {
		a := a
		a.Chunked, a.ExpectContinue = tc.chunked, tc.expect
		m := &memory{agreement: fromAcme()}
		h := testHandler(t, m)
		_, out, mdn := send(t, a, r, wire, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if req.ContentLength != tc.length || !slices.Equal(req.TransferEncoding, tc.encoding) {
				t.Errorf("%s: length %d, encoding %v", name, req.ContentLength, req.TransferEncoding)
			}
			if asked := req.Header.Get("Expect") == "100-continue"; asked != tc.expect {
				t.Errorf("%s: Expect %q", name, req.Header.Get("Expect"))
			}
			h.ServeHTTP(w, req)
		}))
		if out.Ack == nil || out.Ack.Verdict != fault.AckTrusted || out.Phase != fault.PhaseDone {
			t.Errorf("%s: %+v, %s", name, out, mdn.Problem)
		}
		if _, payload := m.last(t); !bytes.Equal(payload, content) {
			t.Errorf("%s: another document arrived", name)
		}
	}
}

// TestPartnerWhoIsNotToBeAsked: 417 names the setting; a refusal before the body
// is that refusal.
func TestPartnerWhoIsNotToBeAsked(t *testing.T) {
	t.Parallel()
	a := toNorthwind()
	a.ExpectContinue = true
	r, wire := mustBuild(t, a, contents()["usual"])
	for status, suspect := range map[int]string{417: "as2.expect_continue", 401: "", 413: "", 503: ""} {
		_, out, _ := send(t, a, r, wire, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		if out.Status != status || out.Suspect != suspect || out.Ack != nil || out.Phase != fault.PhaseDone {
			t.Errorf("%d: %+v", status, out)
		}
	}
}

// TestReceiptInsteadOf100Continue: who answers before he has the document may
// say no, and may say that he has it from before. A yes alone proves nothing.
func TestReceiptInsteadOf100Continue(t *testing.T) {
	t.Parallel()
	a := toNorthwind()
	a.ExpectContinue, a.MDN.Signed = true, false
	r, wire := mustBuild(t, a, []byte("ISA~"))
	q, err := parseRequest(wireRequest(t, r, wire).Header)
	if err != nil {
		t.Fatal(err)
	}
	by := fromAcme()
	for name, tc := range map[string]struct {
		said     Disposition
		mic      *MIC
		counts   bool
		positive bool
	}{
		"no":                       {Disposition{Mode: autoMode, Type: "processed", Modifier: "error", Text: "authentication-failed"}, nil, true, false},
		"it has it from before":    {Disposition{Mode: autoMode, Type: "processed"}, &r.MICs[0], true, true},
		"yes, whatever it will be": {Disposition{Mode: autoMode, Type: "processed"}, nil, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer, err := testHandler(t, &memory{}).answerer().answer(q, &by, tc.said, tc.mic)
			if err != nil {
				t.Fatal(err)
			}
			_, out, _ := send(t, a, r, wire, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				for _, f := range answer.Headers {
					w.Header().Set(f.Name, f.Value)
				}
				w.Write(answer.Body)
			}))
			if out.Phase.Reached() || (out.Status == 200) != tc.counts || (out.Ack != nil) != tc.counts || out.Protocol != tc.counts {
				t.Fatalf("outcome %+v, acknowledgement %+v", out, out.Ack)
			}
			if tc.counts && (out.Ack.Verdict != fault.AckTrusted || out.Ack.Positive != tc.positive) {
				t.Errorf("acknowledgement %+v", out.Ack)
			}
		})
	}
}
