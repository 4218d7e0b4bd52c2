package inbox

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"edigw/as2"
	"edigw/as4"
	"edigw/fault"
	"edigw/internal/rawmime"
)

// incoming is a message that came in, as the inbox sees it whatever its
// protocol. Its readers are good until Receive returns.
type incoming struct {
	Partner   string
	MessageID string
	Identity  [3]string // From, To and Message-ID: what makes two messages the same
	At        time.Time
	Accepted  bool
	Reason    fault.Reason
	Problem   string
	Warning   string

	ContentType string
	FileName    string
	Size        int64
	SHA256      string                              // lower-case hex; empty: found out while it is stored
	Write       func(w, references io.Writer) error // the document, and what its references stand in

	Header     http.Header
	Wire       io.Reader
	WireSize   int64
	WireSHA256 string
	Unread     bool

	Answer *answer // nil: none is due
	Claims []as2.Claim
	facts  Facts
}

// answer is what we answer to a message.
type answer struct {
	MessageID string
	URL       string // where it is owed; empty: it goes into the response
	Body      []byte
	AS2       *as2.Answer // one of the two is set
	AS4       *as4.Answer
}

func answerAS2(a *as2.Answer) *answer {
	if a == nil {
		return nil
	}
	return &answer{MessageID: a.MessageID, URL: a.URL, Body: a.Body, AS2: a}
}

func answerAS4(a *as4.Answer) *answer {
	if a == nil {
		return nil
	}
	return &answer{MessageID: a.MessageID, URL: a.URL, Body: a.Body, AS4: a}
}

// protocol is its own description, for those who send it.
func (a *answer) protocol() any {
	if a.AS2 != nil {
		return a.AS2
	}
	return a.AS4
}

// incomingAS2 is an AS2 message.
func incomingAS2(r as2.Received) incoming {
	return incoming{
		Partner: r.Partner, MessageID: r.MessageID, Identity: [3]string{r.From, r.To, r.MessageID}, At: r.At,
		Accepted: r.Accepted, Reason: r.Reason, Problem: r.Problem, Warning: r.Warning,
		ContentType: r.ContentType, FileName: r.FileName, Size: r.Size, SHA256: r.SHA256,
		Write:  func(w, references io.Writer) error { return copyDocument(w, references, r) },
		Header: r.Header, Wire: r.Wire, WireSize: r.WireSize, WireSHA256: r.WireSHA256, Unread: r.Unread,
		Answer: answerAS2(r.Answer), Claims: r.Claims, facts: factsOf(r),
	}
}

// copyDocument copies a document, and shows the scanner what its references
// stand in.
func copyDocument(w, scanner io.Writer, r as2.Received) error {
	if r.Root == nil {
		_, err := io.Copy(io.MultiWriter(w, scanner), r.Payload)
		return err
	}
	if _, err := io.Copy(w, r.Payload); err != nil {
		return err
	}
	_, err := io.Copy(scanner, r.Root)
	return err
}

// incomingAS4 is an AS4 message. Several payloads become one document of
// several files, which is how such are stored whoever sent them; a message
// without any is a document of no bytes.
func incomingAS4(r as4.Received) (incoming, error) {
	in := incoming{
		Partner: r.Partner, MessageID: r.MessageID, Identity: [3]string{partyOf(r.User.From), partyOf(r.User.To), r.MessageID}, At: r.At,
		Accepted: r.Accepted, Reason: r.Reason, Problem: r.Problem, Warning: r.Warning,
		Header: r.Header, Wire: r.Wire, WireSize: r.WireSize, WireSHA256: r.WireSHA256, Unread: r.Unread,
		Answer: answerAS4(r.Answer), facts: factsOfAS4(r),
	}
	for _, c := range r.Claims {
		in.Claims = append(in.Claims, as2.Claim(c))
	}
	if !r.Accepted {
		return in, nil
	}
	if len(r.Payloads) > 1 {
		return in, in.several(r.Payloads)
	}
	in.SHA256, in.Write = emptySHA256, func(io.Writer, io.Writer) error { return nil }
	for _, p := range r.Payloads {
		in.ContentType, in.FileName, in.Size, in.SHA256 = p.ContentType, p.FileName, p.Size, p.SHA256
		in.Write = func(w, references io.Writer) error {
			_, err := io.Copy(io.MultiWriter(w, references), p.Content)
			return err
		}
	}
	in.facts.document(in)
	return in, nil
}

// several composes the document of several payloads.
func (in *incoming) several(payloads []as4.ReceivedPayload) error {
	files := make([]as2.File, len(payloads))
	for i, p := range payloads {
		files[i] = as2.File{Name: p.FileName, ContentType: typeOf(p.ContentType), Size: p.Size, Open: func() (io.ReadCloser, error) {
			_, err := p.Content.Seek(0, io.SeekStart)
			return io.NopCloser(p.Content), err
		}}
	}
	related, err := as2.NewRelated(files)
	if err != nil {
		return fmt.Errorf("inbox: put the payloads of %s together: %w", in.MessageID, err)
	}
	in.ContentType, in.Size = related.ContentType, related.Size
	in.Write = func(w, references io.Writer) error {
		if _, err := related.WriteTo(w); err != nil {
			return err
		}
		_, seek := payloads[0].Content.Seek(0, io.SeekStart)
		_, err := io.Copy(references, payloads[0].Content)
		return errors.Join(seek, err)
	}
	in.facts.document(*in)
	return nil
}

// typeOf is a MIME type that a part can carry: what the partner says, if it is
// one.
func typeOf(contentType string) string {
	mediaType, _, err := rawmime.ParseMediaType(contentType)
	breaks := func(c rune) bool { return c < ' ' || c > '~' || c == '"' }
	if err != nil || strings.Count(mediaType, "/") != 1 || strings.ContainsFunc(contentType, breaks) || strings.HasPrefix(mediaType, "multipart/") {
		return "application/octet-stream"
	}
	return contentType
}
