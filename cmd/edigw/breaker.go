package main

import (
	"errors"
	"fmt"

	"edigw/internal/words"
)

// BreakerCmds are an operator's hand on a breaker.
type BreakerCmds struct {
	Trip  BreakerTrip  `cmd:"" help:"Stop a lane as if the partner had failed; documents wait, no outage is opened."`
	Reset BreakerReset `cmd:"" help:"Send again at once, without a test."`
}

// BreakerTrip opens a breaker.
type BreakerTrip struct {
	ID  string `arg:"" help:"Partner's id."`
	Yes bool   `short:"y" help:"Do not ask."`
}

// Help is shown by --help.
func (BreakerTrip) Help() string {
	return "Example:\n  edigw breaker trip northwind"
}

// Run says what it does, then does it.
func (c *BreakerTrip) Run(e *env) error {
	s, err := e.settings()
	if err != nil {
		return err
	}
	p, ok := s.Partner(c.ID)
	if !ok {
		return errors.New(s.NoPartner(c.ID))
	}
	fmt.Fprintf(e.err, "Nothing is sent to %s for %s, then one document goes as a test. Documents wait; no dead letters are made.\n", p.Name, words.Span(p.Breaker.Cooldown))
	if !c.Yes && !e.ask("Trip the breaker of %s?", c.ID) {
		return fmt.Errorf("nothing was done")
	}
	return act(e, c.ID, "trip", nil)
}

// BreakerReset closes a breaker.
type BreakerReset struct {
	ID  string `arg:"" help:"Partner's id."`
	Yes bool   `short:"y" help:"Do not ask."`
}

// Help is shown by --help.
func (BreakerReset) Help() string {
	return "Example:\n  edigw breaker reset northwind"
}

// Run says what it does, then does it.
func (c *BreakerReset) Run(e *env) error {
	fmt.Fprintf(e.err, "Every waiting document to %s may start now, without a test. Dead letters stay until they are replayed.\n", c.ID)
	if !c.Yes && !e.ask("Reset the breaker of %s?", c.ID) {
		return fmt.Errorf("nothing was done")
	}
	return act(e, c.ID, "reset", nil)
}
