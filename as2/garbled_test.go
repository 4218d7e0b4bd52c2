package as2

import (
	"bytes"
	"crypto"
	"crypto/sha256"
	"encoding/asn1"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"edigw/as2/smime"
)

// TestOneAnswerToGarbledContent: whoever changes a message that he took off the
// line must not learn whether its padding was right, whatever is wrong inside.
func TestOneAnswerToGarbledContent(t *testing.T) {
	t.Parallel()
	plain := toNorthwind()
	plain.Encrypt = ""
	inner := func(change func(*Agreement)) []byte {
		a := plain
		change(&a)
		return asEntity(mustBuild(t, a, []byte("ISA~")))
	}
	detached := inner(func(*Agreement) {})
	unsigned := inner(func(a *Agreement) { a.Sign = 0 })
	over := inner(func(a *Agreement) { a.Compress = CompressAfterSign })
	opaque := []byte("Content-Type: application/pkcs7-mime; smime-type=signed-data\r\n\r\n" + opaqueByHand(t, unsigned))
	garbage := strings.Repeat("\x00\x9c", 9)
	edit := func(b []byte, old, now string) []byte { return bytes.Replace(b, []byte(old), []byte(now), 1) }
	for name, tc := range map[string]struct {
		content []byte
		want    string
	}{
		"detached":                        {detached, "processed"},
		"detached, blank lines behind":    {append(bytes.Clone(detached), " \t\r\n\r\n"...), "processed"},
		"opaque":                          {opaque, "processed"},
		"signed, then compressed":         {over, "processed"},
		"whole, but changed":              {edit(detached, "ISA~", "ISB~"), "processed/error: integrity-check-failed"},
		"detached, garbage behind":        {append(bytes.Clone(detached), garbage...), ""},
		"detached, cut in the header":     {detached[:40], ""},
		"detached, no part":               {detached[:bytes.Index(detached, []byte("\r\n\r\n"))+4], ""},
		"detached, cut in the document":   {detached[:bytes.Index(detached, []byte("ISA~"))], ""},
		"detached, cut in the signature":  {detached[:len(detached)-200], ""},
		"detached, its end cut":           {detached[:len(detached)-6], ""},
		"detached, no type any more":      {edit(detached, "Content-Type", "X-ntent-Type"), ""},
		"opaque, garbage behind":          {append(bytes.Clone(opaque), garbage...), ""},
		"opaque, cut":                     {opaque[:len(opaque)-30], ""},
		"compressed, garbage behind":      {append(bytes.Clone(over), garbage...), ""},
		"compressed, cut":                 {over[:len(over)-30], ""},
		"compressed, not that":            {append([]byte("Content-Type: application/pkcs7-mime; smime-type=compressed-data\r\n\r\n"), garbage...), ""},
		"unsigned":                        {unsigned, ""},
		"unsigned multipart without end":  {[]byte("Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n"), ""},
		"unsigned multiparts too deep":    {[]byte(nested(maxNesting + 1)), ""},
		"no MIME":                         {[]byte(garbage), ""},
		"nothing":                         {nil, ""},
		"encrypted once more, and broken": {[]byte("Content-Type: application/pkcs7-mime; smime-type=enveloped-data\r\n\r\n" + garbage), ""},
	} {
		if tc.want == "" {
			tc.want = "processed/error: decryption-failed"
		}
		a := toNorthwind()
		a.Encrypt = smime.AES256CBC
		m := &memory{agreement: fromAcme()}
		h := testHandler(t, m)
		for range plainWords { // what may be told was told
			h.plain.take([2]string{a.From, a.To}, testNow)
		}
		_, state := dispositionOf(t, serve(h, encryptedRequest(t, a, tc.content)))
		if state != tc.want {
			got, _ := m.last(t)
			t.Errorf("%s: answered %q, want %q (%s)", name, state, tc.want, got.Problem)
		}
	}
	// What a tag holds together nobody changed: it is told exactly.
	for name, want := range map[string]string{string(unsigned): "insufficient-message-security", string(detached[:len(detached)-200]): "integrity-check-failed"} {
		a := toNorthwind()
		a.Encrypt = smime.AES128GCM
		if _, state := dispositionOf(t, serve(testHandler(t, &memory{agreement: fromAcme()}), encryptedRequest(t, a, []byte(name)))); state != "processed/error: "+want {
			t.Errorf("authenticated content: answered %q, want %s", state, want)
		}
	}
}

// TestPlainWordsAreFew: whoever forgot to sign is told so; whoever asks again
// and again is told what everybody is told.
func TestPlainWordsAreFew(t *testing.T) {
	t.Parallel()
	a := toNorthwind()
	a.Sign = 0
	now := testNow
	m := &memory{agreement: fromAcme()}
	h := testHandler(t, m)
	h.o.Now = func() time.Time { return now }
	told := func() string {
		r, wire := mustBuild(t, a, []byte("ISA~"))
		_, state := dispositionOf(t, serve(h, wireRequest(t, r, wire)))
		return strings.TrimPrefix(state, "processed/error: ")
	}
	for n := range plainWords + 2 {
		want := insufficientSecurity
		if n >= plainWords {
			want = decryptionFailed
		}
		if got := told(); got != want {
			t.Errorf("message %d: told %s, want %s", n+1, got, want)
		}
	}
	if now = now.Add(plainWordsSpan); told() != insufficientSecurity {
		t.Error("an hour later it is not told any more")
	}
	var bound allowance
	for n := range maxPlainPairs + 10 {
		if got := bound.take([2]string{fmt.Sprint(n)}, now); got != (n < maxPlainPairs) {
			t.Fatalf("pair %d: %t", n, got)
		}
	}
	if !bound.take([2]string{"later"}, now.Add(plainWordsSpan)) {
		t.Error("old pairs are not forgotten")
	}
}

// asEntity is a message that is not encrypted as it would stand within.
func asEntity(r Rendition, wire []byte) []byte {
	var b bytes.Buffer
	for _, f := range r.Headers {
		if strings.HasPrefix(f.Name, "Content-") && f.Name != "Content-Length" {
			b.WriteString(f.Name + ": " + f.Value + "\r\n")
		}
	}
	b.WriteString("\r\n")
	b.Write(wire)
	return b.Bytes()
}

// nested is so many multiparts in one another.
func nested(depth int) string {
	if depth == 0 {
		return "\r\nISA~"
	}
	b := strings.Repeat("b", depth)
	return "Content-Type: multipart/mixed; boundary=" + b + "\r\n\r\n--" + b + "\r\n" + nested(depth-1) + "\r\n--" + b + "--\r\n"
}

// encryptedRequest is a message that holds exactly these bytes.
func encryptedRequest(t *testing.T, a Agreement, content []byte) *http.Request {
	t.Helper()
	var wire bytes.Buffer
	enc, err := smime.NewEncrypter(&wire, int64(len(content)), a.encryption())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := enc.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := enc.Close(); err != nil {
		t.Fatal(err)
	}
	r, _ := mustBuild(t, a, []byte("ISA~"))
	return wireRequest(t, r, wire.Bytes())
}

// opaqueByHand signs content and puts it into the signature, in BER.
func opaqueByHand(t *testing.T, content []byte) string {
	t.Helper()
	sum := sha256.Sum256(content)
	detached, err := smime.SignDetached(sum[:], smime.SignOptions{Key: acme().key, Certificate: acme().cert, Hash: crypto.SHA256, Time: testNow})
	if err != nil {
		t.Fatal(err)
	}
	var info struct {
		Type   asn1.ObjectIdentifier
		Signed struct {
			Version          int
			Digests, Content asn1.RawValue
			Certificates     asn1.RawValue `asn1:"tag:0"`
			Signers          asn1.RawValue
		} `asn1:"explicit,tag:0"`
	}
	if _, err := asn1.Unmarshal(detached, &info); err != nil {
		t.Fatal(err)
	}
	octets, err := asn1.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	s := info.Signed
	kind, _ := asn1.Marshal(info.Type)
	return "\x30\x80" + string(kind) + "\xa0\x80\x30\x80\x02\x01\x01" + string(s.Digests.FullBytes) +
		"\x30\x80" + string(s.Content.Bytes) + "\xa0\x80" + string(octets) + "\x00\x00\x00\x00" +
		string(s.Certificates.FullBytes) + string(s.Signers.FullBytes) + "\x00\x00\x00\x00\x00\x00"
}
