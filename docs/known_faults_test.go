package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var (
	faultRow     = regexp.MustCompile(`(?m)^\| (\d+) \| (.+?) \| (.+?) \| (.+) \|$`)
	numberOfTest = regexp.MustCompile(`Row(\d+)`)
	numberOfSub  = regexp.MustCompile(`^row (\d+): `)
)

// tests are the test functions below a folder of the tree, each with the string
// literals in it, as "folder TestName".
func tests(t *testing.T) map[string]map[string]bool {
	t.Helper()
	found := map[string]map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		folder, err := filepath.Rel(root, filepath.Dir(path))
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
				found[filepath.ToSlash(folder)+" "+f.Name.Name] = literals(f)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func literals(f *ast.FuncDecl) map[string]bool {
	found := map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
			if text, err := strconv.Unquote(l.Value); err == nil {
				found[text] = true
			}
		}
		return true
	})
	return found
}

// numbers are the rows that a test or its subtest names.
func numbers(name, sub string) (list []string) {
	for _, m := range numberOfTest.FindAllStringSubmatch(name, -1) {
		list = append(list, m[1])
	}
	if m := numberOfSub.FindStringSubmatch(sub); m != nil {
		list = append(list, m[1])
	}
	return list
}

// collection says whose numbers a test carries: each protocol has its own.
func collection(test string) string {
	folder, name, _ := strings.Cut(test, " ")
	if folder == "as4" || strings.HasPrefix(folder, "as4/") || strings.Contains(name, "AS4") {
		return "AS4"
	}
	return "AS2"
}

// TestEveryKnownFaultHasItsTest: each row names tests that are there and carry
// its number, or says why it can be no input; and each number that a test
// carries is a row that names the test.
func TestEveryKnownFaultHasItsTest(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("known-faults.md")
	if err != nil {
		t.Fatal(err)
	}
	as2, as4, ok := strings.Cut(string(page), "\n## AS4\n")
	if !ok {
		t.Fatal("the page has no part about AS4")
	}
	known := tests(t)
	checkFaults(t, "AS2", as2, known, 60)
	checkFaults(t, "AS4", as4, known, 30)
}

// checkFaults holds the table of one protocol, which has so many rows at least,
// against the tests.
func checkFaults(t *testing.T, protocol, table string, known map[string]map[string]bool, least int) {
	t.Helper()
	named := map[string][]string{} // by row
	last := 0
	for _, m := range faultRow.FindAllStringSubmatch(table, -1) {
		n, err := strconv.Atoi(m[1])
		if err != nil || n <= last {
			t.Errorf("%s: row %s follows row %d", protocol, m[1], last)
		}
		last = n
		named[m[1]] = nil
		if !strings.HasPrefix(m[4], "no input: ") {
			named[m[1]] = testsOfRow(t, protocol+": row "+m[1], m, known)
		}
	}
	if len(named) < least {
		t.Errorf("%s: %d rows were found: is the pattern still right?", protocol, len(named))
	}
	for name, inner := range known {
		if strings.HasPrefix(name, "docs ") || collection(name) != protocol {
			continue
		}
		for _, n := range numbers(name, "") {
			if !slices.Contains(named[n], name) {
				t.Errorf("%s carries a number whose row does not name it", name)
			}
		}
		for text := range inner {
			for _, n := range numbers("", text) {
				if !slices.Contains(named[n], name+"/"+text) {
					t.Errorf("%s/%s carries a number whose row does not name it", name, text)
				}
			}
		}
	}
}

// testsOfRow are the tests that a row names, which must be there.
func testsOfRow(t *testing.T, row string, m []string, known map[string]map[string]bool) (named []string) {
	t.Helper()
	for _, q := range quoted.FindAllStringSubmatch(m[4], -1) {
		folder, rest, _ := strings.Cut(q[1], " ")
		test, sub, _ := strings.Cut(rest, "/")
		name := folder + " " + test
		named = append(named, q[1])
		switch {
		case known[name] == nil:
			t.Errorf("%s names %s, which is not there", row, name)
		case sub != "" && !known[name][sub]:
			t.Errorf("%s: %s has no subtest %q", row, name, sub)
		case !slices.Contains(numbers(name, sub), m[1]):
			t.Errorf("%s names %s, which does not carry its number", row, q[1])
		}
	}
	if len(named) == 0 {
		t.Errorf("%s names no test", row)
	}
	return named
}
