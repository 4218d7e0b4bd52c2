package sqlite

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"edigw/queue"
)

// rows is how many messages the big benchmarks line up, as in
//
//	go test ./store/sqlite -run '^$' -bench Ready -rows 1000000
var rows = flag.Int("rows", 0, "messages in line for BenchmarkReady, in 10,000 lanes at most")

func testArrival(n int64) queue.Arrival {
	id := fmt.Sprintf("m%09d", n)
	partner := fmt.Sprintf("p%04d", n%10000)
	return queue.Arrival{
		Message: queue.Message{ID: id, Partner: partner, Lane: partner, Kind: queue.KindDocument, Direction: queue.Out, Protocol: "as2", Key: "K" + id, CorrelationID: "C" + id, Source: "api",
			Payload: queue.Payload{SHA256: strings.Repeat("0", 55) + id[1:], Size: 10 << 10, FileName: id + ".edi"}},
		Identity: queue.Identity{From: "ACME-AS2", To: partner, Domain: "edi.acme.example", Brackets: true},
		Now:      time.Unix(1_800_000_000, n*1000).UTC(), LetterID: "l" + id,
	}
}

// BenchmarkAccept prints durable documents per second and how many commits,
// each one fsync of the log, a document cost.
func BenchmarkAccept(b *testing.B) {
	for _, clients := range []int{1, 64} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			s := openTest(b)
			var n atomic.Int64
			b.SetParallelism(max(1, clients/2)) // times GOMAXPROCS
			run := func() {
				if _, err := s.Accept(context.Background(), testArrival(n.Add(1))); err != nil {
					b.Error(err)
				}
			}
			b.ResetTimer()
			if clients == 1 {
				for range b.N {
					run()
				}
			} else {
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						run()
					}
				})
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "docs/s")
			b.ReportMetric(float64(s.Stats().Commits)/float64(n.Load()), "commits/doc")
		})
	}
}

// BenchmarkReady asks for the head of a lane among many that are in line.
func BenchmarkReady(b *testing.B) {
	if *rows == 0 {
		b.Skip("set -rows to line up messages")
	}
	s := openTest(b)
	for n := 0; n < *rows; {
		err := s.write(b.Context(), func(t *tx) error {
			for range 200 {
				n++
				ad, err := queue.Admit(testArrival(int64(n)), nil, queue.Backlog{})
				if err != nil {
					return err
				}
				if err := t.record(&ad.Results[0], &written{}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	for name, inOrder := range map[string]bool{"in order": true, "by time": false} {
		b.Run(name, func(b *testing.B) {
			for n := range b.N {
				if _, _, err := s.Ready(b.Context(), fmt.Sprintf("p%04d", n%10000), inOrder, time.Unix(1_900_000_000, 0), 10); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("agenda", func(b *testing.B) {
		for range b.N {
			if _, err := s.Agenda(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
}
