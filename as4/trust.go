package as4

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"edigw/as4/ebms"
	"edigw/as4/wssec"
	"edigw/internal/tame"
)

// maxReferences bounds what a signature covers: every attachment, and as many
// elements as anybody may have in mind.
const maxReferences = maxParts + 50

// verify checks who signed an envelope of the partner's, and what is signed.
// parts are the attachments. The Report is never nil; the error is one of
// package wssec, or of reading a part. What must be covered is the caller's to
// ask.
func (p PMode) verify(env *ebms.Envelope, parts []wssec.Part, now time.Time) (*wssec.Report, error) {
	if env.Header == nil {
		return &wssec.Report{}, wssec.ErrUnsigned
	}
	security, err := wssec.Security(env.Header, "")
	if err != nil {
		return &wssec.Report{}, err
	}
	report, err := wssec.Verify(env.Root, security, parts, wssec.Trust{
		Pinned: p.Verify, Authorities: p.Authorities, Now: now,
		Algorithms: p.Receive.Algorithms, Digest: p.Receive.Digest, MaxReferences: maxReferences,
	})
	if err == nil {
		err = p.checkSubject(report)
	}
	return report, p.known(report, err)
}

// known adds to an unknown signer that his certificate is on file, and does not
// count now.
func (p PMode) known(r *wssec.Report, err error) error {
	for _, c := range p.Lapsed {
		if errors.Is(err, wssec.ErrSigner) && slices.ContainsFunc(r.Claimed, c.Equal) {
			err = fmt.Errorf("%w; it is on file, but not in force now: %s", err, certificateName(c))
		}
	}
	return err
}

// checkSubject binds a signer whom an authority vouches for to the partner: the
// same authority vouches for others as well.
func (p PMode) checkSubject(r *wssec.Report) error {
	if !p.SubjectIsParty || slices.ContainsFunc(p.Verify, r.Signer.Equal) {
		return nil
	}
	name := r.Signer.Subject.CommonName
	var ids []string
	for _, id := range p.To.IDs {
		if id.Value == name {
			return nil
		}
		ids = append(ids, id.Value)
	}
	return fmt.Errorf("%w: the certificate is for %q, the partner is %s", wssec.ErrSigner, tame.Clip(tame.Line(name), maxShown), strings.Join(ids, ", "))
}

// reportLines says of each reference of a signature what it says and what was
// found, one line each.
func reportLines(r *wssec.Report) (lines []string) {
	if r == nil {
		return nil
	}
	for _, f := range r.References {
		line := fmt.Sprintf("%s: %s says %s", tame.Clip(tame.Line(f.URI), maxShown), f.Digest, base64.StdEncoding.EncodeToString(f.Value))
		if f.Got != nil {
			line += ", computed " + base64.StdEncoding.EncodeToString(f.Got)
		}
		for _, more := range []string{f.Problem, f.Tolerated} {
			if more != "" {
				line += ": " + more
			}
		}
		lines = append(lines, line)
	}
	return lines
}
