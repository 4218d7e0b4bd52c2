package as4

import (
	"crypto/sha1"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"maps"
	"strings"
	"sync"
	"time"

	"edigw/as4/ebms"
	"edigw/internal/xmltree"

	"github.com/beevik/etree"
)

// Bounds of a login with a digest: how far its time may be from ours, and how
// many are remembered so that none counts twice.
const (
	loginSpan = 5 * time.Minute
	maxLogins = 10_000 // of one user
	maxNonce  = 256    // bytes, in base64
)

// passwordText is a password as it is; TLS keeps it.
const passwordText = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-username-token-profile-1.0#PasswordText"

// loggedIn reports whether an envelope holds the login of a P-Mode, in a security
// header of any role of ours: AS4 §3.3 has it in one for "ebms".
func (h *Handler) loggedIn(env *ebms.Envelope, p PMode) bool {
	if env.Header == nil {
		return false
	}
	for _, security := range xmltree.Children(env.Header, ebms.WSSE, "Security") {
		for _, token := range xmltree.Children(security, ebms.WSSE, "UsernameToken") {
			if h.logins.valid(token, p.PullUser, p.PullPassword, h.o.Now()) {
				return true
			}
		}
	}
	return false
}

// logins remembers those with a digest. The zero value is ready; it is safe for
// concurrent use.
type logins struct {
	mu   sync.Mutex
	seen map[string]map[[sha256.Size]byte]time.Time // user; nonce and time, and when it came
}

// valid checks a wsse:UsernameToken (UsernameToken profile 1.1 §3.1). That user
// or password are wrong takes as long as that they are right.
func (l *logins) valid(token *etree.Element, user, password string, now time.Time) bool {
	name, ok := textOf(token, ebms.WSSE, "Username")
	given := xmltree.Children(token, ebms.WSSE, "Password")
	if !ok || len(given) != 1 {
		return false
	}
	same := equal(name, user)
	secret := strings.TrimSpace(xmltree.Text(given[0]))
	switch kind, _ := xmltree.Attr(given[0], "", "Type"); kind {
	case "", passwordText:
		return equal(secret, password)&same == 1
	case passwordDigest:
	default:
		return false
	}
	created, ok := textOf(token, ebms.WSU, "Created")
	encoded, both := textOf(token, ebms.WSSE, "Nonce")
	nonce, err := base64.StdEncoding.DecodeString(encoded)
	if !ok || !both || err != nil || len(encoded) > maxNonce {
		return false // without them a digest that was overheard would be good for ever
	}
	at, err := time.Parse(time.RFC3339Nano, created)
	if err != nil || at.Sub(now).Abs() > loginSpan {
		return false
	}
	sum := sha1.Sum([]byte(string(nonce) + created + password))
	if equal(secret, base64.StdEncoding.EncodeToString(sum[:]))&same != 1 {
		return false
	}
	return l.first(user, sha256.Sum256([]byte(string(nonce)+created)), now)
}

// first reports whether a login came for the first time. What is remembered is
// what the digest is over, not how it was written: base64 has several forms.
func (l *logins) first(user string, login [sha256.Size]byte, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	seen := l.seen[user]
	if _, again := seen[login]; again {
		return false
	}
	if len(seen) >= maxLogins {
		maps.DeleteFunc(seen, func(_ [sha256.Size]byte, at time.Time) bool { return now.Sub(at).Abs() > 2*loginSpan })
	}
	if len(seen) >= maxLogins {
		return false // a partner who pulls so often can wait, and the others need not
	}
	if l.seen == nil {
		l.seen = map[string]map[[sha256.Size]byte]time.Time{}
	}
	if seen == nil {
		seen = map[[sha256.Size]byte]time.Time{}
		l.seen[user] = seen
	}
	seen[login] = now
	return true
}

// textOf is the text of the one child of a name.
func textOf(e *etree.Element, space, local string) (string, bool) {
	all := xmltree.Children(e, space, local)
	if len(all) != 1 {
		return "", false
	}
	return strings.TrimSpace(xmltree.Text(all[0])), true
}

func equal(a, b string) int { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) }
