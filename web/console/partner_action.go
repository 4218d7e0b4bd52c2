package console

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"edigw/fault"
	"edigw/internal/conf"
	"edigw/internal/words"
	"edigw/queue"
	"edigw/web"
)

// connection is what a connection test found.
type connection struct {
	Title string
	OK    bool
	Steps []connectionStep
	Next  string // what happens by itself after it
	Path  string
	Back  string
}

// connectionStep is one step of a connection test.
type connectionStep struct {
	Name, Words, Took string
	Mark              mark
}

func (c *Console) partnerActions() []action {
	return []action{
		{path: "/partners/{id}/stop", do: c.stopLane},
		{path: "/partners/{id}/start", do: c.startLane},
		{path: "/partners/{id}/trip", do: c.trip},
		{path: "/partners/{id}/reset", do: c.reset},
		{path: "/partners/{id}/test", do: c.testConnection},
	}
}

// acted is the partner that an action is about; it must have a settings file.
func (c *Console) acted(v *visit) (standing, string, error) {
	s, err := c.shownPartner(v)
	if err == nil && s.settings == nil {
		err = &web.Problem{Slug: web.NotFound, Detail: c.Settings().NoPartner(s.id)}
	}
	back := "/partners/" + url.PathEscape(s.id)
	if b := v.form.Get("back"); b != "" {
		back = local(b)
	}
	return s, back, err
}

// ends are what a stop may last, as interfaces.md writes durations.
var ends = []option{{"1h", "1 h", false}, {"4h", "4 h", true}, {"8h", "8 h", false}, {"24h", "24 h", false}, {"3d", "3 days", false}, {"14d", "14 days", false}}

// longestStop bounds a stop: one without an end is forgotten.
const longestStop = 90 * 24 * time.Hour

// stopLane asks for how long and why, then stops.
func (c *Console) stopLane(v *visit) (done, error) {
	s, back, err := c.acted(v)
	if err != nil {
		return done{}, err
	}
	reason := strings.TrimSpace(v.form.Get("reason"))
	if reason == "" || v.form.Get("until") == "" {
		w := words.Stop(s.name, s.depth.First, v.now, v.zoneOf(s.settings))
		return asks(question{Title: w.Title, Text: w.Text, Path: "/partners/" + url.PathEscape(s.id) + "/stop", Back: back, Safe: w.Safe, Reason: "Reason", Must: true, Until: ends,
			Choices: []choice{{Label: w.Actions[0], Kind: primary}}}), nil
	}
	if len(reason) > maxParameter {
		return done{}, &web.Problem{Slug: web.BadRequest, Field: "reason", Detail: "The reason has at most 300 bytes."}
	}
	var d conf.Duration
	if err := d.UnmarshalText([]byte(v.form.Get("until"))); err != nil || d <= 0 || time.Duration(d) > longestStop {
		return done{}, &web.Problem{Slug: web.BadRequest, Field: "until", Detail: "Stop for a time such as 4h, at most 90 days."}
	}
	until := v.now.Add(time.Duration(d))
	if err := c.Operator.StopLane(v.r.Context(), s.id, v.actor(), reason, until); err != nil {
		return done{}, err
	}
	return done{to: back, flash: flash{Text: s.name + " is stopped until " + v.in(until, v.zoneOf(s.settings)).Clock + ". Documents wait in line."}}, nil
}

func (c *Console) startLane(v *visit) (done, error) {
	s, back, err := c.acted(v)
	if err != nil {
		return done{}, err
	}
	if err := c.Operator.StartLane(v.r.Context(), s.id, v.actor()); err != nil {
		return done{}, err
	}
	return done{to: back, flash: flash{Text: v.started(s, c.Lanes.View(s.id))}}, nil
}

// started says what a start did: a stop that is lifted makes nobody answer.
func (v *visit) started(s standing, lane queue.LaneView) string {
	switch lane.State {
	case queue.LaneOpen, queue.LaneHalfOpen:
		text := "Your stop is lifted; they still do not answer."
		if next := v.in(lane.Next, v.zoneOf(s.settings)); next.Is() {
			text += " Next test " + next.Clock + "."
		}
		return text
	case queue.LaneSending, queue.LaneAnswering, queue.LaneStopped:
		return s.name + " is started."
	}
	return s.name + " is started: " + v.laneSentence(lane, s.depth.Lined, s.settings) + "."
}

// trip says its effect first.
func (c *Console) trip(v *visit) (done, error) {
	return c.operate(v, "trip", c.Operator.Trip, func(s standing) words.Question { return words.Trip(s.name, s.settings.Breaker.Cooldown) }, func(s standing) string { return s.name + " is held back until a test." })
}

// reset says its effect first.
func (c *Console) reset(v *visit) (done, error) {
	return c.operate(v, "reset", c.Operator.Reset, func(s standing) words.Question { return words.Reset(s.name, s.depth.Lined, s.letters) }, func(s standing) string { return s.name + " is sent to again, without a test." })
}

// operate asks, and acts once the question was answered.
func (c *Console) operate(v *visit, name string, act func(context.Context, string, fault.Actor) error, ask func(standing) words.Question, did func(standing) string) (done, error) {
	s, back, err := c.acted(v)
	if err != nil {
		return done{}, err
	}
	if v.form.Get("sure") == "" {
		w := ask(s)
		return asks(question{Title: w.Title, Text: w.Text, Path: "/partners/" + url.PathEscape(s.id) + "/" + name, Fields: []field{{"sure", "yes"}}, Back: back, Safe: w.Safe,
			Choices: []choice{{Label: w.Actions[0], Kind: danger}}}), nil
	}
	if err := act(v.r.Context(), s.id, v.actor()); err != nil {
		return done{}, err
	}
	return done{to: back, flash: flash{Text: did(s)}}, nil
}

// testConnection checks the connection and shows each step.
func (c *Console) testConnection(v *visit) (done, error) {
	s, back, err := c.acted(v)
	if err != nil {
		return done{}, err
	}
	if s.settings.Misconfigured {
		return done{}, &web.Problem{Slug: web.Conflict, Detail: "The partner's settings file has mistakes: correct them first."}
	}
	o, err := c.Operator.Test(v.r.Context(), s.id, v.actor())
	if err != nil {
		return done{}, err
	}
	r := web.CheckReport(o, s.settings)
	if s, err = c.shownPartner(v); err != nil {
		return done{}, err
	}
	p := connection{Title: s.name + " answers", OK: r.OK(), Path: "/partners/" + url.PathEscape(s.id) + "/test", Back: back, Next: v.afterTest(s, r.OK())}
	if !p.OK {
		p.Title = s.name + " does not answer"
	}
	for _, step := range r.Steps {
		row := connectionStep{Name: step.Name, Words: plain(step.Words), Mark: mark{"ok", "✓", "fine"}}
		if step.Took > 0 {
			row.Took = took(step.Took)
		}
		if !step.OK {
			row.Mark = mark{"bad", "✕", "failed"}
		}
		p.Steps = append(p.Steps, row)
	}
	return shows(view{template: "connection", title: p.Title, topic: "-", status: http.StatusOK, data: p}), nil
}

// afterTest says what happens by itself after a connection test.
func (v *visit) afterTest(s standing, ok bool) string {
	text := "Lane: " + v.laneSentence(s.lane, s.depth.Lined, s.settings) + "."
	switch {
	case !ok:
		return text
	case s.lane.State == queue.LaneHalfOpen, s.lane.State == queue.LaneAnswering && s.depth.Lined > 0:
		text += " The oldest document that waits goes out now, as the test; the others follow when it is delivered."
	case s.lane.State == queue.LaneAnswering:
		text += " The next document goes out as the test."
	}
	if s.letters > 0 {
		text += " " + words.Count(s.letters, "dead letter stays", "dead letters stay") + " until somebody replays them."
	}
	return text
}
