package demo

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"edigw/internal/apiclient"
	"edigw/testdata/documents"
)

// sample is a document of testdata/documents, and where its numbers stand: a
// copy with other numbers is another document.
type sample struct {
	file      string
	numbers   map[string]string // text in the file → what takes its place, with %05d
	reference string            // what people call it, with %05d
}

var (
	x12Invoice     = sample{"x12-810-invoice.edi", map[string]string{"20931": "%05d"}, "INV-%05d"}
	x12Order       = sample{"x12-850-order.edi", map[string]string{"000000017": "0000%05d", "*17*X*": "*%05d*X*", "GE*1*17": "GE*1*%05d", "4500012345": "45000%05d"}, "45000%05d"}
	edifactInvoice = sample{"edifact-invoic.edi", map[string]string{"NW0000731": "NW00%05d", "INV-2026-0731": "INV-2026-%05d"}, "INV-2026-%05d"}
	edifactOrder   = sample{"edifact-orders.edi", map[string]string{"NW0000412++++++1": "NW00%05d", "NW0000412": "NW00%05d", "4500067890": "45000%05d"}, "45000%05d"}
	testOrder      = sample{"edifact-orders.edi", map[string]string{"NW0000412": "NW00%05d", "4500067890": "45000%05d"}, "45000%05d"} // still marked as a test
	ublInvoice     = sample{"ubl-invoice.xml", map[string]string{"INV-2026-0732": "INV-2026-%05d"}, "INV-2026-%05d"}
	ciiInvoice     = sample{"cii-invoice.xml", map[string]string{"INV-2026-0733": "INV-2026-%05d"}, "INV-2026-%05d"}
	brokenInvoice  = sample{"x12-810-invoice.edi", map[string]string{"20931": "%05d", "SE*24*": "SE*23*"}, "INV-%05d"} // counts a segment too few
)

// document is a copy of a sample, ready to be handed in.
type document struct {
	partner   string
	name      string // of its file
	reference string
	content   []byte
	sha256    string
	way       string // by which it came in: api, outbox, send
	accepted  bool   // the gateway said that it is safe there
}

// feed hands documents in, by each of the ways that a user has. It is safe for
// concurrent use.
type feed struct {
	dir     string
	config  string
	program string            // this program, for `edigw send`
	client  *apiclient.Client // of the API, with a token

	mu     sync.Mutex
	number int
	given  []*document
}

// firstNumber has five digits, so that a copy is as long as its sample.
const firstNumber = 30000

// make copies a sample for a partner under numbers that were never used.
func (f *feed) make(s sample, partner string) (*document, error) {
	f.mu.Lock()
	f.number++
	n := (firstNumber + f.number) % 100_000
	f.mu.Unlock()
	text, err := documents.Files.ReadFile(s.file)
	if err != nil {
		return nil, err
	}
	content := replaceAll(string(text), s.numbers, n)
	sum := sha256.Sum256([]byte(content))
	ext := filepath.Ext(s.file)
	return &document{
		partner: partner, content: []byte(content), sha256: hex.EncodeToString(sum[:]), reference: fmt.Sprintf(s.reference, n),
		name: fmt.Sprintf("%s-%05d%s", strings.TrimSuffix(s.file, ext), n, ext),
	}, nil
}

// replaceAll puts numbers into a text, longest places first.
func replaceAll(text string, numbers map[string]string, n int) string {
	var pairs []string
	for _, old := range byLength(numbers) {
		with := numbers[old]
		if strings.Contains(with, "%") {
			with = fmt.Sprintf(with, n)
		}
		pairs = append(pairs, old, with)
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// note remembers a document that the gateway took.
func (f *feed) note(d *document, way string, accepted bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	d.way, d.accepted = way, accepted
	f.given = append(f.given, d)
}

// post hands a document in by the HTTP API. repeated: the gateway had it
// before, so that this changed nothing.
func (f *feed) post(ctx context.Context, d *document) (m message, repeated bool, err error) {
	header := http.Header{"Content-Disposition": {mime.FormatMediaType("attachment", map[string]string{"filename": d.name})}}
	answer, err := f.client.Send(ctx, "/partners/"+url.PathEscape(d.partner)+"/messages", header, bytes.NewReader(d.content), &m)
	if err != nil {
		return m, false, err
	}
	if repeated = answer.Get("Idempotency-Replayed") != ""; !repeated {
		f.note(d, "api", true)
	}
	return m, repeated, nil
}

// drop hands a document in by the outbox folder: written under a name that is
// ignored, then renamed. When it is taken is seen by accepted.
func (f *feed) drop(d *document) error {
	folder := filepath.Join(f.dir, "outbox", d.partner)
	part := filepath.Join(folder, d.name+".part")
	if err := os.WriteFile(part, d.content, 0o600); err != nil {
		return err
	}
	f.note(d, "outbox", false)
	return os.Rename(part, filepath.Join(folder, d.name))
}

// taken reports whether a file of the outbox is in its accepted folder.
func (f *feed) taken(d *document) bool {
	found, err := filepath.Glob(filepath.Join(f.dir, "outbox", d.partner, "accepted", "*", d.name+"~*"))
	if err != nil || len(found) == 0 {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	d.accepted = true
	return true
}

// send hands a document in by `edigw send`.
func (f *feed) send(ctx context.Context, d *document) error {
	folder := filepath.Join(f.dir, "documents")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	file := filepath.Join(folder, d.name)
	if err := os.WriteFile(file, d.content, 0o600); err != nil {
		return err
	}
	if _, err := f.command(ctx, "send", d.partner, file); err != nil {
		return err
	}
	f.note(d, "send", true)
	return nil
}

// command runs this program as a user would in another terminal, and gives
// what it printed.
func (f *feed) command(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, f.program, append([]string{"--config", f.config}, args...)...)
	cmd.Env = without(os.Environ(), "EDIGW_URL", "EDIGW_TOKEN", "EDIGW_CONFIG")
	out, err := cmd.CombinedOutput()
	text := strings.TrimSpace(string(out))
	if err != nil {
		return text, fmt.Errorf("edigw %s: %w: %s", strings.Join(args, " "), err, text)
	}
	return text, nil
}

// documents are all that were handed in and taken, those of the outbox as they
// are now.
func (f *feed) documents() []document {
	f.mu.Lock()
	given := f.given[:len(f.given):len(f.given)]
	f.mu.Unlock()
	var list []document
	for _, d := range given {
		if d.way == "outbox" {
			f.taken(d)
		}
		f.mu.Lock()
		list = append(list, *d)
		f.mu.Unlock()
	}
	return list
}

// byLength gives the keys of a map, longest first, so that none hides another.
func byLength(m map[string]string) []string {
	return slices.SortedFunc(maps.Keys(m), func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
}

// without gives an environment without some variables.
func without(environ []string, names ...string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(names, name)
	})
}
