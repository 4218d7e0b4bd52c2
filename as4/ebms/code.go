package ebms

import "strings"

// Code is a row of the table of ebMS errors: what a standard says of a code, and
// what that means to an operator. The table equals docs/as4-errors.md.
type Code struct {
	Code     string // "EBMS:0004"
	Name     string // short description
	Severity Severity
	Category string
	Origin   string // module: "ebMS", "security", "reliability"
	Meaning  string // one sentence, true on either side
	Remedy   string // what the operator of the sender does
}

// Codes is the table (ebMS 3.0 Core §6.7; AS4 §3.6; ebMS 3.0 Part 2 §4.6), and
// what a product is known to add.
var Codes = []Code{
	{"EBMS:0001", "ValueNotRecognized", Failure, "Content", "ebMS",
		"A value in the header is none that the receiver knows: a party, the service, the action, the agreement or the channel.",
		"Compare the settings of this partner with theirs, value by value: service, action, agreement, parties; then replay."},
	{"EBMS:0002", "FeatureNotSupported", Warning, "Content", "ebMS",
		"The receiver does not support something in the header and went on without it.",
		"Ask the partner what they left out, and whether they have the document."},
	{"EBMS:0003", "ValueInconsistent", Failure, "Content", "ebMS",
		"A value in the header contradicts another one or its own rule, for instance a party id without a type that is no URI.",
		"Compare service, action and agreement with theirs, and correct the value that the detail names in the settings of this partner; then replay."},
	{"EBMS:0004", "Other", Failure, "Content", "ebMS",
		"The receiver refused for a reason that has no code of its own; only the detail tells it.",
		"Read the detail; if it says nothing, ask the partner what their log has for this MessageId."},
	{"EBMS:0005", "ConnectionFailure", Failure, "Communication", "ebMS",
		"The MSH could not reach the next one.",
		"Nothing at first: it is tried again. If it stays, ask the partner about their connection."},
	{"EBMS:0006", "EmptyMessagePartitionChannel", Warning, "Communication", "ebMS",
		"Nothing waits to be pulled; this is the answer to a pull when there is nothing, not an error.",
		"Nothing."},
	{"EBMS:0007", "MimeInconsistency", Failure, "Unpackaging", "ebMS",
		"The MIME parts do not fit the message: one is missing, named twice, or cut off.",
		"It is tried once more, for it may have been cut off on its way. If it comes again, send the partner the raw message."},
	{"EBMS:0008", "FeatureNotSupported", Failure, "Unpackaging", "ebMS",
		"The receiver cannot process something in the header, and refused the message for it.",
		"Agree with the partner on settings without that feature; then replay."},
	{"EBMS:0009", "InvalidHeader", Failure, "Unpackaging", "ebMS",
		"The ebMS header is not well-formed or breaks the schema or a rule of packaging.",
		"Send the partner the detail and the raw header; one of the two products is wrong."},
	{"EBMS:0010", "ProcessingModeMismatch", Failure, "Processing", "ebMS",
		"The header fits no P-Mode of the receiver, or not the one that it should.",
		"Compare agreement, service, action, roles and channel with the partner's settings; then replay."},
	{"EBMS:0011", "ExternalPayloadError", Failure, "Content", "ebMS",
		"A payload that stands outside of the message could not be fetched.",
		"Send the payload within the message, as an attachment."},
	{"EBMS:0020", "RoutingFailure", Failure, "Processing", "ebMS",
		"An intermediary found no way for the message.",
		"Nothing at first: it is tried again. If it stays, ask the intermediary's operator about the route to this partner."},
	{"EBMS:0021", "MPCCapacityExceeded", Failure, "Processing", "ebMS",
		"The intermediary's channel for this message is full.",
		"Nothing at first: it is tried again. If it stays, ask the partner to pull, or the intermediary for room."},
	{"EBMS:0022", "MessagePersistenceTimeout", Failure, "Processing", "ebMS",
		"The message waited too long at an intermediary to be pulled, and was dropped.",
		"Ask the partner why nobody pulls; then replay."},
	{"EBMS:0023", "MessageExpired", Warning, "Processing", "ebMS",
		"The message was too old when it arrived and was dropped.",
		"Compare the clocks and the time to live with the partner's; then replay."},
	{"EBMS:0030", "BundlingError", Failure, "Content", "ebMS",
		"Several message units came in one message in a way that the rules of bundling forbid.",
		"Report it to the maker of this product: it never bundles user messages."},
	{"EBMS:0031", "RelatedMessageFailed", Failure, "Processing", "ebMS",
		"The message was dropped because another one in the same bundle failed.",
		"Look for the error of the other message unit, and replay once that is mended."},
	{"EBMS:0040", "BadFragmentGroup", Failure, "Content", "ebMS",
		"A fragment belongs to a large message that was rejected before.",
		"Look for the first error of that message; replay it whole."},
	{"EBMS:0041", "DuplicateMessageSize", Failure, "Content", "ebMS",
		"Two fragments of a large message tell its size.",
		"Send the partner the raw headers; the product that split the message is wrong."},
	{"EBMS:0042", "DuplicateFragmentCount", Failure, "Content", "ebMS",
		"Two fragments of a large message tell the number of fragments.",
		"Send the partner the raw headers; the product that split the message is wrong."},
	{"EBMS:0043", "DuplicateMessageHeader", Failure, "Content", "ebMS",
		"Two fragments of a large message carry its MIME header.",
		"Send the partner the raw headers; the product that split the message is wrong."},
	{"EBMS:0044", "DuplicateAction", Failure, "Content", "ebMS",
		"Two fragments of a large message carry its SOAP action.",
		"Send the partner the raw headers; the product that split the message is wrong."},
	{"EBMS:0045", "DuplicateCompressionInfo", Failure, "Content", "ebMS",
		"Two fragments of a large message tell its compression.",
		"Send the partner the raw headers; the product that split the message is wrong."},
	{"EBMS:0046", "DuplicateFragment", Failure, "Content", "ebMS",
		"A fragment arrived twice; the second copy was left aside.",
		"Nothing: the fragment is there."},
	{"EBMS:0047", "BadFragmentStructure", Failure, "Unpackaging", "ebMS",
		"A fragment is not built as the rules for large messages want.",
		"Send the partner the raw headers; one of the two products is wrong."},
	{"EBMS:0048", "BadFragmentNum", Failure, "Content", "ebMS",
		"A fragment has a number beyond the number of fragments.",
		"Send the partner the raw headers; the product that split the message is wrong."},
	{"EBMS:0049", "BadFragmentCount", Failure, "Content", "ebMS",
		"The number of fragments is less than the number of a fragment that came before.",
		"Send the partner the raw headers; the product that split the message is wrong."},
	{"EBMS:0050", "FragmentSizeExceeded", Failure, "Unpackaging", "ebMS",
		"A fragment is larger than was agreed.",
		"Agree with the partner on a size, and replay."},
	{"EBMS:0051", "ReceiveIntervalExceeded", Failure, "Unpackaging", "ebMS",
		"The last fragments did not come in the time that the receiver waits for them.",
		"Look why they were late; then replay the message whole."},
	{"EBMS:0052", "BadProperties", Warning, "Unpackaging", "ebMS",
		"The properties of a fragment are not those of its message.",
		"Send the partner the raw headers; the product that split the message is wrong."},
	{"EBMS:0053", "HeaderMismatch", Failure, "Unpackaging", "ebMS",
		"The header of a fragment does not fit the header of its message.",
		"Send the partner the raw headers; the product that split the message is wrong."},
	{"EBMS:0054", "OutOfStorageSpace", Failure, "Unpackaging", "ebMS",
		"The receiver has no room for the fragments.",
		"Nothing at first: it is tried again. If it stays, tell the partner that their disk is full."},
	{"EBMS:0055", "DecompressionError", Failure, "Processing", "ebMS",
		"A large message could not be decompressed once its fragments were joined.",
		"Replay it once; if it fails again, send it without compression."},
	{"EBMS:0060", "ResponseUsingAlternateMEP", Warning, "Processing", "ebMS",
		"The answer does not come in this exchange but waits to be pulled, or is pushed.",
		"Nothing, if this partner's messages are pulled or received; otherwise agree on one way."},
	{"EBMS:0101", "FailedAuthentication", Failure, "Processing", "security",
		"The signature does not verify, or is not by a certificate that the receiver has for the sender.",
		"They do not know our certificate: write it to a file (`edigw cert export`), send it to them; then replay."},
	{"EBMS:0102", "FailedDecryption", Failure, "Processing", "security",
		"The receiver could not decrypt the message: it was encrypted for a key that they do not have, or no longer.",
		"Ask the partner for their current encryption certificate, import it; then replay."},
	{"EBMS:0103", "PolicyNoncompliance", Failure, "Processing", "security",
		"The security is not as agreed: a signature or encryption is missing, covers too little, or uses an algorithm that is not allowed.",
		"Compare signature, encryption and algorithms (`edigw partner show ID --effective`) with what was settled; then replay."},
	{"EBMS:0201", "DysfunctionalReliability", Failure, "Processing", "reliability",
		"Reliable messaging does not work as agreed at the receiver.",
		"Ask the partner whether they expect WS-Reliability; AS4 needs only receipts."},
	{"EBMS:0202", "DeliveryFailure", Failure, "Communication", "reliability",
		"The receiver got the message but could not deliver it to its own application.",
		"It is tried once more. If it comes again, the partner must mend the side behind their gateway; then replay."},
	{"EBMS:0301", "MissingReceipt", Failure, "Communication", "ebMS",
		"No receipt came for a message, although it was sent as often as agreed.",
		"The partner may have the document: ask them for the MessageId before anything is sent again."},
	{"EBMS:0302", "InvalidReceipt", Failure, "Communication", "ebMS",
		"A receipt came that is no proof: its signature is bad, or it names another message or other content.",
		"The partner probably has the document: ask them for the MessageId before anything is sent again."},
	{"EBMS:0303", "DecompressionFailure", Failure, "Communication", "ebMS",
		"A payload could not be decompressed: it is no gzip, is damaged, or grows beyond what is allowed.",
		"Compare compression and the largest size with the partner's settings; then replay."},
	{"EBMS:4001", "DuplicateDetected", Failure, "Content", "ebMS",
		"phase4 has a message with this MessageId already; the code is its own.",
		"The partner probably has the document: ask them whether it was processed, and close the letter if so."},
}

// LookupCode finds a code in the table. Case and a missing "EBMS:" do not matter;
// ok is false for a code that no standard has.
func LookupCode(code string) (c Code, ok bool) {
	number := Number(code)
	for _, c := range Codes {
		if Number(c.Code) == number {
			return c, true
		}
	}
	return Code{}, false
}

// Number is a code without the "EBMS:" in front of it, which peers spell in any
// case or leave out: "0004".
func Number(code string) string {
	code = strings.TrimSpace(code)
	if prefix, number, ok := strings.Cut(code, ":"); ok && strings.EqualFold(strings.TrimSpace(prefix), "EBMS") {
		return strings.TrimSpace(number)
	}
	return code
}

// NewError is an error to send, with what the table says of its code. detail
// says what exactly is wrong; it goes to the peer. A code that the table does
// not have is sent as a failure.
func NewError(code, detail, refToMessageInError string) Error {
	c, ok := LookupCode(code)
	if !ok {
		c = Code{Code: code, Severity: Failure, Origin: "ebMS"}
	}
	return Error{
		Code: c.Code, Severity: c.Severity, ShortDescription: c.Name, Category: c.Category, Origin: c.Origin,
		Description: c.Meaning, Detail: clean(detail, maxText), RefToMessageInError: refToMessageInError,
	}
}
