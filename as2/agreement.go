// Package as2 speaks AS2 (RFC 4130, RFC 5402, RFC 6017): it builds messages,
// sends them, verifies the MDN that comes back, and receives messages and
// MDNs.
//
// It knows no YAML, no SQL and no registry of partners. It takes an Agreement
// and the time, reports facts as fault.Outcome and decides nothing: whether a
// message is sent again is not its business.
package as2

import (
	"crypto"
	"crypto/x509"
	"time"

	"edigw/as2/smime"
)

// Compression says whether and where a message is compressed (RFC 5402 §3).
type Compression string

// Places of the compression layer.
const (
	CompressNone       Compression = "none"
	CompressBeforeSign Compression = "before-sign"
	CompressAfterSign  Compression = "after-sign"
)

// TransferEncoding is the Content-Transfer-Encoding of the document's part.
type TransferEncoding string

// Transfer encodings.
const (
	Binary TransferEncoding = "binary"
	Base64 TransferEncoding = "base64"
)

// MDNMode says how the receipt is to come back (RFC 4130 §7.3).
type MDNMode string

// MDN modes.
const (
	MDNNone  MDNMode = "none"
	MDNSync  MDNMode = "sync"
	MDNAsync MDNMode = "async"
)

// MDNRequest is what we ask of the receiver.
type MDNRequest struct {
	Mode      MDNMode
	Signed    bool
	Algorithm crypto.Hash // first choice for the MIC; 0 = the signature's digest, else SHA-256
	URL       string      // async: where the partner posts it; Build appends the token of the build
}

// Receive is what we demand of messages that the partner sends us.
type Receive struct {
	Signed      bool        // refuse unsigned: insufficient-message-security
	Encrypted   bool        // refuse unencrypted
	Digest      crypto.Hash // weakest digest accepted in a signature; 0 = SHA-256
	ReceiptURLs []string    // where asynchronous MDNs may be posted; empty: nowhere
}

// Agreement is everything that two trading partners settled for AS2, with the
// keys and certificates that are in force at the time of use. It is a snapshot:
// nobody changes one after it was made, and it may be shared.
type Agreement struct {
	From, To         string // our AS2 name and theirs, unquoted (RFC 4130 §6.2)
	URL              string // where messages go
	Subject          string // may hold {reference}, {file}; empty: no Subject header
	Sign             crypto.Hash
	NoAttributes     bool // QUIRK(Sterling): sign without signed attributes
	OmitCertificate  bool // do not put our certificate into the signature
	Encrypt          smime.Cipher
	Compress         Compression
	TransferEncoding TransferEncoding
	MDN              MDNRequest
	Receive          Receive
	AuthUser         string // HTTP basic, pre-emptive; empty: none
	AuthPassword     string

	SigningKey         crypto.Signer       // ours; nil if nothing is signed
	SigningCertificate *x509.Certificate   // ours
	SigningChain       []*x509.Certificate // intermediates to embed after the leaf
	Recipients         []*x509.Certificate // theirs, to encrypt to: the newest that has begun
	Verify             []*x509.Certificate // theirs: all that may have signed
	Decrypt            []smime.Recipient   // ours: all that may open

	ProductHeader string // AS2-Product or User-Agent value; empty: "edigw"
}

// Document is the business content of one message.
type Document struct {
	MessageID   string // with angle brackets (RFC 4130 §5.3.3)
	ContentType string // MIME type of the document, "application/edi-x12", …
	FileName    string // for Content-Disposition; empty: none
	Reference   string // for {reference} in the subject
	Size        int64  // exact number of bytes of the payload
	Token       string // random, URL-safe; part of the asynchronous receipt's URL
	Date        time.Time
}

// Fingerprint names the parts of an agreement that change wire bytes: names,
// algorithms, certificates, receipt request. Two agreements with the same
// fingerprint build messages that say the same; a message is built anew only
// when it differs (delivery.md §9). It holds no secret.
func (a Agreement) Fingerprint() string { return fingerprint(a) }
