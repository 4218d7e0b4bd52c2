package partner

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// BenchmarkLoad10000 loads 10,000 partner files, each with certificate files
// of its own, and reports what the Snapshot holds.
func BenchmarkLoad10000(b *testing.B) {
	const partners = 10_000
	dir := installation(b)
	if err := os.RemoveAll(filepath.Join(dir, "good")); err != nil {
		b.Fatal(err)
	}
	certificate, err := os.ReadFile(filepath.Join(dir, "keys", "northwind-2026.pem"))
	if err != nil {
		b.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "good"), 0o700); err != nil {
		b.Fatal(err)
	}
	for i := range partners {
		id := fmt.Sprintf("partner-%05d", i)
		write(b, filepath.Join(dir, "keys", id+".pem"), string(certificate))
		write(b, filepath.Join(dir, "good", id+".yaml"), fmt.Sprintf(`name: Partner %d
zone: Europe/Berlin
protocol: as2
preset: sterling
owner: {team: EDI, mail: edi@acme.example, phone: "+49 30 5550100"}
as2:
  id: PARTNER-%d
  url: https://as2-%d.example/as2
  sign: sha256
  encrypt: aes256-cbc
  mdn: {mode: sync, signed: true, algorithm: sha256}
certificates:
  verify: [{file: ../keys/%s.pem}]
  encrypt: [{file: ../keys/%s.pem}]
lane:
  rate: 10/s
  windows: [{cron: "0 6 * * 1-6", for: 14h}]
`, i, i, i, id, id))
	}
	for b.Loop() {
		mustLoad(b, dir)
	}
	before := heap()
	s := mustLoad(b, dir)
	b.ReportMetric(float64(heap()-before)/1e6, "MB-held")
	if len(s.IDs()) != partners {
		b.Fatalf("%d partners", len(s.IDs()))
	}
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
