package conf

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

const maxSecret = 64 << 10

// Path is a file or folder. A relative one is meant from the folder of the
// settings file that names it; decoding makes it usable from anywhere.
type Path string

// UnmarshalText takes the path as written.
func (p *Path) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		return errors.New("empty path")
	}
	*p = Path(text)
	return nil
}

// Notation says what may be written.
func (Path) Notation() string { return "path" }

func (p *Path) resolve(dir string) {
	if !filepath.IsAbs(string(*p)) {
		*p = Path(filepath.Join(dir, string(*p)))
	}
}

// Secret is a secret in a file of its own. It holds the path only and prints
// as "<secret>"; the content is read at each use, so that a changed file needs
// no reload.
type Secret struct {
	path string
}

// SecretFile is the secret in the file at path.
func SecretFile(path string) Secret { return Secret{path} }

// UnmarshalText takes the path as written.
func (s *Secret) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		return errors.New("empty path")
	}
	s.path = string(text)
	return nil
}

// Notation says what may be written.
func (Secret) Notation() string { return "path of a file that holds the secret" }

func (s *Secret) resolve(dir string) {
	if !filepath.IsAbs(s.path) {
		s.path = filepath.Join(dir, s.path)
	}
}

// IsZero reports whether no secret is named.
func (s Secret) IsZero() bool { return s.path == "" }

// File is the path of the secret's file.
func (s Secret) File() string { return s.path }

// String hides the secret.
func (s Secret) String() string { return "<secret>" }

// GoString hides the secret.
func (s Secret) GoString() string { return "<secret>" }

// MarshalText hides the secret.
func (s Secret) MarshalText() ([]byte, error) { return []byte("<secret>"), nil }

// Read is the secret without one trailing line end. It reads the file now;
// errors are *os.PathError and name the file,
// never its content.
func (s Secret) Read() (string, error) {
	if s.IsZero() {
		return "", nil
	}
	data, err := ReadFile(s.path, maxSecret)
	if err != nil {
		return "", err
	}
	if cut, ok := bytes.CutSuffix(data, []byte("\n")); ok {
		data = bytes.TrimSuffix(cut, []byte("\r"))
	}
	if len(data) == 0 {
		return "", &os.PathError{Op: "read", Path: s.path, Err: errors.New("it is empty")}
	}
	return string(data), nil
}

// ReadFile reads a regular file of at most most bytes; anything else, such as
// a pipe that would keep the reader waiting, is refused. Errors are
// *os.PathError.
func ReadFile(path string, most int) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	refuse := func(reason string) error { return &os.PathError{Op: "read", Path: path, Err: errors.New(reason)} }
	if !info.Mode().IsRegular() {
		return nil, refuse("it is no file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, int64(most)+1))
	if err != nil {
		return nil, err
	}
	if len(data) > most {
		return nil, refuse(fmt.Sprintf("it is larger than %d bytes", most))
	}
	return data, nil
}
