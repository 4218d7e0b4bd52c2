package partner

import (
	"path/filepath"
	"testing"

	"edigw/as4/ebms"

	"github.com/google/go-cmp/cmp"
)

// ownProperties is an AS4 partner who leaves properties to each document; more are
// lines of defaults in edigw.yaml.
func ownProperties(t *testing.T, lines, defaults string) *Snapshot {
	t.Helper()
	dir := installationAS4(t)
	edit(t, filepath.Join(dir, "good", "minimal.yaml"), "as4:\n", "as4:\n"+lines)
	if defaults != "" {
		edit(t, filepath.Join(dir, "edigw.yaml"), "alerts:", "defaults: {as4: {"+defaults+"}}\nalerts:")
	}
	return mustLoad(t, dir)
}

// TestPropertiesThatEachDocumentBrings: those of the document take the place of
// the file's and have its types; what must be there and is not is named.
func TestPropertiesThatEachDocumentBrings(t *testing.T) {
	t.Parallel()
	type list = []ebms.Property
	s := ownProperties(t, `  properties: {region: west, sender: {value: acme, type: "urn:ids"}, receiver: {type: "urn:ids", required: true}, tracking: {required: false}}
  part_properties: {kind: {required: true}}
  file_name_property: FileName
`, "part_properties: {kind: {type: \"urn:kinds\"}, number: {required: true}}")
	p, _ := s.Partner("minimal")
	m := mustPMode(t, s, "minimal", today)
	if diff := cmp.Diff(list{{Name: "region", Value: "west"}, {Name: "sender", Type: "urn:ids", Value: "acme"}}, m.Properties); diff != "" || m.PartProperties != nil {
		t.Errorf("the file's own (-want +got):\n%s%v", diff, m.PartProperties)
	}
	for name, c := range map[string]struct {
		message, part list
		key, missing  string
		want, parts   list
	}{
		"none": {nil, nil, "as4.properties", "receiver", m.Properties, nil},
		"part properties are missing": {list{{Name: "receiver", Value: "north"}}, list{{Name: "number", Value: "7"}}, "as4.part_properties", "kind",
			list{m.Properties[0], m.Properties[1], {Name: "receiver", Type: "urn:ids", Value: "north"}}, list{{Name: "number", Value: "7"}}},
		"that of defaults is missing": {list{{Name: "receiver", Value: "north"}}, list{{Name: "kind", Value: "order"}}, "as4.part_properties", "number",
			list{m.Properties[0], m.Properties[1], {Name: "receiver", Type: "urn:ids", Value: "north"}}, list{{Name: "kind", Type: "urn:kinds", Value: "order"}}},
		"the document's own counts more, and keeps the type": {list{{Name: "sender", Value: "other"}, {Name: "receiver", Value: "north"}, {Name: "more", Value: "x"}}, list{{Name: "kind", Value: "order"}, {Name: "number", Value: "7"}}, "", "",
			list{m.Properties[0], {Name: "sender", Type: "urn:ids", Value: "other"}, {Name: "receiver", Type: "urn:ids", Value: "north"}, {Name: "more", Value: "x"}},
			list{{Name: "kind", Type: "urn:kinds", Value: "order"}, {Name: "number", Value: "7"}}},
	} {
		if key, missing := p.AS4.Missing(c.message, c.part); key != c.key || missing != c.missing {
			t.Errorf("%s: missing %s %s, want %s %s", name, key, missing, c.key, c.missing)
		}
		got := p.AS4.With(m, c.message, c.part)
		if diff := cmp.Diff([]list{c.want, c.parts}, []list{got.Properties, got.PartProperties}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if len(m.Properties) != 2 || m.Properties[1].Value != "acme" {
		t.Errorf("the P-Mode was changed: %v", m.Properties)
	}
	for name, want := range map[string]bool{"MimeType": true, "CharacterSet": true, "CompressionType": true, "FileName": true, "kind": false, "": false} {
		if p.AS4.ReservedPart(name) != want {
			t.Errorf("%q reserved: %v", name, !want)
		}
	}
}

// TestALayerSaysThatAPropertyIsRequired: the partner file has the last word.
func TestALayerSaysThatAPropertyIsRequired(t *testing.T) {
	t.Parallel()
	const demanded = "properties: {tracking: {required: true, type: \"urn:t\"}}"
	for name, c := range map[string]struct {
		lines   string
		want    []OwnProperty
		setting string // of required
		origin  string
	}{
		"edigw.yaml alone":           {"", []OwnProperty{{"tracking", "urn:t", true}}, "true", OriginDefaults},
		"the partner file gives it":  {"  properties: {tracking: T}\n", nil, "true", OriginPartner},
		"the partner file needs not": {"  properties: {tracking: {required: false}}\n", []OwnProperty{{"tracking", "urn:t", false}}, "false", OriginPartner},
		"another type":               {"  properties: {tracking: {type: \"urn:u\"}}\n", []OwnProperty{{"tracking", "urn:u", true}}, "true", OriginPartner},
	} {
		s := ownProperties(t, c.lines, demanded)
		p, _ := s.Partner("minimal")
		if diff := cmp.Diff(c.want, p.AS4.Own); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		found := false
		for _, set := range s.Effective("minimal") {
			if set.Key == "as4.properties.tracking.required" {
				found = set.Value == c.setting && set.Origin == c.origin
			}
		}
		if !found {
			t.Errorf("%s: the effective settings do not say required: %s of %s", name, c.setting, c.origin)
		}
	}
}
