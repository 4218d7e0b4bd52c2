package partner

import (
	"slices"
	"strings"
	"time"

	"edigw/breaker"
	"edigw/internal/conf"
)

// Setting is one effective value and where it comes from.
type Setting = conf.Setting

// Effective lists what holds for a partner, key by key in the order of the
// reference page, with the origin of each value: OriginPartner, OriginProfile,
// OriginPreset, OriginDefaults, OriginGateway or OriginBuiltIn. Secrets are masked. A stale
// partner's settings are those in force, not those of the file on disk. It is
// empty for an unknown id.
func (s *Snapshot) Effective(id string) []Setting {
	p, ok := s.partners[id]
	if !ok {
		return nil
	}
	return p.effective(s.file(id))
}

func (p *Partner) effective(path string) []Setting {
	root, _ := conf.Parse(path, []byte(p.source))
	if root == nil {
		root = &conf.Node{Kind: conf.Section, Line: 1}
	}
	var out []Setting
	d := &draft{loader: &loader{gateway: p.below.gateway, below: p.below}, id: p.ID, path: path, root: root, layers: p.below.stack(path, root)}
	p.below.schema.Decode(&d.file, d.layers, &d.report, conf.Options{Settings: &out})
	d.settle()
	return d.settled(out)
}

// settled are the decoded settings with the values of settle.
func (d *draft) settled(out []Setting) []Setting {
	derived := d.derived()
	for i, set := range out {
		switch v := derived[set.Key]; {
		case v == "":
		case set.Origin == OriginBuiltIn:
			out[i].Value = v
			if strings.HasPrefix(set.Key, "retention.") || set.Key == "as2.our_id" || d.fromIdentity(set.Key) {
				out[i].Origin = OriginGateway
			}
		case set.Key == "as4.receipt.mode" && set.Value != v: // as4.mep decides
			out[i].Value, out[i].Origin = v, OriginBuiltIn
		}
	}
	if d.file.AS4 != nil {
		at := slices.IndexFunc(out, func(set Setting) bool { return set.Key == "as4.file_name_property" })
		out = slices.Insert(out, at, slices.Concat(propertySettings("as4.properties", d.file.AS4.properties), propertySettings("as4.part_properties", d.file.AS4.partProperties))...)
	}
	return out
}

// fromIdentity reports whether identity.as4 says a value that no layer of the
// partner says.
func (d *draft) fromIdentity(key string) bool {
	i := d.gateway.Identity.AS4
	if i == nil {
		return false
	}
	return key == "as4.from.party" && d.file.AS4.From.Party == i.Party || key == "as4.from.type" && i.Type != "" || key == "as4.from.role" && i.Role != ""
}

// GatewaySettings lists the effective settings of edigw.yaml. Secrets are
// masked. The slice belongs to the Snapshot.
func (s *Snapshot) GatewaySettings() []Setting { return s.settings }

// Schedule tells a partner's retry schedule in words, with the attempt at
// which its breaker opens if connections are refused.
func (p *Partner) Schedule() string {
	return p.Retry.Words(p.OpensAt())
}

// OpensAt is the attempt at which a partner that refuses every connection
// opens the breaker, the waits between attempts at the middle of their range;
// 0 if the attempts are used up before.
func (p *Partner) OpensAt() int {
	middle := func(n int) time.Duration { return p.Retry.Delay(n, 0.5) }
	return breaker.OpensAtAttempt(p.Breaker, middle, p.Retry.Attempts)
}

// SettingChange is one key whose effective value changed.
type SettingChange struct {
	Key    string `json:"key"`
	Before string `json:"before"` // "" if it was not set
	After  string `json:"after"`
}

// changes are the keys in which two lists of settings differ, in their order.
func changes(before, after []Setting) []SettingChange {
	var out []SettingChange
	was := make(map[string]string, len(before))
	for _, s := range before {
		was[s.Key] = s.Value
	}
	for _, s := range after {
		if was[s.Key] != s.Value {
			out = append(out, SettingChange{s.Key, was[s.Key], s.Value})
		}
		delete(was, s.Key)
	}
	for _, s := range before {
		if v, gone := was[s.Key]; gone && v != "" {
			out = append(out, SettingChange{s.Key, v, ""})
		}
	}
	return slices.Clip(out)
}
