package edi

// MediaType is the MIME type of documents of a kind (RFC 1767 §2, RFC 7303 §9.1),
// "" for those that are not recognised.
func (k Kind) MediaType() string {
	switch k {
	case X12:
		return "application/edi-x12"
	case EDIFACT:
		return "application/edifact"
	case UBL, CII, XML:
		return "application/xml"
	}
	return ""
}
