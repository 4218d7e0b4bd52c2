package as2sender

import (
	"bytes"
	"context"
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
	"edigw/fault"
	"edigw/internal/testpki"
	"edigw/lane/evidence"
	"edigw/lane/evidence/evidencetest"
	"edigw/lane/wire/wiretest"
	"edigw/queue"
	"edigw/retry"
	"edigw/store/spool"
)

// unzipped writes the evidence of a message and unpacks it.
func (h *house) unzipped(m queue.Message) (dir string, names []string) {
	h.t.Helper()
	return evidencetest.Unzip(h.t, func(w io.Writer) error {
		return h.sender.Evidence(h.t.Context(), w, m, h.attempts, h.builds)
	})
}

func readFile(t *testing.T, elem ...string) string { return evidencetest.Read(t, elem...) }

// check runs the commands of VERIFY.txt and gives those that fail.
func check(t *testing.T, dir string) []string {
	t.Helper()
	return evidencetest.Failing(t, dir, "openssl")
}

func delivered(m queue.Message) queue.Message {
	m.State, m.Proof, m.Finished = queue.Delivered, queue.ProofReceipt, m.Accepted.Add(time.Second)
	return m
}

var wholeEvidence = []string{
	"README.txt", "VERIFY.txt", "entity.bin", "own-sign.pem", "partner-verify-1.pem",
	"receipt-signature.p7s", "receipt-signed-part.bin", "receipt.http", "settings.txt",
}

// TestRow77StrangerCanVerifyWithOpenSSL runs the very commands of VERIFY.txt, and
// again after one bit of each file was changed.
func TestRow77StrangerCanVerifyWithOpenSSL(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name     string
		settings []string
		content  []byte
		commands int
		more     []string // files
		header   string   // with which the entity begins; empty: the content alone
	}{
		{"signed and encrypted", nil, invoice, 5, nil, "Content-Type: application/edi-x12"},
		{"SHA-1", []string{"sign: sha1", "mdn: {algorithm: sha1}"}, invoice, 5, nil, "Content-Type:"},
		{"SHA-512", []string{"sign: sha512", "mdn: {algorithm: sha512}"}, invoice, 5, nil, "Content-Type:"},
		{"compressed before it was signed", []string{"compress: before-sign"}, invoice, 5, []string{"document.bin"}, "Content-Type: application/pkcs7-mime"},
		{"compressed after", []string{"compress: after-sign"}, invoice, 5, nil, "Content-Type: application/edi-x12"},
		{"base64", []string{"transfer_encoding: base64"}, invoice, 5, []string{"document.bin"}, "Content-Type: application/edi-x12"},
		{"encrypted only", []string{"sign: none"}, invoice, 5, nil, "Content-Type: application/edi-x12"},
		{"plain", []string{"sign: none", "encrypt: none"}, invoice, 5, nil, ""},
		{"plain base64", []string{"sign: none", "encrypt: none", "transfer_encoding: base64"}, invoice, 5, nil, ""},
		{"a large binary", nil, bytes.Repeat([]byte{0, '\n', 0xff, '\r'}, 100_000), 5, nil, "Content-Type:"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t, test.settings...)
			m := h.accept(test.content)
			if o, _ := h.attempt(m); o.Ack == nil || o.Ack.Verdict != fault.AckTrusted || !o.Ack.Positive {
				t.Fatalf("not delivered: %+v", o)
			}
			dir, names := h.unzipped(delivered(m))
			want := slices.Sorted(slices.Values(append(slices.Clone(wholeEvidence), test.more...)))
			if diff := cmp.Diff(want, names); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
			entity := readFile(t, dir, "entity.bin")
			if !strings.HasPrefix(entity, test.header) || test.header == "" && entity != string(test.content) {
				t.Errorf("entity %.80q", entity)
			}
			if strings.Contains(readFile(t, dir, "README.txt"), "Missing") {
				t.Errorf("something is missing:\n%s", readFile(t, dir, "README.txt"))
			}
			if n := len(evidencetest.Commands(t, dir)); n != test.commands {
				t.Errorf("%d commands, want %d", n, test.commands)
			}
			if failed := check(t, dir); len(failed) > 0 {
				t.Fatalf("fails:\n%s", strings.Join(failed, "\n"))
			}
			for _, file := range append([]string{"entity.bin", "receipt-signed-part.bin", "receipt-signature.p7s"}, test.more...) {
				for _, at := range []int{0, -1} {
					if file == "receipt-signature.p7s" && at == 0 {
						continue // no signature at all then
					}
					evidencetest.Flip(t, filepath.Join(dir, file), at)
					if failed := check(t, dir); len(failed) == 0 {
						t.Errorf("all is well with a changed bit in %s", file)
					}
					evidencetest.Flip(t, filepath.Join(dir, file), at)
				}
			}
		})
	}
}

func TestEvidenceOfAnotherCertificateFails(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	m := h.accept(invoice)
	h.attempt(m)
	dir, _ := h.unzipped(delivered(m))
	other := testpki.SelfSigned(t, testpki.RSA(t, 1), "northwind.example", testpki.Valid())
	if err := os.WriteFile(filepath.Join(dir, "partner-verify-1.pem"), other.CertPEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	if failed := check(t, dir); len(failed) != 2 {
		t.Errorf("with another certificate: %q", failed)
	}
}

// TestEvidenceHoldsNoSecrets: it is given to strangers.
func TestEvidenceHoldsNoSecrets(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "mdn: {mode: async}")
	m := h.accept(invoice)
	h.attempt(m)
	answer, b := h.partner.owed[0], h.builds[0]
	receipt := receiptOf(answer, b.Token)
	receipt.Header.Set("Set-Cookie", "session=c00kie")
	raw := h.keep(receipt)
	o := h.sender.Judge(t.Context(), m, h.builds, raw)
	h.note(queue.Attempt{Build: 1, Async: true, Phase: o.Phase, Class: retry.Success, Ack: o.Ack, Raw: raw})
	dir, names := h.unzipped(delivered(m))
	for _, name := range names {
		text := readFile(t, dir, name)
		for what, secret := range map[string]string{"the token": b.Token, "the password": "s3cret-passw0rd", "a cookie": "c00kie", "a key": "PRIVATE KEY"} {
			if strings.Contains(text, secret) {
				t.Errorf("%s holds %s", name, what)
			}
		}
	}
	if failed := check(t, dir); len(failed) > 0 || !slices.Equal(names, wholeEvidence) {
		t.Errorf("files %v; fails %q", names, failed)
	}
}

func TestReadmeAndSettingsTellTheFacts(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	m := delivered(h.accept(invoice))
	h.note(queue.Attempt{Build: 1, Phase: fault.PhaseConnect, Cause: fault.CauseRefused, Class: retry.Transient, Detail: "refused\nMessage-ID: forged"})
	h.attempt(m)
	dir, _ := h.unzipped(m)
	readme := readFile(t, dir, "README.txt")
	mic := record(t, h.builds[0]).MICs[0]
	for _, want := range []string{
		"Message-ID:          <01jdocument@edi.acme.example>\n", "Key:                 INV-20931\n", "Partner:             northwind\n",
		"ACME-AS2, NORTHWIND\n", "SHA-256 " + m.Payload.SHA256 + "\n", "invoice 20931\n", "Proof:               receipt\n",
		"Accepted:            " + evidence.Instant(m.Accepted) + "\n", "Delivered:           " + evidence.Instant(m.Finished) + "\n",
		"Digest expected:     " + mic.String() + "\n", "Digest received:     " + mic.Value, "automatic-action/MDN-sent-automatically; processed\n",
		"Receipt of:          attempt 2,", "transient, reached connect, refused: refused Message-ID: forged\n", "success, reached done, HTTP 200, receipt trusted:",
	} {
		if !strings.Contains(readme, want) {
			t.Errorf("README.txt lacks %q", want)
		}
	}
	if t.Failed() {
		t.Log(readme)
	}
	settings := readFile(t, dir, "settings.txt")
	for _, want := range []string{"are those that the message was built with", "as2.sign: sha256  (built in)", "as2.id: NORTHWIND  (partner)", "auth.basic.password_file: <secret> in ../secrets/northwind"} {
		if !strings.Contains(settings, want) {
			t.Errorf("settings.txt lacks %q:\n%s", want, settings)
		}
	}
	h.configure("sign: sha384")
	if dir, _ = h.unzipped(m); !strings.Contains(readFile(t, dir, "settings.txt"), "were others when") {
		t.Error("other settings than those of the build are not told")
	}
	if failed := check(t, dir); len(failed) > 0 {
		t.Errorf("fails after a change of settings: %q", failed)
	}
}

// TestWhatIsMissingIsSaid: retention and refusals are no errors.
func TestWhatIsMissingIsSaid(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		spoil  func(h *house, m *queue.Message)
		says   string
		absent []string
	}{
		{"document gone", func(h *house, m *queue.Message) {
			if _, err := h.spool.Remove(spool.Payload, time.Time{}, m.Payload.SHA256); err != nil {
				h.t.Fatal(err)
			}
		}, "not kept any more (retention), so entity.bin", []string{"entity.bin"}},
		{"document damaged", func(_ *house, m *queue.Message) { m.Payload.Size++ }, "damaged", []string{"entity.bin"}},
		{"no receipt", func(h *house, _ *queue.Message) { h.attempts[0].Raw, h.attempts[0].Ack = "", nil }, "No receipt is on file",
			[]string{"receipt.http", "receipt-signature.p7s", "receipt-signed-part.bin"}},
		{"receipt gone", func(h *house, _ *queue.Message) {
			if _, err := h.spool.Remove(spool.Receipt, time.Time{}, h.attempts[0].Raw); err != nil {
				h.t.Fatal(err)
			}
		}, "The receipt of attempt 1 is not kept", []string{"receipt.http", "receipt-signature.p7s"}},
		{"receipt damaged", func(h *house, _ *queue.Message) {
			w, err := h.spool.Create(spool.Receipt, 0)
			if err != nil {
				h.t.Fatal(err)
			}
			defer w.Abort()
			io.WriteString(w, "\x00\r\n")
			if h.attempts[0].Raw, _, err = w.Commit(); err != nil {
				h.t.Fatal(err)
			}
		}, "damaged", []string{"receipt.http", "receipt-signature.p7s"}},
		{"receipt unsigned", func(h *house, m *queue.Message) {
			h.attempts[0].Raw = h.keep(as2.Receipt{
				Header: http.Header{"Content-Type": {"message/disposition-notification"}},
				Body:   []byte("Original-Message-ID: " + m.MessageID + "\r\nDisposition: automatic-action/MDN-sent-automatically; processed\r\n"),
			})
		}, "The receipt is not signed", []string{"receipt-signature.p7s", "receipt-signed-part.bin"}},
		{"nothing sent", func(h *house, _ *queue.Message) { h.attempts, h.builds = nil, nil }, "Nothing was sent", []string{"entity.bin", "receipt.http"}},
		{"record of another protocol", func(h *house, _ *queue.Message) { h.builds[0].Record = []byte("[]") }, "cannot be read back", []string{"entity.bin"}},
		{"partner gone", func(_ *house, m *queue.Message) { m.Partner = "nobody" }, "settings of partner nobody are gone", []string{"own-sign.pem"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			m := delivered(h.accept(invoice))
			h.attempt(m)
			test.spoil(h, &m)
			dir, names := h.unzipped(m)
			evidencetest.Tells(t, dir, names, test.says, test.absent)
			if failed := check(t, dir); len(failed) > 0 {
				t.Errorf("what is there fails: %q", failed)
			}
		})
	}
}

// TestEvidenceTakesTheBuildOfTheReceipt, not the newest.
func TestEvidenceTakesTheBuildOfTheReceipt(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	m := h.accept(invoice)
	h.attempt(m)
	h.configure("compress: before-sign")
	if o, _ := h.attempt(m); o.Ack == nil || o.Ack.Verdict != fault.AckTrusted || len(h.builds) != 2 {
		t.Fatalf("%+v", o)
	}
	dir, names := h.unzipped(delivered(m))
	if failed := check(t, dir); len(failed) > 0 || slices.Contains(names, "document.bin") {
		t.Errorf("files %v; fails %q", names, failed)
	}
}

// TestEvidenceOutlivesTheSettings: the partner's certificate was taken off the
// file since; it is found in the receipt by its noted fingerprint.
func TestEvidenceOutlivesTheSettings(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	m := h.accept(invoice)
	h.attempt(m)
	h.write("keys/northwind.pem", string(testpki.SelfSigned(t, testpki.RSA(t, 2), "next.northwind.example", testpki.Valid()).CertPEM()))
	h.load()
	dir, names := h.unzipped(delivered(m))
	if failed := check(t, dir); len(failed) > 0 || !slices.Contains(names, "partner-verify-2.pem") {
		t.Errorf("files %v; fails %q", names, failed)
	}
	if text := readFile(t, dir, "VERIFY.txt"); !strings.Contains(text, "-certfile partner-verify-2.pem") {
		t.Errorf("verified with another certificate:\n%s", text)
	}
	h.attempts[0].Ack.Signer = "00:11"
	if dir, _ = h.unzipped(delivered(m)); !strings.Contains(readFile(t, dir, "VERIFY.txt"), "no signature of the partner") {
		t.Error("a certificate that only the receipt vouches for is taken for the partner's")
	}
}

// QUIRK(OpenAS2): digests the body alone of a message that is compressed and
// not signed; Build foresees it.
func TestEvidenceOfTheBodyAlone(t *testing.T) {
	t.Parallel()
	for _, settings := range [][]string{
		{"sign: none", "encrypt: none", "compress: before-sign"},
		{"sign: none", "encrypt: none", "compress: before-sign", "transfer_encoding: base64"},
	} {
		h := newHouse(t, settings...)
		m := h.accept(invoice)
		b, _ := h.prepare(m)
		r := record(t, b)
		h.builds[0].MessageID = m.MessageID
		var body bytes.Buffer
		if err := (as2.Entity{Encoding: r.Entity.Encoding}).Write(&body, bytes.NewReader(invoice), int64(len(invoice))); err != nil {
			t.Fatal(err)
		}
		raw := h.keep(h.partner.receiptFor(t, h, m.MessageID, body.Bytes()))
		o := h.sender.Judge(t.Context(), m, h.builds, raw)
		if o.Ack == nil || o.Ack.Verdict != fault.AckTrusted {
			t.Fatalf("%+v", o)
		}
		h.note(queue.Attempt{Build: 1, Phase: fault.PhaseDone, Ack: o.Ack, Raw: raw})
		dir, _ := h.unzipped(delivered(m))
		if failed := check(t, dir); len(failed) > 0 || readFile(t, dir, "entity.bin") != body.String() {
			t.Errorf("fails %q; entity %q", failed, readFile(t, dir, "entity.bin"))
		}
	}
}

// receiptFor has northwind receive a plain message and gives its receipt.
func (n *northwind) receiptFor(t *testing.T, h *house, id string, content []byte) as2.Receipt {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.server.URL+"/as2", bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"AS2-From": "ACME-AS2", "AS2-To": "NORTHWIND", "Message-ID": id, "Content-Type": "application/edi-x12", "Disposition-Notification-To": "x",
		"Disposition-Notification-Options": "signed-receipt-protocol=required, pkcs7-signature; signed-receipt-micalg=required, sha256",
	} {
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return as2.Receipt{Header: res.Header, Body: body}
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
	m := h.accept(invoice)
	h.attempt(m)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := h.sender.Evidence(ctx, io.Discard, m, h.attempts, h.builds); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of ctx: %v", err)
	}
	gone := errors.New("connection reset")
	r, w := io.Pipe()
	r.CloseWithError(gone)
	if err := h.sender.Evidence(t.Context(), w, m, h.attempts, h.builds); !errors.Is(err, gone) {
		t.Errorf("after the end of the connection: %v", err)
	}
}

// TestEvidenceSaysNothingOfWhatCannotBeReadNow: a store that does not answer
// says neither that a document is gone nor that it is damaged.
func TestEvidenceSaysNothingOfWhatCannotBeReadNow(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	c := wiretest.NewCabinet()
	h.Reopen(c)
	m := h.accept(invoice)
	h.attempt(m)
	for after := range 3 { // the receipt, the document, its size
		h.Reopen(c)
		c.Err, c.After = queue.ErrUnavailable, after
		if err := h.sender.Evidence(t.Context(), io.Discard, m, h.attempts, h.builds); !errors.Is(err, queue.ErrUnavailable) {
			t.Errorf("failing after %d reads: %v", after, err)
		}
	}
}
