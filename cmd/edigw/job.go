package main

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/robfig/cron/v3"

	"edigw/internal/instant"
)

// clock is the wall clock.
type clock = func() time.Time

// jobs is what runs by the clock beside the lanes, and the runner of bulk
// replays.
type jobs struct {
	cron *cron.Cron
	end  context.CancelFunc
	work sync.WaitGroup
}

// start plans the jobs. Each starts a little later than its time, by chance,
// so that many gateways do not act in one instant.
func (j *jobs) start(g *gateway) func(context.Context) error {
	return func(ctx context.Context) error {
		ctx, j.end = context.WithCancel(context.WithoutCancel(ctx))
		log := cronLog{g.log}
		j.cron = cron.New(cron.WithLocation(time.UTC), cron.WithLogger(log), cron.WithChain(cron.Recover(log), cron.SkipIfStillRunning(log)))
		for _, job := range []struct {
			name  string
			every string
			late  time.Duration
			do    func(context.Context) error
		}{
			{"health of dead letters", "* * * * *", 10 * time.Second, g.letters.Health},
			{"room on the disk", "* * * * *", 10 * time.Second, g.watchDisk},
			{"open files", "* * * * *", 10 * time.Second, g.watchFiles},
			{"retention", "17 * * * *", 5 * time.Minute, g.retain},
			{"files that nobody names", "43 3 * * *", 10 * time.Minute, g.sweep},
		} {
			if _, err := j.cron.AddFunc(job.every, func() {
				if !instant.Rest(ctx, rand.N(job.late)) {
					return
				}
				if err := job.do(ctx); err != nil && ctx.Err() == nil {
					g.log.Error("a job failed", "job", job.name, "err", err)
				}
			}); err != nil {
				return err
			}
		}
		j.cron.Start()
		j.work.Go(func() { g.letters.Run(ctx) })
		return nil
	}
}

// stop ends the jobs and waits for those that run, until ctx does.
func (j *jobs) stop(ctx context.Context) error {
	if j.end == nil {
		return nil
	}
	j.end()
	return instant.Await(ctx, func() {
		<-j.cron.Stop().Done()
		j.work.Wait()
	})
}

// cronLog tells what cron has to say.
type cronLog struct{ log *slog.Logger }

// Info meets cron.Logger.
func (c cronLog) Info(msg string, args ...any) { c.log.Debug("cron: "+msg, args...) }

// Error meets cron.Logger.
func (c cronLog) Error(err error, msg string, args ...any) {
	c.log.Error("cron: "+msg, append(args, "err", err)...)
}
