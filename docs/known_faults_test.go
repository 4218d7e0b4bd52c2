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

// TestEveryKnownFaultHasItsTest: each row names tests that are there and carry
// its number, or says why it can be no input; and each number that a test
// carries is a row that names the test.
func TestEveryKnownFaultHasItsTest(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("known-faults.md")
	if err != nil {
		t.Fatal(err)
	}
	known := tests(t)
	named := map[string][]string{} // by row
	last := 0
	for _, m := range faultRow.FindAllStringSubmatch(string(page), -1) {
		n, err := strconv.Atoi(m[1])
		if err != nil || n <= last {
			t.Errorf("row %s follows row %d", m[1], last)
		}
		last = n
		named[m[1]] = nil
		if strings.HasPrefix(m[4], "no input: ") {
			continue
		}
		for _, q := range quoted.FindAllStringSubmatch(m[4], -1) {
			folder, rest, _ := strings.Cut(q[1], " ")
			test, sub, _ := strings.Cut(rest, "/")
			name := folder + " " + test
			named[m[1]] = append(named[m[1]], q[1])
			switch {
			case known[name] == nil:
				t.Errorf("row %s names %s, which is not there", m[1], name)
			case sub != "" && !known[name][sub]:
				t.Errorf("row %s: %s has no subtest %q", m[1], name, sub)
			case !slices.Contains(numbers(name, sub), m[1]):
				t.Errorf("row %s names %s, which does not carry its number", m[1], q[1])
			}
		}
		if len(named[m[1]]) == 0 {
			t.Errorf("row %s names no test", m[1])
		}
	}
	if len(named) < 60 {
		t.Errorf("%d rows were found: is the pattern still right?", len(named))
	}
	for name, inner := range known {
		if strings.HasPrefix(name, "docs ") {
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
