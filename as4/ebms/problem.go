package ebms

// ProblemError is a fault of an ebMS header that is answered with an ebMS error
// (ebMS 3.0 Core §6.7).
type ProblemError struct {
	Code      string // "EBMS:0009"
	Detail    string // where and what, bounded and clean: it goes back to the peer
	MessageID string // of the message unit at fault, if it can be told
}

// Error implements error.
func (e *ProblemError) Error() string { return e.Code + ": " + e.Detail }

// Signal is the error to answer with.
func (e *ProblemError) Signal() Error { return NewError(e.Code, e.Detail, e.MessageID) }
