package takeover

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"edigw/partner"
)

var notID = regexp.MustCompile(`[^a-z0-9]+`)

// Word is a name with lower-case letters, digits and dashes alone; it may come to
// nothing.
func Word(name string) string {
	return strings.Trim(notID.ReplaceAllString(strings.ToLower(name), "-"), "-")
}

// Names gives each partner an id and each file a name that nobody else has.
type Names struct{ taken map[string]bool }

// NewNames begins with those that exist already.
func NewNames(taken []string) *Names {
	n := &Names{map[string]bool{}}
	for _, id := range taken {
		n.taken[id] = true
	}
	return n
}

// ID makes a free partner id of a name. The id with any of the ends is free, too,
// and taken with it: files of its keys have such names.
func (n *Names) ID(name string, ends ...string) string {
	const most = 50
	base := Word(name)
	if len(base) > most {
		base = strings.TrimRight(base[:most], "-")
	}
	if !partner.ValidID(base) || base == partner.OwnerGateway {
		base = "partner"
	}
	id := n.Free(base, append(ends, "")...)
	for _, end := range ends {
		n.taken[id+end] = true
	}
	return id
}

// Free gives a name that is not taken with any of these ends, and takes it.
func (n *Names) Free(base string, ends ...string) string {
	name := base
	for i := 2; slices.ContainsFunc(ends, func(end string) bool { return n.taken[name+end] }); i++ {
		name = fmt.Sprintf("%s-%d", base, i)
	}
	n.taken[name] = true
	return name
}

// plainPath is what YAML needs no quotes for.
var plainPath = regexp.MustCompile(`^[a-zA-Z0-9./][a-zA-Z0-9./_-]*$`)

// Named is a file of a plan as a partner file names it. home is the folder of
// edigw.yaml, seen from that of the partner files; empty: "..".
func Named(home, file string) string {
	name := path.Join(cmp.Or(home, ".."), file)
	if plainPath.MatchString(name) {
		return name
	}
	return Quoted(name)
}
