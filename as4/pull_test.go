package as4

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"edigw/as4/ebms"
	"edigw/as4/wssec"
	"edigw/internal/scratch"

	"github.com/beevik/etree"
)

// Northwind pulls from acme: acme's handler is asked, with what acme has for
// northwind.
const testMPC = "https://mpc.acme.example/northwind"

// pulls is how northwind pulls.
func pulls() PMode {
	p := fromAcme()
	p.MEP, p.MPC = OneWayPull, testMPC
	return p
}

// pulledFrom is how acme is pulled from.
func pulledFrom() PMode {
	p := toNorthwind()
	p.MEP, p.MPC, p.URL = OneWayPull, testMPC, ""
	return p
}

// hands puts a message in line for northwind, and tells what became of it.
func hands(t *testing.T, m *receiver, mpc string) (r Rendition, wire []byte, done *[]error) {
	t.Helper()
	r, wire = mustBuild(t, pulledFrom(), orderDocument(payload("text/plain", "", []byte("pulled"))))
	done = &[]error{}
	m.waiting = map[string][]Handed{"north " + mpc: {{
		Rendition: r, Wire: io.NopCloser(bytes.NewReader(wire)), Done: func(err error) { *done = append(*done, err) },
	}}}
	return r, wire, done
}

func pullRequest(t *testing.T, p PMode) *http.Request {
	t.Helper()
	pull, err := NewPullRequest(p, "pull-1@edi.northwind.example", testNow)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequest(http.MethodPost, "http://edi.acme.example/as4", bytes.NewReader(pull.Body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", pull.ContentType)
	return req
}

// TestPull: whoever proves to be the partner gets what waits, whoever does not
// gets EBMS:0101 whether anything waits or not, and learns nothing else.
func TestPull(t *testing.T) {
	t.Parallel()
	login := func(p *PMode) { p.PullUser, p.PullPassword = "north", "generated for a test" }
	for name, tc := range map[string]struct {
		asks  func(*PMode) // northwind
		has   func(*PMode) // acme
		mpc   string       // where it waits; empty: where it is asked for
		code  string       // empty: the message
		after time.Duration
	}{
		"signed":                           {},
		"by somebody else":                 {asks: func(p *PMode) { p.Sign.Key, p.Sign.Certificate = stranger().key, stranger().cert }, code: codeSender},
		"not signed":                       {asks: func(p *PMode) { p.Sign.Algorithm = "" }, code: codeSender},
		"nothing waits":                    {mpc: "elsewhere", code: codeEmpty},
		"another channel":                  {asks: func(p *PMode) { p.MPC = "https://mpc.acme.example/southwind" }, code: codeSender},
		"a sub-channel":                    {asks: func(p *PMode) { p.MPC += "/invoices" }},
		"a channel that begins alike":      {asks: func(p *PMode) { p.MPC += "2" }, code: codeSender},
		"the default channel":              {asks: func(p *PMode) { p.MPC = "" }, code: codeSender},
		"the default channel, as settled":  {asks: func(p *PMode) { p.MPC = "" }, has: func(p *PMode) { p.MPC = "" }, mpc: ebms.DefaultMPC},
		"no channel is under the default":  {asks: func(p *PMode) { p.MPC = ebms.DefaultMPC + "/sub" }, has: func(p *PMode) { p.MPC = ebms.DefaultMPC }, code: codeSender},
		"with a login":                     {asks: login, has: login},
		"with a login, not signed":         {asks: func(p *PMode) { login(p); p.Sign.Algorithm = "" }, has: login},
		"with another password":            {asks: func(p *PMode) { login(p); p.PullPassword = "other" }, has: login, code: codeSender},
		"with another user":                {asks: func(p *PMode) { login(p); p.PullUser = "other" }, has: login, code: codeSender},
		"signed where a login was settled": {has: login, code: codeSender},
		"with an old login":                {asks: login, has: login, after: loginSpan + time.Second, code: codeSender},
		"without the client certificate":   {has: func(p *PMode) { p.Receive.Clients = []*x509.Certificate{northwind().cert} }, code: codeSender},
		"an authority binds nobody":        {has: func(p *PMode) { p.Verify, p.Authorities = nil, poolOf(northwind().cert) }, code: codeSender},
		"an authority that binds the party": {has: func(p *PMode) {
			p.Verify, p.Authorities, p.SubjectIsParty = nil, poolOf(northwind().cert), true
			p.To.IDs = []ebms.PartyID{{Value: "northwind.example"}}
		}},
		"an authority, another party": {has: func(p *PMode) {
			p.Verify, p.Authorities, p.SubjectIsParty = nil, poolOf(northwind().cert), true
		}, code: codeSender},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asks, has := pulls(), pulledFrom()
			if tc.asks != nil {
				tc.asks(&asks)
			}
			if tc.has != nil {
				tc.has(&has)
			}
			other := pulledFrom()
			other.Verify = []*x509.Certificate{acme().cert}
			m := &receiver{pullers: []Puller{{"another", other}, {"north", has}}, now: testNow.Add(tc.after)}
			mpc := tc.mpc
			if mpc == "" {
				mpc = ebms.Partition(asks.MPC)
			}
			r, wire, done := hands(t, m, mpc)
			res := serve(receiverHandler(t, m), pullRequest(t, asks))
			if tc.code == "" {
				if got := readBody(t, res); res.StatusCode != http.StatusOK || !bytes.Equal(got, wire) || res.Header.Get("Content-Type") != r.ContentType || len(*done) != 1 || (*done)[0] != nil {
					t.Fatalf("status %d, done %v: %.500q", res.StatusCode, *done, got)
				}
				return
			}
			answer, e := answered(t, res)
			if answer != tc.code || len(*done) != 0 {
				t.Errorf("answered %s: %s", answer, e.Detail)
			}
			if want := ebms.Failure; (e.Severity == want) != (tc.code == codeSender) {
				t.Errorf("severity %s", e.Severity)
			}
		})
	}
}

func poolOf(c *x509.Certificate) *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(c)
	return pool
}

// TestPullIsNotReplayed: a login that was overheard does not count again.
func TestPullIsNotReplayed(t *testing.T) {
	t.Parallel()
	asks, has := pulls(), pulledFrom()
	asks.PullUser, asks.PullPassword, asks.Sign.Algorithm = "north", "generated for a test", ""
	has.PullUser, has.PullPassword = asks.PullUser, asks.PullPassword
	m := &receiver{pullers: []Puller{{"north", has}}}
	h := receiverHandler(t, m)
	req := pullRequest(t, asks)
	raw, err := io.ReadAll(req.Body)
	if err != nil {
		t.Fatal(err)
	}
	wrapped := bytes.Replace(raw, []byte("</wsse:Nonce>"), []byte("\n&#10;</wsse:Nonce>"), 1)
	inside := regexp.MustCompile(`(<wsse:Nonce[^>]*>....)`).ReplaceAll(raw, []byte("$1\n"))
	for i, body := range [][]byte{raw, raw, wrapped, inside} {
		want := codeEmpty
		if i > 0 {
			want = codeSender
		}
		req.Body = io.NopCloser(bytes.NewReader(body))
		if answer, e := answered(t, serve(h, req)); answer != want {
			t.Errorf("time %d: answered %s: %s", i+1, answer, e.Detail)
		}
	}
}

// TestLoginsOfOneUserAreNotThoseOfAnother: who uses up what is remembered shuts out
// himself.
func TestLoginsOfOneUserAreNotThoseOfAnother(t *testing.T) {
	t.Parallel()
	var l logins
	for i := range maxLogins {
		if !l.first("greedy", sha256.Sum256([]byte(strconv.Itoa(i))), testNow) {
			t.Fatalf("login %d does not count", i)
		}
	}
	more := sha256.Sum256([]byte("more"))
	if l.first("greedy", more, testNow) || !l.first("other", more, testNow) {
		t.Error("the bound is not that of the one user")
	}
	if !l.first("greedy", more, testNow.Add(3*loginSpan)) {
		t.Error("there is no room again when the time is over")
	}
}

// TestPullMustBeSigned: a signature over something else lets nobody in.
func TestPullMustBeSigned(t *testing.T) {
	t.Parallel()
	for name, elements := range map[string]func(all []*etree.Element) []*etree.Element{
		"header and Body": func(all []*etree.Element) []*etree.Element { return all },
		"the Body alone":  func(all []*etree.Element) []*etree.Element { return all[1:] },
		"no Body":         func(all []*etree.Element) []*etree.Element { return all[:1] },
	} {
		c := craft()
		c.user, c.sign = nil, pulls().Sign
		c.signals = []*etree.Element{(&ebms.SignalMessage{
			MessageInfo: ebms.MessageInfo{Timestamp: testNow, MessageID: "pull-1@edi.northwind.example"}, PullRequest: &ebms.PullRequest{MPC: testMPC},
		}).Element()}
		c.covered = func(v *wssec.Covered) { v.Elements = elements(v.Elements) }
		m := &receiver{pullers: []Puller{{"north", pulledFrom()}}}
		_, _, done := hands(t, m, testMPC)
		res := serve(receiverHandler(t, m), c.request(t))
		if name == "header and Body" {
			if len(*done) != 1 {
				t.Errorf("status %d: %s", res.StatusCode, readBody(t, res))
			}
			continue
		}
		if answer, e := answered(t, res); answer != codeSender || len(*done) != 0 {
			t.Errorf("%s: answered %s: %s", name, answer, e.Detail)
		}
	}
}

// TestPullBrokenOff: whoever handed a message out hears that it did not get
// through.
func TestPullBrokenOff(t *testing.T) {
	t.Parallel()
	m := &receiver{pullers: []Puller{{"north", pulledFrom()}}}
	_, _, done := hands(t, m, testMPC)
	w := &brokenWriter{header: http.Header{}}
	receiverHandler(t, m).ServeHTTP(w, pullRequest(t, pulls()))
	if len(*done) != 1 || !errors.Is((*done)[0], io.ErrClosedPipe) {
		t.Errorf("done %v", *done)
	}
}

type brokenWriter struct{ header http.Header }

func (w *brokenWriter) Header() http.Header       { return w.header }
func (*brokenWriter) WriteHeader(int)             {}
func (*brokenWriter) Write(p []byte) (int, error) { return 0, io.ErrClosedPipe }

// TestPullIsRefusedWherePullingIs: and a fault of ours asks to try again.
func TestPullIsRefusedWherePullingIs(t *testing.T) {
	t.Parallel()
	m := &receiver{pullers: []Puller{{"north", pulledFrom()}}}
	h := receiverHandler(t, m)
	h.o.Pulls = nil
	if answer, _ := answered(t, serve(h, pullRequest(t, pulls()))); answer != codeSender {
		t.Errorf("answered %s", answer)
	}
	h.o.Pulls, m.fail = m, errDisk
	if res := serve(h, pullRequest(t, pulls())); res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("status %d", res.StatusCode)
	}
}

// TestTakePulled: what a partner hands out goes the way of what he would push,
// and its receipt is owed to his address.
func TestTakePulled(t *testing.T) {
	t.Parallel()
	respond := func(change func(*receiver)) (http.Header, []byte) {
		m := &receiver{pullers: []Puller{{"north", pulledFrom()}}}
		hands(t, m, testMPC)
		change(m)
		res := serve(receiverHandler(t, m), pullRequest(t, pulls()))
		return res.Header, readBody(t, res)
	}
	for name, tc := range map[string]struct {
		acme   func(*receiver)
		north  func(*receiver)
		spoil  func(http.Header, []byte) []byte
		result PullResult
		says   string
		err    error
	}{
		"a message":     {result: PullResult{MessageID: "order-20931@edi.acme.example", Accepted: true}},
		"nothing waits": {acme: func(m *receiver) { m.waiting = nil }, result: PullResult{Empty: true}},
		"refused":       {acme: func(m *receiver) { m.pullers = nil }, result: PullResult{}},
		"refused, called plain text": {acme: func(m *receiver) { m.pullers = nil },
			spoil: func(h http.Header, b []byte) []byte { h.Set("Content-Type", "text/plain"); return b }, result: PullResult{}},
		"a message of another signer": {north: func(m *receiver) { m.p.Verify = []*x509.Certificate{stranger().cert} },
			result: PullResult{MessageID: "order-20931@edi.acme.example", Code: codeSender}, says: "the signer is not the partner"},
		"a message of another party": {north: func(m *receiver) { m.p.To.IDs = []ebms.PartyID{{Value: "urn:other"}} },
			result: PullResult{MessageID: "order-20931@edi.acme.example", Code: codeValue}, says: "From is urn:example:ids:ACME; settled is urn:other"},
		"cut off":    {spoil: func(_ http.Header, b []byte) []byte { return b[:len(b)-30] }, result: PullResult{MessageID: "order-20931@edi.acme.example", Code: codeMIME}, says: "last boundary"},
		"no message": {spoil: func(h http.Header, _ []byte) []byte { h.Set("Content-Type", "text/html"); return []byte("<html>") }, says: "no AS4 message"},
		"no XML":     {spoil: func(h http.Header, _ []byte) []byte { h.Set("Content-Type", envelopeType); return []byte("hello") }, says: "cannot be read"},
		"a fault": {spoil: func(h http.Header, _ []byte) []byte {
			h.Set("Content-Type", envelopeType)
			return NewFault(&ebms.Fault{Code: ebms.Receiver, Reason: "no disk"}).Body
		}, says: "SOAP fault Receiver: no disk"},
		"it cannot be kept": {north: func(m *receiver) { m.fail = errDisk }, err: errDisk},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tc.acme == nil {
				tc.acme = func(*receiver) {}
			}
			header, wire := respond(tc.acme)
			if tc.spoil != nil {
				wire = tc.spoil(header, wire)
			}
			m := &receiver{p: pulls()}
			if tc.north != nil {
				tc.north(m)
			}
			got, err := receiverHandler(t, m).TakePulled(context.Background(), "p1", m.p, header, bytes.NewReader(wire))
			if !errors.Is(err, tc.err) {
				t.Fatalf("error %v", err)
			}
			if got.Empty != tc.result.Empty || got.MessageID != tc.result.MessageID || got.Accepted != tc.result.Accepted || got.Code != tc.result.Code ||
				!strings.Contains(got.Problem, tc.says) || tc.says == "" && got.Problem != "" {
				t.Errorf("got %+v", got)
			}
			if (len(got.Errors) > 0) != (name == "nothing waits" || strings.HasPrefix(name, "refused")) {
				t.Errorf("errors %+v", got.Errors)
			}
			if tc.result.MessageID == "" {
				return
			}
			rec, _ := m.last(t)
			if !rec.Pulled || rec.Answer == nil || rec.Answer.URL != m.p.URL || rec.Answer.Status != 0 || rec.Accepted != tc.result.Accepted {
				t.Errorf("kept %+v", rec)
			}
		})
	}
	t.Run("a signal beside it", func(t *testing.T) {
		t.Parallel()
		c := craft(plainPart("a@x", "text/plain", "x"))
		c.signals = []*etree.Element{(&ebms.SignalMessage{
			MessageInfo: ebms.MessageInfo{Timestamp: testNow, MessageID: "e-1@edi.acme.example", RefToMessageID: "invoice-1@edi.northwind.example"},
			Errors:      []ebms.Error{ebms.NewError(codeOther, "no", "")},
		}).Element()}
		contentType, wire := c.compose(t)
		m := &receiver{p: fromAcmePlain()}
		got, err := receiverHandler(t, m).TakePulled(context.Background(), "p1", m.p, http.Header{"Content-Type": {contentType}}, bytes.NewReader(wire))
		if err != nil || !got.Accepted || len(m.acks) != 1 || m.acks[0].MessageID != "invoice-1@edi.northwind.example" {
			t.Errorf("got %+v, %v, %d signals", got, err, len(m.acks))
		}
	})
	t.Run("a message of another partner", func(t *testing.T) {
		t.Parallel()
		header, wire := respond(func(*receiver) {})
		m := &receiver{p: pulls()}
		got, err := receiverHandler(t, m).TakePulled(context.Background(), "p2", m.p, header, bytes.NewReader(wire))
		if err != nil || got.Accepted || got.Code != codeValue || m.received[0].Partner != "p2" {
			t.Errorf("got %+v, %v", got, err)
		}
	})
	t.Run("twice", func(t *testing.T) {
		t.Parallel()
		header, wire := respond(func(*receiver) {})
		m := &receiver{p: pulls()}
		h := receiverHandler(t, m)
		for _, again := range []bool{false, true} {
			got, err := h.TakePulled(context.Background(), "p1", m.p, header, bytes.NewReader(wire))
			if err != nil || !got.Accepted || got.Duplicate != again || len(m.received) != 1 {
				t.Errorf("got %+v, %v", got, err)
			}
		}
	})
}

// TestPulledEnvelopeTakesRoom in memory like one that is pushed: where there is
// none the message stays with the partner, and nothing stays behind.
func TestPulledEnvelopeTakesRoom(t *testing.T) {
	t.Parallel()
	m := &receiver{p: fromAcmePlain()}
	h := receiverHandler(t, m)
	large := craft()
	large.body, large.user.Parts = "<Order>"+strings.Repeat("x", 100<<10)+"</Order>", []ebms.PartInfo{{}}
	pull := func() (PullResult, error) {
		r := large.request(t)
		return h.TakePulled(context.Background(), "p1", m.p, r.Header, r.Body)
	}
	h.envelopes.held = h.envelopes.limit
	if got, err := pull(); !errors.Is(err, scratch.ErrNoRoom) || got.Accepted || len(m.received) != 0 {
		t.Errorf("without room: %+v, %v", got, err)
	}
	h.envelopes.held = 0
	if got, err := pull(); err != nil || !got.Accepted || h.envelopes.held != 0 || len(h.envelopes.addresses) != 0 {
		t.Errorf("with room: %+v, %v; %d bytes are held", got, err, h.envelopes.held)
	}
}
