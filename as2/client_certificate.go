package as2

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"net/http"
	"strings"

	"edigw/as2/smime"
	"edigw/internal/door"
)

// unproven refuses a request that came without the partner's client
// certificate, before its body is read. It is kept like any refused message,
// without content: as many as the inbox keeps of them.
func (h *Handler) unproven(w http.ResponseWriter, r *http.Request, q request, partner string) {
	nothing := sha256.Sum256(nil)
	no := refusal{
		disposition: Disposition{Mode: autoMode, Type: "processed", Modifier: "error", Text: authenticationFailed},
		reason:      refusalReason(authenticationFailed),
		problem:     "the request came " + door.Shown(r.TLS, certificateText) + ", and tls.inbound lists the client certificates that the partner may show; its body was not read",
	}
	_, _, err := h.o.Inbox.Receive(r.Context(), Received{
		Partner: partner, From: q.from, To: q.to, MessageID: q.messageID, Subject: q.subject, At: h.o.Now(),
		Disposition: no.disposition, Reason: no.reason, Problem: no.problem,
		Header: door.WithoutCredentials(r.Header), Wire: strings.NewReader(""), WireSHA256: hex.EncodeToString(nothing[:]), Unread: true,
	})
	if err != nil {
		h.failed(partner, "record a request without the client certificate", err)
	}
	w.Header().Set("Connection", "close")
	http.Error(w, "This address takes messages of this partner over TLS only, with the client certificate that was agreed.", http.StatusForbidden)
}

// certificateText names a certificate for people, to be compared by phone.
func certificateText(c *x509.Certificate) string {
	return signerText(smime.CertificateID(c), smime.Fingerprint(c))
}
