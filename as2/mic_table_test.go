package as2

import (
	"bytes"
	"crypto"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"strings"
	"testing"

	"edigw/as2/smime"
)

// wireLayers are a built message taken apart without the code that built it:
// only the CMS envelopes are opened by package smime, whose work is checked
// against other products elsewhere.
type wireLayers struct {
	outer      string // HTTP body, decrypted and decompressed down to the signature
	signedPart string // first part of multipart/signed
}

// takeApart opens the body of a message until it finds a signature or the
// document.
func takeApart(t *testing.T, r Rendition, wire []byte) wireLayers {
	t.Helper()
	contentType := headerOf(r, "Content-Type")
	body := string(wire)
	for {
		switch {
		case strings.Contains(contentType, "smime-type=enveloped-data"), strings.Contains(contentType, "smime-type=authEnveloped-data"):
			plain, err := smime.NewDecrypter(strings.NewReader(body), fromAcme().Decrypt, smime.Limits{})
			body = readAllString(t, plain, err)
		case strings.Contains(contentType, "smime-type=compressed-data"):
			plain, err := smime.NewDecompressor(strings.NewReader(body), smime.Limits{})
			body = readAllString(t, plain, err)
		case strings.HasPrefix(contentType, "multipart/signed"):
			first, _, _ := strings.Cut(strings.TrimPrefix(body, "--edigw-1\r\n"), "\r\n--edigw-1\r\n")
			return wireLayers{body, first}
		default:
			return wireLayers{outer: body}
		}
		head, rest, _ := strings.Cut(body, "\r\n\r\n")
		contentType, _, _ = strings.Cut(strings.TrimPrefix(head, "Content-Type: "), "\r\n")
		if strings.Contains(contentType, "smime-type") || strings.HasPrefix(contentType, "multipart/signed") {
			body = rest
		}
	}
}

func headerOf(r Rendition, name string) string {
	for _, f := range r.Headers {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}

func readAllString(t *testing.T, r io.Reader, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// lines76 is base64 as RFC 2045 §6.8 has it, made the simplest way.
func lines76(content []byte) string {
	var lines []string
	for text := base64.StdEncoding.EncodeToString(content); text != ""; {
		n := min(76, len(text))
		lines = append(lines, text[:n])
		text = text[n:]
	}
	return strings.Join(lines, "\r\n")
}

// TestMICTable: as2.md §2.2, every shape of a message in both transfer
// encodings. What a shape's MIC covers is said here in the words of the table,
// and found in the wire bytes.
func TestMICTable(t *testing.T) {
	t.Parallel()
	const related = `multipart/related; type="application/edi-x12"; boundary="b"`
	twoFiles := []byte("--b\r\nContent-Type: application/edi-x12\r\n\r\nISA*00~\n\r\n--b\r\nContent-Type: image/png\r\n\r\n\x89PNG\n\n\r\n--b--\r\n")
	edi := []byte("ISA*00*lone line feeds\n\nand more than one line of base64, so that it must be wrapped~\r\nIEA*1~\r\n")
	for _, kind := range []struct {
		name, contentType string
		content           []byte
	}{{"edi", "application/edi-x12", edi}, {"several files", related, twoFiles}} {
		for _, encoding := range []TransferEncoding{Binary, Base64} {
			// Only these four bytes sequences can be covered.
			body := string(kind.content)
			header := "Content-Type: " + kind.contentType + "\r\nContent-Transfer-Encoding: binary\r\n"
			if kind.name == "edi" {
				header += "Content-Disposition: attachment; filename=\"order.edi\"\r\n"
				if encoding == Base64 {
					body, header = lines76(kind.content), strings.Replace(header, "binary", "base64", 1)
				}
			}
			part := header + "\r\n" + body
			for _, shape := range []struct {
				sign     crypto.Hash
				encrypt  smime.Cipher
				compress Compression
				covered  string // what the first MIC is over
				also     string // what a receiver may rightly take instead
			}{
				// plain: content only. RFC 4130 is silent on base64.
				{0, "", CompressNone, string(kind.content), body},
				// signed, encrypted(signed): the exact part that was signed.
				{crypto.SHA256, "", CompressNone, part, ""},
				{crypto.SHA256, smime.AES128CBC, CompressNone, part, ""},
				{crypto.SHA256, smime.AES256GCM, CompressNone, part, ""},
				// encrypted: the part with its header.
				{0, smime.AES128CBC, CompressNone, part, ""},
				// compressed: the part with its header; OpenAS2 leaves it out.
				{0, "", CompressBeforeSign, part, body},
				{0, "", CompressAfterSign, part, body},
				// encrypted(compressed): what was compressed.
				{0, smime.AES128CBC, CompressBeforeSign, part, ""},
				{0, smime.AES128CBC, CompressAfterSign, part, ""},
				// compressed(signed), encrypted(compressed(signed)): the inner signed part.
				{crypto.SHA256, "", CompressAfterSign, part, ""},
				{crypto.SHA256, smime.AES128CBC, CompressAfterSign, part, ""},
				// signed(compressed), encrypted(signed(compressed)): the compressed part.
				{crypto.SHA256, "", CompressBeforeSign, "compressed", ""},
				{crypto.SHA256, smime.AES128CBC, CompressBeforeSign, "compressed", ""},
			} {
				name := fmt.Sprintf("%s, %s, sign=%v, encrypt=%s, compress=%s", kind.name, encoding, shape.sign != 0, shape.encrypt, shape.compress)
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					a := toNorthwind()
					a.Sign, a.Encrypt, a.Compress, a.TransferEncoding = shape.sign, shape.encrypt, shape.compress, encoding
					d := orderDocument(kind.content)
					d.ContentType = kind.contentType
					var wire bytes.Buffer
					r, err := Build(&wire, a, d, bytes.NewReader(kind.content), testNow, countingBoundary())
					if err != nil {
						t.Fatal(err)
					}
					found := takeApart(t, r, wire.Bytes())
					covered := shape.covered
					if covered == "compressed" {
						covered = found.signedPart
						if unpacked := unpack(t, covered); unpacked != part {
							t.Errorf("the signed part holds, compressed:\n%q\nwant\n%q", unpacked, part)
						}
					} else if shape.sign != 0 && found.signedPart != covered {
						t.Errorf("signed was\n%q\nwant\n%q", found.signedPart, covered)
					}
					sum := sha256.Sum256([]byte(covered))
					if want := (MIC{"sha-256", base64.StdEncoding.EncodeToString(sum[:])}); r.MICs[0] != want {
						t.Errorf("first MIC %v, want %v over\n%q", r.MICs[0], want, covered)
					}
					if shape.also != "" && shape.also != covered {
						sum := sha256.Sum256([]byte(shape.also))
						wantMIC(t, r, "sha-256", sum[:])
					}
					if shape.sign == 0 { // mendelson: SHA-1, whatever was asked
						sum := sha1.Sum([]byte(covered))
						wantMIC(t, r, "sha-1", sum[:])
					}
					checkEntity(t, r, kind.content)
				})
			}
		}
	}
}

func wantMIC(t *testing.T, r Rendition, algorithm string, sum []byte) {
	t.Helper()
	want := MIC{algorithm, base64.StdEncoding.EncodeToString(sum)}
	for _, m := range r.MICs {
		if m == want {
			return
		}
	}
	t.Errorf("no %v among the MICs that are taken, %v", want, r.MICs)
}

// unpack is the content of a compressed part.
func unpack(t *testing.T, part string) string {
	t.Helper()
	head, body, _ := strings.Cut(part, "\r\n\r\n")
	if !strings.HasPrefix(head, "Content-Type: application/pkcs7-mime; smime-type=compressed-data;") {
		t.Fatalf("not a compressed part: %q", head)
	}
	r, err := smime.NewDecompressor(strings.NewReader(body), smime.Limits{})
	return readAllString(t, r, err)
}

// TestRow43Row59ContentIsNeverCanonicalised: line ends and blanks of a document
// arrive as they were, whatever its type says it is.
func TestRow43Row59ContentIsNeverCanonicalised(t *testing.T) {
	t.Parallel()
	for _, contentType := range []string{"text/plain", "text/plain; charset=us-ascii", "application/edi-x12", "application/xml", "application/octet-stream"} {
		for _, content := range []string{"a\nb\n", "a\rb\r", "a\r\nb", "\n\r\n\r", " \t\r\n\t ", "a\x00b\n", "\xef\xbb\xbf<a/>\n"} {
			for _, sign := range []crypto.Hash{0, crypto.SHA256} {
				a := toNorthwind()
				a.Encrypt, a.Sign = "", sign
				d := orderDocument([]byte(content))
				d.ContentType = contentType
				var wire bytes.Buffer
				r, err := Build(&wire, a, d, strings.NewReader(content), testNow, countingBoundary())
				if err != nil {
					t.Fatal(err)
				}
				got := takeApart(t, r, wire.Bytes())
				document := got.outer
				if sign != 0 {
					_, document, _ = strings.Cut(got.signedPart, "\r\n\r\n")
				}
				if document != content {
					t.Errorf("%s, signed %t: %q went out as %q", contentType, sign != 0, content, document)
				}
				m := &memory{agreement: fromAcme()}
				m.agreement.Receive = Receive{Signed: sign != 0}
				serve(testHandler(t, m), wireRequest(t, r, wire.Bytes()))
				if _, payload := m.last(t); string(payload) != content {
					t.Errorf("%s, signed %t: %q arrived as %q", contentType, sign != 0, content, payload)
				}
			}
		}
	}
}
