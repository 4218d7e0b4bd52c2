package partner

import (
	_ "embed"
	"fmt"
	"slices"
	"sync"

	"edigw/internal/conf"
)

//go:embed profiles.yaml
var profileText []byte

// Profile is what a community has settled for AS4.
type Profile struct {
	Name  string
	Title string // whose it is, and which edition
	About string // what to know, for people

	signs      []string // what as4.security.sign: by-key may become, the first choice first
	transports []string // the same for key_transport
	musts      []must
	root       *conf.Node
}

// must is a rule of a profile about one key.
type must struct {
	key     string
	is      []string // values allowed; of given and absent nil
	given   bool     // it must be there
	absent  bool     // it must not be there
	section string   // where the rule stands
}

// Profiles lists the profiles, plain first.
func Profiles() ([]Profile, error) { return profiles() }

// profiles reads them once: no file of a user's is in it.
var profiles = sync.OnceValues(func() ([]Profile, error) {
	root, problems := conf.Parse("profiles.yaml", profileText)
	if len(problems) > 0 {
		return nil, fmt.Errorf("the profiles built in: %v", problems[0])
	}
	var out []Profile
	for _, e := range root.Entries {
		p := Profile{Name: e.Key}
		for key, to := range map[string]*string{"title": &p.Title, "about": &p.About} {
			if n, _ := e.Value.Child(key); n != nil {
				*to = n.Text
			}
		}
		choices, _ := e.Value.Child("by_key")
		for key, to := range map[string]*[]string{"sign": &p.signs, "key_transport": &p.transports} {
			if n, _ := choices.Child(key); n != nil {
				*to = texts(n)
			}
		}
		p.root, _ = e.Value.Child("settings")
		rules, _ := e.Value.Child("must")
		if p.Title == "" || p.About == "" || p.root == nil || rules == nil || len(p.signs) == 0 || len(p.transports) == 0 {
			return nil, fmt.Errorf("the profile %s built in lacks a part", e.Key)
		}
		for _, n := range rules.Items {
			p.musts = append(p.musts, newMust(n))
		}
		out = append(out, p)
	}
	return out, nil
})

// Fills reports whether the profile sets a key, such as "as4.action".
func (p *Profile) Fills(key string) bool { return nodeAt(p.root, key) != nil }

// Wants reports whether the profile wants a key that it leaves to the partner file.
func (p *Profile) Wants(key string) bool {
	return !p.Fills(key) && slices.ContainsFunc(p.musts, func(m must) bool { return m.key == key && m.given })
}

// section is where the profile has its rule about the first of some keys of which
// it has one.
func (p *Profile) section(keys ...string) string {
	for _, key := range keys {
		if i := slices.IndexFunc(p.musts, func(m must) bool { return m.key == key }); i >= 0 {
			return p.musts[i].section
		}
	}
	return p.Title
}

func newMust(n *conf.Node) must {
	var m must
	if v, _ := n.Child("key"); v != nil {
		m.key = v.Text
	}
	if v, _ := n.Child("section"); v != nil {
		m.section = v.Text
	}
	if v, _ := n.Child("is"); v != nil && v.Kind == conf.List {
		m.is = texts(v)
	} else if v != nil {
		m.given, m.absent = v.Text == "given", v.Text == "absent"
	}
	return m
}

func texts(n *conf.Node) (out []string) {
	for _, item := range n.Items {
		out = append(out, item.Text)
	}
	return out
}

// profile is the profile of that name; nil if there is none.
func profile(name string) *Profile {
	all, err := profiles()
	if err != nil {
		return nil
	}
	if i := slices.IndexFunc(all, func(p Profile) bool { return p.Name == name }); i >= 0 {
		return &all[i]
	}
	return nil
}
