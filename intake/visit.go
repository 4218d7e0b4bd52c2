package intake

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"syscall"
	"time"

	"edigw/fault"
	"edigw/internal/words"
	"edigw/queue"
)

// batch is how many files of one folder are taken in before another folder has
// its turn.
const batch = 100

// visit takes in the files of a folder that are ready.
func (o *Outbox) visit(ctx context.Context, f *folder) {
	wait := o.takeAll(ctx, f)
	o.mu.Lock()
	defer o.mu.Unlock()
	f.busy, f.ready, f.since = false, nil, o.in.Now()
	if wait > 0 {
		f.notBefore = o.in.Now().Add(wait)
	}
}

// takeAll claims a batch, makes the claims durable, and takes the files in
// order. It says how long the folder is to be left alone.
func (o *Outbox) takeAll(ctx context.Context, f *folder) (wait time.Duration) {
	root, err := os.OpenRoot(f.dir)
	if err != nil {
		return o.failed(f, "", "open the folder", err)
	}
	defer func() { _ = root.Close() }()
	var claims []claim
	for _, e := range f.ready[:min(batch, len(f.ready))] {
		c, err := o.claim(root, e.name, o.in.Now())
		switch {
		case errors.Is(err, fs.ErrNotExist): // its owner took it back
		case err != nil:
			wait = o.failed(f, e.name, "claim the file", err)
		default:
			claims = append(claims, c)
		}
	}
	if err := syncFolder(root); err != nil {
		wait = o.failed(f, "", "make the claims durable", err)
	}
	for _, c := range claims {
		if wait == 0 && !o.halting() {
			wait = o.take(ctx, f, root, c)
			continue
		}
		unclaim(root, c) // those behind it keep their order
	}
	return wait
}

func syncFolder(root *os.Root) error {
	dir, err := root.Open(".")
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

// take takes one claimed file in. It says how long the folder is to be left
// alone; the file is back in it then.
func (o *Outbox) take(ctx context.Context, f *folder, root *os.Root, c claim) (wait time.Duration) {
	file, info, err := open(root, c)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0
	case errors.Is(err, fs.ErrPermission):
		return o.reject(f, root, c, &Refusal{Title: "File cannot be read", Detail: "The gateway has no right to read this file.", Fix: "Give it to the user that edigw runs as (chown, chmod u+r)."})
	case errors.Is(err, errIrregular):
		return o.reject(f, root, c, &Refusal{Title: "Not a plain file", Detail: "This is a link or something else that is no plain file.", Fix: "Copy the document itself."})
	case err != nil:
		unclaim(root, c)
		return o.failed(f, c.name, "open the file", err)
	}
	defer file.Close()
	body := &steady{file: file, before: info}
	done, err := o.in.Accept(ctx, Request{
		Partner: f.partner, ID: c.id, FileName: dropped(c.name), CorrelationID: c.id, Source: SourceOutbox,
		Actor: fault.Actor{Name: "outbox", From: "local"}, Size: info.Size(),
	}, body)
	var no *Refusal
	switch {
	case err == nil:
		return o.accepted(f, root, c, done)
	case body.changed:
		unclaim(root, c)
		return 0
	case errors.As(err, &no) && !no.Later():
		return o.reject(f, root, c, no)
	case errors.As(err, &no):
		unclaim(root, c)
		return no.RetryAfter
	}
	unclaim(root, c)
	if ctx.Err() != nil {
		return trouble
	}
	return o.failed(f, c.name, "take the file in", err)
}

var errIrregular = errors.New("not a plain file")

// open opens a claimed file. Nothing is followed: it is what it was when the
// folder was read, or it is refused.
func open(root *os.Root, c claim) (*os.File, fs.FileInfo, error) {
	before, err := root.Lstat(c.file())
	if err != nil {
		return nil, nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, nil, errIrregular
	}
	file, err := root.OpenFile(c.file(), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil && !os.SameFile(before, info) {
		err = errIrregular
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

// accepted moves a file that is safe out of the way.
func (o *Outbox) accepted(f *folder, root *os.Root, c claim, done Accepted) time.Duration {
	folder := path.Join(acceptedFolder, o.today())
	if done.Outcome == queue.AdmitReplayed && done.Message.ID != c.id {
		text := fmt.Sprintf("%s was taken in before, so it was not sent again.\n\nReceived again: %s\nFirst message:  %s, accepted %s, now %s\n\n"+
			"If it is to go out once more on purpose: edigw message again %s\n",
			c.name, o.stamp(), done.Message.ID, done.Message.Accepted.UTC().Format(time.RFC3339), done.Message.State, done.Message.ID)
		if err := note(root, folder, c.name+".duplicate.txt", text); err != nil {
			return o.failed(f, c.name, "write the note about the duplicate", err)
		}
	}
	if len(done.Supersedes) > 0 {
		text := fmt.Sprintf("%s was accepted as %s at %s. It has the reference of an earlier document and %s.\n", c.name, done.Message.ID, o.stamp(), words.Replaces(done.Supersedes))
		if err := note(root, folder, c.name+".replaces.txt", text); err != nil {
			return o.failed(f, c.name, "write the note about the document that it replaces", err)
		}
	}
	if err := place(root, c, folder, c.name+"~"+queue.Short(done.Message.ID)); err != nil {
		return o.failed(f, c.name, "move the accepted file", err)
	}
	return 0
}

// reject moves a refused file aside, with a note that says why and what to do.
func (o *Outbox) reject(f *folder, root *os.Root, c claim, no *Refusal) time.Duration {
	folder, name := path.Join(rejectedFolder, o.today()), c.name
	_, err := root.Lstat(path.Join(folder, name))
	if err == nil {
		name += "~" + queue.Short(c.id) // another one of that name was rejected today
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		text := fmt.Sprintf("%s was not accepted: %s\n\nWhen: %s\nWhy:  %s\nFix:  %s\n", c.name, no.Title, o.stamp(), no.Detail, no.Fix)
		if no.Slug != MissingProperty { // which no outbox can mend
			text += fmt.Sprintf("\nThen put the file into outbox/%s/ again.\n", f.partner)
		}
		err = note(root, folder, name+".error.txt", text)
	}
	if err == nil {
		err = place(root, c, folder, name)
	}
	if err != nil {
		return o.failed(f, c.name, "move the rejected file", err)
	}
	o.in.Log.Warn("outbox file rejected", keyPartner, f.partner, keyFile, c.name, keySlug, no.Slug, keyDetail, no.Detail)
	return 0
}

// failed tells a fault of the disk or the store; the folder is left alone for
// a while.
func (o *Outbox) failed(f *folder, file, doing string, err error) time.Duration {
	o.in.Log.Error("outbox file not taken in, trying again", keyPartner, f.partner, keyFile, file, "doing", doing, "in", trouble, keyErr, err)
	return trouble
}

func (o *Outbox) today() string { return o.in.Now().UTC().Format(time.DateOnly) }

func (o *Outbox) stamp() string { return o.in.Now().UTC().Format(time.RFC3339) }

// takenBefore is what the outbox adds to the name of a file that it took in.
var takenBefore = regexp.MustCompile(`~[0-9a-hjkmnp-tv-z]{8}$`)

// dropped is the name that a file was dropped under: one that comes out of an
// accepted folder again, after a restore, is the same document.
func dropped(name string) string {
	if plain := takenBefore.ReplaceAllString(name, ""); plain != "" {
		return plain
	}
	return name
}
