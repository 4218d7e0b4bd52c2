package smime

import (
	"errors"
	"fmt"
)

// Kinds of failure. Every error of this package matches one of them with
// errors.Is, except those of the reader or writer underneath, which are handed
// on as they are, and those about wrong arguments of our own.
var (
	// ErrMalformed: not the structure that its type promises, or it ends early.
	ErrMalformed = errors.New("malformed CMS message")
	// ErrNesting: more open elements than Limits.Depth.
	ErrNesting = errors.New("CMS message is nested too deeply")
	// ErrLimit: a bound other than nesting was passed.
	ErrLimit = errors.New("CMS message exceeds a limit")
	// ErrUnsupported: an algorithm or kind of content that edigw does not take.
	ErrUnsupported = errors.New("unsupported algorithm")

	// ErrNotRecipient: none of the recipients is ours; see NotRecipientError.
	ErrNotRecipient = errors.New("message is encrypted for somebody else")
	// ErrDecrypt: the one answer to every failure of key or content
	// decryption, so that a sender learns nothing from it (RFC 3218 §2.3).
	ErrDecrypt = errors.New("message cannot be decrypted")

	// ErrNoSigner: signed data without a signature.
	ErrNoSigner = errors.New("nobody signed the message")
	// ErrSignerUnknown: no signature is by a pinned certificate.
	ErrSignerUnknown = errors.New("signer is not a certificate on file")
	// ErrSignature: the signature does not verify with the pinned certificate
	// that it names.
	ErrSignature = errors.New("signature does not verify")
	// ErrDigest: the signature is good, but it was made over other content.
	ErrDigest = errors.New("content is not what was signed")
	// ErrEmbeddedContent: a detached signature carries content of its own.
	ErrEmbeddedContent = errors.New("detached signature carries content")

	// ErrDecompress: the compressed stream is broken, or swells past the limits.
	ErrDecompress = errors.New("content cannot be decompressed")
)

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
}

func unsupported(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrUnsupported, fmt.Sprintf(format, args...))
}
