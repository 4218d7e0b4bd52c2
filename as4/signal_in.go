package as4

import (
	"context"
	"errors"
	"io"
	"net/http"

	"edigw/as4/ebms"
	"edigw/internal/door"
)

// signals answers a message that holds signals alone. To a receipt or an error
// nothing is ever answered but that it came: two MSHs that answer errors with
// errors have no end.
func (q *request) signals() {
	if n := maxSignal + 1 - q.upload.layer.Size(); n > 0 {
		if _, err := io.CopyN(io.Discard, q.upload, n); err != nil && err != io.EOF { //nolint:errorlint // io.EOF itself is the end
			if !q.transport(err) {
				q.unavailable("", "read signal", err)
			}
			return
		}
	}
	if q.upload.layer.Size() > maxSignal {
		http.Error(q.w, "The signal is too large.", http.StatusRequestEntityTooLarge)
		return
	}
	if err := q.acknowledge(q.r.Context()); err != nil {
		q.unavailable("", "keep signal", err)
		return
	}
	if pull := q.env.PullRequest(); pull != nil {
		q.pull(pull)
		return
	}
	if q.env.Fault != nil && len(q.env.Signals) == 0 {
		q.note("SOAP fault that came by itself, about no message", q.env.Fault.Error())
	}
	q.w.WriteHeader(http.StatusAccepted)
}

// acknowledge hands receipts and errors on that came by themselves, or beside a
// message (ebMS 3.0 Core §5.2.4). Nothing in them is believed yet. The error is
// one of ours.
func (a *arrival) acknowledge(ctx context.Context) error {
	told := map[string]bool{}
	for _, s := range a.env.Signals {
		if s.PullRequest != nil {
			continue
		}
		about := bareID(signalledMessage(s))
		if ebms.CheckMessageID(about) != nil {
			a.note("AS4 signal that names no message", signalText(s))
			continue
		}
		if told[about] {
			continue
		}
		told[about] = true
		header, body, err := a.signalBytes()
		if errors.Is(err, errEnvelope) { // to send it again would not help
			a.note("AS4 signal beside a message whose envelope is too large to be kept with it", signalText(s))
			return nil
		}
		if err != nil {
			return err
		}
		if err := a.h.o.Acks.Acknowledge(ctx, Ack{MessageID: about, Header: header, Body: body}); err != nil {
			return err
		}
	}
	return nil
}

// signalledMessage is the message that a signal is about. Some peers name it in
// the error alone.
func signalledMessage(s ebms.SignalMessage) string {
	if s.RefToMessageID != "" {
		return s.RefToMessageID
	}
	for _, e := range s.Errors {
		if e.RefToMessageInError != "" {
			return e.RefToMessageInError
		}
	}
	return ""
}

func signalText(s ebms.SignalMessage) string {
	if s.Receipt != nil {
		return "receipt " + s.MessageID
	}
	text := "error " + s.MessageID
	for _, e := range s.Errors {
		text += ": " + e.Code + " " + e.ShortDescription + " " + e.Detail
	}
	return text
}

// signalBytes are what a signal is verified from later: the request as it came,
// or, beside a large message, its envelope.
func (a *arrival) signalBytes() (http.Header, []byte, error) {
	header := door.WithoutCredentials(a.header)
	if a.upload.layer.Size() <= maxSignal {
		body, err := io.ReadAll(a.upload.wire())
		return header, body, err
	}
	header.Set("Content-Type", envelopeType)
	f := a.framing
	f.room = nil // it was counted when it came
	body, err := f.readEnvelope(a.upload.wire(), maxSignal)
	return header, body, err
}
