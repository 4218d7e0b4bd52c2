package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
	if _, err := os.Stat(e.config); err != nil {
		return fmt.Errorf("no settings at %s (--config names them; edigw init makes an installation)", e.config)
	}
	s, problems, err := partner.Load(e.config, time.Now())
	if err != nil && !errors.Is(err, partner.ErrSettings) {
		return err
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

// wants reports whether a file was asked for.
func (c *CheckCommand) wants(e *env, file string) bool {
	if len(c.Files) == 0 {
		return true
	}
	for _, f := range c.Files {
		abs, err1 := filepath.Abs(f)
		other, err2 := filepath.Abs(filepath.Join(filepath.Dir(e.config), file))
		if err1 == nil && err2 == nil && abs == other {
			return true
		}
	}
	return false
}

func (c *CheckCommand) schedules(e *env, s *partner.Snapshot) {
	for _, id := range s.IDs() {
		p, _ := s.Partner(id)
		if p.Misconfigured || !c.wants(e, filepath.Join("partners", id+".yaml")) {
			continue
		}
		e.say("%s: %s", id, strings.ReplaceAll(p.Schedule(), "\n", "\n  "))
	}
}
