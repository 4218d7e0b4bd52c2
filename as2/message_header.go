package as2

import (
	"crypto"
	"mime"
	"net/http"
	"strings"
	"time"

	"edigw/internal/tame"
)

// maxSubject is the longest Subject that is sent, in bytes before encoding.
const maxSubject = 200

// messageHeaders composes the HTTP header of a message, unfolded (RFC 4130 §6).
func messageHeaders(a Agreement, d Document, content []Field, now time.Time) []Field {
	if d.Date.IsZero() {
		d.Date = now
	}
	h := append(a.versionHeaders(),
		Field{"AS2-From", QuoteName(a.From)},
		Field{"AS2-To", QuoteName(a.To)},
		Field{"Message-ID", d.MessageID},
		Field{"Date", d.Date.UTC().Format(http.TimeFormat)},
		Field{"User-Agent", product(a)},
		Field{"MIME-Version", "1.0"},
	)
	if a.Subject != "" {
		h = append(h, Field{"Subject", subject(a.Subject, d)})
	}
	return append(append(h, receiptHeaders(a, d)...), content...)
}

// receiptHeaders ask for an MDN (RFC 4130 §7.3).
func receiptHeaders(a Agreement, d Document) []Field {
	if a.MDN.Mode != MDNSync && a.MDN.Mode != MDNAsync {
		return nil
	}
	h := []Field{{"Disposition-Notification-To", QuoteName(a.From)}}
	if a.MDN.Signed {
		h = append(h, Field{"Disposition-Notification-Options",
			"signed-receipt-protocol=optional, pkcs7-signature; signed-receipt-micalg=optional, " + a.digestName(askedDigest(a))})
	}
	if a.MDN.Mode == MDNAsync {
		h = append(h, Field{"Receipt-Delivery-Option", receiptURL(a.MDN.URL, d.Token)})
	}
	return h
}

// askedDigest is the algorithm that the receipt is asked to use.
func askedDigest(a Agreement) crypto.Hash {
	switch {
	case a.MDN.Algorithm != 0:
		return a.MDN.Algorithm
	case a.Sign != 0:
		return a.Sign
	}
	return fallbackDigest
}

// tokenParameter carries the token of a build in the URL of its asynchronous
// receipt.
const tokenParameter = "t"

func receiptURL(base, token string) string {
	mark := "?"
	if strings.Contains(base, "?") {
		mark = "&"
	}
	return base + mark + tokenParameter + "=" + token
}

// subject fills the agreement's pattern in. Beyond ASCII it is encoded as RFC
// 2047 has it; line ends and other controls become blanks.
func subject(pattern string, d Document) string {
	s := strings.NewReplacer("{reference}", d.Reference, "{file}", d.FileName).Replace(pattern)
	s = tame.Clip(tame.Line(s), maxSubject)
	return mime.QEncoding.Encode("utf-8", s)
}

func product(a Agreement) string {
	if a.ProductHeader != "" {
		return a.ProductHeader
	}
	return "edigw"
}
