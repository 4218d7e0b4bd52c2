// Package docs_test holds the documentation to the repository: what a page
// names must exist.
package docs_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = ".."

// pages are all pages for people, relative to root.
func pages(t *testing.T) map[string]string {
	t.Helper()
	list := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md"} {
		names, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			relative, err := filepath.Rel(root, name)
			if err != nil {
				t.Fatal(err)
			}
			list[filepath.ToSlash(relative)] = string(text)
		}
	}
	if len(list) < 10 {
		t.Fatalf("only %d pages found", len(list))
	}
	return list
}

var (
	link    = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	anchor  = regexp.MustCompile(`<a id="([^"]+)"></a>`)
	heading = regexp.MustCompile(`(?m)^#{1,6} +(.+?) *$`)
	fenced  = regexp.MustCompile("(?ms)^```.*?^```$")
	quoted  = regexp.MustCompile("`([^`\n]+)`")
)

func TestEveryRelativeLinkLeadsSomewhere(t *testing.T) {
	t.Parallel()
	all := pages(t)
	for page, text := range all {
		for _, m := range link.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
			target := m[1]
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			name, fragment, _ := strings.Cut(target, "#")
			file := page
			if name != "" {
				file = filepath.ToSlash(filepath.Join(filepath.Dir(page), name))
			}
			if _, err := os.Stat(filepath.Join(root, file)); err != nil {
				t.Errorf("%s links to %s, which is not there", page, target)
				continue
			}
			if fragment != "" && !anchors(all[file])[fragment] {
				t.Errorf("%s links to %s, which has no such part", page, target)
			}
		}
	}
}

// anchors are the parts of a page that a link can name.
func anchors(text string) map[string]bool {
	found := map[string]bool{}
	for _, m := range anchor.FindAllStringSubmatch(text, -1) {
		found[m[1]] = true
	}
	for _, m := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		title := anchor.ReplaceAllString(m[1], "")
		slug := strings.Map(func(r rune) rune {
			switch {
			case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-', r == '_':
				return r
			case r == ' ':
				return '-'
			}
			return -1
		}, strings.ToLower(title))
		found[slug] = true
	}
	return found
}

// repositoryPath is a path that a page means to be in the repository: it begins
// with a folder of the repository's top.
func repositoryPath(s string, top map[string]bool) (string, bool) {
	path := strings.TrimPrefix(s, "./")
	first, rest, cut := strings.Cut(path, "/")
	if !cut || !top[first] || strings.ContainsAny(rest, " <>{}$|\\=:,;…") {
		return "", false
	}
	return strings.TrimSuffix(path, "/"), true
}

func TestEveryPathIsInTheRepository(t *testing.T) {
	t.Parallel()
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	// Folders of an installation have names of their own; none is one of these.
	top := map[string]bool{}
	for _, e := range entries {
		if e.IsDir() && e.Name() != "bin" && e.Name() != ".git" {
			top[e.Name()] = true
		}
	}
	delete(top, "inbox") // also an installation's folder
	seen := 0
	for page, text := range pages(t) {
		for _, m := range quoted.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
			path, ok := repositoryPath(m[1], top)
			if !ok || function.MatchString(m[1]) && !strings.HasSuffix(m[1], ".go") {
				continue
			}
			seen++
			if found, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(path))); err != nil || len(found) == 0 {
				t.Errorf("%s names %s, which is not there", page, m[1])
			}
		}
	}
	if seen < 20 {
		t.Errorf("only %d paths were found: is the pattern still right?", seen)
	}
}

// function is the notation of flow.md: package.function or package.Type.method.
var function = regexp.MustCompile(`^([a-z0-9]+(?:/[a-z0-9]+)*)\.([A-Za-z]\w*)(?:\.([A-Za-z]\w*))?$`)

func TestEveryFunctionOfTheFlowExists(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("flow.md")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]map[string]bool{}
	seen := 0
	// `as2.receive` and the like are settings, named so on purpose.
	settings := map[string]bool{"as2.receive": true, "as4.fetch": true}
	for _, m := range quoted.FindAllStringSubmatch(string(text), -1) {
		f := function.FindStringSubmatch(m[1])
		if f == nil || strings.HasSuffix(m[1], ".md") || settings[m[1]] {
			continue
		}
		seen++
		if known[f[1]] == nil {
			known[f[1]] = functions(t, f[1])
		}
		name := f[2]
		if f[3] != "" {
			name += "." + f[3]
		}
		if !known[f[1]][name] {
			t.Errorf("flow.md names %s, which is not there", m[1])
		}
	}
	if seen < 40 {
		t.Errorf("only %d functions were found: is the pattern still right?", seen)
	}
}

// functions are the functions and methods that a package declares, methods as
// Type.method.
func functions(t *testing.T, dir string) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	names, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(dir), "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				found[receiver(f)+f.Name.Name] = true
			}
		}
	}
	return found
}

func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List) == 0 {
		return ""
	}
	of := f.Recv.List[0].Type
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	if name, ok := of.(*ast.Ident); ok {
		return name.Name + "."
	}
	return ""
}

func TestReadmeIsShort(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(text, []byte("\n")); n > 120 {
		t.Errorf("README.md has %d lines, at most 120 are read", n)
	}
}

func TestEveryPageIsInTheIndex(t *testing.T) {
	t.Parallel()
	index, err := os.ReadFile("index.md")
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".md") && path != "index.md" && !bytes.Contains(index, []byte("("+filepath.ToSlash(path)+")")) {
			t.Errorf("index.md does not link to %s", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// metric is a name of a metric as a page writes it.
var metric = regexp.MustCompile(`edigw_[a-z_]+`)

func TestEveryMetricIsMeasured(t *testing.T) {
	t.Parallel()
	var code bytes.Buffer
	for _, pattern := range []string{"lane/*.go", "lane/*/*.go", "dlq/*.go", "alerts/*.go", "intake/*.go", "inbox/*.go", "cmd/edigw/*.go"} {
		names, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			code.Write(text)
		}
	}
	text, err := os.ReadFile("operations.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range metric.FindAllString(string(text), -1) {
		short := strings.TrimPrefix(name, "edigw_")
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			short = strings.TrimSuffix(short, suffix)
		}
		if !bytes.Contains(code.Bytes(), []byte(`"`+short+`"`)) && !bytes.Contains(code.Bytes(), []byte(`"edigw_`+short+`"`)) {
			t.Errorf("operations.md names %s, which nothing measures", name)
		}
	}
}
