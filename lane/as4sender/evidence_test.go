package as4sender

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"edigw/as2"
	"edigw/as4"
	"edigw/as4/ebms"
	"edigw/fault"
	"edigw/internal/testpki"
	"edigw/lane/evidence/evidencetest"
	"edigw/queue"
	"edigw/retry"
	"edigw/store/spool"
)

var order = bytes.Repeat([]byte("LIN+1++4012345000009:SRV'\n"), 40)

// delivered sends a message and gives it with its attempt, as the lane notes it.
func (h *house) delivered(m queue.Message) (queue.Message, []queue.Attempt) {
	h.t.Helper()
	o, raw := h.attempt(m)
	if !trusted(o) {
		h.t.Fatalf("not delivered: %+v", o)
	}
	return settled(m), []queue.Attempt{noted(h, o, raw)}
}

func settled(m queue.Message) queue.Message {
	m.State, m.Proof, m.Finished = queue.Delivered, queue.ProofReceipt, m.Accepted.Add(time.Second)
	return m
}

func noted(h *house, o fault.Outcome, raw string) queue.Attempt {
	return queue.Attempt{Message: "01jdocument", N: 1, Build: len(h.builds), Started: h.now(), Duration: time.Second, Phase: o.Phase, Class: retry.Success, Status: o.Status, Ack: o.Ack, Raw: raw}
}

func (h *house) unzipped(m queue.Message, attempts []queue.Attempt) (dir string, names []string) {
	h.t.Helper()
	return evidencetest.Unzip(h.t, func(w io.Writer) error {
		return h.sender.Evidence(h.t.Context(), w, m, attempts, h.builds)
	})
}

// failing are the commands of VERIFY.txt that fail.
func failing(t *testing.T, dir string) []string {
	t.Helper()
	return evidencetest.Failing(t, dir, "openssl", "xmlsec1", "gzip", "cmp")
}

// related is a document of several files, as it is stored.
func related(t *testing.T, files ...as2.File) (content []byte, contentType string) {
	t.Helper()
	r, err := as2.NewRelated(files)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if _, err := r.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), r.ContentType
}

func fileOfSeveral(name, contentType string, content []byte) as2.File {
	return as2.File{Name: name, ContentType: contentType, Size: int64(len(content)), Open: func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(content)), nil
	}}
}

// TestStrangerCanVerifyWithXMLSecAndOpenSSL runs the very commands of VERIFY.txt,
// and again after one bit of each file was changed.
func TestStrangerCanVerifyWithXMLSecAndOpenSSL(t *testing.T) {
	t.Parallel()
	xml := []byte("<o:Order xmlns:o='urn:example:order' b=\"2\" a=\"1\">\r\n\t<!-- note --><o:Line/>\n</o:Order>\n")
	text := []byte("line 1\nline 2\n")
	several, kind := related(t, fileOfSeveral("order.edi", "application/edifact", order), fileOfSeveral("plan.xml", "application/xml", xml), fileOfSeveral("", "text/plain", text))
	always := []string{"README.txt", "VERIFY.txt", "body.xml", "messaging.xml", "own-sign.pem", "partner-verify-1.pem", "receipt.http", "receipt.xml", "settings.txt"}
	for name, test := range map[string]struct {
		settings    []string
		content     []byte
		contentType string
		files       []string // besides
		commands    int
	}{
		// Certificate, receipt, MessageId; header, Body and each payload twice, and
		// what it is; the document.
		"signed and encrypted": {nil, order, "application/edifact", []string{"payload-1.gz", "document.bin"}, 11},
		"signed only":          {[]string{"security: {encrypt: none}"}, order, "application/edifact", []string{"payload-1.gz", "document.bin"}, 11},
		"SHA-512":              {[]string{"security: {sign: rsa-sha512, digest: sha512}"}, order, "application/edifact", []string{"payload-1.gz", "document.bin"}, 11},
		"not compressed":       {[]string{"compress: none"}, order, "application/edifact", []string{"payload-1.bin"}, 10},
		"XML as it is":         {[]string{"compress: none"}, xml, "application/xml", []string{"payload-1.bin", "document.bin"}, 10},
		"several":              {nil, several, kind, []string{"payload-1.gz", "payload-2.gz", "payload-3.gz", "part-1.bin", "part-2.bin", "part-3.bin", "document.bin"}, 17},
		"several as they are":  {[]string{"compress: none"}, several, kind, []string{"payload-1.bin", "payload-2.bin", "payload-3.bin", "part-2.bin", "part-3.bin", "document.bin"}, 15},
		"in the Body":          {[]string{"compress: none", "body: true", "security: {encrypt: none}"}, xml, "application/xml", []string{"document.bin"}, 8},
		"nothing in it":        {nil, nil, "application/edifact", []string{"payload-1.gz", "document.bin"}, 11},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t, test.settings...)
			if slices.Contains(test.settings, "body: true") || slices.Contains(test.settings, "security: {encrypt: none}") {
				h.north.configure("receive: {require: [signed]}")
			}
			m, attempts := h.delivered(h.acceptAs(test.content, test.contentType, "order.edi"))
			dir, names := h.unzipped(m, attempts)
			want := slices.Sorted(slices.Values(slices.Concat(always, test.files)))
			if diff := cmp.Diff(want, names); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
			if readme := evidencetest.Read(t, dir, "README.txt"); strings.Contains(readme, "Missing") {
				t.Errorf("something is missing:\n%s", readme)
			}
			if n := len(evidencetest.Commands(t, dir)); n != test.commands {
				t.Errorf("%d commands, want %d:\n%s", n, test.commands, evidencetest.Read(t, dir, "VERIFY.txt"))
			}
			if failed := failing(t, dir); len(failed) > 0 {
				t.Fatalf("fails:\n%s", strings.Join(failed, "\n"))
			}
			spoiled := append([]string{"receipt.xml", "messaging.xml", "body.xml"}, test.files...)
			for _, file := range spoiled {
				if len(evidencetest.Read(t, dir, file)) == 0 {
					continue
				}
				at := -1
				if file == "receipt.xml" { // a digit of the MessageId
					at = strings.Index(evidencetest.Read(t, dir, file), m.MessageID)
				}
				evidencetest.Flip(t, filepath.Join(dir, file), at)
				if unchecked := strings.HasPrefix(file, "part-") && strings.Contains(name, "as they are"); len(failing(t, dir)) == 0 && !unchecked {
					t.Errorf("all is well with a changed bit in %s", file)
				}
				evidencetest.Flip(t, filepath.Join(dir, file), at)
			}
		})
	}
}

// TestEvidenceSaysWhatIsMissing: retention and refusals are no errors, and what is
// there still verifies.
func TestEvidenceSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		spoil  func(h *house, m *queue.Message, a []queue.Attempt)
		says   string
		absent []string
	}{
		"document gone": {func(h *house, m *queue.Message, _ []queue.Attempt) {
			if _, err := h.spool.Remove(spool.Payload, time.Time{}, m.Payload.SHA256); err != nil {
				h.t.Fatal(err)
			}
		}, "not kept any more (retention)", []string{"payload-1.gz", "messaging.xml"}},
		"document damaged": {func(_ *house, m *queue.Message, _ []queue.Attempt) { m.Payload.Size++ }, "damaged", []string{"payload-1.gz"}},
		"no receipt": {func(_ *house, _ *queue.Message, a []queue.Attempt) { a[0].Raw, a[0].Ack = "", nil }, "No receipt is on file",
			[]string{"receipt.http", "receipt.xml"}},
		"receipt gone": {func(h *house, _ *queue.Message, a []queue.Attempt) {
			if _, err := h.spool.Remove(spool.Receipt, time.Time{}, a[0].Raw); err != nil {
				h.t.Fatal(err)
			}
		}, "The receipt of attempt 1 is not kept", []string{"receipt.http", "receipt.xml"}},
		"a page": {func(h *house, _ *queue.Message, a []queue.Attempt) {
			a[0].Raw = h.keep(http.Header{"Content-Type": {"text/html"}}, []byte("<html>maintenance</html>"))
		}, "What was answered is no SOAP message", []string{"receipt.xml"}},
		"receipt unsigned": {func(h *house, m *queue.Message, a []queue.Attempt) {
			p, err := h.north.settings.Load().ReceivingPMode("acme", h.now())
			if err != nil {
				h.t.Fatal(err)
			}
			p.Receive.Receipt.Signed = false
			u := *recordOf(h.t, h.builds[0]).User
			answer, err := as4.NewReceipt(p, "r@northwind.example", &u, u.Element(), nil, h.now())
			if err != nil {
				h.t.Fatal(err)
			}
			a[0].Raw = h.keep(http.Header{"Content-Type": {answer.ContentType}}, answer.Body)
		}, "The receipt is not signed", nil},
		"nothing sent": {func(h *house, _ *queue.Message, a []queue.Attempt) { a[0].Raw, h.builds = "", nil }, "Nothing was sent", []string{"payload-1.gz"}},
		"header not kept": {func(h *house, _ *queue.Message, _ []queue.Attempt) {
			h.builds[0].Record = []byte(strings.Replace(string(h.builds[0].Record), `"user"`, `"was"`, 1))
		}, "cannot be made again", []string{"payload-1.gz"}},
		"another protocol": {func(h *house, _ *queue.Message, _ []queue.Attempt) { h.builds[0].Record = []byte("[]") }, "cannot be read back", []string{"payload-1.gz"}},
		"partner gone":     {func(_ *house, m *queue.Message, _ []queue.Attempt) { m.Partner = "nobody" }, "settings of partner nobody are gone", []string{"own-sign.pem"}},
		"other bytes": {func(h *house, _ *queue.Message, _ []queue.Attempt) {
			h.builds[0].Record = []byte(strings.Replace(string(h.builds[0].Record), `"Deliver"`, `"Other"`, 1))
			h.builds[0].Record = []byte(strings.Replace(string(h.builds[0].Record), ebms.DefaultAction, ebms.DefaultAction+"x", 1))
		}, "messaging.xml has the digest", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			m, attempts := h.delivered(h.accept(order))
			test.spoil(h, &m, attempts)
			dir, names := h.unzipped(m, attempts)
			evidencetest.Tells(t, dir, names, test.says, test.absent)
			if failed := failing(t, dir); len(failed) > 0 {
				t.Errorf("what is there fails: %q", failed)
			}
		})
	}
}

// TestEvidenceTellsTheFacts, and no secrets.
func TestEvidenceTellsTheFacts(t *testing.T) {
	t.Parallel()
	h := newHouse(t, `service: {value: Orders, type: "urn:example:services"}`, "action: Deliver")
	h.acme.write("secrets/northwind", "s3cret-passw0rd")
	h.north.configure("receive: {collaboration: any}")
	m, attempts := h.delivered(h.accept(order))
	dir, names := h.unzipped(m, attempts)
	readme := evidencetest.Read(t, dir, "README.txt")
	for _, want := range []string{
		"Message-ID:          01jdocument@edi.acme.example\n", "From:                urn:example:ids:acme as http://docs.oasis-open.org/", "Service:             Orders (urn:example:services)\n",
		"Action:              Deliver\n", "Digest expected:     ", ", sha256, of cid:part1-", "Digest received:     ", "Receipt of:          attempt 1,", "Verdict:             trusted\n",
		"It is about:         01jdocument@edi.acme.example\n", "Signer:              partner-verify-1.pem, serial", "receipt trusted: receipt\n",
	} {
		if !strings.Contains(readme, want) {
			t.Errorf("README.txt lacks %q", want)
		}
	}
	if t.Failed() {
		t.Log(readme)
	}
	if settings := evidencetest.Read(t, dir, "settings.txt"); !strings.Contains(settings, "are those that the message was built with") || !strings.Contains(settings, "as4.action: Deliver  (partner)") {
		t.Errorf("settings.txt:\n%s", settings)
	}
	for _, name := range names {
		if strings.Contains(evidencetest.Read(t, dir, name), "PRIVATE KEY") {
			t.Errorf("%s holds a key", name)
		}
	}
}

// TestEvidenceOfARefusal holds the error that the partner signed.
func TestEvidenceOfARefusal(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "action: Unheard")
	m := h.accept(order)
	o, raw := h.attempt(m)
	if o.Ack == nil || o.Ack.Positive || raw == "" {
		t.Fatalf("%+v", o)
	}
	dir, _ := h.unzipped(m, []queue.Attempt{noted(h, o, raw)})
	if readme := evidencetest.Read(t, dir, "README.txt"); !strings.Contains(readme, "Error:               EBMS:0001 ValueNotRecognized failure") {
		t.Errorf("README.txt:\n%s", readme)
	}
	if failed := failing(t, dir); len(failed) > 0 || len(evidencetest.Commands(t, dir)) < 2 {
		t.Errorf("fails %q of\n%s", failed, evidencetest.Read(t, dir, "VERIFY.txt"))
	}
}

// TestEvidenceOutlivesTheSettings: the partner's certificate was taken off the
// file since, and everything was agreed anew; the receipt is about the build of
// that time.
func TestEvidenceOutlivesTheSettings(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	m, attempts := h.delivered(h.accept(order))
	h.acme.configure("compress: none", "action: Another")
	h.acme.write("keys/northwind.pem", string(testpki.SelfSigned(t, testpki.RSA(t, 2), "next.northwind.example", testpki.Valid()).CertPEM()))
	h.acme.load()
	dir, names := h.unzipped(m, attempts)
	if failed := failing(t, dir); len(failed) > 0 || !slices.Contains(names, "partner-verify-2.pem") || !slices.Contains(names, "payload-1.gz") {
		t.Errorf("files %v; fails %q", names, failed)
	}
	if text := evidencetest.Read(t, dir, "VERIFY.txt"); !strings.Contains(text, "--pubkey-cert-pem partner-verify-2.pem") {
		t.Errorf("verified with another certificate:\n%s", text)
	}
	if !strings.Contains(evidencetest.Read(t, dir, "settings.txt"), "were others when") {
		t.Error("other settings than those of the build are not told")
	}
	attempts[0].Ack.Signer = "00:11"
	if dir, _ = h.unzipped(m, attempts); !strings.Contains(evidencetest.Read(t, dir, "VERIFY.txt"), "no signature of the partner") {
		t.Error("a certificate that only the receipt vouches for is taken for the partner's")
	}
}

// TestEvidenceTakesTheBuildOfTheReceipt, not the newest.
func TestEvidenceTakesTheBuildOfTheReceipt(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	m, attempts := h.delivered(h.accept(order))
	h.acme.configure("compress: none")
	if b, fresh := h.prepare(m); !fresh || b.N != 2 {
		t.Fatalf("build %d", b.N)
	}
	dir, names := h.unzipped(m, attempts)
	if failed := failing(t, dir); len(failed) > 0 || !slices.Contains(names, "payload-1.gz") {
		t.Errorf("files %v; fails %q", names, failed)
	}
}

// TestEvidenceIsStreamed: documents are larger than memory.
func TestEvidenceIsStreamed(t *testing.T) {
	h := newHouse(t)
	m := h.accept(make([]byte, 64<<20))
	h.prepare(m)
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := h.sender.Evidence(t.Context(), io.Discard, m, nil, h.builds); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 16<<20 {
		t.Errorf("evidence of 64 MiB allocates %d bytes", grown)
	}
}

func TestEvidenceEndsWithItsReader(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	m, attempts := h.delivered(h.accept(order))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := h.sender.Evidence(ctx, io.Discard, m, attempts, h.builds); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of ctx: %v", err)
	}
	gone := errors.New("connection reset")
	r, w := io.Pipe()
	r.CloseWithError(gone)
	if err := h.sender.Evidence(t.Context(), w, m, attempts, h.builds); !errors.Is(err, gone) {
		t.Errorf("after the end of the connection: %v", err)
	}
}

// TestEvidenceOfANetwork: the receipt is signed by whom an authority vouches for,
// and the document went out in a wrapper; the wrapped one is a file of its own.
func TestEvidenceOfANetwork(t *testing.T) {
	t.Parallel()
	p := newPeppol(t)
	m, attempts := p.delivered(p.acceptAs(ublInvoice(t), "application/xml", "invoice.xml"))
	dir, names := p.unzipped(m, attempts)
	for _, want := range []string{"partner-verify-1.pem", "document.bin", "part-1.bin", "payload-1.gz"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is missing of %v", want, names)
		}
	}
	if failed := failing(t, dir); len(failed) > 0 || !strings.Contains(evidencetest.Read(t, dir, "VERIFY.txt"), "xmlsec1 --verify") {
		t.Errorf("fails %q of\n%s\n%s", failed, evidencetest.Read(t, dir, "VERIFY.txt"), evidencetest.Read(t, dir, "README.txt"))
	}
	if evidencetest.Read(t, dir, "part-1.bin") != string(p.north.contents[0]) || evidencetest.Read(t, dir, "document.bin") != string(ublInvoice(t)) {
		t.Error("part-1.bin is not what arrived, or document.bin not what was handed in")
	}
}

// TestEvidenceOfAnotherReceiptFails: one that names another digest, or is signed by
// somebody else.
func TestEvidenceOfAnotherReceiptFails(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	m, attempts := h.delivered(h.accept(order))
	dir, _ := h.unzipped(m, attempts)
	at := strings.Index(evidencetest.Read(t, dir, "receipt.xml"), base64.StdEncoding.EncodeToString(recordOf(t, h.builds[0]).References[2].Value))
	evidencetest.Flip(t, filepath.Join(dir, "receipt.xml"), at)
	if failed := failing(t, dir); len(failed) != 2 || !strings.HasPrefix(failed[0], "xmlsec1") || !strings.HasPrefix(failed[1], "grep") {
		t.Errorf("with another digest: %q", failed)
	}
	evidencetest.Flip(t, filepath.Join(dir, "receipt.xml"), at)
	other := testpki.SelfSigned(t, testpki.RSA(t, 2), "northwind.example", testpki.Valid())
	if err := os.WriteFile(filepath.Join(dir, "partner-verify-1.pem"), other.CertPEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	if failed := failing(t, dir); len(failed) != 2 {
		t.Errorf("with another certificate: %q", failed)
	}
}
