package intake

import "sync"

// key is an idempotency key, which belongs to a partner.
type key struct{ partner, key string }

// keys are those whose first document is being stored at this moment.
type keys struct {
	mu   sync.Mutex
	held map[key]bool
}

// hold reports whether nobody else holds k; then the caller does until it
// calls release.
func (k *keys) hold(one key) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.held[one] {
		return false
	}
	k.held[one] = true
	return true
}

func (k *keys) release(one key) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.held, one)
}
