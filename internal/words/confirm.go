package words

// Confirm says what stands behind a code that must be confirmed before a
// document goes out again, and what confirming it does. An unknown code gives
// itself.
func Confirm(code string) string {
	switch code {
	case "possible-duplicate":
		return "The partner may have it already, or no longer remembers its Message-ID: ask them first."
	case "changed-content":
		return "An earlier document with this reference and other content was delivered, may have been, or still waits. This one goes out as a new edition; one that still waits is not sent any more."
	case "overtaken":
		return "First in, first out, and a newer document was delivered meanwhile: the partner would get this older one after it."
	case "overdue":
		return "Its deadline has passed: ask who needs it whether it is still of use. It goes out without a deadline."
	case "outside-window":
		return "The partner takes nothing now (their hours, their maintenance). It waits in line until the lane may send again."
	case "breaker-wait":
		return "The partner does not answer. It waits in line and goes out when a test succeeds."
	case "breaker-probe":
		return "The partner does not answer. This document is the test, now."
	}
	return code
}
