package as2

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"edigw/as2/smime"
	"edigw/fault"
)

// TestRow86BuildRefusesBadSettings: each fault is named.
func TestRow86BuildRefusesBadSettings(t *testing.T) {
	t.Parallel()
	expired := newPair("old.example", acme().key, testNow.AddDate(-2, 0, 0), testNow.AddDate(0, 0, -1))
	short, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	brief := newPair("brief.example", short, testNow.AddDate(-1, 0, 0), testNow.AddDate(1, 0, 0))
	future := newPair("new.example", acme().key, testNow.AddDate(0, 0, 1), testNow.AddDate(2, 0, 0))
	for name, tc := range map[string]struct {
		change func(*Agreement, *Document)
		key    string
		cause  fault.Cause
	}{
		"our name empty":         {func(a *Agreement, _ *Document) { a.From = "" }, "as2.our_id", fault.CauseBuild},
		"their name too long":    {func(a *Agreement, _ *Document) { a.To = strings.Repeat("x", 129) }, "as2.id", fault.CauseBuild},
		"Message-ID with blank":  {func(_ *Agreement, d *Document) { d.MessageID = "<a b@x>" }, "identity.domain", fault.CauseBuild},
		"no content type":        {func(_ *Agreement, d *Document) { d.ContentType = "" }, "as2.content_type", fault.CauseBuild},
		"another multipart":      {func(_ *Agreement, d *Document) { d.ContentType = "multipart/mixed; boundary=b" }, "as2.content_type", fault.CauseBuild},
		"multipart, no boundary": {func(_ *Agreement, d *Document) { d.ContentType = "Multipart/Related" }, "as2.content_type", fault.CauseBuild},
		"header injection":       {func(_ *Agreement, d *Document) { d.ContentType = "a/b\r\nX: y" }, "as2.content_type", fault.CauseBuild},
		"no key":                 {func(a *Agreement, _ *Document) { a.SigningKey = nil }, "keys", fault.CauseKey},
		"key of another":         {func(a *Agreement, _ *Document) { a.SigningKey = stranger().key }, "keys", fault.CauseKey},
		"own expired":            {func(a *Agreement, _ *Document) { a.SigningCertificate = expired.cert }, "keys", fault.CauseKey},
		"own not yet valid":      {func(a *Agreement, _ *Document) { a.SigningCertificate = future.cert }, "keys", fault.CauseKey},
		"unknown digest":         {func(a *Agreement, _ *Document) { a.Sign = crypto.MD5 }, "as2.sign", fault.CauseBuild},
		"unknown MIC digest":     {func(a *Agreement, _ *Document) { a.MDN.Algorithm = crypto.MD5 }, "as2.mdn.algorithm", fault.CauseBuild},
		"nobody to encrypt to":   {func(a *Agreement, _ *Document) { a.Recipients = nil }, "certificates.encrypt", fault.CauseBuild},
		"theirs expired":         {func(a *Agreement, _ *Document) { a.Recipients = []*x509.Certificate{expired.cert} }, "certificates.encrypt", fault.CauseBuild},
		"no room in their key": {func(a *Agreement, _ *Document) {
			a.Recipients, a.Transport = []*x509.Certificate{brief.cert}, smime.KeyTransport{OAEP: true, Hash: crypto.SHA512, MGF: crypto.SHA512}
		}, "as2.key_transport", fault.CauseBuild},
		"unknown cipher":      {func(a *Agreement, _ *Document) { a.Encrypt = "rc2-cbc" }, "as2.encrypt", fault.CauseBuild},
		"unknown compression": {func(a *Agreement, _ *Document) { a.Compress = "always" }, "as2.compress", fault.CauseBuild},
		"unknown MDN mode":    {func(a *Agreement, _ *Document) { a.MDN.Mode = "later" }, "as2.mdn.mode", fault.CauseBuild},
		"no receipt URL":      {func(a *Agreement, _ *Document) { a.MDN.Mode, a.MDN.URL = MDNAsync, "" }, "listen.partners.base_url", fault.CauseBuild},
		"no token": {func(a *Agreement, d *Document) {
			a.MDN.Mode, a.MDN.URL, d.Token = MDNAsync, "https://x.example/as2", ""
		}, "as2.mdn", fault.CauseBuild},
		"nothing to verify by": {func(a *Agreement, _ *Document) { a.Verify = nil }, "certificates.verify", fault.CauseBuild},
	} {
		a, d := toNorthwind(), orderDocument([]byte("ISA~"))
		tc.change(&a, &d)
		_, err := Build(io.Discard, a, d, strings.NewReader("ISA~"), testNow, nil)
		var setting *fault.SettingError
		if !errors.As(err, &setting) {
			t.Errorf("%s: got %v, want a SettingError", name, err)
			continue
		}
		if setting.Key != tc.key || setting.Cause != tc.cause || setting.Why == "" {
			t.Errorf("%s: got %s (%s): %s; want %s (%s)", name, setting.Key, setting.Cause, setting.Why, tc.key, tc.cause)
		}
		if o := fault.Local(err); o.Cause != tc.cause || o.Phase != fault.PhaseNone || o.Suspect == "" || o.Detail == "" {
			t.Errorf("%s: outcome %+v", name, o)
		}
	}
}

// TestBuildWithSignatureOfEllipticCurve: ECDSA signs as well as RSA.
func TestBuildWithSignatureOfEllipticCurve(t *testing.T) {
	t.Parallel()
	a := toNorthwind()
	a.SigningKey, a.SigningCertificate = elliptic1().key, elliptic1().cert
	r, wire := mustBuild(t, a, []byte("ISA~"))
	checkRendition(t, r, wire)
	m := &memory{agreement: fromAcme()}
	m.agreement.Verify = []*x509.Certificate{elliptic1().cert}
	if _, state := dispositionOf(t, serve(testHandler(t, m), wireRequest(t, r, wire))); state != "processed" {
		t.Errorf("answered %q", state)
	}
}

// TestPayloadUnreadable: a document that is not what its record says stops the
// build (never goes out short).
func TestPayloadUnreadable(t *testing.T) {
	t.Parallel()
	type seeker struct {
		io.Reader
		io.Seeker
	}
	zero := strings.NewReader("")
	for name, payload := range map[string]io.ReadSeeker{
		"shorter": strings.NewReader("ISA"),
		"longer":  strings.NewReader("ISA~~"),
		"broken":  seeker{iotest.ErrReader(errors.New("input/output error")), zero},
	} {
		for _, cipher := range []smime.Cipher{"", smime.AES256CBC} {
			a := toNorthwind()
			a.Encrypt = cipher
			_, err := Build(io.Discard, a, orderDocument([]byte("ISA~")), payload, testNow, nil)
			if !errors.Is(err, fault.ErrPayload) || fault.Local(err).Cause != fault.CausePayload {
				t.Errorf("%s, %q: got %v, want fault.ErrPayload", name, cipher, err)
			}
		}
	}
}

// TestWriterError: a full spool is no fault of the settings.
func TestWriterError(t *testing.T) {
	t.Parallel()
	full := errors.New("no space left on device")
	r, w := io.Pipe()
	r.CloseWithError(full)
	_, err := Build(w, toNorthwind(), orderDocument([]byte("ISA~")), strings.NewReader("ISA~"), testNow, nil)
	var setting *fault.SettingError
	if !errors.Is(err, full) || errors.As(err, &setting) || errors.Is(err, fault.ErrPayload) {
		t.Errorf("got %v", err)
	}
}

// zeros is a document of any size that costs no memory.
type zeros struct{ at, size int64 }

func (z *zeros) Read(p []byte) (int, error) {
	if z.at == z.size {
		return 0, io.EOF
	}
	n := min(int64(len(p)), z.size-z.at)
	clear(p[:n])
	z.at += n
	return int(n), nil
}

func (z *zeros) Seek(offset int64, _ int) (int64, error) { z.at = offset; return offset, nil }

// TestRow19BuildHasConstantMemory: a large message takes no more of it than a
// small one.
func TestRow19BuildHasConstantMemory(t *testing.T) {
	const size = 64 << 20
	a := toNorthwind()
	a.MDN.Algorithm = 0
	d := orderDocument(nil)
	d.Size = size
	var build error
	grown := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, err := Build(io.Discard, a, d, &zeros{size: size}, testNow, nil)
			build = errors.Join(build, err)
		}
	}).AllocedBytesPerOp()
	if build != nil {
		t.Fatal(build)
	}
	if grown > 4<<20 {
		t.Errorf("building %d bytes allocates %d", size, grown)
	}
}

func TestMessageHeaderIsUnfoldedASCII(t *testing.T) {
	t.Parallel()
	a := toNorthwind()
	a.Subject = "Rechnung für {reference} aus {file}\r\nX-Evil: 1"
	d := orderDocument([]byte("x"))
	d.FileName, d.Reference = "Übersicht \"März\"\r\n/../x.edi", strings.Repeat("ü", 300)
	r, err := Build(io.Discard, a, d, bytes.NewReader([]byte("x")), testNow, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Headers {
		if !headerValue(f.Name) || !headerValue(f.Value) {
			t.Errorf("%s: %q", f.Name, f.Value)
		}
		if strings.Contains(f.Name, "Evil") {
			t.Error("a header was injected")
		}
	}
	if strings.ContainsAny(strings.TrimSuffix(r.Entity.Header, "\r\n\r\n"), "üÜ") || strings.Count(r.Entity.Header, "\r\n") != 4 {
		t.Errorf("part header %q", r.Entity.Header)
	}
}

func TestFingerprintFollowsWireBytes(t *testing.T) {
	t.Parallel()
	base := toNorthwind()
	for name, tc := range map[string]struct {
		change func(*Agreement)
		differ bool
	}{
		"our name":        {func(a *Agreement) { a.From = "X" }, true},
		"digest":          {func(a *Agreement) { a.Sign = crypto.SHA512 }, true},
		"cipher":          {func(a *Agreement) { a.Encrypt = smime.AES128CBC }, true},
		"compression":     {func(a *Agreement) { a.Compress = CompressAfterSign }, true},
		"encoding":        {func(a *Agreement) { a.TransferEncoding = Base64 }, true},
		"receipt":         {func(a *Agreement) { a.MDN.Signed = false }, true},
		"own certificate": {func(a *Agreement) { a.SigningCertificate = stranger().cert }, true},
		"recipient":       {func(a *Agreement) { a.Recipients = []*x509.Certificate{stranger().cert} }, true},
		"attributes":      {func(a *Agreement) { a.NoAttributes = true }, true},
		"version":         {func(a *Agreement) { a.Version = "1.1" }, true},
		"version, usual":  {func(a *Agreement) { a.Version = "1.2" }, false},
		"PSS":             {func(a *Agreement) { a.PSS = true }, true},
		"protection":      {func(a *Agreement) { a.AlgorithmProtection = true }, true},
		"key identifiers": {func(a *Agreement) { a.KeyID = true }, true},
		"digest names":    {func(a *Agreement) { a.DashlessNames = true }, true},
		"no certificate":  {func(a *Agreement) { a.OmitCertificate = true }, true},
		"chain":           {func(a *Agreement) { a.SigningChain = []*x509.Certificate{stranger().cert} }, true},
		"key transport":   {func(a *Agreement) { a.Transport = smime.KeyTransport{OAEP: true, Hash: crypto.SHA256} }, true},
		"its mask":        {func(a *Agreement) { a.Transport = smime.KeyTransport{OAEP: true, MGF: crypto.SHA1} }, true},
		"to ourselves":    {func(a *Agreement) { a.Recipients = append(a.Recipients[:1:1], acme().cert) }, true},
		"chunks":          {func(a *Agreement) { a.Chunked, a.ExpectContinue = true, true }, false},
		"MICs of theirs":  {func(a *Agreement) { a.Receive.MIC.CompressedBody = true }, false},
		"login":           {func(a *Agreement) { a.AuthPassword = "new" }, false},
		"address":         {func(a *Agreement) { a.URL = "https://new.example" }, false},
		"verification":    {func(a *Agreement) { a.Verify = nil }, false},
		"own decryption":  {func(a *Agreement) { a.Decrypt = nil }, false},
	} {
		a := base
		tc.change(&a)
		if differ := a.Fingerprint() != base.Fingerprint(); differ != tc.differ {
			t.Errorf("%s: fingerprint differs: %t, want %t", name, differ, tc.differ)
		}
	}
}

// TestFingerprintLeavesOutWhatIsNotUsed: a setting of a layer that is not there
// builds nothing anew.
func TestFingerprintLeavesOutWhatIsNotUsed(t *testing.T) {
	t.Parallel()
	plain := toNorthwind()
	plain.Sign, plain.Encrypt, plain.MDN.Signed = 0, "", false
	changed := plain
	changed.PSS, changed.AlgorithmProtection, changed.KeyID, changed.DashlessNames = true, true, true, true
	changed.Transport = smime.KeyTransport{OAEP: true}
	if plain.Fingerprint() != changed.Fingerprint() {
		t.Error("settings of signature and encryption count in a message that has neither")
	}
	curve := toNorthwind()
	curve.Recipients = []*x509.Certificate{elliptic1().cert}
	oaep := curve
	oaep.Transport = smime.KeyTransport{OAEP: true}
	if curve.Fingerprint() != oaep.Fingerprint() {
		t.Error("key transport counts for a certificate that takes key agreement")
	}
	curve.SigningCertificate = elliptic1().cert
	pss := curve
	pss.PSS = true
	if curve.Fingerprint() != pss.Fingerprint() {
		t.Error("PSS counts for a key that signs by ECDSA")
	}
}
