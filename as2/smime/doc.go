// Package smime is the cryptographic message syntax (RFC 5652, 8551, 3274) as
// AS2 uses it: detached and opaque signatures, encryption to RSA and
// elliptic-curve recipients, authenticated (RFC 5083) or not, and compression.
// Content is streamed, so that memory stays constant whatever a document
// weighs; everything else in a message is small and bounded.
//
// The package trusts no certificate that comes inside a message: a signer is
// looked up among the caller's pinned certificates and verified with those.
// Whether a pinned certificate is valid today, which digest or cipher is good
// enough, and how a failure is answered are the caller's policy.
//
// It refuses to guess: content that is not what its type says, nesting without
// end, lengths beyond the data and unknown algorithms end with one of the
// error values below, to be told apart by errors.Is. It knows nothing of MIME:
// base64 and headers are undone before.
//
// No value here may be used by two goroutines at a time; functions may.
package smime
