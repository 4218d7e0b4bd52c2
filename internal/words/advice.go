package words

// Advice is what to do about a dead letter, in short; docs/errors.md has it in
// full.
type Advice struct {
	Do   string // the next step
	Call string // who knows more
}

// Advise says what to do about a letter of a reason.
func Advise(reason string) Advice {
	if a, known := advices[reason]; known {
		return a
	}
	return Advice{"Read the last exchange below, then decide.", "Whoever runs this gateway."}
}

// AdviseReceipt says what to do about a receipt that is not trusted, by the
// verdict on it. One that names the digest of other content does not become
// good by another certificate.
func AdviseReceipt(verdict string) Advice {
	if OtherContent(verdict) {
		return Advice{
			"They have other bytes than we sent. Ask whether they booked it; then Close as delivered. Compare compression with theirs, by AS2 also transfer encoding.",
			"The partner, with both digests: what did they book, and what did they count the digest of?",
		}
	}
	return advices["receipt-invalid"]
}

// AdviseContradicted is what to do about a document that the partner refused
// and then acknowledged.
func AdviseContradicted() Advice {
	return Advice{
		"They said no, then yes, and nothing was sent in between: mostly they corrected their side and took it. Ask them. They have it: Close as delivered. They do not: replay; it keeps its Message-ID.",
		"The partner, with the Message-ID and the times of both receipts.",
	}
}

// AdvisePost is what to do about a received document that its webhook does not
// take.
func AdvisePost() Advice {
	return Advice{
		"See what the system behind inbox.webhook answered, correct it there or in the partner's file, and replay. It recognises a repeat by webhook-id.",
		"Whoever runs that system: did it take the document, and what did it not like? The partner has his receipt and need not know.",
	}
}

// AdviseOwed says what to do about a receipt of ours that could not be
// delivered.
func AdviseOwed() Advice {
	return Advice{
		"The partner waits for this receipt, and may send its message again meanwhile. Correct what is named here, then replay: the same receipt goes out again. If they took it another way, Close as delivered.",
		"The partner: does the address answer that they want receipts at?",
	}
}

// OtherContent reports whether a verdict says that the partner has something
// else than what was sent.
func OtherContent(verdict string) bool { return verdict == "mic-mismatch" }

var advices = map[string]Advice{
	"circuit-open": {
		"Wait until they answer again, then replay all of the outage at once. A test finds it out by itself.",
		"The partner, with the time of the first failure: when do they expect to be back?",
	},
	"max-attempts": {
		"Read the last answer below. If other documents arrive there, it is this one: ask what their log says. If none does, run the connection test, repair what it names, then replay.",
		"The partner, with the Message-ID and the times of the attempts.",
	},
	"deadline": {
		"Ask whether it is still of use. If so replay it, which drops the deadline; if not discard it.",
		"Whoever needs the document on our side.",
	},
	"signature": {
		"Compare fingerprints with the partner, import their new certificate or send them ours, then replay. Replaying before that fails again.",
		"The partner, with their words and both fingerprints.",
	},
	"format": {
		"If our own check found it: correct the document where it points and use Edit and replay. If the partner did: see their words, they may not unpack what we compress.",
		"The owner of the program that made the document.",
	},
	"rejected": {
		"Read their words and status below, correct the partner file, run the connection test, then replay. If they take it for a duplicate, ask whether they have it.",
		"The partner, with the Message-ID and their own words.",
	},
	"credential": {
		"Put the new password or client certificate in place, run the connection test, then replay. Do not try again and again: many partners lock an account.",
		"The partner: is the account locked, what is the new password?",
	},
	"receipt-invalid": {
		"Do not replay first. Import the certificate that signs their receipts, then check the receipt again: nothing is sent. If it stays bad, ask them.",
		"The partner: which certificate signs their receipts, and do they have the document?",
	},
	"receipt-missing": {
		"Ask the partner. They have it: close as delivered. They do not: replay. A receipt that comes later closes it by itself.",
		"The partner, with Message-ID and time, for their log of the receipt's sending.",
	},
	"local": {
		"Correct what is named here, reload, start the lane if it stopped, then replay. Nothing reached the partner.",
		"Whoever runs this gateway: keys, files, proxy.",
	},
	"unknown-outcome": {
		"Ask the partner whether they have it (Copy enquiry has the words). They have it: close as delivered. They do not: replay.",
		"The partner, with Message-ID, time, size and the references.",
	},
	"changed-content": {
		"Compare it with the earlier one. A correction that they expect: send as a new edition. A mistake: discard it.",
		"The owner of the program that made the document; the partner, if they may book it twice.",
	},
}

// AdviseReceived says what to do about a message that a partner sent us: one
// that we refused, for the problem that its letter names, or one whose document
// could not be handed on.
func AdviseReceived(reason, problem string) Advice {
	if WeRefused(reason) {
		return RefusalOf(problem).Advise()
	}
	return Advice{"Correct what is named here, then hand it on again. The partner has our receipt and will not repeat it.", "Whoever runs this gateway and the inbox."}
}
