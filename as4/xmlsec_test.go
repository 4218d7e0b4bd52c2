package as4

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"edigw/as4/ebms"
	"edigw/as4/wssec"
	"edigw/internal/testfixture"
)

// tool runs a program of another maker; it must be there.
func tool(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	testfixture.Program(t, name)
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		text := ""
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			text = string(exit.Stderr)
		}
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, text)
	}
	return out
}

func file(t *testing.T, dir, name string, content []byte) string {
	t.Helper()
	name = filepath.Join(dir, name)
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func certFile(t *testing.T, dir string, p pair) string {
	t.Helper()
	return file(t, dir, "cert.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.cert.Raw}))
}

// TestXMLSec: xmlsec1 verifies what we sign where nothing is attached: signals,
// pull requests, messages to the test service, payloads in the Body.
func TestXMLSec(t *testing.T) {
	t.Parallel()
	p, by, r, o := sent(t)
	inBody := toNorthwind()
	inBody.Body, inBody.Compress, inBody.Encrypt = true, false, wssec.Encrypting{}
	_, body := mustBuild(t, inBody, orderDocument(payload("text/xml", "", []byte("<a:b xmlns:a='urn:a' c=\"1&#9;2\">\r\n\t<d/> &lt;ü <![CDATA[x>]]></a:b>"))))
	_, ping := mustBuild(t, p, Ping("ping@edi.acme.example", testNow))
	p.PullUser, p.PullPassword, p.MPC = "acme", "s3cret", "urn:example:mpc"
	pull, err := NewPullRequest(p, "pull@edi.acme.example", testNow)
	if err != nil {
		t.Fatal(err)
	}
	curves := by
	curves.Sign = wssec.Signing{Key: northEC().key, Certificate: northEC().cert, Algorithm: wssec.ECDSASHA256}
	for name, tc := range map[string]struct {
		text []byte
		by   func() pair
	}{
		"receipt":              {o.receiptFor(t, by).Body, northwind},
		"receipt with a curve": {o.receiptFor(t, curves).Body, northEC},
		"reception awareness":  {awareness(t, by, o).Body, northwind},
		"error":                {mustError(t, by, r.MessageID, ebms.NewError("EBMS:0303", "not <gzip> & \"so\"", r.MessageID)).Body, northwind},
		"pull request":         {pull.Body, acme},
		"ping":                 {ping, acme},
		"payload in the Body":  {body, acme},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			verify := func(text []byte) *exec.Cmd {
				return exec.Command("xmlsec1", "--verify", "--pubkey-cert-pem", certFile(t, dir, tc.by()),
					"--id-attr:Id", "Messaging", "--id-attr:Id", "Body", "--id-attr:Id", "Security", file(t, dir, "message.xml", text))
			}
			testfixture.Program(t, "xmlsec1")
			if out, err := verify(tc.text).CombinedOutput(); err != nil {
				t.Errorf("%v: %s\n%s", err, out, tc.text)
			}
			changed := bytes.Replace(tc.text, []byte("</eb:MessageId>"), []byte("x</eb:MessageId>"), 1)
			if out, err := verify(changed).CombinedOutput(); err == nil {
				t.Errorf("verifies although it was changed: %s", out)
			}
		})
	}
}

// TestOpenSSLVerifiesAttachments: xmlsec1 knows no attachments. So libxml2 makes
// the canonical form of SignedInfo, openssl verifies its signature, and the
// digests of the attachments are those of the bytes on the wire.
func TestOpenSSLVerifiesAttachments(t *testing.T) {
	t.Parallel()
	p, by := toNorthwind(), fromAcme()
	p.Encrypt = wssec.Encrypting{}
	r, wire := mustBuild(t, p, orderDocument(payload("application/EDI-X12", "order.edi", contents()["usual"]), payload("a/b", "", contents()["binary"])))
	o := open(t, r.ContentType, wire, by)
	security, err := wssec.Security(o.env.Header, "")
	if err != nil {
		t.Fatal(err)
	}
	signature := security.FindElement("./Signature")
	dir := t.TempDir()
	// SignedInfo declares no prefix itself: alone it needs that of ds.
	info := signature.FindElement("./SignedInfo").Copy()
	info.CreateAttr("xmlns:ds", ebms.DS)
	canonical := tool(t, "xmllint", "--exc-c14n", file(t, dir, "info.xml", ebms.Serialise(info)))
	value, err := base64.StdEncoding.DecodeString(signature.FindElement("./SignatureValue").Text())
	if err != nil {
		t.Fatal(err)
	}
	key := file(t, dir, "key.pem", tool(t, "openssl", "x509", "-in", certFile(t, dir, acme()), "-noout", "-pubkey"))
	tool(t, "openssl", "dgst", "-sha256", "-verify", key, "-signature", file(t, dir, "value", value), file(t, dir, "text", canonical))
	seen := 0
	for _, ref := range r.References {
		id, ok := wssec.ContentID(ref.URI)
		if !ok {
			continue
		}
		seen++
		if sum := sha256.Sum256(o.onWire[id]); !bytes.Equal(sum[:], ref.Value) || !bytes.Contains(canonical, []byte(base64.StdEncoding.EncodeToString(ref.Value))) {
			t.Errorf("%s: digest %x, on the wire %x", ref.URI, ref.Value, sum)
		}
	}
	if seen != 2 {
		t.Errorf("%d attachments are signed", seen)
	}
}
