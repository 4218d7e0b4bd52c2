package console

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"edigw/as2"
	"edigw/edi"
	"edigw/fault"
	"edigw/internal/words"
	"edigw/queue"
	"edigw/web"
)

// exchange is one exchange with the partner, unfolded.
type exchange struct {
	N       int
	Request []fact
	Sent    []fact // header fields that we sent
	Status  string // "HTTP 503 Service Unavailable"; empty: no answer was read
	Headers []fact
	Head    []string // beginning of the answer's body, by line
	Times   []fact
	Report  *report
}

// report is what the verification of an acknowledgement rests upon.
type report struct {
	Mark    mark
	Verdict string
	Words   string // the partner's own
	Facts   []fact

	Errors     []shownError     // of AS4
	References []shownReference // the same: digests on both sides
	Lines      []string         // of its signature, reference by reference
}

// Bounds of what is shown of an answer.
const (
	headBytes = 4 << 10
	headLines = 200
)

func (c *Console) exchange(v *visit, h history, a queue.Attempt) *exchange {
	x := &exchange{N: a.N, Times: times(a)}
	b := buildOf(h.builds, a.Build)
	x.Request = c.request(h, a, b)
	if b != nil && !a.Async {
		x.Sent = sentFields(*b)
	}
	if a.Status != 0 {
		x.Status = strings.TrimSpace("HTTP " + strconv.Itoa(a.Status) + " " + http.StatusText(a.Status))
	}
	for _, name := range slices.Sorted(maps.Keys(a.Headers)) {
		x.Headers = append(x.Headers, fact{Name: plain(name), Value: plain(a.Headers[name]), Code: true})
	}
	if len(a.Head) > 0 {
		x.Head = textLines(a.Head)
	}
	if a.Ack != nil {
		x.Report = c.report(v, h, a, b)
	}
	if b != nil && (x.Report == nil || len(x.Report.References) == 0) {
		x.Request = append(x.Request, signedReferences(*b)...)
	}
	return x
}

// textLines make bytes of a partner readable, whatever they are.
func textLines(content []byte) (lines []string) {
	view, err := edi.ReadView(bytes.NewReader(content), headBytes, headLines)
	if err != nil {
		return nil
	}
	for _, l := range view.Lines {
		line := strings.Repeat("  ", min(l.Depth, maxIndent))
		for _, p := range l.Parts() {
			if p.Kind != edi.PartLineEnd {
				line += p.Text
			}
		}
		lines = append(lines, line)
	}
	return lines
}

func buildOf(builds []queue.Build, n int) *queue.Build {
	for i := range builds {
		if builds[i].N == n {
			return &builds[i]
		}
	}
	return nil
}

// request is what went out, and how far it got.
func (c *Console) request(h history, a queue.Attempt, b *queue.Build) (all []fact) {
	if a.Async {
		all = append(all, fact{Name: "Arrived", Value: "as a request of its own"})
	} else {
		all = append(all, fact{Name: "Got as far as", Value: words.Phase(a.Phase.String())})
	}
	if a.Cause != fault.CauseNone {
		all = append(all, fact{Name: "Broke off", Value: string(a.Cause), Code: true})
	}
	if b != nil {
		all = append(all, fact{Name: "Message-ID", Value: plain(b.MessageID), Code: true},
			fact{Name: "Bytes on the wire", Value: words.Number(b.Size) + ", build " + strconv.Itoa(b.N)}, fact{Name: "SHA-256 of them", Value: b.SHA256, Code: true})
		if b.Why != "" {
			all = append(all, fact{Name: "Built anew", Value: plain(b.Why)})
		}
	}
	counted := "yes"
	if !a.Counted {
		counted = "no"
	}
	return append(all, fact{Name: "Uses up an attempt", Value: counted}, fact{Name: "Row of the error table", Value: a.Rule, Code: true})
}

// times are the lengths of the parts of an exchange.
func times(a queue.Attempt) (all []fact) {
	t := a.Timings
	for _, part := range []struct {
		name string
		d    time.Duration
	}{
		{"Name looked up", t.Resolve}, {"Connected", t.Connect}, {"TLS handshake", t.TLS}, {"Sent", t.Send}, {"Waited for the answer", t.Wait}, {"Answer read", t.Receive},
		{"In all", a.Duration},
	} {
		if part.d > 0 {
			all = append(all, fact{Name: part.name, Value: took(part.d)})
		}
	}
	return all
}

// sentFields are the header fields of a build. The address for a receipt that
// comes later holds a secret towards strangers.
func sentFields(b queue.Build) (all []fact) {
	r, known := rendition(b)
	if made, as4 := web.RenditionAS4(b); as4 {
		return []fact{{Name: "Content-Type", Value: plain(made.ContentType), Code: true}}
	}
	if !known {
		return nil
	}
	for _, f := range r.Headers {
		value := f.Value
		if r.Token != "" {
			value = strings.ReplaceAll(value, r.Token, "…")
		}
		all = append(all, fact{Name: plain(f.Name), Value: plain(value), Code: true})
	}
	return all
}

// rendition reads what an AS2 build keeps of itself.
func rendition(b queue.Build) (r as2.Rendition, known bool) {
	err := json.Unmarshal(b.Record, &r)
	return r, err == nil && r.MessageID != ""
}

// digestFits reports whether an acknowledgement names the digest of what its
// exchange, or any other build, sent.
func digestFits(a queue.Attempt, builds []queue.Build) bool {
	if a.Ack == nil || a.Ack.Digest == "" {
		return false
	}
	if strings.Contains(a.Ack.Digest, "#") || strings.Contains(a.Ack.Digest, "cid:") { // of AS4, which is held to what we sent before it is trusted
		return a.Ack.Verdict == fault.AckTrusted
	}
	got, err := as2.ParseMIC(a.Ack.Digest)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(builds, func(b queue.Build) bool {
		r, _ := rendition(b)
		return b.Sent && slices.ContainsFunc(r.MICs, got.Equal)
	})
}

// add adds a fact, unless there is none.
func (r *report) add(name, value string, code bool) {
	if value != "" {
		r.Facts = append(r.Facts, fact{Name: name, Value: plain(value), Code: code})
	}
}

// report shows what stands behind the verdict on an acknowledgement: which
// bytes, which certificate, which digest was expected and which it names.
func (c *Console) report(v *visit, h history, a queue.Attempt, b *queue.Build) *report {
	k := a.Ack
	r := &report{Mark: markDead, Verdict: words.Receipt(string(k.Verdict), k.Positive), Words: plain(k.Detail)}
	if k.Verdict == fault.AckTrusted {
		if r.Mark = markDelivered; !k.Positive {
			r.Mark = mark{"bad", "✕", "Refused"}
		}
	}
	isAS4 := h.message.Protocol == "as4"
	if isAS4 {
		r.sayAS4(h, a)
	} else {
		r.add("It says", disposition(k), true)
	}
	r.add("It is about", k.Ref, true)
	r.add("Signed with", c.signer(v, h, k), false)
	r.add("Fingerprint", k.Signer, true)
	if b != nil {
		r.add("Bytes it is about", words.Number(b.Size)+" bytes on the wire, build "+strconv.Itoa(b.N), false)
		if made, known := rendition(*b); known && len(made.MICs) > 0 {
			r.add("Digest expected", made.MICs[0].String(), true)
		}
	}
	if isAS4 {
		r.fillAS4(h, a)
	} else {
		r.fillDigest(h, a)
	}
	if a.Raw == "" {
		r.add("Receipt as it came", "not kept", false)
	} else {
		r.add("Receipt as it came", "kept; it is in the evidence", false)
	}
	return r
}

// fillDigest adds the digest that an MDN names.
func (r *report) fillDigest(h history, a queue.Attempt) {
	switch digest := a.Ack.Digest; {
	case digest == "":
		r.add("Digest in the receipt", "none named", false)
	case digestFits(a, h.builds):
		r.add("Digest in the receipt", digest, true)
		r.add("Digests", "equal: they have what we sent", false)
	default:
		r.add("Digest in the receipt", digest, true)
		r.add("Digests", "differ: they have something else, or read the rules otherwise", false)
	}
}

// disposition is what an acknowledgement says, or its error.
func disposition(k *fault.Acknowledgement) string {
	if k.EBMS != "" {
		return k.EBMS
	}
	text := k.Type
	if k.Modifier != "" {
		text += "/" + k.Modifier
	}
	if k.Text != "" {
		text += ": " + k.Text
	}
	return text
}

// signer says whose certificate signed an acknowledgement.
func (c *Console) signer(v *visit, h history, k *fault.Acknowledgement) string {
	if k.Signer == "" {
		return "nothing: it is not signed"
	}
	return c.certificateNamed(v, h.message.Partner, k.Signer)
}
