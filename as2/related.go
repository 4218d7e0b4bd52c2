package as2

import (
	"crypto/sha256"
	"edigw/fault"
	"encoding/base32"
	"errors"
	"fmt"
	"io"
	"strings"

	"edigw/internal/rawmime"
	"edigw/internal/tame"
)

// File is one file of a document of several.
type File struct {
	Name        string // for Content-Disposition; empty: none
	ContentType string
	Size        int64                         // exact
	Open        func() (io.ReadCloser, error) // called twice
}

// Related is a document of several files: a multipart/related (RFC 6362, RFC
// 2387) whose root is the first of them.
type Related struct {
	ContentType string // with its boundary
	Size        int64
	files       []File
	heads       []string // what stands in front of each file
	end         string
}

// maxBoundary is the longest boundary that RFC 2046 §5.1.1 allows.
const maxBoundary = 70

// ErrRelated says that something is no document of several files: what, the
// text tells.
var ErrRelated = errors.New("no multipart/related that can be taken apart")

// NewRelated composes a document of up to 500 files. It reads each once: the
// boundary is made of their digests, so that the same files always make the
// same document, and none of them can hold it. Files that cannot be read are
// fault.ErrPayload.
func NewRelated(files []File) (*Related, error) {
	if len(files) == 0 || len(files) > maxParts {
		return nil, fmt.Errorf("%w: %d files; 1 to %d can be put together", ErrRelated, len(files), maxParts)
	}
	boundary, err := boundaryOf(files)
	if err != nil {
		return nil, err
	}
	root, _, _ := strings.Cut(files[0].ContentType, ";")
	r := &Related{
		ContentType: multipartRelated + `; type="` + strings.TrimSpace(root) + `"; boundary="` + boundary + `"`,
		files:       files,
		end:         "\r\n--" + boundary + "--\r\n",
	}
	r.Size = int64(len(r.end))
	for i, f := range files {
		header := []Field{{"Content-Type", f.ContentType}, {"Content-Transfer-Encoding", string(Binary)}}
		if name := tame.FileName(f.Name); name != "" {
			header = append(header, Field{"Content-Disposition", "attachment; " + fileNameParameter(name)})
		}
		head := "--" + boundary + "\r\n" + entity{header: header}.headerBlock()
		if i > 0 {
			head = "\r\n" + head
		}
		r.heads = append(r.heads, head)
		r.Size += int64(len(head)) + f.Size
	}
	return r, nil
}

// boundaryOf is a digest of what the parts will say.
func boundaryOf(files []File) (string, error) {
	sum := sha256.New()
	for _, f := range files {
		if base, _, _ := strings.Cut(f.ContentType, ";"); !headerValue(f.ContentType) || strings.Contains(base, `"`) || strings.Count(base, "/") != 1 {
			return "", fmt.Errorf("%w: %q of %s is not of the form type/subtype", ErrRelated, f.ContentType, f.Name)
		}
		fmt.Fprintf(sum, "%q %q %d\n", f.Name, f.ContentType, f.Size)
		if err := f.copy(sum); err != nil {
			return "", err
		}
	}
	return "edigw-" + strings.ToLower(base32.StdEncoding.EncodeToString(sum.Sum(nil)[:20])), nil
}

// copy writes the file, which must be as long as it says.
func (f File) copy(w io.Writer) error {
	r, err := f.Open()
	if err != nil {
		return fmt.Errorf("%w: %w", fault.ErrPayload, err)
	}
	defer r.Close()
	n, err := copyAll(w, payloadReader{r})
	if err != nil {
		return err
	}
	if n != f.Size {
		return fmt.Errorf("%w: %s has %d bytes instead of %d; it changed meanwhile", fault.ErrPayload, f.Name, n, f.Size)
	}
	return nil
}

// WriteTo writes the document. It may be called any number of times.
func (r *Related) WriteTo(w io.Writer) (int64, error) {
	var n counter
	out := io.MultiWriter(w, &n)
	for i, f := range r.files {
		if _, err := io.WriteString(out, r.heads[i]); err != nil {
			return int64(n), err
		}
		if err := f.copy(out); err != nil {
			return int64(n), err
		}
	}
	_, err := io.WriteString(out, r.end)
	return int64(n), err
}

// RelatedBoundary reads the MIME type of a document: related says whether it is
// of several files, boundary what stands between them. Another multipart, and
// one whose boundary is missing or not as RFC 2046 §5.1.1 has it, is
// ErrRelated: nobody could take it apart.
func RelatedBoundary(contentType string) (boundary string, related bool, err error) {
	mediaType, params, err := rawmime.ParseMediaType(contentType)
	if err != nil || !strings.HasPrefix(mediaType, "multipart/") {
		return "", false, nil // whether it is a MIME type at all is checked elsewhere
	}
	boundary = params["boundary"]
	switch {
	case mediaType != multipartRelated:
		return "", false, fmt.Errorf("%w: %s is another multipart", ErrRelated, mediaType)
	case boundary == "":
		return "", true, fmt.Errorf("%w: Content-Type names no boundary", ErrRelated)
	case len(boundary) > maxBoundary || strings.HasSuffix(boundary, " ") || strings.ContainsFunc(boundary, noBoundary):
		return "", true, fmt.Errorf("%w: the boundary is not 1 to %d characters of RFC 2046", ErrRelated, maxBoundary)
	}
	return boundary, true, nil
}

// noBoundary tells characters that RFC 2046 §5.1.1 does not allow in one.
func noBoundary(c rune) bool {
	return (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && !strings.ContainsRune("'()+_,-./:=? ", c)
}

// checkMultipart refuses a document that says it is of several files, and could
// not be taken apart.
func checkMultipart(contentType string) error {
	if _, _, err := RelatedBoundary(contentType); err != nil {
		return badSetting("as2.content_type", "%v", err)
	}
	return nil
}

// isMultipart tells documents that are MIME multiparts themselves.
func isMultipart(contentType string) bool {
	return strings.HasPrefix(strings.ToLower(contentType), "multipart/")
}

// ReadRelated takes a document of several files apart, to find out whether
// their reader can. It reads body behind the last part and no further, and
// writes the content of the root to root: the part that start names, else the
// first (RFC 2387 §3.2). What cannot be taken apart within the bounds of a
// receiver is ErrRelated; errors of body and root are passed on.
func ReadRelated(body io.Reader, contentType string, root io.Writer) error {
	return TakeApart(body, contentType, func(p RelatedPart, content io.Reader) error {
		to := io.Discard
		if p.Root {
			to = root
		}
		_, err := copyAll(to, content)
		return err
	})
}

// notRelated tells what MIME says is wrong with a part; other errors are passed
// on.
func notRelated(n int, err error) error {
	for _, kind := range []error{rawmime.ErrLimit, rawmime.ErrSyntax, rawmime.ErrBareCR, io.ErrUnexpectedEOF} {
		if errors.Is(err, kind) {
			return fmt.Errorf("%w: part %d: %w", ErrRelated, n, err)
		}
	}
	return err
}
