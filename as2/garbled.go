package as2

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"maps"
	"sync"
	"time"
)

// A cipher in CBC mode does not show that content was changed: whoever took a
// message off the line can change it, send it, and read the content out of our
// answers if they tell wrong padding from anything else that is wrong. So what
// was encrypted that way gets one answer, whatever is wrong, until a signed
// layer in it is whole and nothing stands behind it: what was made up cannot be
// so. Whoever only forgot to sign is told so, as long as it happens seldom: to
// read a byte takes some hundred answers.

// Of each pair of names so many encrypted messages that lack a signature get
// the answer that says so, within so long.
const (
	plainWords     = 3
	plainWordsSpan = time.Hour
	maxPlainPairs  = 1000
)

// told is what the sender is told of a fault; the letter has what it was.
func (d *delivery) told(err error) error {
	o := &d.opener
	var no *refusal
	if !o.encrypted || o.whole || !errors.As(err, &no) {
		return err
	}
	if no.disposition.Text == insufficientSecurity && d.h.plain.take([2]string{d.q.from, d.q.to}, d.h.o.Now()) {
		return err
	}
	same := *no
	same.disposition = Disposition{Mode: autoMode, Type: "processed", Modifier: "error", Text: decryptionFailed}
	same.told = ""
	return &same
}

// allowance counts the answers that say more, by pair of names. The zero value
// is ready; it is safe for concurrent use.
type allowance struct {
	mu    sync.Mutex
	pairs map[[2]string]*spent
}

type spent struct {
	since time.Time
	n     int
}

// take reports whether one more may be given.
func (a *allowance) take(pair [2]string, now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	over := func(s *spent) bool { return now.Sub(s.since).Abs() >= plainWordsSpan }
	s := a.pairs[pair]
	if s == nil || over(s) {
		maps.DeleteFunc(a.pairs, func(_ [2]string, s *spent) bool { return len(a.pairs) >= maxPlainPairs && over(s) })
		if s == nil && len(a.pairs) >= maxPlainPairs {
			return false
		}
		if a.pairs == nil {
			a.pairs = map[[2]string]*spent{}
		}
		s = &spent{since: now}
		a.pairs[pair] = s
	}
	s.n++
	return s.n <= plainWords
}

// layerBuffer is what readers of layers buffer by themselves, so that they take
// ours for it and nothing is read beyond it.
const (
	layerBuffer  = 32 << 10
	memoryBuffer = 4 << 10 // of what is in memory already
)

// layer reads a layer; ends refuses what stands behind it if it was encrypted.
// Blanks and line ends are common there.
func (o *opener) layer(r io.Reader) (all io.Reader, ends func() error) {
	if !o.encrypted || o.whole {
		return r, func() error { return nil }
	}
	size := layerBuffer
	if _, inMemory := r.(*bytes.Reader); inMemory {
		size = memoryBuffer
	}
	buffered := bufio.NewReaderSize(r, size)
	return buffered, func() error {
		for {
			switch c, err := buffered.ReadByte(); {
			case errors.Is(err, io.EOF):
				return nil
			case err != nil:
				return refuseLayer(err, decryptionFailed)
			case c != '\r' && c != '\n' && c != ' ' && c != '\t':
				return refuse(decryptionFailed, "bytes stand behind the end of what was encrypted")
			}
		}
	}
}
