package as4

import "testing"

// TestWordsOfErrorsAreOneSentence: what an error says is put together without
// saying anything twice, and without a full stop in the middle.
func TestWordsOfErrorsAreOneSentence(t *testing.T) {
	t.Parallel()
	for want, texts := range map[string][]string{
		"": {"", ""},
		"ProcessingModeMismatch: No P-Mode fits: AgreementRef is 2": {"ProcessingModeMismatch", "No P-Mode fits.", "AgreementRef is 2"},
		"Other: It was already received.":                           {"Other", "", "It was already received."},
		"FailedDecryption. Ask us.":                                 {"FailedDecryption. Ask us.", "FailedDecryption", "Ask us."},
	} {
		if got := joined(texts...); got != want {
			t.Errorf("%q: %q, want %q", texts, got, want)
		}
	}
}
