package interop

import "slices"

// openAS2Deviations are what OpenAS2 2.10.1 does otherwise.
var openAS2Deviations = slices.Concat(
	each(deviation{
		peer: "openas2", direction: toPeer, result: "no file name", label: "ok, file name lost",
		why: "It forgets the Content-Disposition of the HTTP header, which is where a message that is neither signed nor encrypted has it.",
	}, "plain-mdn-none", "plain-mdn-unsigned", "plain-mdn-signed", "plain-lone-lf", "large-plain"),
	each(deviation{
		peer: "openas2", direction: fromPeer, result: "no file name", label: "ok, file name lost",
		why: "It writes Content-Disposition: Attachment without the name into the HTTP header of such a message.",
	}, "plain-mdn-none", "plain-mdn-signed", "plain-lone-lf", "large-plain"),
	[]deviation{{
		peer: "openas2", direction: fromPeer, profile: "plain-mdn-unsigned", result: "the MIC is not compared; no file name", label: "ok, file name lost, MIC not compared",
		why: "As above; and it has no way to ask for an unsigned receipt with a MIC, and looks at no MIC when it did not ask for a signature.",
	}, {
		peer: "openas2", direction: fromPeer, profile: "signed-mdn-unsigned", result: "the MIC is not compared", label: "ok, MIC not compared",
		why: "It looks at no MIC when it did not ask for a signed receipt.",
	}, {
		peer: "openas2", direction: fromPeer, profile: "name-with-blanks",
		result: `the peer says: it counts the message as failed; disposition ""; the receipt's signature: signed false, verified false; the MIC differs`,
		label:  "arrives, receipt not understood",
		why:    "It writes a name with blanks in quotes, as it should, but does not take the quotes off one that stands in a receipt: it finds no such partner.",
	}},
)
