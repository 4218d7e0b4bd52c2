package inbox

import (
	"encoding/json"
	"fmt"
	"time"

	"edigw/as2"
	"edigw/as4"
	"edigw/edi"
	"edigw/queue"
)

// Facts is what is known of a document that a partner sent. It lies beside the
// document as <name>.json.
type Facts struct {
	ID          string      `json:"id"` // ours: a program that must not take a document twice compares it
	Partner     string      `json:"partner"`
	Protocol    string      `json:"protocol"`
	MessageID   string      `json:"message_id"`
	From        string      `json:"from"`
	To          string      `json:"to"`
	Subject     string      `json:"subject,omitempty"`
	Received    time.Time   `json:"received"`
	FileName    string      `json:"file_name,omitempty"` // as the partner said
	ContentType string      `json:"content_type,omitempty"`
	Size        int64       `json:"size"`
	SHA256      string      `json:"sha256,omitempty"`
	Kind        string      `json:"kind,omitempty"` // x12, edifact, ubl, cii, xml, unknown
	Type        string      `json:"type,omitempty"` // 810, INVOIC, Invoice, …
	References  []Reference `json:"references,omitempty"`
	Signed      bool        `json:"signed"`
	Encrypted   bool        `json:"encrypted"`
	Compressed  bool        `json:"compressed"`
	Signer      string      `json:"signer,omitempty"` // fingerprint of the certificate that verified
	MIC         string      `json:"mic,omitempty"`
	Disposition string      `json:"disposition"` // what we answered: of AS2 the disposition, of AS4 "receipt", a code or a SOAP fault
	Problem     string      `json:"problem,omitempty"`
	Warning     string      `json:"warning,omitempty"` // what is odd about a message that was accepted all the same

	// Attachments are the parts of a multipart/related document, in its order:
	// the document is the whole multipart (RFC 6362). Empty for any other.
	Attachments []Attachment `json:"attachments,omitempty"`

	AS4 *AS4 `json:"as4,omitempty"` // of an AS4 message
}

// Attachment is one part of a document of several.
type Attachment struct {
	Name        string `json:"name,omitempty"` // as the partner said, safe to create; may be empty
	ContentType string `json:"content_type"`
	Size        int64  `json:"size"`   // without its transfer encoding
	SHA256      string `json:"sha256"` // of the same

	Properties []Reference `json:"properties,omitempty"` // part properties of AS4
}

// Reference is a business reference of the document, as edi.Reference has it.
type Reference struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Record is what is kept with a received message besides its payload: it is
// the Record of the message's only build.
type Record struct {
	Facts      Facts       `json:"facts"`
	Answer     *as2.Answer `json:"answer,omitempty"`     // the MDN, as it was sent; nil if none was asked for
	AnswerAS4  *as4.Answer `json:"answer_as4,omitempty"` // the receipt or error of AS4, as it was sent
	Request    string      `json:"request,omitempty"`    // spool name (kind inbox) of the request as it arrived, see WriteRequest
	Cut        bool        `json:"cut,omitempty"`        // only the beginning of it was kept
	Unread     bool        `json:"unread,omitempty"`     // it was refused before its body was read: there is only a header
	WireSHA256 string      `json:"wire_sha256"`          // of its body
	Claims     []as2.Claim `json:"claims,omitempty"`     // who is said to have signed a message whose signer nobody knows
	Post       string      `json:"post,omitempty"`       // message that carries the document to a webhook; empty: it goes to the folder
}

// answered is what was answered; nil: nothing.
func (r Record) answered() *answer {
	if r.AnswerAS4 != nil {
		return answerAS4(r.AnswerAS4)
	}
	return answerAS2(r.Answer)
}

// Answered reports whether the partner was answered, and where that is owed: empty
// if it went into the response.
func (r Record) Answered() (answered bool, url string) {
	a := r.answered()
	return a != nil, answeredAt(a)
}

func answeredAt(a *answer) string {
	if a == nil {
		return ""
	}
	return a.URL
}

// owes reports whether the answer goes out by itself.
func (r Record) owes() bool {
	return answeredAt(r.answered()) != ""
}

// ReadRecord reads the record of a received message from its builds.
func ReadRecord(builds []queue.Build) (Record, error) {
	var r Record
	if len(builds) == 0 {
		return r, fmt.Errorf("inbox: the record of a received message is gone: %w", queue.ErrNotFound)
	}
	if err := json.Unmarshal(builds[0].Record, &r); err != nil {
		return r, fmt.Errorf("inbox: the record of message %s cannot be read back: %w", builds[0].Message, err)
	}
	return r, nil
}

// factsOf are those that the protocol found out.
func factsOf(r as2.Received) Facts {
	f := Facts{
		Partner: r.Partner, Protocol: "as2", MessageID: r.MessageID, From: r.From, To: r.To, Subject: r.Subject, Received: r.At.UTC(),
		FileName: r.FileName, ContentType: r.ContentType, Size: r.Size, SHA256: r.SHA256,
		Signed: r.Signed, Encrypted: r.Encrypted, Compressed: r.Compressed, Signer: r.Signer,
		Disposition: r.Disposition.String(), Problem: r.Problem, Warning: r.Warning,
	}
	if r.MIC.Value != "" {
		f.MIC = r.MIC.String()
	}
	for _, a := range r.Attachments {
		f.Attachments = append(f.Attachments, Attachment{Name: a.Name, ContentType: a.ContentType, Size: a.Size, SHA256: a.SHA256})
	}
	return f
}

// recognised adds what the document is.
func (f *Facts) recognised(r edi.Report) queue.Business {
	f.Kind, f.Type = string(r.Kind), r.Type
	for _, ref := range r.References {
		f.References = append(f.References, Reference(ref))
	}
	return queue.Business{Kind: r.Kind, Type: r.Type, References: r.References}
}
