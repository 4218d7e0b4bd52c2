package console

import (
	"bytes"
	"errors"
	"io"

	"edigw/as2"
	"edigw/edi"
	"edigw/queue"
)

// filesBytes is how much of a document of several files is read to list them:
// a page must not cost as much as a gigabyte.
const filesBytes = 64 << 20

// files are those of a document of several (multipart/related); none of any
// other.
type files struct {
	Files   []fileRow
	More    bool   // only the beginning was looked at: there may be more
	Unapart string // why it cannot be taken apart
}

// fileRow is one file of a document of several.
type fileRow struct {
	N    int
	Name string
	Type string
	Size int64
	More bool   // it is longer than that: its end was not looked at
	Path string // of the download
	Main bool   // what the others belong to; shown on the page
}

// readFiles lists the files of a document, and reads the one to be shown: the
// root of the multipart. What cannot be taken apart is shown as it is.
func readFiles(f io.ReadSeeker, m queue.Message) (edi.View, files, error) {
	var all files
	var head []byte
	main := 0
	body := &io.LimitedReader{R: f, N: filesBytes}
	err := as2.TakeApart(body, m.Payload.ContentType, func(p as2.RelatedPart, content io.Reader) error {
		row := fileRow{N: p.N, Name: fileName(p.Name, p.N), Type: plain(p.ContentType), Path: partPath(m.ID, p.N)}
		var begin bytes.Buffer
		_, err := io.CopyN(&begin, content, viewBytes+1)
		if err == nil {
			row.Size, err = io.Copy(io.Discard, content)
		} else if errors.Is(err, io.EOF) {
			err = nil
		}
		row.Size += int64(begin.Len())
		if p.Root || p.N == 1 {
			head, main = begin.Bytes(), len(all.Files)
		}
		row.More = err != nil
		all.Files = append(all.Files, row)
		return err
	})
	switch {
	case err == nil:
	case errors.Is(err, as2.ErrRelated) && body.N <= 0 && m.Payload.Size > filesBytes:
		all.More = true
	case errors.Is(err, as2.ErrRelated):
		all = files{Unapart: plain(err.Error())}
	default:
		return edi.View{}, files{}, err
	}
	if len(all.Files) == 0 {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return edi.View{}, files{}, err
		}
		shown, err := edi.ReadView(f, viewBytes, viewLines)
		return shown, all, err
	}
	all.Files[main].Main = true
	shown, err := edi.ReadView(bytes.NewReader(head), viewBytes, viewLines)
	return shown, all, err
}
