package partner

import (
	"path/filepath"
	"testing"
)

// installationAS4 is the sample installation that speaks AS4.
func installationAS4(t testing.TB) string {
	t.Helper()
	return filepath.Join(installation(t), "as4")
}
