package as4sender

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"

	"edigw/as4"
	"edigw/as4/ebms"
	"edigw/as4/wssec"
	"edigw/fault"
	"edigw/lane/evidence"
)

func (e *proof) writeTexts() error {
	facts := evidence.Facts{Who: e.who(), Expected: e.expected(), Said: e.said(), Ack: func(k *fault.Acknowledgement) string {
		if k.EBMS != "" {
			return k.EBMS
		}
		return "receipt"
	}}
	if err := e.PutReadme(facts); err != nil {
		return err
	}
	return e.steps().Put()
}

// who tells what the header said.
func (e *proof) who() []evidence.Line {
	u := e.rendition.User
	if u == nil {
		return nil
	}
	all := []evidence.Line{
		{Name: "From", Value: partyLine(u.From)}, {Name: "To", Value: partyLine(u.To)},
		{Name: "Service", Value: typed(u.Service.Value, u.Service.Type)}, {Name: "Action", Value: u.Action},
	}
	if u.Agreement != nil {
		all = append(all, evidence.Line{Name: "Agreement", Value: typed(u.Agreement.Value, u.Agreement.Type)})
	}
	if u.ConversationID != "" {
		all = append(all, evidence.Line{Name: "Conversation", Value: u.ConversationID})
	}
	if u.RefToMessageID != "" {
		all = append(all, evidence.Line{Name: "Answers", Value: u.RefToMessageID})
	}
	return all
}

func partyLine(p ebms.Party) string {
	var ids []string
	for _, id := range p.IDs {
		ids = append(ids, typed(id.Value, id.Type))
	}
	return strings.Join(ids, ", ") + " as " + p.Role
}

func typed(value, kind string) string {
	if kind == "" {
		return value
	}
	return value + " (" + kind + ")"
}

// expected are the digests of our signature.
func (e *proof) expected() (all []evidence.Line) {
	for _, r := range e.rendition.References {
		all = append(all, digestLine("Digest expected", r))
	}
	return all
}

func digestLine(name string, r ebms.Reference) evidence.Line {
	return evidence.Line{Name: name, Value: fmt.Sprintf("%s, %s, of %s", base64.StdEncoding.EncodeToString(r.Value), opensslName(r.DigestMethod), r.URI)}
}

// said is what the receipt, or the error, says.
func (e *proof) said() []evidence.Line {
	all := []evidence.Line{{Name: "Receipt's own id", Value: e.signal.MessageID}, {Name: "It is about", Value: e.signal.RefToMessageID}}
	for _, err := range e.signal.Errors {
		code, _ := ebms.LookupCode(err.Code)
		all = append(all, evidence.Line{Name: "Error", Value: strings.Join([]string{err.Code, code.Name, string(err.Severity), err.Description, err.Detail}, " ")})
	}
	if f := e.signal.Fault; f != nil {
		all = append(all, evidence.Line{Name: "SOAP fault", Value: f.Error()})
	}
	for _, r := range e.signal.References {
		all = append(all, digestLine("Digest received", r))
	}
	return all
}

// steps is VERIFY.txt.
func (e *proof) steps() *evidence.Steps {
	s := e.Steps("openssl 1.1.1 or later, xmlsec1 1.2.30 or later, gzip")
	if s.Certificate() {
		e.signatureSteps(s)
	}
	checked := false
	for _, m := range e.made {
		if m.same {
			checked = true
			e.contentSteps(s, m)
		}
	}
	if !checked {
		s.Say("The content cannot be checked; README.txt says why.")
	}
	if e.document {
		s.Add(evidence.DocumentFile+" is the document that was handed in, whose SHA-256 is in README.txt:", evidence.SHA256("cat "+evidence.DocumentFile, e.Message.Payload.SHA256))
	}
	return s
}

// signatureSteps have xmlsec1 verify the receipt.
func (e *proof) signatureSteps(s *evidence.Steps) {
	switch {
	case e.signed.Algorithm == wssec.Ed25519:
		s.Say(envelopeFile + " is signed by Ed25519, which xmlsec1 does not know. Programs on Apache Santuario do.")
		return
	case e.signed.Parts:
		s.Say("The signature of the receipt covers attachments that came along with it, which xmlsec1\ncannot read; they are in " + evidence.ReceiptFile + ".")
		return
	}
	ids := ""
	for _, name := range e.signed.Elements {
		if option := " --id-attr:Id " + name; plainName(name) && !strings.Contains(ids+" ", option+" ") {
			ids += option
		}
	}
	s.Add(fmt.Sprintf("%s was signed with that certificate's key, and what the signature covers\n   (%s) did not change since. (xmlsec1 1.3 also wants --lax-key-search.)", envelopeFile, strings.Join(e.signed.Elements, ", ")),
		fmt.Sprintf("xmlsec1 --verify --pubkey-cert-pem %s%s %s", evidence.TheirFile(e.Signer), ids, envelopeFile))
	if e.signal.Kind == as4.KindReceipt && bytes.Contains(e.signed.Envelope, []byte(e.rendition.MessageID)) {
		s.Add("It is about our message\n   "+evidence.OneLine(e.rendition.MessageID)+":", fmt.Sprintf(`grep -F "%s" %s`, e.rendition.MessageID, envelopeFile))
	}
	if e.signed.UserCopy {
		s.Say("The receipt holds a copy of the header and no digests: it shows that the message came,\nnot with which content.")
	}
}

// plainName reports whether an element's name can stand in a command.
func plainName(name string) bool {
	return name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// contentSteps hold a file to the digest that was signed, and that digest to the
// receipt.
func (e *proof) contentSteps(s *evidence.Steps, m made) {
	name, value := opensslName(m.DigestMethod), base64.StdEncoding.EncodeToString(m.Value)
	of := map[as4.CoveredKind]string{as4.CoveredHeader: "the header of our message: parties, service, action, ids", as4.CoveredBody: "its SOAP Body", as4.CoveredPayload: "what it carried"}[m.Kind]
	s.Add(fmt.Sprintf("%s, %s, has the digest (%s, in base64)\n   %s", m.file, of, name, value), evidence.Digest(name, m.file, value))
	if bytes.Contains(e.signed.Envelope, []byte(value)) {
		s.Add("The receipt names that digest:", fmt.Sprintf(`grep -F "%s" %s`, value, envelopeFile))
	}
	switch {
	case m.Payload == 0:
	case m.Plain:
		s.Add(fmt.Sprintf("%s is a file as it was handed in, SHA-256\n   %s:", m.file, m.sum), evidence.SHA256("cat "+m.file, m.sum))
	case m.Compressed:
		s.Add(fmt.Sprintf("%s is %s, compressed:", m.file, m.part), "gzip -dc "+m.file+" | cmp - "+m.part)
	default:
		s.Say(fmt.Sprintf("%s is the form of %s that is signed: of XML the canonical one\n(http://www.w3.org/2001/10/xml-exc-c14n#), of text that with CRLF as line ends.", m.file, m.part))
	}
}

// opensslName is how openssl spells a digest algorithm: sha256.
func opensslName(method string) string {
	h, _ := wssec.DigestByURI(method)
	return strings.ToLower(strings.ReplaceAll(h.String(), "-", ""))
}
