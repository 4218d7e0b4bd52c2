package interop

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"sync"
	"testing"
	"time"
)

// fetchedMPC is the channel that edigw pulls from.
const fetchedMPC = "urn:example:mpc:edigw"

// holder is a server that holds messages for edigw: phase4 makes them and posts
// them to /put, edigw pulls them from /as4 and posts its receipts there. What
// phase4 itself hands out is neither signed nor has it attachments.
type holder struct {
	address string

	mu       sync.Mutex
	put      []passed // what was posted
	given    int      // how many of them were fetched
	asked    [][]byte // pull requests
	receipts [][]byte
}

func newHolder(t *testing.T) *holder {
	t.Helper()
	h := &holder{address: freeAddress()}
	l, err := net.Listen("tcp", h.address)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	var work sync.WaitGroup
	work.Go(func() { _ = server.Serve(l) }) // until it is closed
	t.Cleanup(func() {
		server.Close()
		work.Wait()
	})
	return h
}

// nothingWaits is the answer when nothing does (ebMS 3.0 Core §3.4); it is not
// signed.
const nothingWaits = `<env:Envelope xmlns:env="http://www.w3.org/2003/05/soap-envelope"><env:Header>` +
	`<eb:Messaging xmlns:eb="http://docs.oasis-open.org/ebxml-msg/ebms/v3.0/ns/core/200704/" env:mustUnderstand="true"><eb:SignalMessage>` +
	`<eb:MessageInfo><eb:Timestamp>%s</eb:Timestamp><eb:MessageId>empty-%d@holder.example</eb:MessageId></eb:MessageInfo>` +
	`<eb:Error errorCode="EBMS:0006" severity="warning" category="Communication" shortDescription="EmptyMessagePartitionChannel"/>` +
	`</eb:SignalMessage></eb:Messaging></env:Header><env:Body/></env:Envelope>`

func (h *holder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case r.URL.Path == "/put":
		h.put = append(h.put, passed{header: r.Header, request: body})
		w.WriteHeader(http.StatusAccepted)
	case bytes.Contains(body, []byte(":PullRequest")) && h.given < len(h.put):
		h.asked = append(h.asked, body)
		w.Header().Set("Content-Type", h.put[h.given].header.Get("Content-Type"))
		_, _ = w.Write(h.put[h.given].request) // whether it arrives, edigw sees
		h.given++
	case bytes.Contains(body, []byte(":PullRequest")):
		h.asked = append(h.asked, body)
		w.Header().Set("Content-Type", "application/soap+xml; charset=UTF-8")
		fmt.Fprintf(w, nothingWaits, time.Now().UTC().Format(time.RFC3339), len(h.asked))
	default:
		h.receipts = append(h.receipts, body)
		w.WriteHeader(http.StatusNoContent)
	}
}

// seen are the pull requests and receipts so far.
func (h *holder) seen() (asked, receipts [][]byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.asked, h.receipts
}

// envelope is that of the message that was put.
func (h *holder) envelope(t *testing.T) []byte {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	return partsOf(t, h.put[0])[0]
}

// digestValue finds those of a signature or a receipt.
var digestValue = regexp.MustCompile(`DigestValue>([^<]+)<`)

// fetched has edigw pull a message that phase4 made. xmlsec1 verifies the pull
// request and the receipt.
func fetched(t *testing.T, w as4Trouble) {
	needsXMLSec(t)
	h := newHolder(t)
	partner := w.partner("fetched")
	text := trickAS4("fetched").partnerFile(w.peer)
	text = regexp.MustCompile(`  url: .*\n`).ReplaceAllString(text, "  url: \"http://"+h.address+"/as4\"\n  fetch: {every: 1s, mpc: \""+fetchedMPC+"\"}\n")
	w.write(text, "site", "partners", partner+".yaml")
	w.reload()
	defer func() {
		if err := w.command("partner", "stop", partner, "--reason", "the server of this scenario ends"); err != nil {
			t.Error(err)
		}
	}()
	terms, want := w.terms("fetched"), newPapers(t, "fetched", trickAS4("fetched").as4Profile)
	terms.URL = "http://" + h.address + "/put"
	sent, err := w.peer.send(t.Context(), question{Terms: terms, Documents: want.forDriver()})
	if err != nil || sent.Status != http.StatusAccepted {
		t.Fatalf("%+v, %v", sent, err)
	}
	got, err := w.arrived(t.Context(), partner, sent.MessageID, 1)
	if err != nil {
		t.Fatal(err)
	}
	if content, err := os.ReadFile(got[0].document); err != nil || !bytes.Equal(content, want[0].body) || !got[0].AS4.Pulled || !got[0].Signed || !got[0].Encrypted {
		t.Errorf("%+v, %v", got[0], err)
	}
	w.await("the receipt is posted", func() bool { _, receipts := h.seen(); return len(receipts) > 0 })
	asked, receipts := h.seen()
	certificate := w.path("site", "keys", "rsa.crt")
	verifies(t, "pull request", asked[0], certificate, true)
	verifies(t, "receipt", receipts[0], certificate, true)
	if !bytes.Contains(asked[0], []byte(`mpc="`+fetchedMPC+`"`)) {
		t.Errorf("the request names no channel:\n%s", asked[0])
	}
	if !bytes.Contains(receipts[0], []byte(">"+sent.MessageID+"<")) {
		t.Errorf("the receipt is for another message:\n%s", receipts[0])
	}
	signed := digestValue.FindAllSubmatch(h.envelope(t), -1)
	if len(signed) != 3 {
		t.Fatalf("%d digests", len(signed))
	}
	for _, d := range signed {
		if !bytes.Contains(receipts[0], d[1]) {
			t.Errorf("the receipt lacks the digest %s:\n%s", d[1], receipts[0])
		}
	}
}
