package main

import (
	"testing"

	"edigw/as2/smime"
	"edigw/internal/words"
	"edigw/retry"
)

// TestRefusalsAreToldByTheirProblem: as packages as2 and smime word them.
func TestRefusalsAreToldByTheirProblem(t *testing.T) {
	t.Parallel()
	for problem, want := range map[string]words.Refusal{
		(&smime.NotRecipientError{}).Error():                    words.NotForUs,
		smime.ErrNotRecipient.Error():                           words.NotForUs,
		smime.ErrDecrypt.Error():                                words.NotDecryptable,
		smime.ErrNoSigner.Error():                               words.BadSignature,
		smime.ErrSignerUnknown.Error():                          words.UnknownSigner,
		"signature by serial 51: " + smime.ErrSignature.Error(): words.BadSignature,
		"signature by serial 51: " + smime.ErrDigest.Error():    words.ChangedOnTheWay,
		smime.ErrEmbeddedContent.Error():                        words.ChangedOnTheWay,
		smime.ErrDecompress.Error() + ": 4 MiB out of 4 KiB":    words.NotDecompressible,
		smime.ErrMalformed.Error() + ": 0x24":                   words.BadCMS,
		smime.ErrNesting.Error():                                words.BadCMS,
		smime.ErrLimit.Error():                                  words.BadCMS,
		smime.ErrUnsupported.Error() + ": 1.2.3":                words.BadCMS,
		"signature by serial 51 of CN=multipart/signed: compressed: signature does not verify": words.BadSignature,
		"anything that is new": words.OtherRefusal,
		"the message is signed by serial 4F:22 of CN=does not verify; on file and in force: none": words.UnknownSigner,
	} {
		if got := words.RefusalOf(problem); got != want {
			t.Errorf("%q is %q, want %q", problem, got, want)
		}
	}
}

// TestEveryClassOfAnExchangeHasWords, and is no sentence by itself.
func TestEveryClassOfAnExchangeHasWords(t *testing.T) {
	t.Parallel()
	for _, class := range retry.Classes {
		text := words.ExchangeOutcome(string(class), false)
		if text == string(class) || words.Said(string(class)) != "" {
			t.Errorf("%s is shown as %q", class, text)
		}
	}
	if got := words.Said("they answered 503"); got != "they answered 503" {
		t.Errorf("said %q", got)
	}
	if got := words.ExchangeOutcome("permanent", true); got != "receipt not trusted" {
		t.Errorf("said %q", got)
	}
}
