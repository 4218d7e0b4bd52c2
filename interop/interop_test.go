// Package interop exchanges documents between the real edigw and foreign AS2
// products, each a process of its own on loopback, in both directions and over
// every profile of profile_test.go. It installs the products from their
// package registries, outside the repository; README.md says how.
//
// It runs with EDIGW_INTEROP=1 only: make interop.
package interop

import (
	"context"
	"errors"
	"flag"
	"os"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the matrices in docs/interop anew")

// patience bounds every wait for another process.
const patience = 90 * time.Second

// program is a foreign product, whatever it speaks.
type program interface {
	named
	// install brings the product into the cache, unless it is there already.
	// An error means that the peer is not run.
	install(ctx context.Context) error
	// stop ends the process.
	stop()
}

// peer is a foreign AS2 product that runs beside edigw. Its methods send and
// received are called from several goroutines at a time.
type peer interface {
	program
	// lacks says why the peer cannot do a profile in a direction; empty: it can.
	lacks(p profile, d direction) string
	// start writes the configuration, starts the process and waits until it is
	// ready.
	start(ctx context.Context, m material) error
	// endpoints are where it takes messages of a profile, and receipts that
	// come by themselves.
	endpoints(p profile) (messages, receipts string)
	// send has the peer send a document to edigw, and tells what the peer says
	// of it. An error means that this cannot be told.
	send(ctx context.Context, p profile, d document) (outcome, error)
	// received waits until a message of edigw has arrived at the peer.
	received(ctx context.Context, p profile, messageID string) (arrival, error)
}

// tuned is a peer whose partner files name a preset of edigw for the product.
type tuned interface{ preset() string }

// direction is the way that a document goes.
type direction string

const (
	toPeer   direction = "edigw sends"
	fromPeer direction = "edigw receives"
)

// outcome is what a peer says of a message that it sent to edigw. A peer that
// does not tell a MIC leaves both empty and says so in Equal.
type outcome struct {
	MessageID   string `json:"message_id"`
	Status      int    `json:"status"`       // of HTTP; 0: it does not tell
	Disposition string `json:"disposition"`  // as in the receipt, without the mode; empty: no receipt
	Signed      bool   `json:"signed"`       // the receipt is signed
	Verified    bool   `json:"verified"`     // the peer verified that signature with edigw's certificate
	MIC         string `json:"mic"`          // its own
	MICReturned string `json:"mic_returned"` // in the receipt
	Equal       bool   `json:"equal"`        // the two are the same in the peer's eyes
	Problem     string `json:"problem"`      // its own words when it is not content
}

// arrival is a document of edigw at a peer.
type arrival struct {
	File     string `json:"file"`      // where its content lies
	FileName string `json:"file_name"` // as the peer understood it; empty: the peer does not tell
	MIC      string `json:"mic"`       // that the peer returned; empty: it does not tell
}

// peers are all of them, in the order in which they run and are shown.
func peers() []peer {
	return []peer{newOpenAS2(), newAS2Lib(), newPyAS2Lib()}
}

// TestInterop is the matrix: peers, directions, profiles.
func TestInterop(t *testing.T) {
	wanted(t)
	s := newSite(t)
	s.start()
	m := newMatrix(tableAS2())
	for _, p := range peers() {
		t.Run(p.name(), func(t *testing.T) {
			s.in(t)
			if o, ok := p.(*openAS2); ok {
				o.way = newTap(t, s.partner)
			}
			if launch(t, p, func(ctx context.Context) error { return p.start(ctx, s.materialFor(p)) }) {
				exchange(t, s, p, m, s.introduce(t, p, profiles))
				switch p := p.(type) {
				case *openAS2:
					trouble(t, s, p, m)
				case *pyas2lib:
					answerLost(t, s, p, m)
				}
			} else {
				m.notRun(p)
			}
		})
	}
	if t.Failed() && *update {
		t.Error("the matrix is not written: a cell is not what profiles and deviations say")
	}
	m.judge(t)
}

// matrixHead stands above the matrix in its file.
const matrixHead = `# Interoperability matrix

Written by ` + "`make interop`" + `, which fails when a cell comes out otherwise. Each cell
is a document that went between the real edigw and the real product, both
processes of their own on loopback. **ok** means: the content is the same byte for byte, the
file name too, both sides computed the same MIC, whoever asked for a receipt
verified it, and edigw counts the message as delivered with that receipt as
proof. **–**: the product cannot do it. Anything else is what is known of the
product, and is explained below the table. How each product was set up, what it
needs, and which settings answer what it does otherwise:
`

// tableAS2 is what the matrix of AS2 is about.
func tableAS2() table {
	t := table{file: "matrix.md", head: matrixHead}
	for _, p := range profiles {
		t.rows = append(t.rows, row{p.name, p.String()})
	}
	for _, p := range peers() {
		t.peers = append(t.peers, p)
	}
	return t
}

// wanted skips a test unless foreign products are to run.
func wanted(t *testing.T) {
	t.Helper()
	if os.Getenv("EDIGW_INTEROP") != "1" {
		t.Skip("foreign products run with EDIGW_INTEROP=1 only: make interop")
	}
}

// launch installs and starts a peer. It reports whether the peer runs.
func launch(t *testing.T, p program, start func(ctx context.Context) error) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	began := time.Now()
	if err := p.install(ctx); err != nil {
		if os.Getenv("EDIGW_REQUIRE") == "all" {
			t.Fatalf("%s cannot be installed and EDIGW_REQUIRE=all: %v", p.product(), err)
		}
		t.Logf("%s is NOT RUN: %v", p.product(), err)
		return false
	}
	t.Logf("%s: installed after %v", p.product(), time.Since(began).Round(time.Second))
	t.Cleanup(p.stop)
	if err := start(ctx); err != nil {
		t.Fatalf("%s does not start: %v", p.product(), err)
	}
	t.Logf("%s: ready after %v", p.product(), time.Since(began).Round(time.Second))
	return true
}

// exchange runs every profile in both directions and notes the results.
func exchange(t *testing.T, s *site, p peer, m *matrix, wire *front) {
	t.Run("cells", func(t *testing.T) {
		for i, pr := range profiles {
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
					if pr.content != large { // one of those at a time is enough for a JVM
						t.Parallel()
					}
					ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
					defer cancel()
					c := cell{site: s, peer: p, profile: pr, direction: d, way: i, wire: wire}
					m.note(t, p, d, pr.name, c.run(ctx, t))
				})
			}
		}
	})
}

// errGone says that a peer's process ended.
var errGone = errors.New("the peer's process has ended")
