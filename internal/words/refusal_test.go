package words_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"edigw/internal/words"
)

// TestEveryRefusalIsKnown: its sentences, as they stand in the source of packages
// as2 and as4 and in the page of hostile inputs, which are written by running
// it.
func TestEveryRefusalIsKnown(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../as[24]/*.go")
	if err != nil {
		t.Fatal(err)
	}
	formats := regexp.MustCompile(`^(%[vs]|part %q: %v)$`) // of an error from elsewhere
	found := 0
	check := func(problem, where string) {
		found++
		if words.RefusalOf(problem) == words.OtherRefusal {
			t.Errorf("%s: %q is told by nothing", where, problem)
		}
	}
	literal := regexp.MustCompile(`(?:refuse|cannotAnswer)\(\w+, "([^"]+)"|problem:\s+"([^"]+)"`)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range literal.FindAllStringSubmatch(string(source), -1) {
			if problem := m[1] + m[2]; !formats.MatchString(problem) {
				check(problem, file)
			}
		}
	}
	page, err := os.ReadFile("../../docs/hostile-inputs.md")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(page)) {
		if cells := strings.Split(line, " | "); len(cells) == 4 && cells[1] == "refused" {
			check(strings.TrimSuffix(strings.TrimSpace(cells[3]), " |"), cells[0])
		}
	}
	if found < 30 {
		t.Errorf("only %d sentences were found", found)
	}
}

var everyRefusal = []words.Refusal{
	words.OtherRefusal, words.NotForUs, words.NotDecryptable, words.UnknownSigner, words.BadSignature, words.ChangedOnTheWay, words.LessThanDemanded, words.NoLogin,
	words.ReceiptElsewhere, words.ReceiptNotOurs, words.NotDecompressible, words.BadCMS, words.BadMIME, words.BadMessageID, words.NotSettled, words.BadHeader,
}

// TestEveryRefusalHasATitleAndAdvice, each in one line, and none that blames
// the partner for refusing.
func TestEveryRefusalHasATitleAndAdvice(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	page, err := os.ReadFile("../../docs/errors.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range everyRefusal {
		title, a := r.Title(), r.Advise()
		if !strings.Contains(string(page), title) {
			t.Errorf("docs/errors.md does not tell %q", title)
		}
		if title == "" || len(title) > 70 || seen[title] || !strings.HasSuffix(a.Do, ".") || a.Call == "" {
			t.Errorf("%q: %q, %+v", r, title, a)
		}
		seen[title] = true
	}
	for r, want := range map[words.Refusal]string{
		words.NotForUs: "edigw cert export", words.UnknownSigner: "import the certificate that they sign with", words.LessThanDemanded: "receive.require",
		words.ReceiptElsewhere: "as2.receive.receipt_urls", words.NoLogin: "tls.inbound",
	} {
		if do := r.Advise().Do; !strings.Contains(do, want) || r != words.UnknownSigner && strings.Contains(do, "sign with,") {
			t.Errorf("%s: %s", r, do)
		}
	}
}

// TestWhoRefusedWhom: a message of theirs was refused by us, a post by our own
// webhook, the rest by the partner.
func TestWhoRefusedWhom(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		reason string
		f      words.ReasonFacts
		want   string
	}{
		{"signature", words.ReasonFacts{Inbound: true, Detail: "message is encrypted for serial 59; we hold serial 0D"}, "We refused it: encrypted for a certificate that we have no key for"},
		{"format", words.ReasonFacts{Inbound: true, Detail: "the receipt is asked for at an address that as2.receive.receipt_urls does not list: https://a.example"}, "We refused it: they want the receipt at an address that is not listed"},
		{"signature", words.ReasonFacts{}, "Partner rejects our signature or encryption"},
		{"rejected", words.ReasonFacts{Hook: true, Status: 410}, "Webhook refused: status 410"},
		{"rejected", words.ReasonFacts{Status: 410}, "Partner refused: status 410"},
		{"credential", words.ReasonFacts{Hook: true, Status: 401}, "Webhook refuses our signature (401)"},
	} {
		if got := words.Reason(c.reason, c.f); got != c.want {
			t.Errorf("%s: %q, want %q", c.reason, got, c.want)
		}
	}
}

// TestReceivedMessagesInTheirWords: what came in is handed on, not delivered.
func TestReceivedMessagesInTheirWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		f    words.MessageFacts
		want string
	}{
		{words.MessageFacts{State: "delivered", Inbound: true}, "Handed on"}, {words.MessageFacts{State: "dead", Inbound: true, Refused: true}, "Refused"},
		{words.MessageFacts{State: "superseded", Inbound: true, Refused: true}, "Refused first, then opened again and accepted"},
		{words.MessageFacts{State: "superseded", Hook: true}, "Its document was put into the folder instead"}, {words.MessageFacts{State: "superseded"}, "Replaced by a newer edition"},
	} {
		if got := words.Message(c.f); got != c.want {
			t.Errorf("%+v: %q, want %q", c.f, got, c.want)
		}
	}
}

// TestLettersOfReceivedDocumentsEndInTheirWords.
func TestLettersOfReceivedDocumentsEndInTheirWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		end  string
		post bool
		want string
	}{
		{"superseded", false, "Opened again and accepted"}, {"superseded", true, "Put into the folder instead"}, {"delivered", false, "Handed on"}, {"delivered", true, "Delivered"},
		{"discarded", false, "Discarded"},
	} {
		if got := words.ClosedProcessed(c.end, c.post); got != c.want {
			t.Errorf("%s, post %v: %q, want %q", c.end, c.post, got, c.want)
		}
	}
}
