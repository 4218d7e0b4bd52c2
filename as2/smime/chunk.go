package smime

import "sync"

// chunk is how much is encrypted or decrypted at a time; a multiple of every
// block size.
const chunk = 64 << 10

// chunks are those that no message uses at the moment.
var chunks = sync.Pool{New: func() any { return new([chunk]byte) }}

// borrow lends the beginning of a chunk.
func borrow(size int64) []byte { return chunks.Get().(*[chunk]byte)[:size] }

// giveBack ends the use of a chunk. What it held of a document is overwritten.
func giveBack(b []byte) {
	clear(b)
	chunks.Put((*[chunk]byte)(b[:chunk]))
}
