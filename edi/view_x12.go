package edi

// standing implements segmented.
func (x *x12) standing() (outside, lost bool) { return x.isa != nil, x.lost }

// dialect implements segmented: ISA is where its interchange gets the
// delimiters from. ISA11 separates repetitions from version 00402 on (X12.5);
// before it was the letter U.
func (x *x12) dialect(tag string, raw []byte, was syntax) syntax {
	if tag != "ISA" {
		return was
	}
	now := syntax{delimiters: x.seg.delimiters, charset: utf8Charset}
	if len(raw) == isaSize-1 && string(raw[84:89]) >= "00402" && isDelimiter(raw[82]) {
		now.repetition = raw[82]
	}
	return now
}
