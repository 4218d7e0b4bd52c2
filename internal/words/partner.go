package words

import "time"

// Trip asks before an operator holds a lane back as if the partner had failed.
func Trip(partner string, cooldown time.Duration) Question {
	q := Question{Title: "Hold back " + partner + " until a test?", Safe: "Cancel", Actions: []string{"Hold back"}}
	q.say(true, "Nothing is sent for "+Span(cooldown)+", then one document goes as a test; the others follow when it is delivered.")
	q.say(true, "Documents wait in line; no dead letters are made and it counts as no outage.")
	return q
}

// Reset asks before an operator lets a lane go without a test. lined is how
// many documents wait, letters how many dead letters stay.
func Reset(partner string, lined, letters int) Question {
	q := Question{Title: "Send to " + partner + " at once, without a test?", Safe: "Cancel", Actions: []string{"Send at once"}}
	q.say(lined > 0, Count(lined, "document that waits", "documents that wait")+" may start now. If the partner does not answer, each is tried and the lane stops again.")
	q.say(lined == 0, "Nothing waits. The next document goes out at once; if the partner does not answer, the lane stops again.")
	q.say(letters > 0, Count(letters, "dead letter stays", "dead letters stay")+" until somebody replays them.")
	return q
}

// Compare asks to compare a certificate's fingerprint before it is used.
func Compare(partner string) Question {
	q := Question{Title: "Use this certificate of " + partner + "?", Safe: "Cancel", Actions: []string{"It is theirs: use it"}, Tick: "I compared the fingerprint with the partner by phone"}
	q.say(true, "Whoever has its key can read what we encrypt to it, or sign in the partner's name. Call the partner on a number that you know, and compare the fingerprint.")
	return q
}

// Stranger says what to do about a signature by nobody whom the settings know.
func Stranger(partner string, inbound bool) string {
	what := "This receipt"
	if inbound {
		what = "This message"
	}
	return what + " is signed by a certificate that is not in the settings of " + partner + ". Either they changed theirs, or it is not from them. Compare the fingerprints with them by phone."
}

// TrustAnd is the button that takes the certificate of a stranger into use and
// looks again.
func TrustAnd(inbound bool) string {
	if inbound {
		return "Import this certificate and process again"
	}
	return "Import this certificate and re-check"
}

// Remove asks before a user is removed. last says that nobody else is an admin.
func Remove(user string, last bool) Question {
	q := Question{Title: "Remove " + user + "?", Safe: "Cancel", Actions: []string{"Remove " + user}}
	q.say(true, "They are signed out at once. What they did stays in the audit log.")
	q.say(last, "Nobody else is an admin: after this only edigw user add on the gateway's machine makes one.")
	return q
}

// Revoke asks before an API token is revoked.
func Revoke(token string) Question {
	q := Question{Title: "Revoke token " + token + "?", Safe: "Cancel", Actions: []string{"Revoke " + token}}
	q.say(true, "Programs that use it are refused from their next request on. It cannot be taken back.")
	return q
}

// ActWithin is the first line of the certificates' page: how many end within
// some days with nothing to take over.
func ActWithin(days, n int) string {
	if n == 0 {
		return "No certificate needs you within " + Count(days, "day", "days") + "."
	}
	return "Act within " + Count(days, "day", "days") + ": " + Number(int64(n))
}

// DaysLeft is how long a certificate's use goes on.
func DaysLeft(days int) string {
	switch {
	case days < -1:
		return "ended " + Number(int64(-days)) + " days ago"
	case days < 0:
		return "ended"
	case days == 0:
		return "ends today"
	}
	return Count(days, "day", "days")
}

// Use is what a certificate serves, and what stops when it ends.
func Use(use string) (name, stops string) {
	switch use {
	case "sign":
		return "Our signature", "everything that we sign"
	case "decrypt":
		return "Our decryption", "everything that they encrypt to us"
	case "verify":
		return "Their signature", "what they sign, receipts too"
	case "encrypt":
		return "Their encryption", "everything that we encrypt to them"
	case "tls-client":
		return "Our login (TLS)", "connections to them"
	case "tls-server":
		return "Our server (TLS)", "connections from all partners"
	case "tls-trust":
		return "Their server (TLS)", "connections to them"
	case "tls-inbound":
		return "Their login (TLS)", "what they send us"
	case "authority":
		return "Their authority", "what they sign, receipts too"
	}
	return use, ""
}

// Incident is what an alert's kind is called.
func Incident(kind string) string {
	switch kind {
	case "outage":
		return "Partner down"
	case "letters":
		return "Dead letters"
	case "blocked":
		return "Lane behind a dead letter"
	case "orphaned":
		return "Settings file gone"
	case "settings":
		return "Settings file"
	case "deadline":
		return "Deadline near"
	case "certificate":
		return "Certificate ends"
	case "isolated":
		return "Our own network"
	case "store":
		return "Store"
	case "channel":
		return "Alert channel"
	case "dlq-health":
		return "Too many dead letters"
	case "key-reused":
		return "Key used twice"
	case "contradiction":
		return "Receipts contradict each other"
	case "warn-by":
		return "Later than it should be"
	case "overdue":
		return "Past its due time"
	case "duplicate":
		return "Partner had it already"
	case "defect":
		return "Defect of edigw"
	case "restored":
		return "Restored from a backup"
	}
	return kind
}
