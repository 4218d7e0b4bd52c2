package interop

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// content is a kind of document: what products are known to damage.
type content string

const (
	order      content = "10 KB order"
	empty      content = "0 bytes"
	oneByte    content = "1 byte"
	loneLF     content = "text with lone LF"
	blankLines content = "text between blank lines"
	binary     content = "every byte"
	large      content = "50 MB"
	middling   content = "4 MB"
	xmlOrder   content = "XML order"
	invoice    content = "invoice in an SBDH"
)

// largeSize is that of a large document.
const largeSize = 50_000_000

// document is what is sent.
type document struct {
	file     string // where it lies, under its own name
	fileName string
	body     []byte
}

// newDocument makes the document of a cell in a folder of its own. Documents
// of different cells differ, so that none passes for another.
func newDocument(t *testing.T, mark string, p profile) document {
	t.Helper()
	d := document{fileName: p.fileName, body: bodyOf(p.content, mark)}
	d.file = filepath.Join(t.TempDir(), d.fileName)
	if err := os.WriteFile(d.file, d.body, 0o600); err != nil {
		t.Fatal(err)
	}
	return d
}

func bodyOf(c content, mark string) []byte {
	switch c {
	case empty:
		return nil
	case oneByte:
		return []byte("x")
	case loneLF:
		return []byte("order of " + mark + "\nline 1\nline 2 \r\nline 3\rline 4\t\n")
	case blankLines:
		return []byte("\r\n\r\norder of " + mark + "\r\nline 1\r\n\r\n\r\n")
	case binary:
		return noise(mark, 20_000, 256)
	case large:
		return noise(mark, largeSize, 16) // compresses to a half
	case middling:
		return noise(mark, 4_000_000, 256)
	case xmlOrder:
		return xmlOf(mark)
	case invoice:
		return invoiceOf(mark)
	}
	return orderOf(mark)
}

// orderOf is an X12 order of about 10 KB. It has a control number of its own: two
// of one number would be editions of one document.
func orderOf(mark string) []byte {
	var b bytes.Buffer
	digest := sha256.Sum256([]byte(mark))
	number := (int(digest[0])<<24 | int(digest[1])<<16 | int(digest[2])<<8 | int(digest[3])) % 1e9
	fmt.Fprintf(&b, "ISA*00*          *00*          *ZZ*EDIGW          *ZZ*PEER           *261130*1200*U*00401*%09d*0*T*>~\r\n", number)
	fmt.Fprintf(&b, "GS*PO*EDIGW*PEER*20261130*1200*1*X*004010~\r\nST*850*0001~\r\nBEG*00*SA*%s**20261130~\r\n", strings.ToUpper(mark))
	lines := 0
	for ; b.Len() < 10_000; lines++ {
		fmt.Fprintf(&b, "PO1*%d*%d*EA*%d.50**VP*TEST-%06d~\r\n", lines+1, lines%9+1, lines%90+10, lines)
	}
	fmt.Fprintf(&b, "CTT*%d~\r\nSE*%d*0001~\r\nGE*1*1~\r\nIEA*1*%09d~\r\n", lines, lines+4, number)
	return b.Bytes()
}

// noise is n bytes of so many values, always the same for one mark.
func noise(mark string, n, values int) []byte {
	random := rand.NewChaCha8(sha256.Sum256([]byte(mark)))
	b := make([]byte, n)
	if _, err := random.Read(b); err != nil {
		panic(err) // it never fails
	}
	if values < 256 {
		for i := range b {
			b[i] = b[i]%byte(values) + 'A'
		}
	}
	return b
}
