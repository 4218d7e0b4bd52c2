package conf

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

type sample struct {
	Name  string    `yaml:"name" required:"yes" doc:"what it is called" example:"a"`
	Wait  Duration  `yaml:"wait" default:"5m" min:"1s" max:"1h" doc:"how long"`
	Limit int       `yaml:"limit" default:"10" zero:"none" min:"1" doc:"how many"`
	Mode  string    `yaml:"mode" enum:"slow fast" default:"slow" doc:"how"`
	On    bool      `yaml:"on" default:"true" doc:"whether"`
	Rate  Rate      `yaml:"rate" unset:"no limit" doc:"how often"`
	File  Path      `yaml:"file" default:"data" doc:"where"`
	Inner inner     `yaml:"inner" doc:"More."`
	Maybe *inner    `yaml:"maybe" unset:"off" doc:"More, or nothing."`
	Items []item    `yaml:"items,single" doc:"Several."`
	Words []string  `yaml:"words" enum:"x y" doc:"some"`
	Raw   Raw       `yaml:"raw" doc:"anything"`
	Day   Moment    `yaml:"day" doc:"when"`
	Any   *optional `yaml:"any" doc:"A choice."`
}

type inner struct {
	A string `yaml:"a" default:"1" doc:"first"`
	B string `yaml:"b" default:"2" doc:"second"`
	C Secret `yaml:"c_file" doc:"secret"`
}

type item struct {
	File Path `yaml:"file,short" required:"yes" doc:"which"`
	Size Size `yaml:"size" default:"1KB" doc:"how large"`
}

type optional struct {
	Word string `word:"none auto"`
	URL  URL    `yaml:"url" required:"yes" doc:"where"`
}

func layer(t *testing.T, origin, text string) Layer {
	t.Helper()
	root, problems := Parse(origin+".yaml", []byte(text))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return Layer{Origin: origin, File: origin + ".yaml", Dir: "/" + origin, Root: root}
}

func decode(t *testing.T, layers ...Layer) (sample, []Problem, []Setting) {
	t.Helper()
	schema, err := Describe(sample{})
	if err != nil {
		t.Fatal(err)
	}
	var out sample
	var report Report
	var settings []Setting
	schema.Decode(&out, layers, &report, Options{Settings: &settings})
	return out, report.Problems, settings
}

func TestBuiltInValues(t *testing.T) {
	t.Parallel()
	got, problems, _ := decode(t, layer(t, "top", "name: a\n"))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	want := sample{Name: "a", Wait: Duration(5 * time.Minute), Limit: 10, Mode: "slow", On: true, File: "/top/data", Inner: inner{A: "1", B: "2"}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(Secret{}, Moment{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestStrongerLayersCountMore(t *testing.T) {
	t.Parallel()
	got, problems, settings := decode(t,
		layer(t, "top", "name: a\ninner: {b: top}\nitems: one.pem\nany: auto\n"),
		layer(t, "middle", "wait: 1m\ninner: {a: middle, b: middle, c_file: s}\nany: {url: http://x.example/}\n"),
		layer(t, "bottom", "wait: 2m\nlimit: none\nitems: [two.pem, {file: three.pem}]\nmaybe: {a: bottom}\n"))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if time.Duration(got.Wait) != time.Minute || got.Limit != 0 || got.Inner.A != "middle" || got.Inner.B != "top" || got.Maybe == nil || got.Maybe.B != "2" {
		t.Errorf("%+v", got)
	}
	if len(got.Items) != 1 || got.Items[0] != (item{"/top/one.pem", 1000}) {
		t.Errorf("a list is not taken whole: %+v", got.Items)
	}
	if got.Inner.C.File() != "/middle/s" || got.Any.Word != "auto" || got.Any.URL != "" {
		t.Errorf("%q %+v", got.Inner.C.File(), got.Any)
	}
	origins := make(map[string]string)
	for _, s := range settings {
		origins[s.Key] = s.Value + " | " + s.Origin
	}
	for key, want := range map[string]string{
		"inner.a": "middle | middle", "inner.b": "top | top", "inner.c_file": "<secret> in s | middle", "limit": "none | bottom",
		"mode": "slow | " + BuiltIn, "rate": "(no limit) | " + BuiltIn, "items": "one.pem | top", "any": "auto | top",
	} {
		if origins[key] != want {
			t.Errorf("%s: got %s, want %s", key, origins[key], want)
		}
	}
}

func TestAllProblemsAtOnce(t *testing.T) {
	t.Parallel()
	_, problems, _ := decode(t, layer(t, "top", `wait: 2h
limit: 0
mode: fats
on: yes
rate: 10
nmae: a
inner:
  d: 1
  a: [1]
items:
  - {size: 1KB}
  - two.pem
words: [x, z]
maybe: 7
any: never
a: 1
day: 31.1.2027
`))
	want := []string{
		"top.yaml:1: name: missing (write name: a, what it is called)",
		"top.yaml:1: wait: 2h is more than 1h",
		"top.yaml:2: limit: 0 is less than 1",
		`top.yaml:3: mode: "fats" is not allowed (did you mean fast?)`,
		"top.yaml:4: on: not true or false (did you mean true?)",
		"top.yaml:5: rate: not a rate such as 10/s, 600/m or 20/h",
		"top.yaml:6: nmae: unknown key (did you mean name?)",
		"top.yaml:8: inner.d: unknown key (did you mean a?)",
		"top.yaml:9: inner.a: must be one value (text)",
		"top.yaml:11: items[0].file: missing (which)",
		`top.yaml:13: words[1]: "z" is not allowed (did you mean x?)`,
		"top.yaml:14: maybe: must be a section with keys: a, b, c_file",
		"top.yaml:15: any: must be a section with keys: url (or write none or auto)",
		"top.yaml:16: a: unknown key (it belongs to inner.a)",
		"top.yaml:17: day: not a date such as 2027-01-31 or 2027-01-31T22:00",
	}
	Sort(problems)
	var got []string
	for _, p := range problems {
		got = append(got, p.String())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestParseRefusesWhatIsStrangeOrTooMuch(t *testing.T) {
	t.Parallel()
	bomb := "a: &a [x, x]\n"
	for i := range 30 {
		bomb += fmt.Sprintf("b%d: &b%d [*a, *a]\n", i, i)
	}
	for _, test := range []struct{ name, text, want string }{
		{"too large", "a: " + strings.Repeat("x", MaxFile), "larger than"},
		{"deep flow", "a: " + strings.Repeat("[", 100000), "brackets inside each other"},
		{"deep flow on many lines", "a: " + strings.Repeat("[\n", 100000), "brackets inside each other"},
		{"deep lists", strings.Repeat("- ", 5000) + "a", "lists inside each other"},
		{"deep questions", strings.Repeat("? ", 5000) + "a", "lists inside each other"},
		{"long line", "a: " + strings.Repeat("x", 20000), "a line longer than"},
		{"aliases", bomb, "not supported"},
		{"zero byte", "a: \x00", "zero byte"},
		{"not UTF-8", "a: \xff", "not UTF-8"},
		{"duplicate keys", "a: 1\nb: 2\na: 3\n", "given twice, first in line 1"},
		{"duplicate nested", "a: {b: 1, b: 2}\n", "given twice"},
		{"second document", "a: 1\n---\nb: 1\n", "several YAML documents"},
		{"syntax", "a: [1\n", "not valid YAML"},
		{"list", "- a\n", "not a list of keys"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, problems := Parse("x.yaml", []byte(test.text))
			if len(problems) == 0 || !strings.Contains(problems[0].Reason, test.want) {
				t.Errorf("got %.300v, want %s", problems, test.want)
			}
			if len(problems) > maxProblems {
				t.Errorf("%d problems", len(problems))
			}
		})
	}
}

func TestParseKeepsTextAsWritten(t *testing.T) {
	t.Parallel()
	root, problems := Parse("x.yaml", []byte("\xef\xbb\xbfa: 0012\r\nb: \"x # y\"\r\nc: |\n  one\n  two\nd: 1e3\ne: TRUE\n7: z\n"))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	var got []string
	for _, e := range root.Entries {
		got = append(got, fmt.Sprintf("%d %s=%q", e.Line, e.Key, e.Value.Text))
	}
	want := []string{`1 a="0012"`, `2 b="x # y"`, `3 c="one\ntwo\n"`, `6 d="1e3"`, `7 e="TRUE"`, `8 7="z"`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLineOf(t *testing.T) {
	t.Parallel()
	root, _ := Parse("x.yaml", []byte("a:\n  b: 1\n  c:\n    - {d: 1}\n    - e: 2\n      f: 3\n"))
	for key, want := range map[string]int{"a": 1, "a.b": 2, "a.missing": 1, "missing": 1, "a.c[1]": 5, "a.c[1].f": 6, "a.c[0].x": 4, "a.c[9].d": 3} {
		if got := root.LineOf(key); got != want {
			t.Errorf("%s: line %d, want %d", key, got, want)
		}
	}
}

func TestReferenceNamesEveryKey(t *testing.T) {
	t.Parallel()
	schema, err := Describe(sample{})
	if err != nil {
		t.Fatal(err)
	}
	page := schema.Reference()
	for _, row := range []string{
		"| `name` | text | required | what it is called |",
		"| `wait` | duration, 1s to 1h | `5m` | how long |",
		"| `limit` | whole number, at least 1, or `none` | `10` | how many |",
		"| `rate` | rate | no limit | how often |",
		"| `items[].size` | size | `1KB` | how large |",
		"| `any` | `none` `auto` | – | in place of the section |",
		"| `words` | list of `x` `y` | – | some |",
	} {
		if !strings.Contains(page, row+"\n") {
			t.Errorf("no row %s in\n%s", row, page)
		}
	}
}

func TestDescribeRefusesBadDescriptions(t *testing.T) {
	t.Parallel()
	for _, v := range []any{
		struct {
			A Duration `yaml:"a" default:"soon"`
		}{},
		struct {
			A chan int `yaml:"a"`
		}{},
		struct {
			A inner `yaml:"a" default:"x"`
		}{},
	} {
		if _, err := Describe(v); err == nil {
			t.Errorf("%T was accepted", v)
		}
	}
}

func TestSecretFileIsReadWithoutOneLineEnd(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"pw": "pw", "pw\n": "pw", "pw\r\n": "pw", "pw\n\n": "pw\n", " pw ": " pw ", "\npw\n": "\npw"} {
		file := filepath.Join(t.TempDir(), "secret")
		writeFile(t, file, text)
		if got, err := SecretFile(file).Read(); err != nil || got != want {
			t.Errorf("%q: got %q, %v", text, got, err)
		}
	}
	for name, text := range map[string]string{"empty": "", "one line end": "\n", "too large": strings.Repeat("x", maxSecret+1)} {
		file := filepath.Join(t.TempDir(), "secret")
		writeFile(t, file, text)
		if _, err := SecretFile(file).Read(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	s := SecretFile("/secrets/x")
	if got := fmt.Sprintf("%v %s %+v %#v", s, s, s, s); got != "<secret> <secret> <secret> <secret>" {
		t.Errorf("printed as %s", got)
	}
}
