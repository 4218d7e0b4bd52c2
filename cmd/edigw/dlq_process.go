package main

import (
	"net/url"

	"edigw/internal/apiclient"
	"edigw/queue"
)

// DLQProcess takes up again what partners sent.
type DLQProcess struct {
	selection
	Why string `name:"why" help:"What was repaired; kept for ever."`
}

// Help is shown by --help.
func (DLQProcess) Help() string {
	return "Example, after the partner's new certificate was imported:\n  edigw dlq process --partner northwind --reason signature --why \"certificate imported\"\n\n" +
		"A refused message is opened again as if it came now; if it is good its document goes on, under the settings of today. " +
		"The partner was told that it is refused: unless he asked for the receipt at an address of his, he learns otherwise only by sending it again. " +
		"A document that could not be handed on is handed on again. Exit code 1 if none could be, 3 if some could."
}

// inbound reports whether the letter is of what a partner sent.
func (l letterView) inbound() bool { return l.Direction == "in" }

// processed tells what came of it: which message hands the document on.
func (e *env) processed(gateway *apiclient.Client, l letterView) (said string, ended bool) {
	if l.Status != "closed" {
		return "stays a dead letter: " + l.Detail, false
	}
	var m messageView
	if err := gateway.Get(e.ctx, "/messages/"+url.PathEscape(l.Message), nil, &m); err != nil {
		return "handed on", true
	}
	if m.Kind == string(queue.KindWebhook) {
		return "put into the folder, message " + m.Follows, true
	}
	if l.ClosedAs != string(queue.ClosedSuperseded) {
		return "handed on, message " + m.ID, true
	}
	var same page[messageView]
	if err := gateway.Get(e.ctx, "/messages", query("partner", m.Partner, "reference", m.MessageID, "limit", "100"), &same); err == nil {
		for _, next := range same.Items {
			if next.Previous == m.ID {
				return "opened again and accepted, handed on as message " + next.ID, true
			}
		}
	}
	return "opened again and accepted", true
}

// Run does it.
func (c *DLQProcess) Run(e *env) error {
	if err := c.check(); err != nil {
		return err
	}
	gateway, err := e.gateway()
	if err != nil {
		return err
	}
	return c.each(e, letterAction{name: "process", question: "Process %s again? Partners whose messages were refused may have sent them again.",
		body: map[string]string{"note": c.Why}, done: func(l letterView) (string, bool) { return e.processed(gateway, l) }, only: letterView.inbound})
}
