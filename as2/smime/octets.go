package smime

import "io"

// octetReader streams the value of one octet string, which may be cut into
// pieces and those into pieces again (X.690 §8.7.3).
type octetReader struct {
	ber  *berReader
	base int   // elements open around the string
	left int64 // bytes left of the current piece
	size int64 // bytes handed out
	err  error
}

// octets starts reading an octet string, or an implicitly tagged one, whose
// header next has just returned. Nothing else may be read before it is at EOF.
func (b *berReader) octets(e element) (*octetReader, error) {
	o := &octetReader{ber: b, base: len(b.open)}
	if e.constructed() {
		return o, b.enter(e)
	}
	o.left = e.length
	return o, nil
}

// Read gives io.EOF behind the last piece only.
func (o *octetReader) Read(p []byte) (int, error) {
	if o.err != nil || len(p) == 0 {
		return 0, o.err
	}
	for o.left == 0 {
		if o.err = o.piece(); o.err != nil {
			return 0, o.err
		}
	}
	if int64(len(p)) > o.left {
		p = p[:o.left]
	}
	n, err := o.ber.read(p)
	o.left -= int64(n)
	o.size += int64(n)
	o.err = err
	return n, err
}

// piece moves on to the next piece, which may be empty.
func (o *octetReader) piece() error {
	if len(o.ber.open) == o.base {
		return io.EOF
	}
	e, ok, err := o.ber.next()
	switch {
	case err != nil || !ok:
		return err
	case e.tag == tagOctets:
		o.left = e.length
		return nil
	case e.tag == tagOctets|constructed:
		return o.ber.enter(e)
	}
	return malformed("0x%02x inside an octet string", e.tag)
}
