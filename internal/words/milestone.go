package words

// MilestoneOf is Milestone for a lane that carries no documents, by its kind.
func MilestoneOf(kind, event string) string {
	text := Milestone(event)
	switch kind {
	case "webhook":
		if event == "breaker-opened" {
			text = "stopped: it does not answer"
		}
		return "Our webhook: " + lower(text)
	case "receipt":
		return "Receipts to them: " + lower(text)
	}
	return text
}

// milestones are what happened to a partner, in an outage or by somebody's
// hand, by the name of the event.
var milestones = map[string]string{
	"breaker-opened":    "Stopped: partner not answering",
	"breaker-reopened":  "Test failed, stopped again",
	"breaker-half-open": "Testing with one document",
	"answering":         "Answers again, nothing sent yet",
	"breaker-closed":    "Sending again",
	"outage-buried":     "Dead letters made",
	"outage-ended":      "Outage over",
	"lane-stopped":      "Stopped by hand",
	"lane-started":      "Started by hand",
	"lane-needs-fix":    "Stopped itself: needs a fix",
	"lane-released":     "Goes on: a setting was changed",
	"lane-orphaned":     "Settings file gone",
	"lane-blocked":      "Stopped behind a dead letter",
	"connection-check":  "Connection test",
	"isolated":          "Our own network is down",
	"reconnected":       "Our own network works again",

	"settings":     "Settings read",
	"settings-bad": "Settings file has mistakes",
	"certificate":  "Certificate",
	"bulk-replay":  "Bulk replay",

	"accepted":           "Document handed in",
	"duplicate-accepted": "Document handed in again",
	"refused":            "Document refused",
	"replay":             "Replayed",
	"undo":               "Replay taken back",
	"cancelled":          "Cancelled",
	"superseded":         "New edition",
	"letter-closed":      "Dead letter settled",
	"letter-changed":     "Dead letter changed",
	"delivered":          "Delivered",
	"dead":               "Not delivered",
	"payload-viewed":     "Content viewed",

	"key-reused":        "Key used again with other content",
	"built":             "Made ready to be sent",
	"sending":           "Sending",
	"retry":             "Another try is due",
	"awaiting-ack":      "Sent, waits for the receipt",
	"overdue":           "Past its due time",
	"warn-by":           "Later than it should be",
	"ack-ignored":       "Receipt that settles nothing",
	"ack-contradiction": "Receipts contradict each other",
	"outcome-unknown":   "Outcome unknown: the gateway ended meanwhile",
	"evidence-lost":     "Receipt could not be kept",
	"fetch-failed":      "Their messages cannot be fetched",
	"fetch-works":       "Fetching their messages is settled",

	"alert-acknowledged": "Alert acknowledged",
	"alert-tested":       "Alert channel tested",
	"sign-in":            "Sign-in",
	"sign-out":           "Sign-out",
	"access":             "Access",
	"restored":           "Restored from a backup",

	"deadline-near":    "Deadline near",
	"certificate-ends": "Certificate ends",
	"dlq-health":       "Too many dead letters",
	"store-trouble":    "Trouble with the store",
	"alert-channel":    "Alert channel",
	"defect":           "Defect of edigw",
	"gateway-started":  "Gateway started",
	"gateway-stopping": "Gateway stops",
}

// Milestone names an event. One that has no words of its own gives its name.
func Milestone(event string) string {
	if text := milestones[event]; text != "" {
		return text
	}
	return event
}

// Rechecked is what a stored receipt is called that was checked again and is
// still not to be trusted.
const Rechecked = "The stored receipt was checked again: still not trusted"

// Tripped is what a lane's stop is called that an operator's trip began.
const Tripped = "Held back by hand until a test"
