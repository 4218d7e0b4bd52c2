package demo

import (
	"maps"
	"net/http"
	"slices"
	"sync"
)

// maxAnswers is how many receipts a scripted partner keeps for repeats.
const maxAnswers = 500

// effect is a document that reached a partner's business side.
type effect struct {
	MessageID string
	SHA256    string // lower-case hex of the document
}

// record is what a partner knows by itself, whatever the gateway believes; A is
// a receipt of its protocol. It is safe for concurrent use.
type record[A any] struct {
	mu       sync.Mutex
	arrivals map[string]int  // requests by Message-ID; empty where that is not in the header
	taken    map[string]bool // Message-IDs that had their effect
	answers  map[string]*A   // by Message-ID, for repeats
	order    []string        // of answers, oldest first
	effects  []effect
}

func newRecord[A any]() *record[A] {
	return &record[A]{arrivals: map[string]int{}, taken: map[string]bool{}, answers: map[string]*A{}}
}

// arrived counts a request, whatever becomes of it.
func (r *record[A]) arrived(messageID string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.arrivals[messageID]++
}

// counted notes every message that arrives, before anything else happens.
func (r *record[A]) counted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.Method == http.MethodPost {
			r.arrived(q.Header.Get("Message-ID"))
		}
		next.ServeHTTP(w, q)
	})
}

// take gives a document to the business side, unless one with its Message-ID
// was given before (RFC 4130 §5.5, AS4 §3.2): then the receipt of that time comes back.
func (r *record[A]) take(e effect, answer *A) (first *A, again bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.taken[e.MessageID] {
		return r.answers[e.MessageID], true
	}
	r.taken[e.MessageID] = true
	r.effects = append(r.effects, e)
	r.answers[e.MessageID] = answer
	if r.order = append(r.order, e.MessageID); len(r.order) > maxAnswers {
		delete(r.answers, r.order[0])
		r.order = r.order[1:]
	}
	return nil, false
}

// list gives the documents that reached the business side, in order.
func (r *record[A]) list() []effect {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.effects)
}

// requests is how many requests came in for how many messages.
func (r *record[A]) requests() (requests, messages int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for n := range maps.Values(r.arrivals) {
		requests += n
	}
	return requests, len(r.arrivals)
}
