// Package domibus reads the P-Mode configuration of Domibus, one XML document with
// parties, legs and processes that name each other, and says which partner files
// it becomes, and what of it cannot be carried over.
//
// It writes nothing and asks nobody: Read takes the document apart, Translate
// makes a plan. What is read is bounded.
package domibus

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/beevik/etree"

	"edigw/as4/ebms"
	"edigw/internal/xmltree"
	"edigw/partner/takeover"
)

// maxDocument bounds the configuration: some thousand parties.
const maxDocument = 8 << 20

var limits = xmltree.Limits{Bytes: maxDocument, Depth: 20, Elements: 100_000, Attributes: 50}

// Configuration is the document, with its names resolved as far as it defines
// them.
type Configuration struct {
	File      string
	Party     string // who it says that we are
	Parties   map[string]Party
	Processes []Process
	Uneven    []string // what is named and not defined
}

// Party is one side of processes.
type Party struct {
	Name, Endpoint string
	IDs            []ebms.PartyID
	Login          bool // it has a user name
}

// Process says who exchanges which legs with whom, and how.
type Process struct {
	Name                         string
	Agreement                    *ebms.AgreementRef
	MEP, Binding                 string // the last part of their values: oneWay, push
	InitiatorRole, ResponderRole string
	Initiators, Responders       []string
	Legs                         []Leg
}

// Leg is what is exchanged.
type Leg struct {
	Name           string
	Service        ebms.Service
	Action, MPC    string
	Policy, Method string // security
	Callback, NRR  bool
	Retry          string
	Duplicates     bool
	Compress, Body bool
	Required       []string // message properties that each document must have
}

// element is an element with its attributes by name.
type element struct{ *etree.Element }

func (e element) attr(name string) string {
	for _, a := range e.Attr {
		if strings.EqualFold(a.Key, name) {
			return strings.TrimSpace(a.Value)
		}
	}
	return ""
}

// at are the elements of a path below e, whatever their namespace.
func (e element) at(path ...string) (out []element) {
	all := []element{e}
	for _, name := range path {
		var next []element
		for _, one := range all {
			for _, c := range one.ChildElements() {
				if c.Tag == name {
					next = append(next, element{c})
				}
			}
		}
		all = next
	}
	return all
}

// reader takes a configuration apart.
type reader struct {
	root                           element // businessProcesses
	roles, meps, bindings          map[string]string
	agreements, payloads, property named
	out                            Configuration
}

// Read reads a configuration. The error names the file.
func Read(file string) (*Configuration, error) {
	data, err := takeover.Content(file, maxDocument)
	if err != nil {
		return nil, err
	}
	c, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	c.File = file
	return c, nil
}

func parse(data []byte) (*Configuration, error) {
	doc, err := xmltree.Parse(data, limits)
	if err != nil {
		return nil, err
	}
	root := doc.Root()
	if root == nil || root.Tag != "configuration" {
		return nil, errors.New("it is no P-Mode configuration of Domibus: its root is not configuration")
	}
	top := element{root}
	business := top.at("businessProcesses")
	if len(business) != 1 {
		return nil, fmt.Errorf("it has %d businessProcesses, not one", len(business))
	}
	r := reader{root: business[0], out: Configuration{Party: top.attr("party"), Parties: map[string]Party{}}}
	r.roles, r.meps, r.bindings = r.table(r.root.at("roles", "role"), "value"), r.table(r.root.at("meps", "mep"), "value"), r.table(r.root.at("meps", "binding"), "value")
	r.agreements, r.payloads, r.property = r.byName(r.root.at("agreements", "agreement")), r.byName(r.root.at("payloadProfiles", "payload")), r.byName(r.root.at("properties", "property"))
	r.parties()
	mpcs := r.table(top.at("mpcs", "mpc"), "qualifiedName")
	legs := r.legs(mpcs)
	for _, p := range r.root.at("process") {
		r.process(p, legs)
	}
	if len(r.out.Processes) == 0 {
		return nil, errors.New("it has no process, so nothing is exchanged with anybody")
	}
	return &r.out, nil
}

// table is the value of each name in a list. Domibus compares names whatever
// their case.
func (r *reader) table(list []element, value string) map[string]string {
	out := map[string]string{}
	for _, e := range list {
		out[strings.ToLower(e.attr("name"))] = e.attr(value)
	}
	return out
}

// find is the value of a name; one that is not defined is reported, an empty one
// is none.
func (r *reader) find(table map[string]string, kind, name string) string {
	v, ok := table[strings.ToLower(name)]
	if !ok && name != "" {
		r.out.Uneven = append(r.out.Uneven, kind+" "+name)
	}
	return v
}

func (r *reader) parties() {
	types := r.table(r.root.at("parties", "partyIdTypes", "partyIdType"), "value")
	for _, e := range r.root.at("parties", "party") {
		p := Party{Name: e.attr("name"), Endpoint: e.attr("endpoint"), Login: e.attr("userName") != ""}
		for _, id := range e.at("identifier") {
			p.IDs = append(p.IDs, ebms.PartyID{Value: id.attr("partyId"), Type: r.find(types, "partyIdType", id.attr("partyIdType"))})
		}
		r.out.Parties[strings.ToLower(p.Name)] = p
	}
}

// legs are the legConfigurations by name.
func (r *reader) legs(mpcs map[string]string) map[string]Leg {
	services, actions := map[string]ebms.Service{}, r.table(r.root.at("actions", "action"), "value")
	for _, e := range r.root.at("services", "service") {
		services[strings.ToLower(e.attr("name"))] = ebms.Service{Value: e.attr("value"), Type: e.attr("type")}
	}
	securities := r.byName(r.root.at("securities", "security"))
	reliability := r.byName(r.root.at("as4", "reliability"))
	awareness := r.byName(r.root.at("as4", "receptionAwareness"))
	profiles := r.byName(r.root.at("payloadProfiles", "payloadProfile"))
	sets := r.byName(r.root.at("properties", "propertySet"))
	out := map[string]Leg{}
	for _, e := range r.root.at("legConfigurations", "legConfiguration") {
		security, reliable, aware := securities.find(e.attr("security")), reliability.find(e.attr("reliability")), awareness.find(e.attr("receptionAwareness"))
		service, known := services[strings.ToLower(e.attr("service"))]
		if !known {
			r.out.Uneven = append(r.out.Uneven, "service "+e.attr("service"))
		}
		l := Leg{
			Name: e.attr("name"), Service: service, Action: r.find(actions, "action", e.attr("action")), MPC: r.find(mpcs, "mpc", e.attr("defaultMpc")),
			Policy: security.attr("policy"), Method: cmp.Or(security.attr("signatureMethod"), security.attr("profile")),
			Callback: strings.EqualFold(reliable.attr("replyPattern"), "callback"), NRR: !strings.EqualFold(reliable.attr("nonRepudiation"), "false"),
			Retry: aware.attr("retry"), Duplicates: !strings.EqualFold(aware.attr("duplicateDetection"), "false"),
			Compress: strings.EqualFold(e.attr("compressPayloads"), "true"),
			Body:     r.inBody(profiles.find(e.attr("payloadProfile"))), Required: r.required(sets.find(e.attr("propertySet"))),
		}
		out[strings.ToLower(l.Name)] = l
	}
	return out
}

// byName finds elements by their names; one that is not there is empty.
func (r *reader) byName(list []element) named {
	out := named{}
	for _, e := range list {
		out[strings.ToLower(e.attr("name"))] = e
	}
	return out
}

// named are elements by their names, whatever their case.
type named map[string]element

func (n named) find(name string) element {
	if e, ok := n[strings.ToLower(name)]; ok {
		return e
	}
	return element{etree.NewElement("none")}
}

// inBody reports whether a payload of the profile stands in the SOAP Body.
func (r *reader) inBody(profile element) bool {
	for _, a := range profile.at("attachment") {
		if strings.EqualFold(r.payloads.find(a.attr("name")).attr("inBody"), "true") {
			return true
		}
	}
	return false
}

// required are the message properties of a set that each document must have.
func (r *reader) required(set element) (out []string) {
	for _, ref := range set.at("propertyRef") {
		if p := r.property.find(ref.attr("property")); strings.EqualFold(p.attr("required"), "true") {
			out = append(out, p.attr("key"))
		}
	}
	return out
}

func (r *reader) process(e element, legs map[string]Leg) {
	p := Process{
		Name: e.attr("name"), Agreement: r.agreement(e.attr("agreement")),
		MEP: lastPart(r.find(r.meps, "mep", e.attr("mep"))), Binding: lastPart(r.find(r.bindings, "binding", e.attr("binding"))),
		InitiatorRole: r.find(r.roles, "role", e.attr("initiatorRole")), ResponderRole: r.find(r.roles, "role", e.attr("responderRole")),
	}
	for _, i := range e.at("initiatorParties", "initiatorParty") {
		p.Initiators = append(p.Initiators, i.attr("name"))
	}
	for _, i := range e.at("responderParties", "responderParty") {
		p.Responders = append(p.Responders, i.attr("name"))
	}
	for _, l := range e.at("legs", "leg") {
		leg, ok := legs[strings.ToLower(l.attr("name"))]
		if !ok {
			r.out.Uneven = append(r.out.Uneven, "leg "+l.attr("name"))
			continue
		}
		p.Legs = append(p.Legs, leg)
	}
	r.out.Processes = append(r.out.Processes, p)
}

// agreement is what a process names; an empty value is none.
func (r *reader) agreement(name string) *ebms.AgreementRef {
	if name == "" {
		return nil
	}
	e, ok := r.agreements[strings.ToLower(name)]
	switch {
	case !ok:
		r.out.Uneven = append(r.out.Uneven, "agreement "+name)
		return nil
	case e.attr("value") == "":
		return nil
	}
	return &ebms.AgreementRef{Value: e.attr("value"), Type: e.attr("type")}
}

// lastPart is what stands behind the last slash.
func lastPart(uri string) string { return uri[strings.LastIndex(uri, "/")+1:] }
