package inbox

// Keys of log records.
const (
	keyProtocol  = "protocol"
	keyPartner   = "partner"
	keyMessage   = "message"
	keyMessageID = "message_id"
	keyState     = "state"
	keySize      = "size"
	keyDetail    = "detail"
	keyFile      = "file"
	keyErr       = "err"
)
