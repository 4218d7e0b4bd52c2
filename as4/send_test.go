package as4

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"edigw/as4/ebms"
	"edigw/fault"
	"edigw/internal/exchange"
	"edigw/internal/testfixture"
)

// send sends a build to a server and interprets what comes back.
func send(t *testing.T, p PMode, r Rendition, wire []byte, h http.HandlerFunc) (Reply, fault.Outcome, Signal) {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	client, err := exchange.NewClient(exchange.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	p.URL = server.URL + "/msh"
	reply, out := Send(t.Context(), client, p, r, func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(wire)), nil
	}, exchange.Limits{})
	out, signal := Interpret(out, reply, []Rendition{r}, p, testNow)
	return reply, out, signal
}

// answering answers every message with the same.
func answering(a *Answer) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", a.ContentType)
		w.WriteHeader(a.Status)
		w.Write(a.Body)
	}
}

func TestSendAndInterpret(t *testing.T) {
	t.Parallel()
	p, by := toNorthwind(), fromAcme()
	p.AuthUser, p.AuthPassword, p.ProductHeader = "acme", "s3cret", "edigw/9"
	content := contents()["usual"]
	r, wire := mustBuild(t, p, orderDocument(payload("application/EDI-X12", "order.edi", content)))
	var seen *http.Request
	_, out, signal := send(t, p, r, wire, func(w http.ResponseWriter, req *http.Request) {
		seen = req
		body, err := io.ReadAll(req.Body)
		if err != nil || !bytes.Equal(body, wire) {
			t.Errorf("other bytes arrived: %v", err)
		}
		o := open(t, req.Header.Get("Content-Type"), body, by)
		if !bytes.Equal(o.payloads[0], content) {
			t.Error("another document arrived")
		}
		answering(o.receiptFor(t, by))(w, req)
	})
	if out.Phase != fault.PhaseDone || out.Status != 200 || !out.Protocol || out.AckAsked != fault.AckSync || out.Detail != "" {
		t.Errorf("outcome %+v", out)
	}
	if out.Ack == nil || out.Ack.Verdict != fault.AckTrusted || !out.Ack.Positive || out.Ack.Ref != r.MessageID {
		t.Fatalf("acknowledgement %+v: %s", out.Ack, signal.Problem)
	}
	if user, password, _ := seen.BasicAuth(); user != "acme" || password != "s3cret" {
		t.Errorf("login %q", user)
	}
	if seen.ContentLength != r.Size || seen.UserAgent() != "edigw/9" || seen.Header.Get("Accept-Encoding") != "" || seen.Header.Get("Soapaction") != "" || seen.Method != http.MethodPost {
		t.Errorf("%s %v, length %d", seen.Method, seen.Header, seen.ContentLength)
	}
	if strings.Contains(fmt.Sprintf("%+v", r), "s3cret") {
		t.Error("the rendition holds credentials")
	}
}

// TestRow6Row54SignalsOnAnyStatus: what the signal says is read first, whatever
// the status and the type are that it comes with.
func TestRow6Row54SignalsOnAnyStatus(t *testing.T) {
	t.Parallel()
	p, by, r, o := sent(t)
	refusal := mustError(t, by, r.MessageID, ebms.NewError("EBMS:0101", "who?", r.MessageID))
	for _, status := range []int{200, 400, 404, 500, 503} {
		a := *refusal
		a.Status, a.ContentType = status, "text/plain"
		_, out, _ := send(t, p, r, o.wire, answering(&a))
		if out.Ack == nil || out.Ack.EBMS != "EBMS:0101" || out.Status != status || !out.Protocol || out.Ack.Verdict != fault.AckTrusted {
			t.Errorf("error on %d: %+v, %+v", status, out, out.Ack)
		}
		a = *o.receiptFor(t, by)
		a.Status = status
		if _, out, signal := send(t, p, r, o.wire, answering(&a)); out.Ack == nil || !out.Ack.Positive || out.Ack.Verdict != fault.AckTrusted {
			t.Errorf("receipt on %d: %+v: %s", status, out, signal.Problem)
		}
	}
}

// TestRow6Row8Row9Row53RepliesThatAreNoSignal: a page is kept as evidence, and only
// the status speaks.
func TestRow6Row8Row9Row53RepliesThatAreNoSignal(t *testing.T) {
	t.Parallel()
	p, _, r, o := sent(t)
	for name, tc := range map[string]struct {
		contentType, body string
		status            int
		protocol          bool
	}{
		"HTML page":      {"text/html", "<html>Welcome</html>", 200, false},
		"nothing":        {"", "", 200, false},
		"accepted":       {"", "", 202, false},
		"proxy error":    {"text/html", "Bad Gateway", 502, false},
		"redirect":       {"text/html", "moved", 302, false},
		"404 of a proxy": {"text/html", "<html>no upstream</html>", 404, false},
		"stack trace":    {"text/plain", "java.lang.NullPointerException", 500, false},
		"empty envelope": {envelopeType, `<S:Envelope xmlns:S="http://www.w3.org/2003/05/soap-envelope"><S:Header/><S:Body/></S:Envelope>`, 404, true},
	} {
		calls := 0
		reply, out, signal := send(t, p, r, o.wire, func(w http.ResponseWriter, req *http.Request) {
			calls++
			io.Copy(io.Discard, req.Body)
			w.Header().Set("Location", "/elsewhere")
			w.Header().Set("Content-Type", tc.contentType)
			w.WriteHeader(tc.status)
			io.WriteString(w, tc.body)
		})
		if out.Ack != nil || out.Protocol != tc.protocol || out.Status != tc.status || calls != 1 || signal.Kind != "" {
			t.Errorf("%s: %+v after %d requests", name, out, calls)
		}
		if string(reply.Body) != tc.body || string(out.Head) != tc.body {
			t.Errorf("%s: body %q, head %q", name, reply.Body, out.Head)
		}
	}
}

// TestZippedReplies: phase4 compresses for whoever asks, some proxies unasked.
// What comes so is read, within bounds.
func TestZippedReplies(t *testing.T) {
	t.Parallel()
	p, by, r, o := sent(t)
	a := o.receiptFor(t, by)
	whole := gzipped(string(a.Body))
	for name, tc := range map[string]struct {
		encoding  string
		body      []byte
		verdict   fault.AckVerdict
		truncated bool
	}{
		"gzip":                {"gzip", whole, fault.AckTrusted, false},
		"x-gzip":              {"x-gzip", whole, fault.AckTrusted, false},
		"cut off":             {"gzip", whole[:len(whole)-400], fault.AckCutOff, true},
		"called gzip, is not": {"gzip", a.Body, fault.AckTrusted, false},
		"bomb":                {"gzip", gzipped(string(a.Body) + strings.Repeat(" ", 8<<20)), fault.AckTrusted, true},
		"another encoding":    {"br", whole, fault.AckNone, false},
	} {
		reply, out, signal := send(t, p, r, o.wire, func(w http.ResponseWriter, req *http.Request) {
			io.Copy(io.Discard, req.Body)
			w.Header().Set("Content-Encoding", tc.encoding)
			answering(&Answer{ContentType: a.ContentType, Status: 200, Body: tc.body})(w, req)
		})
		got := fault.AckNone
		if out.Ack != nil {
			got = out.Ack.Verdict
		}
		if got != tc.verdict || reply.Truncated != tc.truncated || len(reply.Body) > maxReply {
			t.Errorf("%s: %q, truncated %t, %d bytes: %s", name, got, reply.Truncated, len(reply.Body), signal.Problem)
		}
		if tc.verdict == fault.AckTrusted && tc.encoding == "gzip" && name == "gzip" && (http.Header(reply.Header).Get("Content-Encoding") != "" || !bytes.HasPrefix(out.Head, []byte("<?xml"))) {
			t.Errorf("%s: header %v, head %.20q", name, reply.Header, out.Head)
		}
	}
}

// TestZippedBombIsReadWithinBounds: what a kilobyte grows to is not held. Not
// parallel: it counts what is allocated.
func TestZippedBombIsReadWithinBounds(t *testing.T) {
	bomb := gzipped(strings.Repeat(" ", 200<<20))
	r := Reply{Header: http.Header{"Content-Encoding": {"gzip"}}, Body: bomb}
	testfixture.Allocated(t, r.decompress)
	if len(r.Body) != maxReply || !r.Truncated {
		t.Errorf("%d bytes, truncated %t", len(r.Body), r.Truncated)
	}
}

// TestCutOffReply: the connection breaks inside the receipt.
func TestCutOffReply(t *testing.T) {
	t.Parallel()
	p, by, r, o := sent(t)
	a := o.receiptFor(t, by)
	_, out, _ := send(t, p, r, o.wire, func(w http.ResponseWriter, req *http.Request) {
		io.Copy(io.Discard, req.Body)
		w.Header().Set("Content-Type", a.ContentType)
		w.Write(a.Body[:len(a.Body)/2])
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	if out.Ack == nil || out.Ack.Verdict != fault.AckCutOff || !out.Protocol || out.Status != 200 || out.Detail == "" {
		t.Errorf("outcome %+v, acknowledgement %+v", out, out.Ack)
	}
}

// TestReceiptBeforeTheMessage: a receipt that comes before anything was sent
// counts only if its digests show that they have it.
func TestReceiptBeforeTheMessage(t *testing.T) {
	t.Parallel()
	p, by, r, o := sent(t)
	early := fault.Outcome{Phase: fault.PhaseRequest, AckAsked: fault.AckSync}
	reply := func(a *Answer) Reply {
		return Reply{Status: 200, Header: http.Header{"Content-Type": {a.ContentType}}, Body: a.Body}
	}
	if out, _ := Interpret(early, reply(o.receiptFor(t, by)), []Rendition{r}, p, testNow); out.Ack == nil || !out.Ack.Positive || out.Status != 200 {
		t.Errorf("with digests: %+v", out)
	}
	p.Receipt.NonRepudiation = false
	if out, _ := Interpret(early, reply(awareness(t, by, o)), []Rendition{r}, p, testNow); out.Ack != nil {
		t.Errorf("without digests: %+v", out.Ack)
	}
	no := mustError(t, by, r.MessageID, ebms.NewError("EBMS:0103", "", r.MessageID))
	if out, _ := Interpret(early, reply(no), []Rendition{r}, p, testNow); out.Ack == nil || out.Ack.Positive {
		t.Errorf("a refusal: %+v", out)
	}
}

// TestSendFaultsOfOurSide: nothing is contacted.
func TestSendFaultsOfOurSide(t *testing.T) {
	t.Parallel()
	p := toNorthwind()
	_, out := Send(t.Context(), http.DefaultClient, p, Rendition{Ack: fault.AckSync}, func() (io.ReadCloser, error) {
		return nil, errors.New("input/output error")
	}, exchange.Limits{})
	if out.Cause != fault.CausePayload || out.Phase != fault.PhaseNone || out.AckAsked != fault.AckSync || out.Detail == "" {
		t.Errorf("outcome %+v", out)
	}
	for _, url := range []string{"", "msh", "http://a b/", "/msh"} {
		p.URL = url
		closed := &closes{Reader: strings.NewReader("x")}
		_, out = Send(t.Context(), http.DefaultClient, p, Rendition{Ack: fault.AckAsync}, func() (io.ReadCloser, error) { return closed, nil }, exchange.Limits{})
		if out.Cause != fault.CauseBuild || out.Suspect != "as4.url" || out.AckAsked != fault.AckAsync || !closed.closed {
			t.Errorf("%q: %+v, closed %t", url, out, closed.closed)
		}
	}
}

type closes struct {
	io.Reader
	closed bool
}

func (c *closes) Close() error {
	c.closed = true
	return nil
}
