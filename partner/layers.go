package partner

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"edigw/internal/conf"
)

// Origins of an effective setting.
const (
	OriginPartner  = "partner"
	OriginProfile  = "profile"
	OriginPreset   = "preset"
	OriginDefaults = "defaults"
	OriginGateway  = "edigw.yaml"
	OriginBuiltIn  = conf.BuiltIn
)

// layers are what lies below the partner files of one load: presets, the
// defaults of edigw.yaml, and the parts of it that hold for partners whose
// file says nothing.
type layers struct {
	schema   *conf.Schema
	dir      string // of the partner files
	presets  []Preset
	gateway  *Gateway
	defaults conf.Layer
	rest     conf.Layer
	digest   string // of everything here that steers partners
}

// newLayers takes the settings that edigw.yaml, of which root is the tree, has
// for partners.
func newLayers(schema *conf.Schema, presets []Preset, g *Gateway, root *conf.Node, file, dir string) *layers {
	rest := &conf.Node{Kind: conf.Section, Line: 1}
	limits, _ := root.Child("limits")
	if n, line := limits.Child("backlog"); n != nil {
		rest.Entries = append(rest.Entries, conf.Entry{Key: "backlog", Line: line, Value: n})
	}
	if n, line := root.Child("retention"); n != nil {
		rest.Entries = append(rest.Entries, conf.Entry{Key: "retention", Line: line, Value: n})
	}
	h := sha256.New()
	for _, n := range []*conf.Node{g.Defaults.Node, rest} {
		n.Hash(h)
	}
	fmt.Fprintf(h, "%q %q %+v", g.Identity.AS2, g.PartnerURL(), g.Proxy)
	if g.Identity.AS4 != nil {
		fmt.Fprintf(h, " %+v", *g.Identity.AS4)
	}
	return &layers{
		digest: hex.EncodeToString(h.Sum(nil)),
		schema: schema, dir: string(g.Partners), presets: presets, gateway: g,
		defaults: conf.Layer{Origin: OriginDefaults, File: file, Dir: dir, Root: g.Defaults.Node, Silent: true},
		rest:     conf.Layer{Origin: OriginGateway, File: file, Dir: dir, Root: rest, Silent: true},
	}
}

// preset is the preset of that name, or nil.
func (l *layers) preset(name string) *Preset {
	for i := range l.presets {
		if l.presets[i].Name == name {
			return &l.presets[i]
		}
	}
	return nil
}

func (l *layers) presetNames() []string {
	var names []string
	for _, p := range l.presets {
		names = append(names, p.Name)
	}
	return names
}

// stack is the partner file root on top of what lies below it, the strongest
// first. What is said for the other protocol counts for nothing: the defaults of
// edigw.yaml may hold for both.
func (l *layers) stack(file string, root *conf.Node) []conf.Layer {
	out := []conf.Layer{{Origin: OriginPartner, File: file, Dir: l.dir, Root: root}}
	if n, _ := root.Child("preset"); n != nil {
		if p := l.preset(n.Text); p != nil {
			out = append(out, conf.Layer{Origin: OriginPreset, File: "preset " + p.Name, Root: p.root, Silent: true})
		}
	}
	out = append(out, l.defaults, l.rest)
	other := protocolAS4
	switch first(out, "protocol") {
	case protocolAS4:
		other = protocolAS2
		if p := profile(first(out, "as4.profile")); p != nil && len(p.root.Entries) > 0 {
			out = slices.Insert(out, 1, conf.Layer{Origin: OriginProfile, File: "profile " + p.Name, Root: p.root, Silent: true})
		}
	case protocolAS2:
	default:
		return out
	}
	for i := range out {
		out[i].Root = without(out[i].Root, other)
	}
	return out
}

// first is the text of a key in the strongest layer that has it.
func first(layers []conf.Layer, key string) string {
	for _, l := range layers {
		if n := nodeAt(l.Root, key); n != nil {
			return n.Text
		}
	}
	return ""
}

// nodeAt is the value of a dotted key; nil if there is none.
func nodeAt(n *conf.Node, key string) *conf.Node {
	for step := range strings.SplitSeq(key, ".") {
		n, _ = n.Child(step)
	}
	return n
}

// without is a section without one of its keys.
func without(n *conf.Node, key string) *conf.Node {
	if found, _ := n.Child(key); found == nil {
		return n
	}
	out := *n
	out.Entries = slices.DeleteFunc(slices.Clone(n.Entries), func(e conf.Entry) bool { return e.Key == key })
	return &out
}
