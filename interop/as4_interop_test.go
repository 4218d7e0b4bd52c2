package interop

import (
	"context"
	"os"
	"path/filepath"
	"testing"
)

// as4Peer is a foreign AS4 product that runs beside edigw. Its methods are
// called from several goroutines at a time.
type as4Peer interface {
	program
	// lacks says why the peer cannot do a profile in a direction; empty: it can.
	lacks(p as4Profile, d direction) string
	// start starts the process, with what is agreed, and waits until it is ready.
	start(ctx context.Context, m as4Material, all []as4Terms) error
	// listens is host:port where it takes messages and signals, and url that
	// address of a profile.
	listens() string
	url(p as4Profile) string
	// send has the peer send documents to edigw, and tells what the peer says of
	// it. An error means that this cannot be told.
	send(ctx context.Context, q question) (as4Outcome, error)
	// received waits until a message of edigw has arrived at the peer, some seconds;
	// 0: as long as anything takes.
	received(ctx context.Context, t as4Terms, messageID string, wait int) (as4Arrival, error)
	// acknowledged waits for a receipt that comes by itself.
	acknowledged(ctx context.Context, t as4Terms, messageID string) (as4Outcome, error)
}

// as4Outcome is what a peer says of a message that it sent to edigw, or of a
// signal.
type as4Outcome struct {
	MessageID  string     `json:"message_id"`
	Status     int        `json:"status"` // of HTTP; 0: it does not tell
	Receipt    bool       `json:"receipt"`
	SignalID   string     `json:"signal_id"` // MessageId of the receipt or error
	RefTo      string     `json:"ref_to"`
	Verified   bool       `json:"verified"` // its signature is edigw's
	Equal      bool       `json:"equal"`    // its digests are those of what was sent
	Difference string     `json:"difference"`
	Errors     []as4Error `json:"errors"`
	Problem    string     `json:"problem"` // the product's words when it is not content
	Sent       string     `json:"sent"`    // file with what it sent, if it made something of the document
}

// as4Error is one ebMS error of a signal.
type as4Error struct {
	Code     string `json:"code"`
	Severity string `json:"severity"`
	Detail   string `json:"detail"`
}

// as4Arrival is a message of edigw at a peer.
type as4Arrival struct {
	MessageID  string            `json:"message_id"`
	Signed     bool              `json:"signed"` // and verified, with edigw's certificate
	Encrypted  bool              `json:"encrypted"`
	Properties map[string]string `json:"properties"`
	Payloads   []struct {
		File        string            `json:"file"`
		ContentType string            `json:"content_type"`
		Properties  map[string]string `json:"properties"`
	} `json:"payloads"`
	Errors []as4Error `json:"errors"` // of a pull request that got none
}

// as4Driver is what the AS4 drivers have in common.
type as4Driver struct {
	driver
	dir    string // the product's own
	listen string // host:port
}

func (d *as4Driver) listens() string { return d.listen }

func (d *as4Driver) url(p as4Profile) string { return "http://" + d.listen + "/as4/" + p.name }

func (d *as4Driver) send(ctx context.Context, q question) (o as4Outcome, err error) {
	q.Op = "send"
	err = d.ask(ctx, q, &o)
	return o, err
}

func (d *as4Driver) received(ctx context.Context, t as4Terms, messageID string, wait int) (a as4Arrival, err error) {
	err = d.ask(ctx, question{Op: "received", Terms: t, MessageID: messageID, Wait: wait}, &a)
	return a, err
}

func (d *as4Driver) acknowledged(ctx context.Context, t as4Terms, messageID string) (o as4Outcome, err error) {
	err = d.ask(ctx, question{Op: "receipt", Terms: t, MessageID: messageID}, &o)
	return o, err
}

// stop ends the program and leaves what it said for EDIGW_INTEROP_KEEP.
func (d *as4Driver) stop() {
	d.end()
	_ = os.WriteFile(filepath.Join(d.dir, "driver.log"), []byte(d.log.String()), 0o600)
}

// as4Peers are all of them, in the order in which they run and are shown.
func as4Peers() []as4Peer { return []as4Peer{newPhase4(), newPyAS4()} }

// TestInteropAS4 is the matrix of AS4: peers, directions, profiles.
func TestInteropAS4(t *testing.T) {
	wanted(t)
	e := newEdigws(t)
	m := newMatrix(tableAS4())
	for _, p := range as4Peers() {
		t.Run(p.name(), func(t *testing.T) {
			e.main.in(t)
			e.energy.in(t)
			run := launch(t, p, func(ctx context.Context) error {
				return p.start(ctx, e.materialFor(p), append(e.terms(p, as4Profiles), tricked(e, p)...))
			})
			if !run {
				m.notRun(p)
				return
			}
			wire := newFront(t, p.listens())
			e.introduce(p, as4Profiles, wire.address)
			exchangeAS4(t, e, p, m, wire)
			switch p := p.(type) {
			case *phase4:
				troubleAS4(t, as4Trouble{e.main, p, newTap(t, p.listen), newTap(t, e.main.partner)}, m)
			case *pyas4:
				troublePyAS4(t, e, p, m)
			}
		})
	}
	if t.Failed() && *update {
		t.Error("the matrix is not written: a cell is not what profiles and deviations say")
	}
	m.judge(t)
}

// tricked are the terms of a peer's scenarios.
func tricked(e edigws, p as4Peer) []as4Terms {
	if p, ok := p.(*pyas4); ok {
		return e.pyas4Terms(p)
	}
	return trickTerms(p, "http://"+e.main.front.address+"/as4")
}

// exchangeAS4 runs every profile in both directions and notes the results.
func exchangeAS4(t *testing.T, e edigws, p as4Peer, m *matrix, wire *front) {
	terms := e.terms(p, as4Profiles)
	t.Run("cells", func(t *testing.T) {
		for i, pr := range as4Profiles {
			for _, d := range []direction{toPeer, fromPeer} {
				why := p.lacks(pr, d)
				if pr.only != "" && pr.only != d {
					why = "The profile is about what one side alone does."
				}
				if why != "" {
					m.lacks(p, d, pr.name, why)
					continue
				}
				t.Run(pr.name+"/"+map[direction]string{toPeer: "out", fromPeer: "in"}[d], func(t *testing.T) {
					if pr.payloads[0].content != large { // one of those at a time is enough for a JVM
						t.Parallel()
					}
					ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
					defer cancel()
					c := as4Cell{site: e.of(pr), peer: p, profile: pr, terms: terms[i], direction: d, wire: wire}
					m.note(t, p, d, pr.name, c.run(ctx, t))
				})
			}
		}
	})
}

// as4MatrixHead stands above the matrix in its file.
const as4MatrixHead = `# Interoperability matrix of AS4

Written by ` + "`make interop`" + `, which fails when a cell comes out otherwise. Each cell
is a message that went between the real edigw and the real product, both
processes of their own on loopback. **ok** means: every payload is the same byte for byte
with its type and properties, whoever asked for a receipt verified its signature and its
digests, and edigw counts the message as delivered with that receipt as proof.
**–**: the product cannot do it. Anything else is what is known of the product, and is
explained below the table. How each product was set up, what it needs, and which settings
answer what it does otherwise:
`

// tableAS4 is what the matrix of AS4 is about.
func tableAS4() table {
	t := table{file: "as4-matrix.md", head: as4MatrixHead}
	for _, p := range as4Profiles {
		t.rows = append(t.rows, row{p.name, p.String()})
	}
	for _, p := range as4Peers() {
		t.peers = append(t.peers, p)
	}
	return t
}
