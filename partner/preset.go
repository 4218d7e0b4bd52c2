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
	Name      string
	Product   string // whose software it is
	About     string // why the settings are as they are, for people
	Tolerated string // what of the product needs no setting
	root      *conf.Node
}

// Presets lists the presets by name.
func Presets() ([]Preset, error) {
	root, problems := conf.Parse("presets.yaml", presetText)
	if len(problems) > 0 {
		return nil, fmt.Errorf("the presets built in: %v", problems[0])
	}
	var out []Preset
	for _, e := range root.Entries {
		p := Preset{Name: e.Key}
		for key, to := range map[string]*string{"product": &p.Product, "about": &p.About, "tolerated": &p.Tolerated} {
			if n, _ := e.Value.Child(key); n != nil {
				*to = n.Text
			}
		}
		p.root, _ = e.Value.Child("settings")
		if p.Product == "" || p.About == "" || p.Tolerated == "" || p.root == nil {
			return nil, fmt.Errorf("the preset %s built in lacks a part", e.Key)
		}
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b Preset) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}
