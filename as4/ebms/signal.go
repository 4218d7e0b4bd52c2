package ebms

// SignalMessage is a message of one MSH to the other (ebMS 3.0 Core §5.2.3). It
// holds exactly one of PullRequest, Receipt and Errors.
type SignalMessage struct {
	MessageInfo
	PullRequest *PullRequest
	Receipt     *Receipt
	Errors      []Error
}

// PullRequest asks for the next message of a message partition channel (ebMS 3.0
// Core §5.2.3.1).
type PullRequest struct {
	MPC string // @mpc as written; empty: none, which means DefaultMPC
}
