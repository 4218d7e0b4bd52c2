package ebms

// Severity says whether an error stopped the processing of a message (ebMS 3.0
// Core §6.2.6).
type Severity string

// Severities. Whatever else a peer writes is read as a failure.
const (
	Failure Severity = "failure"
	Warning Severity = "warning"
)

// Error is what an MSH reports of a message unit (ebMS 3.0 Core §6.2). Texts of
// a peer are bounded and free of control characters.
type Error struct {
	Code                string // "EBMS:0004"; of a peer any code, or none
	Severity            Severity
	ShortDescription    string
	Category            string
	Origin              string // module that found it: "ebMS", "security", "reliability"
	Description         string // for people; we write English
	Detail              string // what exactly is wrong, at most 4 KiB
	RefToMessageInError string // MessageId of the message unit that it is about; may be empty
}
