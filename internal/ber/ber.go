// Package ber rewrites BER (X.690) as DER as far as libraries need it, within
// bounds: libraries that read certificates and key stores recurse with the
// nesting and take quadratic time over many small objects.
package ber

import (
	"errors"
	"fmt"
	"slices"
)

// Bounds of what is read.
const (
	maxNesting = 24
	maxObjects = 20000 // where the caller names no other
)

// ErrMalformed says that data is not BER, or cut off.
var ErrMalformed = errors.New("not BER, or cut off")

// Tags and their constructed bit (X.690 §8.1.2).
const (
	tagOctets       = 0x04
	tagConstructed  = 0x20
	tagOctetsPieces = tagOctets | tagConstructed
)

// Reader rewrites objects: lengths become definite, octet strings come in one
// piece. DER comes out as it went in. All that one Reader reads shares one
// bound on the number of objects.
//
// Not for two goroutines at a time.
type Reader struct{ most, left int }

// NewReader gives a Reader for 20,000 objects: about a thousand certificates.
func NewReader() *Reader { return NewReaderFor(maxObjects) }

// NewReaderFor gives a Reader for so many objects.
func NewReaderFor(objects int) *Reader { return &Reader{most: objects, left: objects} }

// DER rewrites the objects of data, which are all of it; no objects are no
// error. Strings other than octet strings stay in pieces, and of what is tagged
// implicitly it cannot be told what it is. The error is ErrMalformed, or says
// which bound was passed: 24 levels, or the objects of the Reader. Memory is
// that of data, once for each level.
func (r *Reader) DER(data []byte) ([]byte, error) {
	out, _, err := r.objects(data, 0, false, false)
	return out, err
}

// objects rewrites objects to the end of data, or to the end-of-contents if
// open is set, and tells how many bytes they took. Of the pieces of a string
// only the content comes out.
func (r *Reader) objects(data []byte, depth int, open, pieces bool) (out []byte, used int, err error) {
	if depth > maxNesting {
		return nil, 0, fmt.Errorf("more than %d objects inside each other", maxNesting)
	}
	for pos := 0; ; {
		if pos == len(data) {
			if open {
				return nil, 0, ErrMalformed
			}
			return out, pos, nil
		}
		if r.left--; r.left < 0 {
			return nil, 0, fmt.Errorf("more than %d objects in it", r.most)
		}
		tag := data[pos]
		head, length, err := header(data[pos:])
		if err != nil {
			return nil, 0, err
		}
		if tag == 0 { // X.690 §8.1.5: the end of contents, and nothing else
			if !open || length != 0 {
				return nil, 0, ErrMalformed
			}
			return out, pos + head, nil
		}
		pos += head
		if length > len(data)-pos || pieces && tag&^tagConstructed != tagOctets {
			return nil, 0, ErrMalformed
		}
		content, n, err := r.content(data[pos:], tag, length, depth)
		if err != nil {
			return nil, 0, err
		}
		pos += n
		switch {
		case pieces:
			out = append(out, content...)
		case tag == tagOctetsPieces:
			out = object(out, tagOctets, content)
		default:
			out = object(out, tag, content)
		}
	}
}

// content rewrites the content of one object and tells how many bytes it took.
func (r *Reader) content(data []byte, tag byte, length, depth int) (content []byte, used int, err error) {
	if tag&tagConstructed == 0 {
		return data[:length], length, nil
	}
	pieces := tag == tagOctetsPieces
	if length < 0 {
		return r.objects(data, depth+1, true, pieces)
	}
	return r.objects(data[:length], depth+1, false, pieces)
}

// header reads tag and length; a length of −1 is indefinite.
func header(data []byte) (size, length int, err error) {
	if len(data) < 2 || data[0]&0x1f == 0x1f {
		return 0, 0, ErrMalformed // no certificate needs a tag above 30
	}
	switch n := int(data[1]); {
	case n < 0x80:
		return 2, n, nil
	case n == 0x80 && data[0]&tagConstructed != 0:
		return 2, -1, nil
	case n == 0x80 || n > 0x84 || len(data) < 2+n-0x80:
		return 0, 0, ErrMalformed
	default:
		for _, b := range data[2 : 2+n-0x80] {
			length = length<<8 | int(b)
		}
		if length < 0 { // where an int has 32 bits
			return 0, 0, ErrMalformed
		}
		return 2 + n - 0x80, length, nil
	}
}

// object appends an object with a definite length.
func object(out []byte, tag byte, content []byte) []byte {
	out = append(out, tag)
	if n := len(content); n < 0x80 {
		out = append(out, byte(n))
	} else {
		var size []byte
		for ; n > 0; n >>= 8 {
			size = append(size, byte(n))
		}
		slices.Reverse(size)
		out = append(append(out, 0x80|byte(len(size))), size...)
	}
	return append(out, content...)
}
