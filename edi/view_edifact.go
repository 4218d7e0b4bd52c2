package edi

// standing implements segmented.
func (x *edifact) standing() (outside, lost bool) { return !x.inside, x.lost }

// dialect implements segmented: UNA and UNB say how the interchange is written
// (ISO 9735-1 §7, annex B).
func (x *edifact) dialect(tag string, raw []byte, was syntax) syntax {
	switch {
	case tag == "UNA" && len(raw) == unaSize:
		now := syntax{delimiters: x.seg.delimiters, advised: true, charset: utf8Charset}
		if raw[7] != ' ' {
			now.repetition = raw[7]
		}
		return now
	case tag != "UNB":
		return was
	}
	now := syntax{delimiters: x.seg.delimiters}
	id := now.elementOf(raw, 1)
	if string(now.componentOf(id, 1)) >= "4" { // repetitions came with version 4
		now.repetition = '*'
		if was.advised {
			now.repetition = was.repetition
		}
	}
	now.charset = repertoire(string(now.componentOf(id, 0)))
	return now
}

// repertoire is the character set of a syntax identifier (UNB 0001). UNOA and
// UNOB are parts of ASCII, and so of UTF-8, which some put there all the same.
func repertoire(id string) charset {
	switch id {
	case "UNOA", "UNOB", "UNOW", "UNOY":
		return utf8Charset
	case "UNOC":
		return latin1Charset
	}
	return otherCharset(clean([]byte(id)))
}
