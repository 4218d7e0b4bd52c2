package main

import (
	"bytes"
	"crypto"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"edigw/as4/ebms"
	"edigw/as4/wssec"
	"edigw/internal/rsakey"

	"github.com/beevik/etree"

	"github.com/klauspost/compress/gzip"
)

// as4Work is cryptoWork for AS4: what is signed and encrypted is the document as
// gzip makes it, and the headers around it are digested.
type as4Work struct {
	cryptoWork
	packed []byte // the document
	header []byte // as large as an eb:Messaging with its SignedInfo, in canonical form
}

// newAS4Work packs the document once: gzip is no cryptography.
func newAS4Work(t testing.TB, p pair, document []byte) *as4Work {
	t.Helper()
	w := &as4Work{cryptoWork: newCryptoWork(t, p, document), header: bytes.Repeat([]byte("AS4 "), 850)}
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, 3)
	if err == nil {
		_, err = z.Write(document)
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	w.packed = b.Bytes()
	return w
}

// zippers are used again, as by anybody who compresses much.
var zippers = sync.Pool{New: func() any {
	z, _ := gzip.NewWriterLevel(nil, 3)
	return z
}}

// pack compresses the document and decompresses it, and does nothing with it.
func (w *as4Work) pack() error {
	z := zippers.Get().(*gzip.Writer)
	defer zippers.Put(z)
	var b bytes.Buffer
	z.Reset(&b)
	if _, err := z.Write(w.document); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	r, err := gzip.NewReader(&b)
	if err != nil {
		return err
	}
	n, err := io.Copy(io.Discard, r)
	if err == nil && n != int64(len(w.document)) {
		err = fmt.Errorf("%d bytes came out of %d", n, len(w.document))
	}
	return err
}

// bare is the rate with the standard library alone, but for who computes with
// the private keys.
func (w *as4Work) bare(t testing.TB, span time.Duration, own, theirs rsakey.Key) pace {
	oaep := &rsa.OAEPOptions{Hash: crypto.SHA256, MGFHash: crypto.SHA256}
	return paced(t, span, func() error {
		// The sender signs part and headers, encrypts, names the wire bytes.
		part, sum := sha256.Sum256(w.packed), sha256.Sum256(w.header)
		signature, err := own.Sign(rand.Reader, sum[:], crypto.SHA256)
		if err != nil {
			return err
		}
		key, nonce := make([]byte, 16), make([]byte, 12)
		rand.Read(key)
		rand.Read(nonce)
		wrapped, err := rsa.EncryptOAEP(sha256.New(), rand.Reader, &w.theirsGo.PublicKey, key, nil)
		if err != nil {
			return err
		}
		sealed, err := gcmOf(key)
		if err != nil {
			return err
		}
		body := sealed.Seal(nil, nonce, w.packed, nil)
		sha256.Sum256(body)

		// The receiver decrypts, verifies, signs the receipt.
		if key, err = theirs.Decrypt(rand.Reader, wrapped, oaep); err != nil {
			return err
		}
		opened, err := gcmOf(key)
		if err != nil {
			return err
		}
		if body, err = opened.Open(body[:0], nonce, body, nil); err != nil {
			return err
		}
		sum = sha256.Sum256(w.header)
		if sha256.Sum256(body) != part {
			return errors.New("not what was encrypted")
		}
		if err := rsa.VerifyPKCS1v15(&w.ownGo.PublicKey, crypto.SHA256, sum[:], signature); err != nil {
			return err
		}
		sum = sha256.Sum256(w.header)
		if signature, err = theirs.Sign(rand.Reader, sum[:], crypto.SHA256); err != nil {
			return err
		}

		// The sender verifies the receipt.
		sum = sha256.Sum256(w.header)
		return rsa.VerifyPKCS1v15(&w.theirsGo.PublicKey, crypto.SHA256, sum[:], signature)
	})
}

func gcmOf(key []byte) (cipher.AEAD, error) {
	b, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(b)
}

// engine is the rate with as4/wssec: its signatures over a header of ebMS, its
// encryption, and no more of SOAP than they need.
func (w *as4Work) engine(t testing.TB, span time.Duration) pace {
	const id, name = "message@edi.acme.example", "payload@edi.acme.example"
	now := time.Now()
	sender := wssec.Signing{Key: w.own, Certificate: w.ownCert, Algorithm: wssec.RSASHA256}
	receiver := wssec.Signing{Key: w.theirs, Certificate: w.theirsCert, Algorithm: wssec.RSASHA256}
	return paced(t, span, func() error {
		user := &ebms.UserMessage{MessageInfo: ebms.MessageInfo{Timestamp: now, MessageID: id},
			From:    ebms.Party{IDs: []ebms.PartyID{{Value: "urn:example:acme"}}, Role: "urn:example:sender"},
			To:      ebms.Party{IDs: []ebms.PartyID{{Value: "urn:example:northwind"}}, Role: "urn:example:receiver"},
			Service: ebms.Service{Value: "urn:example:orders"}, Action: "Deliver", ConversationID: id, Parts: []ebms.PartInfo{{Href: wssec.PartURI(name)}}}
		env, security := secured(user.Element())
		x, err := wssec.NewEncrypter(wssec.Encrypting{Recipient: w.theirsCert, Cipher: wssec.AES128GCM})
		if err != nil {
			return err
		}
		digest := wssec.PartDigest(crypto.SHA256, "application/gzip")
		var wire bytes.Buffer
		named := sha256.New()
		part := x.Part(io.MultiWriter(&wire, named), name, "application/gzip")
		if _, err := io.MultiWriter(digest, part).Write(w.packed); err != nil {
			return err
		}
		if err := errors.Join(digest.Close(), part.Close()); err != nil {
			return err
		}
		x.Write(security)
		covered := wssec.Covered{Elements: []*etree.Element{env.Messaging, env.Body}, Parts: []wssec.Digested{{ContentID: name, Digest: digest.Sum()}}}
		if _, err := wssec.Sign(security, covered, sender); err != nil {
			return err
		}

		sealed, err := wssec.ReadEncrypted(security)
		if err != nil {
			return err
		}
		opening, err := sealed.Unlock([]wssec.Opener{{Certificate: w.theirsCert, Key: w.theirs}})
		if err != nil {
			return err
		}
		var plain bytes.Buffer
		if err := opening.Decrypt(&plain, name, &wire); err != nil {
			return err
		}
		open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(plain.Bytes())), nil }
		report, err := wssec.Verify(env.Root, security, []wssec.Part{{ContentID: name, MediaType: "application/gzip", Open: open}},
			wssec.Trust{Pinned: []*x509.Certificate{w.ownCert}, Now: now})
		if err != nil {
			return err
		}
		receipt := ebms.NewReceipt(ebms.MessageInfo{Timestamp: now, MessageID: "receipt@edi.northwind.example", RefToMessageID: id}, report.SignedInfoReferences)
		env, security = secured(receipt.Element())
		if _, err := wssec.Sign(security, wssec.Covered{Elements: []*etree.Element{env.Messaging, env.Body}}, receiver); err != nil {
			return err
		}

		_, err = wssec.Verify(env.Root, security, nil, wssec.Trust{Pinned: []*x509.Certificate{w.theirsCert}, Now: now})
		return err
	})
}

// secured is an envelope with a header for its security.
func secured(message *etree.Element) (*ebms.Envelope, *etree.Element) {
	env, security := ebms.NewEnvelope(message), wssec.NewSecurity()
	env.Header.InsertChildAt(0, security)
	return env, security
}
