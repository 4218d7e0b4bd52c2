package web

import (
	"encoding/json"
	"strings"
	"testing"

	"edigw/as4"
	"edigw/as4/ebms"
	"edigw/queue"
)

func buildOf(t *testing.T, n int, sent bool, references ...ebms.Reference) queue.Build {
	t.Helper()
	record, err := json.Marshal(as4.Rendition{MessageID: "m@acme.example", ContentType: "multipart/related", References: references, User: &ebms.UserMessage{Action: "Deliver"}})
	if err != nil {
		t.Fatal(err)
	}
	return queue.Build{N: n, Sent: sent, Record: record}
}

func refTo(uri, value string) ebms.Reference {
	return ebms.Reference{URI: uri, DigestMethod: "http://www.w3.org/2001/04/xmlenc#sha256", Value: []byte(value)}
}

// TestAcknowledgedBy holds a receipt to the build that it fits, else to that of its
// exchange.
func TestAcknowledgedBy(t *testing.T) {
	t.Parallel()
	builds := []queue.Build{
		buildOf(t, 1, true, refTo("cid:1", "old")), buildOf(t, 2, true, refTo("cid:1", "new")), buildOf(t, 3, false, refTo("cid:1", "never sent")), {N: 4, Sent: true, Record: []byte("[]")},
	}
	for name, tc := range map[string]struct {
		named []ebms.Reference
		build int
		want  string // uri, sent, acknowledged
	}{
		"of the first build":   {[]ebms.Reference{refTo("cid:1", "old")}, 2, "cid:1 b2xk b2xk true"},
		"of the second":        {[]ebms.Reference{refTo("cid:1", "new")}, 1, "cid:1 bmV3 bmV3 true"},
		"of neither":           {[]ebms.Reference{refTo("cid:1", "x")}, 2, "cid:1 bmV3 eA== false"},
		"of one never sent":    {[]ebms.Reference{refTo("cid:1", "never sent")}, 1, "cid:1 b2xk bmV2ZXIgc2VudA== false"},
		"of something else":    {[]ebms.Reference{refTo("cid:2", "x")}, 1, "cid:1 b2xk  false; cid:2  eA== false"},
		"twice the same thing": {[]ebms.Reference{refTo("cid:1", "old"), refTo("cid:1", "old")}, 1, "cid:1 b2xk b2xk true; cid:1  b2xk false"},
		"of nothing":           {nil, 1, ""},
	} {
		var got []string
		for _, a := range AcknowledgedBy(&as4.Signal{Kind: as4.KindReceipt, References: tc.named}, builds, tc.build) {
			got = append(got, strings.Join([]string{a.URI, a.Sent, a.Acknowledged, map[bool]string{true: "true", false: "false"}[a.Equal]}, " "))
		}
		if text := strings.Join(got, "; "); text != tc.want {
			t.Errorf("%s: %q, want %q", name, text, tc.want)
		}
	}
	if AcknowledgedBy(&as4.Signal{Kind: as4.KindError, References: []ebms.Reference{refTo("cid:1", "old")}}, builds, 1) != nil || AcknowledgedBy(nil, builds, 1) != nil {
		t.Error("an error, or nothing, acknowledges something")
	}
}

// TestExplainedCodes: theirs and those of the table; what the table says is left out
// of the partner's words, and a SOAP fault has no row in it.
func TestExplainedCodes(t *testing.T) {
	t.Parallel()
	e := ExplainCode("0101", "", "", "FailedAuthentication: The signature does not verify, or is not by a certificate that the receiver has for the sender: who is that?")
	if e.Code != "EBMS:0101" || e.Name != "FailedAuthentication" || e.Severity != "failure" || e.Words != "FailedAuthentication: who is that?" || e.Meaning == "" || e.Remedy == "" {
		t.Errorf("%+v", e)
	}
	if e := ExplainCode("env:Sender", "", "", "no"); e.Code != "env:Sender" || e.Meaning != "" || e.Words != "no" {
		t.Errorf("%+v", e)
	}
	if e := ExplainCode("EBMS:9999", "Own", "warning", "x"); e.Name != "Own" || e.Severity != "warning" || e.Meaning != "" {
		t.Errorf("%+v", e)
	}
	if got := TheirWords("authentication-failed", "", "detail"); got != "authentication-failed" {
		t.Errorf("words of a disposition: %q", got)
	}
	if got := TheirWords("", "EBMS:0004", "Other: "+strings.Repeat("ü", 500)); len([]rune(got)) > 161 || !strings.HasPrefix(got, "EBMS:0004 Other: ü") {
		t.Errorf("long words: %q", got)
	}
}

// TestSentHeader is of AS4 documents that we sent, and of the newest build.
func TestSentHeader(t *testing.T) {
	t.Parallel()
	m := queue.Message{Protocol: "as4", Direction: queue.Out, Kind: queue.KindDocument}
	builds := []queue.Build{buildOf(t, 1, true)}
	if h := SentHeader(m, builds); h == nil || h.Action != "Deliver" || h.MPC != ebms.DefaultMPC || h.Properties == nil || h.Payloads == nil {
		t.Errorf("%+v", h)
	}
	for name, other := range map[string]queue.Message{
		"AS2": {Protocol: "as2", Direction: queue.Out, Kind: queue.KindDocument}, "received": {Protocol: "as4", Direction: queue.In, Kind: queue.KindDocument}, "a receipt": {Protocol: "as4", Direction: queue.Out, Kind: queue.KindReceipt},
	} {
		if SentHeader(other, builds) != nil {
			t.Errorf("%s has a header", name)
		}
	}
	if SentHeader(m, nil) != nil || SentHeader(m, []queue.Build{{Record: []byte("{}")}}) != nil {
		t.Error("a header is told that is not known")
	}
}
