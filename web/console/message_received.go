package console

import (
	"strconv"

	"edigw/queue"
	"edigw/web"
)

// came says how a received message came, what we found and answered, and what
// followed; nothing of one that we sent.
func (c *Console) came(v *visit, h history) (all []fact, err error) {
	in := h.inbound
	if in == nil {
		return nil, nil
	}
	add := func(f fact) {
		if f.Value != "" || len(f.Print) > 0 {
			all = append(all, f)
		}
	}
	if in.Header == nil { // that says it
		add(fact{Name: "From, to", Value: plain(in.From) + " to " + plain(in.To), Code: true})
	} else if in.Header.Fetched {
		add(fact{Name: "Fetched", Value: "with a pull request of ours"})
	}
	add(fact{Name: "Subject", Value: plain(in.Subject)})
	add(fact{Name: "Encrypted", Value: yesNo(in.Encrypted)})
	add(fact{Name: "Compressed", Value: yesNo(in.Compressed)})
	add(fact{Name: "Signed", Value: c.signedBy(v, h)})
	if in.Signer != "" {
		add(fact{Name: "Its fingerprint", Print: inGroups(in.Signer)})
	}
	if len(h.letters) == 0 { // it says so
		add(fact{Name: "Refused because", Value: plain(in.Problem)})
	}
	add(fact{Name: "Odd about it", Value: plain(in.Warning)})
	add(fact{Name: "We answered", Value: plain(in.Disposition), Code: true})
	add(fact{Name: "Digest given", Value: plain(in.MIC), Code: true})
	if err := c.receiptFact(v, in, add); err != nil {
		return nil, err
	}
	if err := c.followed(v, "Webhook", in.Post, add); err != nil {
		return nil, err
	}
	add(fact{Name: "In the folder", Value: plain(web.InboxFile(h.message, h.events)), Code: true})
	add(fact{Name: "Request kept", Value: requestKept(h.message, in)})
	return all, nil
}

// signedBy says whether it was signed, and with which certificate.
func (c *Console) signedBy(v *visit, h history) string {
	in := h.inbound
	switch {
	case !in.Signed:
		return "no"
	case in.Signer == "":
		return "yes, by nobody whose certificate is on file, or wrongly"
	}
	return "yes, verified with " + c.certificateNamed(v, h.message.Partner, in.Signer)
}

// receiptFact says where our receipt went, or goes.
func (c *Console) receiptFact(v *visit, in *web.Inbound, add func(fact)) error {
	switch {
	case !in.Asked:
		add(fact{Name: "Our receipt", Value: "none: they asked for none"})
		return nil
	case in.ReceiptURL == "":
		name := "Our receipt"
		if in.Error() != nil {
			name = "Our answer"
		}
		add(fact{Name: name, Value: "in the response"})
		return nil
	}
	add(fact{Name: "Our receipt to", Value: plain(web.PlainURL(in.ReceiptURL)), Code: true})
	return c.followed(v, "Our receipt", in.Receipt, add)
}

// followed is where a message that follows from a received one stands.
func (c *Console) followed(v *visit, name string, m *queue.Message, add func(fact)) error {
	if m == nil {
		return nil
	}
	s, err := c.reader.Shown(v.r.Context(), *m)
	if err != nil {
		return err
	}
	o, err := c.outcomeOf(v, web.Seen{Message: *m, Shown: s})
	add(fact{Name: name, Value: o.sentence, Link: messagePath(m.ID)})
	return err
}

// requestKept says what is there of a refused message, to be opened again.
func requestKept(m queue.Message, in *web.Inbound) string {
	if m.Payload.SHA256 != "" {
		return ""
	}
	switch in.Request {
	case web.RequestWhole:
		return "whole"
	case web.RequestBegin:
		return "only its beginning"
	case web.RequestHeader:
		return "only its header: it was refused before its body was read"
	}
	return "no"
}

func yesNo(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}

// inboundFiles are the files of a received document of several, to download for
// who may see them.
func inboundFiles(v *visit, h history) (rows []fileRow) {
	if h.inbound == nil {
		return nil
	}
	for _, f := range h.inbound.Files {
		row := fileRow{N: f.N, Name: fileName(f.Name, f.N), Type: plain(f.ContentType), Size: f.Size}
		if v.user.Payloads {
			row.Path = partPath(h.message.ID, f.N)
		}
		rows = append(rows, row)
	}
	return rows
}

// fileName is what a file of a document of several is called.
func fileName(name string, n int) string {
	if name == "" {
		return "File " + strconv.Itoa(n) + ", without a name"
	}
	return plain(name)
}

// partPath is the address of one file of a document of several.
func partPath(message string, n int) string {
	return messagePath(message) + "/payload?part=" + strconv.Itoa(n)
}

// certificateNamed is a certificate of a partner by its fingerprint.
func (c *Console) certificateNamed(v *visit, partner, fingerprint string) string {
	for _, cert := range c.Settings().Certificates(v.now) {
		if cert.SHA256 == fingerprint && cert.Owner == partner {
			return cert.Subject + ", serial " + cert.Serial + " (" + cert.File + ")"
		}
	}
	return "a certificate that is not on file now"
}

// plainLines are lines without anything that a page could trip over.
func plainLines(lines []string) (all []string) {
	for _, l := range lines {
		all = append(all, plain(l))
	}
	return all
}
