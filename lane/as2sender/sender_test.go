package as2sender

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"edigw/as2"
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
	if strings.Contains(string(b.Record), "s3cret") {
		t.Error("the record holds the password")
	}
	o, raw := h.sender.Exchange(t.Context(), m, b)
	if o.Phase != fault.PhaseDone || o.Status != http.StatusOK || o.AckAsked != fault.AckSync || o.Ack == nil {
		t.Fatalf("%+v", o)
	}
	if o.Ack.Verdict != fault.AckTrusted || !o.Ack.Positive || o.Ack.Ref != m.MessageID || o.Ack.Token {
		t.Errorf("%+v", *o.Ack)
	}
	if !slices.EqualFunc(h.partner.payloads, [][]byte{invoice}, bytes.Equal) {
		t.Errorf("arrived: %q", h.partner.payloads)
	}
	builds, _ := h.Builds(t.Context(), m.ID)
	again := h.sender.Judge(t.Context(), m, builds, raw)
	if again.Ack == nil || again.Ack.Verdict != fault.AckTrusted || !again.Ack.Positive || again.Phase != fault.PhaseDone || again.AckAsked != fault.AckSync {
		t.Errorf("judged again: %+v", again)
	}
}

// TestSecondAttemptSendsTheSameBytes: delivery.md §2.
func TestSecondAttemptSendsTheSameBytes(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	m := h.accept(invoice)
	h.attempt(m)
	if b, fresh := h.prepare(m); fresh || b.N != 1 {
		t.Errorf("built again: %+v", b)
	}
	o, _ := h.attempt(m)
	if o.Ack == nil || o.Ack.Verdict != fault.AckTrusted {
		t.Errorf("%+v", o)
	}
	want := []string{h.builds[0].SHA256, h.builds[0].SHA256}
	if !slices.Equal(h.partner.wires, want) || len(h.partner.payloads) != 1 {
		t.Errorf("on the wire %v, want %v; %d documents taken", h.partner.wires, want, len(h.partner.payloads))
	}
}

func TestWhatIsBuiltAnewKeepsItsMessageID(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		change func(h *house)
		why    string
	}{
		{"another algorithm", func(h *house) { h.configure("sign: sha512") }, "changed"},
		{"another certificate", func(h *house) {
			h.theirs = testpki.SelfSigned(h.t, testpki.RSA(h.t, 2), "northwind.example", testpki.Valid())
			h.write("keys/northwind.pem", string(h.theirs.CertPEM()))
			h.load()
		}, "changed"},
		{"wire bytes lost", func(h *house) {
			if _, err := h.spool.Remove(spool.Wire, time.Time{}, h.builds[0].SHA256); err != nil {
				h.t.Fatal(err)
			}
		}, "gone"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			m := h.accept(invoice)
			h.prepare(m)
			test.change(h)
			b, fresh := h.prepare(m)
			if !fresh || b.N != 2 || b.MessageID != m.MessageID || !strings.Contains(b.Why, test.why) || b.SHA256 == h.builds[0].SHA256 {
				t.Errorf("%+v", b)
			}
			if o, _ := h.attempt(m); o.Ack == nil || o.Ack.Verdict != fault.AckTrusted || !o.Ack.Positive {
				t.Errorf("%+v", o)
			}
		})
	}
}

// TestLocalFaults: nothing is sent, and the outcome says what must be mended.
func TestLocalFaults(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		spoil func(h *house, m *queue.Message)
		cause fault.Cause
	}{
		{"own key expired", func(h *house, _ *queue.Message) { h.clock = h.ours.Cert.NotAfter.Add(time.Hour) }, fault.CauseKey},
		{"document gone", func(h *house, m *queue.Message) { m.Payload.SHA256 = strings.Repeat("0", 64) }, fault.CausePayload},
		{"document shorter than recorded", func(h *house, m *queue.Message) { m.Payload.Size++ }, fault.CausePayload},
		{"unknown partner", func(_ *house, m *queue.Message) { m.Partner = "nobody" }, fault.CauseBuild},
	} {
		t.Run(test.name, func(t *testing.T) {
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

func TestExchangeFindsTheKeyExpired(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	m := h.accept(invoice)
	b, _ := h.prepare(m)
	h.clock = h.ours.Cert.NotAfter.Add(time.Hour)
	o, raw := h.sender.Exchange(t.Context(), m, b)
	if o.Cause != fault.CauseKey || o.Phase != fault.PhaseNone || o.AckAsked != fault.AckSync || raw != "" || len(h.partner.wires) > 0 {
		t.Errorf("%+v, %d sent", o, len(h.partner.wires))
	}
}

func TestExchangeWithoutWireBytesIsLocal(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	m := h.accept(invoice)
	b, _ := h.prepare(m)
	if _, err := h.spool.Remove(spool.Wire, time.Time{}, b.SHA256); err != nil {
		t.Fatal(err)
	}
	if o, _ := h.sender.Exchange(t.Context(), m, b); o.Cause != fault.CausePayload || o.Phase != fault.PhaseNone {
		t.Errorf("%+v", o)
	}
	b.Record = []byte("{")
	if o, _ := h.sender.Exchange(t.Context(), m, b); o.Cause != fault.CauseBuild || o.AckAsked != fault.AckSync {
		t.Errorf("a record that cannot be read: %+v", o)
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

// TestFullDiskIsNoFaultOfTheMessage runs itself again under a limit on the size
// of files, which fails writes as a full disk does.
func TestFullDiskIsNoFaultOfTheMessage(t *testing.T) {
	const limited = "EDIGW_TEST_LIMITED"
	if os.Getenv(limited) == "" {
		t.Parallel()
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
		cmd.Env = append(os.Environ(), limited+"=yes")
		if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("--- PASS: "+t.Name())) {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	h := newHouse(t)
	m := h.accept(make([]byte, 200_000))
	signal.Ignore(syscall.SIGXFSZ)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 100_000, Max: 100_000}); err != nil {
		t.Fatal(err)
	}
	_, fresh, o := h.sender.Prepare(t.Context(), m, nil)
	if o == nil || o.Cause != fault.CauseStopped || fresh {
		t.Errorf("%+v", o)
	}
}

// TestTokenOfAnAsynchronousReceipt: only the URL of a build that was sent
// counts.
func TestTokenOfAnAsynchronousReceipt(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "mdn: {mode: async}")
	m := h.accept(invoice)
	o, raw := h.attempt(m)
	if o.Status != http.StatusOK || o.Ack != nil || raw != "" || o.AckAsked != fault.AckAsync {
		t.Fatalf("%+v, %q", o, raw)
	}
	answer, b := h.partner.owed[0], h.builds[0]
	if b.Token == "" || !strings.HasSuffix(answer.URL, "="+b.Token) {
		t.Fatalf("owed to %s, token %q", answer.URL, b.Token)
	}
	unsent := b
	unsent.Sent = false
	for _, test := range []struct {
		name, token string
		builds      []queue.Build
		right       bool
		verdict     fault.AckVerdict
	}{
		{"right", b.Token, h.builds, true, fault.AckTrusted},
		{"wrong", b.Token[1:] + "x", h.builds, false, fault.AckTrusted},
		{"none", "", h.builds, false, fault.AckTrusted},
		{"of a build that was not sent", b.Token, []queue.Build{unsent}, false, fault.AckOtherMessage},
	} {
		o := h.sender.Judge(t.Context(), m, test.builds, h.keep(receiptOf(answer, test.token)))
		if o.Ack == nil || o.Ack.Token != test.right || o.Ack.Verdict != test.verdict || o.AckAsked != fault.AckAsync {
			t.Errorf("%s: %+v", test.name, o)
		}
	}
}

// TestReceiptOfAnEarlierBuildCounts: a partner answers a repeat with his first
// receipt, whose digest is that of what he got first.
func TestReceiptOfAnEarlierBuildCounts(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	m := h.accept(invoice)
	h.attempt(m)
	h.configure("compress: before-sign")
	o, raw := h.attempt(m)
	if len(h.builds) != 2 || record(t, h.builds[0]).MICs[0] == record(t, h.builds[1]).MICs[0] {
		t.Fatal("the builds have the same digest")
	}
	if o.Ack == nil || o.Ack.Verdict != fault.AckTrusted || !o.Ack.Positive {
		t.Errorf("%+v", o)
	}
	if o := h.sender.Judge(t.Context(), m, h.builds, raw); o.Ack == nil || o.Ack.Verdict != fault.AckTrusted {
		t.Errorf("judged again: %+v", o)
	}
	if o := h.sender.Judge(t.Context(), m, h.builds[1:], raw); o.Ack == nil || o.Ack.Verdict != fault.AckMICMismatch {
		t.Errorf("without the build that it is about: %+v", o)
	}
}

// TestReceiptIsJudgedByTodaysCertificates: re-check after the right one was
// imported.
func TestReceiptIsJudgedByTodaysCertificates(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	right := string(h.theirs.CertPEM())
	m := h.accept(invoice)
	h.prepare(m)
	h.write("keys/northwind.pem", string(testpki.SelfSigned(t, testpki.RSA(t, 2), "old.northwind.example", testpki.Valid()).CertPEM()))
	h.configure("encrypt: none")
	o, raw := h.attempt(m)
	if o.Ack == nil || o.Ack.Verdict != fault.AckWrongSigner || raw == "" {
		t.Fatalf("%+v", o)
	}
	h.write("keys/northwind.pem", right)
	h.load()
	if o := h.sender.Judge(t.Context(), m, h.builds, raw); o.Ack == nil || o.Ack.Verdict != fault.AckTrusted || !o.Ack.Positive {
		t.Errorf("%+v", o)
	}
}

func TestAnswerThatIsNoReceipt(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.partner.page = "<html>maintenance</html>"
	o, raw := h.attempt(h.accept(invoice))
	if o.Status != http.StatusOK || o.Ack != nil || o.Protocol || raw != "" || !bytes.Contains(o.Head, []byte("maintenance")) {
		t.Errorf("%+v, %q", o, raw)
	}
}

func TestJudgeOfWhatIsNoReceipt(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	m := h.accept(invoice)
	if o := h.sender.Judge(t.Context(), m, nil, strings.Repeat("0", 64)); o.Cause != fault.CausePayload {
		t.Errorf("missing: %+v", o)
	}
	page := h.keep(as2.Receipt{Header: http.Header{"Content-Type": {"text/html"}}, Body: []byte("<html>")})
	if o := h.sender.Judge(t.Context(), m, nil, page); o.Ack != nil || o.Protocol || o.Detail == "" {
		t.Errorf("a page: %+v", o)
	}
}

// Alone, not beside others: one of them could take the port that is closed here.
func TestCheckSendsNoDocument(t *testing.T) {
	h := newHouse(t)
	if o := h.sender.Check(t.Context(), "northwind"); o.Cause != fault.CauseNone || o.Status == 0 {
		t.Errorf("%+v", o)
	}
	if len(h.partner.payloads) > 0 {
		t.Error("a document was sent")
	}
	if o := h.sender.Check(t.Context(), "nobody"); o.Cause != fault.CauseBuild || o.Phase != fault.PhaseNone {
		t.Errorf("unknown: %+v", o)
	}
	h.server.Close()
	if o := h.sender.Check(t.Context(), "northwind"); o.Cause != fault.CauseRefused {
		t.Errorf("down: %+v", o)
	}
}

// TestClientIsMadeAnewOnlyForOtherSettings: connections stay open over a reload
// that does not concern them.
func TestClientIsMadeAnewOnlyForOtherSettings(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	get := func() *http.Client {
		c, _, err := h.sender.desk.Client(h.settings.Load(), "northwind")
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	first := get()
	h.configure("subject: other")
	if get() != first {
		t.Error("a new client for another subject")
	}
	h.write("partners/northwind.yaml", strings.Replace(readFile(t, h.dir, "partners", "northwind.yaml"), "protocol", "timeout: {connect: 3s}\nprotocol", 1))
	h.load()
	if get() == first {
		t.Error("the old client for another time-out")
	}
}

func TestAStoreThatDoesNotAnswerNowChangesNothing(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{"unavailable": queue.ErrUnavailable, "a time-out": context.DeadlineExceeded} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wiretest.StoreIsSilent(t, newHouse(t), err)
		})
	}
}

func TestWireBytesThatStayUnreadableAreNotReplaced(t *testing.T) {
	t.Parallel()
	wiretest.StoreIsBroken(t, newHouse(t))
}
