package interop

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// papers are the documents of one message.
type papers []paper

// paper is one of them.
type paper struct {
	document
	contentType string
}

// newPapers makes the documents of a cell. Those of different cells differ, so
// that none passes for another.
func newPapers(t *testing.T, mark string, p as4Profile) (all papers) {
	t.Helper()
	dir := t.TempDir()
	for i, one := range p.payloads {
		name := fmt.Sprintf("%s-%d%s", p.name, i+1, map[string]string{"application/edi-x12": ".edi", "application/octet-stream": ".bin", "text/plain": ".txt"}[one.contentType])
		if filepath.Ext(name) == "" || one.content == xmlOrder || one.content == invoice {
			name = fmt.Sprintf("%s-%d.xml", p.name, i+1)
		}
		d := document{file: filepath.Join(dir, name), fileName: name, body: bodyOf(one.content, mark)}
		if err := os.WriteFile(d.file, d.body, 0o600); err != nil {
			t.Fatal(err)
		}
		all = append(all, paper{d, one.contentType})
	}
	return all
}

// forDriver are the documents as a driver is told of them.
func (p papers) forDriver() (all []paperwork) {
	for _, one := range p {
		all = append(all, paperwork{File: one.file, FileName: one.fileName, ContentType: one.contentType})
	}
	return all
}

// xmlOf is an XML order with what tells canonical XML from its bytes: a
// declaration, attributes out of order, an empty element in the short form, a
// comment and a CDATA section.
func xmlOf(mark string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- order of %[1]s -->\n<Order xmlns=\"urn:example:orders\" xmlns:b=\"urn:example:unused\" z=\"2\" a='1'>\n  <Number>%[1]s</Number>\n  <Empty/>\n", mark)
	for i := range 40 {
		fmt.Fprintf(&b, "  <Line number=\"%d\"><Item><![CDATA[TEST <%d> & more]]></Item><Text>Gr\u00f6\u00dfe \u20ac &lt;%d&gt;</Text></Line>\n", i+1, i, i)
	}
	b.WriteString("</Order>\n")
	return b.Bytes()
}

// invoiceType is the document type of the Peppol network that invoiceOf has.
const invoiceType = "urn:oasis:names:specification:ubl:schema:xsd:Invoice-2::Invoice##urn:cen.eu:en16931:2017#compliant#urn:fdc:peppol.eu:2017:poacc:billing:3.0::2.1"

// invoiceOf is an invoice in the envelope of the Peppol network.
func invoiceOf(mark string) []byte {
	sum := sha256.Sum256([]byte(mark))
	id := hex.EncodeToString(sum[:8])
	return fmt.Appendf(nil, `<StandardBusinessDocument xmlns="http://www.unece.org/cefact/namespaces/StandardBusinessDocumentHeader"><StandardBusinessDocumentHeader>`+
		`<HeaderVersion>1.0</HeaderVersion><Sender><Identifier Authority="iso6523-actorid-upis">9915:edigw</Identifier></Sender>`+
		`<Receiver><Identifier Authority="iso6523-actorid-upis">9915:peer</Identifier></Receiver>`+
		`<DocumentIdentification><Standard>urn:oasis:names:specification:ubl:schema:xsd:Invoice-2</Standard><TypeVersion>2.1</TypeVersion>`+
		`<InstanceIdentifier>%[1]s</InstanceIdentifier><Type>Invoice</Type><CreationDateAndTime>2026-11-30T12:00:00Z</CreationDateAndTime></DocumentIdentification>`+
		`<BusinessScope><Scope><Type>DOCUMENTID</Type><InstanceIdentifier>%[2]s</InstanceIdentifier><Identifier>busdox-docid-qns</Identifier></Scope>`+
		`<Scope><Type>PROCESSID</Type><InstanceIdentifier>urn:fdc:peppol.eu:2017:poacc:billing:01:1.0</InstanceIdentifier><Identifier>cenbii-procid-ubl</Identifier></Scope>`+
		`<Scope><Type>COUNTRY_C1</Type><InstanceIdentifier>DE</InstanceIdentifier></Scope></BusinessScope></StandardBusinessDocumentHeader>`+
		`<Invoice xmlns="urn:oasis:names:specification:ubl:schema:xsd:Invoice-2" xmlns:cbc="urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2">`+
		`<cbc:ID>%[1]s</cbc:ID><cbc:IssueDate>2026-11-30</cbc:IssueDate></Invoice></StandardBusinessDocument>`, id, invoiceType)
}
