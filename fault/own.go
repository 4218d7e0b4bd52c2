package fault

import (
	"errors"
	"syscall"
)

// SuspectFiles is the Suspect of an exchange that could not begin because this
// process, or the machine, has no file descriptor left: that passes by itself
// and says nothing about the partner.
const SuspectFiles = "limit on open files"

// OutOfFiles reports whether an error means that.
func OutOfFiles(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}
