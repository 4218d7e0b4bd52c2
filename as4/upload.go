package as4

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"

	"edigw/internal/scratch"
)

// upload is the body of a request while it is put aside. Who sends stands in the
// envelope, so what comes up to its end is charged to strangers, and all of it
// to the partner once he is known. It reads the body and keeps what was read.
type upload struct {
	body  io.Reader
	space *scratch.Space
	layer *scratch.Layer
	sum   hash.Hash
}

func newUpload(body io.Reader, space *scratch.Space) *upload {
	return &upload{body: body, space: space, layer: space.New(), sum: sha256.New()}
}

// announced takes note of a Content-Length; -1 means nothing. What a stranger
// announces is not worth more memory than a usual message has.
func (u *upload) announced(n int64) { u.layer.Expect(min(n, usualMessage)) }

// usualMessage is how large a message is with an invoice in it.
const usualMessage = 16 << 10

// Read implements io.Reader. A body that breaks off is errBroken.
func (u *upload) Read(p []byte) (int, error) {
	n, err := u.body.Read(p)
	if err != nil && !errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = &brokenError{err}
	}
	if n > 0 {
		u.sum.Write(p[:n])
		if _, failed := u.layer.Write(p[:n]); failed != nil {
			return n, failed
		}
	}
	return n, err
}

// brokenError is errBroken with its reason, which is no end of a MIME part.
type brokenError struct{ why error }

// Error implements error.
func (e *brokenError) Error() string { return fmt.Sprintf("%v: %v", errBroken, e.why) }

// Is reports whether target is errBroken, or the limit of http.MaxBytesReader.
func (e *brokenError) Is(target error) bool { return target == errBroken }

// tooLarge reports whether the body passed its limit.
func (e *brokenError) tooLarge() bool {
	var limit *http.MaxBytesError
	return errors.As(e.why, &limit)
}

// charge moves what was put aside into the space of the partner, and announces
// what is still to come; size is that of the whole, negative if nobody knows.
func (u *upload) charge(space *scratch.Space, size int64) error {
	old := u.space
	defer old.Close()
	u.space = space
	if err := space.Fits(size); err != nil {
		return err
	}
	return space.Take(u.layer)
}

// finish reads the rest, in pieces that are worth a call of the system each.
func (u *upload) finish() error {
	b := buffers.Get().(*[copyBuffer]byte)
	defer buffers.Put(b)
	for {
		if _, err := u.Read(b[:]); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// wire reads what was put aside from its beginning.
func (u *upload) wire() io.Reader { return u.layer.Open() }

func (u *upload) digest() string { return hex.EncodeToString(u.sum.Sum(nil)) }

func (u *upload) close() { u.space.Close() }
