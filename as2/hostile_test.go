package as2

import (
	"bytes"
	"cmp"
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"edigw/as2/smime"
	"edigw/fault"
	"edigw/internal/testfixture"
	"edigw/internal/testpage"
)

// hostileDir has the hostile inputs that the repository keeps.
const hostileDir = "testdata/hostile"

func hostileFile(elem ...string) string {
	return filepath.Join(append([]string{hostileDir}, elem...)...)
}

// hostileRows are the rows of the manifest below a folder.
func hostileRows(t *testing.T, folder string) (rows []map[string]string) {
	t.Helper()
	for _, row := range testfixture.Table(t, hostileFile("manifest.tsv")) {
		if strings.HasPrefix(row["file"], folder+"/") {
			rows = append(rows, row)
		}
	}
	if len(rows) == 0 {
		t.Fatalf("no row of %s in the manifest", folder)
	}
	return rows
}

// hostilePartner is how EDIGW receives from PARTNER.
func hostilePartner(t *testing.T) Agreement {
	t.Helper()
	cert, key := testfixture.Certificate(t, hostileFile("keys", "gateway.crt.pem")), readKey(t, hostileFile("keys", "gateway.key.pem"))
	return Agreement{
		From: "EDIGW", To: "PARTNER", Receive: Receive{Signed: true},
		SigningKey: key, SigningCertificate: cert,
		Verify:  []*x509.Certificate{testfixture.Certificate(t, hostileFile("keys", "partner.crt.pem"))},
		Decrypt: []smime.Recipient{{Certificate: cert, Key: key}},
	}
}

// TestHostileInputs gives each hostile message to the receiver and each hostile
// MDN to VerifyMDN: the verdicts and bounds of the manifest must hold, nothing
// evil may be delivered, and what should pass must. The page shows what came of
// them. Not parallel: it counts what is allocated.
func TestHostileInputs(t *testing.T) {
	testfixture.NoWayOut(t)
	table := testpage.Row("input", "verdict", "answered", "edigw says") + "|---|---|---|---|\n"
	add := func(file, verdict, answer, problem string, used uint64) {
		table += testpage.Row(file, verdict, cmp.Or(answer, "-"), cmp.Or(testfixture.Short(problem), "-"))
		t.Logf("%-50s %-12s %-55s %5d KiB", file, verdict, answer, used>>10)
	}
	for _, row := range append(hostileRows(t, "as2"), hostilePartHeader) {
		t.Run(row["file"], func(t *testing.T) {
			m := &memory{agreement: hostilePartner(t)}
			if strings.Contains(row["file"], "compressed") {
				m.agreement.Receive = Receive{}
			}
			raw := hostileRequest(t, row["file"])
			h := testHandler(t, m)
			var res *http.Response
			used := testfixture.Allocated(t, func() { res = serve(h, testfixture.Request(t, raw)) })
			got, answer := checkHostile(t, row, m, res)
			verdict := "refused"
			if got.Accepted {
				verdict = "accepted"
			}
			add(row["file"], verdict, answer, got.Problem, used)
		})
	}
	sent, a := hostileSent(t)
	for _, row := range hostileRows(t, "mdn") {
		t.Run(row["file"], func(t *testing.T) {
			res := testfixture.Response(t, testfixture.Read(t, hostileFile(row["file"])))
			body := readBody(t, res)
			var ack fault.Acknowledgement
			var mdn MDN
			used := testfixture.Allocated(t, func() { ack, mdn = VerifyMDN(res.Header, body, sent, a) })
			checkHostileMDN(t, row, sent[0], ack, mdn)
			verdict, says := string(ack.Verdict), mdn.Problem
			if ack.Verdict == fault.AckTrusted {
				says = mdn.Disposition.State()
				if !ack.Positive {
					verdict += ", a refusal"
				}
			}
			add(row["file"], verdict, "", says, used)
		})
	}
	if t.Failed() {
		return // the page says how it should be
	}
	testpage.Table(t, "../docs/hostile-inputs.md", "hostile", "go test ./as2 -run TestHostileInputs -update", table, *update)
}

// hostilePartHeader is the row of an input that is too large to be kept.
var hostilePartHeader = map[string]string{
	"file": "as2/part-header-1mb-folded.http", "expect": "fail:header limit", "answer": "processed/error: unexpected-processing-error",
}

// hostileRequest is the request of a row.
func hostileRequest(t *testing.T, file string) []byte {
	t.Helper()
	if file != hostilePartHeader["file"] {
		return testfixture.Read(t, hostileFile(file))
	}
	// The right message, signed again over a part with one header of 1 MB.
	control := testfixture.Read(t, hostileFile("as2", "control-ok.http"))
	head, body, _ := bytes.Cut(control, []byte("\r\n\r\n"))
	part, _, _ := bytes.Cut(bytes.TrimPrefix(body, []byte("--=_s\r\n")), []byte("\r\n--=_s\r\n"))
	inner := append([]byte("X-Long: "+strings.Repeat("a", 70)+"\r\n"+strings.Repeat(" "+strings.Repeat("b", 72)+"\r\n", 14000)), part...)
	a := hostilePartner(t)
	sum := sha256.Sum256(inner)
	signature, err := smime.SignDetached(sum[:], smime.SignOptions{
		Key: readKey(t, hostileFile("keys", "partner.key.pem")), Certificate: a.Verify[0], Hash: crypto.SHA256, Time: testNow,
	})
	if err != nil {
		t.Fatal(err)
	}
	body = fmt.Appendf(nil, "--=_s\r\n%s\r\n--=_s\r\nContent-Type: application/pkcs7-signature\r\nContent-Transfer-Encoding: base64\r\n\r\n%s\r\n--=_s--\r\n", inner, wrapped(signature))
	head, _, _ = bytes.Cut(head, []byte("\r\nContent-Length:"))
	return fmt.Appendf(nil, "%s\r\nContent-Length: %d\r\n\r\n%s", bytes.Replace(head, []byte("<control@"), []byte("<part-header@"), 1), len(body), body)
}

// checkHostile holds what was answered and kept against the row.
func checkHostile(t *testing.T, row map[string]string, m *memory, res *http.Response) (got Received, answer string) {
	t.Helper()
	body := readBody(t, res)
	r, err := readMDN(res.Header, body)
	if res.StatusCode != http.StatusOK || r.notifications != 1 || !r.Signed {
		t.Fatalf("status %d, want 200 with a signed MDN: %v", res.StatusCode, err)
	}
	if r.Disposition.State() != row["answer"] {
		t.Errorf("answered %q, want %q", r.Disposition.State(), row["answer"])
	}
	got, payload := m.last(t)
	sum := sha256.Sum256(payload)
	ok := row["expect"] == "ok"
	switch {
	case got.Accepted != ok:
		t.Errorf("accepted: %t, expected %s (%s)", got.Accepted, row["expect"], got.Problem)
	case ok && hex.EncodeToString(sum[:]) != row["payload_sha256"]:
		t.Errorf("delivered another document: %.200q", payload)
	case ok && !r.MIC.Equal(MIC{row["mic_alg"], row["mic"]}):
		t.Errorf("MIC %s, want %s, %s", r.MIC, row["mic"], row["mic_alg"])
	case !ok && (got.Payload != nil || got.Problem == "" || got.Reason == "" || r.MIC != MIC{}):
		t.Errorf("refused with payload %v, problem %q, reason %q, MIC %s", got.Payload, got.Problem, got.Reason, r.MIC)
	}
	if bytes.Contains(payload, []byte("EVIL")) {
		t.Error("EVIL-1 was delivered")
	}
	if got.Answer == nil || got.Answer.URL != "" {
		t.Errorf("the receipt is owed elsewhere: %+v", got.Answer)
	}
	// Our own answer must stand before the strictest reader, as the partner.
	sent := []Rendition{{MessageID: got.MessageID, MICs: []MIC{got.MIC}}}
	a := Agreement{MDN: MDNRequest{Signed: true}, Verify: []*x509.Certificate{m.agreement.SigningCertificate}}
	want := fault.AckTrusted
	if got.MessageID == "" {
		want = fault.AckMalformed // such an id is not echoed
	}
	if ack, mdn := VerifyMDN(res.Header, body, sent, a); ack.Verdict != want {
		t.Errorf("our MDN is %q: %s", ack.Verdict, mdn.Problem)
	}
	return got, r.Disposition.State()
}

// hostileSent is as2/outbound.part as we would have sent it.
func hostileSent(t *testing.T) ([]Rendition, Agreement) {
	t.Helper()
	sums := newDigester(crypto.SHA256)
	sums.Write(testfixture.Read(t, hostileFile("as2", "outbound.part")))
	a := Agreement{
		From: "EDIGW", To: "PARTNER", MDN: MDNRequest{Mode: MDNSync, Signed: true},
		Verify: []*x509.Certificate{testfixture.Certificate(t, hostileFile("keys", "partner.crt.pem"))},
	}
	return []Rendition{{MessageID: "<order-1@edigw.test>", MICs: sums.mics(), Ack: fault.AckSync}}, a
}

// hostileVerdicts says which verdict each MDN must get; those that are not here
// are trusted.
var hostileVerdicts = map[string]fault.AckVerdict{
	"two-dispositions":        fault.AckContradictory,
	"two-notification-parts":  fault.AckContradictory,
	"original-id-crlf-inject": fault.AckContradictory,
	"mic-mismatch":            fault.AckMICMismatch,
	"mic-algorithm-mismatch":  fault.AckMICMismatch,
	"original-id-bare-cr":     fault.AckMalformed,
	"original-id-crlf-fold":   fault.AckOtherMessage,
	"original-id-other":       fault.AckOtherMessage,
	"signer-stranger":         fault.AckWrongSigner,
}

func checkHostileMDN(t *testing.T, row map[string]string, sent Rendition, ack fault.Acknowledgement, mdn MDN) {
	t.Helper()
	if !sent.MICs[0].Equal(MIC{row["mic_alg"], row["mic"]}) {
		t.Fatalf("outbound.part has MIC %s, the manifest says %s, %s", sent.MICs[0], row["mic"], row["mic_alg"])
	}
	want := hostileVerdicts[strings.TrimSuffix(strings.TrimPrefix(row["file"], "mdn/"), ".http")]
	if want == "" {
		want = fault.AckTrusted
	}
	if ack.Verdict != want {
		t.Errorf("verdict %q, want %q: %s", ack.Verdict, want, mdn.Problem)
	}
	if settled := ack.Verdict == fault.AckTrusted && ack.Positive; settled != (row["expect"] == "ok") {
		t.Errorf("settles positively: %t, expected %s; says %q", settled, row["expect"], mdn.Disposition)
	}
	if ack.Verdict != fault.AckTrusted && mdn.Problem == "" {
		t.Error("no problem told")
	}
	if state, ok := strings.CutPrefix(row["expect"], "fail:disposition "); ok && mdn.Disposition.State() != state {
		t.Errorf("disposition %q, want %q", mdn.Disposition.State(), state)
	}
	for _, text := range []string{mdn.Problem, mdn.OriginalMessageID, ack.Ref, ack.Detail} {
		if strings.ContainsAny(text, "\r\n") {
			t.Errorf("a line end of theirs is in what we keep: %q", text)
		}
	}
}

// TestHostileInputsAreTheirs: those that are kept here, and their manifest, are
// the ones that they were copied from.
func TestHostileInputsAreTheirs(t *testing.T) {
	t.Parallel()
	origin := testfixture.Path(t, "hostile")
	want := map[string]map[string]string{}
	for _, row := range testfixture.Table(t, filepath.Join(origin, "manifest.tsv")) {
		if strings.HasPrefix(row["file"], "as2/") || strings.HasPrefix(row["file"], "mdn/") {
			want[row["file"]] = row
		}
	}
	rows := append(hostileRows(t, "as2"), hostileRows(t, "mdn")...)
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
