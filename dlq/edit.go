package dlq

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"

	"edigw/as2"
	"edigw/edi"
	"edigw/fault"
	"edigw/partner"
	"edigw/queue"
)

// MaxEdit is the longest document that can be edited, in bytes.
const MaxEdit = 1 << 20

// FilesNotEdited says why a document of several files is not edited, and what
// to do: its parts stand between boundaries, in encodings of their own, and a
// slip there makes a message that nobody can take apart.
const FilesNotEdited = "This document is of several files in one (multipart/related): those are not edited by hand. Have its sender hand in the corrected files, " +
	"such as with edigw send PARTNER FILE --attach FILE: under the same reference they take the place of this document. If this letter is still here then, discard it."

// Editable reports whether the document of a message can be edited at all: one
// that goes to the partner, is one file, and is not too long.
func Editable(m queue.Message) bool {
	return m.Direction == queue.Out && m.Kind == queue.KindDocument && m.Payload.Size <= MaxEdit && !SeveralFiles(m)
}

// SeveralFiles reports whether the document of a message is of several files,
// or says so.
func SeveralFiles(m queue.Message) bool {
	_, related, err := as2.RelatedBoundary(m.Payload.ContentType)
	return related || err != nil
}

// Contents keeps documents.
type Contents interface {
	// Keep returns when content would survive a power cut. Its name is its
	// SHA-256 in lower-case hex. The error is queue.ErrNoSpace by errors.Is, or
	// a fault of the disk.
	Keep(content []byte) (name string, err error)
}

// Edited says what an edit set going.
type Edited struct {
	Letter  queue.Letter  // closed as superseded
	Message queue.Message // the edited document, in line
}

// Edit sends a dead document with other content: as the next edition of the
// same key under a Message-ID of its own, linked, which supersedes the letter's
// message. The old content stays as long as retention keeps it. A reason is
// required, the code possible-duplicate if the partner may have the old
// content, and changed-content if he may have another edition. content is read
// to its end, at most MaxEdit bytes, and must pass the checks of the door.
//
// Nothing is changed after an error. It is an *InputError (of the field content
// if the document is at fault), a *ConfirmError, a *ConflictError (also for the
// second click), queue.ErrNotFound, or of the store, the disk or content.
func (s *Service) Edit(ctx context.Context, letter string, content io.Reader, ask Ask) (Edited, error) {
	if s.Contents == nil {
		return Edited{}, errors.New("dlq: Contents is required to edit documents")
	}
	if err := ask.check(true); err != nil {
		return Edited{}, err
	}
	doc, err := readDraft(content)
	if err != nil {
		return Edited{}, err
	}
	var gone, next *queue.Result
	err = s.act(ctx, letter, func(t target) ([]*queue.Result, error) {
		editions, err := s.editable(ctx, t, doc, ask)
		if err != nil {
			return nil, err
		}
		// The content comes first: a message without its document cannot be.
		if name, err := s.Contents.Keep(doc.content); err != nil {
			return nil, fmt.Errorf("dlq: keep the edited document of letter %s: %w", t.letter.ID, err)
		} else if name != doc.digest {
			return nil, fmt.Errorf("dlq: the edited document of letter %s was kept as %.64s, not as %s", t.letter.ID, name, doc.digest)
		}
		if gone, next, err = s.replace(t, doc, editions, ask); err != nil {
			return nil, err
		}
		earlier, err := s.replaced(ctx, t, next.Message.ID, ask)
		return append([]*queue.Result{gone, next}, earlier...), err
	})
	if err != nil {
		return Edited{}, err
	}
	return Edited{Letter: *gone.Closed, Message: *next.Message}, nil
}

// draft is an edited document.
type draft struct {
	content []byte
	digest  string
	report  edi.Report
}

func readDraft(content io.Reader) (draft, error) {
	raw, err := io.ReadAll(io.LimitReader(content, MaxEdit+1))
	switch {
	case err != nil:
		return draft{}, fmt.Errorf("dlq: read the edited document: %w", err)
	case len(raw) > MaxEdit:
		return draft{}, inContent("a document of more than %d bytes cannot be edited: have its sender hand in a corrected one", MaxEdit)
	}
	sum := sha256.Sum256(raw)
	scanner := edi.NewScanner()
	_, _ = scanner.Write(raw) // never fails
	return draft{raw, hex.EncodeToString(sum[:]), scanner.Close()}, nil
}

// inContent says what is wrong with an edited document.
func inContent(reason string, args ...any) *InputError {
	return &InputError{Field: "content", Reason: fmt.Sprintf(reason, args...) + "; nothing was changed"}
}

// editable refuses an edit that must not be, and gives the editions of the
// letter's document.
func (s *Service) editable(ctx context.Context, t target, doc draft, ask Ask) ([]queue.Edition, error) {
	l, m := t.letter, t.message
	no := func(text string) error { return &ConflictError{Letter: l.ID, Message: m.ID, Text: text} }
	p, known := s.Partners.Partner(l.Partner)
	switch {
	case l.Status != queue.LetterOpen:
		return nil, taken(l, m, t.now)
	case l.Direction == queue.In || m.Kind != queue.KindDocument:
		return nil, no("Only a document that is to be sent to the partner can be edited.")
	case SeveralFiles(m):
		return nil, no(FilesNotEdited + " Nothing was changed.")
	case !known:
		return nil, no("The partner's settings file is gone: put it back first.")
	case s.Lanes.Running(l.Lane, l.Message):
		return nil, no("Not possible: the document is being sent right now. Wait for the result.")
	case doc.digest == m.Payload.SHA256:
		return nil, &InputError{Field: "content", Reason: "nothing was changed: this is the document as it is. To send it as it is, replay it"}
	}
	if err := doc.check(p, m); err != nil {
		return nil, err
	}
	editions, err := s.Store.Editions(ctx, m.Partner, m.Key)
	if err != nil {
		return nil, err
	}
	if later := newer(m, editions); later != nil {
		return nil, no(fmt.Sprintf("There is a later edition, %s, which is %s: act on that one. Nothing was changed.", later.ID, later.State))
	}
	for _, e := range editions {
		if old := e.Message; old.Payload.SHA256 == doc.digest && old.State != queue.Superseded && old.State != queue.Discarded {
			return nil, no(fmt.Sprintf("This is the content of edition %s, which is %s: act on that one. Nothing was changed.", old.ID, old.State))
		}
	}
	var need []Code
	if l.Uncertain || m.Uncertain {
		need = append(need, PossibleDuplicate)
	}
	if m.Parked || l.Reason == fault.ReasonChangedContent {
		need = append(need, ChangedContent)
	}
	if need = (Assessment{Codes: need}).Missing(ask.Confirm); len(need) > 0 {
		return nil, &ConfirmError{Codes: need}
	}
	return editions, nil
}

// check refuses what the door would not take from its sender, and what is a
// document of another kind than the one that it replaces.
func (d draft) check(p *partner.Partner, m queue.Message) error {
	r, was := d.report, m.Business.Kind
	switch {
	case len(d.content) == 0 && !p.AllowEmpty:
		return inContent("the document has no bytes")
	case !p.CheckEnvelope:
		return nil
	case was != "" && was != edi.Unknown && r.Kind != was:
		return inContent("the document was %s, this is %s", was, r.Kind)
	case r.Problem != nil:
		return inContent("%s", r.Problem.Text)
	case p.Stage == partner.StageTest && r.Production:
		return inContent("a production interchange is meant for partner %s, whose stage is test", p.ID)
	case p.Stage != partner.StageTest && r.Test:
		return inContent("a test interchange is meant for partner %s, whose stage is %s", p.ID, p.Stage)
	}
	return nil
}

// replace makes the edition of the edited document, and ends the letter's
// message. Both events name both contents.
func (s *Service) replace(t target, doc draft, editions []queue.Edition, ask Ask) (gone, next *queue.Result, err error) {
	res, err := s.edition(t.message, editions, ask, t.now, "edited and sent again")
	if err != nil {
		return nil, nil, err
	}
	m := res.Message
	m.Payload.SHA256, m.Payload.Size = doc.digest, int64(len(doc.content))
	m.Business = queue.Business{Kind: doc.report.Kind, Type: doc.report.Type, References: doc.report.References}
	in := t.input(queue.OnSupersede, ask)
	in.Next = m.ID
	old, err := queue.Next(t.message, in, queue.Rules{})
	if err != nil {
		return nil, nil, err
	}
	facts := map[string]string{"sha256": doc.digest, "previous_sha256": t.message.Payload.SHA256}
	maps.Copy(res.Events[0].Facts, facts)
	maps.Copy(old.Events[len(old.Events)-1].Facts, facts)
	return &old, &res, nil
}
