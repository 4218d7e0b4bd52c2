package queue

import "time"

// FetchTrouble is why the messages that a partner holds for us cannot be fetched,
// as it is shown.
type FetchTrouble struct {
	Since    time.Time // the first failure in a row
	Failures int       // in a row
	Lasting  bool      // so many that somebody is needed; a single one may pass by itself
	Ours     bool      // it lies on our side
	Why      string    // in one sentence, without a full stop
	Do       string    // what to do about it
	Next     time.Time // next request; zero: one runs
}
