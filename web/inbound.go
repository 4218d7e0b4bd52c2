package web

import (
	"context"
	"errors"
	"net/url"

	"edigw/queue"
)

// Inbound is how a received message came, what we found and answered, and what
// followed from it.
type Inbound struct {
	From, To    string // AS2 names, or the first party ids of AS4
	Subject     string
	Signed      bool
	Encrypted   bool
	Compressed  bool
	Signer      string // SHA-256 fingerprint of the certificate that verified; empty: none did
	MIC         string // digest that we gave, with its algorithm; empty: none
	Disposition string // what we answered, or would have
	Problem     string // why it was refused; empty: it was not
	Warning     string // what is odd about one that was accepted all the same
	Files       []InboundFile
	Header      *Header  // of AS4; nil: it came another way
	Report      []string // of an AS4 signature that did not hold: one line a reference

	Asked      bool           // a receipt was asked for
	ReceiptURL string         // where it is owed; empty: it went into the response
	Receipt    *queue.Message // that carries it there; nil: none does
	Post       *queue.Message // that carries the document to a webhook; nil: none does
	Request    string         // what is kept of a refused request: RequestWhole, …; empty: nothing
}

// Error is the ebMS error that we refused it with; nil if it is none.
func (in *Inbound) Error() *EBMSError {
	if in.Header == nil || in.Disposition == "receipt" || in.Disposition == "" {
		return nil
	}
	e := ExplainCode(in.Disposition, "", "", in.Problem)
	e.Remedy = "" // is the sender's
	return &e
}

// InboundFile is one file of a received document of several.
type InboundFile struct {
	N           int     `json:"n" doc:"as payload?part= has it"`
	Name        string  `json:"name"`
	ContentType string  `json:"content_type"`
	Size        int64   `json:"size"`
	SHA256      string  `json:"sha256"`
	Properties  []Typed `json:"properties,omitempty" doc:"part properties of AS4"`
}

// What is kept of the request of a received message.
const (
	RequestWhole  = "whole"
	RequestBegin  = "beginning"
	RequestHeader = "header" // it was refused before its body was read
)

// received is a received message's own part on the wire.
type received struct {
	From        string          `json:"from" doc:"AS2 name, or party id of AS4"`
	To          string          `json:"to" doc:"AS2 name, or party id of AS4"`
	Subject     string          `json:"subject"`
	Signed      bool            `json:"signed"`
	Encrypted   bool            `json:"encrypted"`
	Compressed  bool            `json:"compressed"`
	Signer      string          `json:"signer" doc:"SHA-256 fingerprint of the certificate that verified"`
	MIC         string          `json:"mic" doc:"AS2: digest that the receipt gives"`
	Disposition string          `json:"disposition" doc:"what we answered; of AS4 receipt, a code of ebMS or of a SOAP fault"`
	Problem     string          `json:"problem" doc:"why it was refused"`
	Warning     string          `json:"warning"`
	Receipt     receivedReceipt `json:"receipt"`
	Webhook     *follower       `json:"webhook,omitempty" doc:"message that carries the document to a webhook"`
	Folder      string          `json:"folder" doc:"file, or the first of several, below the folder of edigw.yaml"`
	Files       []InboundFile   `json:"files" doc:"of a document of several"`
	Report      []string        `json:"signature_report,omitempty" doc:"of an AS4 signature that did not hold: what each reference says and what we got"`
	Error       *EBMSError      `json:"error,omitempty" doc:"AS4: what we refused it with"`
	Request     string          `json:"request" doc:"what is kept of it as it came" enum:"whole,beginning,header,"`
}

// receivedReceipt is our receipt for a received message on the wire.
type receivedReceipt struct {
	How     string    `json:"how" enum:"none,response,posted" doc:"none: not asked for"`
	URL     string    `json:"url,omitempty" doc:"posted: where, without its query"`
	Message *follower `json:"message,omitempty" doc:"posted: the newest that carries it"`
}

// follower is a message that follows from another on the wire.
type follower struct {
	ID     string `json:"id"`
	State  string `json:"state"`
	Letter string `json:"letter" doc:"its open or replaying letter"`
}

// Inbound reads what is known of a received message; nil of one that we sent,
// and when retention took its record.
func (o Options) Inbound(ctx context.Context, m queue.Message) (*Inbound, error) {
	if m.Direction != queue.In {
		return nil, nil
	}
	in, err := o.Received.Inbound(ctx, m.ID)
	if errors.Is(err, queue.ErrNotFound) {
		return nil, nil
	}
	return &in, err
}

// InboxFile is where a received document was put, below the folder of
// edigw.yaml; empty if it was not.
func InboxFile(m queue.Message, events []queue.Event) (path string) {
	for _, e := range events {
		if e.Type == queue.EventDelivered && e.Facts["file"] != "" {
			path = "inbox/" + m.Partner + "/" + e.Facts["file"]
		}
	}
	return path
}

// PlainURL is an address without what may be secret in it.
func PlainURL(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// viewInbound is a received message's own part.
func (a *API) viewInbound(ctx context.Context, m queue.Message, events []queue.Event) (*received, *Header, error) {
	in, err := a.Inbound(ctx, m)
	if in == nil || err != nil {
		return nil, nil, err
	}
	v := &received{
		From: in.From, To: in.To, Subject: in.Subject, Signed: in.Signed, Encrypted: in.Encrypted, Compressed: in.Compressed, Signer: in.Signer, MIC: in.MIC,
		Disposition: in.Disposition, Problem: in.Problem, Warning: in.Warning, Folder: InboxFile(m, events), Files: append([]InboundFile{}, in.Files...), Request: in.Request,
		Receipt: receivedReceipt{How: "none"}, Report: in.Report, Error: in.Error(),
	}
	switch {
	case in.ReceiptURL != "":
		v.Receipt.How, v.Receipt.URL = "posted", PlainURL(in.ReceiptURL)
	case in.Asked:
		v.Receipt.How = "response"
	}
	if v.Receipt.Message, err = a.follower(ctx, in.Receipt); err != nil {
		return nil, nil, err
	}
	v.Webhook, err = a.follower(ctx, in.Post)
	return v, in.Header, err
}

func (a *API) follower(ctx context.Context, m *queue.Message) (*follower, error) {
	if m == nil {
		return nil, nil
	}
	s, err := a.reader.Shown(ctx, *m)
	return &follower{m.ID, string(s.State), m.Letter}, err
}
