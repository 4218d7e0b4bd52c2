package as4

import (
	"crypto/rand"
	"io"
)

// envelopeType is the media type of an envelope that goes alone, and of the root
// part (ebMS 3.0 Core §5.1.2.5; RFC 3902).
const envelopeType = typeSOAP + "; charset=UTF-8"

// wirePart is an attachment as it goes out: any bytes, transfer encoding binary.
type wirePart struct {
	contentID   string
	contentType string
	body        func(w io.Writer) error // writes it once
}

// writeMultipart writes the envelope and the attachments (ebMS 3.0 Core §5.1.1;
// RFC 2387). The line end in front of a boundary belongs to that.
func writeMultipart(w io.Writer, boundary, rootID string, envelope []byte, parts []wirePart) error {
	root := wirePart{rootID, envelopeType, func(w io.Writer) error {
		_, err := w.Write(envelope)
		return err
	}}
	for _, p := range append([]wirePart{root}, parts...) {
		head := "--" + boundary + "\r\n" +
			"Content-Type: " + p.contentType + "\r\n" +
			"Content-ID: <" + p.contentID + ">\r\n" +
			"Content-Transfer-Encoding: binary\r\n\r\n"
		if _, err := io.WriteString(w, head); err != nil {
			return err
		}
		if err := p.body(w); err != nil {
			return err
		}
		if _, err := io.WriteString(w, "\r\n"); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, "--"+boundary+"--\r\n")
	return err
}

// multipartType is the Content-Type of a message with attachments. type names
// the root's media type alone, start the root (RFC 2387 §3.1, §3.2).
func multipartType(boundary, rootID string) string {
	return typeRelated + `; type="` + typeSOAP + `"; start="<` + rootID + `>"; boundary="` + boundary + `"`
}

// randomBoundary cannot occur in a payload by chance, nor by somebody's will.
func randomBoundary() string { return "edigw-" + rand.Text() }
