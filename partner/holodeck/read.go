// Package holodeck reads the P-Modes of Holodeck B2B, one XML document each, and
// says which partner files they become, and what of them cannot be carried over.
//
// It writes nothing and asks nobody: Read takes the documents apart, Translate
// makes a plan. What is read is bounded.
package holodeck

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/beevik/etree"

	"edigw/internal/xmltree"
	"edigw/partner/takeover"
)

// Bounds of what is read.
const (
	maxDocument = 1 << 20
	maxPModes   = 2000
)

// limits of one document.
var limits = xmltree.Limits{Bytes: maxDocument, Depth: 20, Elements: 2000, Attributes: 50}

// Setting is one element with text, by its path below PMode:
// "Leg/Protocol/Address".
type Setting struct {
	Path, Value string
	attributes  map[string]string
}

// PMode is one document, its elements in their order.
type PMode struct {
	File     string
	Settings []Setting
}

// all are the values of a path, in their order.
func (p *PMode) all(path string) (out []Setting) {
	for _, s := range p.Settings {
		if s.Path == path {
			out = append(out, s)
		}
	}
	return out
}

// first is the value of a path, empty if there is none.
func (p *PMode) first(path string) string {
	if all := p.all(path); len(all) > 0 {
		return all[0].Value
	}
	return ""
}

// has reports whether there is an element, or anything below it.
func (p *PMode) has(path string) bool {
	return slices.ContainsFunc(p.Settings, func(s Setting) bool { return s.Path == path || strings.HasPrefix(s.Path, path+"/") })
}

// Read reads P-Modes: files, or every .xml in folders. The error names the file.
func Read(names ...string) ([]PMode, error) {
	var files []string
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			files = append(files, name)
			continue
		}
		entries, err := os.ReadDir(name)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if strings.EqualFold(filepath.Ext(e.Name()), ".xml") && e.Type()&fs.ModeDir == 0 {
				files = append(files, filepath.Join(name, e.Name()))
			}
		}
	}
	switch {
	case len(files) == 0:
		return nil, fmt.Errorf("%s: no P-Mode, which is a file that ends in .xml", strings.Join(names, ", "))
	case len(files) > maxPModes:
		return nil, fmt.Errorf("more than %d P-Modes", maxPModes)
	}
	var out []PMode
	for _, file := range files {
		p, err := read(file)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

func read(file string) (PMode, error) {
	data, err := takeover.Content(file, maxDocument)
	if err != nil {
		return PMode{}, err
	}
	p, err := parse(data)
	if err != nil {
		return PMode{}, fmt.Errorf("%s: %w", file, err)
	}
	p.File = file
	return p, nil
}

func parse(data []byte) (PMode, error) {
	doc, err := xmltree.Parse(data, limits)
	if err != nil {
		return PMode{}, err
	}
	root := doc.Root()
	if root == nil || root.Tag != "PMode" {
		return PMode{}, errors.New("it is no P-Mode of Holodeck B2B: its root is not PMode")
	}
	var p PMode
	p.walk(root, "")
	return p, nil
}

// walk gathers the elements below e. One without children is a setting, also when
// it is empty.
func (p *PMode) walk(e *etree.Element, path string) {
	for _, c := range e.ChildElements() {
		at := strings.TrimPrefix(path+"/"+c.Tag, "/")
		s := Setting{Path: at, Value: strings.TrimSpace(xmltree.Text(c)), attributes: map[string]string{}}
		for _, a := range c.Attr {
			s.attributes[a.Key] = a.Value
		}
		if len(c.ChildElements()) == 0 || at == "Leg" {
			p.Settings = append(p.Settings, s)
		} else {
			p.Settings = append(p.Settings, Setting{Path: at + "/", attributes: s.attributes}) // that there is one begins
		}
		p.walk(c, at)
	}
}
