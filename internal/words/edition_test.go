package words_test

import (
	"testing"

	"edigw/internal/words"
)

func TestReplaces(t *testing.T) {
	t.Parallel()
	for want, ids := range map[string][]string{
		"": nil,
		"replaces 06h2a, which is not sent any more":            {"06h2a"},
		"replaces 06h2b and 06h2a, which are not sent any more": {"06h2b", "06h2a"},
	} {
		if got := words.Replaces(ids); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
