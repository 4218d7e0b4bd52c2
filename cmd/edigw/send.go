package main

import (
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"path/filepath"
	"time"

	"edigw/internal/apiclient"
	"edigw/internal/conf"
	"edigw/internal/words"
)

// SendCommand hands a document in.
type SendCommand struct {
	Partner     string   `arg:"" help:"Partner's id: the name of its file."`
	File        string   `arg:"" help:"The document."`
	Attach      []string `placeholder:"FILE" sep:"none" help:"Send another file with it, in the same message (RFC 6362); once for each."`
	Key         string   `help:"Idempotency key; default: derived from the document's envelope."`
	Correlation string   `help:"Correlation id, for search."`
	DeliverBy   string   `name:"deliver-by" help:"Deadline: a time (RFC 3339) or a duration from now, such as 4h."`
	Property    []string `placeholder:"NAME=VALUE" sep:"none" help:"AS4: message property of this document; once for each."`
	PartProp    []string `name:"part-property" placeholder:"NAME=VALUE" sep:"none" help:"AS4: property of each payload; once for each."`
	ContentType string   `name:"content-type" help:"MIME type; default: as recognised."`
	Wait        bool     `help:"Wait for the end: exit code 0 delivered, 1 dead, 3 still under way when interrupted."`
}

// Help is shown by --help.
func (SendCommand) Help() string {
	return "Example:\n  edigw send northwind invoice-20931.edi --key INV-20931 --deliver-by 4h --wait\n\n" +
		"The document is safe when the command has printed its id. The same key and\ncontent again change nothing and print the first message.\n\n" +
		"  edigw send northwind order-4711.edi --attach drawing.pdf --attach terms.pdf\n\n" +
		"makes one message of several files; the document proper is the first.\n\n" +
		"  edigw send stadtwerke msg.xml --part-property EDIGASDocumentType=01G\n\n" +
		"gives an AS4 message what its profile wants of each document."
}

// Run posts the file and waits if asked to.
func (c *SendCommand) Run(e *env) error {
	by, err := deadline(c.DeliverBy, time.Now())
	if err != nil {
		return err
	}
	properties, err := propertyHeaders(c.Property, c.PartProp)
	if err != nil {
		return err
	}
	f, _, err := openDocument(c.File)
	if err != nil {
		return err
	}
	defer f.Close()
	body, contentType := io.ReadCloser(f), c.ContentType
	if len(c.Attach) > 0 {
		if body, contentType, err = severalFiles(c.File, c.ContentType, c.Attach); err != nil {
			return err
		}
		defer body.Close()
	}
	gateway, err := e.gateway()
	if err != nil {
		return err
	}
	header := http.Header{"Content-Disposition": {mime.FormatMediaType("attachment", map[string]string{"filename": filepath.Base(c.File)})}}
	for name, value := range map[string]string{"Idempotency-Key": c.Key, "Correlation-Id": c.Correlation, "Deliver-By": by, "Content-Type": contentType} {
		if value != "" {
			header.Set(name, value)
		}
	}
	maps.Copy(header, properties)
	var m messageView
	answer, err := gateway.Send(e.ctx, "/partners/"+url.PathEscape(c.Partner)+"/messages", header, body, &m)
	if err != nil {
		return err
	}
	switch {
	case answer.Get("Idempotency-Replayed") != "":
		e.say("%s is here already: %s", m.ID, m.sentence())
	case m.State == "dead":
		e.say("%s accepted, but it is a dead letter at once: %s", m.ID, m.Detail)
	case len(m.Supersedes) > 0:
		e.say("%s accepted; %s", m.ID, words.Replaces(m.Supersedes))
	default:
		e.say("%s accepted", m.ID)
	}
	if c.Wait {
		return follow(e, gateway, m)
	}
	if err := e.result(m); err != nil {
		return err
	}
	if m.State == "dead" && answer.Get("Idempotency-Replayed") == "" {
		return partly("accepted, but it will not go out before somebody acts: edigw dlq show %s", m.Letter)
	}
	return nil
}

// follow tells what becomes of a message until its end.
func follow(e *env, gateway *apiclient.Client, m messageView) error {
	last := ""
	err := apiclient.Wait(e.ctx, func() (bool, error) {
		if err := gateway.Get(e.ctx, "/messages/"+m.ID, nil, &m); err != nil {
			return false, err
		}
		if s := m.sentence(); s != last {
			e.say("%s  %s", time.Now().Format(time.TimeOnly), s)
			last = s
		}
		return m.done(), nil
	})
	if e.ctx.Err() != nil {
		if err := e.result(m); err != nil {
			return err
		}
		return partly("%s is still under way; edigw message show %s tells more", m.ID, m.ID)
	}
	if err != nil {
		return err
	}
	if err := e.result(m); err != nil {
		return err
	}
	if m.State != "delivered" {
		return &codeError{code: exitFailed, text: fmt.Sprintf("%s was not delivered: %s\n  next: edigw message show %s", m.ID, m.Detail, m.ID)}
	}
	return nil
}

// deadline reads a time or a duration from now, as RFC 3339.
func deadline(text string, now time.Time) (string, error) {
	if text == "" {
		return "", nil
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t.UTC().Format(time.RFC3339), nil
	}
	var d conf.Duration
	if err := d.UnmarshalText([]byte(text)); err != nil {
		return "", wrong("--deliver-by %q is neither a time (2026-12-01T06:00:00Z) nor a duration (4h)", text)
	}
	return now.Add(time.Duration(d)).UTC().Format(time.RFC3339), nil
}
