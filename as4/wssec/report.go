package wssec

import (
	"crypto/x509"

	"github.com/beevik/etree"
)

// Result is what became of one reference.
type Result struct {
	Reference
	Part      string         // its Content-ID; "" for elements
	Got       []byte         // the digest as computed; nil if it could not be
	Element   *etree.Element // that it leads to; nil for parts
	Problem   string         // "" when it holds
	Tolerated string         // what was let pass, "" mostly
}

// Report is what a signature proves. Beside an error it says how far
// verification got, and proves nothing.
type Report struct {
	Signer     *x509.Certificate // verified with: the pinned one, or that of the message below an authority
	Algorithm  SignatureAlgorithm
	Named      string              // how the message names its signer, for people
	References []Result            // in the order of the message
	Claimed    []*x509.Certificate // from the message, for display; trusted for nothing
	Stranger   *x509.Certificate   // the one of those that the value verifies with, when it counts for nothing; nil: none
	// SignedInfoReferences are the ds:Reference elements as they stand, for
	// receipts.
	SignedInfoReferences []*etree.Element

	verified bool
}

// Covers tells whether the signature covers this very element of the tree, not
// one that looks like it or lies around it.
func (r *Report) Covers(e *etree.Element) bool {
	for _, result := range r.References {
		if r.verified && e != nil && result.Element == e && result.Problem == "" {
			return true
		}
	}
	return false
}

// CoversPart tells whether the signature covers the part of this Content-ID.
func (r *Report) CoversPart(contentID string) bool {
	for _, result := range r.References {
		if r.verified && contentID != "" && result.Part == contentID && result.Problem == "" {
			return true
		}
	}
	return false
}
