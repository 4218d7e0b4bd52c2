package as2

import (
	"bytes"
	"compress/zlib"
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"edigw/as2/smime"
	"edigw/internal/rawmime"
)

// byHand signs a part that no code of ours wrote, and gives the entity.
func byHand(t *testing.T, part, boundary string) (contentType, body string) {
	t.Helper()
	return signedByHand(t, part, boundary, acme())
}

// signedByHand puts a part and a signature over its SHA-256 together.
func signedByHand(t *testing.T, part, boundary string, by pair) (contentType, body string) {
	t.Helper()
	sum := sha256.Sum256([]byte(part))
	signature, err := smime.SignDetached(sum[:], smime.SignOptions{Key: by.key, Certificate: by.cert, Hash: crypto.SHA256, Time: testNow})
	if err != nil {
		t.Fatal(err)
	}
	return `multipart/signed; protocol="application/pkcs7-signature"; micalg=sha256; boundary="` + boundary + `"`,
		"--" + boundary + "\r\n" + part + "\r\n--" + boundary +
			"\r\ncontent-type: application/x-pkcs7-signature\r\ncontent-transfer-encoding: Base64\r\n\r\n" + wrapped(signature) + "\r\n--" + boundary + "--\r\n"
}

// compressedByHand is the body of a compressed layer over an entity.
func compressedByHand(t *testing.T, entity string) string {
	t.Helper()
	var out bytes.Buffer
	if err := compress(&out, func(w io.Writer) error { _, err := io.WriteString(w, entity); return err }); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// byHandRequest posts an entity as acme does.
func byHandRequest(contentType, body string) *http.Request {
	req := httptest.NewRequest(http.MethodPost, "/as2", strings.NewReader(body))
	req.Header = http.Header{
		"As2-From": {"ACME-AS2"}, "As2-To": {"NORTHWIND"}, "Message-Id": {"<by-hand@acme.example>"}, "Content-Type": {contentType},
		"Disposition-Notification-To":      {"x"},
		"Disposition-Notification-Options": {"signed-receipt-protocol=optional, pkcs7-signature; signed-receipt-micalg=optional, sha-256"},
	}
	return req
}

// TestKnownFaultsOfSignedParts: the bytes of the part that was signed count, as
// they came, whatever they look like; the document loses its transfer encoding
// and nothing else.
func TestKnownFaultsOfSignedParts(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("LIN+1++4000862141404:SRV'\n", 12_000)
	encoded := base64.StdEncoding.EncodeToString([]byte(large[:500]))
	for name, tc := range map[string]struct{ head, body, document, boundary string }{
		"row 7: odd header above what does not stay in memory": {head: "content-TYPE:  application/edifact ;\r\n\t name=x \r\nX-Odd:\t a  b \r\n", body: large},
		"row 45: lower-case names, line feeds, odd delimiter":  {head: "content-transfer-encoding: binary\r\ncontent-type: text/plain\r\n", body: "UNB+UNOC:3\nUNZ\n ", boundary: "----=_Part_7_1234.5678 '()+_,-./:=?"},
		"row 55: base64 wrapped at 60": {head: "Content-Type: application/edifact\r\nContent-Transfer-Encoding: base64\r\n",
			body: encoded[:60] + "\r\n" + encoded[60:120] + "\r\n" + encoded[120:] + "\r\n\r\n", document: large[:500]},
		"row 57: file name in a folded header":                  {head: "Content-Type: application/edifact\r\nContent-Disposition: attachment;\r\n filename=\"an order.edi\"\r\n", body: "UNB'"},
		"row 63: quoted-printable, as a gateway wrote it":       {head: "Content-Type: text/plain; charset=iso-8859-1\r\nContent-Transfer-Encoding: quoted-printable\r\n", body: "UNB+=FC=\r\nUNZ'", document: "UNB+\xfcUNZ'"},
		"row 75: blank lines at both ends":                      {head: "Content-Type: application/edifact\r\n", body: "\r\n\r\n\n UNB'\n\n\r\n\r\n"},
		"row 75: nothing but line ends":                         {head: "Content-Type: application/edifact\r\n", body: "\r\n\n\r\n"},
		"row 1: no header at all":                               {body: "UNB'\x00\r"},
		"row 6: delimiter with blanks behind, and a text ahead": {head: "Content-Type: application/edifact\r\n", body: "UNB'", boundary: "b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			part := tc.head + "\r\n" + tc.body
			boundary := tc.boundary
			if boundary == "" {
				boundary = "=_by-hand"
			}
			contentType, body := byHand(t, part, boundary)
			if strings.HasPrefix(name, "row 6") {
				body = "This is a message in MIME format.\r\n\r\n" + strings.Replace(body, "--b\r\n", "--b \t\r\n", 1)
			}
			m := &memory{agreement: fromAcme()}
			m.agreement.Receive.Encrypted = false
			mdn, state := dispositionOf(t, serve(testHandler(t, m), byHandRequest(contentType, body)))
			got, payload := m.last(t)
			if want := micOver(sha256.New(), "sha-256", []byte(part)); state != "processed" || mdn.MIC != want {
				t.Fatalf("answered %q, MIC %s, want %s: %s", state, mdn.MIC, want, got.Problem)
			}
			document := tc.document
			if document == "" {
				document = tc.body
			}
			if string(payload) != document {
				t.Errorf("%.100q arrived as %.100q", document, payload)
			}
			if strings.HasPrefix(name, "row 57") && got.FileName != "an order.edi" {
				t.Errorf("file name %q", got.FileName)
			}
		})
	}
}

// TestRow3MICOfCompressedAndSigned: the signed part, whichever came first; what
// is compressed and not signed is hashed as it was before.
func TestRow3MICOfCompressedAndSigned(t *testing.T) {
	t.Parallel()
	const compressedType = `application/pkcs7-mime; smime-type=compressed-data; name="smime.p7z"`
	part := "Content-Type: application/edifact\r\n\r\nUNB'\r\n\n"
	packed := "Content-Type: " + compressedType + "\r\nContent-Transfer-Encoding: binary\r\n\r\n" + compressedByHand(t, part)
	signedType, signedBody := byHand(t, part, "b")
	packedType, packedBody := byHand(t, packed, "b")
	for name, tc := range map[string]struct{ contentType, body, covered string }{
		"compressed, then signed": {packedType, packedBody, packed},
		"signed, then compressed": {compressedType, compressedByHand(t, "Content-Type: "+signedType+"\r\n\r\n"+signedBody), part},
		"compressed alone":        {compressedType, compressedByHand(t, part), part},
	} {
		m := &memory{agreement: fromAcme()}
		m.agreement.Receive = Receive{}
		mdn, state := dispositionOf(t, serve(testHandler(t, m), byHandRequest(tc.contentType, tc.body)))
		got, payload := m.last(t)
		if want := micOver(sha256.New(), "sha-256", []byte(tc.covered)); state != "processed" || mdn.MIC != want || string(payload) != "UNB'\r\n\n" {
			t.Errorf("%s: answered %q, MIC %s, want %s: %s, %q", name, state, mdn.MIC, want, got.Problem, payload)
		}
	}
}

// TestRow26ReceiptHasItsLength: never chunked.
func TestRow26ReceiptHasItsLength(t *testing.T) {
	t.Parallel()
	m := &memory{agreement: fromAcme()}
	m.agreement.SigningChain = []*x509.Certificate{stranger().cert} // beyond the 2 KiB that package http counts itself
	server := httptest.NewServer(testHandler(t, m))
	defer server.Close()
	r, wire := mustBuild(t, toNorthwind(), []byte("ISA~"))
	req, err := http.NewRequest(http.MethodPost, server.URL+"/as2", bytes.NewReader(wire))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = wireRequest(t, r, wire).Header
	res, err := server.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body := readBody(t, res)
	if res.Header.Get("Content-Length") != strconv.Itoa(len(body)) || len(res.TransferEncoding) > 0 || len(body) < 3<<10 {
		t.Errorf("%d bytes, length %q, encoding %v", len(body), res.Header.Get("Content-Length"), res.TransferEncoding)
	}
}

// TestRow50EveryLayerSaysItsEncoding: some recognise no binary CMS that does
// not say that it is.
func TestRow50EveryLayerSaysItsEncoding(t *testing.T) {
	t.Parallel()
	for _, encoding := range []TransferEncoding{Binary, Base64} {
		a := toNorthwind()
		a.Compress, a.TransferEncoding = CompressBeforeSign, encoding
		content := []byte(strings.Repeat("ISA~\n", 100))
		var wire bytes.Buffer
		r, err := Build(&wire, a, orderDocument(content), bytes.NewReader(content), testNow, countingBoundary())
		if err != nil {
			t.Fatal(err)
		}
		if got := headerOf(r, "Content-Transfer-Encoding"); got != "binary" || headerOf(r, "Content-Type") != `application/pkcs7-mime; smime-type=enveloped-data; name="smime.p7m"` {
			t.Errorf("%s: the envelope says %q, %q", encoding, got, headerOf(r, "Content-Type"))
		}
		compressedPart := takeApart(t, r, wire.Bytes()).signedPart
		for what, part := range map[string][2]string{"compressed": {compressedPart, "binary"}, "document": {unpack(t, compressedPart), string(encoding)}} {
			head, _, _ := strings.Cut(part[0], "\r\n\r\n")
			if !strings.Contains(head+"\r\n", "Content-Transfer-Encoding: "+part[1]+"\r\n") {
				t.Errorf("%s: the %s part says %q", encoding, what, head)
			}
		}
	}
}

// TestRow58NamesAreThoseOfTheSignature: micalg names the digest that was used,
// and compressed data is plain zlib.
func TestRow58NamesAreThoseOfTheSignature(t *testing.T) {
	t.Parallel()
	for hash, names := range map[crypto.Hash][2]string{
		crypto.SHA1: {"sha1", "sha1"}, crypto.SHA256: {"sha-256", "sha256"}, crypto.SHA384: {"sha-384", "sha384"}, crypto.SHA512: {"sha-512", "sha512"},
	} {
		for i, dashless := range []bool{false, true} {
			a := toNorthwind()
			a.Encrypt, a.Sign, a.DashlessNames = "", hash, dashless
			r, wire := mustBuild(t, a, []byte("ISA~"))
			_, params, err := rawmime.ParseMediaType(headerOf(r, "Content-Type"))
			if err != nil || params["micalg"] != names[i] {
				t.Errorf("micalg=%s, %v, want %s", params["micalg"], err, names[i])
			}
			m := &memory{agreement: fromAcme()}
			m.agreement.Receive = Receive{Signed: true, Digest: crypto.SHA1}
			req := wireRequest(t, r, wire)
			req.Header.Del("Disposition-Notification-Options")
			if mdn, state := dispositionOf(t, serve(testHandler(t, m), req)); state != "processed" || mdn.MIC.Algorithm != names[i] {
				t.Errorf("%s: the signature uses %s (%s)", names[i], mdn.MIC.Algorithm, state)
			}
		}
	}
}

// TestRow58CompressedDataIsZlib, which is found without our own reader.
func TestRow58CompressedDataIsZlib(t *testing.T) {
	t.Parallel()
	const content = "Content-Type: text/plain\r\n\r\nhello"
	der := compressedByHand(t, content)
	for at := range der {
		if z, err := zlib.NewReader(strings.NewReader(der[at:])); err == nil {
			if plain, err := io.ReadAll(z); err == nil && string(plain) == content {
				return
			}
		}
	}
	t.Error("no zlib stream in the compressed data")
}
