package as2

import (
	"bytes"
	"crypto"
	"flag"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"edigw/internal/testpage"
)

var update = flag.Bool("update", false, "rewrite testdata/golden")

// signatureLines is the base64 of a signature, which differs from key to key.
var signatureLines = regexp.MustCompile(`(filename="smime\.p7s"\r\n\r\n)[A-Za-z0-9+/=\r\n]+(\r\n--)`)

// compareGolden holds a header and a body against a file, line ends made visible.
func compareGolden(t *testing.T, name string, header []Field, body []byte) {
	t.Helper()
	got := entity{header: header}.headerBlock() + signatureLines.ReplaceAllString(string(body), "$1<signature>$2")
	got = strings.ReplaceAll(strings.ReplaceAll(got, "\r", "\\r"), "\\r\n", "\\r\n")
	path := filepath.Join("testdata", "golden", name+".txt")
	testpage.File(t, path, got, *update)
}

// countingBoundary gives edigw-1, edigw-2, …
func countingBoundary() func() string {
	n := 0
	return func() string { n++; return fmt.Sprintf("edigw-%d", n) }
}

func TestGoldenMessages(t *testing.T) {
	t.Parallel()
	content := []byte("ISA*00*          *00*          *ZZ*ACME~\r\nIEA*1*000000001~\r\n")
	for name, change := range map[string]func(*Agreement){
		"plain":  func(a *Agreement) { a.Sign, a.MDN = 0, MDNRequest{} },
		"signed": func(a *Agreement) { a.Subject = "Order {reference}" },
		"signed-async": func(a *Agreement) {
			a.From, a.TransferEncoding = `Acme "DE"`, Base64
			a.MDN = MDNRequest{Mode: MDNAsync, Signed: true, Algorithm: crypto.SHA1, URL: "https://edi.acme.example/as2"}
		},
	} {
		a := toNorthwind()
		a.Encrypt, a.OmitCertificate = "", true
		change(&a)
		var wire bytes.Buffer
		r, err := Build(&wire, a, orderDocument(content), bytes.NewReader(content), testNow, countingBoundary())
		if err != nil {
			t.Fatal(err)
		}
		compareGolden(t, name, r.Headers, wire.Bytes())
	}
}

// TestRow11GoldenMDNs: layout of the MDN.
func TestRow11GoldenMDNs(t *testing.T) {
	t.Parallel()
	q := request{
		rawFrom: "ACME-AS2", rawTo: `"North Wind"`, messageID: "<order-20931@edi.acme.example>",
		wantsMDN: true, signedMDN: true, algorithms: []string{"sha256"},
	}
	mic := MIC{"sha256", "oH0vz8s6oS7SoqF01XHsASudN05EPgouF1IFMSNsv30="}
	a := fromAcme()
	a.OmitCertificate = true
	for name, tc := range map[string]struct {
		a   *Agreement
		d   Disposition
		mic *MIC
	}{
		"mdn-processed": {&a, processed(), &mic},
		"mdn-refused":   {&a, Disposition{autoMode, "processed", "error", decryptionFailed}, nil},
		"mdn-stranger":  {nil, Disposition{autoMode, "processed", "error", unknownRelationship}, nil},
	} {
		w := answerer{
			domain: "edi.northwind.example", product: "edigw", now: testNow,
			boundary: countingBoundary(), unique: func() string { return "1" },
		}
		answer, err := w.answer(q, tc.a, tc.d, tc.mic)
		if err != nil {
			t.Fatal(err)
		}
		compareGolden(t, name, answer.Headers, answer.Body)
	}
}
