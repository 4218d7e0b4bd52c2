package web

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"time"

	"edigw/access"
	"edigw/fault"
	"edigw/internal/exchange"
	"edigw/partner"
	"edigw/queue"
)

// Lanes is the scheduler as it is shown. No method blocks.
type Lanes interface {
	// View shows the lane of a partner's documents.
	View(partner string) queue.LaneView
	// LaneView shows any lane by its key.
	LaneView(key string) queue.LaneView
	// Overlay says how a message in line is shown; position is its place in
	// line, 0 the first.
	Overlay(m queue.Message, position int) queue.Shown
}

// Operator acts on lanes; *lane.Scheduler does. Each is told with its actor to
// the ledger.
type Operator interface {
	StopLane(ctx context.Context, partner string, by fault.Actor, reason string, until time.Time) error
	StartLane(ctx context.Context, partner string, by fault.Actor) error
	Trip(ctx context.Context, partner string, by fault.Actor) error
	Reset(ctx context.Context, partner string, by fault.Actor) error
	// Test checks the connection; it blocks as long as the check does.
	Test(ctx context.Context, partner string, by fault.Actor) (fault.Outcome, error)
}

// Depths reads what waits; every store does.
type Depths interface {
	Depths(ctx context.Context) ([]queue.Depth, error)
	PartnerDepths(ctx context.Context, partner string) ([]queue.Depth, error)
	Census(ctx context.Context) (queue.Census, error)
}

// partnerState is a partner on the wire (interfaces.md §5).
type partnerState struct {
	ID            string            `json:"id"`
	Name          string            `json:"name"`
	Stage         string            `json:"stage"`
	Protocol      string            `json:"protocol"`
	State         string            `json:"state" doc:"of the lane"`
	Since         *time.Time        `json:"since"`
	NextAt        *time.Time        `json:"next_at" doc:"next automatic step"`
	Note          string            `json:"note"`
	Stale         bool              `json:"stale" doc:"the file on disk is bad, the last good settings are in force"`
	Problems      []partner.Problem `json:"problems"`
	Waiting       int               `json:"waiting" doc:"documents queued, waiting or being sent"`
	AwaitingAck   int               `json:"awaiting_ack"`
	Letters       int               `json:"letters" doc:"open ones"`
	Oldest        *time.Time        `json:"oldest" doc:"acceptance of the oldest that waits"`
	FirstDeadline *time.Time        `json:"first_deadline"`
	Running       int               `json:"running" doc:"exchanges in flight"`
	Outage        string            `json:"outage" doc:"running outage"`
	StoppedBy     string            `json:"stopped_by"`
	Cause         string            `json:"cause" doc:"needs-fix: what to fix"`
	Fetching      *fetchTrouble     `json:"fetch_failing" doc:"AS4: why his messages cannot be fetched; null if they can, or none are"`
}

// wholePartner is a partner with its settings.
type wholePartner struct {
	partnerState
	Owner    owner             `json:"owner"`
	Schedule string            `json:"schedule" doc:"of retries, in words"`
	Besides  []sideLane        `json:"other_lanes" doc:"of receipts that we owe and of the webhook: those in which something waits"`
	Charged  []charge          `json:"failed_tests" doc:"tests that were charged to the lane, newest last"`
	PMode    []partner.Term    `json:"p_mode,omitempty" doc:"AS4: what is settled, by the names of the standard"`
	Settings []partner.Setting `json:"settings" doc:"what is in force, and where it comes from"`
	Test     *check            `json:"test,omitempty" doc:"of a connection test: what it found"`
}

// sideLane is a lane of a partner that carries no documents to him.
type sideLane struct {
	Lane    string     `json:"lane" doc:"ID/receipts or ID/webhook"`
	State   string     `json:"state"`
	Since   *time.Time `json:"since"`
	NextAt  *time.Time `json:"next_at"`
	Waiting int        `json:"waiting"`
}

// owner is whom to call.
type owner struct {
	Team  string `json:"team"`
	Mail  string `json:"mail"`
	Phone string `json:"phone"`
	Note  string `json:"note"`
}

// charge is a test that failed and used up no attempt.
type charge struct {
	At      *time.Time `json:"at"`
	Message string     `json:"message"`
	Detail  string     `json:"detail"`
}

// check is what a connection test found.
type check struct {
	OK     bool        `json:"ok" doc:"the partner answers"`
	Steps  []checkStep `json:"steps" doc:"in order; ends with the first that failed"`
	Phase  string      `json:"phase" doc:"how far it got"`
	Status int         `json:"status"`
	Cause  string      `json:"cause"`
	Detail string      `json:"detail"`
}

// checkStep is one step of a connection test.
type checkStep struct {
	Name  string `json:"name"`
	OK    bool   `json:"ok"`
	Took  string `json:"took"`
	Words string `json:"words"`
}

// laneStates lists every state, as it is shown.
var laneStates = []queue.LaneState{
	queue.LaneOrphaned, queue.LaneMisconfigured, queue.LaneStopped, queue.LaneNeedsFix, queue.LaneIsolated, queue.LaneBlackout,
	queue.LaneWindow, queue.LaneBlocked, queue.LaneOpen, queue.LaneHalfOpen, queue.LaneAnswering, queue.LaneSending,
}

func (a *API) partnerRoutes() []route {
	act := func(name, about string, in any, do func(*call) error) route {
		return route{method: http.MethodPost, path: "/partners/{partner}/" + name, scope: access.Operate, about: about, in: in, out: wholePartner{},
			status: http.StatusOK, also: []Slug{NotFound, Conflict, DiskFull}, do: do}
	}
	return []route{
		{method: http.MethodGet, path: "/partners", scope: access.Read, about: "Partners by id.",
			query: slices.Concat([]param{{name: "state", about: "only in these states of the lane, joined by commas", enum: texts(laneStates)}}, paging),
			out:   list[partnerState]{}, status: http.StatusOK, do: a.listPartners},
		{method: http.MethodGet, path: "/partners/{partner}", scope: access.Read, about: "A partner with its settings.",
			out: wholePartner{}, status: http.StatusOK, also: []Slug{NotFound}, do: a.showPartner},
		act("stop", "Stop the lane until a time, else for 4 h; nothing is lost.", stop{}, a.stopLane),
		act("start", "End a stop, also one that the lane made itself.", nothing{}, a.operate(a.Operator.StartLane)),
		act("trip", "Open the breaker; documents wait.", nothing{}, a.operate(a.Operator.Trip)),
		act("reset", "Close the breaker at once.", nothing{}, a.operate(a.Operator.Reset)),
		act("test", "Check the connection; no document is sent.", nothing{}, a.testPartner),
	}
}

func (a *API) listPartners(c *call) error {
	states, err := choices(c, "state", laneStates)
	if err != nil {
		return err
	}
	p, err := c.page()
	if err != nil {
		return err
	}
	depths, err := a.reader.Depths(c.r.Context())
	if err != nil {
		return err
	}
	settings := a.Settings()
	ids := a.reader.Partners(depths)
	if len(states) > 0 {
		ids = slices.DeleteFunc(ids, func(id string) bool { return !slices.Contains(states, a.Lanes.View(id).State) })
	}
	ids, next, err := cut(ids, "partners", p)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, listOf(ids, next, func(id string) partnerState { return a.viewPartner(settings, id, depths[id]) }))
}

func (a *API) viewPartner(settings *partner.Snapshot, id string, d queue.Depth) partnerState {
	l := a.Lanes.View(id)
	v := partnerState{
		ID: id, Name: id, State: string(l.State), Since: when(l.Since), NextAt: when(l.Next), Note: l.Note, Stale: l.Stale, Problems: append([]partner.Problem{}, l.Problems...),
		Waiting: d.Lined, AwaitingAck: d.Acks, Oldest: when(d.Oldest), FirstDeadline: when(d.First), Running: l.Running, Outage: l.Outage,
		Fetching: viewFetchTrouble(a.reader.Failing(id)),
	}
	for _, n := range d.Letters {
		v.Letters += n
	}
	if p, known := settings.Partner(id); known {
		v.Name, v.Stage, v.Protocol = p.Name, string(p.Stage), p.Protocol
		v.Stale, v.Problems = p.Stale, append([]partner.Problem{}, p.Problems...)
	}
	if l.Stop != nil {
		v.StoppedBy = l.Stop.By.Name
	}
	if l.Fix != nil {
		v.Cause = l.Fix.Cause
	}
	return v
}

func (a *API) showPartner(c *call) error { return a.answerPartner(c, nil) }

// answerPartner answers with the partner that the path names.
func (a *API) answerPartner(c *call, found *check) error {
	id := c.param("partner")
	d, some, err := a.reader.Depth(c.r.Context(), id)
	if err != nil {
		return err
	}
	settings := a.Settings()
	p, known := settings.Partner(id)
	if !known && !some {
		return &Problem{Slug: NotFound, Detail: settings.NoPartner(id)}
	}
	v := wholePartner{partnerState: a.viewPartner(settings, id, d), Charged: []charge{}, Settings: append([]partner.Setting{}, settings.Effective(id)...), Test: found}
	if known {
		v.Owner, v.Schedule, v.PMode = owner(p.Owner), p.Schedule(), settings.Terms(id, a.Now())
	}
	if v.Besides, err = a.sideLanes(c.r.Context(), id); err != nil {
		return err
	}
	for _, one := range a.Lanes.View(id).Charged {
		v.Charged = append(v.Charged, charge{when(one.At), one.Message, one.Detail})
	}
	return c.answer(http.StatusOK, v)
}

// sideLanes are the lanes of a partner, besides that of documents, in which
// something waits.
func (a *API) sideLanes(ctx context.Context, id string) ([]sideLane, error) {
	all := []sideLane{}
	depths, err := a.Ledger.PartnerDepths(ctx, id)
	for _, d := range depths {
		if d.Lane == queue.LaneKey(id, queue.KindDocument) || d.Lined == 0 {
			continue
		}
		v := a.Lanes.LaneView(d.Lane)
		all = append(all, sideLane{d.Lane, string(v.State), when(v.Since), when(v.Next), d.Lined})
	}
	return all, err
}

// stop is the body of a stop.
type stop struct {
	Reason string `json:"reason,omitempty" doc:"shown wherever the lane is"`
	Until  string `json:"until,omitempty" doc:"a time, or a duration such as 4h"`
}

func (a *API) stopLane(c *call) error {
	var in stop
	if err := c.read(&in); err != nil {
		return err
	}
	now := a.Now()
	until, err := deadline("until", in.Until, now)
	switch {
	case err != nil:
		return err
	case !until.IsZero() && !until.After(now):
		return bad("until", "This time has passed.")
	case len(in.Reason) > maxReference:
		return bad("reason", "At most %d bytes.", maxReference)
	}
	id, err := a.named(c)
	if err != nil {
		return err
	}
	if err := a.Operator.StopLane(c.r.Context(), id, c.actor, in.Reason, until); err != nil {
		return err
	}
	return a.answerPartner(c, nil)
}

// operate makes a handler of an action on a partner that takes nothing more.
func (a *API) operate(act func(context.Context, string, fault.Actor) error) func(*call) error {
	return func(c *call) error {
		if err := c.read(&nothing{}); err != nil {
			return err
		}
		id, err := a.named(c)
		if err != nil {
			return err
		}
		if err := act(c.r.Context(), id, c.actor); err != nil {
			return err
		}
		return a.answerPartner(c, nil)
	}
}

func (a *API) testPartner(c *call) error {
	if err := c.read(&nothing{}); err != nil {
		return err
	}
	id, err := a.named(c)
	if err != nil {
		return err
	}
	p, _ := a.Settings().Partner(id)
	if p == nil || p.Misconfigured {
		return &Problem{Slug: Conflict, Detail: "The partner's settings file has mistakes: correct them first. edigw check lists them."}
	}
	o, err := a.Operator.Test(c.r.Context(), id, c.actor)
	if err != nil {
		return err
	}
	return a.answerPartner(c, viewCheck(o, p))
}

// named is the partner that the path names; it must have a settings file.
func (a *API) named(c *call) (string, error) {
	id := c.param("partner")
	settings := a.Settings()
	if _, known := settings.Partner(id); !known {
		return "", &Problem{Slug: NotFound, Detail: settings.NoPartner(id)}
	}
	return id, nil
}

// CheckReport tells what a connection test found as the way it went.
func CheckReport(o fault.Outcome, p *partner.Partner) exchange.Report {
	r := exchange.Report{Outcome: o}
	u, err := url.Parse(p.URL())
	if err != nil || u.Host == "" {
		return r
	}
	r.Steps = exchange.Steps(o, u)
	if p.AS4 != nil && o.Protocol && r.OK() {
		r.Steps = append(r.Steps, ping(o))
	}
	return r
}

// ping tells what the partner's test service said.
func ping(o fault.Outcome) exchange.Step {
	if a := o.Ack; a != nil && a.Verdict == fault.AckTrusted && a.Positive {
		return exchange.Step{Name: "Ping", OK: true, Words: "his test service acknowledged a message of ours"}
	}
	return exchange.Step{Name: "Ping", Words: cmp.Or(o.Detail, "no receipt came for a message to the test service")}
}

func viewCheck(o fault.Outcome, p *partner.Partner) *check {
	r := CheckReport(o, p)
	v := &check{OK: r.OK(), Steps: []checkStep{}, Phase: o.Phase.String(), Status: o.Status, Cause: string(o.Cause), Detail: o.Detail}
	for _, s := range r.Steps {
		v.Steps = append(v.Steps, checkStep{s.Name, s.OK, s.Took.Round(time.Millisecond / 10).String(), s.Words})
	}
	return v
}
