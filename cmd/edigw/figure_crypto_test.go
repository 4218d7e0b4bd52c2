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
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"edigw/as2/smime"
	"edigw/internal/rsakey"
)

// cryptoWork is what one message costs both ends in cryptography, without HTTP,
// MIME or a store: its ceiling is what B1 is measured by.
type cryptoWork struct {
	own, theirs         rsakey.Key // of the back end that the program was built with
	ownGo, theirsGo     *rsa.PrivateKey
	ownCert, theirsCert *x509.Certificate
	document, receipt   []byte
}

func newCryptoWork(t testing.TB, p pair, document []byte) cryptoWork {
	t.Helper()
	own, ok := p.own.Key.(*rsa.PrivateKey)
	theirs, ok2 := p.theirs.Key.(*rsa.PrivateKey)
	if !ok || !ok2 {
		t.Fatal("the figure is about RSA")
	}
	return cryptoWork{own: rsakey.Wrap(own), theirs: rsakey.Wrap(theirs), ownGo: own, theirsGo: theirs, ownCert: p.own.Cert, theirsCert: p.theirs.Cert, document: document, receipt: bytes.Repeat([]byte("MDN "), 200)}
}

// keys are those of both sides.
func (w cryptoWork) keys() cryptoWork { return w }

// pace is how fast messages went, and what processor time each took: where
// other programs run on the machine, only the second says what the work costs.
type pace struct {
	rate float64 // a second
	cpu  time.Duration
}

func (p pace) better(q pace) pace { return pace{max(p.rate, q.rate), min(p.cpu, q.cpu)} }

// row shows a pace beside the best one.
func (p pace) row(top pace) string {
	return fmt.Sprintf("%10.0f   %12.0f %%   %10.2f ms   %12.0f %%", p.rate, 100*p.rate/top.rate, 1000*p.cpu.Seconds(), 100*top.cpu.Seconds()/p.cpu.Seconds())
}

// paced runs one message after the other on every core, for a while.
func paced(t testing.TB, span time.Duration, one func() error) pace {
	t.Helper()
	var n atomic.Int64
	var work sync.WaitGroup
	begin, used := time.Now(), cpuTime(t)
	for range runtime.GOMAXPROCS(0) {
		work.Go(func() {
			for time.Since(begin) < span {
				if err := one(); err != nil {
					t.Error(err)
					return
				}
				n.Add(1)
			}
		})
	}
	work.Wait()
	return pace{float64(n.Load()) / time.Since(begin).Seconds(), (cpuTime(t) - used) / time.Duration(max(1, n.Load()))}
}

// bare is the rate with the standard library alone, but for who computes with
// the private keys.
func (w cryptoWork) bare(t testing.TB, span time.Duration, own, theirs rsakey.Key) pace {
	return paced(t, span, func() error {
		// The sender signs, encrypts, names the wire bytes.
		sum := sha256.Sum256(w.document)
		signature, err := own.Sign(rand.Reader, sum[:], crypto.SHA256)
		if err != nil {
			return err
		}
		secret := make([]byte, 48)
		rand.Read(secret)
		wrapped, err := rsa.EncryptPKCS1v15(rand.Reader, &w.theirsGo.PublicKey, secret[:32]) //nolint:staticcheck // what AS2 does
		if err != nil {
			return err
		}
		block, err := aes.NewCipher(secret[:32])
		if err != nil {
			return err
		}
		body := bytes.Clone(w.document[:len(w.document)&^15])
		cipher.NewCBCEncrypter(block, secret[32:]).CryptBlocks(body, body)
		sha256.Sum256(body)

		// The receiver decrypts, verifies, signs the receipt.
		key, err := theirs.Decrypt(rand.Reader, wrapped, &rsa.PKCS1v15DecryptOptions{SessionKeyLen: 32}) //nolint:staticcheck // what AS2 does
		if err != nil {
			return err
		}
		if block, err = aes.NewCipher(key); err != nil {
			return err
		}
		cipher.NewCBCDecrypter(block, secret[32:]).CryptBlocks(body, body)
		if !bytes.Equal(body, w.document[:len(body)]) {
			return errors.New("not what was encrypted")
		}
		sum = sha256.Sum256(w.document)
		if err := rsa.VerifyPKCS1v15(&w.ownGo.PublicKey, crypto.SHA256, sum[:], signature); err != nil {
			return err
		}
		sum = sha256.Sum256(w.receipt)
		if signature, err = theirs.Sign(rand.Reader, sum[:], crypto.SHA256); err != nil {
			return err
		}

		// The sender verifies the receipt.
		return rsa.VerifyPKCS1v15(&w.theirsGo.PublicKey, crypto.SHA256, sum[:], signature)
	})
}

// engine is the rate with as2/smime.
func (w cryptoWork) engine(t testing.TB, span time.Duration) pace {
	now := time.Now()
	return paced(t, span, func() error {
		sum := sha256.Sum256(w.document)
		signature, err := smime.SignDetached(sum[:], smime.SignOptions{Key: w.own, Certificate: w.ownCert, Hash: crypto.SHA256, Time: now})
		if err != nil {
			return err
		}
		var wire bytes.Buffer
		named := sha256.New()
		e, err := smime.NewEncrypter(io.MultiWriter(&wire, named), int64(len(w.document)), smime.EncryptOptions{Cipher: smime.AES256CBC, Recipients: []*x509.Certificate{w.theirsCert}})
		if err != nil {
			return err
		}
		if _, err := e.Write(w.document); err != nil {
			return err
		}
		if err := e.Close(); err != nil {
			return err
		}
		named.Sum(nil)

		d, err := smime.NewDecrypter(&wire, []smime.Recipient{{Certificate: w.theirsCert, Key: w.theirs}}, smime.Limits{})
		if err != nil {
			return err
		}
		digest := sha256.New()
		if _, err := io.Copy(digest, d); err != nil {
			return err
		}
		content := func(crypto.Hash) ([]byte, error) { return digest.Sum(nil), nil }
		if _, err := smime.VerifyDetached(signature, content, []*x509.Certificate{w.ownCert}); err != nil {
			return err
		}
		sum = sha256.Sum256(w.receipt)
		if signature, err = smime.SignDetached(sum[:], smime.SignOptions{Key: w.theirs, Certificate: w.theirsCert, Hash: crypto.SHA256, Time: now}); err != nil {
			return err
		}
		content = func(crypto.Hash) ([]byte, error) { return sum[:], nil }
		_, err = smime.VerifyDetached(signature, content, []*x509.Certificate{w.theirsCert})
		return err
	})
}
