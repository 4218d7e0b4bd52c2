package as4

import (
	"io"
	"sync"
)

// copyBuffer is how much is copied at once.
const copyBuffer = 32 << 10

// buffers are those that no copy uses at the moment.
var buffers = sync.Pool{New: func() any { return new([copyBuffer]byte) }}

// copyAll is io.Copy with a buffer that is used again.
func copyAll(dst io.Writer, src io.Reader) (int64, error) {
	b := buffers.Get().(*[copyBuffer]byte)
	defer buffers.Put(b)
	return io.CopyBuffer(dst, src, b[:])
}
