package main

import (
	"fmt"
	"net/url"

	"edigw/internal/apiclient"
	"edigw/internal/words"
	"edigw/queue"
)

// DLQReplay sends letters again.
type DLQReplay struct {
	selection
	Confirm []string `help:"A code that was asked for, such as possible-duplicate; can be given again."`
	Skip    []string `help:"Leave out letters to which this code applies; can be given again."`
	DryRun  bool     `name:"dry-run" help:"Only count."`
	Wait    bool     `help:"Wait: for one letter to its end, exit code 0 delivered, 1 dead, 3 still under way when interrupted; for many until every one went out or failed."`
}

// Help is shown by --help.
func (DLQReplay) Help() string {
	return "Examples:\n  edigw dlq replay 01j…\n  edigw dlq replay --outage OUT-231 --skip possible-duplicate\n  edigw dlq replay --all --partner northwind --dry-run"
}

// replayView is a bulk replay as the API shows it.
type replayView struct {
	ID     string             `json:"id"`
	Status string             `json:"status"`
	Codes  map[string]int     `json:"codes,omitempty"`
	Counts queue.ReplayCounts `json:"counts"`
}

// Run replays one letter directly, more of them as a job.
func (c *DLQReplay) Run(e *env) error {
	if err := c.check(); err != nil {
		return err
	}
	gateway, err := e.gateway()
	if err != nil {
		return err
	}
	if c.IDs, err = c.whole(e, gateway); err != nil {
		return err
	}
	if len(c.IDs) == 1 && !c.DryRun {
		return c.one(e, gateway, c.IDs[0])
	}
	return c.many(e, gateway)
}

func (c *DLQReplay) one(e *env, gateway *apiclient.Client, id string) error {
	var l letterView
	if err := gateway.Post(e.ctx, "/letters/"+url.PathEscape(id)+"/replay", map[string]any{"confirm": c.Confirm}, &l); err != nil {
		return toConfirm(e.noLetter(gateway, id, err), "nothing was sent", false)
	}
	if l.Sends != l.Message {
		e.say("Letter %s goes out as a new edition, message %s.", id, l.Sends)
	} else {
		e.say("Letter %s goes out again under the same Message-ID.", id)
	}
	if !c.Wait {
		e.say("What comes of it: edigw message show %s", l.Sends)
		return e.result(l)
	}
	return follow(e, gateway, messageView{ID: l.Sends})
}

func (c *DLQReplay) body(dry bool) map[string]any {
	b := map[string]any{"dry_run": dry}
	switch {
	case len(c.IDs) > 0:
		b["ids"] = c.IDs
	case c.Outage != "" && c.Partner == "" && c.Reason == "":
		b["outage"] = c.Outage
	default:
		f := map[string]string{}
		for k, v := range map[string]string{"partner": c.Partner, "reason": c.Reason, "outage": c.Outage, "status": "open"} {
			if v != "" {
				f[k] = v
			}
		}
		b["filter"] = f
	}
	if len(c.Confirm) > 0 {
		b["confirm"] = c.Confirm
	}
	if len(c.Skip) > 0 {
		b["skip"] = c.Skip
	}
	return b
}

func (c *DLQReplay) many(e *env, gateway *apiclient.Client) error {
	var job replayView
	if err := gateway.Post(e.ctx, "/letters/replays", c.body(true), &job); err != nil {
		return err
	}
	count := job.Codes
	n := job.Counts
	e.say("%s selected: %d were never tried, %d may already be there, %d overtaken, %d past their due time.",
		words.Count(n.Total, "letter", "letters"), n.NeverTried, n.Uncertain, n.Overtaken, n.Overdue)
	if n.Total == 0 && !c.DryRun {
		return fmt.Errorf("no open letter matches%s; edigw dlq list shows those that are open", e.noSuch(c.Partner))
	}
	if c.DryRun {
		if codes := sortedCodes(count); len(codes) > 0 {
			e.say("To be confirmed:%s", codeLines(codes, count, true))
		}
		return e.result(job)
	}
	if !c.Yes && !e.ask("Replay %s, oldest first, under the same Message-IDs?", words.Count(n.Total, "letter", "letters")) {
		return fmt.Errorf("nothing was done")
	}
	if err := gateway.Post(e.ctx, "/letters/replays", c.body(false), &job); err != nil {
		return toConfirm(err, "nothing was sent", true)
	}
	e.say("Replay %s runs at the partner's replay rate. What fails is a letter again: edigw dlq list.", job.ID)
	if c.Wait {
		if err := c.follow(e, gateway, &job); err != nil {
			return err
		}
	}
	if err := e.result(job); err != nil {
		return err
	}
	if job.Counts.Failed > 0 {
		return partly("%d of %d letters could not be replayed", job.Counts.Failed, job.Counts.Total)
	}
	return nil
}

func (c *DLQReplay) follow(e *env, gateway *apiclient.Client, job *replayView) error {
	last := -1
	return apiclient.Wait(e.ctx, func() (bool, error) {
		if err := gateway.Get(e.ctx, "/letters/replays/"+job.ID, nil, job); err != nil {
			return false, err
		}
		if n := job.Counts; n.Pending != last {
			last = n.Pending
			e.say("%d of %d went out, %d left out, %d failed", n.Replayed, n.Total, n.Skipped, n.Failed)
		}
		return job.Status != "running", nil
	})
}
