package openas2

import (
	"encoding/xml"
	"os"
	"strings"
	"testing"

	"edigw/internal/conf"
)

// FuzzTranslate: whatever stands in partnerships.xml, a partner file is YAML that
// says what was meant, and its path is inside.
func FuzzTranslate(f *testing.F) {
	seed, err := os.ReadFile("testdata/north/config/partnerships.xml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(seed), "Acme")
	f.Add(`<partnerships><partner name="a&#10;b: c" as2_id="A"/><partner name="&quot;" as2_id="B&#10;stage: live"/><partnership name="x"><sender name="a&#10;b: c"/><receiver name="&quot;"/><attribute name="subject" value="}&#10;- x"/><attribute name="sign" value="sha256"/></partnership></partnerships>`, "A")
	f.Fuzz(func(t *testing.T, text, us string) {
		var root node
		if len(text) > 16<<10 || xml.Unmarshal([]byte(text), &root) != nil {
			return
		}
		r := reader{home: "/opt/openas2", properties: map[string]string{"x": "y"}}
		if r.readPartnerships(root, "partnerships.xml") != nil {
			return
		}
		plan, err := Translate(&r.out, Options{Us: us})
		if err != nil {
			return
		}
		for _, file := range plan.Files {
			if strings.Contains(file.Path, "..") || strings.Count(file.Path, "/") != 1 || strings.ContainsAny(file.Path, "\x00\\\n") {
				t.Errorf("a file at %q", file.Path)
			}
			if !strings.HasPrefix(file.Path, "partners/") {
				continue
			}
			tree, problems := conf.Parse(file.Path, file.Content)
			if tree == nil {
				t.Fatalf("%v\n%s", problems, file.Content)
			}
			if stage, _ := tree.Child("stage"); stage == nil || stage.Text != "test" {
				t.Errorf("stage is not test:\n%s", file.Content)
			}
		}
	})
}
