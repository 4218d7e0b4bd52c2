package openas2

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"edigw/partner/takeover"
)

// Bounds of what is read.
const (
	maxXML      = 16 << 20
	maxPartners = 10_000
)

// Installation is an OpenAS2 installation as its files say it.
type Installation struct {
	Config       string // path of config.xml
	Partners     []Partner
	Partnerships []Partnership
	Pollers      []Poller
	Receivers    []Receiver
	Store        takeover.Keystore
}

// Partner is a partner element: one of the two sides of partnerships.
type Partner struct {
	Name, AS2ID, Alias, Fallback, Mail string
}

// Partnership is one direction between two partners.
type Partnership struct {
	Name             string
	Sender, Receiver Partner
	Attributes       []Attribute // in the order of the file
}

// Attribute is a setting of a partnership, with properties filled in.
type Attribute struct{ Name, Value string }

// Poller is a folder that files are sent from.
type Poller struct {
	Dir, ContentType string
	Sender, Receiver string // AS2 ids; empty: from the file's name
	Partnership      string // name, if it belongs to one
}

// Receiver is a port that OpenAS2 listens on.
type Receiver struct {
	Kind string // messages, receipts
	Port string
	TLS  bool
}

// attribute gives the value of an attribute.
func (p Partnership) attribute(name string) (string, bool) {
	for _, a := range p.Attributes {
		if strings.EqualFold(a.Name, name) {
			return a.Value, true
		}
	}
	return "", false
}

// node is an element of any name.
type node struct {
	XMLName  xml.Name
	Attrs    []xml.Attr `xml:",any,attr"`
	Children []node     `xml:",any"`
}

func (n node) attr(name string) string {
	for _, a := range n.Attrs {
		if strings.EqualFold(a.Name.Local, name) {
			return a.Value
		}
	}
	return ""
}

// reader takes an installation apart.
type reader struct {
	home       string // folder of config.xml: %home%
	properties map[string]string
	out        Installation
}

// Read reads the installation that lies in or below dir: dir itself or its
// folder config holds config.xml. password opens the keystore; empty: the one
// that config.xml names.
func Read(dir, password string) (*Installation, error) {
	config, err := find(dir)
	if err != nil {
		return nil, err
	}
	root, err := readXML(config)
	if err != nil {
		return nil, err
	}
	r := reader{home: filepath.Dir(config), properties: map[string]string{}}
	r.out.Config = config
	r.readProperties(root)
	partnerships := filepath.Join(r.home, "partnerships.xml")
	keystore, stored := filepath.Join(r.home, "as2_certs.p12"), ""
	for _, n := range root.Children {
		switch n.XMLName.Local {
		case "partnerships":
			partnerships = r.path(n.attr("filename"), partnerships)
		case "certificates":
			keystore, stored = r.path(n.attr("filename"), keystore), r.fill(n.attr("password"))
		case "processor":
			r.readModules(n)
		case "pollerConfigBase":
			r.poller(n, "")
		}
	}
	if password == "" {
		password = stored
	}
	if err := r.out.Store.Read(keystore, password, "config.xml names no password for it; give it by --password-file"); err != nil {
		return nil, err
	}
	if root, err = readXML(partnerships); err != nil {
		return nil, err
	}
	if err := r.readPartnerships(root, partnerships); err != nil {
		return nil, err
	}
	return &r.out, nil
}

// find looks for config.xml where installations have it.
func find(dir string) (string, error) {
	for _, place := range []string{"config.xml", "config/config.xml", "Server/config/config.xml"} {
		file := filepath.Join(dir, filepath.FromSlash(place))
		if _, err := os.Stat(file); err == nil {
			return file, nil
		} else if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
			return "", err
		}
	}
	return "", fmt.Errorf("%s is no installation of OpenAS2: there is no config.xml in it or in its folder config", dir)
}

// readXML reads a whole file, bounded. Entities that a document declares
// itself are refused by the decoder.
func readXML(file string) (node, error) {
	text, err := takeover.Content(file, maxXML)
	if err != nil {
		return node{}, err
	}
	var root node
	if err := xml.Unmarshal(text, &root); err != nil {
		return node{}, fmt.Errorf("%s: not well-formed XML: %w", file, err)
	}
	return root, nil
}

// readProperties reads the properties element and the file that config.xml
// may name for more.
func (r *reader) readProperties(root node) {
	for _, n := range root.Children {
		if n.XMLName.Local != "properties" {
			continue
		}
		for _, a := range n.Attrs {
			r.properties[a.Name.Local] = a.Value
		}
	}
	file := filepath.Join(r.home, "config.properties")
	if named := r.properties["override_properties_file"]; named != "" {
		file = r.path(named, file)
	}
	text, err := takeover.Content(file, maxXML)
	if err != nil {
		return // there need not be one
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if key, value, ok := strings.Cut(line, "="); ok && !strings.HasPrefix(line, "#") {
			r.properties[strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	}
}

// fill puts properties in: $properties.NAME$.
func (r *reader) fill(s string) string {
	const begin = "$properties."
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(s, begin)
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		name, after, ok := strings.Cut(rest, "$")
		value, known := r.properties[name]
		if !ok || !known {
			b.WriteString(begin)
			s = rest
			continue
		}
		b.WriteString(value)
		s = after
	}
}

// path resolves a file name of config.xml.
func (r *reader) path(s, otherwise string) string {
	if s = r.fill(s); s == "" {
		return otherwise
	}
	s = filepath.FromSlash(strings.ReplaceAll(s, "%home%", r.home))
	if !filepath.IsAbs(s) {
		s = filepath.Join(r.home, s)
	}
	return filepath.Clean(s)
}

// readModules looks for the folders that are polled and the ports.
func (r *reader) readModules(processor node) {
	for _, m := range processor.Children {
		class := m.attr("classname")
		switch {
		case strings.HasSuffix(class, "DirectoryPollingModule"):
			r.poller(m, "")
		case strings.HasSuffix(class, "AS2ReceiverModule"):
			r.receiver(m, "messages")
		case strings.HasSuffix(class, "AS2MDNReceiverModule"):
			r.receiver(m, "receipts")
		}
	}
}

func (r *reader) receiver(m node, kind string) {
	if strings.EqualFold(m.attr("enabled"), "false") {
		return
	}
	r.out.Receivers = append(r.out.Receivers, Receiver{Kind: kind, Port: r.fill(m.attr("port")), TLS: strings.EqualFold(r.fill(m.attr("protocol")), "https")})
}

func (r *reader) poller(m node, partnership string) {
	p := Poller{Dir: r.path(m.attr("outboxdir"), ""), ContentType: r.fill(m.attr("mimetype")), Partnership: partnership}
	for _, pair := range strings.Split(r.fill(m.attr("defaults")), ",") {
		key, value, _ := strings.Cut(pair, "=")
		switch strings.TrimSpace(key) {
		case "sender.as2_id":
			p.Sender = strings.TrimSpace(value)
		case "receiver.as2_id":
			p.Receiver = strings.TrimSpace(value)
		}
	}
	r.out.Pollers = append(r.out.Pollers, p)
}

// readPartnerships reads partnerships.xml.
func (r *reader) readPartnerships(root node, file string) error {
	known := map[string]Partner{}
	for _, n := range root.Children {
		if n.XMLName.Local != "partner" {
			continue
		}
		p := r.partner(n, Partner{})
		if p.Name == "" {
			return fmt.Errorf("%s: a partner has no name", file)
		}
		if _, twice := known[p.Name]; twice {
			return fmt.Errorf("%s: partner %q is defined twice", file, p.Name)
		}
		if known[p.Name] = p; len(known) > maxPartners {
			return fmt.Errorf("%s: more than %d partners", file, maxPartners)
		}
		r.out.Partners = append(r.out.Partners, p)
	}
	for _, n := range root.Children {
		if n.XMLName.Local != "partnership" {
			continue
		}
		p, err := r.partnership(n, known)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if r.out.Partnerships = append(r.out.Partnerships, p); len(r.out.Partnerships) > 2*maxPartners {
			return fmt.Errorf("%s: more than %d partnerships", file, 2*maxPartners)
		}
	}
	return nil
}

func (r *reader) partnership(n node, known map[string]Partner) (Partnership, error) {
	p := Partnership{Name: n.attr("name")}
	for _, c := range n.Children {
		switch c.XMLName.Local {
		case "sender", "receiver":
			side := r.partner(c, known[c.attr("name")])
			if _, ok := known[c.attr("name")]; !ok && side.AS2ID == "" {
				return p, fmt.Errorf("partnership %q names a %s %q that is not defined", p.Name, c.XMLName.Local, c.attr("name"))
			}
			if c.XMLName.Local == "sender" {
				p.Sender = side
			} else {
				p.Receiver = side
			}
		case "attribute":
			p.Attributes = append(p.Attributes, Attribute{c.attr("name"), r.fill(c.attr("value"))})
		case "pollerConfig":
			if strings.EqualFold(c.attr("enabled"), "true") {
				r.poller(c, p.Name)
			}
		}
	}
	if p.Sender.AS2ID == "" || p.Receiver.AS2ID == "" {
		return p, fmt.Errorf("partnership %q lacks a sender or a receiver with an as2_id", p.Name)
	}
	return p, nil
}

// partner reads what an element says of a partner over what is known of it.
func (r *reader) partner(n node, p Partner) Partner {
	for name, to := range map[string]*string{"name": &p.Name, "as2_id": &p.AS2ID, "x509_alias": &p.Alias, "x509_alias_fallback": &p.Fallback, "email": &p.Mail} {
		if v := r.fill(n.attr(name)); v != "" {
			*to = v
		}
	}
	return p
}
