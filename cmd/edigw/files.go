package main

import (
	"context"
	"errors"
	"os"
	"sync/atomic"

	"edigw/alerts"
	"edigw/fault"
	"edigw/lane"
	"edigw/queue"
)

// starving notes that there was no file descriptor, for a connection or a
// message, since watchFiles last looked.
type starving struct{ now, told atomic.Bool }

const filesAgain = "there are open files left again"

// errFiles is what operators read.
var errFiles = errors.New("this gateway has no open file left for connections: messages wait, partners may be turned away; raise LimitNOFILE, or lower limits.sockets, and see who holds connections")

// starved tells that there was no file descriptor: at once for the first of a
// stretch, which watchFiles ends.
func (g *gateway) starved(err error) {
	g.files.now.Store(true)
	if g.files.told.Swap(true) {
		return
	}
	g.log.Error(errFiles.Error(), "err", err)
	ctx, cancel := context.WithTimeout(context.Background(), ledgerTime)
	defer cancel()
	if err := g.tell(ctx, alerts.FilesShort, errFiles, filesAgain); err != nil {
		g.log.Error("the ledger cannot be told of it", "err", err)
	}
}

// watchFiles ends a stretch without descriptors when a minute went by without
// a failure and one can be had.
func (g *gateway) watchFiles(ctx context.Context) error {
	f, err := os.Open(os.DevNull)
	if err == nil {
		err = f.Close()
	}
	if fault.OutOfFiles(err) {
		g.starved(err)
		return nil
	}
	if g.files.now.Swap(false) {
		return nil
	}
	g.files.told.Store(false)
	return g.tell(ctx, alerts.FilesShort, nil, filesAgain)
}

// noting is a sender that tells when our own descriptors ran out.
type noting struct {
	lane.Sender
	starved func(error)
}

// Exchange meets lane.Sender.
func (n noting) Exchange(ctx context.Context, m queue.Message, b queue.Build) (fault.Outcome, string) {
	o, raw := n.Sender.Exchange(ctx, m, b)
	n.note(o)
	return o, raw
}

// Check meets lane.Sender.
func (n noting) Check(ctx context.Context, partner string) fault.Outcome {
	o := n.Sender.Check(ctx, partner)
	n.note(o)
	return o
}

func (n noting) note(o fault.Outcome) {
	if o.Cause == fault.CauseStopped && o.Suspect == fault.SuspectFiles {
		n.starved(errors.New(o.Detail))
	}
}
