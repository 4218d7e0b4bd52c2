package dlq

import (
	"log/slog"

	"edigw/queue"
)

// Keys of log records.
const (
	keyPartner = "partner"
	keyMessage = "message"
	keyEvent   = "event"
	keyLetter  = "letter"
	keyActor   = "actor"
	keyJob     = "replay"
	keyErr     = "err"
)

// attrs are the ids of an event; its facts are the ledger's.
func attrs(e queue.Event) []slog.Attr {
	list := []slog.Attr{slog.String(keyEvent, string(e.Type))}
	add := func(key, value string) {
		if value != "" {
			list = append(list, slog.String(key, value))
		}
	}
	add(keyPartner, e.Partner)
	add(keyMessage, e.Message)
	add(keyLetter, e.Letter)
	add(keyActor, e.Actor.Name)
	return list
}
