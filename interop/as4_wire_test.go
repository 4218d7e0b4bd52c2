package interop

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"edigw/internal/xmltree"
)

// What edigw put on the wire in other scenarios, with the eyes of two programs that
// share no code with it: signatures of a message and of a receipt, both without
// attachments, and an encrypted attachment. Signatures that cover attachments the
// peers verify in every cell.

// envelopes are what edigw signed and sent without attachments, by name.
func (w as4Trouble) envelopes(t *testing.T) map[string][]byte {
	t.Helper()
	asked, receipts := w.pullRequests("fetched")
	if len(asked) == 0 || len(receipts) == 0 {
		t.Fatalf("%d pull requests, %d receipts: the scenario before ended early", len(asked), len(receipts))
	}
	return map[string][]byte{
		"message": onlyOne(t, w.tap.of("/as4/ping")).request, "receipt": w.inner.of("/as4")[0].answer,
		"pull request": asked[0].request, "receipt by itself": receipts[0].request,
	}
}

func onlyOne(t *testing.T, all []passed) passed {
	t.Helper()
	if len(all) != 1 {
		t.Fatalf("%d exchanges", len(all))
	}
	return all[0]
}

// changed is an envelope whose signature must not hold.
func changed(text []byte) []byte {
	return bytes.Replace(text, []byte("</eb:MessageId>"), []byte("x</eb:MessageId>"), 1)
}

// sealed are the files of the envelope and the one attachment of an encrypted
// message.
func (w as4Trouble) sealed(t *testing.T) (envelope, attachment string) {
	t.Helper()
	parts := partsOf(t, w.tap.of("/as4/answer-lost")[0])
	if len(parts) != 2 {
		t.Fatalf("%d parts", len(parts))
	}
	return fileOf(t, parts[0]), fileOf(t, parts[1])
}

// fileOf writes a file that lives as long as the test.
func fileOf(t *testing.T, content []byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// isOrder checks what was decrypted: it is still compressed.
func isOrder(t *testing.T, file string) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(z); err != nil || !bytes.HasPrefix(got, []byte("ISA*00*")) {
		t.Errorf("%.100q, %v", got, err)
	}
}

func bySantuario(t *testing.T, w as4Trouble) {
	for name, text := range w.envelopes(t) {
		for want, text := range map[bool][]byte{true: text, false: changed(text)} {
			var got struct {
				Verified bool `json:"verified"`
			}
			if err := w.peer.ask(t.Context(), question{Op: "verify", Envelope: fileOf(t, text)}, &got); err != nil || got.Verified != want {
				t.Errorf("%s: verified %v, %v\n%s", name, got.Verified, err, text)
			}
		}
	}
	envelope, attachment := w.sealed(t)
	var got struct {
		File string `json:"file"`
	}
	if err := w.peer.ask(t.Context(), question{Op: "open", Envelope: envelope, Attachment: attachment}, &got); err != nil {
		t.Fatal(err)
	}
	isOrder(t, got.File)
}

// needsXMLSec ends a scenario where xmlsec1 is not there.
func needsXMLSec(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("xmlsec1"); err != nil {
		if os.Getenv("EDIGW_REQUIRE") == "all" {
			t.Fatalf("xmlsec1 is not there and EDIGW_REQUIRE=all: %v", err)
		}
		t.Skipf("NOT RUN: %v", err)
	}
}

func byXMLSec(t *testing.T, w as4Trouble) {
	needsXMLSec(t)
	certificate := w.path("site", "keys", "rsa.crt")
	for name, text := range w.envelopes(t) {
		verifies(t, name, text, certificate, true)
		verifies(t, name, changed(text), certificate, false)
	}
	w.decrypts(t)
}

// verifies has xmlsec1 verify an envelope without attachments.
func verifies(t *testing.T, what string, text []byte, certificate string, want bool) {
	t.Helper()
	out, err := exec.Command("xmlsec1", "--verify", "--pubkey-cert-pem", certificate,
		"--id-attr:Id", "Messaging", "--id-attr:Id", "Body", "--id-attr:Id", "Security", fileOf(t, text)).CombinedOutput()
	if (err == nil) != want {
		t.Errorf("%s: %v\n%s\n%s", what, err, out, text)
	}
}

// decrypts opens an attachment: openssl the key, since this xmlsec1 knows OAEP with
// SHA-1 alone, and xmlsec1 the content.
func (w as4Trouble) decrypts(t *testing.T) {
	envelope, attachment := w.sealed(t)
	text, err := os.ReadFile(envelope)
	if err != nil {
		t.Fatal(err)
	}
	d, err := xmltree.Parse(text, xmltree.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	value, method := d.FindElement("//EncryptedKey/CipherData/CipherValue"), d.FindElement("//EncryptedData/EncryptionMethod")
	if value == nil || method == nil {
		t.Fatalf("nothing is encrypted in\n%s", text)
	}
	wrapped, err := base64.StdEncoding.DecodeString(value.Text())
	if err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(t.TempDir(), "aes.key")
	w.openssl("pkeyutl", "-decrypt", "-inkey", w.path("phase4", "rsa.key"), "-in", fileOf(t, wrapped), "-out", key,
		"-pkeyopt", "rsa_padding_mode:oaep", "-pkeyopt", "rsa_oaep_md:sha256", "-pkeyopt", "rsa_mgf1_md:sha256")
	content, err := os.ReadFile(attachment)
	if err != nil {
		t.Fatal(err)
	}
	data := fmt.Appendf(nil, `<EncryptedData xmlns="http://www.w3.org/2001/04/xmlenc#"><EncryptionMethod Algorithm=%q/><KeyInfo xmlns="http://www.w3.org/2000/09/xmldsig#"/>`+
		`<CipherData><CipherValue>%s</CipherValue></CipherData></EncryptedData>`, method.SelectAttrValue("Algorithm", ""), base64.StdEncoding.EncodeToString(content))
	opened := filepath.Join(t.TempDir(), "content")
	if out, err := exec.Command("xmlsec1", "--decrypt", "--aeskey", key, "--output", opened, fileOf(t, data)).CombinedOutput(); err != nil {
		t.Fatalf("xmlsec1: %v\n%s", err, out)
	}
	isOrder(t, opened)
}

// partsOf are the contents of a message's parts.
func partsOf(t *testing.T, message passed) (all [][]byte) {
	t.Helper()
	_, params, err := mime.ParseMediaType(message.header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	r := multipart.NewReader(bytes.NewReader(message.request), params["boundary"])
	for {
		part, err := r.NextRawPart()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(part)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, content)
	}
}
