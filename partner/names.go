package partner

import "cmp"

// Names are those that the Message-IDs of documents to a partner are made of
// (delivery.md §3): our AS2 name and theirs, or the first party ids of AS4. A
// partner that is misconfigured accepts too: a name that its file does not give
// is its id, so that no two partners share a Message-ID. So it is with files that
// share their parties and differ in service, action or agreement: the id is added
// to theirs, also while one of the files has mistakes.
func (s *Snapshot) Names(id string) (ours, theirs string) {
	p, ok := s.partners[id]
	switch {
	case !ok:
		return s.gateway.Identity.AS2, id
	case p.AS2 != nil:
		return cmp.Or(p.AS2.Template.From, s.gateway.Identity.AS2), cmp.Or(p.AS2.Template.To, id)
	case p.AS4 == nil || len(p.AS4.Template.From.IDs) == 0 || len(p.AS4.Template.To.IDs) == 0:
		if i := s.gateway.Identity.AS4; i != nil && p.Protocol == protocolAS4 {
			return i.Party, id
		}
		return s.gateway.Identity.AS2, id
	}
	ours, theirs = p.AS4.Template.From.IDs[0].Value, p.AS4.Template.To.IDs[0].Value
	for _, k := range p.AS4.parties() {
		if s.sharing[k] > 1 {
			return ours, theirs + "\n" + id
		}
	}
	return ours, theirs
}
