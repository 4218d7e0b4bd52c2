// Package takeover is what the readers of other products' settings share: the plan
// that an installation becomes, names for its partners, keystores, and the partner
// file of a partner who speaks AS4.
//
// It writes nothing and asks nobody. What it reads is a user's own, but may come
// from somewhere else, and is bounded; what it repeats is one line of printable
// text.
package takeover

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"unicode"
)

// File is one file of a plan; its path is relative to edigw.yaml.
type File struct {
	Path    string
	Content []byte
}

// Remark is one line of the report.
type Remark struct {
	Partner string `json:"partner,omitempty"` // edigw's id; empty: of the whole installation
	About   string `json:"about"`             // attribute or element, as the product spells it
	Text    string `json:"text"`
	Lost    bool   `json:"lost"` // it could not be carried over
}

// OwnKey is a key of ours that was in the keystore.
type OwnKey struct {
	File  string `json:"file"` // of the plan
	Alias string `json:"alias"`
}

// Plan is what an installation becomes.
type Plan struct {
	Source   string   // what was read, for people
	Partners []string // ids, in the order in which they were found
	Files    []File
	Keys     []OwnKey
	Remarks  []Remark
}

// Lost tells what could not be carried over.
func (p *Plan) Lost(id, about, format string, args ...any) {
	p.Remarks = append(p.Remarks, Remark{id, Plain(about), Plain(fmt.Sprintf(format, args...)), true})
}

// Note tells what is good to know.
func (p *Plan) Note(id, about, format string, args ...any) {
	p.Remarks = append(p.Remarks, Remark{id, Plain(about), Plain(fmt.Sprintf(format, args...)), false})
}

// Plain makes one line of printable text of what stands in somebody else's
// files: the report is shown on a terminal.
func Plain(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '·'
		}
		return r
	}, strings.ToValidUTF8(s, "·"))
}

// Clip bounds what is repeated in a report.
func Clip(s string) string {
	const most = 200
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

// Quoted writes a text in YAML.
func Quoted(s string) string { return strconv.QuoteToASCII(strings.ToValidUTF8(s, "·")) }

// Content reads a file that others may have written: a pipe or a device in its
// place must not hold us up, or fill our memory.
func Content(name string, most int64) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a plain file", name)
	}
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("%s: larger than %d bytes", name, most)
	}
	return data, err
}
