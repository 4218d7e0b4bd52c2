package partner

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"edigw/internal/conf"
)

func TestKeyOfAWebhook(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, text, want string // empty: an error
	}{
		{"text", "any text will do", "any text will do"},
		{"text with a line end", "any text\r\n", "any text"},
		{"blanks count", " a ", " a "},
		{"base64", "whsec_aGVsbG8=", "hello"},
		{"base64 without padding", "whsec_aGVsbG8\n", "hello"},
		{"nothing", "", ""},
		{"a line end", "\n", ""},
		{"the mark alone", "whsec_", ""},
		{"not base64", "whsec_a secret!", ""},
		{"base64 in lines", "whsec_aGVs\nbG8=", "hello"},
		{"bits that say nothing", "whsec_aGVsbG9", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "erp")
			if err := os.WriteFile(file, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			key, err := (&Webhook{Secret: conf.SecretFile(file)}).Key()
			if (err != nil) != (tt.want == "") || string(key) != tt.want {
				t.Errorf("%q, %v", key, err)
			}
			if err != nil && (!strings.Contains(err.Error(), file) || len(tt.text) > 7 && strings.Contains(err.Error(), tt.text[7:])) {
				t.Errorf("the error does not name the file, or shows what is in it: %v", err)
			}
		})
	}
	for _, w := range []*Webhook{{}, {Secret: conf.SecretFile("/nowhere/erp")}} {
		if key, err := w.Key(); err == nil {
			t.Errorf("a key of nothing: %q", key)
		}
	}
}
