package as4sender

import (
	"context"
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"slices"

	"edigw/as4"
	"edigw/as4/ebms"
	"edigw/as4/wssec"
	"edigw/fault"
	"edigw/internal/scratch"
	"edigw/lane/evidence"
	"edigw/lane/wire"
	"edigw/queue"
)

// Files of the evidence of AS4, besides those of package evidence. Their names are
// fixed, since commands name them.
const (
	envelopeFile = "receipt.xml"
	headerFile   = "messaging.xml"
	bodyFile     = "body.xml"
)

// Evidence writes a zip that proves, to somebody who does not trust us, what
// the partner acknowledged: the receipt as it came and its envelope alone, what
// our signature covered, made again (header, Body, each payload), certificates,
// the settings in force, and VERIFY.txt with commands for xmlsec1 and openssl.
// What is not there any more, or cannot be made again, is named in README.txt and
// is no error. It holds neither secrets nor the token of a receipt's URL.
//
// Documents are streamed. attempts and builds are all those of m, oldest first.
// Errors are those of w, of ctx, and of a file that breaks off while it is read;
// the zip is unusable then.
func (s *Sender) Evidence(ctx context.Context, w io.Writer, m queue.Message, attempts []queue.Attempt, builds []queue.Build) error {
	z, err := evidence.New(ctx, w, evidence.Case{Settings: s.Settings(), Spool: s.Spool, Message: m, Attempts: attempts, Builds: builds, Now: s.Now()})
	if err != nil {
		return err
	}
	e := &proof{Zip: z, sender: s, ctx: ctx}
	e.takeReceipt()
	e.chooseBuild()
	e.gatherCertificates()
	for _, write := range []func() error{e.writeCovered, e.writeReceipt, z.PutCertificates, z.PutSettings, e.writeTexts} {
		if err := write(); err != nil {
			return fmt.Errorf("evidence of message %s: %w", m.ID, err)
		}
	}
	return z.Close()
}

// proof is what is proven of an AS4 message.
type proof struct {
	*evidence.Zip
	sender *Sender
	ctx    context.Context

	p      as4.PMode // that the receipt is judged by
	signal as4.Signal
	signed as4.SignalProof

	rendition as4.Rendition // of the build; zero if there is none
	made      []made
	document  bool // document.bin is there
}

// made is something that our signature covered, as a file.
type made struct {
	as4.Covered
	file string
	same bool   // it has the digest that was signed
	part string // file of the payload as it was handed in; empty: file itself
	sum  string // SHA-256 of the payload
}

// takeReceipt reads the receipt, if there is one.
func (e *proof) takeReceipt() {
	var err error
	e.p, err = e.Settings.AcknowledgingPMode(e.Message.Partner, wire.FirstSent(e.Builds, e.Message.Accepted), e.Came())
	if err != nil {
		e.SettingsGone(err)
	}
	e.sender.knew(&e.p, e.Builds)
	e.Theirs = e.p.Verify
	if e.Attempt == nil {
		return
	}
	_, e.signal = as4.VerifySignal(e.Receipt.Header, e.Receipt.Body, renditions(e.Builds, ""), e.p, e.Came())
	e.signed = as4.ProveSignal(e.Receipt.Header, e.Receipt.Body, e.p, e.Came())
	switch {
	case e.signed.Envelope == nil:
		e.Lacks("What was answered is no SOAP message.")
	case !e.signed.Signed:
		e.Lacks("The receipt is not signed.")
	}
}

// chooseBuild finds the build that the receipt is about.
func (e *proof) chooseBuild() {
	e.Choose(func(b queue.Build) evidence.Fit {
		r, err := rendition(b)
		switch {
		case err != nil || r.MessageID == "":
			return evidence.Unknown
		case ebms.SameMessageID(r.MessageID, e.signal.RefToMessageID) && ebms.Compare(r.References, e.signal.References) == nil:
			return evidence.Fitting
		}
		return evidence.Possible
	})
	if e.Sent {
		e.rendition, _ = rendition(e.Build)
	}
}

// gatherCertificates takes those that may have signed, as on file now for the
// time of sending or of the receipt.
func (e *proof) gatherCertificates() {
	if then, err := e.Settings.ReceivingPMode(e.Message.Partner, e.Build.Created); e.Sent && err == nil {
		e.Own = then.Sign.Certificate
		e.Current = withOwn(e.Settings, then, e.Message).Fingerprint() == e.rendition.Agreement
	}
	if !e.signed.Signed {
		return
	}
	e.FindSigner(func(theirs []*x509.Certificate) (signer *x509.Certificate, carried []*x509.Certificate, err error) {
		p := e.p
		p.Verify = theirs
		s := as4.ProveSignal(e.Receipt.Header, e.Receipt.Body, p, e.Came())
		return s.Signer, s.Carried, s.Problem
	})
}

// writeReceipt writes the receipt, and its envelope alone.
func (e *proof) writeReceipt() error {
	if err := e.PutReceipt(); err != nil || e.signed.Envelope == nil {
		return err
	}
	return e.Put(envelopeFile, e.signed.Envelope)
}

// writeCovered writes what our signature covered, each as a file, and the
// document as it was handed in where it is none of those.
func (e *proof) writeCovered() error {
	if !e.Sent {
		return nil
	}
	stored, err := e.Document("what was sent of it")
	if stored == nil || err != nil {
		return err
	}
	defer stored.Close()
	space := e.sender.Rooms.Space(e.sender.Scratch, e.Message.Partner, "")
	defer space.Close()
	d, done, err := e.sender.document(e.ctx, e.Message, space)
	if done != nil {
		defer done()
	}
	switch {
	case err == nil:
		err = e.writeMade(d.Payloads, space)
	case barred(err).Cause != fault.CauseStopped: // it is taken apart, or wrapped, in another way today
		e.Lacks("What was signed cannot be made again: %v.", err)
		err = nil
	}
	if err != nil {
		return err
	}
	if slices.ContainsFunc(e.made, func(m made) bool { return m.Plain && m.sum == e.Message.Payload.SHA256 }) {
		return nil
	}
	w, err := e.Create(evidence.DocumentFile)
	if err != nil {
		return err
	}
	e.document = true
	_, err = io.Copy(w, stored)
	return err
}

// writeMade writes what was covered.
func (e *proof) writeMade(payloads []as4.Payload, space *scratch.Space) error {
	all, err := as4.Remake(e.rendition, payloads, space)
	if err != nil {
		e.Lacks("What was signed cannot be made again: %v.", err)
		return nil
	}
	if len(all) == 0 {
		e.Lacks("The message was not signed, so a receipt for it names no digests.")
	}
	for _, c := range all {
		m := made{Covered: c, file: fileOf(c)}
		h, ok := wssec.DigestByURI(c.DigestMethod)
		if !ok {
			return fmt.Errorf("build %d names the digest %q", e.Build.N, c.DigestMethod)
		}
		got, err := e.write(m.file, h, c.Write)
		if err != nil {
			return err
		}
		if m.same = got == base64.StdEncoding.EncodeToString(c.Value); !m.same {
			e.Lacks("%s has the digest %s instead of %s: what was sent cannot be made again by this release.", m.file, got, base64.StdEncoding.EncodeToString(c.Value))
		}
		if c.Payload > 0 {
			if err := e.writePart(&m, payloads[c.Payload-1], len(payloads)); err != nil {
				return err
			}
		}
		e.made = append(e.made, m)
	}
	return nil
}

// writePart writes a payload as it was handed in, unless that is another file
// already.
func (e *proof) writePart(m *made, p as4.Payload, n int) error {
	sum := sha256.New()
	copied := func(w io.Writer) error {
		if _, err := p.Content.Seek(0, io.SeekStart); err != nil {
			return err
		}
		_, err := io.Copy(w, p.Content)
		return err
	}
	if err := copied(sum); err != nil {
		return err
	}
	m.sum = hex.EncodeToString(sum.Sum(nil))
	switch {
	case m.Plain:
	case n == 1 && m.sum == e.Message.Payload.SHA256:
		m.part = evidence.DocumentFile
	default:
		m.part = fmt.Sprintf("part-%d.bin", m.Payload)
		w, err := e.Create(m.part)
		if err != nil {
			return err
		}
		return copied(w)
	}
	return nil
}

// write writes a file and gives its digest in base64.
func (e *proof) write(file string, h crypto.Hash, content func(io.Writer) error) (string, error) {
	w, err := e.Create(file)
	if err != nil {
		return "", err
	}
	sum := h.New()
	err = content(io.MultiWriter(w, sum))
	return base64.StdEncoding.EncodeToString(sum.Sum(nil)), err
}

// fileOf names the file of what a signature covers.
func fileOf(c as4.Covered) string {
	switch {
	case c.Kind == as4.CoveredHeader:
		return headerFile
	case c.Kind == as4.CoveredBody:
		return bodyFile
	case c.Compressed:
		return fmt.Sprintf("payload-%d.gz", c.Payload)
	}
	return fmt.Sprintf("payload-%d.bin", c.Payload)
}
