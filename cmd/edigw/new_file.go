package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// newFile is a file that is to be written.
type newFile struct {
	name    string
	content []byte
}

// writeNewFiles writes files that must not exist yet: all of them, or none is left.
func writeNewFiles(files []newFile) error {
	for i, f := range files {
		if err := writeNew(f.name, f.content); err != nil {
			for _, written := range files[:i] {
				os.Remove(written.name)
			}
			return err
		}
	}
	return nil
}

// createNew opens a file that must not exist yet.
func createNew(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil, alreadyThere(name)
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s cannot be written: there is no folder %s", name, filepath.Dir(name))
	}
	return f, err
}

// writeNew writes a file that must not exist yet.
func writeNew(name string, content []byte) error {
	f, err := createNew(name)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err := errors.Join(err, f.Close()); err != nil {
		os.Remove(name) // else it would be in the way of the next try
		return err
	}
	return nil
}

func alreadyThere(name string) error {
	return fmt.Errorf("%s exists already, and nothing is overwritten: give another name, or move it away", name)
}
