package main

import (
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// With asProgram in its environment the test binary is edigw itself, so that
// tests can kill a whole gateway; with largestFile too no file of it grows
// beyond so many bytes, as on a full disk.
const (
	asProgram   = "EDIGW_TEST_AS_PROGRAM"
	largestFile = "EDIGW_TEST_LARGEST_FILE"
)

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) == "" {
		// A program built with -race sleeps a second before it ends, else.
		if err := os.Setenv("GORACE", "atexit_sleep_ms=0 "+os.Getenv("GORACE")); err != nil {
			panic(err)
		}
		testscript.Main(m, map[string]func(){"edigw": main})
	}
	if text := os.Getenv(largestFile); text != "" {
		if err := limitFiles(text); err != nil {
			panic(err)
		}
	}
	main()
}

func limitFiles(text string) error {
	most, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return err
	}
	signal.Ignore(syscall.SIGXFSZ) // the write fails with EFBIG instead
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &l); err != nil {
		return err
	}
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: most, Max: l.Max}) // a test may give room again
}
