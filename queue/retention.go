package queue

import "time"

// Keep is how long things are kept after a message became terminal. Open
// letters keep everything.
type Keep struct {
	Keys     time.Duration // idempotency keys and the facts of messages
	Payloads time.Duration // documents
	Evidence time.Duration // raw receipts and the entity that the MIC covers
	Wire     time.Duration // wire bytes of builds

	Partners map[string]KeepPartner // by partner id, in place of Payloads and Evidence
}

// KeepPartner is how long one partner's documents and evidence are kept.
type KeepPartner struct {
	Payloads time.Duration
	Evidence time.Duration
}

// Of is what counts for one partner.
func (k Keep) Of(partner string) KeepPartner {
	if own, ok := k.Partners[partner]; ok {
		return own
	}
	return KeepPartner{Payloads: k.Payloads, Evidence: k.Evidence}
}

// Garbage is one thing that retention lets go.
type Garbage struct {
	Message string
	What    string // payload, wire, receipt, facts
	Build   int    // wire: which build
	File    string // spool name; empty for facts. A file is deleted only when no row names it
	Shared  bool   // another row that stays names the file: drop the row, keep the file
}

// Usage is the size of a store.
type Usage struct {
	Bytes    int64 // database
	WAL      int64 // write-ahead log
	Messages int64 // rows, about
	Letters  int64 // open ones
}
