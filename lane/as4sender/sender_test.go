package as4sender

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"edigw/as2"
	"edigw/as4"
	"edigw/fault"
	"edigw/internal/testpki"
	"edigw/lane/wire/wiretest"
	"edigw/queue"
	"edigw/store/spool"
)

var invoice = []byte("ISA*00*          *ZZ*ACME~\nST*810*0001~\r\n\x00\xff~\n")

func TestSignedReceiptDelivers(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	m := h.accept(invoice)
	b, fresh := h.prepare(m)
	if !fresh || b.N != 1 || b.Why != "" || b.MessageID != m.MessageID || b.AckAsked != fault.AckSync || b.Message != m.ID {
		t.Errorf("built %+v", b)
	}
	o, raw := h.sender.Exchange(t.Context(), m, b)
	if o.Phase != fault.PhaseDone || o.Status != http.StatusOK || o.AckAsked != fault.AckSync || !trusted(o) || o.Ack.Ref != m.MessageID || o.Ack.Token {
		t.Fatalf("%+v", o)
	}
	if !slices.EqualFunc(h.north.contents, [][]byte{invoice}, bytes.Equal) {
		t.Errorf("arrived: %q", h.north.contents)
	}
	if p := h.north.received[0]; !p.Signed || !p.Encrypted || !p.Compressed || p.User.RefToMessageID != "" {
		t.Errorf("received %+v", p.User)
	}
	builds, _ := h.Builds(t.Context(), m.ID)
	if again := h.sender.Judge(t.Context(), m, builds, raw); !trusted(again) || again.Phase != fault.PhaseDone || again.AckAsked != fault.AckSync {
		t.Errorf("judged again: %+v", again)
	}
}

// TestSecondAttemptSendsTheSameBytes: delivery.md §2; the partner answers with
// his first receipt.
func TestSecondAttemptSendsTheSameBytes(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	m := h.accept(invoice)
	h.attempt(m)
	if b, fresh := h.prepare(m); fresh || b.N != 1 {
		t.Errorf("built again: %+v", b)
	}
	if o, _ := h.attempt(m); !trusted(o) {
		t.Errorf("%+v", o)
	}
	want := []string{h.builds[0].SHA256, h.builds[0].SHA256}
	if !slices.Equal(h.north.wires, want) || len(h.north.received) != 1 {
		t.Errorf("on the wire %v, want %v; %d documents taken", h.north.wires, want, len(h.north.received))
	}
}

func TestWhatIsBuiltAnewKeepsItsMessageID(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(h *house)
		why    string
	}{
		"another algorithm": {func(h *house) { h.acme.configure("security: {sign: rsa-sha512}") }, "changed"},
		"another certificate": {func(h *house) {
			h.north.identity = testpki.SelfSigned(h.t, testpki.RSA(h.t, 2), "northwind.example", testpki.Valid())
			h.north.write("keys/own.pem", string(h.north.identity.KeyPEM(h.t))+string(h.north.identity.CertPEM()))
			h.north.load()
			h.acme.configure()
		}, "changed"},
		"wire bytes lost": {func(h *house) {
			if _, err := h.spool.Remove(spool.Wire, time.Time{}, h.builds[0].SHA256); err != nil {
				h.t.Fatal(err)
			}
		}, "gone"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			m := h.accept(invoice)
			h.prepare(m)
			test.change(h)
			b, fresh := h.prepare(m)
			if !fresh || b.N != 2 || b.MessageID != m.MessageID || !strings.Contains(b.Why, test.why) || b.SHA256 == h.builds[0].SHA256 {
				t.Errorf("%+v", b)
			}
			if o, _ := h.attempt(m); !trusted(o) {
				t.Errorf("%+v", o)
			}
		})
	}
}

// TestLocalFaults: nothing is sent, and the outcome says what must be mended.
func TestLocalFaults(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		spoil func(h *house, m *queue.Message)
		cause fault.Cause
	}{
		"own key expired":                {func(h *house, _ *queue.Message) { h.clock = h.acme.identity.Cert.NotAfter.Add(time.Hour) }, fault.CauseKey},
		"document gone":                  {func(_ *house, m *queue.Message) { m.Payload.SHA256 = strings.Repeat("0", 64) }, fault.CausePayload},
		"document shorter than recorded": {func(_ *house, m *queue.Message) { m.Payload.Size++ }, fault.CausePayload},
		"several files that are none":    {func(_ *house, m *queue.Message) { m.Payload.ContentType = `multipart/related; boundary="b"` }, fault.CausePayload},
		"unknown partner":                {func(_ *house, m *queue.Message) { m.Partner = "nobody" }, fault.CauseBuild},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			m := h.accept(invoice)
			test.spoil(h, &m)
			b, fresh, o := h.sender.Prepare(t.Context(), m, nil)
			if o == nil || o.Cause != test.cause || o.Phase != fault.PhaseNone || o.Detail == "" || fresh {
				t.Errorf("%+v, %+v", b, o)
			}
		})
	}
}

func TestExchangeThatCannotBegin(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		spoil func(h *house, b *queue.Build)
		cause fault.Cause
	}{
		"key expired": {func(h *house, _ *queue.Build) { h.clock = h.acme.identity.Cert.NotAfter.Add(time.Hour) }, fault.CauseKey},
		"wire bytes gone": {func(h *house, b *queue.Build) {
			if _, err := h.spool.Remove(spool.Wire, time.Time{}, b.SHA256); err != nil {
				h.t.Fatal(err)
			}
		}, fault.CausePayload},
		"record that cannot be read": {func(_ *house, b *queue.Build) { b.Record = []byte("{") }, fault.CauseBuild},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			m := h.accept(invoice)
			b, _ := h.prepare(m)
			test.spoil(h, &b)
			o, raw := h.sender.Exchange(t.Context(), m, b)
			if o.Cause != test.cause || o.Phase != fault.PhaseNone || o.AckAsked != fault.AckSync || raw != "" || len(h.north.wires) > 0 {
				t.Errorf("%+v, %d sent", o, len(h.north.wires))
			}
			if _, wire, err := h.sender.Wire(b); err == nil && name != "key expired" {
				wire.Close()
				t.Error("it can be handed out all the same")
			}
		})
	}
}

func TestAStoreThatDoesNotAnswerNowChangesNothing(t *testing.T) {
	t.Parallel()
	wiretest.StoreIsSilent(t, newHouse(t), queue.ErrUnavailable)
}

func TestWireBytesThatStayUnreadableAreNotReplaced(t *testing.T) {
	t.Parallel()
	wiretest.StoreIsBroken(t, newHouse(t))
}

// TestSeveralPayloads: a document of several files goes out as so many payloads,
// each as it was.
func TestSeveralPayloads(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "file_name_property: FileName")
	files := []as2.File{}
	contents := [][]byte{[]byte("<order/>"), bytes.Repeat([]byte{0, 0xff}, 300_000), []byte("line\n")}
	for i, c := range contents {
		files = append(files, as2.File{Name: fmt.Sprintf("file-%d.bin", i), ContentType: []string{"application/xml", "image/png", "text/plain"}[i], Size: int64(len(c)),
			Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(c)), nil }})
	}
	related, err := as2.NewRelated(files)
	if err != nil {
		t.Fatal(err)
	}
	var whole bytes.Buffer
	if _, err := related.WriteTo(&whole); err != nil {
		t.Fatal(err)
	}
	m := h.acceptAs(whole.Bytes(), related.ContentType, "")
	if o, _ := h.attempt(m); !trusted(o) {
		t.Fatalf("%+v; refused %v", o, h.north.refused)
	}
	if !slices.EqualFunc(h.north.contents, contents, bytes.Equal) {
		t.Fatalf("%d payloads arrived, not those that were sent", len(h.north.contents))
	}
	for i, p := range h.north.received[0].Payloads {
		if p.ContentType != files[i].ContentType {
			t.Errorf("payload %d is %s", i, p.ContentType)
		}
	}
	if r := recordOf(t, h.builds[0]); len(r.References) < 5 {
		t.Errorf("the receipt need not name every payload: %+v", r.References)
	}
}

// TestReplyNamesWhatItAnswers: a document whose correlation id is our id of a
// message of theirs is the answer to that.
func TestReplyNamesWhatItAnswers(t *testing.T) {
	t.Parallel()
	request := queue.Message{ID: "01j00000000000000000000000", Partner: "northwind", Direction: queue.In, Protocol: "as4", MessageID: "order-1@edi.northwind.example"}
	if len(request.ID) != queue.IDLength {
		t.Fatal("no id of ours")
	}
	for name, tc := range map[string]struct {
		change func(*queue.Message) // the message that the correlation id names
		refers string
		want   string
	}{
		"their message":       {want: "order-1@edi.northwind.example"},
		"nothing of ours":     {refers: "PO-4711"},
		"no message":          {refers: "01jzzzzzzzzzzzzzzzzzzzzzzz"},
		"a document of ours":  {change: func(m *queue.Message) { m.Direction = queue.Out }},
		"of somebody else":    {change: func(m *queue.Message) { m.Partner = "contoso" }},
		"of another protocol": {change: func(m *queue.Message) { m.Protocol = "as2" }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			named := request
			if tc.change != nil {
				tc.change(&named)
			}
			h.messages[named.ID] = named
			h.arrived = []queue.Build{{Message: named.ID, N: 1, Record: []byte(`{"facts":{"id":"x","as4":{"conversation_id":"orders of May"}}}`)}}
			m := h.accept(invoice)
			if m.CorrelationID = tc.refers; m.CorrelationID == "" {
				m.CorrelationID = named.ID
			}
			if o, _ := h.attempt(m); !trusted(o) {
				t.Fatalf("%+v; refused %v", o, h.north.refused)
			}
			if got := h.north.received[0].User.RefToMessageID; got != tc.want {
				t.Errorf("it answers %q, want %q", got, tc.want)
			}
			if got := h.north.received[0].User.ConversationID; (got == "orders of May") != (tc.want != "") {
				t.Errorf("it belongs to the conversation %q", got)
			}
		})
	}
}

// TestReceiptThatComesByItself: it is judged against all builds that were sent,
// under the certificates of that time and of now.
func TestReceiptThatComesByItself(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "receipt: {mode: async}")
	h.north.configure("receive: {receipt: {mode: async}}")
	m := h.accept(invoice)
	o, raw := h.attempt(m)
	if o.Status != http.StatusAccepted || o.Ack != nil || raw != "" || o.AckAsked != fault.AckAsync {
		t.Fatalf("%+v, %q", o, raw)
	}
	answer := h.north.answers[m.MessageID]
	if answer == nil || answer.URL != h.acme.server.URL+"/as4" {
		t.Fatalf("owed %+v", answer)
	}
	kept := h.keep(http.Header{"Content-Type": {answer.ContentType}}, answer.Body)
	unsent := h.builds[0]
	unsent.Sent = false
	for name, tc := range map[string]struct {
		builds  []queue.Build
		verdict fault.AckVerdict
	}{
		"of the build that was sent": {h.builds, fault.AckTrusted},
		"of one that was not":        {[]queue.Build{unsent}, fault.AckOtherMessage},
	} {
		if o := h.sender.Judge(t.Context(), m, tc.builds, kept); o.Ack == nil || o.Ack.Verdict != tc.verdict || o.AckAsked != fault.AckAsync {
			t.Errorf("%s: %+v", name, o)
		}
	}
	h.acme.configure("receipt: {mode: async}", "security: {digest: sha512}") // an earlier build
	if b, fresh := h.prepare(m); !fresh || b.N != 2 {
		t.Fatal("not built anew")
	}
	if o := h.sender.Judge(t.Context(), m, h.builds, kept); !trusted(o) {
		t.Errorf("of an earlier build: %+v", o)
	}
	if o := h.sender.Judge(t.Context(), m, h.builds[1:], kept); o.Ack == nil || o.Ack.Verdict != fault.AckMICMismatch {
		t.Errorf("without the build that it is about: %+v", o)
	}
	right := h.north.identity
	h.north.identity = testpki.SelfSigned(t, testpki.RSA(t, 2), "other.northwind.example", testpki.Valid())
	h.acme.configure("receipt: {mode: async}")
	if o := h.sender.Judge(t.Context(), m, h.builds, kept); o.Ack == nil || o.Ack.Verdict != fault.AckWrongSigner {
		t.Errorf("of a signer who is not known: %+v", o)
	}
	h.north.identity = right
	h.acme.configure("receipt: {mode: async}")
	if o := h.sender.Judge(t.Context(), m, h.builds, kept); !trusted(o) {
		t.Errorf("checked again: %+v", o)
	}
}

func TestJudgeOfWhatIsNoReceipt(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	m := h.accept(invoice)
	if o := h.sender.Judge(t.Context(), m, nil, strings.Repeat("0", 64)); o.Cause != fault.CausePayload {
		t.Errorf("missing: %+v", o)
	}
	page := h.keep(http.Header{"Content-Type": {"text/html"}}, []byte("<html>"))
	if o := h.sender.Judge(t.Context(), m, nil, page); o.Ack != nil || o.Protocol || o.Detail == "" {
		t.Errorf("a page: %+v", o)
	}
}

// TestRefusalIsNegative: an ebMS error in the response counts, and is kept.
func TestRefusalIsNegative(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.north.configure("receive: {algorithms: [rsa-sha512]}")
	o, raw := h.attempt(h.accept(invoice))
	if o.Ack == nil || o.Ack.Positive || o.Ack.Verdict != fault.AckTrusted || raw == "" || !o.Protocol {
		t.Errorf("%+v, kept %q", o, raw)
	}
	h.north.page = func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>maintenance</html>") }
	o, raw = h.attempt(h.accept(invoice))
	if o.Status != http.StatusOK || o.Ack != nil || o.Protocol || raw != "" || !bytes.Contains(o.Head, []byte("maintenance")) {
		t.Errorf("a page: %+v, %q", o, raw)
	}
}

// TestOwedReceipt: it goes out as it was made, to the address that was settled
// when the message came.
func TestOwedReceipt(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.acme.configure("receive: {receipt: {mode: async}}")
	h.north.configure("receipt: {mode: async}")
	h.north.hand("order-1", invoice)
	push := h.north.waiting[0]
	body, err := io.ReadAll(push.Wire)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.Post(h.acme.server.URL+"/as4", push.Rendition.ContentType, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	answer := h.acme.answers["order-1@edi.northwind.example"]
	if answer == nil || answer.URL == "" {
		t.Fatalf("status %d, owed %+v; refused %v", res.StatusCode, answer, h.acme.refused)
	}
	m, b := h.owes(answer)
	owed := Receipts{h.sender}
	if got, fresh, o := owed.Prepare(t.Context(), m, []queue.Build{b}); o != nil || fresh || got.SHA256 != b.SHA256 {
		t.Fatalf("%+v %v %+v", got, fresh, o)
	}
	o, raw := owed.Exchange(t.Context(), m, b)
	if o.Status/100 != 2 || o.AckAsked != fault.AckNotAsked || raw != "" {
		t.Fatalf("%+v", o)
	}
	if len(h.north.signals) != 1 || h.north.signals[0].MessageID != "order-1@edi.northwind.example" {
		t.Fatalf("they got %+v", h.north.signals)
	}
	p, err := h.north.settings.Load().PMode("acme", h.now())
	if err != nil {
		t.Fatal(err)
	}
	if ack, signal := as4.VerifySignal(h.north.signals[0].Header, h.north.signals[0].Body, []as4.Rendition{push.Rendition}, p, h.now()); ack.Verdict != fault.AckTrusted || !ack.Positive {
		t.Errorf("they read %+v: %s", ack, signal.Problem)
	}
	if o := owed.Judge(t.Context(), m, nil, ""); o.Ack != nil || o.AckAsked != fault.AckNotAsked {
		t.Errorf("judged %+v", o)
	}
	if _, _, o := owed.Prepare(t.Context(), m, nil); o == nil || o.Cause != fault.CausePayload {
		t.Errorf("without its build: %+v", o)
	}
	b.Record = []byte("{")
	if o, _ := owed.Exchange(t.Context(), m, b); o.Cause != fault.CauseBuild || o.AckAsked != fault.AckNotAsked {
		t.Errorf("a record that cannot be read: %+v", o)
	}
	m.Partner = "nobody"
	if o, _ := owed.Exchange(t.Context(), m, b); o.Phase != fault.PhaseNone || o.AckAsked != fault.AckNotAsked {
		t.Errorf("of nobody: %+v", o)
	}
}

// TestPing: the whole way is tried, and nothing is delivered.
func TestPing(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "receipt: {mode: async}")
	if o := h.sender.Ping(t.Context(), "northwind"); !trusted(o) || o.Status != http.StatusOK {
		t.Fatalf("%+v", o)
	}
	if h.north.tested != 1 || len(h.north.received) != 0 {
		t.Errorf("tested %d times, %d delivered", h.north.tested, len(h.north.received))
	}
	h.north.configure("receive: {algorithms: [rsa-sha512]}")
	if o := h.sender.Ping(t.Context(), "northwind"); o.Ack == nil || o.Ack.Positive || o.Sentence() == "" {
		t.Errorf("refused: %+v", o)
	}
	if o := h.sender.Ping(t.Context(), "nobody"); o.Cause != fault.CauseBuild || o.Phase != fault.PhaseNone {
		t.Errorf("unknown: %+v", o)
	}
	h.north.page = func(w http.ResponseWriter, _ *http.Request) { http.NotFound(w, nil) }
	if o := h.sender.Ping(t.Context(), "northwind"); o.Ack != nil || o.Status != http.StatusNotFound {
		t.Errorf("a page: %+v", o)
	}
}

// Alone, not beside others: one of them could take the port that is closed here.
func TestCheckSendsNoDocument(t *testing.T) {
	h := newHouse(t)
	if o := h.sender.Check(t.Context(), "northwind"); o.Cause != fault.CauseNone || o.Status == 0 {
		t.Errorf("%+v", o)
	}
	if len(h.north.received) > 0 {
		t.Error("a document was sent")
	}
	if o := h.sender.Check(t.Context(), "nobody"); o.Cause != fault.CauseBuild || o.Phase != fault.PhaseNone {
		t.Errorf("unknown: %+v", o)
	}
	h.acme.write("partners/fetches.yaml", `protocol: as4
as4: {to: {party: "urn:example:ids:fetches"}, mep: one-way/pull, mpc: "urn:example:mpc:fetches", receive: {receipt: {mode: sync}}, security: {encrypt: none}}
certificates: {verify: ../keys/northwind.pem}
`)
	h.acme.load()
	if o := h.sender.Check(t.Context(), "fetches"); o.Cause != fault.CauseBuild || !strings.Contains(o.Detail, "nobody to contact") {
		t.Errorf("who fetches: %+v", o)
	}
	h.north.server.Close()
	if o := h.sender.Check(t.Context(), "northwind"); o.Cause != fault.CauseRefused {
		t.Errorf("down: %+v", o)
	}
}

func TestStoppedWhileBuildingIsNoFault(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	m := h.accept(invoice)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, o := h.sender.Prepare(ctx, m, nil); o == nil || o.Cause != fault.CauseStopped {
		t.Errorf("%+v", o)
	}
}
