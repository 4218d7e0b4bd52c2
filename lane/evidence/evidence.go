// Package evidence is the frame of a zip that proves, to somebody who does not
// trust us, what a partner acknowledged: whatever the protocol, there are the
// receipt as it came, certificates, the settings in force, README.txt with the
// facts, and VERIFY.txt with commands that anybody can run.
//
// What a receipt is about, and how it is checked, is the protocol's to say. What
// is not there any more is told in README.txt and is no error. The zip holds
// neither secrets nor the token of a receipt's URL.
package evidence

import (
	"archive/zip"
	"context"
	"crypto/x509"
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
	"edigw/lane/wire"
	"edigw/partner"
	"edigw/queue"
	"edigw/store/spool"
)

// Files of every evidence. Their names are fixed, since commands name them.
const (
	DocumentFile = "document.bin"
	ReceiptFile  = "receipt.http"
	OwnFile      = "own-sign.pem"
	settingsFile = "settings.txt"
	readmeFile   = "README.txt"
	verifyFile   = "VERIFY.txt"
)

// Case is what an evidence is about.
type Case struct {
	Settings *partner.Snapshot
	Spool    *spool.Spool
	Message  queue.Message
	Attempts []queue.Attempt // all of it, oldest first
	Builds   []queue.Build   // the same
	Now      time.Time
}

// Zip is one evidence while it is written. Its methods are called in the order
// in which they stand here; errors are those of the writer, of its context, and
// of a file that breaks off while it is read: the zip is unusable then.
type Zip struct {
	Case
	Attempt *queue.Attempt // that brought the receipt; nil: no receipt
	Receipt as2.Receipt    // with its header as it came

	Build queue.Build // that the receipt is about
	Sent  bool        // there is one

	Theirs  []*x509.Certificate // may have signed the receipt
	Signer  int                 // index of the one that did; −1: none
	Own     *x509.Certificate
	Current bool // the settings are those of the build

	zip     *zip.Writer
	missing []string // sentences: what is not there, and why
}

// New begins one and takes the receipt that settled the message.
func New(ctx context.Context, w io.Writer, c Case) (*Zip, error) {
	z := &Zip{Case: c, Signer: -1, zip: zip.NewWriter(wire.Stoppable(ctx, w))}
	return z, z.readReceipt()
}

// Lacks notes what is not there, and why, in one sentence.
func (z *Zip) Lacks(format string, args ...any) {
	z.missing = append(z.missing, fmt.Sprintf(format, args...))
}

// readReceipt takes the last trusted one, a positive one first, or else the last
// that came at all.
func (z *Zip) readReceipt() error {
	best := 0
	for i := range z.Attempts {
		a, rank := &z.Attempts[i], 1
		if a.Raw == "" {
			continue
		}
		if a.Ack != nil && a.Ack.Verdict == fault.AckTrusted {
			rank = 2
			if a.Ack.Positive {
				rank = 3
			}
		}
		if rank >= best {
			best, z.Attempt = rank, a
		}
	}
	if z.Attempt == nil {
		z.Lacks("No receipt is on file, so nothing here is signed by the partner.")
		return nil
	}
	n := z.Attempt.N
	f, err := z.Spool.Open(spool.Receipt, z.Attempt.Raw)
	if errors.Is(err, fs.ErrNotExist) {
		z.Lacks("The receipt of attempt %d is not kept any more (retention).", n)
		z.Attempt = nil
		return nil
	} else if err != nil {
		return err
	}
	defer f.Close()
	if z.Receipt, err = as2.ReadReceipt(f); err != nil {
		z.Lacks("The receipt of attempt %d is damaged: %v.", n, err)
		z.Attempt = nil
	}
	return nil
}

// Fit says what is known of a build and the receipt.
type Fit int

// Fits of a build.
const (
	Unknown  Fit = iota // its record cannot be read back
	Possible            // it is one of this protocol
	Fitting             // the receipt names what it sent
)

// Choose finds the build that the receipt is about: the newest that it fits, else
// the one that its attempt sent, else the newest that went out.
func (z *Zip) Choose(fit func(queue.Build) Fit) {
	best := 0
	for _, b := range z.Builds {
		if !b.Sent {
			continue
		}
		rank := 0
		switch fit(b) {
		case Unknown:
			continue
		case Fitting:
			rank = 3
		default:
			rank = 1
			if z.Attempt != nil && z.Attempt.Build == b.N {
				rank = 2
			}
		}
		if rank >= best {
			best, z.Build, z.Sent = rank, b, true
		}
	}
	if best == 0 {
		z.Lacks("Nothing was sent, or what is known of it cannot be read back.")
	}
}

// Came is when the receipt did; now, if there is none.
func (z *Zip) Came() time.Time {
	if z.Attempt == nil {
		return z.Now
	}
	return z.Attempt.Started.Add(z.Attempt.Duration)
}

// SettingsGone notes that the partner's settings are.
func (z *Zip) SettingsGone(err error) {
	z.Lacks("The settings of partner %s are gone: %v.", z.Message.Partner, err)
}

// FindSigner tells with which of Theirs the receipt's signature verifies. One that
// was taken off the settings since is found in the receipt itself, by the
// fingerprint that was noted when it verified; and so is one below an authority.
// verify gives the certificate that verified, or those that came along with the
// error.
func (z *Zip) FindSigner(verify func(theirs []*x509.Certificate) (signer *x509.Certificate, carried []*x509.Certificate, err error)) {
	signer, carried, err := verify(z.Theirs)
	if err != nil && z.Attempt.Ack != nil && z.Attempt.Ack.Verdict == fault.AckTrusted {
		for _, c := range carried {
			if smime.Fingerprint(c) == z.Attempt.Ack.Signer {
				z.Theirs = append(z.Theirs, c)
				signer, _, err = verify(z.Theirs)
				break
			}
		}
	}
	if err != nil {
		z.Lacks("The receipt's signature does not verify: %v.", err)
		return
	}
	for i, c := range z.Theirs {
		if c.Equal(signer) {
			z.Signer = i
			return
		}
	}
	z.Theirs, z.Signer = append(z.Theirs, signer), len(z.Theirs)
}

// Document opens the document of the message; nil if it is not there, or not
// whole. file is what is missing then.
func (z *Zip) Document(file string) (io.ReadSeekCloser, error) {
	document, err := z.Spool.Open(spool.Payload, z.Message.Payload.SHA256)
	if errors.Is(err, fs.ErrNotExist) {
		z.Lacks("The document is not kept any more (retention), so %s is missing.", file)
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	n, err := z.Spool.Size(spool.Payload, z.Message.Payload.SHA256)
	if err == nil && n == z.Message.Payload.Size {
		return document, nil
	}
	document.Close()
	if err == nil {
		z.Lacks("The stored document is damaged, so %s is missing.", file)
	}
	return nil, err
}

// Create begins a file; it is written before the next one begins.
func (z *Zip) Create(name string) (io.Writer, error) {
	return z.zip.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: z.Now.UTC()})
}

// Put writes a small file.
func (z *Zip) Put(name string, data []byte) error {
	w, err := z.Create(name)
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}

// PutReceipt writes the receipt without what lets somebody pose as the partner:
// the token of its URL, and cookies.
func (z *Zip) PutReceipt() error {
	if z.Attempt == nil {
		return nil
	}
	shown := as2.Receipt{Header: z.Receipt.Header.Clone(), Body: z.Receipt.Body}
	shown.Header.Del("Set-Cookie")
	w, err := z.Create(ReceiptFile)
	if err != nil {
		return err
	}
	return shown.Write(w)
}

// PutCertificates writes theirs and ours.
func (z *Zip) PutCertificates() error {
	for i, c := range z.Theirs {
		if err := z.Put(TheirFile(i), certificatePEM(c)); err != nil {
			return err
		}
	}
	if z.Own == nil {
		return nil
	}
	return z.Put(OwnFile, certificatePEM(z.Own))
}

// TheirFile is the file of the i-th certificate of the partner, from 0.
func TheirFile(i int) string { return fmt.Sprintf("partner-verify-%d.pem", i+1) }

func certificatePEM(c *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
}

// PutSettings writes what is in force.
func (z *Zip) PutSettings() error {
	var b strings.Builder
	fmt.Fprintf(&b, "Settings of partner %s in force on %s, with the origin of each. Secrets are not shown.\n", z.Message.Partner, Instant(z.Now))
	if z.Sent {
		same := "Names, algorithms, certificates or the receipt asked for were others when the message was built."
		if z.Current {
			same = "Names, algorithms, certificates and the receipt asked for are those that the message was built with."
		}
		b.WriteString(same + "\n")
	}
	b.WriteString("\n")
	for _, set := range z.Settings.Effective(z.Message.Partner) {
		fmt.Fprintf(&b, "%s: %s  (%s)\n", set.Key, OneLine(set.Value), set.Origin)
	}
	return z.Put(settingsFile, []byte(b.String()))
}

// Close ends the zip.
func (z *Zip) Close() error { return z.zip.Close() }
