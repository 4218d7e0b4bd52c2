package intake

// Keys of log records.
const (
	keyPartner     = "partner"
	keyMessage     = "message"
	keyKey         = "key"
	keyOutcome     = "outcome"
	keyState       = "state"
	keySource      = "source"
	keyCorrelation = "correlation_id"
	keySize        = "size"
	keySlug        = "slug"
	keyDetail      = "detail"
	keyFile        = "file"
	keyErr         = "err"
)
