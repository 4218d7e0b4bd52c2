package as2

import (
	"bytes"
	"cmp"
	"crypto"
	"crypto/rand"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Answer is an MDN of ours, complete: it is kept and sent as it is, again for a
// duplicate (RFC 4130 §5.5).
type Answer struct {
	MessageID   string  `json:"message_id"` // its own
	Headers     []Field `json:"headers"`    // in the order in which they were composed
	Body        []byte  `json:"body"`
	URL         string  `json:"url,omitempty"` // where it is owed; empty: it goes into the response
	Disposition string  `json:"disposition"`   // as in the Disposition field
}

// answerer writes MDNs.
type answerer struct {
	domain   string // right side of their Message-IDs
	product  string
	now      time.Time
	boundary func() string
	unique   func() string // left side of their Message-IDs
	told     string        // why a message is refused, for people; empty: as refusalTexts has it
}

// answer makes the MDN for a message. It is signed if that was asked, also for
// a refusal (RFC 4130 §7.3.1), unless a is nil: a stranger gets nothing signed.
// mic is nil if the content was not processed (RFC 4130 §7.4.3).
func (w answerer) answer(q request, a *Agreement, d Disposition, mic *MIC) (*Answer, error) {
	id := "<mdn-" + w.unique() + "@" + w.domain + ">"
	outer := w.report(q, d, mic)
	if a != nil && q.signedMDN && a.SigningKey != nil {
		signing := *a
		signing.Sign = answerDigest(q, *a)
		sums := newDigester(signing.Sign)
		if err := outer.write(sums); err != nil {
			return nil, err
		}
		var err error
		if outer, err = signed(signing, outer, sums.sum(signing.Sign), w.now, w.boundary()); err != nil {
			return nil, err
		}
	}
	product := "Server"
	if q.receiptURL != "" {
		product = "User-Agent" // it goes out as a request
	}
	body := bytes.NewBuffer(make([]byte, 0, outer.size))
	if err := outer.body(body); err != nil {
		return nil, err
	}
	return &Answer{
		MessageID: id,
		Headers: slices.Concat(w.version(a), []Field{
			{"AS2-From", q.rawTo}, // RFC 4130 §6.2: the two names change places
			{"AS2-To", q.rawFrom},
			{"Message-ID", id},
			{"Date", w.now.UTC().Format(http.TimeFormat)},
			{product, w.product},
			{"MIME-Version", "1.0"},
		}, outer.header),
		Body:        body.Bytes(),
		Disposition: d.String(),
	}, nil
}

// version says what we speak to a partner; nil is a stranger. An MDN names no
// features: they are what messages are sent by.
func (w answerer) version(a *Agreement) []Field {
	switch {
	case a == nil:
		return []Field{{"AS2-Version", as2Version}}
	case a.version() == version13:
		return []Field{{"AS2-Version", version13}, {"AS2-Product", versionedProduct(w.product)}}
	}
	return []Field{{"AS2-Version", a.version()}}
}

// answerDigest is the digest that the MDN is signed with: the first that was
// asked for (RFC 4130 §7.3), else our own choice.
func answerDigest(q request, a Agreement) crypto.Hash {
	switch {
	case q.asked() != 0:
		return q.asked()
	case a.Sign != 0:
		return a.Sign
	}
	return fallbackDigest
}

// report is the multipart/report (RFC 4130 §7.4, RFC 6522 §3).
func (w answerer) report(q request, d Disposition, mic *MIC) entity {
	b := w.boundary()
	fields := "Reporting-UA: " + w.product + "\r\n" +
		"Original-Recipient: rfc822; " + q.rawTo + "\r\n" +
		"Final-Recipient: rfc822; " + q.rawTo + "\r\n"
	if q.messageID != "" {
		fields += "Original-Message-ID: " + q.messageID + "\r\n" // the exact bytes
	}
	fields += "Disposition: " + d.String() + "\r\n"
	if mic != nil {
		fields += "Received-Content-MIC: " + mic.String() + "\r\n"
	}
	body := "--" + b + "\r\n" +
		"Content-Type: text/plain; charset=us-ascii\r\nContent-Transfer-Encoding: 7bit\r\n\r\n" +
		w.words(q, d) + "\r\n" +
		"\r\n--" + b + "\r\n" +
		"Content-Type: message/disposition-notification\r\nContent-Transfer-Encoding: 7bit\r\n\r\n" +
		fields +
		"\r\n--" + b + "--\r\n"
	return entity{
		header: []Field{{"Content-Type", `multipart/report; report-type=disposition-notification; boundary="` + b + `"`}},
		size:   int64(len(body)),
		body: func(w io.Writer) error {
			_, err := io.WriteString(w, body)
			return err
		},
	}
}

// words is the part for people.
func (w answerer) words(q request, d Disposition) string {
	lines := []string{"Message: " + q.messageID, "Received: " + w.now.UTC().Format(http.TimeFormat), ""}
	if q.messageID == "" {
		lines = lines[1:]
	}
	if d.Positive() {
		lines = append(lines, "The message was accepted and its content is held safely.",
			"This says nothing about what the document means to its reader.")
	} else {
		lines = append(lines, "The message was not accepted.", cmp.Or(w.told, refusalTexts[d.Text]))
	}
	return strings.Join(lines, "\r\n")
}

// processed is the disposition of a message that was taken.
func processed() Disposition { return Disposition{Mode: autoMode, Type: "processed"} }

// randomID cannot be guessed and does not repeat.
func randomID() string { return strings.ToLower(rand.Text()) }
