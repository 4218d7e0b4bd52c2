package lane

import (
	"log/slog"

	"edigw/queue"
)

// Keys of log records.
const (
	keyPartner = "partner"
	keyLane    = "lane"
	keyMessage = "message"
	keyEvent   = "event"
	keyLetter  = "letter"
	keyOutage  = "outage"
	keyActor   = "actor"
	keyErr     = "err"
)

// level says how loud an event is in the log.
func level(t queue.EventType) slog.Level {
	switch t {
	case queue.EventSending, queue.EventBuilt, queue.EventCheck:
		return slog.LevelDebug
	case queue.EventRetry, queue.EventCrashed, queue.EventAckIgnored, queue.EventAckConflict, queue.EventWarnBy,
		queue.EventOverdue, queue.EventBreakerOpened, queue.EventBreakerReopened, queue.EventLaneBlocked:
		return slog.LevelWarn
	case queue.EventDead, queue.EventDefect, queue.EventEvidenceLost, queue.EventLaneNeedsFix, queue.EventLaneOrphaned, queue.EventIsolated:
		return slog.LevelError
	}
	return slog.LevelInfo
}

// attrs are the ids of an event; its facts are the ledger's.
func attrs(e queue.Event) []slog.Attr {
	list := []slog.Attr{slog.String(keyEvent, string(e.Type)), slog.String(keyPartner, e.Partner)}
	add := func(key, value string) {
		if value != "" {
			list = append(list, slog.String(key, value))
		}
	}
	if e.Lane != e.Partner {
		add(keyLane, e.Lane)
	}
	add(keyMessage, e.Message)
	add(keyLetter, e.Letter)
	add(keyOutage, e.Outage)
	if !e.Actor.Gateway() {
		add(keyActor, e.Actor.String())
	}
	return list
}
