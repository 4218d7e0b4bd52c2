package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"edigw/internal/words"
	"edigw/partner"
)

// CheckCommand shows every mistake in the settings.
type CheckCommand struct {
	Files []string `arg:"" optional:"" help:"Only these files; default: all."`
}

// Help is shown by --help.
func (CheckCommand) Help() string {
	return "Example:\n  edigw check\n  edigw check partners/northwind.yaml\n\nOne line a mistake: file, line, key, reason and a hint. Warnings never change the\nexit code."
}

// Run prints mistakes, then each good partner's schedule in words.
func (c *CheckCommand) Run(e *env) error {
	if err := e.installed(); err != nil {
		return err
	}
	s, problems, err := partner.Load(e.config, time.Now())
	if err != nil && !errors.Is(err, partner.ErrSettings) {
		return err
	}
	if err := c.known(e, s); err != nil {
		return err
	}
	if s != nil {
		problems = append(movedDomain(s), s.Outlook(time.Now())...)
	}
	mistakes := 0
	shown := []partner.Problem{}
	for _, p := range problems {
		if !c.wants(e, p.File) {
			continue
		}
		shown = append(shown, p)
		if p.Warning {
			e.say("%s", p.String())
			continue
		}
		mistakes++
		e.say("%s", p.String())
	}
	if s != nil {
		c.schedules(e, s)
	}
	if err := e.result(map[string]any{"problems": shown, "mistakes": mistakes}); err != nil {
		return err
	}
	if mistakes > 0 {
		return &codeError{code: exitFailed, text: words.Count(mistakes, "mistake", "mistakes")}
	}
	e.say("No mistakes.")
	return nil
}

// known refuses a file that is none of the installation's: no mistakes would be
// found in it. s is nil if edigw.yaml is bad.
func (c *CheckCommand) known(e *env, s *partner.Snapshot) error {
	for _, f := range c.Files {
		info, err := os.Stat(f)
		switch {
		case err != nil:
			return wrong("%s: no such file", f)
		case info.IsDir():
			return wrong("%s is a folder: without a file edigw check looks at all of them", f)
		case s == nil || same(f, e.config) || same(filepath.Dir(f), string(s.Gateway().Partners)):
			continue
		}
		return wrong("%s belongs to another installation than %s; name its edigw.yaml with --config", f, e.config)
	}
	return nil
}

// same reports whether two names mean one file.
func same(a, b string) bool {
	x, err1 := os.Stat(a)
	y, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}

// wants reports whether a file was asked for.
func (c *CheckCommand) wants(e *env, file string) bool {
	if len(c.Files) == 0 {
		return true
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(filepath.Dir(e.config), file)
	}
	return slices.ContainsFunc(c.Files, func(f string) bool { return same(f, file) })
}

// schedules tells each schedule once, with the partners that have it.
func (c *CheckCommand) schedules(e *env, s *partner.Snapshot) {
	var order []string
	who := map[string][]string{}
	for _, id := range s.IDs() {
		p, _ := s.Partner(id)
		if p.Misconfigured || !c.wants(e, filepath.Join(string(s.Gateway().Partners), id+".yaml")) {
			continue
		}
		text := p.Schedule()
		if who[text] == nil {
			order = append(order, text)
		}
		who[text] = append(who[text], id)
	}
	for _, text := range order {
		e.say("%s: %s", enumerate(who[text]), strings.ReplaceAll(text, "\n", "\n  "))
	}
}

// enumerate names ids, and counts those that would fill the screen.
func enumerate(ids []string) string {
	const most = 20
	if n := len(ids) - most; n > 1 {
		return strings.Join(ids[:most], ", ") + " and " + words.Number(int64(n)) + " more"
	}
	return strings.Join(ids, ", ")
}
