package as2sender

import (
	"context"
	"crypto"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"

	"edigw/as2"
	"edigw/as2/smime"
	"edigw/lane/evidence"
	"edigw/lane/wire"
	"edigw/queue"
)

// Files of the evidence of AS2, besides those of package evidence. Their names are
// fixed, since commands name them.
const (
	entityFile     = "entity.bin"
	signedPartFile = "receipt-signed-part.bin"
	signatureFile  = "receipt-signature.p7s"
)

// Evidence writes a zip that proves, to somebody who does not trust us, what
// the partner acknowledged: the entity that the MIC covers, the receipt, its
// signature in pieces, certificates, the settings in force, and VERIFY.txt with
// commands for openssl. What is not there any more is named in README.txt and
// is no error. It holds neither secrets nor the token of a receipt's URL.
//
// The document is streamed. attempts and builds are all those of m, oldest
// first. Errors are those of w, of ctx, and of a file that breaks off while it
// is read; the zip is unusable then.
func (s *Sender) Evidence(ctx context.Context, w io.Writer, m queue.Message, attempts []queue.Attempt, builds []queue.Build) error {
	z, err := evidence.New(ctx, w, evidence.Case{Settings: s.Settings(), Spool: s.Spool, Message: m, Attempts: attempts, Builds: builds, Now: s.Now()})
	if err != nil {
		return err
	}
	e := &proof{Zip: z}
	e.takeReceipt()
	e.chooseBuild()
	e.gatherCertificates()
	for _, write := range []func() error{e.writeEntity, e.writeReceipt, z.PutCertificates, z.PutSettings, e.writeTexts} {
		if err := write(); err != nil {
			return fmt.Errorf("evidence of message %s: %w", m.ID, err)
		}
	}
	return z.Close()
}

// proof is what is proven of an AS2 message.
type proof struct {
	*evidence.Zip

	mdn       as2.MDN
	part      []byte // what the receipt's signature covers, exactly as it arrived
	signature []byte // CMS; nil if there is none

	rendition as2.Rendition // of the build; zero if there is none
	mic       as2.MIC       // that the entity must have
	entity    as2.Entity
	written   bool // entity.bin is there
	same      bool // and has that MIC
}

// chooseBuild finds the build that the receipt is about, and the digest of it
// that the receipt names.
func (e *proof) chooseBuild() {
	e.Choose(func(b queue.Build) evidence.Fit {
		r, err := rendition(b)
		if err != nil || len(r.MICs) == 0 {
			return evidence.Unknown
		}
		if _, named := e.named(r); named {
			return evidence.Fitting
		}
		return evidence.Possible
	})
	if !e.Sent {
		return
	}
	e.rendition, _ = rendition(e.Build)
	e.entity = e.rendition.Entity
	e.mic, _ = e.named(e.rendition)
}

// named is the digest of a rendition that the receipt names, else the first.
func (e *proof) named(r as2.Rendition) (as2.MIC, bool) {
	if as2.SameMessageID(r.MessageID, e.mdn.OriginalMessageID) {
		for i := len(r.MICs) - 1; i >= 0; i-- {
			if r.MICs[i].Equal(e.mdn.MIC) {
				return r.MICs[i], true
			}
		}
	}
	return r.MICs[0], false
}

// gatherCertificates takes those that may have signed, as on file now for the
// time of sending or of the receipt.
func (e *proof) gatherCertificates() {
	a, err := e.Settings.Acknowledging(e.Message.Partner, wire.FirstSent(e.Builds, e.Message.Accepted), e.Came())
	if err != nil {
		e.SettingsGone(err)
	}
	e.Theirs = a.Verify
	if e.Sent && err == nil {
		then, _ := e.Settings.Receiving(e.Message.Partner, e.Build.Created)
		e.Own, e.Current = then.SigningCertificate, then.Fingerprint() == e.Build.Agreement
	}
	if e.signature == nil {
		return
	}
	e.FindSigner(func(theirs []*x509.Certificate) (signer *x509.Certificate, carried []*x509.Certificate, err error) {
		v, err := smime.VerifyDetached(e.signature, func(h crypto.Hash) ([]byte, error) {
			sum := h.New()
			sum.Write(e.part)
			return sum.Sum(nil), nil
		}, theirs)
		if v == nil {
			return nil, nil, err
		}
		return v.Signer, v.Embedded, err
	})
}

func (e *proof) writeEntity() error {
	if !e.Sent {
		return nil
	}
	payload, err := e.Document(entityFile)
	if payload == nil || err != nil {
		return err
	}
	defer payload.Close()
	if err := e.chooseEntity(payload); err != nil {
		return err
	}
	w, err := e.Create(entityFile)
	if err != nil {
		return err
	}
	got, err := e.digest(w, e.entity, payload)
	if err != nil {
		return err
	}
	e.written, e.same = true, got.Equal(e.mic)
	if !e.same {
		e.Lacks("%s has the digest %s instead of %s: what was sent cannot be made again by this release.", entityFile, got, e.mic)
	}
	if !e.encoded() {
		return nil
	}
	if w, err = e.Create(evidence.DocumentFile); err != nil {
		return err
	}
	_, err = e.digest(w, as2.Entity{Encoding: as2.Binary}, payload)
	return err
}

// encoded reports whether the document does not stand in the entity as it is.
func (e *proof) encoded() bool {
	return e.entity.Compressed != "" || e.entity.Encoding == as2.Base64
}

// chooseEntity finds what the MIC covers. It is the entity that was foreseen,
// unless the partner digested an unsigned message in another way that is right,
// too: its body alone.
func (e *proof) chooseEntity(payload io.ReadSeeker) error {
	if e.mic == e.rendition.MICs[0] || e.entity.Compressed != "" {
		return nil
	}
	for _, covered := range []as2.Entity{e.entity, {Encoding: e.entity.Encoding}, {Encoding: as2.Base64}} {
		got, err := e.digest(io.Discard, covered, payload)
		if err != nil {
			return err
		}
		if got.Equal(e.mic) {
			e.entity = covered
			return nil
		}
	}
	return nil
}

// digest writes an entity around the document and returns its digest by the
// algorithm of the MIC.
func (e *proof) digest(w io.Writer, entity as2.Entity, payload io.ReadSeeker) (as2.MIC, error) {
	h, ok := smime.HashByName(e.mic.Algorithm)
	if !ok {
		return as2.MIC{}, fmt.Errorf("build %d names the digest %q", e.Build.N, e.mic.Algorithm)
	}
	sum := h.New()
	err := entity.Write(io.MultiWriter(w, sum), payload, e.Message.Payload.Size)
	return as2.MIC{Algorithm: e.mic.Algorithm, Value: base64.StdEncoding.EncodeToString(sum.Sum(nil))}, err
}
