package interop

import (
	"context"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// trick is a profile in which something is wrong.
type trick struct {
	profile
	stranger  bool   // edigw does not know the pair of names
	signer    string // alias of the key that the peer signs with; empty: its own
	recipient string // alias of the certificate that it encrypts to; empty: edigw's
	ours      bool   // edigw encrypts to a certificate whose key the peer does not have
	ourName   string // that edigw uses; empty: its own
	tapped    bool   // what goes between them passes the taps
}

// tricks are those of all scenarios.
var tricks = func() (all []trick) {
	signed := profile{sign: "sha256", mdnSigned: true, mdnDigest: "sha256"}
	sealed := signed
	sealed.encrypt = "aes256-cbc"
	async := sealed
	async.mdn = "async"
	add := func(name string, p profile, t trick) {
		p.name = name
		t.profile = completed([]profile{p})[0]
		all = append(all, t)
	}
	add("repeated", sealed, trick{})
	add("stranger", signed, trick{stranger: true})
	add("wrong-signer", signed, trick{signer: "other"})
	unsigned := sealed // its other certificate of ours cannot verify a receipt
	unsigned.mdnSigned = false
	add("wrong-recipient", unsigned, trick{recipient: "other"})
	add("cannot-open", sealed, trick{ours: true})
	add("not-known", sealed, trick{ourName: "NOBODY"})
	add("changed", signed, trick{tapped: true})
	add("changed-in", signed, trick{tapped: true})
	add("receipt-of-another", sealed, trick{tapped: true})
	add("receipt-not-theirs", signed, trick{signer: "other"})
	add("restart", async, trick{})
	add("outage", sealed, trick{})
	return all
}()

// honest are profiles in which nothing is wrong.
func honest(all []profile) (t []trick) {
	for _, p := range all {
		t = append(t, trick{profile: p})
	}
	return t
}

func trickOf(name string) trick {
	return tricks[slices.IndexFunc(tricks, func(t trick) bool { return t.name == name })]
}

// trouble runs the scenarios, one after the other.
func trouble(t *testing.T, s *site, o *openAS2, m *matrix) {
	o.before = newTap(t, o.receive)
	for _, one := range tricks {
		if one.stranger {
			continue
		}
		text := partnerFile(o, one.profile)
		if one.ours {
			text = strings.Replace(text, "encrypt: ../../openas2/peer.crt", "encrypt: ../../openas2/edigw.crt", 1)
		}
		if one.tapped {
			text = strings.Replace(text, o.receive, o.before.address, 1)
		}
		if one.ourName != "" {
			text = strings.Replace(text, "as2:\n", "as2:\n  our_id: "+one.ourName+"\n", 1)
		}
		s.write(text, "site", "partners", one.partner(o)+".yaml")
	}
	s.reload()
	for _, sc := range []struct {
		name, what string
		run        func(*testing.T, *site, *openAS2)
	}{
		{"repeated", "The peer sends one Message-ID twice: it gets the first receipt again, the document is there once.", repeated},
		{"stranger", "AS2 names that edigw does not know: a receipt that says so, one line in the log, no letter.", stranger},
		{"wrong-signer", "Signed with a key that edigw does not know: authentication-failed, and a letter.", wrongSigner},
		{"wrong-recipient", "Encrypted to another certificate: decryption-failed, and a letter.", wrongRecipient},
		{"cannot-open", "The peer cannot decrypt: its refusal makes a letter, nothing is sent again.", cannotOpen},
		{"not-known", "The peer does not know our name and answers HTTP 500 without a receipt: sent again, then a letter that shows its words.", notKnown},
		{"changed", "A byte of our signed document is changed on its way: the peer's integrity-check-failed makes a letter.", orderChanged},
		{"changed-in", "A byte of the peer's signed document is changed on its way: integrity-check-failed, and a letter.", orderChangedIn},
		{"receipt-of-another", "The receipt of an earlier message comes as the answer: it proves nothing.", otherReceipt},
		{"receipt-not-theirs", "The receipt is signed with a key that edigw does not know: it proves nothing.", receiptNotOfPeer},
		{"restart", "edigw is killed while the peer still owes a receipt: it comes later and counts.", restart},
		{"outage", "The peer is down: the lane stops after few attempts; when it is back, everything arrives in order.", outage},
	} {
		m.scenario(t, o, sc.name, sc.what, func(t *testing.T) {
			s.in(t)
			sc.run(t, s, o)
		})
	}
}

// letter is a dead letter in edigw's API.
type letter struct {
	Message   string `json:"message"`
	Direction string `json:"direction"`
	Reason    string `json:"reason"`
	Detail    string `json:"detail"`
}

// letters are the open ones of a partner.
func (s *site) letters(partner string) []letter {
	s.Helper()
	var list struct {
		Items []letter `json:"items"`
	}
	if err := s.api.Get(context.Background(), "/letters", url.Values{"partner": {partner}, "status": {"open"}}, &list); err != nil {
		s.Fatal(err)
	}
	return list.Items
}

// lane is the state of a partner's lane.
func (s *site) lane(partner string) string {
	s.Helper()
	var p struct {
		State string `json:"state"`
	}
	if err := s.api.Get(context.Background(), "/partners/"+partner, nil, &p); err != nil {
		s.Fatal(err)
	}
	return p.State
}

// sendTrick has the peer send a document of a scenario.
func sendTrick(t *testing.T, o *openAS2, name string) outcome {
	t.Helper()
	p := trickOf(name).profile
	got, err := o.send(t.Context(), p, newDocument(t, name, p))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func repeated(t *testing.T, s *site, o *openAS2) {
	p := trickOf("repeated").profile
	first := sendTrick(t, o, "repeated")
	receipt := o.storedReceiptID(t, p)
	if err := os.Remove(o.path("mdn", strings.Trim(first.MessageID, "<>"))); err != nil {
		t.Fatal(err)
	}
	if err := o.drop(p, newDocument(t, "repeated", p)); err != nil {
		t.Fatal(err)
	}
	s.await("the second receipt is there", func() bool { return files(o.path("sent", p.name)) == 2 })
	if again := o.storedReceiptID(t, p); again != receipt || receipt == "" {
		t.Errorf("the second receipt is %s, the first %s", again, receipt)
	}
	if all := s.taken(t, p.partner(o)); len(all) != 1 {
		t.Errorf("taken: %+v", all)
	}
}

// storedReceiptID is the Message-ID of the receipt that the peer stored.
func (o *openAS2) storedReceiptID(t *testing.T, p profile) string {
	t.Helper()
	text, err := os.ReadFile(o.path("mdn", strings.Trim(o.messageID(p), "<>")))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?im)^Message-Id: (\S+)`).FindSubmatch(text)
	if found == nil {
		t.Fatalf("no Message-ID: %s", text)
	}
	return string(found[1])
}

func stranger(t *testing.T, s *site, o *openAS2) {
	letters := len(s.letters(""))
	got := sendTrick(t, o, "stranger")
	if !strings.HasPrefix(got.Disposition, "processed/error: ") || got.Problem == "" {
		t.Errorf("%+v", got)
	}
	t.Logf("disposition %q", got.Disposition)
	named := func() int { return strings.Count(s.log.String(), "openas2-stranger") }
	s.await("the log names the stranger", func() bool { return named() > 0 }) // it comes through a pipe
	if n := named(); n != 1 {
		t.Errorf("%d lines of the log name the stranger", n)
	}
	if all := s.letters(""); len(all) != letters {
		t.Errorf("%d letters before, now %+v", letters, all)
	}
}

// refusedWith checks that the peer heard a disposition and that the message is
// a letter here.
func refusedWith(t *testing.T, s *site, o *openAS2, name, disposition string) {
	t.Helper()
	if got := sendTrick(t, o, name); got.Disposition != disposition || got.Problem == "" {
		t.Errorf("the peer heard: %+v", got)
	}
	all := s.letters(trickOf(name).partner(o))
	if len(all) != 1 || all[0].Direction != "in" {
		t.Fatalf("letters: %+v", all)
	}
	t.Logf("letter %s: %s", all[0].Reason, all[0].Detail)
	if there := s.taken(t, trickOf(name).partner(o)); len(there) != 1 || there[0].State != "dead" {
		t.Errorf("taken: %+v", there)
	}
}

func wrongSigner(t *testing.T, s *site, o *openAS2) {
	refusedWith(t, s, o, "wrong-signer", "processed/error: authentication-failed")
}

func wrongRecipient(t *testing.T, s *site, o *openAS2) {
	refusedWith(t, s, o, "wrong-recipient", "processed/error: decryption-failed")
}

// handInTrick gives edigw a document of a scenario.
func handInTrick(t *testing.T, s *site, o *openAS2, name string) {
	t.Helper()
	p := trickOf(name).profile
	if err := s.command("send", p.partner(o), newDocument(t, name+" "+t.Name(), p).file, "--key", t.TempDir()); err != nil {
		t.Fatal(err)
	}
}

func cannotOpen(t *testing.T, s *site, o *openAS2) {
	deadWith(t, s, o, "cannot-open", "processed/error: decryption-failed")
}

// deadWith checks that a disposition of the peer makes a letter, and that nothing
// is sent again.
func deadWith(t *testing.T, s *site, o *openAS2, name, disposition string) {
	t.Helper()
	handInTrick(t, s, o, name)
	partner := trickOf(name).partner(o)
	s.await("there is a letter", func() bool { return len(s.letters(partner)) == 1 })
	m, found, err := s.sent(t.Context(), partner)
	if err != nil || !found || m.State != "dead" || len(m.Attempts) != 1 || m.Attempts[0].Ack == nil ||
		m.Attempts[0].Ack.Disposition != disposition || m.Attempts[0].Ack.Verdict != "trusted" {
		t.Errorf("%+v, %v", m, err)
	}
}

func notKnown(t *testing.T, s *site, o *openAS2) {
	handInTrick(t, s, o, "not-known")
	partner := trickOf("not-known").partner(o)
	s.await("there is a letter", func() bool { return len(s.letters(partner)) == 1 })
	m, _, err := s.sent(t.Context(), partner)
	if err != nil || m.State != "dead" || len(m.Attempts) < 2 {
		t.Fatalf("%+v, %v", m, err)
	}
	if last := m.Attempts[len(m.Attempts)-1]; last.Status != 500 || last.Head == "" {
		t.Errorf("%+v", last)
	}
}

func restart(t *testing.T, s *site, o *openAS2) {
	partner := trickOf("restart").partner(o)
	s.front.closed.Store(true)
	defer s.front.closed.Store(false)
	handInTrick(t, s, o, "restart")
	state := func() string {
		m, _, err := s.sent(t.Context(), partner)
		if err != nil {
			return err.Error()
		}
		return m.State
	}
	s.await("the receipt is owed, and could not be posted", func() bool { return state() == "awaiting-ack" && s.front.cut.Load() > 0 })
	s.kill()
	s.start()
	if got := state(); got != "awaiting-ack" {
		t.Errorf("after the start the message is %s", got)
	}
	s.front.closed.Store(false)
	s.await("the receipt counts", func() bool { return state() == "delivered" })
	if m, _, err := s.sent(t.Context(), partner); err != nil || m.Proof != "receipt" {
		t.Errorf("%+v, %v", m, err)
	}
}

func outage(t *testing.T, s *site, o *openAS2) {
	p := trickOf("outage").profile
	o.stop()
	const documents = 5
	for range documents {
		handInTrick(t, s, o, "outage")
	}
	s.await("the lane has stopped", func() bool { return s.lane(p.partner(o)) == "open" })
	if err := o.launch(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.await("everything is delivered", func() bool { return len(s.delivered(p.partner(o))) == documents })
	all := s.delivered(p.partner(o)) // the newest first
	for i, m := range all {
		if _, err := o.received(t.Context(), p, m.MessageID); err != nil {
			t.Error(err)
		}
		if i > 0 && m.Finished.After(all[i-1].Finished) {
			t.Errorf("%s was delivered after a later one", m.MessageID)
		}
	}
	if s.lane(p.partner(o)) == "open" || len(s.letters(p.partner(o))) > 0 {
		t.Errorf("lane %s, letters %+v", s.lane(p.partner(o)), s.letters(p.partner(o)))
	}
}
