package interop

import "slices"

// pyas2libDeviations are what pyas2lib 1.4.4 does otherwise.
var pyas2libDeviations = slices.Concat(
	each(deviation{
		peer: "pyas2lib", direction: toPeer, result: wrongMIC, label: "arrives, no MIC",
		why: "It gives no MIC for a message that is not signed. A receipt without one proves nothing of the content, so edigw makes the message a letter.",
	}, "plain-mdn-signed", "plain-lone-lf", "large-plain", "encrypted-3des", "encrypted-aes128", "encrypted-binary",
		"compressed", "compressed-encrypted"),
	each(deviation{
		peer: "pyas2lib", direction: toPeer, label: "refused",
		result: "dead, class permanent; receipt trusted, processed/error: authentication-failed",
		why:    "It decodes the base64 of application/octet-stream before it looks at the signature, which is over the encoded form. Other content types pass.",
	}, "signed-base64", "signed-encrypted-base64"),
	each(deviation{
		peer: "pyas2lib", direction: toPeer, label: "refused",
		result: "dead, class permanent; receipt trusted, processed/error: decryption-failed",
		why:    "It tries the first recipient of an encrypted message only, whoever that is.",
	}, "to-self-too"),
	each(deviation{
		peer: "pyas2lib", direction: fromPeer, result: "content differs: line ends became CRLF", label: "CRLF for LF",
		why: "Its sender writes the lone LF of a signed document as CRLF, unless its type is application/octet-stream.",
	}, "lone-lf"),
)
