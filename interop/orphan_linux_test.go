package interop

import (
	"os/exec"
	"syscall"
)

// bound has the system end a process when the test's own ends, however that
// comes about: a test that takes too long ends without its cleanup.
func bound(cmd *exec.Cmd) *exec.Cmd {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}
