package retry

import (
	"net/http"

	"edigw/fault"
)

// rule is one row of the table: what fits it, and what that means. Everything
// but the predicate also stands in docs/errors.md, and a test holds the two
// equal.
type rule struct {
	id      string          // stable slug, anchor in docs/errors.md
	outcome string          // the outcome in words
	when    func(view) bool // nil for the row that no exchange can meet
	class   Class
	signal  fault.Signal
	reason  fault.Reason // of the letter, if the message dies of it

	uncertain bool   // the partner may have the document
	definite  bool   // the partner says of this message that it was not processed
	once      bool   // one retry in a round, the second one makes a letter
	lane      string // cause under which hold_after counts it
	proof     string
	defect    bool
}

// table decides what an outcome means: the first row that fits counts, and the
// last one fits everything. Its order is the reading order of delivery.md §4:
// protocol content before the HTTP status, and a status that was read before
// the connection that broke.
var table = []rule{
	// Acknowledgements, in whatever exchange they came. One that does not fit
	// its message, and for which only its sender vouches, settles nothing.
	{
		id: "ack-stray", outcome: "an asynchronous acknowledgement that does not verify and lacks the token, or whose end is missing",
		when:  stray,
		class: NoOutcome, signal: fault.SignalNone,
	},
	{
		id: "receipt", outcome: "positive acknowledgement, also with a warning",
		when:  positive, // processed/warning is processed: RFC 4130 §7.5.5
		class: Success, signal: fault.SignalSuccess, proof: ProofReceipt,
	},
	{
		// Here, because what our stopping cut off is no fault of the partner's.
		id: "stopped-sending", outcome: "this gateway stopped after the first byte of the body, before a usable answer was read",
		when:  both(causes(fault.CauseStopped), cutShort),
		class: Unknown, signal: fault.SignalNone, reason: fault.ReasonUnknownOutcome, uncertain: true,
	},
	{
		id: "receipt-cut-off", outcome: "acknowledgement cut off",
		when:  verdicts(fault.AckCutOff),
		class: Unknown, signal: fault.SignalFailure, reason: fault.ReasonMaxAttempts, uncertain: true,
	},
	{
		id: "receipt-signer", outcome: "acknowledgement signed by somebody other than the partner",
		when:  verdicts(fault.AckWrongSigner),
		class: Permanent, signal: fault.SignalSuccess, reason: fault.ReasonReceiptInvalid, uncertain: true, lane: "receipt-signer",
	},
	{
		id: "receipt-signature", outcome: "acknowledgement whose signature does not verify",
		when:  verdicts(fault.AckBadSignature),
		class: Permanent, signal: fault.SignalSuccess, reason: fault.ReasonReceiptInvalid, uncertain: true,
	},
	{
		id: "receipt-unsigned", outcome: "unsigned acknowledgement, or unsigned word of a duplicate, where a signed one was asked for",
		when:  both(verdicts(fault.AckUnsigned), either(no(refusesByCode), duplicateCode)),
		class: Permanent, signal: fault.SignalSuccess, reason: fault.ReasonReceiptInvalid, uncertain: true,
	},
	{
		id: "receipt-digest", outcome: "acknowledgement of other content (MIC or receipt digest differs), ebMS 0302",
		when:  either(verdicts(fault.AckMICMismatch), ebms("0302")),
		class: Permanent, signal: fault.SignalSuccess, reason: fault.ReasonReceiptInvalid, uncertain: true,
	},
	{
		id: "receipt-malformed", outcome: "acknowledgement complete but malformed, or contradicting itself",
		when:  verdicts(fault.AckMalformed, fault.AckContradictory),
		class: Permanent, signal: fault.SignalSuccess, reason: fault.ReasonReceiptInvalid, uncertain: true,
	},
	{
		id: "receipt-other", outcome: "acknowledgement that names another message",
		when:  verdicts(fault.AckOtherMessage),
		class: Permanent, signal: fault.SignalSuccess, reason: fault.ReasonReceiptInvalid, uncertain: true,
	},

	// The partner says that it has it: by a negative acknowledgement or by 409.
	{
		id: "duplicate-answer", outcome: "409, or a duplicate reported by the partner, after an uncertain attempt",
		when:  both(duplicate, uncertain),
		class: AlreadyThere, signal: fault.SignalSuccess, proof: ProofDuplicate,
	},
	{
		id: "duplicate-refused", outcome: "409, or a duplicate reported by the partner, though no attempt was uncertain",
		when:  duplicate,
		class: AlreadyThere, signal: fault.SignalSuccess, reason: fault.ReasonRejected,
	},

	// Negative MDNs: RFC 4130 §7.5.3, §7.5.4.
	{
		id: "as2-authentication-failed", outcome: "disposition authentication-failed",
		when:  disposition("authentication-failed"),
		class: Permanent, signal: fault.SignalSuccess, reason: fault.ReasonSignature, definite: true, lane: "authentication-failed",
	},
	{
		id: "as2-decryption-failed", outcome: "disposition decryption-failed",
		when:  disposition("decryption-failed"),
		class: Permanent, signal: fault.SignalSuccess, reason: fault.ReasonSignature, definite: true, lane: "decryption-failed",
	},
	{
		id: "as2-security", outcome: "disposition integrity-check-failed or insufficient-message-security",
		// QUIRK(OpenAS2): signed-message-required stands for insufficient-message-security.
		when:  disposition("integrity-check-failed", "insufficient-message-security", "signed-message-required"),
		class: Permanent, signal: fault.SignalSuccess, reason: fault.ReasonSignature, definite: true,
	},
	{
		id: "as2-decompression-failed", outcome: "disposition decompression-failed",
		// RFC 5402 §5. QUIRK(OpenAS2): one place of it spells decompresion-failed.
		when:  disposition("decompression-failed", "decompresion-failed"),
		class: Permanent, signal: fault.SignalSuccess, reason: fault.ReasonFormat, definite: true,
	},
	{
		id: "as2-unexpected", outcome: "disposition unexpected-processing-error",
		when:  disposition("unexpected-processing-error"),
		class: Limited, signal: fault.SignalSuccess, reason: fault.ReasonMaxAttempts, definite: true, once: true,
	},
	{
		id: "as2-refused", outcome: "any other disposition error or failure",
		when:  refusesByMDN,
		class: Permanent, signal: fault.SignalSuccess, reason: fault.ReasonRejected, definite: true,
	},

	// ebMS errors: ebMS3 Core §6.7, ebMS3 Part 2 §4.6, AS4 profile §3.6.
	{
		id: "ebms-elsewhere", outcome: "ebMS 0006, 0046, 0060",
		when:  ebms("0006", "0046", "0060"),
		class: NoOutcome, signal: fault.SignalNone,
	},
	{
		id: "ebms-busy", outcome: "ebMS 0005, 0020, 0021, 0054",
		when:  ebms("0005", "0020", "0021", "0054"),
		class: Transient, signal: fault.SignalFailure, reason: fault.ReasonMaxAttempts,
	},
	{
		id: "ebms-0301", outcome: "ebMS 0301",
		when:  ebms("0301"),
		class: Unknown, signal: fault.SignalFailure, reason: fault.ReasonMaxAttempts, uncertain: true,
	},
	{
		id: "ebms-not-serviced", outcome: "ebMS 0004 with the code PEPPOL:NOT_SERVICED",
		when:  notServiced,
		class: Permanent, signal: fault.SignalSuccess, reason: fault.ReasonRejected, definite: true,
	},
	{
		// It may also say that the first copy is still being worked on, so it
		// is no proof that the partner does not have the document.
		id: "ebms-0004", outcome: "ebMS 0004 with any other detail",
		when:  ebms("0004"),
		class: Limited, signal: fault.SignalSuccess, reason: fault.ReasonMaxAttempts, once: true,
	},
	{
		id: "ebms-limited", outcome: "ebMS 0007, 0022, 0201, 0202",
		when:  ebms("0007", "0022", "0201", "0202"),
		class: Limited, signal: fault.SignalSuccess, reason: fault.ReasonMaxAttempts, definite: true, once: true,
	},
	{
		id: "ebms-0001", outcome: "ebMS 0001",
		when:  ebms("0001"),
		class: Permanent, signal: fault.SignalSuccess, reason: fault.ReasonRejected, definite: true, lane: "ebms-0001",
	},
	{
		id: "ebms-0003", outcome: "ebMS 0003",
		when:  ebms("0003"),
		class: Permanent, signal: fault.SignalSuccess, reason: fault.ReasonRejected, definite: true, lane: "ebms-0003",
	},
	{
		id: "ebms-0010", outcome: "ebMS 0010",
		when:  ebms("0010"),
		class: Permanent, signal: fault.SignalSuccess, reason: fault.ReasonRejected, definite: true, lane: "ebms-0010",
	},
	{
		id: "ebms-0101", outcome: "ebMS 0101",
		when:  ebms("0101"),
		class: Permanent, signal: fault.SignalSuccess, reason: fault.ReasonSignature, definite: true, lane: "ebms-0101",
	},
	{
		id: "ebms-0102", outcome: "ebMS 0102",
		when:  ebms("0102"),
		class: Permanent, signal: fault.SignalSuccess, reason: fault.ReasonSignature, definite: true, lane: "ebms-0102",
	},
	{
		id: "ebms-0103", outcome: "ebMS 0103",
		when:  ebms("0103"),
		class: Permanent, signal: fault.SignalSuccess, reason: fault.ReasonSignature, definite: true, lane: "ebms-0103",
	},
	{
		id: "ebms-format", outcome: "ebMS 0009, 0303",
		when:  ebms("0009", "0303"),
		class: Permanent, signal: fault.SignalSuccess, reason: fault.ReasonFormat, definite: true,
	},
	{
		id: "ebms-refused", outcome: "ebMS 0002, 0008, 0011, 0023, 0030, 0031, 0040–0045, 0047–0053, 0055",
		when: ebms("0002", "0008", "0011", "0023", "0030", "0031", "0040", "0041", "0042", "0043", "0044", "0045",
			"0047", "0048", "0049", "0050", "0051", "0052", "0053", "0055"),
		class: Permanent, signal: fault.SignalSuccess, reason: fault.ReasonRejected, definite: true,
	},
	{
		// The fault alone tells whose it is (SOAP 1.2 part 1 §5.4.6).
		id: "soap-sender", outcome: "SOAP fault Sender, MustUnderstand or VersionMismatch without an ebMS error",
		when:  ebms("ENV:SENDER", "ENV:MUSTUNDERSTAND", "ENV:VERSIONMISMATCH"),
		class: Permanent, signal: fault.SignalSuccess, reason: fault.ReasonRejected, definite: true,
	},
	{
		id: "soap-receiver", outcome: "any other SOAP fault without an ebMS error",
		when:  soapFault,
		class: Limited, signal: fault.SignalSuccess, reason: fault.ReasonMaxAttempts, once: true,
	},
	{
		id: "ebms-unknown", outcome: "an ebMS code that no other row names",
		when:  refusesByCode,
		class: Limited, signal: fault.SignalNeutral, reason: fault.ReasonMaxAttempts, once: true, defect: true,
	},

	// Our own side: the partner was not asked, or not reached.
	{
		id: "local", outcome: "own key or certificate missing or expired, payload unreadable, message cannot be built",
		when:  causes(fault.CauseKey, fault.CausePayload, fault.CauseBuild),
		class: Configuration, signal: fault.SignalNeutral, reason: fault.ReasonLocal, lane: "local",
	},
	{
		id: "not-listed", outcome: "the document cannot go as it is: it names no receiver of its network, or one that the directory does not list, or cannot be wrapped, or has no property that the partner file requires",
		when:  causes(fault.CauseNotListed),
		class: Permanent, signal: fault.SignalNeutral, reason: fault.ReasonRejected,
	},
	{
		// Others of the same lane may well be found: no news for the breaker.
		id: "directory", outcome: "the part of the directory that is about this receiver does not answer as it should",
		when:  causes(fault.CauseDirectory),
		class: Transient, signal: fault.SignalNeutral, reason: fault.ReasonMaxAttempts,
	},
	{
		id: "proxy-login", outcome: "our own proxy answers CONNECT with 407",
		when:  causes(fault.CauseProxyAuth),
		class: Configuration, signal: fault.SignalNeutral, reason: fault.ReasonLocal, lane: "local",
	},
	{
		id: "proxy", outcome: "our own proxy answers CONNECT with any other refusal",
		when:  causes(fault.CauseProxy),
		class: Transient, signal: fault.SignalNeutral, reason: fault.ReasonMaxAttempts,
	},

	// HTTP statuses: RFC 9110 §15. None of them came with a readable
	// acknowledgement.
	{
		id: "http-accepted", outcome: "2xx, acknowledgement due later",
		when:  both(status(200, 299), asked(fault.AckAsync)), // RFC 4130 §7.2: the transfer alone
		class: Accepted, signal: fault.SignalSuccess,
	},
	{
		id: "http-only", outcome: "2xx, no acknowledgement asked for",
		when:  both(status(200, 299), asked(fault.AckNotAsked)),
		class: Success, signal: fault.SignalSuccess, proof: ProofHTTP,
	},
	{
		id: "receipt-absent", outcome: "2xx without the acknowledgement asked for",
		when:  both(status(200, 299), asked(fault.AckSync)),
		class: Unknown, signal: fault.SignalFailure, reason: fault.ReasonMaxAttempts, uncertain: true,
	},
	{
		id: "http-busy", outcome: "408, 425, 503",
		when:  statuses(http.StatusRequestTimeout, http.StatusTooEarly, http.StatusServiceUnavailable),
		class: Transient, signal: fault.SignalFailure, reason: fault.ReasonMaxAttempts,
	},
	{
		id: "http-429", outcome: "429",
		when:  statuses(http.StatusTooManyRequests),
		class: Transient, signal: fault.SignalNeutral, reason: fault.ReasonMaxAttempts,
	},
	{
		id: "http-login", outcome: "401, 407",
		when:  statuses(http.StatusUnauthorized, http.StatusProxyAuthRequired),
		class: Credential, signal: fault.SignalNeutral, reason: fault.ReasonCredential, once: true, lane: "credential",
	},
	{
		id: "http-403", outcome: "403",
		when:  statuses(http.StatusForbidden),
		class: Permanent, signal: fault.SignalNeutral, reason: fault.ReasonRejected, lane: "403",
	},
	{
		id: "http-404", outcome: "404 without AS2 or SOAP content",
		when:  both(statuses(http.StatusNotFound), no(protocol)),
		class: Limited, signal: fault.SignalFailure, reason: fault.ReasonMaxAttempts, once: true,
	},
	{
		id: "http-gateway", outcome: "502, 504",
		when:  statuses(http.StatusBadGateway, http.StatusGatewayTimeout),
		class: Unknown, signal: fault.SignalFailure, reason: fault.ReasonMaxAttempts, uncertain: true,
	},
	{
		id: "http-refused", outcome: "other 4xx, 3xx, 501, 505",
		when:  either(status(300, 499), statuses(http.StatusNotImplemented, http.StatusHTTPVersionNotSupported)),
		class: Permanent, signal: fault.SignalNeutral, reason: fault.ReasonRejected,
	},
	{
		id: "http-5xx", outcome: "500 and other 5xx",
		when:  status(500, 599),
		class: Limited, signal: fault.SignalFailure, reason: fault.ReasonMaxAttempts, once: true,
	},

	// No usable answer: how far did the request get?
	{
		id: "stopped", outcome: "this gateway stopped, or lacked disk, store or open files to send, before the first byte of the body",
		when:  both(causes(fault.CauseStopped), no(reached)),
		class: NotAnAttempt, signal: fault.SignalNone,
	},
	{
		id: "cut-off", outcome: "connection broke, or no answer in time, after the first byte of the body",
		when:  both(broken, reached),
		class: Unknown, signal: fault.SignalFailure, reason: fault.ReasonMaxAttempts, uncertain: true,
	},
	{
		id: "tls-trust", outcome: "partner's TLS certificate expired, for another name, or not trusted",
		when:  causes(fault.CauseTLSTrust),
		class: Transient, signal: fault.SignalTrip, reason: fault.ReasonMaxAttempts,
	},
	{
		id: "unreachable", outcome: "name not found, connection refused, no route, no connection or TLS handshake in time, connection broke before the body",
		when:  broken,
		class: Transient, signal: fault.SignalFailure, reason: fault.ReasonMaxAttempts,
	},

	{
		id: "ack-missing", outcome: "no acknowledgement within mdn.wait",
		class: AckMissing, signal: fault.SignalNeutral, reason: fault.ReasonReceiptMissing, uncertain: true,
	},
	{
		id: "unclassified", outcome: "anything else",
		when:  func(view) bool { return true },
		class: Limited, signal: fault.SignalNeutral, reason: fault.ReasonMaxAttempts, once: true, defect: true,
	},
}
