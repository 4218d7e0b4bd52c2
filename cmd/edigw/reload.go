package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"edigw/fault"
	"edigw/partner"
	"edigw/queue"
)

// reloadTime bounds what a reload waits for the store.
const reloadTime = time.Minute

// reloads lets one reload run at a time, from reading to taking into use.
type reloads struct {
	mu   sync.Mutex
	left partner.Change // what lanes and fetcher could not be told yet
}

// reload takes changed settings into use (interfaces.md §3) and tells the
// ledger what changed and what is bad. The settings are in use even if a step
// fails or whoever asked went away; every step is done, and what the lanes
// could not be told is told them with the next reload.
func (g *gateway) reload(ctx context.Context, by fault.Actor) (partner.Change, []partner.Problem, error) {
	g.reloads.mu.Lock()
	defer g.reloads.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reloadTime)
	defer cancel()
	change, problems := g.settings.Reload()
	errs := []error{g.outbox.Reload()}
	g.log.Info("settings reloaded", "by", by.String(), "changed", changedNames(change))
	for _, p := range problems {
		g.log.Warn("settings", "problem", p.String())
	}
	due := joined(g.reloads.left, change)
	err := g.lanes.Reloaded(ctx, due)
	err = errors.Join(err, g.fetcher.Reload(ctx, due))
	if g.reloads.left = (partner.Change{}); err != nil {
		g.reloads.left = due
	}
	errs = append(errs, err, g.store.AddEvents(ctx, g.reloadEvents(change, problems, by)...))
	g.alerts.Poke()
	return change, problems, errors.Join(errs...)
}

// joined is what lanes are told of two changes, the older one first.
func joined(old, change partner.Change) partner.Change {
	change.Partners = slices.Concat(old.Partners, change.Partners)
	change.Added, change.Removed = slices.Concat(old.Added, change.Added), slices.Concat(old.Removed, change.Removed)
	change.Keys = change.Keys || old.Keys
	return change
}

// reloadEvents are the facts of a reload: what changed, and which files are
// bad.
func (g *gateway) reloadEvents(c partner.Change, problems []partner.Problem, by fault.Actor) []queue.Event {
	bad := map[string]int{}
	for _, p := range problems {
		if !p.Warning {
			bad[p.File]++
		}
	}
	text := "settings reloaded, nothing changed"
	if names := changedNames(c); len(names) > 0 {
		text = "settings reloaded: " + clip(strings.Join(names, ", "), 500)
	}
	gatewayBad := bad["edigw.yaml"] > 0
	events := []queue.Event{{At: g.now(), Type: queue.EventSettings, Actor: by, Text: text, Facts: map[string]string{"bad": fmt.Sprint(gatewayBad)}}}
	for _, p := range c.Partners {
		events = append(events, queue.Event{At: g.now(), Type: queue.EventSettings, Partner: p.ID, Actor: by, Text: clip(changedKeys(p), 500)})
	}
	return append(events, badEvents(g.now, problems)...)
}

// badEvents is one event for each settings file with mistakes.
func badEvents(now clock, problems []partner.Problem) []queue.Event {
	count := map[string]int{}
	first := map[string]partner.Problem{}
	var files []string
	for _, p := range problems {
		if p.Warning {
			continue
		}
		if count[p.File]++; count[p.File] == 1 {
			first[p.File] = p
			files = append(files, p.File)
		}
	}
	var events []queue.Event
	for _, f := range files {
		events = append(events, queue.Event{
			At: now(), Type: queue.EventMisconfig, Partner: partnerOf(f), Text: clip(first[f].String(), 500),
			Facts: map[string]string{"file": f, "mistakes": fmt.Sprint(count[f])},
		})
	}
	return events
}

// partnerOf is the id of a partner file, or "" for edigw.yaml.
func partnerOf(file string) string {
	name := file[strings.LastIndexAny(file, `/\`)+1:]
	id, ok := strings.CutSuffix(name, ".yaml")
	if !ok || name == "edigw.yaml" {
		return ""
	}
	return id
}

// changedNames lists what changed for people.
func changedNames(c partner.Change) []string {
	names := []string{}
	for _, s := range c.Gateway {
		names = append(names, s.Key)
	}
	for _, id := range c.Added {
		names = append(names, "partner "+id+" (new)")
	}
	for _, id := range c.Removed {
		names = append(names, "partner "+id+" (gone)")
	}
	for _, p := range c.Partners {
		if !slices.Contains(c.Added, p.ID) && !slices.Contains(c.Removed, p.ID) {
			names = append(names, "partner "+p.ID)
		}
	}
	return names
}

// changedKeys is what changed for one partner.
func changedKeys(p partner.PartnerChange) string {
	var parts []string
	for _, s := range p.Settings {
		parts = append(parts, fmt.Sprintf("%s: %s → %s", s.Key, s.Before, s.After))
	}
	for _, x := range []struct {
		what string
		is   bool
	}{{"certificates", p.Certificates}, {"TLS trust", p.Trust}, {"login", p.Credentials}} {
		if x.is {
			parts = append(parts, x.what)
		}
	}
	switch {
	case p.Stale:
		parts = append(parts, "the file is bad, the last good settings stay")
	case p.Fixed:
		parts = append(parts, "the file is good again")
	}
	return "settings changed: " + strings.Join(parts, "; ")
}

func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
