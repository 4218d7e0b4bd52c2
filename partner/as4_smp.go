package partner

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"net"
	"strings"
	"time"

	"edigw/internal/conf"
)

// as4SBDH is the section as4.sbdh.
type as4SBDH struct {
	Send    string `yaml:"send" enum:"none wrap" default:"none" doc:"wrap: each document goes out in a Standard Business Document, one that is one already as it is; service, action, originalSender and finalRecipient are the document's unless they stand here"`
	Country string `yaml:"country" unset:"that of the document's sender" doc:"country of the sender, ISO 3166-1, written into the header" example:"DE"`
	Receive string `yaml:"receive" enum:"keep unwrap" default:"keep" doc:"unwrap: the inbox gets the document that stands in a received Standard Business Document; keep: what they sent, as it came"`
}

// as4SMP is the section as4.smp.
type as4SMP struct {
	Zone        string            `yaml:"zone" unset:"none: url" doc:"zone of DNS in which the network lists its participants (SML)" example:"participants.network.example"`
	URL         conf.URL          `yaml:"url" unset:"found in zone" doc:"in place of zone: the one SMP of all participants" example:"https://smp.network.example"`
	Lookup      string            `yaml:"lookup" enum:"naptr cname" default:"naptr" doc:"which names of the zone are asked; cname: the older ones, B-md5"`
	DNS         []string          `yaml:"dns,single" unset:"those of the system" doc:"name servers to ask, address or address:port" example:"192.0.2.53"`
	Transport   string            `yaml:"transport" default:"peppol-transport-as4-v2_0" doc:"transport profile of the endpoints"`
	Keep        conf.Duration     `yaml:"keep" default:"1h" min:"1m" max:"24h" doc:"how long what was found is used without asking again"`
	Authorities []certificateFile `yaml:"authorities,single" unset:"none" doc:"authorities of the SMPs, one of which must have signed what an SMP says; those of access points are as4.trust.authorities"`
}

// Network is how documents go to receivers that a network's directory lists
// (as4.sbdh, as4.smp).
type Network struct {
	Wrap         bool   // each document stands in a Standard Business Document
	Country      string // empty: the document's
	Unwrap       bool   // received ones are taken out
	FixedService bool   // as4.service holds for every document, whatever it says
	FixedAction  bool   // as4.action does
	Directory    bool   // receivers are looked up
	PartyType    string // of their access points' party ids
	smp          *as4SMP
}

// Directory is how a partner's receivers are looked up, with the authorities in
// force.
type Directory struct {
	Zone, URL    string
	CNAME        bool
	DNS          []string
	Transport    string
	Keep         time.Duration
	Publishers   *x509.CertPool // of SMPs
	AccessPoints *x509.CertPool
	Key          string // changes with any of these, and with the way there
}

// Directory gives how the receivers of a partner are looked up at now; nil if
// they are not.
func (s *Snapshot) Directory(id string, now time.Time) *Directory {
	p := s.partners[id]
	if p == nil || p.AS4 == nil || p.AS4.Network.smp == nil {
		return nil
	}
	f := p.AS4.Network.smp
	out := &Directory{Zone: f.Zone, URL: string(f.URL), CNAME: f.Lookup == "cname", DNS: f.DNS, Transport: f.Transport, Keep: time.Duration(f.Keep),
		Publishers: pool(p.certificates.publishers, now), AccessPoints: p.certificates.pool(now)}
	h := sha256.New()
	fmt.Fprintf(h, "%s %q %q %q %q %q %s\n", s.TransportKey(id, now), f.Zone, f.URL, f.Lookup, f.DNS, f.Transport, f.Keep)
	for _, list := range [][]term{p.certificates.publishers, p.certificates.authorities} {
		for _, t := range list {
			fmt.Fprintf(h, "%x %t,", t.sum, t.inForce(now))
		}
	}
	out.Key = hex.EncodeToString(h.Sum(nil))
	return out
}

// looksUp reports whether receivers are looked up in a directory.
func (d *draft) looksUp() bool { return d.file.AS4.SMP != nil }

// wraps reports whether documents go out in a Standard Business Document.
func (d *draft) wraps() bool { return d.file.AS4.SBDH.Send == "wrap" }

func (d *draft) network() Network {
	f := d.file.AS4
	return Network{
		Wrap: d.wraps(), Unwrap: f.SBDH.Receive == "unwrap", Country: f.SBDH.Country, FixedService: d.given("as4.service.value"), FixedAction: d.given("as4.action"),
		Directory: d.looksUp(), PartyType: f.To.Type, smp: f.SMP,
	}
}

// checkNetwork finds what does not fit a network with a directory.
func (d *draft) checkNetwork() {
	f := d.file.AS4
	if c := f.SBDH.Country; c != "" && (len(c) != 2 || strings.ToUpper(c) != c) {
		d.problem("as4.sbdh.country", "such as DE", "%q is no code of two capital letters (ISO 3166-1)", clip(c))
	}
	if d.wraps() && f.Body {
		d.problem("as4.sbdh.send", "body: false", "a Standard Business Document is an attachment, and as4.body is true")
	}
	if d.looksUp() {
		d.checkDirectory()
		d.checkLookedUp()
	}
}

// checkDirectory holds as4.smp to what can be asked.
func (d *draft) checkDirectory() {
	f := d.file.AS4.SMP
	switch {
	case f.Zone == "" && f.URL == "":
		d.problem("as4.smp", "the network's zone, or url", "names neither a zone nor an SMP")
	case f.Zone != "" && f.URL != "":
		d.problem("as4.smp.url", "zone alone, or url alone", "there is zone, too")
	case f.Zone == "" && (len(f.DNS) > 0 || d.root.Has("as4.smp.lookup")):
		d.warning("as4.smp.url", "remove dns and lookup", "it is asked itself: no zone is")
	case f.Zone != "" && !zoneName(f.Zone):
		d.problem("as4.smp.zone", "such as participants.network.example", "%q is no name of DNS", clip(f.Zone))
	}
	for i, server := range f.DNS {
		host := server
		if h, _, err := net.SplitHostPort(server); err == nil {
			host = h
		}
		if net.ParseIP(strings.Trim(host, "[]")) == nil {
			d.problem(fmt.Sprintf("as4.smp.dns[%d]", i), "192.0.2.53 or 192.0.2.53:5353", "%q is not the address of a name server", clip(server))
		}
	}
	say := d.problem
	if d.out.Stage == StageSetup {
		say = d.warning
	}
	if len(f.Authorities) == 0 {
		say("as4.smp.authorities", "the file with the network's authority for SMPs", "missing: nothing that an SMP says could be believed")
	}
	if len(d.file.AS4.Trust.Authorities) == 0 {
		say("as4.trust.authorities", "the file with the network's authority for access points", "missing: no access point that an SMP names could be believed")
	}
	d.checkTerms("as4.smp.authorities", UseAuthority, d.out.certificates.publishers)
}

// checkLookedUp finds settings of one receiver where all are looked up.
func (d *draft) checkLookedUp() {
	f := d.file.AS4
	const looked = "as4.smp says that each receiver is looked up"
	if f.URL != "" {
		d.problem("as4.url", "remove it, or as4.smp", looked)
	}
	if len(d.file.Certificates.Encrypt) > 0 {
		d.problem("certificates.encrypt", "remove it, or as4.smp", looked+", his certificate too")
	}
	if len(d.file.Certificates.Verify) > 0 {
		d.warning("certificates.verify", "remove it", "has no effect on receipts: "+looked+", his certificate too")
	}
	if f.MEP != "one-way/push" {
		d.problem("as4.mep", "one-way/push", "is %s, and %s", f.MEP, looked)
	}
	if f.Fetch != nil {
		d.problem("as4.fetch", "a partner file of its own", looked+": there is nobody to fetch from")
	}
	if f.Receipt.Mode == "async" {
		d.problem("as4.receipt.mode", "sync", "is async, and "+looked+": there is nobody whose receipts could be told from others'")
	}
	if f.Receive.Receipt.Mode == "async" {
		d.problem("as4.receive.receipt.mode", "sync", "is async, and "+looked+": receipts that we owe have nowhere to go")
	}
	if d.file.Auth.Basic != nil {
		d.problem("auth.basic", "remove it", "our password would go to every access point: "+looked)
	}
	if !d.wraps() && (!d.given("as4.service.value") || !d.given("as4.action")) {
		d.problem("as4.sbdh.send", "wrap, or write as4.service and as4.action", "is none, so nothing says which document type and process to look up")
	}
}

// zoneName reports whether a text can be a zone of DNS.
func zoneName(zone string) bool {
	zone = strings.Trim(zone, ".")
	if len(zone) == 0 || len(zone) > 180 || strings.Contains(zone, "..") {
		return false
	}
	return !strings.ContainsFunc(zone, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '.' || r == '_')
	})
}
