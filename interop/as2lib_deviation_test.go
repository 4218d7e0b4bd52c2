package interop

import "slices"

// wrongMIC is how a cell ends when a receipt is for other content than was sent.
const wrongMIC = "dead, class permanent; receipt mic-mismatch, processed"

// as2LibDeviations are what as2-lib 5.1.7 does otherwise.
var as2LibDeviations = slices.Concat(
	each(deviation{
		peer: "as2-lib", direction: toPeer, result: wrongMIC, label: "arrives, wrong MIC",
		why: "Its receiver digests the Content-Type together with the content of a plain message; its own sender refuses that MIC, too. " +
			"edigw takes no wrong MIC for proof: the message becomes a letter.",
	}, "plain-mdn-unsigned", "plain-mdn-signed", "plain-lone-lf", "large-plain"),
	each(deviation{
		peer: "as2-lib", direction: toPeer, result: wrongMIC, label: "arrives, wrong MIC",
		why: "Its receiver digests what was compressed, not the compressed part that was signed (RFC 5402 §4.1); its own sender refuses that MIC, too. " +
			"as2.compress: after-sign gives the right one.",
	}, "compressed-signed", "compressed-signed-encrypted", "large-compressed"),
	[]deviation{{
		peer: "as2-lib", direction: toPeer, profile: "signed-mdn-unsigned", result: wrongMIC, label: "arrives, wrong MIC",
		why: "Asked for no signed receipt, its receiver answers with SHA-1 instead of the digest of the signature (RFC 4130 §7.4.3).",
	}, {
		peer: "as2-lib", direction: fromPeer, profile: "plain-mdn-unsigned", result: "the MIC differs", label: "ok, MIC by another digest",
		why: "It names no digest, which means SHA-1 for an unsigned message (RFC 4130 §7.4.3), and expects SHA-256. as2.receive.mic.unsigned: sha256 would please it.",
	}, {
		peer: "as2-lib", direction: fromPeer, profile: "encrypted-3des", result: "the MIC differs", label: "ok, MIC by another digest",
		why: "It asks for SHA-1 and expects SHA-256: for an unsigned message its sender takes that whatever it asks for.",
	}},
)
