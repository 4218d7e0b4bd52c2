package dlq

import (
	"context"
	"errors"

	"edigw/queue"
)

// maxLooks bounds the letters read in one look at what became of them.
const maxLooks = 200

// sweep looks at letters that a bulk replay sent on their way and gives the
// items that came to an end, with their counts in j. It goes round: what it
// does not get to now it sees the next time.
func (s *Service) sweep(ctx context.Context, w *work, j *queue.ReplayJob) ([]queue.ReplayItem, error) {
	items, err := s.Store.ReplayUnderWay(ctx, w.id, w.swept, maxLooks)
	if err != nil {
		return nil, err
	}
	w.swept = 0
	if len(items) == maxLooks {
		w.swept = items[maxLooks-1].N
	}
	var ended []queue.ReplayItem
	for _, it := range items {
		change, err := s.ended(ctx, &it, &j.Counts)
		if err != nil {
			return nil, err
		}
		if change {
			ended = append(ended, it)
		}
	}
	return ended, nil
}

// ended reports whether a replayed letter came to an end, and notes it in its
// item and the counts.
func (s *Service) ended(ctx context.Context, it *queue.ReplayItem, c *queue.ReplayCounts) (bool, error) {
	l, err := s.Store.Letter(ctx, it.Letter)
	if errors.Is(err, queue.ErrNotFound) {
		back(it, c, "the letter is gone")
		return true, nil
	}
	if err != nil {
		return false, err
	}
	switch l.Status {
	case queue.LetterReplaying:
		return false, nil
	case queue.LetterOpen:
		back(it, c, "taken back: the letter is open again")
		return true, nil
	}
	switch as := l.ClosedAs; as {
	case queue.ClosedDelivered, queue.ClosedDeliveredLate, queue.ClosedConfirmed:
		it.Detail = string(as)
		c.Delivered++
	case queue.ClosedFailedAgain:
		it.Detail = string(as)
		c.DiedAgain++
	case queue.ClosedSuperseded:
		return s.editionEnded(ctx, it, c, l)
	default:
		back(it, c, string(as))
	}
	return true, nil
}

// editionEnded follows a letter that was replayed under a fresh id to the
// edition that took its place.
func (s *Service) editionEnded(ctx context.Context, it *queue.ReplayItem, c *queue.ReplayCounts, l queue.Letter) (bool, error) {
	m, err := s.Store.Message(ctx, it.Message)
	if err != nil {
		return false, err
	}
	editions, err := s.Store.Editions(ctx, m.Partner, m.Key)
	if err != nil {
		return false, err
	}
	for _, e := range editions {
		if e.Message.Previous != m.ID || !byJob(l, it.Job) {
			continue
		}
		switch e.Message.State {
		case queue.Delivered:
			it.Detail = string(queue.ClosedDelivered)
			c.Delivered++
		case queue.Dead:
			it.Detail = string(queue.ClosedFailedAgain)
			c.DiedAgain++
		case queue.Discarded, queue.Superseded:
			back(it, c, string(e.Message.State))
		default:
			return false, nil
		}
		return true, nil
	}
	back(it, c, string(l.ClosedAs))
	return true, nil
}

// back takes a letter out of those that were replayed: somebody decided
// otherwise.
func back(it *queue.ReplayItem, c *queue.ReplayCounts, why string) {
	it.Status, it.Detail = itemSkipped, why
	c.Replayed--
	c.Skipped++
}
