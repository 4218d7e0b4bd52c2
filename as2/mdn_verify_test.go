package as2

import (
	"encoding/base64"
	"net/http"
	"testing"

	"edigw/fault"
)

// TestDuplicateWithoutMIC: pyas2lib answers a repeat with a warning and opens
// nothing. That is no receipt of what was sent, and no receipt of anything else.
func TestDuplicateWithoutMIC(t *testing.T) {
	t.Parallel()
	a := toNorthwind()
	r, wire := mustBuild(t, a, []byte("ISA~"))
	q, err := parseRequest(wireRequest(t, r, wire).Header)
	if err != nil {
		t.Fatal(err)
	}
	by := fromAcme()
	for _, tc := range []struct {
		text     string
		mic      *MIC
		verdict  fault.AckVerdict
		positive bool
	}{
		{"duplicate-document", nil, fault.AckTrusted, false},
		{"duplicate-document", &r.MICs[0], fault.AckTrusted, true},
		{"duplicate-document", &MIC{"sha-256", base64.StdEncoding.EncodeToString(make([]byte, 32))}, fault.AckMICMismatch, true},
		{"something-else", nil, fault.AckMICMismatch, true},
	} {
		answer, err := testHandler(t, &memory{}).answerer().answer(q, &by, Disposition{Mode: autoMode, Type: "processed", Modifier: "warning", Text: tc.text}, tc.mic)
		if err != nil {
			t.Fatal(err)
		}
		header := http.Header{}
		for _, f := range answer.Headers {
			header.Set(f.Name, f.Value)
		}
		ack, mdn := VerifyMDN(header, answer.Body, []Rendition{r}, a)
		if ack.Verdict != tc.verdict || ack.Positive != tc.positive {
			t.Errorf("%s, MIC %v: verdict %q, positive %t (%s)", tc.text, tc.mic, ack.Verdict, ack.Positive, mdn.Problem)
		}
	}
}
