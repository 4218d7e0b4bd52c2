package partner

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"edigw/internal/conf"
	"edigw/internal/testpage"
)

// The reference pages are the descriptions of the settings with an
// introduction; they are written by `go test ./partner -update`.

const partnerIntro = `# The partner file

One trading partner each: ` + "`partners/<id>.yaml`" + `. The name of the file is the id: lower-case letters, digits and dashes, at most 63. ` + "`edigw check`" + ` shows every mistake with its line; a file takes effect at the next reload. The smallest one:

%s
## How it is read

- **Layers**: a key of the partner file counts more than its AS4 profile, that more than its preset, that more than ` + "`defaults`" + ` in edigw.yaml, that more than what is built in. Sections are merged key by key, lists are taken whole. ` + "`edigw partner show ID --effective`" + ` lists every value with its origin.
- **Paths** begin at the folder of the file that names them.
- **Secrets** stand in files of their own, mode 0600, and are read at each use; one line end at the end is ignored.
- **Dates** without a zone are in the partner's zone. A ` + "`from`" + ` that is a date begins at its midnight; an ` + "`until`" + ` or ` + "`to`" + ` that is a date lasts to its end.
- **Values**: a duration is ` + "`90s`, `5m`, `4h`, `14d` or `1h30m`" + `; a size ` + "`64KB`, `500MB`, `2GB`" + ` (powers of 1,000) or ` + "`64KiB`" + ` (of 1,024); a rate ` + "`10/s`, `600/m`, `20/h`" + `; a share ` + "`20%%`" + `; a date ` + "`2027-01-31` or `2027-01-31T22:00`" + `; a cron is ` + "`0 7 * * 1-5`" + ` (minute, hour, day, month, weekday).
- Not supported, so that a file means what it seems to: anchors, aliases, tags, merge keys, several documents in a file, keys given twice, files over 1 MiB.
- **Several certificates for one use**: we sign and encrypt with the newest that has begun, and verify and decrypt with all that are valid; a receipt may verify with those valid when the message was sent, too.
- **Windows and blackouts** begin by the clock on the partner's wall and last their length in real time. A begin that the clocks skip in spring comes as much later as they were put forward; one that they repeat in autumn comes once. Each partner starts up to 60 s (at most a tenth of the span) after a begin of a window or the end of a blackout, always the same for one partner.

## Keys

`

const gatewayIntro = `# edigw.yaml

The gateway itself. Notation, paths, secrets and dates (here UTC) are as in [partner-file.md](partner-file.md). A change takes effect at the next reload; ` + "`node`, `data`, `store` and `listen`" + ` need a restart, and the reload says so (but for the TLS certificate of the listener). A file with mistakes stops the start; on reload the old settings stay whole, and partner files are reloaded all the same.

## Keys

`

const presetIntro = `# Presets

` + "`preset: NAME`" + ` in a [partner file](partner-file.md) fills in what the partner's software needs. Each is a handful of named settings: a key that the partner file says itself counts more, and ` + "`edigw partner show ID --effective`" + ` lists every value with its origin. An update of edigw may change a preset; ` + "`edigw check`" + ` shows what holds then, and a mistake about a value that is not from the partner file names the preset that it is from.

What a product does differently on receipt is taken from everybody, without a setting: the last column. How digests are counted is in [mic.md](mic.md), what the settings do on the wire in [as2-profiles.md](as2-profiles.md).

Where no preset fits, begin without one: the built-in values are what the standards recommend and all products of the table read.

| preset | product | sets | why | tolerated from everybody |
|---|---|---|---|---|
`

const profileIntro = `# Profiles of AS4

` + "`as4.profile: NAME`" + ` in a [partner file](partner-file.md) fills in what a community has settled for AS4; what each key does is in [as4-pmode.md](as4-pmode.md). A key that the partner file says itself counts more, and ` + "`edigw partner show ID --effective`" + ` lists every value with its origin. Where both sides agreed on something that the profile does not allow, ` + "`edigw check`" + ` warns, names the section, and the partner works all the same; ` + "`plain`" + ` warns of nothing.

Where a profile leaves a choice, the value is ` + "`by-key`" + `: we sign with the first of its algorithms that a key in edigw.yaml fits and that is in force, and encrypt as the partner's certificate wants.

`

func TestReferencePagesFitTheSettings(t *testing.T) {
	t.Parallel()
	testpage.File(t, filepath.Join("..", "docs", "partner-file.md"), partnerPage(t), *update)
	testpage.File(t, filepath.Join("..", "docs", "presets.md"), presetPage(t), *update)
	testpage.File(t, filepath.Join("..", "docs", "as4-profiles.md"), profilePage(t), *update)
	testpage.File(t, filepath.Join("..", "docs", "gateway-file.md"), gatewayIntro+reference(t, Gateway{}), *update)
}

func partnerPage(t *testing.T) string {
	t.Helper()
	smallest := read(t, samples, "good", "minimal.yaml")
	byAS4 := strings.ReplaceAll(read(t, samples, "as4", "good", "minimal.yaml"), "../../", "../")
	var b strings.Builder
	fmt.Fprintf(&b, partnerIntro, "```yaml\n"+smallest+"```\n\nand one that speaks AS4, where `identity.as4` of edigw.yaml says who we are:\n\n```yaml\n"+byAS4+"```\n")
	b.WriteString(reference(t, file{}))
	b.WriteString("\n## Presets\n\n`preset` fills in what the partner's software needs for AS2: [the table](presets.md).\n")
	b.WriteString("\n## Profiles\n\n`as4.profile` fills in what a community has settled for AS4: [the table](as4-profiles.md).\n")
	return b.String()
}

// presetPage is the table of presets.yaml.
func presetPage(t *testing.T) string {
	t.Helper()
	presets, err := Presets()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString(presetIntro)
	for _, p := range presets {
		var sets []string
		for _, s := range leaves("", p.root) {
			sets = append(sets, "`"+s+"`")
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", p.Name, p.Product, strings.Join(sets, "<br>"), p.About, p.Tolerated)
	}
	return b.String()
}

// profilePage is profiles.yaml for people.
func profilePage(t *testing.T) string {
	t.Helper()
	all, err := Profiles()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString(profileIntro)
	for _, p := range all {
		fmt.Fprintf(&b, "## %s\n\n%s. %s\n\n", p.Name, p.Title, p.About)
		fmt.Fprintf(&b, "`by-key` signs with the first of %s and encrypts by %s.\n", quotedList(p.signs), quotedList(p.transports))
		if sets := leaves("", p.root); len(sets) > 0 {
			b.WriteString("\n| sets |\n|---|\n")
			for _, s := range sets {
				fmt.Fprintf(&b, "| `%s` |\n", s)
			}
		}
		if len(p.musts) > 0 {
			b.WriteString("\n| must be | | by |\n|---|---|---|\n")
			for _, m := range p.musts {
				fmt.Fprintf(&b, "| `%s` | %s | %s |\n", m.key, m.words(), m.section)
			}
		}
		b.WriteString("\n")
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// words are what a rule allows.
func (m must) words() string {
	switch {
	case m.given:
		return "there"
	case m.absent:
		return "absent"
	}
	return quotedList(m.is)
}

func quotedList(list []string) string { return "`" + strings.Join(list, "`, `") + "`" }

// leaves are the settings below a node, as key: value.
func leaves(path string, n *conf.Node) []string {
	if n.Kind != conf.Section {
		return []string{path + ": " + n.Text}
	}
	var out []string
	for _, e := range n.Entries {
		out = append(out, leaves(strings.TrimPrefix(path+"."+e.Key, "."), e.Value)...)
	}
	return out
}

func reference(t *testing.T, v any) string {
	t.Helper()
	schema, err := conf.Describe(v)
	if err != nil {
		t.Fatal(err)
	}
	return schema.Reference()
}

func TestPresetsHoldKnownKeysOnly(t *testing.T) {
	t.Parallel()
	presets, err := Presets()
	if err != nil {
		t.Fatal(err)
	}
	schema, err := conf.Describe(file{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range presets {
		var report conf.Report
		schema.Decode(new(file), []conf.Layer{{Origin: OriginPreset, File: p.Name, Root: p.root}}, &report, conf.Options{Partial: true})
		if len(report.Problems) > 0 {
			t.Error(lines(report.Problems))
		}
	}
}
