package ebms

import "strings"

// Check tells what is wrong with a message that is to be sent: what ParseEnvelope
// would refuse, and what the peer would read other than it is here. The error is
// a *ProblemError with the code that a peer would answer with.
func (u *UserMessage) Check() error {
	r := &reading{messageID: u.MessageID}
	if u.Timestamp.IsZero() {
		r.fail(invalidHeader, "Timestamp is missing")
	}
	if bare(u.MessageID) != u.MessageID || bare(u.RefToMessageID) != u.RefToMessageID {
		r.fail(invalidHeader, "MessageId stands in angle brackets, which belong to mail")
	}
	r.line("mpc", u.MPC)
	u.From.check(r, "From")
	u.To.check(r, "To")
	if a := u.Agreement; a != nil {
		r.line("AgreementRef", a.Value)
		r.line("AgreementRef/@type", a.Type)
		r.line("AgreementRef/@pmode", a.PMode)
		if a.Value == "" {
			r.fail(invalidHeader, "AgreementRef is empty, which the schema forbids: leave it out")
		}
	}
	r.line("Service", u.Service.Value)
	r.line("Service/@type", u.Service.Type)
	r.token("Action", u.Action)
	r.token("ConversationId", u.ConversationID)
	checkProperties(r, u.Properties)
	for _, p := range u.Parts {
		r.token("PartInfo/@href", p.Href)
		r.line("PartInfo/Description", p.Description)
		for _, s := range p.Schemas {
			if s.Location == "" {
				r.fail(invalidHeader, "Schema has no location")
			}
			r.line("Schema/@location", s.Location)
			r.line("Schema/@version", s.Version)
			r.line("Schema/@namespace", s.Namespace)
		}
		checkProperties(r, p.Properties)
	}
	r.userMessage(u.Element())
	return r.err()
}

func (p Party) check(r *reading, side string) {
	for _, id := range p.IDs {
		r.line(side+"/PartyId", id.Value)
		r.line(side+"/PartyId/@type", id.Type)
	}
	r.line(side+"/Role", p.Role)
}

func checkProperties(r *reading, list []Property) {
	for _, p := range list {
		r.line("Property/@name", p.Name)
		r.line("Property/@type", p.Type)
		if p.Value == "" {
			r.fail(invalidHeader, "Property %.100q is empty, which the schema forbids", p.Name)
		}
		if !same(p.Value) {
			r.fail(invalidHeader, "Property %.100q has white space around its value, or characters that XML cannot carry", p.Name)
		}
	}
}

// line refuses a value that is not read as it was written, or is more than one
// line.
func (r *reading) line(what, value string) {
	if !same(value) || strings.ContainsAny(value, "\t\r\n") || clean(value, maxValue) != value && len(value) <= maxValue {
		r.fail(invalidHeader, "%s %.100q has white space around it, or characters that do not belong there", what, value)
	}
}

// token refuses a value that is not read as it was written because it is an
// xsd:token.
func (r *reading) token(what, value string) {
	if token(value) != value {
		r.fail(invalidHeader, "%s %.100q has blanks around it, or several at once", what, value)
	}
	r.line(what, value)
}

// same reports whether a reader gets a value as it is.
func same(value string) bool { return carried(value) == value && trim(value) == value }
