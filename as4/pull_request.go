package as4

import (
	"crypto/rand"
	"crypto/sha1"
	"encoding/base64"
	"time"

	"edigw/as4/ebms"
	"edigw/as4/wssec"

	"github.com/beevik/etree"
)

// PullRequest is a request of ours for the next message of an MPC, complete.
type PullRequest struct {
	MessageID   string
	ContentType string
	Body        []byte
}

// pullRole is whom the login of a PullRequest is for (ebMS 3.0 Core §7.10).
const pullRole = "ebms"

// Identifiers of the UsernameToken profile 1.1 §3.1.
const (
	passwordDigest = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-username-token-profile-1.0#PasswordDigest"
	nonceEncoding  = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-soap-message-security-1.0#Base64Binary"
)

// NewPullRequest asks for the next message in the MPC of p, under the MessageId
// id (ebMS 3.0 Core §5.2.3.1). It is signed if p signs; with a PullUser it has a
// UsernameToken as well, in a security header of its own (AS4 §3.3). The token
// has the digest of the password with a nonce and the time, never the password:
// it is worth nothing to whoever reads it later, also where TLS ends at
// somebody else's proxy. The error is a *fault.SettingError.
func NewPullRequest(p PMode, id string, now time.Time) (PullRequest, error) {
	if err := checkMessageID(id); err != nil {
		return PullRequest{}, badSetting("identity.domain", "%v", err)
	}
	signal := &ebms.SignalMessage{
		MessageInfo: ebms.MessageInfo{Timestamp: now, MessageID: id},
		PullRequest: &ebms.PullRequest{MPC: p.MPC},
	}
	env := ebms.NewEnvelope(signal.Element())
	covered := wssec.Covered{Elements: []*etree.Element{env.Messaging, env.Body}}
	if p.PullUser != "" {
		login := usernameToken(p.PullUser, p.PullPassword, now)
		env.Header.InsertChildAt(0, login)
		covered.Elements = append(covered.Elements, login)
	}
	if p.Sign.Algorithm != "" {
		if err := checkSigning(p, now); err != nil {
			return PullRequest{}, err
		}
		security := wssec.NewSecurity()
		env.Header.InsertChildAt(0, security)
		if _, err := sign(security, covered, p.Sign); err != nil {
			return PullRequest{}, err
		}
	}
	return PullRequest{MessageID: id, ContentType: envelopeType, Body: ebms.Serialise(env.Root)}, nil
}

// usernameToken is a security header with a login (UsernameToken profile 1.1
// §3.1): digest = SHA-1(nonce, created, password). It knows no other hash.
func usernameToken(user, password string, now time.Time) *etree.Element {
	var nonce [16]byte
	rand.Read(nonce[:]) // never fails
	created := now.UTC().Format("2006-01-02T15:04:05.000Z")
	sum := sha1.Sum([]byte(string(nonce[:]) + created + password))
	security := wssec.NewSecurity()
	security.CreateAttr("env:role", pullRole)
	security.CreateAttr("wsu:Id", ebms.NewID())
	token := security.CreateElement("wsse:UsernameToken")
	token.CreateElement("wsse:Username").SetText(user)
	digest := token.CreateElement("wsse:Password")
	digest.CreateAttr("Type", passwordDigest)
	digest.SetText(base64.StdEncoding.EncodeToString(sum[:]))
	once := token.CreateElement("wsse:Nonce")
	once.CreateAttr("EncodingType", nonceEncoding)
	once.SetText(base64.StdEncoding.EncodeToString(nonce[:]))
	token.CreateElement("wsu:Created").SetText(created)
	return security
}
