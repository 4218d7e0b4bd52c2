package storetest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"edigw/internal/words"
	"edigw/queue"
)

// MarkRestored makes what is unfinished uncertain and stops the lanes.
func (s *Memory) MarkRestored(ctx context.Context, at time.Time, partners []string) (messages, lanes int, err error) {
	err = s.write(ctx, func(u *undo) error {
		stop := s.allLanes(partners)
		for _, m := range s.find(unfinished) {
			m.Uncertain = true
			m.Version++
			set(u, s.messages, m.ID, m)
			messages++
		}
		for _, l := range s.findLetters(func(l queue.Letter) bool { return l.Status != queue.LetterClosed }) {
			l.Uncertain = true
			l.Version++
			set(u, s.letters, l.ID, l)
		}
		lanes = len(stop)
		events := []queue.Event{{At: at, Type: queue.EventRestored,
			Text: "restored from a backup: " + words.Count(messages, "message is", "messages are") + " uncertain, " + words.Count(lanes, "lane is", "lanes are") + " stopped"}}
		for _, key := range slices.Sorted(maps.Keys(stop)) {
			l := stop[key]
			l.Version++
			l.Stop = &queue.Stop{Reason: "restored", Since: at}
			set(u, s.lanes, key, l)
			events = append(events, queue.Event{At: at, Type: queue.EventLaneStopped, Partner: l.Partner, Lane: key, Text: "stopped: restored from a backup"})
		}
		s.addEvents(u, events)
		return nil
	})
	return messages, lanes, err
}

// allLanes gives the lanes that have a row or an outbound message, and all of
// the partners.
func (s *Memory) allLanes(partners []string) map[string]queue.Lane {
	all := map[string]queue.Lane{}
	for _, id := range partners {
		for _, k := range queue.Kinds {
			key := queue.LaneKey(id, k)
			all[key] = queue.Lane{Key: key, Partner: id, Kind: k}
		}
	}
	for _, m := range s.messages {
		if m.Direction != queue.In {
			all[m.Lane] = queue.Lane{Key: m.Lane, Partner: m.Partner, Kind: m.Kind}
		}
	}
	maps.Copy(all, s.lanes)
	return all
}

// unfinished reports whether a restored message may have gone on since.
func unfinished(m queue.Message) bool {
	return m.Direction != queue.In && !m.State.Terminal() && m.State != queue.Received
}

// Expired lists what retention lets go.
func (s *Memory) Expired(ctx context.Context, now time.Time, k queue.Keep, limit int) ([]queue.Garbage, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ended := s.find(func(m queue.Message) bool { return m.State.Terminal() })
	slices.SortStableFunc(ended, func(a, b queue.Message) int { return end(a).Compare(end(b)) })
	var all []queue.Garbage
	for _, m := range ended {
		for _, b := range s.builds[m.ID] {
			if s.kept("wire", m.ID, b.SHA256, b.N) && old(now, k.Wire, end(m), b.Created) {
				all = append(all, queue.Garbage{Message: m.ID, What: "wire", Build: b.N, File: b.SHA256})
			}
		}
	}
	for _, m := range ended {
		for _, a := range s.attempts[m.ID] {
			if a.Raw != "" && old(now, k.Of(m.Partner).Evidence, end(m), a.Started) {
				all = append(all, queue.Garbage{Message: m.ID, What: "receipt", File: a.Raw})
			}
		}
	}
	for _, m := range ended {
		if s.kept("payload", m.ID, m.Payload.SHA256, 0) && old(now, k.Of(m.Partner).Payloads, end(m)) {
			all = append(all, queue.Garbage{Message: m.ID, What: "payload", File: m.Payload.SHA256})
		}
	}
	for _, m := range ended {
		if m.Letter == "" && old(now, k.Keys, end(m)) && !s.keepsFiles(m) {
			all = append(all, queue.Garbage{Message: m.ID, What: "facts"})
		}
	}
	all = all[:min(limit, len(all))]
	listed := map[string]int{}
	for i, g := range all {
		if g.File != "" {
			file := g.What + "/" + g.File
			listed[file]++
			all[i].Shared = s.naming(g.What, g.File) > listed[file]
		}
	}
	return all, ctx.Err()
}

// end is when a message became terminal.
func end(m queue.Message) time.Time {
	if m.Finished.IsZero() {
		return m.Accepted
	}
	return m.Finished
}

// old reports whether all times lie at least keep before now; zero keeps for
// ever.
func old(now time.Time, keep time.Duration, times ...time.Time) bool {
	cut := now.Add(-keep)
	return keep > 0 && !slices.ContainsFunc(times, func(t time.Time) bool { return t.After(cut) })
}

func (s *Memory) kept(what, message, file string, build int) bool {
	return file != "" && !s.gone[fmt.Sprint(what, "/", message, "/", build)]
}

func (s *Memory) keepsFiles(m queue.Message) bool {
	return s.kept("payload", m.ID, m.Payload.SHA256, 0) ||
		slices.ContainsFunc(s.builds[m.ID], func(b queue.Build) bool { return s.kept("wire", m.ID, b.SHA256, b.N) }) ||
		slices.ContainsFunc(s.attempts[m.ID], func(a queue.Attempt) bool { return a.Raw != "" })
}

// naming counts the rows that name a file.
func (s *Memory) naming(what, file string) (n int) {
	for id, m := range s.messages {
		count(&n, what == "payload" && m.Payload.SHA256 == file && s.kept(what, id, file, 0))
		for _, b := range s.builds[id] {
			count(&n, what == "wire" && b.SHA256 == file && s.kept(what, id, file, b.N))
		}
		for _, a := range s.attempts[id] {
			count(&n, what == "receipt" && a.Raw == file)
		}
	}
	return n
}

// Forget drops rows that Expired listed.
func (s *Memory) Forget(ctx context.Context, g ...queue.Garbage) error {
	return s.write(ctx, func(u *undo) error {
		for _, x := range g {
			m, ok := s.messages[x.Message]
			if !ok || !m.State.Terminal() {
				continue
			}
			switch x.What {
			case "payload", "wire":
				set(u, s.gone, fmt.Sprint(x.What, "/", x.Message, "/", x.Build), true)
			case "receipt":
				all := slices.Clone(s.attempts[m.ID])
				for i := range all {
					if all[i].Raw == x.File {
						all[i].Raw = ""
					}
				}
				set(u, s.attempts, m.ID, all)
			case "facts":
				s.forget(u, m)
			default:
				return fmt.Errorf("storetest: nothing to forget is called %.40q", x.What)
			}
		}
		return nil
	})
}

// forget drops a message whole, but for its audit entries.
func (s *Memory) forget(u *undo, m queue.Message) {
	if m.Letter != "" || s.keepsFiles(m) {
		return
	}
	drop(u, s.messages, m.ID)
	drop(u, s.builds, m.ID)
	drop(u, s.attempts, m.ID)
	for id, l := range s.letters {
		if l.Message == m.ID {
			drop(u, s.letters, id)
		}
	}
	assign(u, &s.events, slices.DeleteFunc(slices.Clone(s.events), func(e queue.Event) bool { return e.Message == m.ID && e.Actor.Gateway() }))
}

// Trim drops what belongs to no message and ended by a time.
func (s *Memory) Trim(ctx context.Context, by time.Time, limit int) (n int, err error) {
	err = s.write(ctx, func(u *undo) error {
		for _, id := range slices.Clone(s.jobsMade) {
			if j := s.jobs[id]; (j.Status == queue.ReplayDone || j.Status == queue.ReplayCancelled) && !j.Finished.IsZero() && !j.Finished.After(by) {
				gone := min(limit-n, len(s.items[id]))
				n += gone
				set(u, s.items, id, s.items[id][gone:])
				if len(s.items[id]) == 0 && n < limit {
					n++
					drop(u, s.jobs, id)
					drop(u, s.items, id)
					assign(u, &s.jobsMade, slices.DeleteFunc(slices.Clone(s.jobsMade), func(x string) bool { return x == id }))
				}
			}
		}
		named := map[string]bool{}
		for _, l := range s.letters {
			named[l.Outage] = true
		}
		for _, o := range slices.SortedFunc(maps.Values(s.outages), func(a, b queue.Outage) int { return int(a.Number - b.Number) }) {
			if n < limit && !o.Ended.IsZero() && !o.Ended.After(by) && !named[o.ID] {
				n++
				drop(u, s.outages, o.ID)
			}
		}
		assign(u, &s.events, slices.DeleteFunc(slices.Clone(s.events), func(e queue.Event) bool {
			o, ok := s.outages[e.Outage]
			_, kept := s.messages[e.Message]
			bound := kept || e.Message != "" && e.Actor.Gateway() || ok && o.Ended.IsZero()
			if n >= limit || bound || e.At.After(by) {
				return false
			}
			n++
			return true
		}))
		return nil
	})
	return n, err
}

// drop deletes one entry of a map so that it can be taken back.
func drop[V any](u *undo, m map[string]V, key string) {
	if old, had := m[key]; had {
		delete(m, key)
		*u = append(*u, func() { m[key] = old })
	}
}

// Unnamed gives those of the files that no row names.
func (s *Memory) Unnamed(ctx context.Context, what string, files []string) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var free []string
	for _, f := range files {
		if s.naming(what, f) == 0 {
			free = append(free, f)
		}
	}
	return free, ctx.Err()
}

// Usage counts.
func (s *Memory) Usage(ctx context.Context) (queue.Usage, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	open := s.findLetters(func(l queue.Letter) bool { return l.Status == queue.LetterOpen })
	return queue.Usage{Messages: int64(len(s.messages)), Letters: int64(len(open))}, ctx.Err()
}
