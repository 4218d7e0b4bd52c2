package as4

import (
	"crypto"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"strings"
	"time"

	"edigw/as4/ebms"
	"edigw/as4/wssec"
	"edigw/fault"
	"edigw/internal/scratch"

	"github.com/beevik/etree"
)

// Build writes the HTTP body of a message to w and returns what must be kept
// beside it. Payloads are compressed, then signed, then encrypted (AS4 §3.1,
// §5.1.7). Each is read from its beginning once or twice, whatever is compressed
// and signed once, by way of space: memory stays constant. space, which the
// caller closes, may be nil for a folder of the system's.
//
// What a receiver may compare is made of p and d alone: a rebuild has the same
// ids, the same order and the same digests. Only keys, nonces and boundaries are
// new.
//
// Errors: *fault.SettingError when a setting, key or certificate must be mended,
// fault.ErrPayload when a payload cannot be read, scratch.ErrDisk when our own disk is
// at fault; those of w as they are.
func Build(w io.Writer, p PMode, d Document, space *scratch.Space, now time.Time) (Rendition, error) {
	if d.Test {
		p.MEP = OneWayPush // whoever asks waits for the answer
	}
	if err := checkBuild(p, d, now); err != nil {
		return Rendition{}, err
	}
	if space == nil {
		space = (*scratch.Rooms)(nil).Space("", "", "")
		defer space.Close()
	}
	b := &builder{p: p, d: d, names: namesOf(d.MessageID), space: space, now: now}
	if err := b.takePayloads(); err != nil {
		return Rendition{}, err
	}
	u := b.userMessage()
	if err := u.Check(); err != nil {
		return Rendition{}, headerSetting(err)
	}
	env := b.envelope(u)
	parts, err := b.secure(env)
	if err != nil {
		return Rendition{}, err
	}
	r := Rendition{
		MessageID: d.MessageID, ContentType: envelopeType, User: u, References: b.references,
		Ack: ackTiming(p), Agreement: p.Fingerprint(),
	}
	sum, size := sha256.New(), counter(0)
	all, envelope := io.MultiWriter(w, sum, &size), ebms.Serialise(env.Root)
	if len(parts) == 0 {
		_, err = all.Write(envelope)
	} else {
		boundary := randomBoundary()
		r.ContentType = multipartType(boundary, b.names.root())
		err = writeMultipart(all, boundary, b.names.root(), envelope, parts)
	}
	if err != nil {
		return Rendition{}, err
	}
	r.Size, r.SHA256 = int64(size), hex.EncodeToString(sum.Sum(nil))
	return r, nil
}

// builder holds one message while it is built.
type builder struct {
	p     PMode
	d     Document
	names names
	space *scratch.Space
	now   time.Time

	body       *etree.Element // the payload that stands in the Body; nil: none does
	parts      []part         // those that are attached
	references []ebms.Reference
}

// envelope composes the message without its security.
func (b *builder) envelope(u *ebms.UserMessage) *ebms.Envelope {
	env := ebms.NewEnvelope(u.Element())
	env.Messaging.CreateAttr("wsu:Id", b.names.element("messaging"))
	env.Body.CreateAttr("wsu:Id", b.names.element("body"))
	if b.body != nil {
		env.Body.AddChild(b.body)
	}
	return env
}

// userMessage fills the header in (ebMS 3.0 Core §5.2.2).
func (b *builder) userMessage() *ebms.UserMessage {
	about := b.p.Collaboration
	if b.d.Test {
		about = testCollaboration(about)
	}
	u := &ebms.UserMessage{
		MessageInfo: ebms.MessageInfo{Timestamp: b.d.Timestamp, MessageID: b.d.MessageID, RefToMessageID: b.d.RefToMessageID},
		From:        b.p.From, To: b.p.To,
		Agreement: about.Agreement, Service: about.Service, Action: about.Action,
		ConversationID: b.d.ConversationID,
		Properties:     b.p.Properties,
	}
	if b.p.MPC != ebms.DefaultMPC {
		u.MPC = b.p.MPC
	}
	if u.Timestamp.IsZero() {
		u.Timestamp = b.now
	}
	if u.ConversationID == "" {
		u.ConversationID = strings.ReplaceAll(b.p.Conversation, "{message}", b.d.MessageID)
	}
	if b.body != nil {
		// Without an href it is the Body (ebMS 3.0 Core §5.2.2.12). Its id would say
		// the same, but some products take every href for an attachment's.
		u.Parts = []ebms.PartInfo{{Properties: b.properties(b.d.Payloads[0])}}
	}
	for i, part := range b.parts {
		u.Parts = append(u.Parts, ebms.PartInfo{
			Href:       wssec.PartURI(part.contentID),
			Properties: append(b.properties(b.d.Payloads[i]), b.ownProperties(b.d.Payloads[i])...),
		})
	}
	return u
}

// secure encrypts the attachments and signs, and gives the attachments as they go
// out. Of the two only their traces in the header are made here, in the order in
// which receivers undo them: what was done last stands first.
func (b *builder) secure(env *ebms.Envelope) (parts []wirePart, err error) {
	security := wssec.NewSecurity()
	signs, encrypts := b.p.Sign.Algorithm != "", b.p.Encrypt.Cipher != "" && len(b.parts) > 0
	if signs || encrypts {
		env.Header.InsertChildAt(0, security)
	}
	if encrypts {
		if parts, err = b.encryptedParts(security); err != nil {
			return nil, err
		}
	} else {
		for i := range b.parts {
			p := &b.parts[i]
			parts = append(parts, wirePart{p.contentID, p.contentType, p.write})
		}
	}
	if signs {
		err = b.sign(env, security)
	}
	return parts, err
}

// sign digests the parts, as they are before encryption, and signs everything.
func (b *builder) sign(env *ebms.Envelope, security *etree.Element) error {
	digest := b.p.Sign.Digest
	if digest == 0 {
		digest = crypto.SHA256
	}
	covered := wssec.Covered{Elements: []*etree.Element{env.Messaging, env.Body}}
	for i := range b.parts {
		sum, err := b.parts[i].digest(digest)
		if err != nil {
			return err
		}
		covered.Parts = append(covered.Parts, wssec.Digested{ContentID: b.parts[i].contentID, Digest: sum})
	}
	references, err := sign(security, covered, b.p.Sign)
	for _, r := range references {
		b.references = append(b.references, ebms.Reference{URI: r.URI, DigestMethod: wssec.DigestURI(r.Digest), Value: r.Value})
	}
	return err
}

// encryptedParts has each part encrypted while it is written, and nothing else
// (AS4 §5.1.6).
func (b *builder) encryptedParts(security *etree.Element) (all []wirePart, err error) {
	x, err := wssec.NewEncrypter(b.p.Encrypt)
	if err != nil {
		return nil, badSetting("as4.security.encrypt", "%v", err)
	}
	for i := range b.parts {
		p, out := &b.parts[i], new(later)
		e := x.Part(out, p.contentID, p.contentType)
		all = append(all, wirePart{p.contentID, typeOctets, func(w io.Writer) error {
			out.Writer = w
			if err := p.write(e); err != nil {
				return err
			}
			return e.Close()
		}})
	}
	x.Write(security)
	return all, nil
}

// later is a writer that is known only when it is written to: the envelope, which
// names the encrypted parts, goes out in front of them.
type later struct{ io.Writer }

// headerSetting tells what of a header of ours breaks the rules of ebMS.
func headerSetting(err error) error {
	var problem *ebms.ProblemError
	if errors.As(err, &problem) {
		return badSetting("as4", "%s", problem.Detail)
	}
	return badSetting("as4", "%v", err)
}

// ackTiming tells when the receipt is due. That of a pulled message comes as a
// request of its own, whatever was settled (ebMS 3.0 Core §3.4.1).
func ackTiming(p PMode) fault.AckTiming {
	switch {
	case p.Receipt.Mode == ReceiptNone || p.Receipt.Mode == "":
		return fault.AckNotAsked
	case p.Receipt.Mode == ReceiptAsync || p.MEP == OneWayPull:
		return fault.AckAsync
	}
	return fault.AckSync
}

// counter counts what is written to it.
type counter int64

// Write implements io.Writer.
func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}
