package exchange

import (
	"crypto/x509/pkix"
	"testing"
)

func TestOverlongNamesAreNotWritten(t *testing.T) {
	t.Parallel()
	n := pkix.Name{CommonName: "as2.northwind.example"}
	if got := nameOf(make([]byte, 100), n); got != "CN=as2.northwind.example" {
		t.Errorf("%q", got)
	}
	if got := nameOf(make([]byte, 5<<10), n); got != "an overlong name" {
		t.Errorf("%q", got)
	}
}
