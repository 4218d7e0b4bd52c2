package conf

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// FuzzReadFile: a file is read whole, or refused for its size.
func FuzzReadFile(f *testing.F) {
	f.Add([]byte("secret\n"), 7)
	f.Add([]byte("secret\n"), 6)
	f.Add([]byte{}, 0)
	f.Fuzz(func(t *testing.T, data []byte, most int) {
		if most < 0 || most > 1<<20 {
			return
		}
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := ReadFile(path, most)
		switch {
		case len(data) > most && err == nil:
			t.Fatalf("%d bytes were read of a file that may have %d", len(got), most)
		case len(data) <= most && (err != nil || !bytes.Equal(got, data)):
			t.Fatalf("read %q, %v; want %q", got, err, data)
		}
	})
}
