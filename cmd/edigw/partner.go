package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"time"

	"edigw/internal/apiclient"
	"edigw/internal/words"
)

// PartnerCmds are what can be asked of trading partners and done to them.
type PartnerCmds struct {
	List   PartnerList   `cmd:"" help:"Partners with the state of their lanes."`
	Show   PartnerShow   `cmd:"" help:"One partner: settings with their origin, schedule in words."`
	New    PartnerNew    `cmd:"" help:"Write a partner's file and the sheet to send them."`
	Import PartnerImport `cmd:"" help:"Take partners over from another product."`
	Test   PartnerTest   `cmd:"" help:"Check the connection; no document is sent unless asked for."`
	Stop   PartnerStop   `cmd:"" help:"Hold a partner's documents; nothing is lost."`
	Start  PartnerStart  `cmd:"" help:"Let them go out again, also after a stop of the lane's own or a restore."`
}

// PartnerList lists partners.
type PartnerList struct{}

// Help is shown by --help.
func (PartnerList) Help() string {
	return "Example:\n  edigw partner list"
}

// Run prints them.
func (PartnerList) Run(e *env) error {
	gateway, err := e.gateway()
	if err != nil {
		return err
	}
	var all []partnerView
	for cursor, more := "", true; more; more = cursor != "" {
		var list page[partnerView]
		if err := gateway.Get(e.ctx, "/partners", query("limit", "500", "cursor", cursor), &list); err != nil {
			return err
		}
		all, cursor = append(all, list.Items...), list.Next
	}
	var rows [][]string
	for _, p := range all {
		state := p.sentence()
		if f := p.fetching(false); f != "" {
			state += ". " + f
		}
		rows = append(rows, []string{p.ID, state, fmt.Sprint(p.Waiting), fmt.Sprint(p.Letters), p.Name})
	}
	e.table("PARTNER\tSTATE\tWAITING\tLETTERS\tNAME", rows)
	return e.result(page[partnerView]{Items: all})
}

func (p partnerView) sentence() string {
	s := words.Lane(words.LaneFacts{State: p.State, Now: time.Now(), Zone: time.Local, Next: p.NextAt, Mistakes: len(p.Problems), Waiting: p.Waiting,
		By: p.Stopped, Reason: p.Note, Cause: p.Cause})
	if p.State == "open" && p.Note != "" {
		s += " (" + p.Note + ")"
	}
	if p.Stale {
		s += "; its file has mistakes, the last good settings count"
	}
	return s
}

// fetching says why the partner's messages cannot be fetched, and, if advised, what
// to do; empty if they can be.
func (p partnerView) fetching(advised bool) string {
	t := p.Fetching
	if t == nil {
		return ""
	}
	f := words.FetchFacts{Now: time.Now(), Zone: time.Local, Since: t.Since, Count: t.Failures, Ours: t.Side == "ours", Why: t.Why, Next: t.NextAt}
	if advised {
		f.Do = t.Do
	}
	return words.Fetch(f)
}

// PartnerShow shows one partner.
type PartnerShow struct {
	ID        string `arg:"" help:"Partner's id."`
	Effective bool   `help:"Every setting with its origin: partner, preset, defaults, built in."`
}

// Help is shown by --help.
func (PartnerShow) Help() string {
	return "Example:\n  edigw partner show northwind --effective"
}

// Run prints settings from the files on disk, and the lane's state if a
// gateway runs.
func (c *PartnerShow) Run(e *env) error {
	s, err := e.settings()
	if err != nil {
		return err
	}
	p, ok := s.Partner(c.ID)
	if !ok {
		return errors.New(s.NoPartner(c.ID) + " edigw partner list shows all.")
	}
	e.say("%s (%s), stage %s, %s", p.Name, p.ID, p.Stage, p.Protocol)
	for _, problem := range p.Problems {
		e.say("  %s", problem.String())
	}
	e.say("%s", p.Schedule())
	agreed := s.Terms(c.ID, time.Now())
	if len(agreed) > 0 {
		e.say("P-Mode, by the names of ebMS 3.0 Core appendix D:")
	}
	for _, t := range agreed {
		e.say("  %-36s  %s", t.Name, t.Value)
	}
	c.state(e)
	effective := s.Effective(c.ID)
	if c.Effective {
		var rows [][]string
		for _, v := range effective {
			rows = append(rows, []string{v.Key, v.Value, v.Origin})
		}
		e.table("KEY\tVALUE\tFROM", rows)
	}
	return e.result(map[string]any{"id": p.ID, "name": p.Name, "stage": p.Stage, "schedule": p.Schedule(), "problems": p.Problems, "p_mode": agreed, "settings": effective})
}

// state adds the lane's state; without a running gateway there is none to tell.
func (c *PartnerShow) state(e *env) {
	gateway, err := e.gateway()
	if err != nil {
		return
	}
	var p partnerView
	if err := gateway.Get(e.ctx, "/partners/"+url.PathEscape(c.ID), nil, &p); err != nil {
		e.say("Lane: not known (%v)", err)
		return
	}
	e.say("Lane: %s. %s, %s.", p.sentence(), words.Count(p.Waiting, "document waits", "documents wait"), words.Count(p.Letters, "dead letter", "dead letters"))
	if f := p.fetching(true); f != "" {
		e.say("%s.", f)
	}
}

// PartnerTest checks the connection.
type PartnerTest struct {
	ID      string `arg:"" help:"Partner's id."`
	Message string `help:"Send this file as a real message; '-' sends a small text." placeholder:"FILE"`
	Yes     bool   `short:"y" help:"Do not ask before a message is sent."`
}

// Help is shown by --help.
func (PartnerTest) Help() string {
	return "Examples:\n  edigw partner test northwind\n  edigw partner test northwind --message sample.edi\n\nWithout --message the test itself sends no document. A partner who speaks AS4 is\npinged as well: his test service acknowledges a message without content. Where\nthe lane is stopped because they did not answer, a good test lets its oldest\ndocument go out next."
}

// Run checks name, TCP, TLS and an HTTP answer, and sends a message if asked.
func (c *PartnerTest) Run(e *env) error {
	gateway, err := e.gateway()
	if err != nil {
		return err
	}
	var result struct {
		OK    bool `json:"ok"`
		Steps []struct {
			Name  string `json:"name"`
			OK    bool   `json:"ok"`
			Took  string `json:"took"`
			Words string `json:"words"`
		} `json:"steps"`
		Detail string `json:"detail"`
	}
	var raw json.RawMessage
	if err := gateway.Post(e.ctx, "/partners/"+url.PathEscape(c.ID)+"/test", nil, &raw); err != nil {
		return err
	}
	var answer struct {
		Test json.RawMessage `json:"test"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil || json.Unmarshal(answer.Test, &result) != nil {
		return fmt.Errorf("the gateway's answer cannot be read: %.200s", raw)
	}
	failed := "does not answer"
	for _, s := range result.Steps {
		mark := "ok    "
		if !s.OK {
			mark = "FAILED"
		}
		if !s.OK && s.Name == "Ping" {
			failed = "answers, and the ping failed"
		}
		e.say("%-5s  %s  %s", s.Name, mark, s.Words)
	}
	if c.Message == "" || !result.OK {
		if err := c.follows(e, gateway, raw, result.OK); err != nil {
			return err
		}
		if err := e.result(raw); err != nil {
			return err
		}
		if !result.OK {
			return fmt.Errorf("%s %s: %s", c.ID, failed, result.Detail)
		}
		return nil
	}
	return c.send(e)
}

// follows says what happens by itself after the test.
func (c *PartnerTest) follows(e *env, gateway *apiclient.Client, raw json.RawMessage, ok bool) error {
	var p partnerView
	if err := json.Unmarshal(raw, &p); err != nil {
		return err
	}
	e.say("This test sent no document. Lane: %s.", p.sentence())
	switch {
	case !ok:
	case p.State == "answering" && p.Waiting > 0, p.State == "half-open":
		e.say("The oldest document that waits goes out now, as the test; the others follow when it is delivered.")
	case p.State == "answering":
		e.say("The next document goes out as the test.")
	}
	if p.Letters == 0 {
		return nil
	}
	n, err := replayable(e, gateway, c.ID)
	if err == nil && n > 0 {
		e.say("%s: they go out when somebody replays them (edigw dlq list --partner %s).", words.Count(n, "dead letter", "dead letters"), c.ID)
	}
	return err
}

// replayable counts the open letters of what we send to a partner: those of
// what he sent us go nowhere.
func replayable(e *env, gateway *apiclient.Client, id string) (n int, err error) {
	for cursor, more := "", true; more; more = cursor != "" {
		var list page[struct {
			Open int `json:"open"`
		}]
		if err := gateway.Get(e.ctx, "/letters/groups", query("partner", id, "direction", "out", "limit", "500", "cursor", cursor), &list); err != nil {
			return 0, err
		}
		cursor = list.Next
		for _, group := range list.Items {
			n += group.Open
		}
	}
	return n, nil
}

// send says first that a real message goes out.
func (c *PartnerTest) send(e *env) error {
	file := c.Message
	if file == "-" {
		f, err := os.CreateTemp("", "edigw-test-*.txt")
		if err != nil {
			return err
		}
		defer os.Remove(f.Name())
		fmt.Fprintf(f, "Connection test by edigw, %s. Please ignore.\r\n", time.Now().UTC().Format(time.RFC3339))
		if err := f.Close(); err != nil {
			return err
		}
		file = f.Name()
	}
	if !c.Yes && !e.ask("A real message with %s goes to %s now. Did you agree on that with them?", file, c.ID) {
		return fmt.Errorf("nothing was sent")
	}
	send := SendCommand{Partner: c.ID, File: file, Wait: true}
	return send.Run(e)
}

// PartnerStop holds a lane.
type PartnerStop struct {
	ID     string `arg:"" help:"Partner's id."`
	Reason string `required:"" help:"Why; everybody sees it."`
	Until  string `help:"End: a time (RFC 3339) or a duration; default: 4h."`
}

// Help is shown by --help.
func (PartnerStop) Help() string {
	return "Example:\n  edigw partner stop northwind --reason \"their maintenance\" --until 6h"
}

// Run does it.
func (c *PartnerStop) Run(e *env) error {
	until, err := deadline(c.Until, time.Now())
	if err != nil {
		return wrong("--until %q is neither a time nor a duration", c.Until)
	}
	body := map[string]string{"reason": c.Reason}
	if until != "" {
		body["until"] = until
	}
	return act(e, c.ID, "stop", body)
}

// PartnerStart lets a lane go on.
type PartnerStart struct {
	ID          string `arg:"" optional:"" help:"Partner's id."`
	AllPartners bool   `name:"all-partners" help:"Every stopped partner, for example after a restore."`
}

// Help is shown by --help.
func (PartnerStart) Help() string {
	return "Examples:\n  edigw partner start northwind\n  edigw partner start --all-partners      after a restore"
}

// Run does it.
func (c *PartnerStart) Run(e *env) error {
	if c.AllPartners == (c.ID != "") {
		return wrong("name one partner, or use --all-partners")
	}
	if c.ID != "" {
		return act(e, c.ID, "start", nil)
	}
	s, err := e.settings()
	if err != nil {
		return err
	}
	gateway, err := e.gateway()
	if err != nil {
		return err
	}
	started := page[partnerView]{Items: []partnerView{}}
	failed := 0
	for _, id := range s.IDs() {
		p, err := laneAct(e, gateway, id, "start", nil)
		if err != nil {
			failed++
			fmt.Fprintf(e.err, "edigw: %s: %v\n", id, err)
			continue
		}
		started.Items = append(started.Items, p)
	}
	if err := e.result(started); err != nil {
		return err
	}
	switch {
	case failed > 0 && len(started.Items) == 0:
		return fmt.Errorf("no partner could be started")
	case failed > 0:
		return partly("%s could not be started", words.Count(failed, "partner", "partners"))
	}
	return nil
}

// act posts an action on a partner and prints what it is now.
func act(e *env, id, action string, body any) error {
	gateway, err := e.gateway()
	if err != nil {
		return err
	}
	p, err := laneAct(e, gateway, id, action, body)
	if err != nil {
		return err
	}
	return e.result(p)
}

// laneAct does an action on a partner and says what its lane is then.
func laneAct(e *env, gateway *apiclient.Client, id, action string, body any) (p partnerView, err error) {
	if err := gateway.Post(e.ctx, "/partners/"+url.PathEscape(id)+"/"+action, body, &p); err != nil {
		return p, err
	}
	e.say("%s: %s", id, p.sentence())
	return p, nil
}
