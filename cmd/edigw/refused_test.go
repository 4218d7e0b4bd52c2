package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"edigw/as2"
	"edigw/internal/testpki"
)

// reads fails unless a command is fine and a person reads all of some, and none
// of others.
func (s *site) reads(some, others []string, args ...string) {
	s.Helper()
	code, text := s.run(args...)
	if code != exitFine {
		s.Errorf("%v: %d", args, code)
	}
	for _, part := range some {
		if !strings.Contains(text, part) {
			s.Errorf("%v does not say %q:\n%s", args, part, text)
		}
	}
	for _, part := range others {
		if strings.Contains(text, part) {
			s.Errorf("%v says %q:\n%s", args, part, text)
		}
	}
}

// TestRefusedMessageInTheWordsOfWhoRefused: we did, for a cause that says what
// mends it.
func TestRefusedMessageInTheWordsOfWhoRefused(t *testing.T) {
	t.Parallel()
	stranger := testpki.SelfSigned(t, testpki.RSA(t, 2), "STRANGER", testpki.Valid())
	theirs := []string{"Partner rejects", "Document malformed", "0 bytes", "Not delivered", "dead:"}
	for _, test := range []struct {
		name   string
		send   func(*sender)
		says   []string
		others []string
	}{
		{"wrong recipient", func(c *sender) { c.sends.Recipients[0] = stranger.Cert },
			[]string{"We refused it: encrypted for a certificate that we have no key for", "edigw cert export --use decrypt", "edigw dlq process", "we hold serial"}, []string{"edigw cert import"}},
		{"unknown signer", func(*sender) {}, []string{"We refused it: signed by an unknown certificate", "edigw cert import northwind FILE --use verify", "the message is signed by"}, []string{"cert export"}},
		{"receipt address", func(c *sender) { c.sends.MDN.Mode, c.sends.MDN.URL = as2.MDNAsync, c.server.URL+"/mdn" },
			[]string{"We refused it: they want the receipt at an address that is not listed", "as2.receive.receipt_urls lists the addresses", notListed}, []string{"edigw cert"}},
		{"policy", func(c *sender) { c.renew(); c.sends.Sign = 0 }, []string{"We refused it: less signed or encrypted than we demand", "as2.receive says what is demanded"}, []string{"edigw cert"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, "")
			c := newSender(s, ", receive: {require: [signed]}")
			s.start()
			test.send(c)
			req, _ := c.request("http://"+s.receive, "<1@northwind.example>", orderX12)
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			if err := res.Body.Close(); err != nil {
				t.Fatal(err)
			}
			l := s.letter()
			says := append([]string{"none was taken out of it; the request is kept whole"}, test.says...)
			s.reads(says, append(test.others, theirs...), "message", "show", l.Message)
			s.reads(says, append(test.others, theirs...), "dlq", "show", l.ID)
		})
	}
}

// notListed is what the letter says of an address that is not listed.
const notListed = "the receipt is asked for at an address that as2.receive.receipt_urls does not list: http://127.0.0.1"

// TestProcessTellsWhatBecameOfIt: which message hands the document on.
func TestProcessTellsWhatBecameOfIt(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	c := newSender(s, "")
	s.start()
	c.send("<1@northwind.example>", orderX12)
	l := s.letter()
	c.renew()
	code, text := s.run("dlq", "process", l.ID, "--yes")
	_, id, told := strings.Cut(strings.TrimSpace(text), "opened again and accepted, handed on as message ")
	if code != exitFine || !told {
		t.Fatalf("%d, %s", code, text)
	}
	if m := s.message(id); m.Previous != l.Message || m.SHA256 == "" {
		t.Errorf("message %s follows %q", id, m.Previous)
	}
	s.reads([]string{"Refused first, then opened again and accepted"}, []string{"newer edition"}, "message", "show", l.Message)
	s.reads([]string{"Opened again and accepted"}, []string{"newer edition"}, "dlq", "show", l.ID)
}

// TestLetterOfAWebhook: the words are about our own system, and the commands
// mend that.
func TestLetterOfAWebhook(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	erp := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusInternalServerError) }))
	t.Cleanup(erp.Close)
	s.write("secrets/erp", posting)
	c := newCounterpart(s, "", "inbox: {webhook: {url: \""+erp.URL+"/in\", secret_file: ../secrets/erp}}\n")
	s.start()
	a, r, wire := c.message("order-1", orderX12)
	c.post(a, r, wire)
	s.await("the post is a letter", func() bool { return len(everything[letterView](s, "/letters", query("status", "open"))) == 1 })
	l := s.letter()
	s.reads([]string{"to the webhook of northwind", "when the system behind inbox.webhook takes it", "puts the document into the folder instead", "failed on their side, tried twice at most: they answered 500"},
		[]string{"partner test", "limited", "permanent", "after 0s", "←"}, "message", "show", l.Message)
	code, text := s.run("dlq", "process", l.ID, "--yes")
	if _, id, told := strings.Cut(strings.TrimSpace(text), "put into the folder, message "); code != exitFine || !told || s.message(id).Direction != "in" {
		t.Errorf("%d, %s", code, text)
	}
	s.reads([]string{"Put into the folder instead"}, []string{"newer edition"}, "dlq", "show", l.ID)
}
