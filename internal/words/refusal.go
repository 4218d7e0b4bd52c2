package words

import "strings"

// Refusal is why we refused a message of a partner, as far as the next step
// depends on it.
type Refusal string

// Refusals. OtherRefusal is one that fits none of them.
const (
	OtherRefusal      Refusal = ""
	NotForUs          Refusal = "not-for-us"         // encrypted for a certificate that we have no key for
	NotDecryptable    Refusal = "not-decryptable"    // encrypted, and damaged or not as agreed
	UnknownSigner     Refusal = "unknown-signer"     // by a certificate that is not on file, or not in force
	BadSignature      Refusal = "bad-signature"      // by a certificate on file, and wrong
	ChangedOnTheWay   Refusal = "changed"            // the content is not what was signed
	LessThanDemanded  Refusal = "less-than-demanded" // of signature or encryption
	NoLogin           Refusal = "no-login"           // without the client certificate
	ReceiptElsewhere  Refusal = "receipt-elsewhere"  // at an address that is not listed
	ReceiptNotOurs    Refusal = "receipt-not-ours"   // of a kind that we cannot make
	NotDecompressible Refusal = "not-decompressible"
	BadCMS            Refusal = "bad-cms"
	BadMIME           Refusal = "bad-mime"
	BadMessageID      Refusal = "bad-message-id"
	NotSettled        Refusal = "not-settled" // service, action, agreement: of AS4
	BadHeader         Refusal = "bad-header"  // of ebMS or WS-Security
)

// signal is a piece of a problem that tells the refusal.
type signal struct {
	says string
	is   Refusal
}

// beginnings tell problems in which names of certificates or addresses follow,
// which their owners chose.
var beginnings = []signal{
	{"the request came ", NoLogin},
	{"the receipt is asked for at an address", ReceiptElsewhere},
	{"message is encrypted for ", NotForUs},
	{"the message is signed by ", UnknownSigner},
	{"the signer is not the partner", UnknownSigner},
	{"the message cannot be decrypted: it is encrypted for ", NotForUs},
	{"PartInfo names ", BadHeader},
}

// signals tell the others; the first that is there counts. A test holds them to
// the sentences of packages as2 and as4.
var signals = []signal{
	{"as2.receive.", LessThanDemanded},
	{"; settled is ", NotSettled},
	{"as was settled", LessThanDemanded},
	{"the security is too weak", LessThanDemanded},
	{"there is no signature", LessThanDemanded},
	{"holds no key for it", NotDecryptable},
	{"was changed after it was signed", ChangedOnTheWay},
	{"no reference of the signature", ChangedOnTheWay},
	{"not covered by the signature", ChangedOnTheWay},
	{"the security header is malformed", BadHeader},
	{"be decompressed", NotDecompressible},
	{"CompressionType", NotDecompressible},
	{"MessageId is missing", BadMessageID},
	{"MessageId was used before", BadMessageID},
	{"EncryptedData", BadHeader},
	{"cannot be decrypted", NotDecryptable},
	{"behind the end of what was encrypted", NotDecryptable},
	{"not a certificate on file", UnknownSigner},
	{"nobody signed the message", BadSignature},
	{"does not verify", BadSignature},
	{"is not what was signed", ChangedOnTheWay},
	{"signature carries content", ChangedOnTheWay},
	{"multipart/signed", ChangedOnTheWay},
	{"we have no key in force", ReceiptNotOurs},
	{"is required that", ReceiptNotOurs},
	{"compressed", NotDecompressible},
	{"Message-ID", BadMessageID},
	{"CMS", BadCMS},
	{"unsupported algorithm", BadCMS},
	{"MIME", BadMIME},
	{"multipart", BadMIME},
	{"layer", BadMIME},
	{"signed more than once", BadMIME},
	{"Messag", BadHeader}, // eb:Messaging, MessageInfo, UserMessage, …
	{"Part", BadHeader},
	{"CollaborationInfo", BadHeader},
	{"AgreementRef", BadHeader},
	{"Propert", BadHeader},
	{"Service", BadHeader},
	{"Timestamp", BadHeader},
	{"SOAP", BadHeader},
	{"DOCTYPE", BadHeader},
}

// RefusalOf tells a refusal by the problem that its letter names.
func RefusalOf(problem string) Refusal {
	for _, s := range beginnings {
		if strings.HasPrefix(problem, s.says) {
			return s.is
		}
	}
	if strings.HasPrefix(problem, "signature by ") { // and whose, which may be any text
		problem = problem[strings.LastIndex(problem, ": ")+1:]
	}
	for _, s := range signals {
		if strings.Contains(problem, s.says) {
			return s.is
		}
	}
	return OtherRefusal
}

// Title says in one line what was wrong; serial numbers and fingerprints stand
// in the problem.
func (r Refusal) Title() string {
	switch r {
	case NotForUs:
		return "encrypted for a certificate that we have no key for"
	case NotDecryptable:
		return "it cannot be decrypted"
	case UnknownSigner:
		return "signed by an unknown certificate"
	case BadSignature:
		return "its signature is wrong"
	case ChangedOnTheWay:
		return "its content is not what was signed"
	case LessThanDemanded:
		return "less signed or encrypted than we demand"
	case NoLogin:
		return "it came without their client certificate"
	case ReceiptElsewhere:
		return "they want the receipt at an address that is not listed"
	case ReceiptNotOurs:
		return "they want a receipt that we cannot make"
	case NotDecompressible:
		return "its compressed layer cannot be read"
	case BadCMS:
		return "its signed or encrypted layer cannot be read"
	case BadMIME:
		return "its MIME structure cannot be read"
	case BadMessageID:
		return "its Message-ID is missing, malformed or used before"
	case NotSettled:
		return "it names something that was not settled with them"
	case BadHeader:
		return "its ebMS or security header is not as it should be"
	}
	return "not as agreed, or malformed"
}

// Advise says what to do about it.
func (r Refusal) Advise() Advice {
	const (
		again  = ", then process it again, or have them send it again."
		resend = " They were told that it failed, and must send it again: what came stays as it is."
	)
	switch r {
	case NotForUs:
		return Advice{"They encrypt to a certificate that is not one of ours, mostly an old one. Send them ours (edigw cert export) and have them send it again. Or put the old key back into edigw.yaml" + again,
			"The partner, with the serial numbers that the letter names: which certificate of ours do they have?"}
	case UnknownSigner:
		return Advice{"Compare the fingerprint with the partner by phone and import the certificate that they sign with; one that is on file and not in force: change its dates. Then process it again, or have them send it again.",
			"The partner, with the fingerprints: which certificate do they sign with now?"}
	case NoLogin:
		return Advice{"Ask them to show a client certificate that tls.inbound lists, or list the one that they show in the partner's file and reload. Its body was not read, so they must send it again.",
			"The partner: with which client certificate do they connect?"}
	case LessThanDemanded:
		return Advice{"Ask them to sign and encrypt as agreed and to send it again. Or, if you may, lower what the letter names (receive.require or receive.digest in their file), reload, and process it again.",
			"The partner: what do they sign and encrypt with?"}
	case ReceiptElsewhere:
		return Advice{"If the address is theirs, add it to as2.receive.receipt_urls in the partner's file, reload, and process it again. If not, tell them: nothing was posted there.",
			"The partner: where do they want their receipts?"}
	case ReceiptNotOurs:
		return Advice{"If the letter says that we have no key in force, take the next one into use and process it again. Else ask them for a signed receipt in PKCS #7 with SHA-256." + resend,
			"The partner: what receipt does their software ask for?"}
	case NotDecryptable, BadSignature, ChangedOnTheWay:
		return Advice{"No certificate mends this: the bytes are not those that they made, or their software made them wrongly. Have them send it again; if it stays so, look for a proxy or scanner on the way." + resend,
			"The partner, with the Message-ID: what did their software send?"}
	case NotSettled:
		return Advice{"Ask them which is right. If they are, settle it: service, action, agreement, or as4.receive.also in the partner's file, reload, and process it again. If we are, have them correct their P-Mode and send it again.",
			"The partner, with the value that the letter names: what does their P-Mode say?"}
	case NotDecompressible, BadCMS, BadMIME, BadMessageID, BadHeader:
		return Advice{"Tell the partner what the letter says; nothing on our side mends it." + resend,
			"The partner, with the Message-ID and the sentence of the letter."}
	}
	return Advice{"If the letter names a setting, correct it and process it again. Else tell the partner what is wrong." + resend,
		"The partner, with the Message-ID and the sentence of the letter."}
}
