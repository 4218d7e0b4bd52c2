package demo

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"edigw/as2"
	"edigw/as2/smime"
	"edigw/internal/rawmime"
)

// behaviour is what a scripted partner does otherwise than a good one. The
// zero behaviour is a good partner.
type behaviour struct {
	front    func(next http.Handler) http.Handler                // stands before the receiver; nil: nothing does
	answer   func(as2.Answer, as2.Agreement) (as2.Answer, error) // spoils the receipt; nil: it stays as it is
	receipts *gate                                               // holds asynchronous receipts; nil: they go at once
	pinsNext bool                                                // believes only our next certificate
}

func (b behaviour) in(receiver http.Handler) http.Handler {
	if b.front == nil {
		return receiver
	}
	return b.front(receiver)
}

// busy answers some messages with 503 and asks for a second's patience.
type busy struct{ left atomic.Int32 }

// next makes the next n messages wait.
func (b *busy) next(n int32) { b.left.Store(n) }

func (b *busy) before(receiver http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || b.left.Add(-1) < 0 {
			receiver.ServeHTTP(w, r)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body) // a broken request is answered all the same
		w.Header().Set("Retry-After", "1")
		http.Error(w, "Too busy. Please come back.", http.StatusServiceUnavailable)
	})
}

// silent takes messages in and never answers: the sender gives up.
func silent(receiver http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			receiver.ServeHTTP(w, r)
			return
		}
		receiver.ServeHTTP(&unheard{header: http.Header{}}, r)
		<-r.Context().Done() // nobody hears what is written now
	})
}

// cut takes some messages in and cuts the line before it has answered: the
// sender cannot know what became of them.
type cut struct{ left atomic.Int32 }

// next cuts the line of the next n messages.
func (c *cut) next(n int32) { c.left.Store(n) }

func (c *cut) before(receiver http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || c.left.Add(-1) < 0 {
			receiver.ServeHTTP(w, r)
			return
		}
		receiver.ServeHTTP(&unheard{header: http.Header{}}, r)
		panic(http.ErrAbortHandler) // the way to close a connection without a word
	})
}

// unheard is a response that goes nowhere.
type unheard struct{ header http.Header }

// Header meets http.ResponseWriter.
func (u *unheard) Header() http.Header { return u.header }

// Write meets http.ResponseWriter.
func (u *unheard) Write(p []byte) (int, error) { return len(p), nil }

// WriteHeader meets http.ResponseWriter.
func (u *unheard) WriteHeader(int) {}

// gate lets asynchronous receipts go after a while, or holds them until it is
// opened.
type gate struct {
	delay time.Duration

	mu      sync.Mutex
	open    chan struct{} // closed: receipts go
	dropped bool
}

func newGate(delay time.Duration) *gate {
	g := &gate{delay: delay, open: make(chan struct{})}
	close(g.open)
	return g
}

// hold keeps the receipts from now on.
func (g *gate) hold() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = make(chan struct{})
}

// release lets them go.
func (g *gate) release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.open:
	default:
		close(g.open)
	}
}

// drop lets nothing go any more.
func (g *gate) drop() {
	g.mu.Lock()
	g.dropped = true
	g.mu.Unlock()
	g.release()
}

// wait blocks until a receipt may go; false: never.
func (g *gate) wait() bool {
	g.mu.Lock()
	open := g.open
	g.mu.Unlock()
	<-time.After(g.delay)
	<-open
	g.mu.Lock()
	defer g.mu.Unlock()
	return !g.dropped
}

// wrongMIC changes the digest in a signed receipt and signs it again: the
// receipt is in order but for what it says.
func wrongMIC(a as2.Answer, agreement as2.Agreement) (as2.Answer, error) {
	i := slices.IndexFunc(a.Headers, func(f as2.Field) bool { return f.Name == "Content-Type" })
	if i < 0 {
		return a, errors.New("demo: the receipt has no Content-Type")
	}
	_, params, err := rawmime.ParseMediaType(a.Headers[i].Value)
	if err != nil {
		return a, err
	}
	part, err := rawmime.NewMultipart(bytes.NewReader(a.Body), params["boundary"], 4).Next()
	if err != nil {
		return a, err
	}
	report, err := io.ReadAll(part)
	if err != nil {
		return a, err
	}
	const field = "Received-Content-MIC: "
	before, after, ok := strings.Cut(string(report), field)
	_, rest, found := strings.Cut(after, ",")
	if !ok || !found {
		return a, errors.New("demo: the receipt has no Received-Content-MIC")
	}
	other := sha256.Sum256([]byte("something else"))
	report = []byte(before + field + base64.StdEncoding.EncodeToString(other[:]) + "," + rest)
	a.Headers = slices.Clone(a.Headers)
	boundary := rand.Text()
	a.Headers[i].Value = `multipart/signed; protocol="application/pkcs7-signature"; micalg=sha-256; boundary="` + boundary + `"`
	a.Body, err = signReport(report, boundary, agreement)
	return a, err
}

// signReport wraps a report in a multipart/signed (RFC 1847 §2.1).
func signReport(report []byte, boundary string, a as2.Agreement) ([]byte, error) {
	sum := sha256.Sum256(report)
	sig, err := smime.SignDetached(sum[:], smime.SignOptions{Key: a.SigningKey, Certificate: a.SigningCertificate, Hash: crypto.SHA256, Time: time.Now()})
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString("--" + boundary + "\r\n")
	b.Write(report)
	b.WriteString("\r\n--" + boundary + "\r\nContent-Type: application/pkcs7-signature; name=\"smime.p7s\"\r\nContent-Transfer-Encoding: base64\r\n\r\n")
	for line := range slices.Chunk([]byte(base64.StdEncoding.EncodeToString(sig)), 76) {
		b.Write(line)
		b.WriteString("\r\n")
	}
	b.WriteString("--" + boundary + "--\r\n")
	return b.Bytes(), nil
}
