package dlq

import (
	"context"
	"errors"
	"time"

	"edigw/breaker"
	"edigw/fault"
	"edigw/internal/instant"
	"edigw/queue"
)

// Statuses of an item.
const (
	itemPending  = "pending"
	itemReplayed = "replayed" // its Detail is how it ended, empty while it is under way
	itemSkipped  = "skipped"
	itemFailed   = "failed"
)

// work is one bulk replay in memory: a line for each partner, so that a slow
// one holds up no other. It is made again from the store whenever it is lost.
type work struct {
	id      string
	lines   map[string]*line // nil: not read yet
	sweepAt time.Time
	swept   int // N of the item that was last looked at
}

// line is what one partner has left in a bulk replay, oldest first.
type line struct {
	after  int // N up to which items were read into ahead
	ahead  []queue.ReplayItem
	lookAt time.Time // not before: the partner does not answer, or its window is closed
	test   string    // message that went ahead while the partner did not answer, or had only begun to
}

// hand replays what is due, at most one batch, and gives the items that
// changed, with their counts in j. next is when more will be due.
func (s *Service) hand(ctx context.Context, w *work, j *queue.ReplayJob) (changed []queue.ReplayItem, next time.Time, err error) {
	if w.lines == nil {
		if err := s.read(ctx, w); err != nil {
			return nil, next, err
		}
	}
	var picked []*pick
	for _, partner := range sorted(w.lines) {
		more, due, err := s.picks(ctx, w, partner, *j, min(share, batch-len(picked)))
		if err != nil {
			return nil, next, err
		}
		picked = append(picked, more...)
		next = instant.Sooner(next, due)
		if len(picked) >= batch {
			next = s.Now()
			break
		}
	}
	if err := s.replayAll(ctx, w, picked, j.Actor); err != nil {
		return nil, next, err
	}
	for _, p := range picked {
		if p.item.Status == itemPending {
			next = s.Now().Add(lookAgain)
			continue
		}
		tally(&j.Counts, p.item.Status)
		changed = append(changed, p.item)
	}
	return changed, next, nil
}

// tally moves one pending item to its status.
func tally(c *queue.ReplayCounts, status string) {
	c.Pending--
	switch status {
	case itemReplayed:
		c.Replayed++
	case itemSkipped:
		c.Skipped++
	case itemFailed:
		c.Failed++
	}
}

// read finds the partners of a bulk replay.
func (s *Service) read(ctx context.Context, w *work) error {
	lines := map[string]*line{}
	for after := ""; ; {
		partners, err := s.Store.ReplayPartners(ctx, w.id, after, page)
		if err != nil {
			return err
		}
		for _, id := range partners {
			after, lines[id] = id, &line{}
		}
		if len(partners) < page {
			w.lines = lines
			return nil
		}
	}
}

// head is the partner's next item; false if there is none.
func (s *Service) head(ctx context.Context, w *work, partner string) (queue.ReplayItem, bool, error) {
	l := w.lines[partner]
	if len(l.ahead) == 0 {
		items, err := s.Store.ReplayLine(ctx, w.id, partner, l.after, share)
		if err != nil || len(items) == 0 {
			return queue.ReplayItem{}, false, err
		}
		l.ahead, l.after = items, items[len(items)-1].N
	}
	return l.ahead[0], true, nil
}

// pick is an item whose turn has come. Without results its status is decided
// already.
type pick struct {
	item    queue.ReplayItem
	results []*queue.Result
	message string // that goes out
	test    bool   // it is to be the test of its lane
}

// picks takes the items of one partner whose turn has come, at most so many.
func (s *Service) picks(ctx context.Context, w *work, partner string, j queue.ReplayJob, most int) (picked []*pick, next time.Time, err error) {
	l := w.lines[partner]
	for len(picked) < most {
		now := s.Now()
		if due := instant.Later(l.lookAt, s.pace.due(partner)); due.After(now) {
			return picked, due, nil
		}
		it, ok, err := s.head(ctx, w, partner)
		if err != nil {
			return nil, next, err
		}
		if !ok {
			delete(w.lines, partner)
			return picked, next, nil
		}
		p, err := s.consider(ctx, l, j, it)
		if err != nil {
			return nil, next, err
		}
		if p == nil {
			l.lookAt = now.Add(lookAgain)
			return picked, l.lookAt, nil
		}
		l.ahead = l.ahead[1:]
		picked = append(picked, p)
		if p.results != nil {
			s.pace.start(partner, s.replayRate(partner), now)
		}
		if p.message != "" && p.message == l.test {
			break // it must be in line before the next one looks at it
		}
	}
	return picked, s.Now(), nil
}

func (s *Service) replayRate(partner string) float64 {
	p, known := s.Partners.Partner(partner)
	if !known {
		return 0
	}
	return p.Lane.ReplayRate
}

// consider decides on the item at the head of a line. Nil: not now.
func (s *Service) consider(ctx context.Context, l *line, j queue.ReplayJob, it queue.ReplayItem) (*pick, error) {
	end := func(status, detail string) (*pick, error) {
		it.Status, it.Detail = status, detail
		return &pick{item: it}, nil
	}
	t, err := s.target(ctx, it.Letter)
	switch {
	case errors.Is(err, queue.ErrNotFound):
		return end(itemFailed, "there is no such letter any more")
	case errors.Is(err, queue.ErrConflict):
		return nil, nil
	case err != nil:
		return nil, err
	case t.letter.Status != queue.LetterOpen && byJob(t.letter, j.ID):
		return end(itemReplayed, "") // before a crash that lost the note of it
	case t.letter.Status != queue.LetterOpen:
		return end(itemSkipped, taken(t.letter, t.message, t.now).Text)
	}
	f := s.facts(t.letter, t.now)
	a := Assess(t.letter, t.message, f, t.now)
	if a.Refused != "" {
		return end(itemFailed, a.Refused)
	}
	confirm, skip := codesOf(j.Confirm), codesOf(j.Skip)
	for _, c := range a.Codes {
		if covered(c, skip) {
			return end(itemSkipped, "left out: "+string(c))
		}
	}
	for _, c := range a.Missing(confirm) {
		if !passing(c) {
			return end(itemSkipped, "not confirmed: "+string(c)+" came up after the set was frozen")
		}
	}
	if free, err := s.mayGo(ctx, l, a, f, confirm); err != nil || !free {
		return nil, err
	}
	ask := Ask{Actor: j.Actor, Note: note(j.ID)}
	p := &pick{item: it, test: f.shut() && asTest(confirm) && l.test == ""}
	if p.results, err = s.again(ctx, t, ask); err != nil {
		var conflict *ConflictError
		if errors.As(err, &conflict) {
			return end(itemFailed, conflict.Text)
		}
		return nil, err
	}
	p.item.Status = itemReplayed
	p.message = outgoing(p.results).ID
	if f.Phase != breaker.Closed && l.test == "" {
		l.test = p.message
	}
	return p, nil
}

// passing reports whether a code goes away with time: the letter then waits
// for that in its place.
func passing(c Code) bool { return breakerCode(c) || c == OutsideWindow }

// mayGo reports whether the way is free for the next letter of a line. Before
// a partner that has only begun to answer one goes ahead as the test.
func (s *Service) mayGo(ctx context.Context, l *line, a Assessment, f Facts, confirm []Code) (bool, error) {
	if len(a.Missing(confirm)) > 0 {
		return false, nil
	}
	if f.Phase == breaker.Closed {
		l.test = ""
		return true, nil
	}
	if covered(BreakerWait, confirm) || l.test == "" {
		return true, nil
	}
	m, err := s.Store.Message(ctx, l.test)
	if err != nil && !errors.Is(err, queue.ErrNotFound) {
		return false, err
	}
	if err == nil && !m.State.Terminal() && m.State != queue.Dead {
		return false, nil
	}
	l.test = "" // it decided nothing: the next one is the test
	return true, nil
}

// jobNote begins the note that marks a replay as one of a bulk replay. Nobody
// else can write it: Ask.check refuses it.
const jobNote = "bulk replay "

func note(job string) string { return jobNote + job }

// byJob reports whether the letter was replayed by that bulk replay.
func byJob(l queue.Letter, job string) bool { return l.Note == note(job) }

// replayAll records what was picked in one transaction, or one by one if
// somebody else was faster with one of them; that one stays pending.
func (s *Service) replayAll(ctx context.Context, w *work, picked []*pick, by fault.Actor) error {
	var results []*queue.Result
	for _, p := range picked {
		results = append(results, p.results...)
	}
	if len(results) == 0 {
		return nil
	}
	err := s.record(ctx, results...)
	if errors.Is(err, queue.ErrConflict) {
		err = nil
		for _, p := range picked {
			if p.results == nil {
				continue
			}
			if err := s.record(ctx, p.results...); errors.Is(err, queue.ErrConflict) {
				p.item.Status = itemPending
				w.lines = nil
			} else if err != nil {
				return err
			}
		}
	}
	if err != nil {
		return err
	}
	for _, p := range picked {
		if p.test && p.item.Status == itemReplayed {
			s.test(ctx, p.message, by)
		}
	}
	return nil
}
