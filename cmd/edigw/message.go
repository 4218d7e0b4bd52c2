package main

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"time"
)

// MessageCmds are what can be asked of messages and done to them.
type MessageCmds struct {
	List     MessageList     `cmd:"" help:"Messages, newest first."`
	Show     MessageShow     `cmd:"" help:"One message with attempts and timeline."`
	Trace    MessageTrace    `cmd:"" help:"Find a document by PO, invoice, control number, Message-ID, key or file name."`
	Evidence MessageEvidence `cmd:"" help:"Write the proof of a delivery as a zip."`
	Cancel   MessageCancel   `cmd:"" help:"Take a message out of the line; it is not sent."`
	Again    MessageAgain    `cmd:"" help:"Send a delivered message once more, as a new edition."`
}

// MessageList lists messages.
type MessageList struct {
	Partner   string `help:"Only this partner's."`
	State     string `help:"Only in this state, such as waiting."`
	Reference string `help:"Only with this reference; a * at the end matches the beginning."`
	Limit     int    `default:"100" help:"At most so many."`
}

// Help is shown by --help.
func (MessageList) Help() string {
	return "Example:\n  edigw message list --partner northwind --state waiting"
}

// Run prints them.
func (c *MessageList) Run(e *env) error {
	return listMessages(e, query("partner", c.Partner, "state", c.State, "reference", c.Reference, "limit", fmt.Sprint(c.Limit)))
}

func listMessages(e *env, q url.Values) error {
	gateway, err := e.gateway()
	if err != nil {
		return err
	}
	var raw json.RawMessage
	if err := gateway.Get(e.ctx, "/messages", q, &raw); err != nil {
		return err
	}
	var list page[messageView]
	if err := json.Unmarshal(raw, &list); err != nil {
		return err
	}
	var rows [][]string
	for _, m := range list.Items {
		rows = append(rows, []string{m.ID, local(m.Accepted), m.Partner, short(m.Key), m.sentence()})
	}
	if len(rows) == 0 {
		e.say("Nothing matches.%s", e.noSuch(q.Get("partner")))
	} else {
		e.table("MESSAGE\tACCEPTED\tPARTNER\tKEY\tSTATE", rows)
	}
	if list.Next != "" {
		e.say("There are more: use --limit, or narrow the search.")
	}
	return e.result(raw)
}

// short keeps a key from making a table too wide: its beginning and end tell
// keys apart.
func short(key string) string {
	r := []rune(key)
	if len(r) <= 48 {
		return key
	}
	return string(r[:30]) + "…" + string(r[len(r)-17:])
}

// MessageTrace finds a document by what people call it.
type MessageTrace struct {
	Reference string `arg:"" help:"PO, invoice or control number, Message-ID, key, correlation id or file name; a * at the end matches the beginning."`
}

// Help is shown by --help.
func (MessageTrace) Help() string {
	return "Example:\n  edigw message trace INV-20931\n  edigw message trace '4500*'"
}

// Run prints every message that bears the reference; for people a single one
// in full.
func (c *MessageTrace) Run(e *env) error {
	gateway, err := e.gateway()
	if err != nil {
		return err
	}
	asked := query("reference", c.Reference, "limit", "100")
	var list page[messageView]
	if err := gateway.Get(e.ctx, "/messages", asked, &list); err != nil {
		return err
	}
	switch {
	case len(list.Items) == 0:
		return fmt.Errorf("nothing bears the reference %q (as a whole; with a * at its end, as the beginning)", c.Reference)
	case len(list.Items) == 1 && !e.json:
		return showMessage(e, gateway, list.Items[0].ID)
	}
	return listMessages(e, asked)
}

// MessageShow shows one message.
type MessageShow struct {
	ID string `arg:"" help:"The message's id, or its beginning."`
}

// Help is shown by --help.
func (MessageShow) Help() string {
	return "Example:\n  edigw message show 01j…"
}

// Run prints it.
func (c *MessageShow) Run(e *env) error {
	gateway, id, err := e.namedMessage(c.ID)
	if err != nil {
		return err
	}
	return showMessage(e, gateway, id)
}

// MessageEvidence writes the proof of a delivery.
type MessageEvidence struct {
	ID     string `arg:"" help:"The message's id, or its beginning."`
	Output string `short:"o" help:"File to write; default: evidence-ID.zip."`
}

// Help is shown by --help.
func (MessageEvidence) Help() string {
	return "Example:\n  edigw message evidence 01j… -o inv-20931.zip\nThe zip holds what was signed, the receipt as it came, the certificates, and\nVERIFY.txt with the commands by which anybody can check them."
}

// Run writes it; an incomplete file is removed.
func (c *MessageEvidence) Run(e *env) error {
	gateway, id, err := e.namedMessage(c.ID)
	if err != nil {
		return err
	}
	name := c.Output
	if name == "" {
		name = "evidence-" + id + ".zip"
	}
	f, err := createNew(name)
	if err != nil {
		return err
	}
	err = gateway.Download(e.ctx, "/messages/"+url.PathEscape(id)+"/evidence", f)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		os.Remove(name)
		return err
	}
	e.say("%s written", name)
	return e.result(map[string]string{"file": name})
}

// MessageCancel takes a message out of the line.
type MessageCancel struct {
	ID      string   `arg:"" help:"The message's id, or its beginning."`
	Why     string   `required:"" help:"Reason, kept for ever."`
	Confirm []string `help:"A code that was asked for, such as possible-duplicate."`
}

// Help is shown by --help.
func (MessageCancel) Help() string {
	return "Example:\n  edigw message cancel 01j… --why \"wrong file\""
}

// Run does it.
func (c *MessageCancel) Run(e *env) error {
	return actOnMessage(e, c.ID, "cancel", map[string]any{"reason": c.Why, "note": c.Why, "confirm": c.Confirm}, "cancelled")
}

// MessageAgain sends a delivered message once more.
type MessageAgain struct {
	ID      string `arg:"" help:"The message's id, or its beginning."`
	Why     string `required:"" help:"Reason, kept for ever."`
	Confirm string `help:"The message's key, typed again: the partner will get the document twice."`
}

// Help is shown by --help.
func (MessageAgain) Help() string {
	return "Example:\n  edigw message again 01j… --why \"they lost it, Ms Lee asked\" --confirm INV-20931"
}

// Run does it.
func (c *MessageAgain) Run(e *env) error {
	if c.Confirm == "" {
		return wrong("the partner will get this document a second time, under a new Message-ID: confirm with --confirm KEY, the message's key")
	}
	gateway, id, err := e.namedMessage(c.ID)
	if err != nil {
		return err
	}
	var m messageView
	if err := gateway.Get(e.ctx, "/messages/"+url.PathEscape(id), nil, &m); err != nil {
		return err
	}
	if c.Confirm != m.Key {
		return wrong("--confirm %q is not the document's key; edigw message show %s prints it", c.Confirm, id)
	}
	return actOnMessage(e, id, "again", map[string]any{"reason": c.Why, "note": c.Why, "confirm": []string{c.Confirm}}, "goes out again as a new edition")
}

func actOnMessage(e *env, id, action string, body any, done string) error {
	gateway, id, err := e.namedMessage(id)
	if err != nil {
		return err
	}
	var m messageView
	err = gateway.Post(e.ctx, "/messages/"+url.PathEscape(id)+"/"+action, body, &m)
	if err != nil {
		return toConfirm(err, "nothing was done, and nothing that they have can be called back", false)
	}
	e.say("%s  %s %s", time.Now().Format(time.TimeOnly), id, done)
	return e.result(m)
}
