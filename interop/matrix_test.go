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

// named is a column of a matrix: a product.
type named interface {
	// name is short and lower-case: it begins the ids of partners and names
	// the product's page in docs/interop.
	name() string
	// product names product and release as the matrix shows them.
	product() string
}

// row is a profile as a matrix shows it: its name, and what is special.
type row struct{ name, what string }

// table is what a matrix is about.
type table struct {
	file  string // in docs/interop
	head  string // stands above the matrix
	rows  []row
	peers []named
}

// path is where the matrix is kept.
func (t table) path() string { return filepath.Join("..", "docs", "interop", t.file) }

// What a cell may say besides the label of a deviation.
const (
	cellGood    = "ok"
	cellMissing = "–"
	cellFailed  = "FAILED"
	cellNotRun  = "not run"
)

// matrix gathers the results of all cells.
type matrix struct {
	table
	mu    sync.Mutex
	cells map[string]map[string]string // column, profile
	notes []note

	scenarios []scenario
	partly    bool // not every scenario was selected
}

// note explains cells that are not plainly good.
type note struct{ column, profile, label, why string }

// scenario is an exchange that is no row of the matrix: something goes wrong.
type scenario struct{ peer, name, what, result string }

// scenario runs one and notes how it came out. One that was not selected is not
// noted, one that needs a program that is not there is not run.
func (m *matrix) scenario(t *testing.T, p named, name, what string, run func(*testing.T)) {
	result := ""
	t.Run(name, func(t *testing.T) {
		defer func() {
			switch {
			case t.Failed():
				result = cellFailed
			case t.Skipped():
				result = cellNotRun
			default:
				result = cellGood
			}
		}()
		run(t)
	})
	m.mu.Lock()
	defer m.mu.Unlock()
	if result == "" {
		m.partly = true
		return
	}
	m.scenarios = append(m.scenarios, scenario{p.product(), name, what, result})
}

func newMatrix(t table) *matrix { return &matrix{table: t, cells: map[string]map[string]string{}} }

// column is the heading of a peer and a direction.
func column(p named, d direction) string {
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
func (m *matrix) note(t *testing.T, p named, d direction, profile string, r result) {
	t.Helper()
	where := column(p, d)
	known, deviates := deviationOf(p, d, profile)
	switch {
	case deviates && r.String() == known.result:
		m.set(where, profile, known.label)
		m.explain(where, profile, known.label, known.why)
	case deviates:
		m.set(where, profile, cellFailed)
		t.Errorf("%s, not what is known of this peer: %s", r, known.result)
	case len(r) > 0:
		m.set(where, profile, cellFailed)
		t.Error(r)
	default:
		m.set(where, profile, cellGood)
	}
}

// lacks notes that a peer has no such thing.
func (m *matrix) lacks(p named, d direction, profile, why string) {
	m.set(column(p, d), profile, cellMissing)
	m.explain(column(p, d), profile, cellMissing, why)
}

// notRun notes that a peer could not be installed.
func (m *matrix) notRun(p named) {
	for _, r := range m.rows {
		m.set(column(p, toPeer), r.name, cellNotRun)
		m.set(column(p, fromPeer), r.name, cellNotRun)
	}
}

// columns are those of peers that the run reached.
func (m *matrix) columns() (all []string) {
	for _, p := range m.peers {
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
	for _, r := range m.rows {
		fmt.Fprintf(&b, "| %s | %s |", r.name, r.what)
		for _, c := range columns {
			fmt.Fprintf(&b, " %s |", m.cells[c][r.name])
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

// listed are some rows; of most it names the others.
func (m *matrix) listed(some []string) string {
	if len(some) < 2*len(m.rows)/3 {
		return strings.Join(some, ", ")
	}
	var others []string
	for _, r := range m.rows {
		if !slices.Contains(some, r.name) {
			others = append(others, r.name)
		}
	}
	return "all but " + strings.Join(others, ", ")
}

// footnotes explains the cells, those of one reason together.
func (m *matrix) footnotes() string {
	var order []note
	where := map[note][]string{}
	for _, r := range m.rows {
		for _, n := range m.notes {
			if n.profile != r.name {
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
		fmt.Fprintf(&b, "\n- %s, %s: **%s**. %s", n.column, m.listed(where[n]), n.label, n.why)
	}
	if b.Len() > 0 {
		return "\n" + strings.TrimPrefix(b.String(), "\n") + "\n"
	}
	return ""
}

// pages links the page of each peer.
func (m *matrix) pages() string {
	var links []string
	for _, p := range m.peers {
		links = append(links, fmt.Sprintf("[%s](%s.md)", p.product(), p.name()))
	}
	return strings.Join(links, ",\n") + ".\n"
}

// judge prints the matrix and compares it with the one that is kept.
func (m *matrix) judge(t *testing.T) {
	t.Helper()
	t.Logf("\n%s", m)
	if m.partly || len(m.columns()) < 2*len(m.peers) || strings.Contains(m.String(), "|  |") {
		t.Logf("%s is not compared: not everything was selected", m.path())
		return
	}
	text := m.head + m.pages() + "\n" + m.String()
	if strings.Contains(text, cellNotRun) || strings.Contains(text, cellFailed) {
		return // told already
	}
	if *update {
		if err := os.WriteFile(m.path(), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	kept, err := os.ReadFile(m.path())
	if err != nil {
		t.Fatal(err)
	}
	if string(kept) != text {
		t.Errorf("%s says something else; `go test ./interop -update` writes it anew", m.path())
	}
}
