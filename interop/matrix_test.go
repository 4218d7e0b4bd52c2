package interop

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// matrixFile is where the matrix is kept.
var matrixFile = filepath.Join("..", "docs", "interop", "matrix.md")

// What a cell may say besides the label of a deviation.
const (
	cellGood    = "ok"
	cellMissing = "–"
	cellFailed  = "FAILED"
	cellNotRun  = "not run"
)

// matrix gathers the results of all cells.
type matrix struct {
	mu    sync.Mutex
	cells map[string]map[string]string // column, profile
	notes []note

	scenarios []scenario
}

// note explains cells that are not plainly good.
type note struct{ column, profile, label, why string }

// scenario is an exchange that is no row of the matrix: something goes wrong.
type scenario struct{ peer, name, what, result string }

// scenario notes how one came out.
func (m *matrix) scenario(p peer, name, what string, failed bool) {
	result := cellGood
	if failed {
		result = cellFailed
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.scenarios = append(m.scenarios, scenario{p.product(), name, what, result})
}

func newMatrix() *matrix { return &matrix{cells: map[string]map[string]string{}} }

// column is the heading of a peer and a direction.
func column(p peer, d direction) string {
	if d == toPeer {
		return "edigw → " + p.product()
	}
	return p.product() + " → edigw"
}

func (m *matrix) set(column, profile, text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cells[column] == nil {
		m.cells[column] = map[string]string{}
	}
	m.cells[column][profile] = text
}

func (m *matrix) explain(column, profile, label, why string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.notes = append(m.notes, note{column, profile, label, why})
}

// note judges the result of a cell: as it should be, or as is known of the peer.
func (m *matrix) note(t *testing.T, c cell, r result) {
	t.Helper()
	where := column(c.peer, c.direction)
	known, deviates := deviationOf(c)
	switch {
	case deviates && r.String() == known.result:
		m.set(where, c.profile.name, known.label)
		m.explain(where, c.profile.name, known.label, known.why)
	case deviates:
		m.set(where, c.profile.name, cellFailed)
		t.Errorf("%s, not what is known of this peer: %s", r, known.result)
	case len(r) > 0:
		m.set(where, c.profile.name, cellFailed)
		t.Error(r)
	default:
		m.set(where, c.profile.name, cellGood)
	}
}

// lacks notes that a peer has no such thing.
func (m *matrix) lacks(p peer, pr profile, d direction, why string) {
	m.set(column(p, d), pr.name, cellMissing)
	m.explain(column(p, d), pr.name, cellMissing, why)
}

// notRun notes that a peer could not be installed.
func (m *matrix) notRun(p peer) {
	for _, pr := range profiles {
		m.set(column(p, toPeer), pr.name, cellNotRun)
		m.set(column(p, fromPeer), pr.name, cellNotRun)
	}
}

// columns are those of peers that the run reached.
func (m *matrix) columns() (all []string) {
	for _, p := range peers() {
		for _, d := range []direction{toPeer, fromPeer} {
			if c := column(p, d); m.cells[c] != nil {
				all = append(all, c)
			}
		}
	}
	return all
}

// String is the matrix in Markdown.
func (m *matrix) String() string {
	var b strings.Builder
	columns := m.columns()
	fmt.Fprintf(&b, "| profile | what is special |")
	for _, c := range columns {
		fmt.Fprintf(&b, " %s |", c)
	}
	fmt.Fprintf(&b, "\n|---|---|%s\n", strings.Repeat("---|", len(columns)))
	for _, p := range profiles {
		fmt.Fprintf(&b, "| %s | %s |", p.name, p)
		for _, c := range columns {
			fmt.Fprintf(&b, " %s |", m.cells[c][p.name])
		}
		b.WriteString("\n")
	}
	return b.String() + m.footnotes() + m.trouble()
}

// trouble is the table of the scenarios.
func (m *matrix) trouble() string {
	if len(m.scenarios) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\n## When something goes wrong\n\n| scenario | with | what must hold | result |\n|---|---|---|---|\n")
	for _, s := range m.scenarios {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", s.name, s.peer, s.what, s.result)
	}
	return b.String()
}

// footnotes explains the cells, those of one reason together.
func (m *matrix) footnotes() string {
	var order []note
	where := map[note][]string{}
	for _, p := range profiles {
		for _, n := range m.notes {
			if n.profile != p.name {
				continue
			}
			key := note{column: n.column, label: n.label, why: n.why}
			if where[key] == nil {
				order = append(order, key)
			}
			where[key] = append(where[key], n.profile)
		}
	}
	slices.SortStableFunc(order, func(a, b note) int {
		return slices.Index(m.columns(), a.column) - slices.Index(m.columns(), b.column)
	})
	var b strings.Builder
	for _, n := range order {
		fmt.Fprintf(&b, "\n- %s, %s: **%s**. %s", n.column, strings.Join(where[n], ", "), n.label, n.why)
	}
	if b.Len() > 0 {
		return "\n" + strings.TrimPrefix(b.String(), "\n") + "\n"
	}
	return ""
}

// String names what a profile has besides the defaults.
func (p profile) String() string {
	var parts []string
	if p.sign != "none" {
		how := "signed " + p.sign
		if p.signature == "rsa-pss" {
			how += " PSS"
		}
		parts = append(parts, how)
	}
	if p.encrypt != "none" {
		how := p.encrypt
		if p.transport != "rsa-pkcs1" {
			how += " " + p.transport
		}
		parts = append(parts, how)
	}
	if p.compress != "none" {
		parts = append(parts, "compressed "+p.compress)
	}
	if p.encoding != "binary" {
		parts = append(parts, p.encoding)
	}
	if p.ours != "" {
		parts = append(parts, "`"+p.ours+"`")
	}
	if p.blanks {
		parts = append(parts, "AS2 name with blanks")
	}
	if p.content != order {
		parts = append(parts, string(p.content))
	}
	return strings.Join(append(parts, p.receiptText()), ", ")
}

func (p profile) receiptText() string {
	switch {
	case !p.receipt():
		return "no MDN"
	case p.mdnSigned:
		return p.mdn + " signed MDN"
	}
	return p.mdn + " unsigned MDN"
}

// matrixHead stands above the matrix in its file.
const matrixHead = `# Interoperability matrix

Written by ` + "`make interop`" + `, which fails when a cell comes out otherwise. Each cell
is a document that went between the real edigw and the real product, both
processes of their own on loopback. **ok** means: the content is the same byte for byte, the
file name too, both sides computed the same MIC, whoever asked for a receipt
verified it, and edigw counts the message as delivered with that receipt as
proof. **–**: the product cannot do it. Anything else is what is known of the
product, and is explained below the table. How each product was set up, what it
needs, and which settings answer what it does otherwise:
`

// pages links the page of each peer.
func pages() string {
	var links []string
	for _, p := range peers() {
		links = append(links, fmt.Sprintf("[%s](%s.md)", p.product(), p.name()))
	}
	return strings.Join(links, ",\n") + ".\n"
}

// judge prints the matrix and compares it with the one that is kept.
func (m *matrix) judge(t *testing.T) {
	t.Helper()
	t.Logf("\n%s", m)
	if len(m.columns()) < 2*len(peers()) || strings.Contains(m.String(), "|  |") {
		t.Logf("%s is not compared: not everything was selected", matrixFile)
		return
	}
	text := matrixHead + pages() + "\n" + m.String()
	if strings.Contains(text, cellNotRun) || strings.Contains(text, cellFailed) {
		return // told already
	}
	if *update {
		if err := os.WriteFile(matrixFile, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	kept, err := os.ReadFile(matrixFile)
	if err != nil {
		t.Fatal(err)
	}
	if string(kept) != text {
		t.Errorf("%s says something else; `go test ./interop -update` writes it anew", matrixFile)
	}
}
