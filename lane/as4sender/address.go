package as4sender

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"edigw/as2"
	"edigw/as4"
	"edigw/as4/sbdh"
	"edigw/edi"
	"edigw/fault"
	"edigw/lane/wire"
	"edigw/partner"
	"edigw/queue"
)

// addressed is what a document says about where it goes.
type addressed struct {
	header   sbdh.Header
	handedIn bool // the document has the header
	wrap     bool // the header is to be put around the document; else it has one, or needs none
}

// unaddressedError says why a document cannot go to its network: it is the
// document's fault, or its settings'.
type unaddressedError struct{ why string }

func (e *unaddressedError) Error() string { return e.why }

func unaddressed(format string, args ...any) error {
	return &unaddressedError{fmt.Sprintf(format, args...)}
}

// barred tells what keeps a message from being built as facts.
func barred(err error) *fault.Outcome {
	if no, ok := errors.AsType[*unaddressedError](err); ok {
		return &fault.Outcome{Cause: fault.CauseNotListed, Detail: no.why}
	}
	if errors.Is(err, sbdh.ErrDocument) || errors.Is(err, sbdh.ErrHeader) {
		return &fault.Outcome{Cause: fault.CauseNotListed, Detail: err.Error()}
	}
	return wire.Failed(err)
}

// address finds out where the document of m goes: what its Standard Business
// Document says, if it is one; else what it says itself. What it was handed in
// with, and the partner file, count more than the document itself.
func (s *Sender) address(m queue.Message, n partner.Network, p as4.PMode) (addressed, error) {
	if _, related, _ := as2.RelatedBoundary(m.Payload.ContentType); related {
		return addressed{}, unaddressed("several files cannot stand in one Standard Business Document: hand them in one by one")
	}
	stored, err := s.desk.Document(m)
	if err != nil {
		return addressed{}, err
	}
	defer stored.Close()
	found, err := sbdh.Read(stored)
	if err != nil {
		return addressed{}, unread(err)
	}
	var a addressed
	switch {
	case found != nil:
		a.header, a.handedIn = found.Header, true
		if err := contradicted(m, a.header); err != nil {
			return a, err
		}
	case n.Wrap:
		a.wrap = true
		if a.header, err = scanned(stored); err != nil {
			return a, err
		}
		a.header.Instance, a.header.Created = m.MessageID, m.Accepted.UTC()
		a.header.Country = cmp.Or(n.Country, a.header.Country)
	}
	if found == nil {
		fixed(&a.header, n, p)
	} else if r := property(p, partner.FinalRecipient); r != nil && a.header.Receiver.Value == "" {
		a.header.Receiver = sbdh.ParseID(r.Value, cmp.Or(r.Type, sbdh.SchemeParticipant))
	}
	if a.header.Receiver.Value == "" {
		return a, unaddressed("the document names no receiver: neither an EndpointID of the receiving party with its schemeID, nor as4.properties.finalRecipient")
	}
	if a.wrap {
		if missing := a.header.Missing(); missing != "" {
			return a, unaddressed("the document has no %s that could be found: UBL and CII say it themselves; for others hand in a Standard Business Document, or write as4.properties, as4.service and as4.action", missing)
		}
	}
	return a, nil
}

func unread(err error) error {
	if errors.Is(err, sbdh.ErrHeader) {
		return err
	}
	return fmt.Errorf("%w: %w", fault.ErrPayload, err)
}

// scanned is the header that a document gives.
func scanned(document io.ReadSeeker) (h sbdh.Header, err error) {
	if _, err := document.Seek(0, io.SeekStart); err != nil {
		return h, unread(err)
	}
	scanner := edi.NewScanner()
	if _, err := io.Copy(scanner, document); err != nil {
		return h, unread(err)
	}
	r := scanner.Close()
	switch {
	case r.Kind != edi.UBL && r.Kind != edi.CII && r.Kind != edi.XML:
		return h, unaddressed("the document is no XML: a Standard Business Document holds XML alone")
	case r.Problem != nil:
		return h, unaddressed("the document is not well-formed: %s", r.Problem.Text)
	case r.Route == nil:
		h.Type = r.Type
		return h, nil
	}
	version := cmp.Or(r.Route.Version, map[edi.Kind]string{edi.UBL: "2.1", edi.CII: "D16B"}[r.Kind])
	h = sbdh.Header{
		Sender: participant(r.Route.Sender), Receiver: participant(r.Route.Receiver), Country: r.Route.Country,
		Standard: r.Route.Namespace, Type: r.Route.Root, TypeVersion: version,
	}
	if c := r.Route.Customization; c != "" {
		h.Document = sbdh.DocumentType(r.Route.Namespace, r.Route.Root, c, version)
	}
	if r.Route.Profile != "" {
		h.Process = sbdh.ID{Scheme: sbdh.SchemeProcess, Value: r.Route.Profile}
	}
	return h, nil
}

// participant is the identifier of an electronic address; none without its
// scheme. Identifiers are compared without regard to case, and written small.
func participant(e edi.Endpoint) sbdh.ID {
	if e.Scheme == "" || e.Value == "" {
		return sbdh.ID{}
	}
	return sbdh.ID{Scheme: sbdh.SchemeParticipant, Value: strings.ToLower(e.Scheme + ":" + e.Value)}
}

// fixed fills in what the document was handed in with, and what the partner file
// says for every document.
func fixed(h *sbdh.Header, n partner.Network, p as4.PMode) {
	for name, id := range map[string]*sbdh.ID{partner.OriginalSender: &h.Sender, partner.FinalRecipient: &h.Receiver} {
		if q := property(p, name); q != nil {
			*id = sbdh.ParseID(q.Value, cmp.Or(q.Type, sbdh.SchemeParticipant))
		}
	}
	if n.FixedService {
		h.Process = sbdh.ID{Scheme: cmp.Or(p.Service.Type, sbdh.SchemeProcess), Value: p.Service.Value}
	}
	if n.FixedAction {
		h.Document = sbdh.ParseID(p.Action, sbdh.SchemeDocument)
	}
	// What a document of another kind is, its type says: namespace::root##….
	if standard, rest, ok := strings.Cut(h.Document.Value, "::"); ok && h.Standard == "" {
		h.Standard = standard
		if i := strings.LastIndex(rest, "::"); i >= 0 {
			h.TypeVersion = rest[i+2:]
		}
	}
}

// wrap puts the payload of d into a Standard Business Document if the partner
// wants it.
func (s *Sender) wrap(m queue.Message, d *as4.Document) error {
	snapshot := s.Settings()
	n := networkOf(snapshot, m.Partner)
	if !n.Wrap || len(d.Payloads) != 1 {
		return nil
	}
	p, err := snapshot.ReceivingPMode(m.Partner, s.Now())
	if err != nil {
		return err
	}
	a, err := s.address(m, n, withOwn(snapshot, p, m))
	if err != nil || !a.wrap {
		return err
	}
	one := &d.Payloads[0]
	one.Content, one.Size, err = sbdh.Wrap(a.header, one.Content, one.Size)
	one.ContentType = "application/xml"
	return err
}
