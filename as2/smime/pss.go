package smime

import "crypto/rsa"

// pssParams are RSASSA-PSS parameters (RFC 4056 §2.2): the digest of the
// content for both hashes, and a salt of its length. What is a default stays
// out, as DER wants it; so does the trailer always.
func pssParams(d digestAlgorithm) []byte {
	if d.oid == oidSHA1 {
		return tlv(tagSequence)
	}
	hash := algorithmID(d.oid, derNull) // RFC 4055 §2.1: NULL must be there
	return tlv(tagSequence,
		tlv(tagExplicit0, hash),
		tlv(tagExplicit1, algorithmID(oidMGF1, hash)),
		tlv(tagExplicit2, []byte{tagInteger, 1, byte(d.hash.Size())}))
}

// pss reads the parameters of an RSASSA-PSS signature, which must name the
// digest of the signer for both of their hashes. A salt length that is stated
// is held to the signature, but for 0, which crypto/rsa takes for any; where
// none is stated any will do.
func (s *signerInfo) pss() (*rsa.PSSOptions, error) {
	hash, mask := oidSHA1, oidSHA1 // the defaults
	options := &rsa.PSSOptions{Hash: s.digest.hash, SaltLength: rsa.PSSSaltLengthAuto}
	if len(s.alg.params) == 0 {
		return options, nil // QUIRK(pyas2lib): leaves out what RFC 4056 §3 wants there
	}
	c := newCursor(s.alg.params)
	in := c.in(tagSequence)
	if in.peek() == tagExplicit0 {
		field := in.in(tagExplicit0)
		hash = field.algorithm().oid
	}
	if in.peek() == tagExplicit1 {
		field := in.in(tagExplicit1)
		mgf := field.algorithm()
		if mgf.oid != oidMGF1 {
			return nil, unsupported("mask generation %s", oidText(mgf.oid))
		}
		params := cursor{rest: mgf.params, bad: c.bad}
		mask = params.algorithm().oid
	}
	if in.peek() == tagExplicit2 {
		field := in.in(tagExplicit2)
		options.SaltLength = field.small()
	}
	trailer := 1
	if in.peek() == tagExplicit3 {
		field := in.in(tagExplicit3)
		trailer = field.small()
	}
	switch {
	case *c.bad || len(in.rest) > 0:
		return nil, malformed("RSASSA-PSS parameters cannot be read")
	case hash != s.digest.oid || mask != hash:
		return nil, unsupported("RSASSA-PSS with hashes that differ")
	case trailer != 1: // RFC 4055 §3.1
		return nil, unsupported("RSASSA-PSS trailer %d", trailer)
	}
	return options, nil
}

// small reads an INTEGER from 0 to 32,767.
func (c *cursor) small() int {
	b := c.bytes(tagInteger)
	if len(b) == 0 || len(b) > 2 || b[0] >= 0x80 {
		c.fail()
		return 0
	}
	n := 0
	for _, d := range b {
		n = n<<8 | int(d)
	}
	return n
}
