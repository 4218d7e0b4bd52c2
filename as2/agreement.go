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
	Signed      bool                // refuse unsigned: insufficient-message-security
	Encrypted   bool                // refuse unencrypted
	Digest      crypto.Hash         // weakest digest accepted in a signature; 0 = SHA-256
	MIC         MICRules            // how we digest what is not signed
	Clients     []*x509.Certificate // TLS client certificates, one of which must be shown; nil: none is asked for; empty: none will do
	ReceiptURLs []string            // where asynchronous MDNs may be posted; empty: nowhere
}

// MICRules are what partners read differently about the MIC of messages that
// are not signed (RFC 4130 §7.3.1, RFC 5402 §4.3). The zero value is what the
// standards say.
type MICRules struct {
	Unsigned crypto.Hash // digest of unsigned messages, whatever is asked for; 0: as asked. QUIRK(mendelson): SHA-1
	// CompressedBody leaves the headers out of the MIC of a message that is
	// compressed only. QUIRK(OpenAS2)
	CompressedBody bool
	// EncodedBody hashes a plain base64 body as it was transferred.
	EncodedBody bool
}

// Agreement is everything that two trading partners settled for AS2, with the
// keys and certificates that are in force at the time of use. It is a snapshot:
// nobody changes one after it was made, and it may be shared.
type Agreement struct {
	From, To            string // our AS2 name and theirs, unquoted (RFC 4130 §6.2)
	URL                 string // where messages go
	Subject             string // may hold {reference}, {file}; empty: no Subject header
	Version             string // AS2-Version that we claim; empty: 1.2
	Sign                crypto.Hash
	PSS                 bool // RSASSA-PSS instead of PKCS #1 v1.5
	NoAttributes        bool // QUIRK(Sterling): sign without signed attributes
	AlgorithmProtection bool // add the attribute of RFC 6211
	OmitCertificate     bool // do not put our certificate into the signature
	KeyID               bool // name certificates by key identifier, not by issuer and serial
	DashlessNames       bool // QUIRK(Seeburger, old ones): spell digests as RFC 3851 does: sha256
	Encrypt             smime.Cipher
	Transport           smime.KeyTransport
	Compress            Compression
	TransferEncoding    TransferEncoding
	Chunked             bool // send the HTTP body in chunks instead of with its length
	ExpectContinue      bool // ask before the body is sent (RFC 9110 §10.1.1)
	MDN                 MDNRequest
	Receive             Receive
	AuthUser            string // HTTP basic, pre-emptive; empty: none
	AuthPassword        string

	SigningKey         crypto.Signer       // ours; nil if nothing is signed
	SigningCertificate *x509.Certificate   // ours
	SigningChain       []*x509.Certificate // intermediates to embed after the leaf
	Recipients         []*x509.Certificate // theirs, to encrypt to: the newest that has begun
	Verify             []*x509.Certificate // theirs: all that may have signed
	Lapsed             []*x509.Certificate // theirs to verify that are on file but not in force: only to say so
	Decrypt            []smime.Recipient   // ours: all that may open

	ProductHeader string // who sends, "edigw/1.4": User-Agent, and with version 1.3 AS2-Product; empty: "edigw"
}

// Document is the business content of one message.
type Document struct {
	MessageID   string // with angle brackets (RFC 4130 §5.3.3)
	ContentType string // MIME type of the document, "application/edi-x12", …; of several files multipart/related with its boundary
	FileName    string // for Content-Disposition; empty: none
	Reference   string // for {reference} in the subject
	Size        int64  // exact number of bytes of the payload
	Token       string // random, URL-safe; part of the asynchronous receipt's URL
	Date        time.Time
}

// Fingerprint names the parts of an agreement for which a message that waits is
// built anew: names, algorithms, certificates, receipt request. What only dresses
// it, such as the subject, is not among them. It holds no secret.
func (a Agreement) Fingerprint() string { return fingerprint(a) }
