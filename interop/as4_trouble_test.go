package interop

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
)

// as4Trick is a profile in which something is not as agreed.
type as4Trick struct {
	as4Profile
	theirs   func(*as4Terms)          // what the peer believes
	ours     func(text string) string // what stands in our partner file
	stranger bool                     // edigw knows no such partner
}

// as4Tricks are those of all scenarios.
var as4Tricks = func() (all []as4Trick) {
	add := func(name string, p as4Profile, t as4Trick) {
		p.name = name
		t.as4Profile = completedAS4([]as4Profile{p})[0]
		all = append(all, t)
	}
	swap := func(old, text string) func(string) string {
		return func(s string) string { return strings.Replace(s, old, text, 1) }
	}
	add("ping", as4Profile{}, as4Trick{})
	add("repeated", as4Profile{}, as4Trick{})
	add("answer-lost", as4Profile{}, as4Trick{})
	add("stranger", as4Profile{}, as4Trick{stranger: true})
	add("other-service", as4Profile{}, as4Trick{theirs: func(t *as4Terms) { t.Service = "Invoices" }})
	add("wrong-signer", as4Profile{}, as4Trick{theirs: func(t *as4Terms) { t.SignKey = "other" }})
	add("forged", as4Profile{}, as4Trick{})
	add("wrong-recipient", as4Profile{}, as4Trick{})
	add("not-signed", as4Profile{encrypt: "none"}, as4Trick{theirs: func(t *as4Terms) { t.Sign = "none" }})
	add("not-trusted", as4Profile{}, as4Trick{theirs: func(t *as4Terms) { t.EdigwSign = "other" }})
	add("cannot-open", as4Profile{}, as4Trick{ours: swap("encrypt: ../../phase4/rsa.crt", "encrypt: ../../phase4/other.crt")})
	add("no-pmode", as4Profile{}, as4Trick{theirs: func(t *as4Terms) { t.NoPMode = true }})
	add("wants-signed", as4Profile{encrypt: "none"}, as4Trick{ours: swap("sign: rsa-sha256", "sign: none")})
	add("restart", as4Profile{receipt: "async"}, as4Trick{})
	add("outage", as4Profile{}, as4Trick{})
	for _, name := range []string{"fetched", "fetched-changed"} {
		add(name, as4Profile{}, heldThere(name))
	}
	// What was signed is changed on its way: an attachment, which a change of the header does not touch.
	add("payload-changed", as4Profile{encrypt: "none", plain: true}, as4Trick{})
	add("payload-changed-in", as4Profile{encrypt: "none", plain: true}, as4Trick{})
	add("receipt-of-another", as4Profile{}, as4Trick{})
	add("receipt-not-theirs", as4Profile{}, as4Trick{theirs: func(t *as4Terms) { t.SignKey = "other" }})
	for _, name := range []string{"pulled", "pulled-again", "pulled-by-another"} {
		add(name, as4Profile{}, pulling(name))
	}
	return all
}()

// as4Trouble is what the scenarios need.
type as4Trouble struct {
	*site
	peer  *phase4
	tap   *tap // before the peer: where edigw posts to
	inner *tap // before edigw: where the peer posts pings to
}

// trickAS4 is the one of a name, and trickTerms what the peer believes of it.
func trickAS4(name string) as4Trick {
	return as4Tricks[slices.IndexFunc(as4Tricks, func(t as4Trick) bool { return t.name == name })]
}

// terms are what the peer believes, with the address of edigw that it uses.
func (w as4Trouble) terms(name string) as4Terms {
	t := trickAS4(name).terms(w.peer)
	t.URL = "http://" + w.front.address + "/as4"
	if name == "ping" || name == "payload-changed-in" {
		t.URL = "http://" + w.inner.address + "/as4"
	}
	return t
}

func (t as4Trick) terms(p named) as4Terms {
	out := as4TermsOf(t.as4Profile, p)
	if t.theirs != nil {
		t.theirs(&out)
	}
	return out
}

// trickTerms are those of all scenarios.
func trickTerms(p named, url string) (all []as4Terms) {
	for _, one := range as4Tricks {
		t := one.terms(p)
		t.URL = url
		all = append(all, t)
	}
	return all
}

func (w as4Trouble) partner(name string) string { return trickAS4(name).partner(w.peer) }

// file is the partner file of a scenario: what goes to the peer passes the tap.
func (w as4Trouble) file(name string) string {
	one := trickAS4(name)
	text := strings.ReplaceAll(one.partnerFile(w.peer), w.peer.listen, w.tap.address)
	if one.ours != nil {
		text = one.ours(text)
	}
	return text
}

// troubleAS4 runs the scenarios, one after the other.
func troubleAS4(t *testing.T, w as4Trouble, m *matrix) {
	for _, one := range as4Tricks {
		if !one.stranger {
			w.write(w.file(one.name), "site", "partners", w.partner(one.name)+".yaml")
		}
	}
	w.reload()
	for _, sc := range []struct {
		name, what string
		run        func(*testing.T, as4Trouble)
	}{
		{"ping-out", "edigw pings the peer's test service: a receipt, and nothing is handed on.", pingOut},
		{"ping-in", "The peer pings edigw: a receipt, and nothing lies in the inbox.", pingIn},
		{"repeated", "The peer sends one MessageId twice: it gets the first receipt again, the document is there once.", repeatedAS4},
		{"answer-lost", "The peer takes a message and its answer is lost: sent again, refused as a duplicate with EBMS:0004, which counts as delivered.", answerLostAS4},
		{"stranger", "A party that edigw does not know: EBMS:0001, and no letter.", strangerAS4},
		{"other-service", "A service that is not settled: EBMS:0001, and a letter.", refusedAS4("other-service", "EBMS:0001", question{})},
		{"wrong-signer", "Signed with a key that edigw does not know: EBMS:0101, and a letter.", refusedAS4("wrong-signer", "EBMS:0101", question{})},
		{"forged", "The header was changed after it was signed: EBMS:0101, and a letter.", refusedAS4("forged", "EBMS:0101", question{Corrupt: true})},
		{"wrong-recipient", "Encrypted to another certificate: EBMS:0102, and a letter.", refusedAS4("wrong-recipient", "EBMS:0102", question{Recipient: "other"})},
		{"not-signed", "Not signed, though that is settled: EBMS:0103, and a letter.", refusedAS4("not-signed", "EBMS:0103", question{})},
		{"not-trusted", "The peer does not know our certificate: its EBMS:0102 makes a letter.", deadAS4("not-trusted", "EBMS:0102", "trusted")},
		{"cannot-open", "The peer cannot decrypt: its EBMS:0102 makes a letter.", deadAS4("cannot-open", "EBMS:0102", "trusted")},
		{"no-pmode", "The peer has no P-Mode for us, nor a key to sign that with: its EBMS:0010 makes a letter.", deadAS4("no-pmode", "EBMS:0010", "unsigned")},
		{"wants-signed", "The peer wants a signature that our settings lack: its EBMS:0103 makes a letter.", deadAS4("wants-signed", "EBMS:0103", "trusted")},
		{"payload-changed", "A byte of our attachment is changed on its way: the signature covers it, so the peer's EBMS:0102 makes a letter.", payloadChanged},
		{"payload-changed-in", "A byte of the peer's attachment is changed on its way: EBMS:0101, and a letter.", payloadChangedIn},
		{"receipt-of-another", "The receipt of an earlier message comes as the answer: it proves nothing.", receiptOfAnother},
		{"receipt-not-theirs", "The receipt is signed with a key that edigw does not know: it proves nothing.", receiptNotTheirs},
		{"pulled-by-another", "Somebody pulls with a key that edigw does not know: he gets an error, and the message waits on for the peer.", pulledByAnother},
		{"pulled", "The peer pulls a message and posts the receipt; then its channel is empty: EBMS:0006.", pulled},
		{"pulled-again", "The peer pulls a message and no receipt comes: it is handed out again, with the same MessageId.", pulledAgain},
		{"fetched", "edigw pulls from the peer: nothing at first (EBMS:0006), then a message, whose receipt the peer verifies; handed out again, it is not taken twice.", fetched},
		{"fetched-changed", "The header of what edigw pulls is changed on its way: EBMS:0101 is posted to the peer, and a letter.", fetchedChanged},
		{"xmlsec1", "The signatures of a message, a receipt, a pull request and a receipt that is posted by itself, and the encryption of an attachment, in the eyes of xmlsec1.", byXMLSec},
		{"santuario", "The same in the eyes of Apache Santuario alone.", bySantuario},
		{"restart", "edigw is killed while the peer still owes a receipt: it comes later and counts.", restartAS4},
		{"outage", "The peer is down: the lane stops after few attempts; when it is back, everything arrives in order.", outageAS4},
	} {
		m.scenario(t, w.peer, sc.name, sc.what, func(t *testing.T) {
			w.in(t)
			sc.run(t, w)
		})
	}
}

// handInAS4 gives edigw a document of a scenario.
func (w as4Trouble) handIn(t *testing.T, name string) papers {
	t.Helper()
	p := trickAS4(name).as4Profile
	all := newPapers(t, name+" "+t.Name(), p)
	if err := w.command("send", w.partner(name), all[0].file, "--content-type", all[0].contentType, "--key", t.TempDir()); err != nil {
		t.Fatal(err)
	}
	return all
}

// post has the peer send a document of a scenario.
func (w as4Trouble) post(t *testing.T, name string, q question) as4Outcome {
	t.Helper()
	q.Terms, q.Documents = w.terms(name), newPapers(t, name, trickAS4(name).as4Profile).forDriver()
	if q.Ping {
		q.Documents = nil
	}
	got, err := w.peer.send(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", got)
	return got
}

// state is that of the newest message to a partner.
func (w as4Trouble) newest(t *testing.T, name string) message {
	t.Helper()
	m, _, err := w.sent(t.Context(), w.partner(name))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func pingOut(t *testing.T, w as4Trouble) {
	var got struct {
		Test struct {
			OK     bool   `json:"ok"`
			Detail string `json:"detail"`
			Steps  []struct {
				Name  string `json:"name"`
				OK    bool   `json:"ok"`
				Words string `json:"words"`
			} `json:"steps"`
		} `json:"test"`
	}
	if err := w.api.Post(t.Context(), "/partners/"+w.partner("ping")+"/test", nil, &got); err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", got)
	if !got.Test.OK {
		t.Error("the test failed")
	}
	if all := w.tap.of("/as4/ping"); len(all) != 1 || !strings.Contains(string(all[0].answer), "NonRepudiationInformation") {
		t.Errorf("%d exchanges, %+v", len(all), all)
	} else if got, err := w.peer.received(t.Context(), w.terms("ping"), idOf(t, all[0]), 1); err == nil {
		t.Errorf("the peer handed on: %+v", got)
	}
}

func pingIn(t *testing.T, w as4Trouble) {
	if got := w.post(t, "ping", question{Ping: true}); !got.Receipt || !got.Verified || !got.Equal {
		t.Error("no good receipt")
	}
	if all := w.taken(t, w.partner("ping")); len(all) > 0 {
		t.Errorf("taken: %+v", all)
	}
}

func repeatedAS4(t *testing.T, w as4Trouble) {
	first := w.post(t, "repeated", question{MessageID: "repeated-1@phase4.example"})
	again := w.post(t, "repeated", question{MessageID: "repeated-1@phase4.example"})
	if !first.Receipt || first.SignalID == "" || again.SignalID != first.SignalID {
		t.Error("the second receipt is not the first one")
	}
	if all, err := w.arrived(t.Context(), w.partner("repeated"), "repeated-1@phase4.example", 1); err != nil || len(w.taken(t, w.partner("repeated"))) != 1 {
		t.Errorf("%d documents in the inbox, taken %+v, %v", len(all), w.taken(t, w.partner("repeated")), err)
	}
}

func answerLostAS4(t *testing.T, w as4Trouble) {
	w.tap.spoil("/as4/answer-lost", foul{lose: true})
	all := w.handIn(t, "answer-lost")
	m, err := w.ending(t.Context(), w.partner("answer-lost"))
	if err != nil {
		t.Fatal(err)
	}
	if m.State != "delivered" || m.Proof != "duplicate-answer" || len(m.Attempts) != 2 {
		t.Errorf("%s, proof %q, %d attempts: %s", m.State, m.Proof, len(m.Attempts), m.Detail)
	}
	exchanges := w.tap.of("/as4/answer-lost")
	if len(exchanges) != 2 || string(exchanges[0].request) != string(exchanges[1].request) {
		t.Errorf("%d exchanges, or they are not the same bytes", len(exchanges))
	}
	got, err := w.peer.received(t.Context(), w.terms("answer-lost"), m.MessageID, 0)
	if err != nil || len(got.Payloads) != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	if content, err := os.ReadFile(got.Payloads[0].File); err != nil || string(content) != string(all[0].body) {
		t.Errorf("the document differs, %v", err)
	}
}

func strangerAS4(t *testing.T, w as4Trouble) {
	before := len(w.letters(""))
	got := w.post(t, "stranger", question{})
	if got.Receipt || len(got.Errors) != 1 || got.Errors[0].Code != "EBMS:0001" || got.RefTo != got.MessageID {
		t.Error("the peer heard something else")
	}
	if all := w.letters(""); len(all) != before {
		t.Errorf("%d letters before, now %+v", before, all)
	}
}

// refusedAS4 checks that the peer hears an error and that the message is a letter
// here.
func refusedAS4(name, code string, q question) func(*testing.T, as4Trouble) {
	return func(t *testing.T, w as4Trouble) {
		got := w.post(t, name, q)
		if got.Receipt || len(got.Errors) != 1 || got.Errors[0].Code != code || got.Errors[0].Severity != "failure" || !got.Verified {
			t.Errorf("the peer heard: %+v", got)
		}
		if got.RefTo != got.MessageID {
			t.Errorf("it refers to %s", got.RefTo)
		}
		all := w.letters(w.partner(name))
		if len(all) != 1 || all[0].Direction != "in" {
			t.Fatalf("letters: %+v", all)
		}
		t.Logf("letter %s: %s", all[0].Reason, all[0].Detail)
		if there := w.taken(t, w.partner(name)); len(there) != 1 || there[0].State != "dead" {
			t.Errorf("taken: %+v", there)
		}
	}
}

// deadAS4 checks that an error of the peer makes a letter with its words, and that
// nothing is sent again. The verdict is on the signature of the error.
func deadAS4(name, code, verdict string) func(*testing.T, as4Trouble) {
	return func(t *testing.T, w as4Trouble) {
		w.handIn(t, name)
		w.await("there is a letter", func() bool { return len(w.letters(w.partner(name))) == 1 })
		m := w.newest(t, name)
		t.Logf("%s: %s; lane %s", m.State, m.Detail, w.lane(w.partner(name)))
		if len(m.Attempts) != 1 || m.Attempts[0].Ack == nil || m.Attempts[0].Ack.EBMS != code || m.Attempts[0].Ack.Verdict != verdict {
			t.Errorf("%+v", m)
		}
	}
}

func restartAS4(t *testing.T, w as4Trouble) {
	w.front.closed.Store(true)
	defer w.front.closed.Store(false)
	cut := w.front.cut.Load()
	w.handIn(t, "restart")
	w.await("the receipt is owed, and could not be posted", func() bool {
		return w.newest(t, "restart").State == "awaiting-ack" && w.front.cut.Load() > cut
	})
	w.kill()
	w.start()
	if got := w.newest(t, "restart").State; got != "awaiting-ack" {
		t.Errorf("after the start the message is %s", got)
	}
	w.front.closed.Store(false)
	w.await("the receipt counts", func() bool { return w.newest(t, "restart").State == "delivered" })
	if m := w.newest(t, "restart"); m.Proof != "receipt" {
		t.Errorf("%+v", m)
	}
}

func outageAS4(t *testing.T, w as4Trouble) {
	w.peer.stop()
	const documents = 5
	for range documents {
		w.handIn(t, "outage")
	}
	partner := w.partner("outage")
	w.await("the lane has stopped", func() bool { return w.lane(partner) == "open" })
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := w.peer.again(ctx); err != nil {
		t.Fatal(err)
	}
	w.await("everything is delivered", func() bool { return len(w.delivered(partner)) == documents })
	all := w.delivered(partner) // the newest first
	for i, m := range all {
		if _, err := w.peer.received(t.Context(), w.terms("outage"), m.MessageID, 0); err != nil {
			t.Error(err)
		}
		if i > 0 && m.Finished.After(all[i-1].Finished) {
			t.Errorf("%s was delivered after a later one", m.MessageID)
		}
	}
	if w.lane(partner) == "open" || len(w.letters(partner)) > 0 {
		t.Errorf("lane %s, letters %+v", w.lane(partner), w.letters(partner))
	}
}
