package as2

import "net/http"

// turnAway answers a message between names that have no agreement: never signed,
// never anywhere but in this response (RFC 4130 §6.2).
func (h *Handler) turnAway(w http.ResponseWriter, q request) {
	if h.o.Stranger != nil {
		h.o.Stranger()
	}
	if n, tell := h.strangers.Comes(q.from, q.to, h.o.Now()); tell {
		h.o.Log.Info("AS2 message between unknown names refused", "as2_from", q.from, "as2_to", q.to, "message_id", q.messageID, "since_last_line", n)
	}
	if !q.wantsMDN {
		http.Error(w, refusalTexts[unknownRelationship], http.StatusForbidden)
		return
	}
	d := Disposition{Mode: autoMode, Type: "processed", Modifier: "error", Text: unknownRelationship}
	answer, err := h.answerer().answer(q, nil, d, nil)
	if err != nil {
		h.unavailable(w, "", "make receipt", err)
		return
	}
	answer.send(w)
}
