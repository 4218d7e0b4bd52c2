package as4

import (
	"errors"
	"net"
	"net/http"
	"strconv"

	"edigw/as4/ebms"
	"edigw/internal/door"
	"edigw/internal/scratch"
	"edigw/internal/xmltree"
)

// maxSignal is the largest message that is kept as a signal, and the most that is
// taken from strangers once the envelope was read.
const maxSignal = 1 << 20

// ServeHTTP implements http.Handler. What is refused with an ebMS error is
// answered 200, since peers read the body of nothing else; the statuses of 4xx
// and 5xx stand for SOAP faults (SOAP 1.2 part 2 §7.5.2.2) and for what is no
// message at all.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Server", h.o.Product)
	if !h.admits(w, r) {
		return
	}
	f, err := framingOf(r.Header.Get("Content-Type"))
	if errors.Is(err, errNotSOAP) {
		http.Error(w, "This address takes application/soap+xml, or multipart/related with it as the root.", http.StatusUnsupportedMediaType)
		return
	}
	u := newUpload(http.MaxBytesReader(w, r.Body, h.o.Body), h.space(r, ""))
	u.announced(r.ContentLength)
	defer func() { u.close() }()
	f.room = &envelopeShare{of: &h.envelopes, address: addressOf(r)}
	defer f.room.free()
	in := &request{arrival: arrival{h: h, from: addressOf(r), header: r.Header, framing: f, upload: u}, w: w, r: r}
	if err == nil {
		in.env, err = h.envelope(f, u)
	}
	in.serve(err)
}

// admits answers what is refused by its head alone.
func (h *Handler) admits(w http.ResponseWriter, r *http.Request) bool {
	switch encoding := r.Header.Get("Content-Encoding"); {
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "This is an AS4 address. It takes messages and signals by POST.", http.StatusMethodNotAllowed)
	case door.TooLarge(r.Header, h.o.Header):
		http.Error(w, "The header is too large.", http.StatusRequestHeaderFieldsTooLarge)
	case len(r.Header.Values("Content-Type")) > 1:
		http.Error(w, "There are two Content-Type fields.", http.StatusBadRequest)
	case encoding != "" && encoding != "identity":
		// AS4 compresses the payloads (AS4 §3.1): whatever a request as a whole
		// is compressed with gains nothing and would be one more bomb to defuse.
		w.Header().Set("Accept-Encoding", "identity") // RFC 9110 §12.5.3
		http.Error(w, "A request is taken without Content-Encoding only.", http.StatusUnsupportedMediaType)
	default:
		return true
	}
	return false
}

// envelope reads the envelope of a message. Whatever it says, nothing of it is
// believed yet. The error has a row in the table of refusals, or is one of
// reading the body; with it there may be what could be read of the envelope.
func (h *Handler) envelope(f framing, u *upload) (*ebms.Envelope, error) {
	raw, err := f.readEnvelope(u, int64(h.o.Envelope))
	if err != nil {
		return nil, err
	}
	return parseEnvelope(raw, h.o.Envelope)
}

func parseEnvelope(raw []byte, limit int) (*ebms.Envelope, error) {
	doc, err := xmltree.Parse(raw, xmltree.Limits{Bytes: limit})
	if err != nil {
		return nil, err
	}
	return ebms.ParseEnvelope(doc)
}

// space is what a request may put aside. Whom it is charged to is what the
// request says of itself, and where it comes from.
func (h *Handler) space(r *http.Request, partner string) *scratch.Space {
	return h.o.Room.Space(h.o.Scratch, partner, addressOf(r))
}

// addressOf is where a request comes from.
func addressOf(r *http.Request) string {
	address, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return address
}

// arrival is what came from a partner, in a request or in the response to a pull,
// as far as it was read.
type arrival struct {
	h       *Handler
	from    string // for the log
	header  http.Header
	framing framing
	upload  *upload
	env     *ebms.Envelope
}

// request is an arrival that waits for its answer.
type request struct {
	arrival
	w http.ResponseWriter
	r *http.Request
}

// serve answers a request whose envelope was read, or could not be.
func (q *request) serve(err error) {
	switch {
	case err != nil && q.transport(err):
	case q.env != nil && q.env.User != nil:
		q.message(err)
	case err != nil && !q.acknowledges(err):
		q.unreadable(err)
	default:
		q.signals()
	}
}

// acknowledges reports whether a message with a fault in its header holds
// receipts or errors all the same: whoever judges them knows what to think of it.
func (q *request) acknowledges(err error) bool {
	return problemOf(err) != nil && q.env.PullRequest() == nil && len(q.env.Signals) > 0
}

// transport answers what is wrong with the connection or our own disk, and says
// whether that is it.
func (q *request) transport(err error) bool {
	var broken *brokenError
	switch {
	case errors.Is(err, scratch.ErrDisk):
		q.unavailable(q.upload.space.Partner(), "read message", err)
	case !errors.As(err, &broken):
		return false
	case broken.tooLarge():
		http.Error(q.w, http.StatusText(http.StatusRequestEntityTooLarge)+".", http.StatusRequestEntityTooLarge)
	default:
		http.Error(q.w, "The body broke off.", http.StatusBadRequest)
	}
	return true
}

// unavailable is unavailable for a request whose rest is not read, or a little:
// a sender that is cut off while he writes never reads why.
func (q *request) unavailable(partner, doing string, err error) {
	q.w.Header().Set("Connection", "close")
	discard(q.r, lingering)
	q.h.unavailable(q.w, partner, doing, err)
}

// send writes the answer as the response, with its length; nil is that there is
// none.
func (a *Answer) send(w http.ResponseWriter) {
	if a == nil || a.URL != "" {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", a.ContentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(a.Body)))
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body) // whoever does not get it asks again
}

// unavailable tells the partner to try again; why is for us. Want of room is
// told once for many requests, other faults once a minute.
func (h *Handler) unavailable(w http.ResponseWriter, partner, doing string, err error) {
	switch {
	case !errors.Is(err, scratch.ErrNoRoom):
		h.failed(partner, doing, err)
	case h.crowded.Begins(h.o.Now()):
		h.o.Log.Error("no room for messages of partners: they are asked to send again later", "partner", partner, "doing", doing, "err", err)
		if h.o.Crowded != nil {
			h.o.Crowded(partner, err)
		}
	}
	w.Header().Set("Retry-After", retryAfter)
	http.Error(w, "Not available at the moment. Please send the same again later.", http.StatusServiceUnavailable)
}

// failed tells a fault of ours, which may meet every request.
func (h *Handler) failed(partner, doing string, err error) {
	if n, tell := h.faults.Comes(partner, doing, h.o.Now()); tell {
		h.o.Log.Error("AS4 request not answered", "partner", partner, "doing", doing, "err", err, "since_last_line", n)
	}
}
