package console

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"edigw/access"
	"edigw/internal/words"
	"edigw/partner"
	"edigw/queue"
	"edigw/web"
)

// Bounds of the search.
const (
	messagesPage = 50
	mostPartners = 5 // offered for one search
)

// messages is the page that finds a document by what people call it.
type messages struct {
	Search   string
	Chips    []filterLink
	Partner  string
	Names    []namedPartner // to choose from; none of very many
	Ways     []option       // directions to choose from
	From, To string         // dates, as typed
	Fields   []field        // of the form, besides what it asks for
	Rows     []messageRow
	Partners []filterLink // whose name fits the search
	Filter   []filterLink // in force, each with the way to drop it
	Empty    string
	Offer    *button // what to search for instead
	Newer    string
	Older    string
}

// namedPartner is a partner to choose.
type namedPartner struct {
	ID, Name string
	Chosen   bool
}

// messageRow is a message in a list.
type messageRow struct {
	ID       string
	When     moment
	Partner  string
	Name     string
	In       bool
	Document string
	File     string
	Mark     mark
	Sentence string
	Flags    []flag
	Size     int64
}

// messageChip is a filter that a click sets.
type messageChip struct {
	name, label string
	set         func(*queue.MessageFilter)
}

var messageChips = []messageChip{
	{"", "All", func(*queue.MessageFilter) {}},
	{"failed", "Failed", func(f *queue.MessageFilter) { f.States = []queue.State{queue.Dead} }},
	{"unknown", "Unknown", func(f *queue.MessageFilter) { f.Uncertain = true }},
	{"overdue", "Overdue", func(f *queue.MessageFilter) { f.Overdue = true }},
	{"refused", "Refused", func(f *queue.MessageFilter) { f.States = []queue.State{queue.Refused} }},
	{"line", "In line", func(f *queue.MessageFilter) {
		f.States = []queue.State{queue.Queued, queue.Waiting, queue.Sending, queue.AwaitingAck}
	}},
}

func (c *Console) messagePages() []page {
	return []page{
		{path: "/messages", params: []string{"q", "show", "partner", "direction", "from", "to", "cursor"}, show: c.messages},
		{path: "/messages/{id}", params: []string{"timeline"}, show: c.message},
		{path: "/messages/{id}/document", params: []string{"with"}, show: c.document},
		{path: "/messages/{id}/payload", params: []string{"part"}, show: c.download(func(v *visit, m queue.Message) error {
			if part := v.query.Get("part"); part != "" {
				return c.SendPart(v.w, v.r, m, part, v.actor())
			}
			return c.SendPayload(v.w, v.r, m, v.actor())
		})},
		{path: "/messages/{id}/evidence", show: c.download(func(v *visit, m queue.Message) error { return c.SendEvidence(v.w, v.r, m, v.actor()) })},
		{path: "/letters/{id}/edit", need: access.Operate, show: c.editForm},
	}
}

func (c *Console) messages(v *visit) (view, error) {
	f, err := v.messageFilter()
	if err != nil {
		return view{}, err
	}
	if m, known, err := c.named(v.r.Context(), f.Reference); known || err != nil {
		return view{redirect: "/messages/" + url.PathEscape(m.ID)}, err
	}
	p := messages{Search: v.query.Get("q"), Partner: f.Partner, From: v.query.Get("from"), To: v.query.Get("to"), Names: c.choosable(f.Partner), Ways: ways(f.Direction)}
	if show := v.query.Get("show"); show != "" {
		p.Fields = []field{{"show", show}}
	}
	for _, chip := range messageChips {
		p.Chips = append(p.Chips, filterLink{chip.label, with(v.query, "/messages", "show", chip.name), chip.name == v.query.Get("show")})
	}
	found, next, err := c.find(v, f, &p)
	if err != nil {
		return view{}, err
	}
	for _, s := range found {
		row, err := c.messageRow(v, s)
		if err != nil {
			return view{}, err
		}
		p.Rows = append(p.Rows, row)
	}
	p.Filter, p.Older = v.dropFilters(c), olderLink(v.query, "/messages", next)
	return view{template: "messages", title: "Messages", nav: "/messages", topic: partnerTopic(f.Partner), data: p}, nil
}

// find searches by reference; if nothing is called so, by a partner's name.
// Where still nothing is found it says what was searched, and what to try.
func (c *Console) find(v *visit, f queue.MessageFilter, p *messages) (found []web.Seen, next string, err error) {
	ctx, paged := v.r.Context(), queue.Page{Limit: messagesPage, Cursor: v.query.Get("cursor")}
	if found, next, err = c.reader.Messages(ctx, f, paged); err != nil {
		return nil, "", err
	}
	if f.Reference == "" {
		if len(found) == 0 && next == "" {
			p.Empty = "Nothing here."
		}
		return found, next, nil
	}
	called := c.partnersNamed(f.Reference)
	for _, id := range called[:min(len(called), mostPartners)] {
		p.Partners = append(p.Partners, filterLink{Label: c.partnerName(id), Path: "/messages?partner=" + id})
	}
	if len(found) > 0 || next != "" || paged.Cursor != "" {
		if len(found) == 0 && next != "" { // very many begin so, and none of the newest documents
			p.Empty = "Nothing among the documents looked at so far: go on with the older ones, or type more of it."
		}
		return found, next, nil
	}
	if only, sure := c.partnerCalled(f.Reference, called); sure && f.Partner == "" {
		f.Reference, f.Partner = "", only
		return c.reader.Messages(ctx, f, paged)
	}
	if number, ok := withoutKind(f.Reference); ok { // "PO 4500099001"
		f.Reference = number
		if found, next, err = c.reader.Messages(ctx, f, paged); err != nil || len(found) > 0 || next != "" {
			return found, next, err
		}
	}
	p.Empty, p.Offer, err = c.nothing(ctx, v.query, f)
	return nil, "", err
}

// withoutKind is a number after a word that names its kind, as people write and
// say it: "PO 4500099001", "invoice no. INV-20931", "810 INV-20931".
func withoutKind(text string) (number string, ok bool) {
	all := strings.Fields(text)
	if len(all) < 2 || len(all) > 4 || !strings.ContainsAny(all[len(all)-1], "0123456789") {
		return "", false
	}
	return strings.TrimPrefix(all[len(all)-1], "#"), true
}

// nothing says what was searched in vain, and offers to search for what begins
// with it, if anything does.
func (c *Console) nothing(ctx context.Context, q url.Values, f queue.MessageFilter) (string, *button, error) {
	back := time.Duration(c.Settings().Gateway().Retention.Keys)
	if strings.HasSuffix(f.Reference, "*") {
		return words.NothingFound(back, "the beginning of a reference") + datesHint(q), nil, nil
	}
	word := f.Reference
	f.Reference += "*"
	some, _, err := c.reader.Messages(ctx, f, queue.Page{Limit: 1})
	if err != nil || len(some) == 0 {
		return words.NothingFound(back, "reference") + " Try the number alone, or its beginning with a * at the end." + datesHint(q), nil, err
	}
	return "Nothing is called exactly " + plain(word) + ".", &button{Label: "Show what begins with it", Path: with(q, "/messages", "q", f.Reference), Get: true, Kind: primary}, nil
}

// datesHint says that days or a partner narrow a search, if they do.
func datesHint(q url.Values) string {
	if q.Get("from") == "" && q.Get("to") == "" && q.Get("partner") == "" && q.Get("show") == "" && q.Get("direction") == "" {
		return ""
	}
	return " Or search without the other filters: days, partner, direction, state."
}

// named finds the message whose own id was searched for.
func (c *Console) named(ctx context.Context, word string) (queue.Message, bool, error) {
	if word == "" || strings.ContainsAny(word, " *@<") {
		return queue.Message{}, false, nil
	}
	m, err := c.Ledger.Message(ctx, word)
	if errors.Is(err, queue.ErrNotFound) {
		return queue.Message{}, false, nil
	}
	return m, err == nil, err
}

// partnersNamed are the partners whose id or name contains a word.
func (c *Console) partnersNamed(word string) (ids []string) {
	word = strings.ToLower(strings.TrimSuffix(word, "*"))
	settings := c.Settings()
	for _, id := range settings.IDs() {
		p, _ := settings.Partner(id)
		if word != "" && (strings.Contains(id, word) || strings.Contains(strings.ToLower(p.Name), word)) {
			ids = append(ids, id)
		}
	}
	return ids
}

// partnerCalled is the one partner that a word names: the only one whose name
// has it, or the one that is called exactly so.
func (c *Console) partnerCalled(word string, fit []string) (string, bool) {
	if len(fit) == 1 {
		return fit[0], true
	}
	i := slices.IndexFunc(fit, func(id string) bool { return strings.EqualFold(id, word) || strings.EqualFold(c.partnerName(id), word) })
	if i < 0 {
		return "", false
	}
	return fit[i], true
}

// mostChoices bounds the partners of a list to choose from; of more one is
// typed into the search.
const mostChoices = 300

func (c *Console) choosable(chosen string) (all []namedPartner) {
	ids := c.Settings().IDs()
	if len(ids) > mostChoices {
		ids = nil
	}
	if chosen != "" && !slices.Contains(ids, chosen) {
		ids = append([]string{chosen}, ids...)
	}
	for _, id := range ids {
		all = append(all, namedPartner{id, c.partnerName(id), id == chosen})
	}
	slices.SortStableFunc(all, func(x, y namedPartner) int { return strings.Compare(strings.ToLower(x.Name), strings.ToLower(y.Name)) })
	return all
}

// ways are the directions to choose from.
func ways(chosen queue.Direction) []option {
	return []option{{"", "Sent and received", chosen == ""}, {string(queue.Out), "Sent", chosen == queue.Out}, {string(queue.In), "Received", chosen == queue.In}}
}

// messageFilter reads the filter out of the address. Dates are days of the
// console's zone, both included.
func (v *visit) messageFilter() (f queue.MessageFilter, err error) {
	f.Reference, f.Partner = strings.TrimSpace(v.query.Get("q")), v.query.Get("partner")
	if f.Partner != "" && !partner.ValidID(f.Partner) {
		return f, wrong("partner", f.Partner)
	}
	if f.Direction = queue.Direction(v.query.Get("direction")); !validDirection(f.Direction) {
		return f, wrong("direction", string(f.Direction))
	}
	show := v.query.Get("show")
	i := slices.IndexFunc(messageChips, func(chip messageChip) bool { return chip.name == show })
	if i < 0 {
		return f, wrong("filter", show)
	}
	messageChips[i].set(&f)
	f.From, f.To, err = v.days()
	return f, err
}

// days reads from and to: whole days of the console's zone, both included.
func (v *visit) days() (from, to time.Time, err error) {
	if from, err = v.day("from"); err != nil {
		return from, to, err
	}
	if to, err = v.day("to"); err != nil {
		return from, to, err
	}
	if !to.IsZero() {
		to = to.AddDate(0, 0, 1)
	}
	if !from.IsZero() && !to.IsZero() && !from.Before(to) {
		return from, to, &web.Problem{Slug: web.BadRequest, Field: "to", Detail: "The last day lies before the first."}
	}
	return from, to, nil
}

// day reads a parameter that is a date.
func (v *visit) day(name string) (time.Time, error) {
	text := v.query.Get(name)
	if text == "" {
		return time.Time{}, nil
	}
	t, err := time.ParseInLocation(time.DateOnly, text, v.zone)
	if err != nil || t.Year() < 1970 {
		return time.Time{}, &web.Problem{Slug: web.BadRequest, Field: name, Detail: "This is no date: write 2026-12-01."}
	}
	return t, nil
}

// dropFilters are the filters in force besides the chips, each with the address
// without it.
func (v *visit) dropFilters(c *Console) (links []filterLink) {
	for _, name := range []string{"q", "partner", "direction", "from", "to"} {
		value := v.query.Get(name)
		if value == "" {
			continue
		}
		label := plain(value)
		switch name {
		case "partner":
			label = c.partnerName(value)
		case "direction":
			label = directionWord(queue.Direction(value))
		case "from", "to":
			label = name + " " + label
		}
		links = append(links, filterLink{label + " ✕", with(v.query, "/messages", name, ""), true})
	}
	return links
}

// messageRow is a message as a list prints it.
func (c *Console) messageRow(v *visit, s web.Seen) (messageRow, error) {
	m := s.Message
	st, err := c.outcomeOf(v, s)
	if err != nil {
		return messageRow{}, err
	}
	p, _ := c.Settings().Partner(m.Partner)
	r := messageRow{
		ID: m.ID, When: v.in(m.Accepted, v.zoneOf(p)), Partner: m.Partner, Name: c.partnerName(m.Partner), In: m.Direction == queue.In,
		Document: documentName(m), File: plain(m.Payload.FileName), Mark: st.mark, Sentence: st.sentence, Flags: messageFlags(m), Size: m.Payload.Size,
	}
	if r.File == r.Document {
		r.File = ""
	}
	return r, nil
}

// outcome is where a message stands, in words.
type outcome struct {
	mark     mark
	sentence string
	letter   *queue.Letter // that stands for it
}

// outcomeOf says where a message stands, for a dead one why.
func (c *Console) outcomeOf(v *visit, s web.Seen) (outcome, error) {
	m := s.Message
	end, err := c.reader.Ending(v.r.Context(), m)
	if err != nil {
		return outcome{}, err
	}
	o := outcome{mark: markOf(s), sentence: c.messageSentence(v, m, s.Shown, &end)}
	if m.Letter == "" {
		return o, nil
	}
	l, err := c.Ledger.Letter(v.r.Context(), m.Letter)
	if errors.Is(err, queue.ErrNotFound) { // settled between two reads
		return o, nil
	}
	if err != nil {
		return outcome{}, err
	}
	o.letter = &l
	if m.State == queue.Dead {
		p, _ := c.Settings().Partner(m.Partner)
		o.sentence = v.reason(l, m, p)
	}
	return o, nil
}

// messageFlags are what one must know of a message besides its state.
func messageFlags(m queue.Message) (all []flag) {
	for _, f := range []struct {
		on bool
		flag
	}{
		{m.Uncertain, flag{words.Uncertain, "warn"}}, {m.Overtaken, flag{"overtaken by a later document", ""}}, {m.Overdue, flag{"past its due time", "bad"}},
		{m.Edition > 0, flag{"edition " + words.Number(int64(m.Edition+1)), ""}},
	} {
		if f.on {
			all = append(all, f.flag)
		}
	}
	return all
}
