package queue

// HistoryFilter selects events of a partner or of an outage that belong to no
// single message: what happened to the lane, its settings, its certificates.
// Exactly one of Partner and Outage is given, and each type once.
type HistoryFilter struct {
	Partner string
	Outage  string
	Types   []EventType
}
