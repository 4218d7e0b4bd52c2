package as2

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// sink takes everything and keeps nothing.
type sink struct{ memory }

func (s *sink) Receive(_ context.Context, r Received) (*Answer, bool, error) {
	_, err := io.Copy(io.Discard, r.Payload)
	return nil, false, err
}

// BenchmarkReceive takes in a signed and encrypted message of 10 KB and answers
// it with a signed MDN; BenchmarkBuild makes one.
func BenchmarkReceive(b *testing.B) {
	content := bytes.Repeat([]byte("PO1*1*10*EA*5.00~"), 600)
	var wire bytes.Buffer
	r, err := Build(&wire, toNorthwind(), orderDocument(content), bytes.NewReader(content), testNow, nil)
	if err != nil {
		b.Fatal(err)
	}
	h, err := NewHandler(Options{Partners: &memory{agreement: fromAcme()}, Inbox: &sink{}, Acks: &memory{}, Scratch: b.TempDir(),
		Domain: "as2.northwind.example", Now: func() time.Time { return testNow }, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		req := httptest.NewRequest(http.MethodPost, "/as2", bytes.NewReader(wire.Bytes()))
		for _, f := range r.Headers {
			req.Header.Add(f.Name, f.Value)
		}
		answer := httptest.NewRecorder()
		h.ServeHTTP(answer, req)
		if answer.Code != http.StatusOK || !bytes.Contains(answer.Body.Bytes(), []byte("processed\r\n")) {
			b.Fatalf("status %d\n%s", answer.Code, answer.Body)
		}
	}
}

func BenchmarkBuild(b *testing.B) {
	content := bytes.Repeat([]byte("PO1*1*10*EA*5.00~"), 600)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Build(io.Discard, toNorthwind(), orderDocument(content), bytes.NewReader(content), testNow, nil); err != nil {
			b.Fatal(err)
		}
	}
}
