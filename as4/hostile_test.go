package as4

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"edigw/as4/ebms"
	"edigw/as4/wssec"
	"edigw/fault"
	"edigw/internal/testfixture"
	"edigw/internal/testpage"
)

var update = flag.Bool("update", false, "write the tables of docs/ anew")

// hostileDir has the hostile inputs that the repository keeps.
const hostileDir = "testdata/hostile"

// hostileTime is when the hostile inputs were signed.
var hostileTime = time.Date(2026, 1, 1, 0, 0, 10, 0, time.UTC)

func hostileFile(elem ...string) string {
	return filepath.Join(append([]string{hostileDir}, elem...)...)
}

// hostileRows are the rows of the manifest, requests or answers.
func hostileRows(t *testing.T, answers bool) (rows []map[string]string) {
	t.Helper()
	for _, row := range testfixture.Table(t, hostileFile("manifest.tsv")) {
		if strings.HasPrefix(row["file"], "as4/receipt-") == answers {
			rows = append(rows, row)
		}
	}
	if len(rows) < 5 {
		t.Fatalf("%d rows in the manifest", len(rows))
	}
	return rows
}

// hostilePMode is how EDIGW receives from PARTNER.
func hostilePMode(t *testing.T) PMode {
	t.Helper()
	party := func(id, role string) ebms.Party {
		return ebms.Party{IDs: []ebms.PartyID{{Value: id, Type: "urn:edigw:test"}}, Role: role}
	}
	return PMode{
		From: party("EDIGW", ebms.RoleInitiator), To: party("PARTNER", ebms.RoleResponder),
		Collaboration: Collaboration{Service: ebms.Service{Value: "Orders", Type: "urn:edigw:test"}, Action: "Deliver"},
		Sign: wssec.Signing{
			Key: readKey(t, hostileFile("keys", "gateway.key.pem")), Certificate: testfixture.Certificate(t, hostileFile("keys", "gateway.crt.pem")), Algorithm: wssec.RSASHA256,
		},
		Receive: Receive{Signed: true, Receipt: ReceiptRequest{Mode: ReceiptSync, NonRepudiation: true, Signed: true}},
		Verify:  []*x509.Certificate{testfixture.Certificate(t, hostileFile("keys", "partner.crt.pem"))},
	}
}

// TestHostileInputs gives each hostile message to the receiver and each hostile
// receipt to VerifySignal: the verdicts and bounds of the manifest must hold,
// nothing evil may be delivered, and what should pass must. The page shows what
// came of them. Not parallel: it counts what is allocated.
func TestHostileInputs(t *testing.T) {
	testfixture.NoWayOut(t)
	table := testpage.Row("input", "verdict", "answered", "edigw says") + "|---|---|---|---|\n"
	add := func(file, verdict, answer, problem string, used uint64) {
		table += testpage.Row(file, verdict, cmp.Or(answer, "-"), cmp.Or(testfixture.Short(problem), "-"))
		t.Logf("%-45s %-12s %-20s %6d KiB  %s", file, verdict, answer, used>>10, problem)
	}
	same := &receiver{p: hostilePMode(t), now: hostileTime}
	for _, row := range hostileRows(t, false) {
		t.Run(row["file"], func(t *testing.T) {
			m := &receiver{p: hostilePMode(t), now: hostileTime}
			if strings.Contains(row["file"], "duplicate-id") {
				m = same // one inbox: two of them come after the first
			}
			h, before, log := receiverHandler(t, m), len(m.received), &lines{}
			h.o.Log = slog.New(log)
			raw := testfixture.Read(t, hostileFile(row["file"]))
			var res *http.Response
			used := testfixture.Allocated(t, func() { res = serve(h, testfixture.Request(t, raw)) })
			answer, ack := hostileAnswer(t, m, row, res)
			verdict, problem := "accepted", ""
			switch {
			case ack.Verdict == fault.AckTrusted && ack.Positive && len(m.received) == before:
				verdict = "duplicate"
			case ack.Verdict == fault.AckTrusted && ack.Positive:
			case answer == codeOther:
				verdict, problem = "refused", ErrReused.Error()
			case len(m.received) == before:
				verdict, problem = "turned away", log.text[0]+": "+log.detail[len(log.detail)-1]
			default:
				verdict, problem = "refused", m.received[before].Problem
			}
			checkHostile(t, row, m, before, verdict, answer)
			add(row["file"], verdict, answer, problem, used)
		})
	}
	sent, p := hostileSent(t)
	for _, row := range hostileRows(t, true) {
		t.Run(row["file"], func(t *testing.T) {
			res := testfixture.Response(t, testfixture.Read(t, hostileFile(row["file"])))
			body := readBody(t, res)
			var ack fault.Acknowledgement
			var signal Signal
			used := testfixture.Allocated(t, func() { ack, signal = VerifySignal(res.Header, body, sent, p, hostileTime) })
			if settled := ack.Verdict == fault.AckTrusted && ack.Positive; settled != (row["expect"] == "ok") {
				t.Errorf("settles positively: %t, expected %s; says %q", settled, row["expect"], signal.Problem)
			}
			if want := hostileVerdicts[strings.TrimSuffix(filepath.Base(row["file"]), ".http")]; ack.Verdict != want {
				t.Errorf("verdict %q, want %q: %s", ack.Verdict, want, signal.Problem)
			}
			add(row["file"], string(ack.Verdict), "", signal.Problem, used)
		})
	}
	if t.Failed() {
		return // the page says how it should be
	}
	testpage.Table(t, "../docs/hostile-inputs.md", "hostile-as4", "go test ./as4 -run TestHostileInputs -update", table, *update)
}

// hostileVerdicts says which verdict each receipt must get.
var hostileVerdicts = map[string]fault.AckVerdict{
	"receipt-ok":                fault.AckTrusted,
	"receipt-reordered":         fault.AckTrusted,
	"receipt-digest-mismatch":   fault.AckMICMismatch,
	"receipt-reference-missing": fault.AckMICMismatch,
	"receipt-other-message":     fault.AckOtherMessage,
	"receipt-stranger":          fault.AckWrongSigner,
}

// hostileAnswer reads what was answered as the partner would, with the strictest
// reader that we have.
func hostileAnswer(t *testing.T, m *receiver, row map[string]string, res *http.Response) (string, fault.Acknowledgement) {
	t.Helper()
	body := readBody(t, res)
	p := PMode{Receipt: ReceiptRequest{Mode: ReceiptSync, NonRepudiation: true, Signed: true}, Verify: []*x509.Certificate{m.p.Sign.Certificate}}
	sent := []Rendition{{References: referencesOf(t, testfixture.Read(t, hostileFile(row["file"])))}}
	if m := regexp.MustCompile(`<eb:MessageId>([^<]+)<`).FindSubmatch(testfixture.Read(t, hostileFile(row["file"]))); m != nil {
		sent[0].MessageID = string(m[1])
	}
	ack, signal := VerifySignal(res.Header, body, sent, p, hostileTime)
	answer := cmp.Or(ack.EBMS, string(signal.Kind))
	switch {
	case signal.Kind == KindFault:
		if want := signal.Fault.Status(); res.StatusCode != want {
			t.Errorf("fault %s with status %d, want %d", answer, res.StatusCode, want)
		}
	case res.StatusCode != http.StatusOK:
		t.Errorf("status %d, want 200: %.200q", res.StatusCode, body)
	}
	return answer, ack
}

// referencesOf are those of the signature in a message, as its sender keeps them.
func referencesOf(t *testing.T, raw []byte) (all []ebms.Reference) {
	t.Helper()
	req := testfixture.Request(t, raw)
	f, err := framingOf(req.Header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	envelope, err := f.readEnvelope(req.Body, 1<<20)
	if err != nil {
		return nil
	}
	env, _ := parseEnvelope(envelope, 1<<20)
	if env == nil || env.Header == nil {
		return nil
	}
	security, err := wssec.Security(env.Header, "")
	if err != nil || security == nil {
		return nil
	}
	report, _ := wssec.Verify(env.Root, security, nil, wssec.Trust{Now: hostileTime, Pinned: []*x509.Certificate{testfixture.Certificate(t, hostileFile("keys", "partner.crt.pem"))}})
	for _, r := range report.References {
		all = append(all, ebms.Reference{URI: r.URI, DigestMethod: wssec.DigestURI(r.Digest), Value: r.Value})
	}
	return all
}

// checkHostile holds what was answered and kept against the row.
func checkHostile(t *testing.T, row map[string]string, m *receiver, before int, verdict, answer string) {
	t.Helper()
	want := row["answer"]
	if fault, is := strings.CutPrefix(want, "SOAP fault "); is {
		want, _, _ = strings.Cut(fault, " ")
	}
	if want == "the stored receipt" {
		want = "receipt"
	}
	if want == "EBMS:0003 or 0001" {
		want = "EBMS:0001"
	}
	if answer != want {
		t.Errorf("answered %q, want %q", answer, row["answer"])
	}
	switch row["expect"] {
	case "ok":
		if verdict != "accepted" {
			t.Fatalf("%s, expected to pass", verdict)
		}
		sum := sha256.Sum256([]byte(m.payloads[before][0]))
		if got := hex.EncodeToString(sum[:]); got != row["payload_sha256"] || got != m.received[before].Payloads[0].SHA256 || len(m.payloads[before]) != 1 {
			t.Errorf("delivered another document: %.200q", m.payloads[before])
		}
	case "ok:duplicate":
		if verdict != "duplicate" {
			t.Errorf("%s, expected a duplicate", verdict)
		}
	default:
		if verdict == "accepted" || verdict == "duplicate" {
			t.Errorf("%s, expected %s", verdict, row["expect"])
		}
	}
	for _, got := range m.received[before:] {
		if !got.Accepted && (got.Payloads != nil || got.Problem == "" || got.Reason == "" || got.Code != answer) {
			t.Errorf("refused with payloads %v, problem %q, reason %q, code %q", got.Payloads, got.Problem, got.Reason, got.Code)
		}
		if strings.Contains(got.Code+got.Problem+string(got.Answer.Body), "/etc/") {
			t.Errorf("a file was read: %s", got.Problem)
		}
	}
	for _, all := range m.payloads[before:] {
		if strings.Contains(strings.Join(all, ""), "EVIL") {
			t.Error("EVIL-1 was delivered")
		}
	}
}

// TestHostileAttributeVerifies: the signature of xml-attribute-newline.http
// holds, if attribute values are normalised as XML 1.0 §3.3.3 has it.
func TestHostileAttributeVerifies(t *testing.T) {
	t.Parallel()
	m := &receiver{p: hostilePMode(t), now: hostileTime}
	m.p.To.IDs[0].Type = "urn:edigw:test urn:x urn:y"
	res := serve(receiverHandler(t, m), testfixture.Request(t, testfixture.Read(t, hostileFile("as4", "xml-attribute-newline.http"))))
	if got, _ := m.last(t); !got.Accepted || res.StatusCode != http.StatusOK {
		t.Errorf("refused: %s", got.Problem)
	}
}

// hostileSent is as4/control-ok.http as we would have sent it.
func hostileSent(t *testing.T) ([]Rendition, PMode) {
	t.Helper()
	p := PMode{
		Receipt: ReceiptRequest{Mode: ReceiptSync, NonRepudiation: true, Signed: true},
		Verify:  []*x509.Certificate{testfixture.Certificate(t, hostileFile("keys", "partner.crt.pem"))},
	}
	raw := testfixture.Read(t, hostileFile("as4", "control-ok.http"))
	id := regexp.MustCompile(`<eb:MessageId>([^<]+)<`).FindSubmatch(raw)
	return []Rendition{{MessageID: string(id[1]), References: referencesOf(t, raw), Ack: fault.AckSync}}, p
}

// TestHostileInputsAreTheirs: those that are kept here, and their manifest, are
// the ones that they were copied from.
func TestHostileInputsAreTheirs(t *testing.T) {
	t.Parallel()
	origin := testfixture.Path(t, "hostile")
	want := map[string]map[string]string{}
	for _, row := range testfixture.Table(t, filepath.Join(origin, "manifest.tsv")) {
		if strings.HasPrefix(row["file"], "as4/") {
			want[row["file"]] = row
		}
	}
	rows := append(hostileRows(t, false), hostileRows(t, true)...)
	if len(rows) != len(want) {
		t.Errorf("%d rows, theirs are %d", len(rows), len(want))
	}
	for _, row := range rows {
		if fmt.Sprint(row) != fmt.Sprint(want[row["file"]]) {
			t.Errorf("%s: %v, theirs is %v", row["file"], row, want[row["file"]])
		}
	}
	err := filepath.WalkDir(hostileDir, func(path string, d os.DirEntry, err error) error {
		name, _ := filepath.Rel(hostileDir, path)
		if err == nil && !d.IsDir() && name != "README.md" && name != "manifest.tsv" && !bytes.Equal(testfixture.Read(t, path), testfixture.Read(t, filepath.Join(origin, name))) {
			t.Errorf("%s differs", name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
