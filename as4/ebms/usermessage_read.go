package ebms

import (
	"net/url"
	"regexp"
	"strings"

	"github.com/beevik/etree"

	"edigw/internal/xmltree"
)

// uri is what a value without a type must be: it has a scheme and no blanks (RFC
// 2396 §3; ebMS 3.0 Core §5.2.2.3, §5.2.2.8).
var uri = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:[^\s<>"{}|\\^` + "`" + `]+$`)

// userMessage reads eb:UserMessage.
func (r *reading) userMessage(e *etree.Element) *UserMessage {
	u := &UserMessage{MPC: r.attribute(e, "mpc")}
	c := r.within(e)
	u.MessageInfo = r.messageInfo(c.required("MessageInfo"))
	r.partyInfo(c.required("PartyInfo"), u)
	r.collaborationInfo(c.required("CollaborationInfo"), u)
	if p := c.optional("MessageProperties"); p != nil {
		u.Properties = r.properties(p)
	}
	if p := c.optional("PayloadInfo"); p != nil {
		u.Parts = r.payloadInfo(p)
	}
	c.end(false)
	return u
}

// messageInfo reads eb:MessageInfo, which says what the problems of a message
// unit are about.
func (r *reading) messageInfo(e *etree.Element) (i MessageInfo) {
	c := r.within(e)
	at := c.required("Timestamp")
	var err error
	if i.Timestamp, err = parseDateTime(r.text(at)); err != nil {
		r.fail(invalidHeader, "Timestamp %.60q is no xsd:dateTime", r.text(at))
	}
	id := r.text(c.required("MessageId"))
	ref := ""
	if e := c.optional("RefToMessageId"); e != nil {
		ref = r.text(e) // QUIRK(several): an empty one is none
	}
	c.end(false)
	if err := CheckMessageID(id); err != nil {
		r.fail(invalidHeader, "MessageId %.100q is %v", id, err)
		id = ""
	}
	if ref != "" && CheckMessageID(ref) != nil {
		r.fail(invalidHeader, "RefToMessageId %.100q is %v", ref, ErrMessageID)
		ref = ""
	}
	i.MessageID, i.RefToMessageID = id, ref
	if len(xmltree.Children(e, EB, "MessageId")) == 1 {
		r.messageID = id
	}
	return i
}

func (r *reading) partyInfo(e *etree.Element, u *UserMessage) {
	c := r.within(e)
	u.From = r.party(c.required("From"))
	u.To = r.party(c.required("To"))
	c.end(false)
}

// maxPartyIDs bounds the ids of one party: whoever looks for the partner tries each
// pair of them. Profiles have one.
const maxPartyIDs = 10

func (r *reading) party(e *etree.Element) (p Party) {
	c := r.within(e)
	ids := c.many("PartyId")
	if len(ids) == 0 {
		ids = append(ids, c.required("PartyId")) // says what is missing
	}
	if len(ids) > maxPartyIDs {
		r.fail(invalidHeader, "%s has %d PartyIds, at most %d are taken", name(e), len(ids), maxPartyIDs)
		ids = ids[:maxPartyIDs]
	}
	for _, id := range ids {
		v := PartyID{Value: r.value(id), Type: r.attribute(id, "type")}
		if v.Type == "" && !uri.MatchString(v.Value) {
			r.fail(valueInconsistent, "%s/PartyId %.100q has no type and is no URI", name(e), v.Value)
		}
		p.IDs = append(p.IDs, v)
	}
	p.Role = r.value(c.required("Role"))
	c.end(false)
	return p
}

func (r *reading) collaborationInfo(e *etree.Element, u *UserMessage) {
	c := r.within(e)
	if a := c.optional("AgreementRef"); a != nil {
		// One without a type need not be a URI here, and may be empty: the P-Mode
		// says what it must be.
		u.Agreement = &AgreementRef{Value: r.text(a), Type: r.attribute(a, "type"), PMode: r.attribute(a, "pmode")}
	}
	service := c.required("Service")
	u.Service = Service{Value: r.value(service), Type: r.attribute(service, "type")}
	if u.Service.Type == "" && !uri.MatchString(u.Service.Value) {
		r.fail(valueInconsistent, "Service %.100q has no type and is no URI", u.Service.Value)
	}
	action := c.required("Action")
	if u.Action = token(r.value(action)); u.Action == "" {
		r.fail(invalidHeader, "Action is empty")
	}
	u.ConversationID = token(r.text(c.required("ConversationId")))
	c.end(false)
}

// properties reads eb:MessageProperties or eb:PartProperties. An empty list is
// against the schema, and read as none: QUIRK(phase4 before 0.12).
func (r *reading) properties(e *etree.Element) (list []Property) {
	c := r.within(e)
	for _, p := range c.many("Property") {
		v := Property{Name: r.attribute(p, "name"), Type: r.attribute(p, "type"), Value: r.text(p)}
		if v.Name == "" {
			r.fail(invalidHeader, "%s: a Property has no name", name(e))
		}
		list = append(list, v)
	}
	c.end(false)
	return list
}

// payloadInfo reads eb:PayloadInfo; an empty one is read as none.
func (r *reading) payloadInfo(e *etree.Element) (list []PartInfo) {
	type place struct {
		where Place
		name  string
	}
	seen := map[place]bool{}
	c := r.within(e)
	for _, part := range c.many("PartInfo") {
		p := r.partInfo(part)
		where, id := p.Place()
		if where != Outside && seen[place{where, id}] {
			r.fail(invalidHeader, "two PartInfo name the same payload %.100q", p.Href)
		}
		seen[place{where, id}] = true
		list = append(list, p)
	}
	c.end(false)
	return list
}

func (r *reading) partInfo(e *etree.Element) PartInfo {
	p := PartInfo{Href: token(r.attribute(e, "href"))}
	if cid, ok := cutScheme(p.Href); ok {
		if id, err := url.PathUnescape(cid); err != nil || id == "" {
			r.fail(invalidHeader, "PartInfo: href %.100q names no Content-ID", p.Href)
		}
	}
	c := r.within(e)
	// The first edition of the standard allows several in its text.
	for _, s := range c.many("Schema") {
		p.Schemas = append(p.Schemas, Schema{Location: r.attribute(s, "location"), Version: r.attribute(s, "version"), Namespace: r.attribute(s, "namespace")})
	}
	if d := c.optional("Description"); d != nil {
		p.Description = clean(r.text(d), maxText) // nothing depends on its xml:lang
	}
	if list := c.optional("PartProperties"); list != nil {
		p.Properties = r.properties(list)
	}
	c.end(false)
	return p
}

// Place says where a payload stands.
type Place int

// Places of a payload (ebMS 3.0 Core §5.2.2.13).
const (
	InBody   Place = iota // in the SOAP Body
	Attached              // in a MIME part
	Outside               // somewhere else, behind a URL
)

// Place says where the payload stands, and under which name: the Content-ID of
// its part, decoded once and without angle brackets (RFC 2392 §2: a plus sign is
// a plus sign), or the id of an element, empty for the Body as a whole.
func (p PartInfo) Place() (where Place, id string) {
	if cid, ok := cutScheme(p.Href); ok {
		if decoded, err := url.PathUnescape(cid); err == nil {
			cid = decoded
		}
		return Attached, cid
	}
	if p.Href == "" {
		return InBody, ""
	}
	if id, ok := strings.CutPrefix(p.Href, "#"); ok {
		return InBody, id
	}
	return Outside, p.Href
}

// cutScheme takes "cid:" off, in any case (RFC 3986 §3.1).
func cutScheme(href string) (cid string, ok bool) {
	const scheme = "cid:"
	if len(href) < len(scheme) || !strings.EqualFold(href[:len(scheme)], scheme) {
		return "", false
	}
	return href[len(scheme):], true
}
