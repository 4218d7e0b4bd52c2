package main

import (
	"encoding/json"
	"slices"
	"strings"

	"edigw/internal/conf"
	"edigw/internal/words"
)

// ReloadCommand takes changed settings into use.
type ReloadCommand struct{}

// Help is shown by --help.
func (ReloadCommand) Help() string {
	return "Example:\n  edigw reload\n\nTells partner by partner what counts now. A file with mistakes changes nothing:\nwhat was good before stays in force, and the exit code is 3."
}

// change is a setting that changed.
type change struct {
	Key    string `json:"key"`
	Before string `json:"before"`
	After  string `json:"after"`
}

// reloadView is the answer to a reload.
type reloadView struct {
	Gateway  []change `json:"gateway"`
	Keys     bool     `json:"keys"`
	Restart  []string `json:"restart"`
	Added    []string `json:"added"`
	Removed  []string `json:"removed"`
	Partners []struct {
		ID           string   `json:"id"`
		Settings     []change `json:"settings"`
		Certificates bool     `json:"certificates"`
		Trust        bool     `json:"trust"`
		Credentials  bool     `json:"credentials"`
		Fixed        bool     `json:"fixed"`
		Stale        bool     `json:"stale"`
		Tested       bool     `json:"test_due"`
	} `json:"partners"`
	Kept      []string       `json:"kept"`
	Unusable  []string       `json:"unusable"`
	Unchanged int            `json:"unchanged"`
	Problems  []conf.Problem `json:"problems"`
}

// Run tells what changed and what is wrong.
func (ReloadCommand) Run(e *env) error {
	gateway, err := e.gateway()
	if err != nil {
		return err
	}
	var raw json.RawMessage
	if err := gateway.Post(e.ctx, "/reload", nil, &raw); err != nil {
		return err
	}
	var r reloadView
	if err := json.Unmarshal(raw, &r); err != nil {
		return err
	}
	mistakes := r.say(e)
	if err := e.result(raw); err != nil {
		return err
	}
	if mistakes > 0 {
		return partly("%s; what was good before stays in force", words.Count(mistakes, "mistake", "mistakes"))
	}
	return nil
}

// say tells partner by partner what counts now, and counts the mistakes.
func (r reloadView) say(e *env) (mistakes int) {
	r.sayGateway(e)
	for _, id := range r.Added {
		if !slices.Contains(r.Unusable, id) {
			e.say("%s: new", id)
		}
	}
	for _, id := range r.Removed {
		e.say("%s: its file is gone; what waits stays, and is not sent", id)
	}
	r.sayPartners(e)
	told := map[string]bool{"": true} // edigw.yaml is told below
	for _, group := range []struct {
		ids  []string
		what string
	}{{r.Kept, "keeps its old settings, because its file has"}, {r.Unusable, "sends nothing, because its file has"}} {
		for _, id := range group.ids {
			told[id] = true
			e.sayMistakes(id, group.what, r.mistakesOf(id))
		}
	}
	if mine := r.mistakesOf(""); len(mine) > 0 {
		e.sayMistakes("edigw.yaml", "is as it was, because the file has", mine)
	}
	for _, p := range r.Problems {
		if !p.Warning {
			mistakes++
		}
		if p.Warning || !told[partnerOf(p.File)] {
			e.say("%s", p.String())
		}
	}
	switch touched := len(r.Added) + len(r.Removed) + len(r.Partners) + len(r.Kept) + len(r.Unusable); {
	case touched == 0 && len(r.Gateway) == 0 && len(r.Restart) == 0 && !r.Keys && mistakes == 0:
		e.say("Nothing changed.")
	default:
		e.say("%s unchanged.", words.Count(r.Unchanged, "partner", "partners"))
	}
	return mistakes
}

func (r reloadView) sayGateway(e *env) {
	for _, c := range r.Gateway {
		e.say("edigw.yaml: %s", c)
	}
	if r.Keys {
		e.say("edigw.yaml: own keys changed")
	}
	if len(r.Restart) > 0 {
		e.say("These count after a restart: %s", strings.Join(r.Restart, ", "))
	}
}

func (r reloadView) sayPartners(e *env) {
	for _, p := range r.Partners {
		if p.Stale || slices.Contains(r.Kept, p.ID) || slices.Contains(r.Unusable, p.ID) {
			continue
		}
		var parts []string
		for _, c := range p.Settings {
			parts = append(parts, c.String())
		}
		for _, hidden := range []struct {
			is   bool
			what string
		}{{p.Certificates, "certificates"}, {p.Trust && len(p.Settings) == 0, "TLS trust or proxy"}, {p.Credentials, "login"}, {p.Fixed, "the file is good again"}} {
			if hidden.is {
				parts = append(parts, hidden.what)
			}
		}
		e.say("%s: changed: %s", p.ID, strings.Join(parts, "; "))
		if p.Tested {
			e.say("  its lane was stopped: the next test is due now, not after the cool-down")
		}
	}
}

// mistakesOf are those in a partner's file; of "" those in edigw.yaml.
func (r reloadView) mistakesOf(id string) (out []conf.Problem) {
	for _, p := range r.Problems {
		if !p.Warning && partnerOf(p.File) == id {
			out = append(out, p)
		}
	}
	return out
}

func (e *env) sayMistakes(who, what string, list []conf.Problem) {
	e.say("%s: %s %s:", who, what, words.Count(len(list), "mistake", "mistakes"))
	for _, p := range list {
		e.say("  %s", p.String())
	}
}

// String is "key: before → after".
func (c change) String() string {
	none := func(s string) string {
		if s == "" {
			return "(none)"
		}
		return s
	}
	return c.Key + ": " + none(c.Before) + " → " + none(c.After)
}
