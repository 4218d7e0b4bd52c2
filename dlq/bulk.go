package dlq

import (
	"context"
	"fmt"
	"slices"

	"edigw/fault"
	"edigw/queue"
)

// Bounds of a bulk replay's request and of what is read at once.
const (
	maxIDs = 10_000
	page   = 500
)

// Selection names the letters of a bulk replay: those of IDs, at most 10,000,
// or all open ones that Filter selects. A filter for an outage is
// {Outage: "OUT-231"}; one without any field selects nothing, so that no slip
// replays everything: {Status: open} does.
type Selection struct {
	IDs    []string
	Filter queue.LetterFilter
}

// BulkAsk is what somebody wants done with many letters.
type BulkAsk struct {
	Actor   fault.Actor
	Note    string
	Confirm []Code
	Skip    []Code // letters with one of these are left out; counts more than Confirm
	DryRun  bool   // only count
}

// Plan is a bulk replay as it was counted and, unless that was all that was
// wanted, frozen.
type Plan struct {
	Job   queue.ReplayJob // ID is empty after a dry run
	Codes map[Code]int    // letters with each code; nil if every code was covered and nothing was counted
}

// Bulk freezes the letters of a selection and has them replayed, oldest first,
// at each partner's replay_rate. Letters of received messages are counted as
// Inbound and left out. Letters that die later do not join. It reads
// the selection in pages, however large, and returns before the first replay.
//
// The error is ErrNothingSelected or ErrOnlyReceived, a *ConfirmError with the codes that are
// neither confirmed nor skipped, an *InputError, queue.ErrNotFound for an id
// that no letter has, or the store's.
func (s *Service) Bulk(ctx context.Context, sel Selection, ask BulkAsk) (Plan, error) {
	if err := checkBulk(sel, &ask); err != nil {
		return Plan{}, err
	}
	plan := Plan{Job: queue.ReplayJob{Actor: ask.Actor, Status: queue.ReplayRunning, Confirm: texts(ask.Confirm), Skip: texts(ask.Skip), Filter: sel.Filter}}
	if ask.DryRun || !ask.coversAll() {
		found, err := s.survey(ctx, sel)
		if err != nil {
			return Plan{}, err
		}
		plan.Job.Counts, plan.Codes = found.counts, found.codes
		if ask.DryRun {
			return plan, nil
		}
		if found.counts.Total == 0 {
			return Plan{}, nothing(found.counts)
		}
		if need := found.missing(ask); len(need) > 0 {
			return Plan{}, &ConfirmError{Codes: need, Counts: found.codes}
		}
	}
	return s.freeze(ctx, plan, sel, ask)
}

// coversAll reports whether no code can be missing, whatever is found.
func (a BulkAsk) coversAll() bool {
	return !slices.ContainsFunc(Codes, func(c Code) bool { return !a.covers(c) })
}

func (a BulkAsk) covers(c Code) bool { return covered(c, a.Confirm) || covered(c, a.Skip) }

func checkBulk(sel Selection, ask *BulkAsk) error {
	single := Ask{Note: ask.Note, Confirm: ask.Confirm}
	if err := single.check(false); err != nil {
		return err
	}
	ask.Note = single.Note
	if err := checkCodes("skip", ask.Skip); err != nil {
		return err
	}
	switch {
	case len(sel.IDs) > 0 && sel.Filter != queue.LetterFilter{}:
		return &InputError{Field: "ids", Reason: "give ids or a filter, not both"}
	case len(sel.IDs) > maxIDs:
		return &InputError{Field: "ids", Reason: fmt.Sprintf("at most %d; a filter or an outage takes any number", maxIDs)}
	case len(sel.IDs) == 0 && sel.Filter == queue.LetterFilter{}:
		return ErrNothingSelected
	case sel.Filter.Status != "" && sel.Filter.Status != queue.LetterOpen:
		return &InputError{Field: "filter.status", Reason: "only open letters can be replayed"}
	}
	return nil
}

// freeze stores the set and starts the work.
func (s *Service) freeze(ctx context.Context, plan Plan, sel Selection, ask BulkAsk) (Plan, error) {
	j := plan.Job
	var err error
	if j.ID, err = s.id(); err != nil {
		return Plan{}, err
	}
	j.Created = s.Now()
	if sel.Filter.Status = queue.LetterOpen; len(sel.IDs) == 0 {
		some, _, err := s.Store.Letters(ctx, sel.Filter, queue.Page{Limit: 1})
		if err != nil {
			return Plan{}, err
		}
		if len(some) == 0 {
			return Plan{}, ErrNothingSelected
		}
	}
	text := "replay of " + described(sel) + " asked for"
	if ask.Note != "" {
		text += ": " + ask.Note
	}
	e := s.audit(j, ask.Actor, text)
	if j, err = s.Store.FreezeReplay(ctx, j, sel.IDs, e); err != nil {
		return Plan{}, err
	}
	s.audited(e, j)
	plan.Job = j
	s.poked()
	if j.Counts.Total == 0 { // somebody was faster
		return Plan{}, nothing(j.Counts)
	}
	return plan, nil
}

// nothing says why there is nothing to replay.
func nothing(c queue.ReplayCounts) error {
	if c.Inbound > 0 {
		return ErrOnlyReceived
	}
	return ErrNothingSelected
}

func described(sel Selection) string {
	f := sel.Filter
	if len(sel.IDs) > 0 {
		return fmt.Sprintf("%d letters", len(sel.IDs))
	}
	text := "open letters"
	for _, part := range []struct{ name, value string }{{"partner", f.Partner}, {"reason", string(f.Reason)}, {"outage", f.Outage}, {"cause", f.Cause}} {
		if part.value != "" {
			text += fmt.Sprintf(", %s %s", part.name, quoted(part.value))
		}
	}
	return text
}

// audit is what somebody did to a bulk replay, for the transaction that does it.
func (s *Service) audit(j queue.ReplayJob, by fault.Actor, text string) queue.Event {
	e := queue.Event{At: s.Now(), Type: queue.EventBulk, Partner: j.Filter.Partner, Outage: j.Filter.Outage, Actor: by, Text: "bulk replay " + j.ID + ": " + text}
	e.Facts = map[string]string{"replay": j.ID, "total": fmt.Sprint(j.Counts.Total)}
	return e
}

// audited logs what was done.
func (s *Service) audited(e queue.Event, j queue.ReplayJob) {
	s.Log.Info(e.Text, keyJob, j.ID, keyActor, e.Actor.Name)
}

// Pause stops a bulk replay until Resume; what it has replayed goes on.
// The error is a *ConflictError, queue.ErrNotFound, or the store's.
func (s *Service) Pause(ctx context.Context, job string, by fault.Actor) (queue.ReplayJob, error) {
	return s.turn(ctx, job, by, queue.ReplayPaused, "paused", queue.ReplayRunning)
}

// Resume goes on with a paused bulk replay. Errors are as for Pause.
func (s *Service) Resume(ctx context.Context, job string, by fault.Actor) (queue.ReplayJob, error) {
	return s.turn(ctx, job, by, queue.ReplayRunning, "resumed", queue.ReplayPaused)
}

// CancelBulk ends a bulk replay: the rest stay letters, what it has replayed
// goes on. Errors are as for Pause.
func (s *Service) CancelBulk(ctx context.Context, job string, by fault.Actor) (queue.ReplayJob, error) {
	return s.turn(ctx, job, by, queue.ReplayCancelled, "cancelled", queue.ReplayRunning, queue.ReplayPaused)
}

func (s *Service) turn(ctx context.Context, id string, by fault.Actor, to queue.ReplayStatus, done string, from ...queue.ReplayStatus) (queue.ReplayJob, error) {
	s.jobs.Lock()
	defer s.jobs.Unlock()
	j, err := s.Store.ReplayJob(ctx, id)
	if err != nil {
		return queue.ReplayJob{}, err
	}
	if j.Damaged != "" { // what is stored would be written over with less
		return queue.ReplayJob{}, &ConflictError{Text: "What is stored of this bulk replay is damaged, so it stands still. Replay the rest of its letters anew."}
	}
	if !slices.Contains(from, j.Status) {
		return queue.ReplayJob{}, &ConflictError{Text: fmt.Sprintf("The bulk replay is %s: it cannot be %s.", j.Status, done)}
	}
	e := s.audit(j, by, fmt.Sprintf("%s with %d of %d left", done, j.Counts.Pending, j.Counts.Total))
	j.Status = to
	if to == queue.ReplayCancelled {
		j.Finished = s.Now()
	}
	if err := s.Store.SaveReplay(ctx, j, []queue.Event{e}); err != nil {
		return queue.ReplayJob{}, err
	}
	s.audited(e, j)
	s.poked()
	return j, nil
}
