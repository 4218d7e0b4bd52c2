package as2

import (
	"errors"
	"fmt"
	"io"

	"edigw/internal/rawmime"
	"edigw/internal/tame"
)

// RelatedPart is one part of a document of several files while it is taken
// apart: its size and digest are not known yet.
type RelatedPart struct {
	Attachment
	N    int  // from 1, in the order of the document
	Root bool // the part that start names, else the first (RFC 2387 §3.2)
}

// TakeApart takes a document of several files apart: it calls take for each
// part in its order, with its name and type and its content without transfer
// encoding, which take may leave unread. What cannot be taken apart within the
// bounds of a receiver is ErrRelated, also after parts that could be; errors of
// body and of take are passed on. A part that is itself a multipart is one
// part.
func TakeApart(body io.Reader, contentType string, take func(p RelatedPart, content io.Reader) error) error {
	boundary, related, err := RelatedBoundary(contentType)
	if err != nil {
		return err
	}
	if !related {
		return fmt.Errorf("%w: Content-Type is not %s", ErrRelated, multipartRelated)
	}
	_, params, err := rawmime.ParseMediaType(contentType)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrRelated, err)
	}
	start := params["start"]
	parts := rawmime.NewMultipart(body, boundary, maxParts)
	for n := 1; ; n++ {
		next, err := parts.Next()
		switch {
		case err == io.EOF && n > 1: //nolint:errorlint // io.EOF itself ends the parts, what wraps it does not
			return nil
		case err == io.EOF: //nolint:errorlint // as above
			return fmt.Errorf("%w: it has no part", ErrRelated)
		case err != nil:
			return notRelated(n, err)
		}
		p, content, id, err := attached(next)
		if err != nil {
			return notRelated(n, err)
		}
		one := RelatedPart{Attachment: Attachment{Name: p.fileName, ContentType: tame.Clip(tame.Line(p.contentType), maxWords)}, N: n}
		one.Root = n == 1 && start == "" || start != "" && id == start
		if one.ContentType == "" {
			one.ContentType = "text/plain" // RFC 2045 §5.2
		}
		read := &partReader{Reader: content}
		if err := take(one, read); err != nil {
			if read.err != nil && errors.Is(err, read.err) {
				return notRelated(n, err)
			}
			return err
		}
	}
}

// partReader remembers why a part could not be read, so that it is told from
// why it could not be written.
type partReader struct {
	io.Reader
	err error
}

// Read implements io.Reader.
func (p *partReader) Read(b []byte) (int, error) {
	n, err := p.Reader.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		p.err = err
	}
	return n, err
}
