package as2

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"edigw/as2/smime"
	"edigw/fault"
	"edigw/internal/rawmime"
	"edigw/internal/testfixture"
)

// openssl runs the program in a folder with the keys of both sides.
type openssl struct {
	t   *testing.T
	dir string
}

func newOpenSSL(t *testing.T) openssl {
	t.Helper()
	testfixture.Program(t, "openssl")
	o := openssl{t, t.TempDir()}
	for name, p := range map[string]pair{"acme": acme(), "northwind": northwind()} {
		key, err := x509.MarshalPKCS8PrivateKey(p.key)
		if err != nil {
			t.Fatal(err)
		}
		writePEM(t, filepath.Join(o.dir, name+".key"), "PRIVATE KEY", key)
		writePEM(t, filepath.Join(o.dir, name+".crt"), "CERTIFICATE", p.cert.Raw)
	}
	return o
}

func (o openssl) write(name string, b []byte) {
	o.t.Helper()
	if err := os.WriteFile(filepath.Join(o.dir, name), b, 0o600); err != nil {
		o.t.Fatal(err)
	}
}

func (o openssl) read(name string) []byte {
	o.t.Helper()
	return testfixture.Read(o.t, filepath.Join(o.dir, name))
}

func (o openssl) run(args ...string) {
	o.t.Helper()
	cmd := exec.Command("openssl", args...)
	cmd.Dir = o.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		o.t.Fatalf("openssl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// TestOpenSSLReadsBuild has openssl decrypt and verify what Build writes.
func TestOpenSSLReadsBuild(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		sign   crypto.Hash
		cipher smime.Cipher
		attrs  bool
	}{
		{crypto.SHA1, smime.TripleDES, true},
		{crypto.SHA256, smime.AES128CBC, true},
		{crypto.SHA384, smime.AES192CBC, true},
		{crypto.SHA512, smime.AES256CBC, true},
		{crypto.SHA256, smime.AES256CBC, false},
	} {
		for name, content := range contents() {
			t.Run(smime.HashName(tc.sign)+" "+string(tc.cipher)+" "+name, func(t *testing.T) {
				t.Parallel()
				o := newOpenSSL(t)
				a := toNorthwind()
				a.Sign, a.Encrypt, a.NoAttributes = tc.sign, tc.cipher, !tc.attrs
				_, wire := mustBuild(t, a, content)
				o.write("wire", wire)
				o.run("cms", "-decrypt", "-binary", "-inform", "DER", "-in", "wire", "-recip", "northwind.crt", "-inkey", "northwind.key", "-out", "plain")
				part, signature := splitSigned(t, o.read("plain"))
				o.write("part", part)
				o.write("sig", signature)
				o.run("cms", "-verify", "-binary", "-inform", "DER", "-in", "sig", "-content", "part", "-certfile", "acme.crt", "-noverify", "-out", "verified")
				if !bytes.HasSuffix(o.read("verified"), content) {
					t.Error("openssl verified other content")
				}
			})
		}
	}
}

// splitSigned takes a multipart/signed entity apart.
func splitSigned(t *testing.T, entity []byte) (part, signature []byte) {
	t.Helper()
	head, body, _ := bytes.Cut(entity, []byte("\r\n\r\n"))
	var r mdnReader
	_, value, _ := bytes.Cut(head, []byte(": "))
	_, params, err := rawmime.ParseMediaType(string(value))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.readSigned(bytes.NewReader(body), params["boundary"]); err != nil {
		t.Fatal(err)
	}
	return r.part, r.signature
}

// TestOpenSSLReadsSMIME has openssl read the whole multipart/signed by itself,
// which it can for text.
func TestOpenSSLReadsSMIME(t *testing.T) {
	t.Parallel()
	o := newOpenSSL(t)
	a := toNorthwind()
	a.Encrypt = ""
	r, wire := mustBuild(t, a, contents()["usual"])
	var entity bytes.Buffer
	for _, f := range r.Headers {
		if f.Name == "MIME-Version" || strings.HasPrefix(f.Name, "Content-") {
			entity.WriteString(f.Name + ": " + f.Value + "\r\n")
		}
	}
	entity.WriteString("\r\n")
	entity.Write(wire)
	o.write("message", entity.Bytes())
	o.run("cms", "-verify", "-inform", "SMIME", "-in", "message", "-noverify", "-certfile", "acme.crt", "-out", "verified")
	if !bytes.HasSuffix(o.read("verified"), contents()["usual"]) {
		t.Error("openssl verified other content")
	}
}

// TestReceiveFromOpenSSL receives what openssl makes.
func TestReceiveFromOpenSSL(t *testing.T) {
	t.Parallel()
	content := []byte("ISA*00*          *ZZ*ACME~\r\n\r\nIEA*1~\r\n")
	part := "Content-Type: application/edi-x12\r\nContent-Disposition: attachment; filename=\"order.edi\"\r\n\r\n" + string(content)
	sign := []string{"cms", "-sign", "-binary", "-in", "part", "-signer", "acme.crt", "-inkey", "acme.key", "-md", "sha256", "-out", "inner"}
	encrypt := []string{"cms", "-encrypt", "-binary", "-aes256", "-outform", "DER", "-out", "wire", "-recip", "northwind.crt", "-in", "inner"}
	for _, tc := range []struct {
		name, prefix string
		steps        [][]string
	}{
		{"detached in enveloped", "", [][]string{append(sign[:len(sign):len(sign)], "-outform", "SMIME"), encrypt}},
		{"detached in streamed BER", "", [][]string{append(sign[:len(sign):len(sign)], "-outform", "SMIME"), append(encrypt[:len(encrypt):len(encrypt)], "-stream")}},
		{"opaque in enveloped", "Content-Type: application/pkcs7-mime\r\n\r\n", [][]string{append(sign[:len(sign):len(sign)], "-nodetach", "-outform", "DER"), encrypt}},
		{"by key identifier", "", [][]string{append(sign[:len(sign):len(sign)], "-outform", "SMIME"), append(encrypt[:len(encrypt):len(encrypt)], "-keyid")}},
		{"3des", "", [][]string{append(sign[:len(sign):len(sign)], "-outform", "SMIME"), append([]string{"cms", "-encrypt", "-des3"}, append([]string{"-binary"}, encrypt[4:]...)...)}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			o := newOpenSSL(t)
			o.write("part", []byte(part))
			for i, step := range tc.steps {
				if i == 1 && tc.prefix != "" {
					o.write("inner", append([]byte(tc.prefix), o.read("inner")...))
				}
				o.run(step...)
			}
			m := &memory{agreement: fromAcme()}
			req, err := http.NewRequest(http.MethodPost, "/as2", bytes.NewReader(o.read("wire")))
			if err != nil {
				t.Fatal(err)
			}
			for name, value := range map[string]string{
				"AS2-From": "ACME-AS2", "AS2-To": "NORTHWIND", "Message-ID": "<openssl@acme.example>",
				"Content-Type": "application/pkcs7-mime; smime-type=enveloped-data", "Disposition-Notification-To": "x",
				"Disposition-Notification-Options": "signed-receipt-protocol=required, pkcs7-signature; signed-receipt-micalg=required, sha256",
			} {
				req.Header.Set(name, value)
			}
			res := serve(testHandler(t, m), req)
			body := readBody(t, res)
			sums := newDigester(crypto.SHA256)
			sums.Write([]byte(part))
			ack, mdn := VerifyMDN(res.Header, body, []Rendition{{MessageID: "<openssl@acme.example>", MICs: sums.mics()}}, toNorthwind())
			got, payload := m.last(t)
			if ack.Verdict != fault.AckTrusted || !ack.Positive {
				t.Fatalf("verdict %q, %s: %s %s", ack.Verdict, mdn.Disposition, mdn.Problem, got.Problem)
			}
			if !bytes.Equal(payload, content) {
				t.Errorf("payload %q", payload)
			}
		})
	}
}
