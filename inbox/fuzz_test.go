package inbox

import (
	"encoding/json"
	"testing"

	"edigw/queue"

	"github.com/google/go-cmp/cmp"
)

// FuzzReadRecord: a record that can be read is the same after it was written
// again.
func FuzzReadRecord(f *testing.F) {
	f.Add([]byte(`{"facts":{"id":"1","partner":"northwind","file_name":"a.edi"},"wire_sha256":"00","cut":true}`))
	f.Add([]byte(`{"answer":{}}`))
	f.Add([]byte(`null`))
	f.Add([]byte(`[`))
	f.Fuzz(func(t *testing.T, record []byte) {
		r, err := ReadRecord([]queue.Build{{Message: "m", Record: record}})
		if err != nil {
			return
		}
		again, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		r2, err := ReadRecord([]queue.Build{{Message: "m", Record: again}})
		if err != nil {
			t.Fatal(err)
		}
		b2, err := json.Marshal(r2)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(again), string(b2)); d != "" {
			t.Fatalf("-first +second\n%s", d)
		}
	})
}
