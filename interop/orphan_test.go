//go:build !linux

package interop

import "os/exec"

// bound does what it can on Linux only.
func bound(cmd *exec.Cmd) *exec.Cmd { return cmd }
