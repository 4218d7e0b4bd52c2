package wssec

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"fmt"
	"io"
	"strings"
	"time"

	"edigw/internal/xmldsig"
	"edigw/internal/xmltree"

	"github.com/beevik/etree"
)

// defaultReferences is how many references a signature may have; common stacks
// stop at 30, real messages do not.
const defaultReferences = 200

// Trust says whose signatures count, and which.
type Trust struct {
	Pinned        []*x509.Certificate  // the partner's; whoever has another key is a stranger
	Authorities   *x509.CertPool       // whose certificates count too, when they come with the message; nil: none
	Intermediates []*x509.Certificate  // for chains to Authorities, beside those of the message
	Now           time.Time            // that certificates are valid at; required
	Algorithms    []SignatureAlgorithm // nil: all of this package
	Digest        crypto.Hash          // the weakest that is taken; 0: SHA256
	MaxReferences int                  // 0: 200
}

// Verify checks the signature in the wsse:Security of an envelope: first who
// made it, with our copy of the certificate, then what it covers. What must be
// covered is the caller's to ask (Report.Covers, Report.CoversPart), and so is
// whether a certificate was revoked. parts are those of the message; of those
// that no reference names nothing is read.
//
// The Report is never nil. Errors: ErrUnsigned, ErrSignature, ErrSigner,
// ErrPolicy, ErrMalformed, ErrSetting; one of opening or reading a part is
// handed on.
func Verify(envelope, security *etree.Element, parts []Part, t Trust) (*Report, error) {
	v := &verifier{trust: t, security: security, parts: parts, report: &Report{}}
	err := v.verify(envelope)
	v.report.verified = err == nil
	return v.report, err
}

type verifier struct {
	trust      Trust
	security   *etree.Element
	ids        map[string]*etree.Element
	parts      []Part
	references []reference
	digested   int // bytes of the canonical forms of elements so far
	report     *Report
}

func (v *verifier) verify(envelope *etree.Element) (err error) {
	if v.trust, err = v.trust.withDefaults(); err != nil {
		return err
	}
	if v.security == nil {
		return fmt.Errorf("%w: there is no wsse:Security for us", ErrUnsigned)
	}
	var twice string
	if v.ids, twice = xmltree.IDs(envelope); twice != "" {
		return fmt.Errorf("%w: wsu:Id %s occurs twice, so it is open what was signed", ErrSignature, shown(twice))
	}
	v.report.Claimed = claimed(v.security)
	switch all := xmltree.Children(v.security, nsDS, "Signature"); len(all) {
	case 0:
		return ErrUnsigned
	case 1:
		s, err := v.readSignature(all[0])
		if err != nil {
			return err
		}
		if err := v.identify(s); err != nil {
			return err
		}
		return v.checkReferences()
	default:
		return malformed("%d signatures in one wsse:Security", len(all))
	}
}

// checkReferences digests everything that the signature, which holds, is about.
func (v *verifier) checkReferences() error {
	var problems []string
	for i := range v.references {
		r := &v.references[i]
		var err error
		if r.Element != nil {
			err = v.checkElement(r)
		} else {
			err = v.checkPart(r)
		}
		v.report.References[i] = r.Result
		if err != nil {
			return err
		}
		if r.Problem != "" {
			problems = append(problems, fmt.Sprintf("reference %s %s", shown(r.URI), r.Problem))
		}
	}
	if len(problems) == 0 {
		return nil
	}
	const most = 3
	if more := len(problems) - most; more > 0 {
		problems = append(problems[:most], fmt.Sprintf("and %d more", more))
	}
	return fmt.Errorf("%w: %s", ErrSignature, strings.Join(problems, "; "))
}

// maxDigested bounds the canonical forms of all elements that a signature covers,
// in bytes: each of its references may lead to the same ones again.
const maxDigested = 64 << 20

// bounded hands on what an element is digested from.
type bounded struct {
	io.Writer
	v *verifier
}

// Write implements io.Writer.
func (b bounded) Write(p []byte) (int, error) {
	if b.v.digested += len(p); b.v.digested > maxDigested {
		return 0, fmt.Errorf("the elements that are signed have more than %d MiB together", maxDigested>>20)
	}
	return b.Writer.Write(p)
}

func (v *verifier) checkElement(r *reference) error {
	sum := r.Digest.New()
	if err := xmltree.Canonical(bounded{sum, v}, r.Element, r.c14n); err != nil {
		// What cannot be digested may have been decrypted: like a digest, it is not
		// for whoever sent it.
		r.Problem = fmt.Sprintf("(%s) cannot be digested: %v", shown(r.Element.FullTag()), err)
		return nil
	}
	r.Got = sum.Sum(nil)
	if !bytes.Equal(r.Got, r.Value) {
		r.Problem = r.changed(r.Element.FullTag())
	}
	return nil
}

// changed says that a digest differs. That it was the sender's digest is sure:
// SignedInfo verifies.
func (r *reference) changed(what string) string {
	return fmt.Sprintf("(%s) was changed after it was signed: its %s digest is %s, the signature has %s",
		shown(what), hashName(r.Digest), encode(r.Got), encode(r.Value))
}

func hashName(h crypto.Hash) string {
	d, _ := xmldsig.DigestByHash(h)
	return d.Name
}

// checkPart digests a part. An error is one of reading it; all else is a Problem.
func (v *verifier) checkPart(r *reference) error {
	var part *Part
	for i := range v.parts {
		if v.parts[i].ContentID != r.Part {
			continue
		}
		if part != nil {
			r.Problem = "leads to two parts with this Content-ID"
			return nil
		}
		part = &v.parts[i]
	}
	if part == nil {
		r.Problem = "leads to no part of the message"
		return nil
	}
	content, err := part.Open()
	if err != nil {
		return fmt.Errorf("open part %s: %w", shown(r.Part), err)
	}
	defer content.Close()
	sums := partSums{transformed: PartDigest(r.Digest, part.MediaType)}
	if formOf(part.MediaType) != formRaw {
		sums.raw = PartDigest(r.Digest, "")
	}
	if _, err := io.Copy(&sums, content); err != nil {
		return fmt.Errorf("read part %s: %w", shown(r.Part), err)
	}
	sums.judge(r, part.MediaType)
	return nil
}

// partSums digests a part by both rules that peers follow; raw is nil if they
// come to the same.
type partSums struct{ transformed, raw *Digester }

// Write never fails: what cannot be transformed still has its raw digest.
func (s *partSums) Write(p []byte) (int, error) {
	_, _ = s.transformed.Write(p) // Close tells
	if s.raw != nil {
		return s.raw.Write(p)
	}
	return len(p), nil
}

// judge compares with the digest in the signature.
// QUIRK(as4 0.2.0): digests XML and text as they are, without the content
// transform. Nothing that is not signed gets in this way: the raw bytes are.
func (s *partSums) judge(r *reference, mediaType string) {
	err := s.transformed.Close()
	r.Got = s.transformed.Sum()
	if err == nil && bytes.Equal(r.Got, r.Value) {
		if s.transformed.comments {
			r.Tolerated = fmt.Sprintf("it holds comments: the content transform of %s leaves them out, so they are not signed", shown(mediaType))
		}
		return
	}
	if s.raw != nil && s.raw.Close() == nil && bytes.Equal(s.raw.Sum(), r.Value) {
		r.Got = s.raw.Sum()
		r.Tolerated = fmt.Sprintf("the digest is over the bytes as they are, not over the content transform of %s", shown(mediaType))
		return
	}
	if err != nil {
		r.Problem = fmt.Sprintf("cannot be digested: %v", err)
		return
	}
	r.Problem = r.changed("part " + mediaType)
}
