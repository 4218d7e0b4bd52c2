package interop

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"sync"
	"testing"
)

// keptOfMessage is how much of a message a recording keeps. What says how it is
// secured stands before its documents.
const keptOfMessage = 1 << 20

// passed is one exchange, as it was on the wire.
type passed struct {
	path    string
	header  http.Header
	request []byte
	status  int
	replied http.Header // of the answer
	answer  []byte
}

// recording is what passed over the connections of a front.
type recording struct {
	mu    sync.Mutex
	lines []*line
}

// line is one connection: its requests and its answers, in their order.
type line struct{ requests, answers []passed }

// listen follows a new connection. What is written to asked and answered is read
// along; end must be called when nothing more comes.
func (r *recording) listen() (asked, answered io.Writer, end func()) {
	l := &line{}
	r.mu.Lock()
	r.lines = append(r.lines, l)
	r.mu.Unlock()
	var work sync.WaitGroup
	follow := func(take func(*bufio.Reader) error) *io.PipeWriter {
		out, in := io.Pipe()
		work.Go(func() {
			text := bufio.NewReader(out)
			for take(text) == nil {
			}
			_, _ = io.Copy(io.Discard, text) // nobody may have to wait for us
		})
		return in
	}
	a := follow(func(text *bufio.Reader) error { return r.request(l, text) })
	b := follow(func(text *bufio.Reader) error { return r.answer(l, text) })
	return a, b, func() {
		a.Close()
		b.Close()
		work.Wait()
	}
}

// request notes the next one of a connection.
func (r *recording) request(l *line, text *bufio.Reader) error {
	q, err := http.ReadRequest(text)
	if err != nil {
		return err
	}
	body, err := beginning(q.Body)
	if len(q.TransferEncoding) > 0 {
		q.Header["Transfer-Encoding"] = q.TransferEncoding // which is taken out
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	l.requests = append(l.requests, passed{path: q.URL.Path, header: q.Header, request: body})
	return err
}

// answer notes the next one of a connection; that a body may come is none.
func (r *recording) answer(l *line, text *bufio.Reader) error {
	reply, err := http.ReadResponse(text, nil)
	if err != nil || reply.StatusCode == http.StatusContinue {
		return err
	}
	body, err := beginning(reply.Body)
	r.mu.Lock()
	defer r.mu.Unlock()
	l.answers = append(l.answers, passed{status: reply.StatusCode, replied: reply.Header, answer: body})
	return err
}

// beginning reads all of a body and keeps the beginning.
func beginning(body io.Reader) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(body, keptOfMessage))
	if err == nil {
		_, err = io.Copy(io.Discard, body)
	}
	return b, err
}

// find gives the exchanges whose request is the wanted one, the oldest first.
func (r *recording) find(wanted func(passed) bool) (all []passed) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range r.lines {
		for i, one := range l.requests {
			if !wanted(one) {
				continue
			}
			if i < len(l.answers) {
				one.status, one.replied, one.answer = l.answers[i].status, l.answers[i].replied, l.answers[i].answer
			}
			all = append(all, one)
		}
	}
	return all
}

// onWire is the message with a MessageId, and what was answered to it.
func (r *recording) onWire(t *testing.T, messageID string) passed {
	t.Helper()
	all := r.find(func(p passed) bool { return bytes.Contains(p.request, []byte(":MessageId>"+messageID+"<")) })
	if len(all) == 0 {
		t.Fatalf("%s was not on the wire", messageID)
	}
	return all[0]
}
