package sqlite

import (
	"context"
	"fmt"

	"edigw/queue"
)

// Accept admits an arrival inside one transaction.
func (s *Store) Accept(ctx context.Context, a queue.Arrival) (queue.Admission, error) {
	var ad queue.Admission
	var w written
	err := s.write(ctx, func(t *tx) error {
		editions, err := t.editions(a.Message.Partner, a.Message.Key)
		if err != nil {
			return err
		}
		work, err := t.work(a.Message.Lane)
		if err != nil {
			return err
		}
		ad, err = queue.Admit(a, editions, queue.Backlog{Messages: work.Depth, Bytes: work.Bytes})
		if err != nil {
			return err
		}
		for i := range ad.Results {
			if err := t.record(&ad.Results[i], &w); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return queue.Admission{}, err
	}
	w.raise()
	if ad.Outcome == queue.AdmitNew || ad.Outcome == queue.AdmitParked {
		ad.Message = *ad.Results[len(ad.Results)-1].Message
	}
	return ad, nil
}

// Record writes results together, everything or nothing.
func (s *Store) Record(ctx context.Context, results ...*queue.Result) error {
	var w written
	err := s.write(ctx, func(t *tx) error {
		for _, r := range results {
			if err := t.still(r.Message); err != nil {
				return err
			}
			if err := t.record(r, &w); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		w.raise()
	}
	return err
}

// still fails with queue.ErrNotFound if m is a new edition of a document that
// retention let go: its file is gone, or will be.
func (t *tx) still(m *queue.Message) error {
	if m == nil || m.Version > 0 || m.Direction == queue.In || m.Previous == "" {
		return nil
	}
	gone := false
	err := t.row("SELECT EXISTS (SELECT 1 FROM messages WHERE id = ? AND sha256 = ? AND sha256 <> '' AND payload_kept = 0)", m.Previous, m.Payload.SHA256).Scan(&gone)
	if err == nil && gone {
		err = fmt.Errorf("the document of message %s is not kept any more: %w", m.Previous, queue.ErrNotFound)
	}
	return err
}

// written is what a transaction wrote, so that the values passed in can be
// raised to the stored versions once it is durable.
type written struct {
	messages map[*queue.Message]int64 // seq
	letters  map[*queue.Letter]int64  // seq, 0 for one that was stored before
	lanes    map[*queue.Lane]bool
}

func (w *written) raise() {
	for m, seq := range w.messages {
		m.Seq = seq
		m.Version++
	}
	for l, seq := range w.letters {
		if seq > 0 {
			l.Seq = seq
		}
		l.Version++
	}
	for l := range w.lanes {
		l.Version++
	}
}

// record writes one result. The message comes first: all else refers to it.
func (t *tx) record(r *queue.Result, w *written) error {
	if err := t.recordMessage(r, w); err != nil {
		return err
	}
	if r.Build != nil {
		if err := t.putBuild(r.Build); err != nil {
			return err
		}
	}
	if r.Attempt != nil {
		if err := t.addAttempt(r.Attempt); err != nil {
			return err
		}
	}
	if err := t.recordLetters(r, w); err != nil {
		return err
	}
	if l := r.Lane; l != nil && !w.lanes[l] {
		if err := t.putLane(l); err != nil {
			return err
		}
		remember(&w.lanes, l, true)
	}
	if r.Outage != nil {
		if err := t.putOutage(r.Outage); err != nil {
			return err
		}
	}
	if r.Isolation != nil {
		if err := t.putIsolation(r.Isolation); err != nil {
			return err
		}
	}
	return t.addEvents(r.Events)
}

func (t *tx) recordMessage(r *queue.Result, w *written) error {
	m := r.Message
	if m == nil {
		return nil
	}
	seq, done := w.messages[m]
	if !done {
		var err error
		if seq, err = t.putMessage(m); err != nil {
			return err
		}
		remember(&w.messages, m, seq)
	}
	if r.Overtakes {
		err := t.run("UPDATE lane_counts SET delivered = max(delivered, ?) WHERE lane = ?", seq, m.Lane)
		return err
	}
	return nil
}

func (t *tx) recordLetters(r *queue.Result, w *written) error {
	if l := r.Closed; l != nil {
		if _, done := w.letters[l]; !done {
			if err := t.changeLetter(l); err != nil {
				return err
			}
			remember(&w.letters, l, 0)
		}
	}
	if l := r.Opened; l != nil {
		if _, done := w.letters[l]; !done {
			seq, err := t.openLetter(l)
			if err != nil {
				return err
			}
			remember(&w.letters, l, seq)
		}
	}
	return nil
}

func remember[K comparable, V any](m *map[K]V, key K, value V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[key] = value
}
