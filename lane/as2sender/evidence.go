package as2sender

import (
	"archive/zip"
	"context"
	"crypto"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"edigw/as2"
	"edigw/as2/smime"
	"edigw/fault"
	"edigw/partner"
	"edigw/queue"
	"edigw/store/spool"
)

// Files of the evidence. Their names are fixed, since commands name them.
const (
	entityFile     = "entity.bin"
	documentFile   = "document.bin"
	receiptFile    = "receipt.http"
	signedPartFile = "receipt-signed-part.bin"
	signatureFile  = "receipt-signature.p7s"
	ownFile        = "own-sign.pem"
	settingsFile   = "settings.txt"
	readmeFile     = "README.txt"
	verifyFile     = "VERIFY.txt"
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
	e := &evidence{
		sender: s, settings: s.Settings(), message: m, attempts: attempts, builds: builds, now: s.Now(),
		zip: zip.NewWriter(stoppable{ctx, w}),
	}
	if err := e.readReceipt(); err != nil {
		return err
	}
	e.chooseBuild()
	e.gatherCertificates()
	for _, write := range []func() error{e.writeEntity, e.writeReceipt, e.writeCertificates, e.writeSettings, e.writeTexts} {
		if err := write(); err != nil {
			return fmt.Errorf("evidence of message %s: %w", m.ID, err)
		}
	}
	return e.zip.Close()
}

// evidence is one zip while it is written.
type evidence struct {
	sender   *Sender
	settings *partner.Snapshot
	message  queue.Message
	attempts []queue.Attempt
	builds   []queue.Build
	now      time.Time
	zip      *zip.Writer
	missing  []string // sentences: what is not there, and why

	attempt   *queue.Attempt // that brought the receipt; nil: no receipt
	receipt   as2.Receipt
	mdn       as2.MDN
	part      []byte // what the receipt's signature covers, exactly as it arrived
	signature []byte // CMS; nil if there is none

	build     queue.Build
	rendition as2.Rendition // of build; zero if there is none
	mic       as2.MIC       // that the entity must have
	entity    as2.Entity
	written   bool // entity.bin is there
	same      bool // and has that MIC

	theirs  []*x509.Certificate // may have signed the receipt
	signer  int                 // index of the one that did; −1: none
	own     *x509.Certificate
	current bool // the settings are those of the build
}

func (e *evidence) lacks(format string, args ...any) {
	e.missing = append(e.missing, fmt.Sprintf(format, args...))
}

// chooseBuild finds the build that the receipt is about: by the digest that it
// names, else the one that its attempt sent, else the newest that went out.
func (e *evidence) chooseBuild() {
	best := 0
	for _, b := range e.builds {
		r, err := rendition(b)
		if err != nil || len(r.MICs) == 0 || !b.Sent {
			continue
		}
		mic, rank := r.MICs[0], 1
		if e.attempt != nil && e.attempt.Build == b.N {
			rank = 2
		}
		if as2.SameMessageID(r.MessageID, e.mdn.OriginalMessageID) {
			for _, m := range r.MICs {
				if m.Equal(e.mdn.MIC) {
					mic, rank = m, 3
				}
			}
		}
		if rank >= best {
			best, e.build, e.rendition, e.entity, e.mic = rank, b, r, r.Entity, mic
		}
	}
	if best == 0 {
		e.lacks("Nothing was sent, or what is known of it cannot be read back.")
	}
}

// sent reports whether a build was found.
func (e *evidence) sent() bool { return e.rendition.MessageID != "" }

// gatherCertificates takes those that may have signed, as on file now for the
// time of sending or of the receipt. One that was taken off since is found in
// the receipt, by the fingerprint that was noted when it verified.
func (e *evidence) gatherCertificates() {
	e.signer = -1
	came := e.now
	if e.attempt != nil {
		came = e.attempt.Started.Add(e.attempt.Duration)
	}
	a, err := e.settings.Acknowledging(e.message.Partner, firstSent(e.builds, e.message.Accepted), came)
	if err != nil {
		e.lacks("The settings of partner %s are gone: %v.", e.message.Partner, err)
	}
	e.theirs = a.Verify
	if e.sent() && err == nil {
		then, _ := e.settings.Receiving(e.message.Partner, e.build.Created)
		e.own, e.current = then.SigningCertificate, then.Fingerprint() == e.build.Agreement
	}
	if e.signature == nil {
		return
	}
	v, err := e.verify()
	if err != nil && v != nil && e.attempt.Ack != nil && e.attempt.Ack.Verdict == fault.AckTrusted {
		for _, c := range v.Embedded {
			if smime.Fingerprint(c) == e.attempt.Ack.Signer {
				e.theirs = append(e.theirs, c)
				v, err = e.verify()
				break
			}
		}
	}
	if err != nil {
		e.lacks("The receipt's signature does not verify: %v.", err)
		return
	}
	for i, c := range e.theirs {
		if c.Equal(v.Signer) {
			e.signer = i
		}
	}
}

func (e *evidence) verify() (*smime.Verification, error) {
	return smime.VerifyDetached(e.signature, func(h crypto.Hash) ([]byte, error) {
		sum := h.New()
		sum.Write(e.part)
		return sum.Sum(nil), nil
	}, e.theirs)
}

// create begins a file of the zip; nothing in it depends on the others.
func (e *evidence) create(name string) (io.Writer, error) {
	return e.zip.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: e.now.UTC()})
}

func (e *evidence) put(name string, data []byte) error {
	w, err := e.create(name)
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}

func (e *evidence) writeEntity() error {
	if !e.sent() {
		return nil
	}
	payload, err := e.sender.Spool.Open(spool.Payload, e.message.Payload.SHA256)
	if errors.Is(err, fs.ErrNotExist) {
		e.lacks("The document is not kept any more (retention), so %s is missing.", entityFile)
		return nil
	} else if err != nil {
		return err
	}
	defer payload.Close()
	n, err := e.sender.Spool.Size(spool.Payload, e.message.Payload.SHA256)
	if err != nil {
		return err
	}
	if n != e.message.Payload.Size {
		e.lacks("The stored document is damaged, so %s is missing.", entityFile)
		return nil
	}
	if err := e.chooseEntity(payload); err != nil {
		return err
	}
	w, err := e.create(entityFile)
	if err != nil {
		return err
	}
	got, err := e.digest(w, e.entity, payload)
	if err != nil {
		return err
	}
	e.written, e.same = true, got.Equal(e.mic)
	if !e.same {
		e.lacks("%s has the digest %s instead of %s: what was sent cannot be made again by this release.", entityFile, got, e.mic)
	}
	if !e.encoded() {
		return nil
	}
	if w, err = e.create(documentFile); err != nil {
		return err
	}
	_, err = e.digest(w, as2.Entity{Encoding: as2.Binary}, payload)
	return err
}

// encoded reports whether the document does not stand in the entity as it is.
func (e *evidence) encoded() bool {
	return e.entity.Compressed != "" || e.entity.Encoding == as2.Base64
}

// chooseEntity finds what the MIC covers. It is the entity that was foreseen,
// unless the partner digested an unsigned message in another way that is right,
// too: its body alone.
func (e *evidence) chooseEntity(payload io.ReadSeeker) error {
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
func (e *evidence) digest(w io.Writer, entity as2.Entity, payload io.ReadSeeker) (as2.MIC, error) {
	h, ok := smime.HashByName(e.mic.Algorithm)
	if !ok {
		return as2.MIC{}, fmt.Errorf("build %d names the digest %q", e.build.N, e.mic.Algorithm)
	}
	sum := h.New()
	err := entity.Write(io.MultiWriter(w, sum), payload, e.message.Payload.Size)
	return as2.MIC{Algorithm: e.mic.Algorithm, Value: base64.StdEncoding.EncodeToString(sum.Sum(nil))}, err
}

func (e *evidence) writeCertificates() error {
	for i, c := range e.theirs {
		if err := e.put(theirFile(i), certificatePEM(c)); err != nil {
			return err
		}
	}
	if e.own == nil {
		return nil
	}
	return e.put(ownFile, certificatePEM(e.own))
}

// theirFile is the file of the i-th certificate of the partner, from 0.
func theirFile(i int) string { return fmt.Sprintf("partner-verify-%d.pem", i+1) }

func certificatePEM(c *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
}

func (e *evidence) writeSettings() error {
	var b strings.Builder
	fmt.Fprintf(&b, "Settings of partner %s in force on %s, with the origin of each. Secrets are not shown.\n", e.message.Partner, instant(e.now))
	if e.sent() {
		same := "Names, algorithms, certificates or the receipt asked for were others when the message was built."
		if e.current {
			same = "Names, algorithms, certificates and the receipt asked for are those that the message was built with."
		}
		b.WriteString(same + "\n")
	}
	b.WriteString("\n")
	for _, set := range e.settings.Effective(e.message.Partner) {
		fmt.Fprintf(&b, "%s: %s  (%s)\n", set.Key, oneLine(set.Value), set.Origin)
	}
	return e.put(settingsFile, []byte(b.String()))
}
