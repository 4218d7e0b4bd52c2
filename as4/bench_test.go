package as4

import (
	"bytes"
	"io"
	"net/http"
	"testing"
)

// BenchmarkBuild: 10 KB and 10 MB, compressed, signed, encrypted.
func BenchmarkBuild(b *testing.B) {
	p := toNorthwind()
	for name, size := range map[string]int{"10KB": 10 << 10, "10MB": 10 << 20} {
		b.Run(name, func(b *testing.B) {
			content, err := io.ReadAll(&pseudo{size: int64(size)})
			if err != nil {
				b.Fatal(err)
			}
			d := orderDocument(Payload{ContentType: "application/edifact", Size: int64(size), Content: bytes.NewReader(content)})
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Build(io.Discard, p, d, nil, testNow); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkVerifySignal: a signed receipt with its digests.
func BenchmarkVerifySignal(b *testing.B) {
	p, by, r, o := sent(b)
	a := o.receiptFor(b, by)
	header := http.Header{"Content-Type": {a.ContentType}}
	b.ReportAllocs()
	for b.Loop() {
		if ack, signal := VerifySignal(header, a.Body, []Rendition{r}, p, testNow); !ack.Positive || signal.Problem != "" {
			b.Fatal(signal.Problem)
		}
	}
}
