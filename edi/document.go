package edi

import (
	"bytes"
	"strings"
)

// The namespaces that tell a kind, without what changes from type to type.
const (
	ublNamespace = "urn:oasis:names:specification:ubl:schema:xsd:"
	ciiNamespace = "urn:un:unece:uncefact:data:standard:CrossIndustry"
)

// What an element of a document is.
type meaning int

const (
	nothing meaning = iota
	number
	issueDate
	order
	seller
	buyer
	customization
	profile
	version
	country
	sender
	receiver
)

// place says what the element at a path below the document's root is; of several
// sellers the one with the highest rank identifies the document.
type place struct {
	path string
	what meaning
	rank int
}

// ublPlaces and ciiPlaces are places by path; ublParty and ciiParty those inside
// a party, which stands at several paths.
var (
	ublPlaces = []place{
		{"ID", number, 0},
		{"IssueDate", issueDate, 0},
		{"OrderReference/ID", order, 0},
		{"CustomizationID", customization, 0},
		{"ProfileID", profile, 0},
		{"UBLVersionID", version, 0},
		{"SenderParty/EndpointID", sender, 0},
		{"ProviderParty/EndpointID", sender, 0},
		{"ReceiverParty/EndpointID", receiver, 0},
	}
	ublParties = []place{
		{"AccountingSupplierParty/Party/", seller, 0},
		{"SellerSupplierParty/Party/", seller, 0},
		{"DespatchSupplierParty/Party/", seller, 0},
		{"AccountingCustomerParty/Party/", buyer, 0},
		{"BuyerCustomerParty/Party/", buyer, 0},
		{"DeliveryCustomerParty/Party/", buyer, 0},
	}
	ublParty = []place{
		{"EndpointID", nothing, 5},
		{"PartyLegalEntity/CompanyID", nothing, 4},
		{"PartyTaxScheme/CompanyID", nothing, 3},
		{"PartyIdentification/ID", nothing, 2},
		{"PartyName/Name", nothing, 1},
		{"PartyLegalEntity/RegistrationName", nothing, 1},
		{"PostalAddress/Country/IdentificationCode", country, 0},
	}

	ciiPlaces = []place{
		{"ExchangedDocument/ID", number, 0},
		{"ExchangedDocument/IssueDateTime/DateTimeString", issueDate, 0},
		{"SupplyChainTradeTransaction/ApplicableHeaderTradeAgreement/BuyerOrderReferencedDocument/IssuerAssignedID", order, 0},
		{"ExchangedDocumentContext/GuidelineSpecifiedDocumentContextParameter/ID", customization, 0},
		{"ExchangedDocumentContext/BusinessProcessSpecifiedDocumentContextParameter/ID", profile, 0},
	}
	ciiParties = []place{
		{"SupplyChainTradeTransaction/ApplicableHeaderTradeAgreement/SellerTradeParty/", seller, 0},
		{"SupplyChainTradeTransaction/ApplicableHeaderTradeAgreement/BuyerTradeParty/", buyer, 0},
	}
	ciiParty = []place{
		{"URIUniversalCommunication/URIID", nothing, 6},
		{"GlobalID", nothing, 5},
		{"SpecifiedLegalOrganization/ID", nothing, 4},
		{"SpecifiedTaxRegistration/ID", nothing, 3},
		{"ID", nothing, 2},
		{"Name", nothing, 1},
		{"PostalTradeAddress/CountryID", country, 0},
	}
)

// xmlNumbers says what the number of a document type is.
var xmlNumbers = map[string]string{
	"Invoice": "invoice", "CrossIndustryInvoice": "invoice", "CreditNote": "credit-note",
	"Order": "order", "OrderChange": "order", "OrderResponse": "order-response", "OrderResponseSimple": "order-response",
	"DespatchAdvice": "shipment",
}

// wrapper is the root element that may hold a document: the Standard Business
// Document of UN/CEFACT, which Peppol uses.
const wrapper = "StandardBusinessDocument"

// maxSpaces bounds the namespace declarations that are kept.
const maxSpaces = 64

// document finds UBL and CII in the elements of an XML file. It looks at the root
// element and, below a wrapper, at its children.
type document struct {
	report  *Report
	spaces  []space
	wrapped bool
	count   int // documents so far

	depth int    // of the document's root element, 0 outside a document
	typ   string // its local name
	path  []byte // local names of the open elements below it, each behind a '/'
	marks []int  // where each begins in path

	captured []byte // text of the element that is captured
	capture  int    // its depth, 0 if there is none
	place    place  // what it is

	number, issueDate, seller string
	sellerRank                int

	scheme string // schemeID of the element whose tag is being read
	route  router
}

// space is a namespace declaration.
type space struct {
	prefix, uri string
	depth       int
}

// attribute takes an attribute of the element at depth, before start.
func (d *document) attribute(name, value []byte, depth int) {
	if string(name) == "schemeID" {
		d.scheme = clean(value)
	}
	prefix, ok := bytes.CutPrefix(name, []byte("xmlns"))
	if !ok || depth > 2 || d.depth > 0 || len(d.spaces) == maxSpaces {
		return
	}
	if len(prefix) > 0 {
		if prefix[0] != ':' {
			return
		}
		prefix = prefix[1:]
	}
	d.spaces = append(d.spaces, space{prefix: string(prefix), uri: string(value), depth: depth})
}

// start takes the start tag of the element at depth; the root is at 1.
func (d *document) start(name []byte, depth int) {
	local := name
	var prefix []byte
	if i := bytes.IndexByte(name, ':'); i >= 0 {
		prefix, local = name[:i], name[i+1:]
	}
	defer func() { d.scheme = "" }()
	if d.depth > 0 {
		d.startInside(local, depth)
		return
	}
	if depth == 1 {
		d.report.Type = clean(local)
		d.wrapped = string(local) == wrapper
	}
	kind := d.kindOf(prefix)
	if kind == XML || depth > 2 || depth == 2 && !d.wrapped {
		return
	}
	d.count++
	d.depth, d.typ = depth, clean(local)
	d.number, d.issueDate, d.seller, d.sellerRank = "", "", "", 0
	if d.count == 1 {
		d.report.Kind, d.report.Type = kind, d.typ
		d.route = router{to: &Route{Namespace: d.spaceOf(prefix), Root: string(local)}}
		d.report.Route = d.route.to
	}
}

// kindOf returns the kind that the namespace of a prefix tells.
func (d *document) kindOf(prefix []byte) Kind {
	switch uri := d.spaceOf(prefix); {
	case strings.HasPrefix(uri, ublNamespace):
		return UBL
	case strings.HasPrefix(uri, ciiNamespace):
		return CII
	}
	return XML
}

// spaceOf returns the namespace that a prefix stands for.
func (d *document) spaceOf(prefix []byte) string {
	for i := len(d.spaces) - 1; i >= 0; i-- {
		if s := d.spaces[i]; s.prefix == string(prefix) {
			return s.uri
		}
	}
	return ""
}

// startInside takes the start tag of an element of the document.
func (d *document) startInside(local []byte, depth int) {
	d.marks = append(d.marks, len(d.path))
	d.path = append(append(d.path, '/'), local...)
	if p := d.find(d.path[1:]); p.what != nothing {
		d.place, d.capture, d.captured = p, depth, d.captured[:0]
		d.route.scheme = d.scheme
	}
}

// find returns what stands at path.
func (d *document) find(path []byte) place {
	d.route.side, d.route.address = nothing, false
	places, parties, party := ublPlaces, ublParties, ublParty
	if d.report.Kind == CII {
		places, parties, party = ciiPlaces, ciiParties, ciiParty
	}
	for _, p := range places {
		if string(path) == p.path {
			return p
		}
	}
	for _, side := range parties {
		inside, ok := bytes.CutPrefix(path, []byte(side.path))
		if !ok {
			continue
		}
		for _, p := range party {
			if string(inside) == p.path {
				d.route.side, d.route.address = side.what, addresses[p.path]
				if p.what == nothing {
					p.what = side.what
				}
				return p
			}
		}
	}
	return place{}
}

// text takes character data of the innermost open element.
func (d *document) text(p []byte) {
	if d.capture > 0 {
		d.captured = append(d.captured, p[:min(len(p), maxCaptured-len(d.captured))]...)
	}
}

// end takes the end tag of the element at depth.
func (d *document) end(depth int) {
	if d.capture == depth {
		d.capture = 0
		if d.count == 1 && len(d.captured) < maxCaptured { // else it may be cut
			d.route.take(d.place.what, strings.TrimSpace(string(d.captured)))
		}
		d.found(clean(d.captured))
	}
	switch {
	case d.depth > 0 && depth > d.depth:
		last := len(d.marks) - 1
		d.path, d.marks = d.path[:d.marks[last]], d.marks[:last]
	case d.depth > 0:
		d.finish()
	}
	for n := len(d.spaces); n > 0 && d.spaces[n-1].depth >= depth; n-- {
		d.spaces = d.spaces[:n-1]
	}
}

// found takes the value of a captured element.
func (d *document) found(value string) {
	switch d.place.what {
	case number:
		if d.number != "" {
			return
		}
		d.number = value
		name, ok := xmlNumbers[d.typ]
		if !ok {
			name = "document"
		}
		d.report.addReference(name, value)
	case issueDate:
		if d.issueDate == "" {
			d.issueDate = value
		}
	case order:
		d.report.addReference("order", value)
	case seller:
		d.report.addReference("seller", value)
		if value != "" && d.place.rank > d.sellerRank {
			d.seller, d.sellerRank = value, d.place.rank
		}
	case buyer:
		d.report.addReference("buyer", value)
	}
}

// finish ends the current document, if there is one, complete or not. An
// incomplete one keeps its identity: its corrected edition has the same.
func (d *document) finish() {
	if d.depth == 0 {
		return
	}
	if d.count == 1 {
		d.route.settle()
	}
	d.depth, d.capture = 0, 0
	d.path, d.marks = d.path[:0], d.marks[:0]
	d.report.Identity = nil
	if d.count == 1 && d.number != "" && d.issueDate != "" && d.seller != "" {
		d.report.Identity = []string{d.typ, d.number, d.issueDate, d.seller}
	}
}
