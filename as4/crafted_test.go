package as4

import (
	"bytes"
	"compress/gzip"
	"crypto"
	"encoding/base64"
	"io"
	"mime/quotedprintable"
	"net/http"
	"strings"
	"testing"

	"edigw/as4/ebms"
	"edigw/as4/wssec"
	"edigw/internal/xmltree"

	"github.com/beevik/etree"
)

// crafted is a message from acme to northwind that is put together by hand, so
// that anything about it can be other than we would send it.
type crafted struct {
	user     *ebms.UserMessage
	signals  []*etree.Element
	body     string // XML in the Body
	parts    []craftedPart
	sign     wssec.Signing    // Algorithm empty: unsigned
	seal     wssec.Encrypting // Cipher empty: not encrypted
	before   func(*ebms.Envelope)
	covered  func(*wssec.Covered)
	after    func(envelope string) string
	rootHead string // header lines of the root part; empty: the usual ones
	rootAt   int    // how many parts stand in front of the root
	preamble string
	boundary string
	noStart  bool
	wire     func(body []byte) []byte
	header   http.Header // besides Content-Type
	sent     []byte      // the body as it was posted
}

// craftedPart is one attachment.
type craftedPart struct {
	id         string // empty: it has no Content-ID
	kind       string // Content-Type that the digest goes by; empty: application/gzip
	content    []byte // as signed
	sealedAs   string // EncryptedData/@MimeType; empty: kind
	head       string // header lines; empty: the usual ones
	raw        []byte // on the wire in place of content; nil: content
	encoding   string // transfer encoding
	unlisted   bool   // no PartInfo names it
	unsigned   bool
	href       string // empty: cid: and the id
	properties []ebms.Property
}

// craft is a right message with these parts: signed, with their digests.
func craft(parts ...craftedPart) *crafted {
	return &crafted{
		user: &ebms.UserMessage{
			MessageInfo: ebms.MessageInfo{Timestamp: testNow, MessageID: "crafted-1@edi.acme.example"},
			From:        acmeParty, To: northParty, Agreement: orders.Agreement, Service: orders.Service, Action: orders.Action, ConversationID: "c-1",
		},
		parts:    parts,
		sign:     wssec.Signing{Key: acme().key, Certificate: acme().cert, Algorithm: wssec.RSASHA256},
		boundary: "=_crafted",
	}
}

// zippedPart is a part that is compressed as AS4 §3.1 has it.
func zippedPart(id, contentType, content string) craftedPart {
	return craftedPart{id: id, content: gzipped(content), properties: []ebms.Property{
		{Name: ebms.MimeType, Value: contentType}, {Name: ebms.CompressionType, Value: gzipType},
	}}
}

// plainPart is a part that is not.
func plainPart(id, contentType, content string) craftedPart {
	return craftedPart{id: id, kind: contentType, content: []byte(content)}
}

func gzipped(content string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = io.WriteString(z, content)
	_ = z.Close()
	return b.Bytes()
}

// request is the message as it is posted.
func (c *crafted) request(t testing.TB) *http.Request {
	t.Helper()
	contentType, body := c.compose(t)
	c.sent = body
	req, err := http.NewRequest(http.MethodPost, "http://edi.northwind.example/as4", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range c.header {
		req.Header[name] = values
	}
	req.Header.Set("Content-Type", contentType)
	return req
}

// compose signs, encrypts and writes.
func (c *crafted) compose(t testing.TB) (contentType string, body []byte) {
	t.Helper()
	env := c.envelope(t)
	text := string(ebms.Serialise(env.Root))
	if c.after != nil {
		text = c.after(text)
	}
	if len(c.parts) == 0 && c.rootHead == "" {
		body = []byte(text)
		if c.wire != nil {
			body = c.wire(body)
		}
		return envelopeType, body
	}
	root := c.rootHead
	if root == "" {
		root = "Content-Type: application/soap+xml; charset=UTF-8\r\nContent-ID: <root@edi.acme.example>\r\n"
	}
	all := []string{root + "\r\n" + text}
	for _, p := range c.parts {
		all = append(all, p.wire(t))
	}
	for i := range c.rootAt {
		all[i], all[i+1] = all[i+1], all[i]
	}
	out := c.preamble
	for _, one := range all {
		out += "--" + c.boundary + "\r\n" + one + "\r\n"
	}
	body = []byte(out + "--" + c.boundary + "--\r\n")
	if c.wire != nil {
		body = c.wire(body)
	}
	contentType = `multipart/related; type="application/soap+xml"; boundary="` + c.boundary + `"`
	if !c.noStart {
		contentType += `; start="<root@edi.acme.example>"`
	}
	return contentType, body
}

// envelope makes the signed envelope; what is encrypted is put into the parts.
func (c *crafted) envelope(t testing.TB) *ebms.Envelope {
	t.Helper()
	messages := c.signals
	if c.user != nil {
		u := *c.user
		for _, p := range c.parts {
			if href := p.url(); !p.unlisted {
				u.Parts = append(u.Parts, ebms.PartInfo{Href: href, Properties: p.properties})
			}
		}
		messages = append(messages, u.Element())
	}
	env := ebms.NewEnvelope(messages...)
	if c.body != "" {
		doc, err := xmltree.Parse([]byte(c.body), xmltree.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		env.Body.AddChild(doc.Root())
	}
	if c.before != nil {
		c.before(env)
	}
	if c.sign.Algorithm == "" && c.seal.Cipher == "" {
		return env
	}
	security := wssec.NewSecurity()
	env.Header.InsertChildAt(0, security)
	digests := c.digests(t)
	c.encrypt(t, security)
	if c.sign.Algorithm == "" {
		return env
	}
	covered := wssec.Covered{Elements: []*etree.Element{env.Messaging, env.Body}, Parts: digests}
	if c.covered != nil {
		c.covered(&covered)
	}
	if _, err := wssec.Sign(security, covered, c.sign); err != nil {
		t.Fatal(err)
	}
	return env
}

func (c *crafted) digests(t testing.TB) (all []wssec.Digested) {
	t.Helper()
	for _, p := range c.parts {
		if p.unsigned || p.id == "" {
			continue
		}
		hash := c.sign.Digest
		if hash == 0 {
			hash = crypto.SHA256
		}
		d := wssec.PartDigest(hash, p.digestType())
		_, _ = d.Write(p.content)
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		all = append(all, wssec.Digested{ContentID: p.id, Digest: d.Sum()})
	}
	return all
}

func (c *crafted) encrypt(t testing.TB, security *etree.Element) {
	t.Helper()
	if c.seal.Cipher == "" {
		return
	}
	x, err := wssec.NewEncrypter(c.seal)
	if err != nil {
		t.Fatal(err)
	}
	for i := range c.parts {
		p := &c.parts[i]
		if p.id == "" || p.sealedAs == "-" {
			continue
		}
		kind := p.sealedAs
		if kind == "" {
			kind = p.digestType()
		}
		var sealed bytes.Buffer
		w := x.Part(&sealed, p.id, kind)
		_, _ = w.Write(p.content)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if p.raw == nil {
			p.raw, p.head = sealed.Bytes(), "Content-Type: application/octet-stream\r\nContent-ID: <"+p.id+">\r\n"
		}
	}
	x.Write(security)
}

func (p craftedPart) digestType() string {
	if p.kind == "" {
		return gzipType
	}
	return p.kind
}

func (p craftedPart) url() string {
	if p.href != "" {
		return p.href
	}
	return wssec.PartURI(p.id)
}

// wire is the part with its header.
func (p craftedPart) wire(t testing.TB) string {
	t.Helper()
	head, content := p.head, p.content
	if head == "" {
		head = "Content-Type: " + p.digestType() + "\r\n"
		if p.id != "" {
			head += "Content-ID: <" + p.id + ">\r\n"
		}
		if p.encoding != "" {
			head += "Content-Transfer-Encoding: " + p.encoding + "\r\n"
		}
	}
	if p.raw != nil {
		content = p.raw
	}
	var b strings.Builder
	switch strings.ToLower(p.encoding) {
	case "base64":
		text := base64.StdEncoding.EncodeToString(content)
		for len(text) > 60 {
			b.WriteString(text[:60] + "\r\n")
			text = text[60:]
		}
		b.WriteString(text)
	case "quoted-printable":
		w := quotedprintable.NewWriter(&b)
		w.Binary = true
		_, _ = w.Write(content)
		_ = w.Close()
	default:
		b.Write(content)
	}
	return head + "\r\n" + b.String()
}

// fromAcmePlain is how northwind receives from acme without encryption.
func fromAcmePlain() PMode {
	p := fromAcme()
	p.Receive.Encrypted = false
	return p
}

// answered reads what was answered, as the sender of a message would: "receipt",
// an error's code, or a SOAP fault's; with it the error.
func answered(t testing.TB, res *http.Response) (string, ebms.Error) {
	t.Helper()
	body := readBody(t, res)
	if len(body) == 0 {
		return "", ebms.Error{}
	}
	env, err := parseEnvelope(body, 1<<20)
	if err != nil {
		t.Fatalf("status %d, and the answer cannot be read: %v: %.300q", res.StatusCode, err, body)
	}
	status := http.StatusOK
	switch {
	case env.Fault != nil:
		if res.StatusCode != env.Fault.Status() {
			t.Errorf("fault %s with status %d", env.Fault.Code, res.StatusCode)
		}
		return "env:" + string(env.Fault.Code), ebms.Error{Detail: env.Fault.Reason}
	case res.StatusCode != status:
		t.Errorf("status %d, want %d", res.StatusCode, status)
	}
	if s := env.Errors(); s != nil {
		return s.Errors[0].Code, s.Errors[0]
	}
	if env.Receipt() != nil {
		return "receipt", ebms.Error{}
	}
	t.Fatalf("neither receipt nor error: %s", body)
	return "", ebms.Error{}
}
