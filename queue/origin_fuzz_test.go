package queue

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzReadOrigin: what is read can be written and read again.
func FuzzReadOrigin(f *testing.F) {
	f.Add([]byte(`{"message":"m1","from":"NORTHWIND","to":"ACME","received":"2026-12-01T09:00:00Z"}`))
	f.Add([]byte(`{"received":"never"}`))
	f.Fuzz(func(t *testing.T, record []byte) {
		o, err := ReadOrigin(Build{Record: record})
		if err != nil {
			return
		}
		again, err := json.Marshal(o)
		if err != nil {
			return // a year that RFC 3339 has no room for
		}
		back, err := ReadOrigin(Build{Record: again})
		if diff := cmp.Diff(o, back); err != nil || diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
	})
}
