package as4

import (
	"errors"
	"strings"

	"edigw/as4/ebms"
	"edigw/internal/door"
)

// MaxPullers bounds the partners that pull from one channel: whose PullRequest it
// is, their signatures and logins alone can tell, and each is tried.
const MaxPullers = 50

// pull answers a PullRequest with the oldest message that waits in its MPC (ebMS
// 3.0 Core §3.4). Whoever may not pull learns nothing: not whether there is such
// an MPC, and not whether anything waits in it.
func (q *request) pull(s *ebms.SignalMessage) {
	h, mpc := q.h, ebms.Partition(s.PullRequest.MPC)
	var who *Puller
	if h.o.Pulls != nil {
		who = q.puller(mpc)
	}
	if who == nil {
		q.note("AS4 pull request refused: nobody who may pull is proved to have sent it", "mpc "+mpc+", message "+s.MessageID)
		const told = "The pull request is not signed by, or has no login of, anybody who may pull from this channel."
		q.refuseStranger(&refusal{code: codeSender, told: told, problem: told}, s.MessageID)
		return
	}
	if !q.identified(who.Partner) { // a message may take long to go out
		return
	}
	handed, err := h.o.Pulls.Pull(q.r.Context(), who.Partner, mpc)
	switch {
	case errors.Is(err, ErrEmpty):
		q.empty(who, s.MessageID)
	case err != nil:
		h.unavailable(q.w, who.Partner, "hand out message", err)
	default:
		handed.give(q.w)
	}
}

// empty says that nothing waits: a warning, signed as errors are.
func (q *request) empty(who *Puller, messageID string) {
	no := &refusal{code: codeEmpty}
	answer, err := no.answer(q.h, who.PMode, messageID)
	if err != nil {
		q.h.unavailable(q.w, who.Partner, "make error", err)
		return
	}
	answer.send(q.w)
}

// puller finds the partner who proved that the request is his: by its signature,
// or by a login (AS4 §3.3), and by the client certificate where one was agreed.
func (q *request) puller(mpc string) *Puller {
	candidates := q.h.o.Partners.ByMPC(mpc)
	for i := range candidates[:min(len(candidates), MaxPullers)] {
		p := &candidates[i].PMode
		if !p.mayPull(mpc) || p.Receive.Clients != nil && !door.Shows(q.r.TLS, p.Receive.Clients) {
			continue
		}
		if p.PullUser != "" && q.h.loggedIn(q.env, *p) || p.PullUser == "" && q.h.signedPull(q.env, *p) {
			return &candidates[i]
		}
	}
	return nil
}

// mayPull reports whether an MPC is that of the P-Mode, or a sub-channel of it
// (AS4 §3.5). The default MPC has none: everything would be one.
func (p PMode) mayPull(mpc string) bool {
	if mpc == ebms.Partition(p.MPC) {
		return true
	}
	sub, ok := strings.CutPrefix(mpc, p.MPC)
	return ok && ebms.Partition(p.MPC) != ebms.DefaultMPC && strings.ContainsAny(sub[:1], "/?#:")
}

// signedPull reports whether the partner signed a request. A certificate below an
// authority counts only where it is bound to the party: nothing in a PullRequest
// says who sends it.
func (h *Handler) signedPull(env *ebms.Envelope, p PMode) bool {
	if !p.SubjectIsParty {
		p.Authorities = nil
	}
	report, err := p.verify(env, nil, h.o.Now())
	return err == nil && report.Covers(env.Messaging) && report.Covers(env.Body)
}
