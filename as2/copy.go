package as2

import (
	"bufio"
	"bytes"
	"io"
	"sync"
)

// copyBuffer is how much is copied at once.
const copyBuffer = 32 << 10

// buffers are those that no copy uses at the moment: a message is copied about
// ten times on its way through its layers.
var buffers = sync.Pool{New: func() any { return new([copyBuffer]byte) }}

// copyAll is io.Copy with a buffer that is used again.
func copyAll(dst io.Writer, src io.Reader) (int64, error) {
	b := buffers.Get().(*[copyBuffer]byte)
	defer buffers.Put(b)
	return io.CopyBuffer(dst, src, b[:])
}

// headReaders lends the buffers that headers and small parts are read through.
var headReaders = sync.Pool{New: func() any { return bufio.NewReader(nil) }}

// readHead lends a buffered reader of r; done ends its use, and that of all that
// reads through it.
func readHead(r io.Reader) (br *bufio.Reader, done func()) {
	br = headReaders.Get().(*bufio.Reader)
	br.Reset(r)
	return br, func() {
		br.Reset(nil)
		headReaders.Put(br)
	}
}

// readAll is io.ReadAll of what has about n bytes.
func readAll(r io.Reader, n int) ([]byte, error) {
	b := bytes.NewBuffer(make([]byte, 0, n+bytes.MinRead))
	_, err := b.ReadFrom(r)
	return b.Bytes(), err
}
