package as4

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"

	"edigw/internal/door"
)

// unproven refuses a message that came without the partner's client
// certificate; what stands behind its envelope is not read. It is kept like any
// refused message, without content: as many as the inbox keeps of them.
func (q *request) unproven(partner string) {
	nothing := sha256.Sum256(nil)
	no := refusal{
		code:    codeSender,
		problem: "the request came " + door.Shown(q.r.TLS, certificateName) + ", and tls.inbound lists the client certificates that the partner may show; its body was not read",
	}
	u := q.env.User
	rec := Received{
		Partner: partner, MessageID: bareID(u.MessageID), User: *u, At: q.h.o.Now(),
		Code: no.code, Reason: no.reason(), Problem: no.problem,
		Header: door.WithoutCredentials(q.r.Header), Wire: strings.NewReader(""), WireSHA256: hex.EncodeToString(nothing[:]), Unread: true,
	}
	if u.Test() {
		q.h.failedTest(rec)
	} else if _, _, err := q.h.o.Inbox.Receive(q.r.Context(), rec); err != nil {
		q.h.failed(partner, "record a request without the client certificate", err)
	}
	q.w.Header().Set("Connection", "close")
	http.Error(q.w, "This address takes messages of this partner over TLS only, with the client certificate that was agreed.", http.StatusForbidden)
}
