package smime

import (
	"bytes"
	"crypto"
	"fmt"
	"slices"
	"time"
)

// maxSigners bounds the signers of one message: each may cost a verification
// with every pinned certificate.
const maxSigners = 16

// signerInfo is SignerInfo (RFC 5652 §5.3), with what is wrong with it in err,
// so that one bad signer does not hide a good one.
type signerInfo struct {
	id        identity
	digest    digestAlgorithm // zero when unknown
	digestAlg algorithm       // digest as the message has it
	alg       algorithm
	signature []byte

	signed        bool     // has signed attributes
	attributes    [][]byte // each whole, in the order that came
	contentType   string
	messageDigest []byte
	signingTime   time.Time
	protection    []byte // CMSAlgorithmProtection, whole; nil when absent

	err error
}

// parseSigners reads the SET of SignerInfos.
func parseSigners(der []byte) ([]*signerInfo, error) {
	c := newCursor(der)
	set := c.in(tagSet)
	var signers []*signerInfo
	for len(set.rest) > 0 {
		if len(signers) == maxSigners {
			return nil, fmt.Errorf("%w: more than %d signers", ErrLimit, maxSigners)
		}
		signers = append(signers, parseSigner(&set))
	}
	if *c.bad {
		return nil, malformed("signers cannot be read")
	}
	return signers, nil
}

func parseSigner(set *cursor) *signerInfo {
	in := set.in(tagSequence)
	s := &signerInfo{}
	in.bytes(tagInteger)
	s.id = in.identity()
	s.digestAlg = in.algorithm()
	var known bool
	if s.digest, known = digestByOID(s.digestAlg.oid); !known {
		s.err = unsupported("digest %s", oidText(s.digestAlg.oid))
	}
	if in.peek() == tagExplicit0 {
		s.signed = true
		if err := s.parseAttributes(in.in(tagExplicit0)); err != nil && s.err == nil {
			s.err = err
		}
	}
	s.alg = in.algorithm()
	s.signature = in.bytes(tagOctets)
	return s // unsigned attributes prove nothing and are not read
}

// parseAttributes reads the attributes of RFC 5652 §11 that mean something
// here: each at most once and with one value.
func (s *signerInfo) parseAttributes(c cursor) error {
	seen := map[string]bool{}
	for len(c.rest) > 0 {
		raw := c.raw(tagSequence)
		attr := cursor{rest: raw, bad: c.bad}
		in := attr.in(tagSequence)
		oid := in.oid()
		values := in.in(tagSet)
		s.attributes = append(s.attributes, raw)
		switch oid {
		case oidAttrContentType:
			s.contentType = values.oid()
		case oidAttrMessageDigest:
			s.messageDigest = values.bytes(tagOctets)
		case oidAttrSigningTime:
			s.signingTime = values.time()
		case oidAttrProtection:
			_, _, value, _ := values.next()
			s.protection = append([]byte{}, value...) // there, even when empty
		default:
			continue
		}
		if seen[oid] || len(values.rest) > 0 {
			return malformed("attribute %s occurs twice", oidText(oid))
		}
		seen[oid] = true
	}
	if !seen[oidAttrContentType] || !seen[oidAttrMessageDigest] { // RFC 5652 §5.3
		return malformed("signed attributes lack the content type or the message digest")
	}
	return nil
}

// checkProtection holds the algorithms of the signer to those that the attribute
// of RFC 6211 §2 states, if there is one: its signatureAlgorithm is tagged [1],
// and a macAlgorithm has no place in it.
func (s *signerInfo) checkProtection() error {
	if s.protection == nil {
		return nil
	}
	c := newCursor(s.protection)
	in := c.in(tagSequence)
	digest := in.algorithm()
	signature := in.algorithmAs(tagExplicit1)
	if *c.bad || len(in.rest) > 0 || !digest.same(s.digestAlg) || !signature.same(s.alg) {
		return fmt.Errorf("%w: its algorithms are not those that its algorithm protection attribute names", ErrSignature)
	}
	return nil
}

// time reads a signing time (RFC 5652 §11.3), zero when it is not one: it is
// shown, not relied upon.
func (c *cursor) time() time.Time {
	tag, body, _, _ := c.next()
	layout := "060102150405Z0700"
	if tag == tagGeneralTime {
		layout = "20060102150405Z0700"
	}
	t, err := time.Parse(layout, string(body))
	if err != nil {
		return time.Time{}
	}
	if tag == tagUTCTime && t.Year() >= 2050 {
		t = t.AddDate(-100, 0, 0)
	}
	return t.UTC()
}

// attributesSum hashes the signed attributes as a SET OF in DER, whatever
// their order and tag in the message (RFC 5652 §5.4).
func (s *signerInfo) attributesSum() []byte {
	sorted := slices.Clone(s.attributes)
	slices.SortFunc(sorted, bytes.Compare)
	return hashSet(s.digest.hash, sorted)
}

// attributesSumAsSent hashes them in the order that came.
// QUIRK(several): signers that hash an unsorted set as they send it.
func (s *signerInfo) attributesSumAsSent() ([]byte, bool) {
	if slices.IsSortedFunc(s.attributes, bytes.Compare) {
		return nil, false
	}
	return hashSet(s.digest.hash, s.attributes), true
}

func hashSet(h crypto.Hash, members [][]byte) []byte {
	sum := h.New()
	sum.Write(tlv(tagSet, members...))
	return sum.Sum(nil)
}
