package interop

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/mail"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Messages of AS2 as they went over the wire, taken apart by openssl: a product
// that takes more than was agreed would not notice that a setting has no effect.

// peeled is what openssl found in a message, from the outside in.
type peeled struct {
	layers []string // such as "encrypted aes-256-cbc rsaEncryption"
	text   string   // what it printed of all layers
	micalg string   // of multipart/signed
	closed bool     // what is inside stays closed
}

// peeler opens messages that were encrypted to a certificate.
type peeler struct {
	dir       string
	key, cert string // files
	n         int
}

// peel takes a message apart as far as openssl can: it opens no compressed layer.
func (o *peeler) peel(ctx context.Context, head mail.Header, body []byte, into *peeled) error {
	kind, params, err := mime.ParseMediaType(head.Get("Content-Type"))
	if err != nil {
		return err
	}
	switch {
	case strings.HasSuffix(kind, "pkcs7-mime") && params["smime-type"] == "compressed-data":
		into.layers = append(into.layers, "compressed")
	case strings.HasSuffix(kind, "pkcs7-mime"):
		return o.encrypted(ctx, decoded(head, body), into)
	case kind == "multipart/signed":
		return o.signed(ctx, params, body, into)
	}
	return nil
}

// decoded undoes base64, which some write over what is binary.
func decoded(head mail.Header, body []byte) []byte {
	if strings.EqualFold(head.Get("Content-Transfer-Encoding"), "base64") && !bytes.HasPrefix(body, []byte{0x30}) {
		if plain, err := base64.StdEncoding.DecodeString(string(bytes.Join(bytes.Fields(body), nil))); err == nil {
			return plain
		}
	}
	return body
}

func (o *peeler) encrypted(ctx context.Context, cms []byte, into *peeled) error {
	file, err := o.file(cms)
	if err != nil {
		return err
	}
	text, err := o.print(ctx, file, into)
	if err != nil {
		return err
	}
	into.layers = append(into.layers, strings.Join([]string{"encrypted", algorithmIn(text, "contentEncryptionAlgorithm"), algorithmIn(text, "keyEncryptionAlgorithm")}, " "))
	if strings.HasSuffix(algorithmIn(text, "contentEncryptionAlgorithm"), "-gcm") && strings.Contains(text, "d.envelopedData:") {
		into.closed = true // it opens GCM in AuthEnvelopedData alone
		return nil
	}
	content, err := openssl(ctx, "cms", "-decrypt", "-binary", "-inform", "DER", "-in", file, "-inkey", o.key, "-recip", o.cert)
	if err != nil {
		return err
	}
	return o.inner(ctx, content, into)
}

func (o *peeler) signed(ctx context.Context, params map[string]string, body []byte, into *peeled) error {
	into.micalg = params["micalg"]
	parts := multipart.NewReader(bytes.NewReader(body), params["boundary"])
	var heads []mail.Header
	var bodies [][]byte
	for {
		part, err := parts.NextRawPart()
		if err != nil {
			break // the number of parts tells
		}
		content, err := io.ReadAll(part)
		if err != nil {
			return err
		}
		heads, bodies = append(heads, mail.Header(part.Header)), append(bodies, content)
	}
	if len(bodies) != 2 {
		return fmt.Errorf("multipart/signed has %d parts", len(bodies))
	}
	file, err := o.file(decoded(heads[1], bodies[1]))
	if err != nil {
		return err
	}
	text, err := o.print(ctx, file, into)
	if err != nil {
		return err
	}
	signer := text[max(strings.Index(text, "signerInfos:"), 0):]
	digest, signature := algorithmIn(signer, "digestAlgorithm"), algorithmIn(signer, "signatureAlgorithm")
	if signature == digest+"WithRSAEncryption" { // both names are right (RFC 3370 §3.2)
		signature = "rsaEncryption"
	}
	into.layers = append(into.layers, "signed "+digest+" "+signature)
	return o.peel(ctx, heads[0], bodies[0], into)
}

// inner goes on with what was inside, unless it has no head at all.
func (o *peeler) inner(ctx context.Context, content []byte, into *peeled) error {
	m, err := mail.ReadMessage(bytes.NewReader(content))
	if err != nil {
		return err
	}
	body, err := io.ReadAll(m.Body)
	if err != nil {
		return err
	}
	return o.peel(ctx, m.Header, body, into)
}

func (o *peeler) file(content []byte) (string, error) {
	o.n++
	name := filepath.Join(o.dir, fmt.Sprintf("layer-%d", o.n))
	return name, os.WriteFile(name, content, 0o600)
}

func (o *peeler) print(ctx context.Context, file string, into *peeled) (string, error) {
	text, err := openssl(ctx, "cms", "-cmsout", "-print", "-noout", "-inform", "DER", "-in", file)
	into.text += string(text)
	return string(text), err
}

func openssl(ctx context.Context, args ...string) ([]byte, error) {
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, "openssl", args...)
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("openssl %s: %w: %s", strings.Join(args[:2], " "), err, said.String())
	}
	return out, err
}

// algorithmIn finds the name of one in what openssl prints.
func algorithmIn(text, what string) string {
	found := regexp.MustCompile(what + `:\s*\n\s*algorithm: (\S+)`).FindStringSubmatch(text)
	if found == nil {
		return "no " + what
	}
	return found[1]
}

// layers are what a message of a profile has on the wire, as far as openssl opens
// it.
func (p profile) layers() (all []string) {
	if p.encrypt != "none" {
		cipher := strings.NewReplacer("aes", "aes-", "3des", "des-ede3-cbc").Replace(p.encrypt)
		transport := map[bool]string{true: "rsaEncryption", false: "rsaesOaep"}[p.transport == "rsa-pkcs1"]
		all = append(all, "encrypted "+cipher+" "+transport)
	}
	if p.compress == "after-sign" {
		return append(all, "compressed")
	}
	if p.sign != "none" {
		signature := map[bool]string{true: "rsassaPss", false: "rsaEncryption"}[p.signature == "rsa-pss"]
		all = append(all, "signed "+p.sign+" "+signature)
	}
	if p.compress != "none" {
		all = append(all, "compressed")
	}
	return all
}

// judgeWire looks at a message as it went over the wire. Large ones are too much
// of it.
func (c cell) judgeWire(ctx context.Context, t *testing.T, line *front, messageID string, r *result) {
	all := line.find(func(p passed) bool { return p.header.Get("Message-Id") == messageID })
	if len(all) == 0 {
		r.add("%s was not on the wire", messageID)
		return
	}
	c.judgeHead(all[0].header, r)
	if c.profile.content == large {
		return
	}
	keys := peeler{dir: t.TempDir(), key: c.path(c.peer.name(), "peer.key"), cert: c.path(c.peer.name(), "peer.crt")}
	if c.direction == fromPeer {
		keys.key, keys.cert = c.path("site", "keys", "own.pem"), c.path("site", "keys", "own.crt")
	}
	var got peeled
	if err := keys.peel(ctx, mail.Header(all[0].header), all[0].request, &got); err != nil {
		r.add("on the wire: %v", err)
		return
	}
	want := c.profile.layers()
	if got.closed {
		want = want[:1]
	}
	if strings.Join(got.layers, ", ") != strings.Join(want, ", ") {
		r.add("on the wire: %s", strings.Join(got.layers, ", "))
	}
	if shows, only := oursShow[c.profile.ours]; only && !shows(all[0].header, got) {
		r.add("%s does not show on the wire", c.profile.ours)
	}
}

// judgeHead compares which receipt was asked for with the profile.
func (c cell) judgeHead(head http.Header, r *result) {
	p := c.profile
	asked, signed, async := head.Get("Disposition-Notification-To") != "", strings.Contains(head.Get("Disposition-Notification-Options"), "signed-receipt"),
		head.Get("Receipt-Delivery-Option") != ""
	if asked != p.receipt() || signed != p.mdnSigned || async != (p.mdn == "async") {
		r.add("on the wire: a receipt asked for %v, signed %v, async %v", asked, signed, async)
	}
}

// oursShow is how settings of edigw alone show in what it sent.
var oursShow = map[string]func(http.Header, peeled) bool{
	"transfer: chunked":          func(h http.Header, _ peeled) bool { return h.Get("Transfer-Encoding") == "chunked" },
	"expect_continue: true":      func(h http.Header, _ peeled) bool { return h.Get("Expect") == "100-continue" },
	"signed_attributes: false":   func(_ http.Header, p peeled) bool { return absent(p, "signedAttrs") },
	"attach_certificate: none":   func(_ http.Header, p peeled) bool { return absent(p, "certificates") },
	"algorithm_protection: true": func(_ http.Header, p peeled) bool { return strings.Contains(p.text, "1.2.840.113549.1.9.52") },
	"digest_names: rfc3851":      func(_ http.Header, p peeled) bool { return p.micalg == "sha256" },
	"encrypt_to_self: true":      func(_ http.Header, p peeled) bool { return strings.Count(p.text, "d.ktri:") == 2 },
	`version: "1.3"`:             func(h http.Header, _ peeled) bool { return h.Get("As2-Version") == "1.3" },
}

// absent reports whether openssl found nothing under a name.
func absent(p peeled, what string) bool {
	return regexp.MustCompile(what + `:\s*\n\s*<ABSENT>`).MatchString(p.text)
}
