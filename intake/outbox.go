package intake

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"edigw/internal/instant"
)

// How the outbox is watched. One goroutine looks at all folders; an idle one
// costs a stat every few seconds.
const (
	tick     = time.Second
	perTick  = 2000            // quiet folders looked at in one tick at most
	round    = 5               // ticks in which all of them are looked at, if that is less
	settle   = 3 * time.Second // how long a folder is read on after its last change: times of files are coarse
	reread   = 5 * time.Minute // a folder is read that often even if nothing seems to have changed
	visitors = 8               // folders whose files are taken in at once
	waiting  = 1024            // folders that may wait for it
	trouble  = 10 * time.Second
	atStart  = 1000 // folders that are made before the start goes on; the others follow
)

// Outbox takes in what is dropped into outbox/<id>/ (interfaces.md §1). Files
// of one folder are taken oldest first, one at a time.
type Outbox struct {
	in   *Intake
	work chan *folder

	mu      sync.Mutex
	folders map[string]*folder // all that ever were
	list    []*folder          // those of the partners that are, in a fixed order
	next    int                // of list: where the next look begins
	hot     map[*folder]bool

	started  bool
	halted   chan struct{}
	halt     sync.Once
	cut      context.CancelFunc
	visiting sync.WaitGroup // the loop and the visitors
}

// NewOutbox gives an Outbox that hands its files to in; it does no I/O.
func NewOutbox(in *Intake) *Outbox {
	return &Outbox{in: in, work: make(chan *folder, waiting), folders: map[string]*folder{}, hot: map[*folder]bool{}, halted: make(chan struct{})}
}

// Start makes the folders and begins to watch them. The error is a fault of
// the disk. Where there are very many, the last ones appear a little later: they
// do not delay what comes in and goes out otherwise.
func (o *Outbox) Start(ctx context.Context) error {
	list := o.relist()
	first := min(len(list), atStart)
	if err := errors.Join(makeFolders(list[:first])...); err != nil {
		return err
	}
	base, cut := context.WithCancel(context.WithoutCancel(ctx))
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.started {
		cut()
		return errors.New("intake: the outbox was started before")
	}
	o.started, o.cut = true, cut
	o.visiting.Go(func() {
		for _, err := range makeFolders(list[first:]) {
			o.in.Log.Error("a partner's outbox is missing until the next reload", keyErr, err)
		}
		o.loop()
	})
	for range visitors {
		o.visiting.Go(func() {
			for {
				select {
				case f := <-o.work:
					o.visit(base, f)
				case <-o.halted:
					return
				}
			}
		})
	}
	return nil
}

// Stop takes no more files, lets those that are being taken in end until ctx
// does, then cuts them: they stay in their folder. It is idempotent and safe
// before Start; the error is ctx's if it had to cut.
func (o *Outbox) Stop(ctx context.Context) error {
	o.halt.Do(func() { close(o.halted) })
	o.mu.Lock()
	started, cut := o.started, o.cut
	o.mu.Unlock()
	if !started {
		return nil
	}
	err := instant.Await(ctx, o.visiting.Wait)
	cut()
	o.visiting.Wait()
	return err
}

// Reload makes the folders of new partners and forgets those of partners whose
// settings file is gone; their files stay where they are.
func (o *Outbox) Reload() error { return errors.Join(makeFolders(o.relist())...) }

// relist gives the folders of the partners that are.
func (o *Outbox) relist() []*folder {
	s := o.in.Settings()
	root := filepath.Join(s.Dir(), "outbox")
	listed := make(map[*folder]bool)
	var list []*folder
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, id := range s.IDs() {
		f := o.folders[id]
		if f == nil {
			f = &folder{partner: id, dir: filepath.Join(root, id)}
			o.folders[id] = f
		}
		listed[f] = true
		list = append(list, f)
	}
	for f := range o.hot {
		if !listed[f] {
			delete(o.hot, f)
		}
	}
	o.list, o.next = list, 0
	return list
}

func makeFolders(list []*folder) (failed []error) {
	for _, f := range list {
		if err := os.MkdirAll(f.dir, 0o700); err != nil {
			failed = append(failed, fmt.Errorf("intake: make the outbox of %s: %w", f.partner, err))
		}
	}
	return failed
}

func (o *Outbox) loop() {
	t := time.NewTicker(tick)
	defer t.Stop()
	for {
		o.look(o.in.Now())
		select {
		case <-t.C:
		case <-o.halted:
			return
		}
	}
}

// halting reports whether no more files are to be taken.
func (o *Outbox) halting() bool {
	select {
	case <-o.halted:
		return true
	default:
		return false
	}
}

// look looks once at the folders where something happens, and at the next few
// of the others. It says how many it looked at and how many it had to read.
func (o *Outbox) look(now time.Time) (looked, read int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for f := range o.hot {
		looked++
		read += o.lookAt(f, now)
	}
	for range min(perTick, max(len(o.list)/round, 500), len(o.list)) {
		f := o.list[o.next]
		o.next = (o.next + 1) % len(o.list)
		if !o.hot[f] {
			looked++
			read += o.lookAt(f, now)
		}
	}
	return looked, read
}

// lookAt looks at one folder, reads it if it may hold something new, and has
// its files taken if they are ready. The caller holds o.mu.
func (o *Outbox) lookAt(f *folder, now time.Time) (read int) {
	if f.busy || now.Before(f.notBefore) && !now.Add(time.Hour).Before(f.notBefore) {
		return 0
	}
	if !f.changed(now) {
		delete(o.hot, f)
		return 0
	}
	o.hot[f] = true
	if err := f.read(now); err != nil {
		o.in.Log.Error("an outbox folder cannot be read", keyPartner, f.partner, keyErr, err)
		f.notBefore = now.Add(trouble)
		return 1
	}
	for _, name := range f.odd {
		o.in.Log.Warn("a folder in an outbox is not looked into: documents are taken from the outbox itself", keyPartner, f.partner, keyFile, name)
	}
	if len(f.ready) > 0 {
		select {
		case o.work <- f:
			f.busy = true
		default: // the next look tries again
		}
	}
	return 1
}
