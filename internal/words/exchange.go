package words

// ExchangeOutcome says what an exchange came to, by its class as the API spells
// it. acknowledged: a receipt came that said yes.
func ExchangeOutcome(class string, acknowledged bool) string {
	switch class {
	case "success":
		return "delivered"
	case "accepted":
		return "taken, receipt due later"
	case "transient":
		return "did not arrive, may pass"
	case "unknown":
		return "not known whether it arrived"
	case "limited":
		return "failed on their side, tried twice at most"
	case "credential":
		return "they refused our login"
	case "already-there":
		return "they say they have it"
	case "permanent":
		if acknowledged {
			return "receipt not trusted"
		}
		return "refused"
	case "configuration":
		return "a fault of our own side"
	case "not-an-attempt":
		return "not tried"
	case "no-outcome":
		return "decides nothing"
	case "ack-missing":
		return "no receipt in time"
	}
	return class
}

// Said is the sentence that a result left. One that says nothing leaves the
// name of its class, which is no sentence.
func Said(detail string) string {
	if ExchangeOutcome(detail, false) != detail {
		return ""
	}
	return detail
}
