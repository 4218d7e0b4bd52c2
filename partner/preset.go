package partner

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"

	"edigw/internal/conf"
)

//go:embed presets.yaml
var presetText []byte

// Preset is what the software of a trading partner needs.
type Preset struct {
	Name  string
	About string // one paragraph for people
	root  *conf.Node
}

// Presets lists the presets by name.
func Presets() ([]Preset, error) {
	root, problems := conf.Parse("presets.yaml", presetText)
	if len(problems) > 0 {
		return nil, fmt.Errorf("the presets built in: %v", problems[0])
	}
	var out []Preset
	for _, e := range root.Entries {
		about, _ := e.Value.Child("about")
		settings, _ := e.Value.Child("settings")
		if about == nil || settings == nil {
			return nil, fmt.Errorf("the preset %s built in lacks a part", e.Key)
		}
		out = append(out, Preset{e.Key, about.Text, settings})
	}
	slices.SortFunc(out, func(a, b Preset) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}
