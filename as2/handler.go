package as2

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"edigw/internal/door"
	"edigw/internal/rawmime"
	"edigw/internal/repeats"
	"edigw/internal/scratch"
)

// Options are what a Handler needs. Those from Body on may be left out.
type Options struct {
	Partners Partners
	Inbox    Inbox
	Acks     Acks
	Scratch  string           // folder for messages while they are opened
	Domain   string           // right side of the Message-IDs of our MDNs
	Now      func() time.Time // wall clock
	Log      *slog.Logger
	Body     int64  // largest message, also once decompressed; 0: 2 GiB
	Header   int    // largest HTTP header; 0: 64 KiB
	Product  string // Server and Reporting-UA; empty: "edigw"
	// Room is what messages may take while they are opened; nil: unbounded.
	Room *scratch.Rooms

	// Crowded is told when messages begin to be refused for want of room, once
	// until that has ended; partner is empty for strangers. It must not block
	// for long. Nil: only the log is.
	Crowded func(partner string, err error)
	// Stranger is told of each message between names without an agreement, to
	// be counted: the log has one line a minute of each pair. May be nil.
	Stranger func()
}

// Bounds that hold where Options names none.
const (
	defaultBody   = 2 << 30
	defaultHeader = 64 << 10
	retryAfter    = "60"
)

// Handler is the address that partners post messages and asynchronous MDNs to.
// It is safe for concurrent use; what a request needs lies in memory up to 64
// KiB a layer, beyond that in files without names.
type Handler struct {
	o         Options
	crowded   scratch.Stretch
	strangers repeats.Counter
	faults    repeats.Counter // of ours, by partner and what was being done
	plain     allowance
}

// NewHandler checks that nothing required is missing.
func NewHandler(o Options) (*Handler, error) {
	if o.Partners == nil || o.Inbox == nil || o.Acks == nil || o.Scratch == "" || o.Domain == "" || o.Now == nil || o.Log == nil {
		return nil, errors.New("as2: a required option of the handler is missing")
	}
	if o.Body <= 0 {
		o.Body = defaultBody
	}
	if o.Header <= 0 {
		o.Header = defaultHeader
	}
	if o.Product == "" {
		o.Product = "edigw"
	}
	return &Handler{o: o}, nil
}

// ServeHTTP implements http.Handler. The status speaks of the transport only:
// a message that is refused with an MDN is answered 200 (RFC 4130 §7.6).
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "This is an AS2 address. It takes messages and receipts by POST.", http.StatusMethodNotAllowed)
		return
	case door.TooLarge(r.Header, h.o.Header):
		http.Error(w, "The header is too large.", http.StatusRequestHeaderFieldsTooLarge)
		return
	}
	q, err := parseRequest(r.Header)
	a, partner, known := Agreement{}, "", false
	if err == nil {
		a, partner, known = h.o.Partners.ByNames(q.from, q.to)
	}
	if known && a.Receive.Clients != nil && !door.Shows(r.TLS, a.Receive.Clients) {
		h.unproven(w, r, q, partner)
		return
	}
	space := h.space(r, partner, known)
	defer space.Close()
	limit := h.o.Body
	if !known {
		limit = min(limit, maxMDN) // nothing large is taken from strangers
	}
	wire := space.New()
	sum := sha256.New()
	status, fault := readWire(w, r, space, io.MultiWriter(wire, sum), limit)
	switch {
	case errors.Is(fault, scratch.ErrDisk):
		w.Header().Set("Connection", "close") // the rest of the body is not read, or a little if it was begun
		if wire.Size() > 0 {
			_, _ = io.CopyN(io.Discard, r.Body, lingering)
		}
		h.unavailable(w, space.Partner(), "read message", fault)
	case status == http.StatusRequestEntityTooLarge && err == nil && !known:
		h.turnAway(w, q) // he is told why, not that he sent too much
	case status != 0:
		http.Error(w, http.StatusText(status)+".", status)
	case carriesMDN(r.Header, wire):
		h.acknowledge(w, r, wire)
	case err != nil:
		http.Error(w, "Not an AS2 message: "+err.Error()+".", http.StatusBadRequest)
	case !known:
		h.turnAway(w, q)
	default:
		h.receive(w, r, &delivery{h: h, q: q, a: a, partner: partner, wire: func() io.Reader { return wire.Open() }, size: wire.Size(), sum: hex.EncodeToString(sum.Sum(nil)), space: space})
	}
}

// lingering is how much of a message that is refused for want of room is read
// all the same: a sender that is cut off while it writes never reads why.
const lingering = 8 << 20

// space is what a request may put aside. Whom it is charged to is what the
// request says of itself, and where it comes from.
func (h *Handler) space(r *http.Request, partner string, known bool) *scratch.Space {
	if !known {
		partner = ""
	}
	address, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		address = r.RemoteAddr
	}
	return h.o.Room.Space(h.o.Scratch, partner, address)
}

// readWire puts the body aside; the status is 0 if that went well. What says
// beforehand that it is too large for the room is not read.
func readWire(w http.ResponseWriter, r *http.Request, s *scratch.Space, wire io.Writer, limit int64) (status int, err error) {
	if n := r.ContentLength; n <= limit {
		if err := s.Fits(n); err != nil {
			return http.StatusServiceUnavailable, err
		}
	}
	_, err = copyAll(wire, http.MaxBytesReader(w, r.Body, limit))
	var tooBig *http.MaxBytesError
	switch {
	case err == nil:
		return 0, nil
	case errors.As(err, &tooBig):
		return http.StatusRequestEntityTooLarge, err
	case errors.Is(err, scratch.ErrDisk):
		return http.StatusServiceUnavailable, err
	}
	return http.StatusBadRequest, err // the body broke off
}

// carriesMDN tells a receipt from a message by what it holds.
func carriesMDN(h http.Header, wire *scratch.Layer) bool {
	mediaType, params, err := rawmime.ParseMediaType(h.Get("Content-Type"))
	if err != nil || mediaType != "multipart/signed" {
		return err == nil && isReport(mediaType, params)
	}
	first, err := rawmime.NewMultipart(wire.Open(), params["boundary"], 2).Next()
	if err != nil {
		return false
	}
	inner, err := rawmime.ReadHeader(bufio.NewReader(first), maxPartHead)
	if err != nil {
		return false
	}
	mediaType, params, err = rawmime.ParseMediaType(inner.Get("Content-Type"))
	return err == nil && isReport(mediaType, params)
}

func isReport(mediaType string, params map[string]string) bool {
	return mediaType == "message/disposition-notification" ||
		mediaType == "multipart/report" && (params["report-type"] == "" || strings.EqualFold(params["report-type"], "disposition-notification"))
}

// acknowledge hands an asynchronous MDN on.
func (h *Handler) acknowledge(w http.ResponseWriter, r *http.Request, wire *scratch.Layer) {
	if wire.Size() > maxMDN {
		http.Error(w, "The receipt is too large.", http.StatusRequestEntityTooLarge)
		return
	}
	body, err := io.ReadAll(wire.Open())
	if err != nil {
		h.unavailable(w, "", "read receipt", err)
		return
	}
	m, _ := ParseMDN(r.Header, body)
	err = h.o.Acks.Acknowledge(r.Context(), Ack{
		Token:     r.URL.Query().Get(tokenParameter),
		MessageID: m.OriginalMessageID,
		From:      m.From,
		To:        m.To,
		Header:    door.WithoutCredentials(r.Header),
		Body:      body,
	})
	if err != nil {
		h.unavailable(w, "", "keep receipt", err)
		return
	}
	w.WriteHeader(http.StatusOK)
}

func (h *Handler) answerer() answerer {
	return answerer{domain: h.o.Domain, product: h.o.Product, now: h.o.Now(), boundary: randomBoundary, unique: randomID}
}

// send writes the MDN as the response, with its length (OpenAS2 #366: without
// it some partners send again for ever).
func (a *Answer) send(w http.ResponseWriter) {
	for _, f := range a.Headers {
		w.Header()[f.Name] = []string{f.Value}
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(a.Body)))
	w.WriteHeader(http.StatusOK)
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
		h.o.Log.Error("AS2 request not answered", "partner", partner, "doing", doing, "err", err, "since_last_line", n)
	}
}
