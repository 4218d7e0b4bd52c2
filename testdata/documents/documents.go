// Package documents holds sample business documents as files of the program.
package documents

import "embed"

// Files are the documents, each by its name.
//
//go:embed *.edi *.xml
var Files embed.FS
