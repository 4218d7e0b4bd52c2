// Package plantest holds plans to what must be true whatever was read.
package plantest

import (
	"strings"

	"edigw/internal/conf"
	"edigw/partner/takeover"
)

// reporter is what Check tells mistakes to: a *testing.T.
type reporter interface {
	Helper()
	Errorf(format string, args ...any)
}

// Check wants paths that lie inside, partner files that are YAML at stage test,
// and a report that is printable.
func Check(t reporter, plan *takeover.Plan) {
	t.Helper()
	seen := map[string]bool{}
	for _, f := range plan.Files {
		if seen[f.Path] || strings.Contains(f.Path, "..") || strings.Count(f.Path, "/") != 1 || strings.ContainsAny(f.Path, "\x00\\\n") {
			t.Errorf("a file at %q", f.Path)
		}
		seen[f.Path] = true
		if !strings.HasPrefix(f.Path, "partners/") {
			continue
		}
		tree, problems := conf.Parse(f.Path, f.Content)
		if tree == nil || len(problems) > 0 {
			t.Errorf("%v\n%s", problems, f.Content)
			continue
		}
		if stage, _ := tree.Child("stage"); stage == nil || stage.Text != "test" {
			t.Errorf("stage is not test:\n%s", f.Content)
		}
	}
	for _, r := range plan.Remarks {
		if takeover.Plain(r.About+r.Text) != r.About+r.Text {
			t.Errorf("not printable: %q", r.About+r.Text)
		}
	}
}
