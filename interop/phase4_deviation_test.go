package interop

import "slices"

// phase4Deviations are what phase4 4.4.1 does otherwise.
var phase4Deviations = slices.Concat(each(deviation{
	peer: "phase4", direction: fromPeer, label: "arrives, receipt not understood",
	result: "the peer says: transport-error-no-retry: com.helger.phase4.util.Phase4IncomingException: Error processing AS4 message",
	why: "The receipt for a message that is not signed holds a copy of its eb:UserMessage (AS4 §5.1.8). phase4 holds receipts to the schema of ebMS 3.0, " +
		"which allows no element of its own namespace there, and refuses that; what it writes itself is a copy in an element of its own. Signed messages have no such receipt.",
}, "unsigned", "unsigned-uncompressed"), []deviation{{
	peer: "phase4", direction: toPeer, profile: "token-pkcs7", label: "refused",
	result: "dead, class permanent; answer trusted EBMS:0102",
	why:    "It reads no BinarySecurityToken of type PKCS7, and refuses the message with EBMS:0102. as4.security.token: pkipath carries a chain as well.",
}})
