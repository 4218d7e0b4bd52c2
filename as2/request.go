package as2

import (
	"crypto"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"edigw/as2/smime"
	"edigw/fault"
	"edigw/internal/tame"
)

// request is what the HTTP header of a message says.
type request struct {
	from, to         string // unquoted; from is the partner
	rawFrom, rawTo   string // to be swapped exactly in the MDN (RFC 4130 §6.2)
	messageID        string // as received, to be echoed exactly; empty if it must not be
	subject          string
	version          string // AS2-Version; may be empty
	wantsMDN         bool
	receiptURL       string // where an asynchronous MDN goes; empty: in the response
	emptyURL         bool   // the field for it is there and empty
	signedMDN        bool
	protocolRequired bool     // a receipt protocol that we do not know is required
	algorithms       []string // for the MDN, as spelled by the partner, first choice first
	algorithmNeeded  bool     // one of them is required
}

var errHeader = errors.New("AS2-From, AS2-To and Message-ID must each occur once, with an AS2 name each")

// parseRequest reads what RFC 4130 §6 and §7.3 put into the header. errHeader if
// it cannot be told who sends to whom. A Message-ID that must not be echoed is
// left empty.
func parseRequest(h http.Header) (request, error) {
	q := request{
		rawFrom: h.Get("AS2-From"), rawTo: h.Get("AS2-To"),
		subject:    tame.Clip(tame.Line(h.Get("Subject")), maxWords),
		version:    h.Get("AS2-Version"),
		receiptURL: strings.TrimSpace(h.Get("Receipt-Delivery-Option")), // QUIRK(BizTalk): may be there and empty
	}
	// RFC 4130 §7.3: only this asks for an MDN, whatever its value.
	_, q.wantsMDN = h["Disposition-Notification-To"]
	q.emptyURL = len(h.Values("Receipt-Delivery-Option")) > 0 && q.receiptURL == ""
	q.readOptions(h.Get("Disposition-Notification-Options"))
	for _, name := range []string{"AS2-From", "AS2-To", "Message-ID"} {
		if len(h.Values(name)) > 1 {
			return q, errHeader
		}
	}
	var err1, err2 error
	q.from, err1 = ParseName(q.rawFrom)
	q.to, err2 = ParseName(q.rawTo)
	if err1 != nil || err2 != nil {
		return q, errHeader
	}
	if id := strings.Trim(h.Get("Message-ID"), " \t"); CheckMessageID(id) == nil {
		q.messageID = id
	}
	return q, nil
}

// readOptions reads Disposition-Notification-Options (RFC 4130 §7.3).
// QUIRK(several, as2-server #15): a protocol without micalg asks for a signed
// receipt all the same.
func (q *request) readOptions(field string) {
	for _, option := range strings.Split(field, ";") {
		name, list, _ := strings.Cut(option, "=")
		var values []string
		required := false
		for _, v := range strings.Split(list, ",") {
			switch v = strings.Trim(v, " \t\""); strings.ToLower(v) {
			case "", "optional":
			case "required":
				required = true
			default:
				values = append(values, v)
			}
		}
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "signed-receipt-protocol":
			for _, v := range values {
				q.signedMDN = q.signedMDN || strings.Contains(strings.ToLower(v), "pkcs7-signature")
			}
			q.protocolRequired = required && !q.signedMDN
		case "signed-receipt-micalg":
			q.algorithms = values
			q.algorithmNeeded = required
		}
	}
}

// asked is the first algorithm of the list that is supported (RFC 4130 §7.3:
// left to right), 0 if none is.
func (q request) asked() crypto.Hash {
	for _, name := range q.algorithms {
		if h, ok := smime.HashByName(name); ok {
			return h
		}
	}
	return 0
}

// succeeds reports whether the partner claims to follow the successor of RFC
// 4130, which begins with version 1.3.
func (q request) succeeds() bool {
	v, err := strconv.ParseFloat(strings.TrimSpace(q.version), 64)
	return err == nil && v >= 1.3
}

// unsignedMIC is the algorithm for the MIC of an unsigned message.
func (q request) unsignedMIC(rules MICRules) crypto.Hash {
	switch asked := q.asked(); {
	case rules.Unsigned != 0:
		return rules.Unsigned
	case asked != 0:
		return asked
	case q.succeeds():
		return crypto.SHA256
	}
	return crypto.SHA1 // RFC 4130 §7.4.3
}

// spell names an algorithm as the partner did, if he did: in what he asks for,
// or else in what he says of his signature.
func (q request) spell(h crypto.Hash, others ...string) string {
	for _, name := range slices.Concat(q.algorithms, others) {
		if asked, ok := smime.HashByName(name); ok && asked == h && headerValue(name) {
			return name
		}
	}
	return micName(h)
}

// checkReceipt refuses a message whose receipt we cannot make or deliver: it
// would be sent again and again.
func (q request) checkReceipt(a Agreement) error {
	if !q.wantsMDN {
		return nil
	}
	switch {
	case q.protocolRequired:
		return cannotAnswer(unsupportedFormat, "a receipt protocol is required that is not pkcs7-signature")
	case q.algorithmNeeded && len(q.algorithms) > 0 && q.asked() == 0:
		// RFC 4130 §7.3: no other algorithm may be put in its place.
		return cannotAnswer(unsupportedMIC, "a MIC algorithm is required that is not supported")
	case q.signedMDN && a.SigningKey == nil:
		return cannotAnswer(unsupportedFormat, "a signed receipt is asked for, but we have no key in force to sign it")
	case q.receiptURL != "" && !allowedURL(q.receiptURL, a.Receive.ReceiptURLs):
		return &refusal{
			disposition: Disposition{Mode: autoMode, Type: "processed", Modifier: "error", Text: unexpectedError}, reason: fault.ReasonFormat, told: receiptNotAgreed,
			problem: "the receipt is asked for at an address that as2.receive.receipt_urls does not list: " + tame.Clip(tame.Line(q.receiptURL), maxWords),
		}
	}
	return nil
}
