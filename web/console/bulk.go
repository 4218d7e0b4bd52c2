package console

import (
	"net/url"
	"slices"
	"strconv"
	"time"

	"edigw/access"
	"edigw/dlq"
	"edigw/fault"
	"edigw/internal/words"
	"edigw/queue"
	"edigw/web"
)

// itemsPage is how many letters of a bulk replay are shown at once.
const itemsPage = 100

// bulk is the page of a bulk replay: how far it is, and what became of each.
type bulk struct {
	ID      string
	What    string // what was selected
	Line    string // "612 of 1,240 delivered · 2 failed again"
	State   string
	Waits   []string // why those that are in line are not sent
	By      string
	Begun   moment
	Ended   moment
	Total   int
	Done    int // replayed, skipped or failed
	Counts  queue.ReplayCounts
	Rows    []itemRow
	Show    []filterLink
	Newer   string
	Older   string
	Buttons []button
}

// itemRow is a letter of a bulk replay.
type itemRow struct {
	N       int
	Message string
	Name    string
	Partner string
	Doc     string // as people call it
	Lined   bool   // it is still to be sent
	Mark    mark
	Word    string
	Detail  string
}

func (c *Console) bulkPages() []page {
	return []page{{path: "/letters/replays/{id}", params: []string{"status", "after"}, show: c.bulk}}
}

func (c *Console) bulkActions() []action {
	turn := func(name string, act turnBulk) action {
		return action{path: "/letters/replays/{id}/" + name, do: func(v *visit) (done, error) {
			_, err := act(v)
			return done{to: "/letters/replays/" + url.PathEscape(v.param("id"))}, err
		}}
	}
	return []action{
		{path: "/letters/replays", do: c.replayMany},
		turn("pause", func(v *visit) (queue.ReplayJob, error) {
			return c.Letters.Pause(v.r.Context(), v.param("id"), v.actor())
		}),
		turn("resume", func(v *visit) (queue.ReplayJob, error) {
			return c.Letters.Resume(v.r.Context(), v.param("id"), v.actor())
		}),
		turn("cancel", func(v *visit) (queue.ReplayJob, error) {
			return c.Letters.CancelBulk(v.r.Context(), v.param("id"), v.actor())
		}),
	}
}

type turnBulk func(*visit) (queue.ReplayJob, error)

// selection is what a form wants replayed, and the fields that repeat it.
func (v *visit) selection() (sel dlq.Selection, fields []field, err error) {
	if ids := v.form["ids"]; len(ids) > 0 && v.form.Get("what") != "matching" {
		if ids, err = v.selected(); err != nil {
			return sel, nil, err
		}
		return dlq.Selection{IDs: ids}, idFields(ids), nil
	}
	if v.form.Get("what") == "selected" {
		_, err = v.selected()
		return sel, nil, err
	}
	f, err := letterFilter(v.form)
	if err != nil {
		return sel, nil, err
	}
	f.Status = queue.LetterOpen
	if f.To, err = v.counted(); err != nil {
		return sel, nil, err
	}
	fields = append(filterFields(f), field{"what", "matching"}, field{"until", f.To.Format(time.RFC3339Nano)})
	return dlq.Selection{Filter: f}, fields, nil
}

// counted is when the letters of a form were counted: what dies later was not
// in the question, and does not join the answer.
func (v *visit) counted() (time.Time, error) {
	text := v.form.Get("until")
	if text == "" && v.form.Get("sure") == "" {
		return v.now.UTC().Truncate(time.Microsecond), nil
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil || t.After(v.now) {
		return t, &web.Problem{Slug: web.BadRequest, Field: "until", Detail: "The form does not say when its letters were counted. Nothing was sent: begin again from the list."}
	}
	return t.UTC(), nil
}

// replayMany counts, asks, and then replays what was counted.
func (c *Console) replayMany(v *visit) (done, error) {
	sel, fields, err := v.selection()
	if err != nil {
		return done{}, err
	}
	ask, err := v.bulkAsk()
	if err != nil {
		return done{}, err
	}
	ctx := v.r.Context()
	ask.DryRun = v.form.Get("sure") == ""
	plan, err := c.Letters.Bulk(ctx, sel, ask)
	if need, ok := confirm(err); ok && !ask.DryRun { // something new came up meanwhile
		ask.DryRun = true
		ask.Confirm, ask.Skip = nil, nil
		if plan, err = c.Letters.Bulk(ctx, sel, ask); err == nil {
			plan.Codes = merge(plan.Codes, need)
		}
	}
	switch {
	case err != nil:
		return done{}, err
	case ask.DryRun && plan.Job.Counts.Total == 0 && plan.Job.Counts.Inbound > 0:
		return done{}, dlq.ErrOnlyReceived
	case ask.DryRun && plan.Job.Counts.Total == 0:
		return done{}, dlq.ErrNothingSelected
	case ask.DryRun:
		q, err := c.bulkQuestion(v, sel, fields, plan)
		if v.form.Get("unsure") == "send" && v.form.Get("checked") != "yes" {
			q.Wrong = "Tick that you checked with the partner those that may already be there, or leave them out. Nothing was sent."
		}
		return asks(q), err
	}
	return done{to: "/letters/replays/" + url.PathEscape(plan.Job.ID)}, nil
}

func merge(codes map[dlq.Code]int, need *dlq.ConfirmError) map[dlq.Code]int {
	if codes == nil {
		codes = map[dlq.Code]int{}
	}
	for _, k := range need.Codes {
		codes[k] = max(codes[k], need.Counts[k], 1)
	}
	return codes
}

// bulkAsk reads what was confirmed. Those that the partner may have are sent
// only if the box was ticked.
func (v *visit) bulkAsk() (dlq.BulkAsk, error) {
	ask := dlq.BulkAsk{Actor: v.actor(), Note: v.form.Get("reason")}
	var err error
	if ask.Confirm, err = dlq.ParseCodes("confirm", v.form["confirm"]); err != nil {
		return ask, err
	}
	switch v.form.Get("unsure") {
	case "skip":
		ask.Skip = append(ask.Skip, dlq.PossibleDuplicate)
	case "send":
		if v.form.Get("checked") == "yes" {
			ask.Confirm = append(ask.Confirm, dlq.PossibleDuplicate)
		}
	}
	return ask, nil
}

// bulkQuestion asks before many letters are sent again.
func (c *Console) bulkQuestion(v *visit, sel dlq.Selection, fields []field, plan dlq.Plan) (question, error) {
	n := plan.Job.Counts
	got, id, err := c.meanwhile(v.r.Context(), sel)
	if err != nil {
		return question{}, err
	}
	unsure := plan.Codes[dlq.PossibleDuplicate]
	f := words.ReplayFacts{Total: n.Total, Untried: n.NeverTried, Uncertain: unsure, Failed: max(0, n.Total-n.NeverTried-unsure), Overdue: n.Overdue, Newer: got.n, NewerMore: got.more, Shared: got.shared, Inbound: n.Inbound}
	switch sel.Filter.Reason {
	case fault.ReasonSignature, fault.ReasonFormat, fault.ReasonRejected, fault.ReasonCredential:
		f.Failed, f.Refused = 0, f.Failed
	}
	if id != "" {
		f.Partner = c.partnerName(id)
		if p, known := c.Settings().Partner(id); known && p.Lane.ReplayRate > 0 {
			f.Rate = strconv.FormatFloat(p.Lane.ReplayRate, 'g', 3, 64) + "/s"
			f.Takes = time.Duration(float64(n.Total) / p.Lane.ReplayRate * float64(time.Second))
		}
	}
	w := words.Replay(f)
	q := question{Title: w.Title, Text: w.Text, Path: "/letters/replays", Fields: append(fields, field{"sure", "yes"}), Back: local(v.form.Get("back")), Safe: w.Safe, Tick: w.Tick}
	bad, more, err := c.malformedOf(v, sel)
	if bad > 0 {
		q.Text = append(q.Text, words.MalformedOf(bad, more))
	}
	for _, code := range dlq.Codes {
		if plan.Codes[code] == 0 || code == dlq.PossibleDuplicate {
			continue
		}
		if code != dlq.BreakerProbe {
			q.Fields = append(q.Fields, field{"confirm", string(code)})
		}
		if text := bulkSentence(code, plan.Codes[code]); text != "" {
			q.Text = append(q.Text, text)
		}
	}
	for i, label := range w.Actions {
		k := choice{Label: label, Kind: primary}
		if unsure > 0 {
			k.Name, k.Value = "unsure", "skip"
			if last := i == len(w.Actions)-1; last {
				k.Value, k.Ticked, k.Kind = "send", true, danger
			}
		}
		q.Choices = append(q.Choices, k)
	}
	return q, err
}

// bulkSentence says what n letters of a set need to be known for; what the
// counts say already is left out.
func bulkSentence(code dlq.Code, n int) string {
	count := words.Number(int64(n))
	switch code {
	case dlq.Overtaken:
		return count + " in a strict order: later documents were delivered meanwhile."
	case dlq.OutsideWindow:
		return count + " outside the partner's hours: they wait until these begin."
	case dlq.BreakerWait:
		return "The partner does not answer yet: " + count + " wait in line until a test succeeds. None becomes a dead letter again before it was tried."
	case dlq.ChangedContent:
		return count + " with the reference of an earlier document and other content."
	}
	return ""
}

var itemFilters = []struct{ value, label string }{{"", "All"}, {"pending", "Not taken up yet"}, {"replayed", "Set going"}, {"skipped", "Left out"}, {"failed", "Failed"}}

func (c *Console) bulk(v *visit) (view, error) {
	ctx, id := v.r.Context(), v.param("id")
	j, err := c.Ledger.ReplayJob(ctx, id)
	if err != nil {
		return view{}, err
	}
	status := v.query.Get("status")
	if !slices.ContainsFunc(itemFilters, func(f struct{ value, label string }) bool { return f.value == status }) {
		return view{}, wrong("status", status)
	}
	after, _ := strconv.Atoi(v.query.Get("after"))
	items, err := c.Ledger.ReplayItems(ctx, id, status, max(0, after), itemsPage)
	if err != nil {
		return view{}, err
	}
	n := j.Counts
	b := bulk{
		ID: j.ID, What: c.described(j), Line: words.Progress(n.Delivered, n.DiedAgain, n.Total), State: bulkState(j), By: j.Actor.Name, Begun: v.at(j.Created), Ended: v.at(j.Finished),
		Total: n.Total, Done: n.Total - n.Pending, Counts: n,
	}
	path := "/letters/replays/" + url.PathEscape(id)
	for _, f := range itemFilters {
		b.Show = append(b.Show, filterLink{f.label, with(nil, path, "status", f.value), f.value == status})
	}
	for _, it := range items {
		row, err := c.itemRow(v, it)
		if err != nil {
			return view{}, err
		}
		b.Rows = append(b.Rows, row)
	}
	b.Waits = c.bulkWaits(v, j, b.Rows)
	if len(items) == itemsPage {
		b.Older = with(v.query, path, "after", strconv.Itoa(items[len(items)-1].N))
	}
	if v.may(access.Operate) {
		b.Buttons = bulkButtons(j, path)
	}
	return view{template: "bulk", title: b.Line, nav: "/letters", data: b}, nil
}

func (c *Console) described(j queue.ReplayJob) string {
	f := j.Filter
	text := words.Count(j.Counts.Total, "letter", "letters")
	if f.Partner != "" {
		text += " to " + c.partnerName(f.Partner)
	}
	if f.Outage != "" {
		text += ", " + f.Outage
	}
	if f.Reason != "" {
		text += ": " + words.ReasonGroup(string(f.Reason))
	}
	if n := j.Counts.Inbound; n > 0 {
		text += "; " + words.Count(n, "letter of a received message was", "letters of received messages were") + " left out"
	}
	return text
}

func bulkState(j queue.ReplayJob) string {
	switch j.Status {
	case queue.ReplayPaused:
		return "Paused"
	case queue.ReplayCancelled:
		return "Stopped: the rest stay letters"
	case queue.ReplayDone:
		return "Finished"
	}
	return "Running"
}

func bulkButtons(j queue.ReplayJob, path string) (all []button) {
	stop := button{Label: "Stop here: the rest stay letters", Path: path + "/cancel", Kind: danger}
	switch j.Status {
	case queue.ReplayRunning:
		return []button{{Label: "Pause", Path: path + "/pause"}, stop}
	case queue.ReplayPaused:
		return []button{{Label: "Go on", Path: path + "/resume", Kind: primary}, stop}
	}
	return nil
}
