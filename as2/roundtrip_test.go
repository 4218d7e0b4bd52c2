package as2

import (
	"bytes"
	"crypto"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"edigw/as2/smime"
	"edigw/fault"
)

// TestRoundTrip sends every kind of content through every combination of
// layers into the product's own receiver and verifies the MDN that comes back.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for _, sign := range []crypto.Hash{0, crypto.SHA1, crypto.SHA256, crypto.SHA384, crypto.SHA512} {
		for _, cipher := range []smime.Cipher{"none", smime.TripleDES, smime.AES128CBC, smime.AES192CBC, smime.AES256CBC} {
			for _, compress := range []Compression{CompressNone, CompressBeforeSign, CompressAfterSign} {
				for _, encoding := range []TransferEncoding{Binary, Base64} {
					a := toNorthwind()
					a.Sign, a.Encrypt, a.Compress, a.TransferEncoding = sign, cipher, compress, encoding
					name := fmt.Sprintf("sign=%s,encrypt=%s,compress=%s,%s", smime.HashName(sign), cipher, compress, encoding)
					t.Run(name, func(t *testing.T) {
						t.Parallel()
						roundTrip(t, a)
					})
				}
			}
		}
	}
}

func roundTrip(t *testing.T, a Agreement) {
	for name, content := range contents() {
		m := &memory{agreement: fromAcme()}
		m.agreement.Receive = Receive{Signed: a.Sign != 0, Encrypted: encrypts(a), Digest: crypto.SHA1}
		r, wire := mustBuild(t, a, content)
		checkRendition(t, r, wire)
		res := serve(testHandler(t, m), wireRequest(t, r, wire))
		body := readBody(t, res)
		ack, mdn := VerifyMDN(res.Header, body, []Rendition{r}, a)
		if ack.Verdict != fault.AckTrusted || !ack.Positive || ack.Signer != smime.Fingerprint(northwind().cert) {
			t.Fatalf("%s: verdict %q, positive %t: %s", name, ack.Verdict, ack.Positive, mdn.Problem)
		}
		if !mdn.MIC.Equal(r.MICs[0]) {
			t.Errorf("%s: MIC %s, want the first of %v", name, mdn.MIC, r.MICs)
		}
		got, payload := m.last(t)
		if !bytes.Equal(payload, content) || got.Size != int64(len(content)) {
			t.Errorf("%s: %d bytes arrived, want the %d that were sent", name, len(payload), len(content))
		}
		if got.Signed != (a.Sign != 0) || got.Encrypted != encrypts(a) || got.Compressed != compresses(a) {
			t.Errorf("%s: found signed %t, encrypted %t, compressed %t", name, got.Signed, got.Encrypted, got.Compressed)
		}
		if got.FileName != "order.edi" || got.ContentType != "application/edi-x12" {
			t.Errorf("%s: file %q of type %q", name, got.FileName, got.ContentType)
		}
		checkEntity(t, r, content)
	}
}

// checkRendition holds a rendition against the wire bytes.
func checkRendition(t *testing.T, r Rendition, wire []byte) {
	t.Helper()
	sum := sha256.Sum256(wire)
	if r.Size != int64(len(wire)) || r.SHA256 != hex.EncodeToString(sum[:]) {
		t.Errorf("rendition says %d bytes, %s; wire has %d", r.Size, r.SHA256, len(wire))
	}
	stored, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var again Rendition
	if err := json.Unmarshal(stored, &again); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r, again); diff != "" {
		t.Errorf("rendition changes in the store (-built +read):\n%s", diff)
	}
}

// checkEntity writes the entity that the MIC covers again and digests it.
func checkEntity(t *testing.T, r Rendition, content []byte) {
	t.Helper()
	h, _ := smime.HashByName(r.MICs[0].Algorithm)
	sums := newDigester(h)
	if err := r.Entity.Write(sums, bytes.NewReader(content), int64(len(content))); err != nil {
		t.Fatal(err)
	}
	if got := newMIC(h, sums.sum(h)); got != r.MICs[0] {
		t.Errorf("entity of evidence has MIC %s, sent was %s", got, r.MICs[0])
	}
}

// TestOneFlippedByteFails changes each byte of a signed message, and of a signed
// MDN, in turn (every 7th, to save time): nothing that was covered may pass.
func TestOneFlippedByteFails(t *testing.T) {
	t.Parallel()
	a := toNorthwind()
	a.Encrypt = ""
	content := []byte("ISA*00*GOOD~\r\n")
	r, wire := mustBuild(t, a, content)
	m := &memory{agreement: fromAcme()}
	m.agreement.Receive = Receive{Signed: true}
	h := testHandler(t, m)
	start := bytes.Index(wire, []byte("Content-Type"))
	end := bytes.Index(wire, []byte("GOOD")) + len("GOOD~\r\n")
	for i := start; i < end; i += 7 {
		bad := bytes.Clone(wire)
		bad[i] ^= 1
		serve(h, wireRequest(t, r, bad))
		for _, got := range m.received {
			if got.Accepted {
				t.Fatalf("byte %d changed, message accepted", i)
			}
		}
	}
	res := serve(h, wireRequest(t, r, wire))
	body := readBody(t, res)
	if ack, mdn := VerifyMDN(res.Header, body, []Rendition{r}, a); ack.Verdict != fault.AckTrusted {
		t.Fatalf("unchanged MDN: %s %s", ack.Verdict, mdn.Problem)
	}
	part := bytes.Index(body, []byte("Content-Type"))
	last := bytes.Index(body, []byte("application/pkcs7-signature"))
	for i := part; i < last-80; i += 7 {
		bad := bytes.Clone(body)
		bad[i] ^= 1
		if ack, _ := VerifyMDN(res.Header, bad, []Rendition{r}, a); ack.Verdict == fault.AckTrusted {
			t.Errorf("byte %d of the MDN changed (%q), still trusted", i, body[i])
		}
	}
}

// TestReceiptFitsAnySentBuild: a build that was sent earlier is as good as the
// last.
func TestReceiptFitsAnySentBuild(t *testing.T) {
	t.Parallel()
	a := toNorthwind()
	first, wire := mustBuild(t, a, []byte("one"))
	changed := a
	changed.Sign = crypto.SHA512
	second, _ := mustBuild(t, changed, []byte("one"))
	m := &memory{agreement: fromAcme()}
	res := serve(testHandler(t, m), wireRequest(t, first, wire))
	body := readBody(t, res)
	for _, tc := range []struct {
		sent []Rendition
		want fault.AckVerdict
	}{
		{[]Rendition{first, second}, fault.AckTrusted},
		{[]Rendition{second}, fault.AckTrusted}, // the asked SHA-256 is over the same part
		{nil, fault.AckOtherMessage},
	} {
		if ack, mdn := VerifyMDN(res.Header, body, tc.sent, a); ack.Verdict != tc.want {
			t.Errorf("%d builds: got %q, want %q: %s", len(tc.sent), ack.Verdict, tc.want, mdn.Problem)
		}
	}
}

// TestPlainMessageWithoutReceipt: nothing asked, nothing answered.
func TestPlainMessageWithoutReceipt(t *testing.T) {
	t.Parallel()
	a := toNorthwind()
	a.Sign, a.Encrypt, a.MDN = 0, "", MDNRequest{Mode: MDNNone}
	r, wire := mustBuild(t, a, []byte("ISA~"))
	if r.Ack != fault.AckNotAsked {
		t.Errorf("Ack = %q", r.Ack)
	}
	m := &memory{agreement: fromAcme()}
	m.agreement.Receive = Receive{}
	res := serve(testHandler(t, m), wireRequest(t, r, wire))
	if body := readBody(t, res); res.StatusCode != http.StatusOK || len(body) != 0 {
		t.Errorf("got %d with %d bytes, want 200 with none", res.StatusCode, len(body))
	}
	m = &memory{agreement: m.agreement}
	m.agreement.Receive = Receive{Signed: true}
	if res := serve(testHandler(t, m), wireRequest(t, r, wire)); res.StatusCode != http.StatusForbidden {
		t.Errorf("refused message without an MDN answered %d, want 403", res.StatusCode)
	}
}
