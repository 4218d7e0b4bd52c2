package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// webhook is a Slack on loopback that keeps what it took.
type webhook struct {
	*httptest.Server
	mu      sync.Mutex
	refuses bool
	texts   []string
}

func newWebhook(tb testing.TB) *webhook {
	tb.Helper()
	w := &webhook{}
	w.Server = httptest.NewServer(w)
	tb.Cleanup(w.Close)
	return w
}

// ServeHTTP takes an alert, or answers 503.
func (w *webhook) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(r.Body)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.refuses || err != nil {
		rw.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	w.texts = append(w.texts, string(text))
}

func (w *webhook) refuse(yes bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refuses = yes
}

func (w *webhook) taken() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.texts)
}

// mentions reports whether an alert holds some text.
func (w *webhook) mentions(text string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, t := range w.texts {
		if strings.Contains(t, text) {
			return true
		}
	}
	return false
}
