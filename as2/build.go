package as2

import (
	"crypto"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"time"

	"edigw/as2/smime"
	"edigw/fault"
)

// fallbackDigest is what an unsigned message is hashed with where nothing was
// settled.
const fallbackDigest = crypto.SHA256

// Build writes the HTTP body of a message to w and returns what must be kept
// beside it. The payload is read from its beginning as often as the layers need
// (twice when signed), the message is streamed, memory stays constant. boundary
// gives MIME boundaries, each another one; nil means random ones, which is what
// everybody but a test wants.
//
// Errors: *fault.SettingError when a setting, key or certificate must be mended,
// fault.ErrPayload when the document cannot be read; those of w as they are.
func Build(w io.Writer, a Agreement, d Document, payload io.ReadSeeker, now time.Time, boundary func() string) (Rendition, error) {
	if err := checkBuild(a, d, now); err != nil {
		return Rendition{}, err
	}
	if boundary == nil {
		boundary = randomBoundary
	}
	outer, r, err := layers(a, d, payload, now, boundary)
	if err != nil {
		return Rendition{}, err
	}
	sum, size := sha256.New(), counter(0)
	if err := outer.body(io.MultiWriter(w, sum, &size)); err != nil {
		return Rendition{}, err
	}
	r.MessageID = d.MessageID
	r.Headers = messageHeaders(a, d, outer.header, now)
	r.Size = int64(size)
	r.SHA256 = hex.EncodeToString(sum.Sum(nil))
	r.Ack = ackTiming(a.MDN.Mode)
	r.Agreement = a.Fingerprint()
	if r.Ack == fault.AckAsync {
		r.Token = d.Token
	}
	return r, nil
}

// layers wraps the document's part as settled and digests what the receipt
// will have to name.
func layers(a Agreement, d Document, payload io.ReadSeeker, now time.Time, boundary func() string) (entity, Rendition, error) {
	part := documentPart(a, d, payload)
	outer, r, err := part, Rendition{}, error(nil)
	encoding := transferEncoding(a, d)
	r.Entity = Entity{Header: part.headerBlock(), Encoding: encoding}
	if a.Sign == 0 {
		if r.MICs, err = unsignedMICs(a, encoding, part, documentBody(Binary, payload, d.Size)); err != nil {
			return outer, r, err
		}
		if !encrypts(a) && !compresses(a) {
			r.Entity.Header, r.Entity.Encoding = "", Binary
		}
	}
	if compresses(a) && (a.Sign == 0 || a.Compress == CompressBeforeSign) {
		if outer, err = compressed(outer); err != nil {
			return outer, r, err
		}
		if a.Sign != 0 {
			r.Entity.Compressed = outer.headerBlock()
		}
	}
	if a.Sign != 0 {
		// RFC 4130 §7.4.3: the MIC of a signed message is by the digest of its
		// signature. Some receivers take the one that was asked for instead.
		sums := newDigester(a.Sign, a.MDN.Algorithm)
		if err := outer.write(sums); err != nil {
			return outer, r, err
		}
		r.MICs = sums.mics()
		if outer, err = signed(a, outer, sums.sum(a.Sign), now, boundary()); err != nil {
			return outer, r, err
		}
		if a.Compress == CompressAfterSign {
			if outer, err = compressed(outer); err != nil {
				return outer, r, err
			}
		}
	}
	if encrypts(a) {
		outer, err = encrypted(a, outer)
	}
	return outer, r, err
}

// unsignedMICs are over the content alone, or over the whole part once it is
// encrypted or compressed (RFC 4130 §7.3.1, RFC 5402 §4.2, §4.3).
func unsignedMICs(a Agreement, encoding TransferEncoding, part, content entity) ([]MIC, error) {
	covered := []func(io.Writer) error{content.body}
	switch {
	case encrypts(a):
		covered[0] = part.write
	case compresses(a):
		// QUIRK(OpenAS2): leaves the headers out where RFC 5402 §4.3 has them in.
		covered = []func(io.Writer) error{part.write, part.body}
	case encoding == Base64:
		// RFC 4130 is silent on whether the encoded or the decoded content
		// counts.
		covered = append(covered, part.body)
	}
	var mics []MIC
	for _, write := range covered {
		// QUIRK(mendelson): SHA-1 for every unsigned message, as RFC 4130 §7.4.3
		// has it, whatever was asked for.
		sums := newDigester(askedDigest(a), crypto.SHA1)
		if err := write(sums); err != nil {
			return nil, err
		}
		mics = append(mics, sums.mics()...)
	}
	return mics, nil
}

func encrypts(a Agreement) bool { return a.Encrypt != "" && a.Encrypt != noCipher }

// compresses reports whether a message is compressed.
// QUIRK(Amazon): takes none that is. QUIRK(as2-lib): its receipts for what is
// compressed before it is signed name a wrong MIC.
func compresses(a Agreement) bool {
	return a.Compress == CompressBeforeSign || a.Compress == CompressAfterSign
}

// noCipher is how settings may spell "not encrypted".
const noCipher = smime.Cipher("none")

func ackTiming(m MDNMode) fault.AckTiming {
	switch m {
	case MDNSync:
		return fault.AckSync
	case MDNAsync:
		return fault.AckAsync
	}
	return fault.AckNotAsked
}

// randomBoundary cannot occur in a document by chance.
func randomBoundary() string { return "edigw-" + rand.Text() }
