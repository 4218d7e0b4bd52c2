package main

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"os"
	"path/filepath"

	"edigw/as2"
	"edigw/edi"
)

// recognise is how much of a file is looked at to tell what it is.
const recognise = 64 << 10

// openDocument opens a plain file.
func openDocument(path string) (*os.File, os.FileInfo, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case info.IsDir():
		err = fmt.Errorf("%s is a folder; name the file with the document", path)
	case !info.Mode().IsRegular():
		err = fmt.Errorf("%s is no regular file", path)
	default:
		return f, info, nil
	}
	f.Close()
	return nil, nil, err
}

// severalFiles makes one document of a file and its attachments (RFC 6362): body is
// read once, and must be closed.
func severalFiles(root, contentType string, attached []string) (body io.ReadCloser, relatedType string, err error) {
	var files []as2.File
	for i, path := range append([]string{root}, attached...) {
		f, err := attachable(path)
		if err != nil {
			return nil, "", err
		}
		if i == 0 && contentType != "" {
			f.ContentType = contentType
		}
		files = append(files, f)
	}
	related, err := as2.NewRelated(files)
	if err != nil {
		return nil, "", err
	}
	r, w := io.Pipe()
	go func() {
		_, err := related.WriteTo(w)
		w.CloseWithError(err)
	}()
	return r, related.ContentType, nil
}

// attachable is a file with the type of its content: as recognised, else as its name
// says.
func attachable(path string) (as2.File, error) {
	f, info, err := openDocument(path)
	if err != nil {
		return as2.File{}, err
	}
	defer f.Close()
	scanner := edi.NewScanner()
	if _, err := io.CopyN(scanner, f, recognise); err != nil && !errors.Is(err, io.EOF) {
		return as2.File{}, err
	}
	contentType := scanner.Close().Kind.MediaType()
	if contentType == "" {
		contentType = mime.TypeByExtension(filepath.Ext(path))
	}
	if contentType == "" {
		contentType = "application/octet-stream"
	}
	return as2.File{Name: filepath.Base(path), ContentType: contentType, Size: info.Size(), Open: func() (io.ReadCloser, error) { return os.Open(path) }}, nil
}
