package smime

// Limits bounds what a message may cost. The zero value of each field stands
// for its default.
type Limits struct {
	// Depth is how many elements may be open at once. Default 32: real
	// messages need about ten.
	Depth int
	// Objects is how many elements may stand outside the content. Default 65,536.
	// Chunks of content are not counted: they cost nothing but their bytes.
	Objects int
	// Structure is how many bytes each part beside the content may have:
	// recipients, certificates, signatures. Default 1 MiB.
	Structure int
	// InflateRatio is how many times its compressed size content may have,
	// looked at once it is larger than 1 MiB. Default 250; zlib reaches 1,032.
	InflateRatio int
	// InflateTotal is how many bytes content may have once decompressed.
	// Default 2 GiB.
	InflateTotal int64
}

const (
	defaultDepth        = 32
	defaultObjects      = 1 << 16
	defaultStructure    = 1 << 20
	defaultInflateRatio = 250
	defaultInflateTotal = 2 << 30

	// maxRecipients is how many recipients a message may name. Each is compared
	// with every certificate of ours; real messages have one to five.
	maxRecipients = 256
	// maxKeyingMaterial is how many bytes of user keying material a key agreement
	// may have; RFC 5753 knows no use for more than 64.
	maxKeyingMaterial = 4 << 10

	// inflateGrace is the output up to which the ratio is not looked at:
	// a short message of blanks is no bomb.
	inflateGrace = 1 << 20
)

func (l Limits) withDefaults() Limits {
	if l.Depth <= 0 {
		l.Depth = defaultDepth
	}
	if l.Objects <= 0 {
		l.Objects = defaultObjects
	}
	if l.Structure <= 0 {
		l.Structure = defaultStructure
	}
	if l.InflateRatio <= 0 {
		l.InflateRatio = defaultInflateRatio
	}
	if l.InflateTotal <= 0 {
		l.InflateTotal = defaultInflateTotal
	}
	return l
}
