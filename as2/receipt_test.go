package as2

import (
	"bytes"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReceiptIsKeptByteForByte(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]Receipt{
		"binary body":  {Header: http.Header{"Content-Type": {"multipart/signed; boundary=x"}}, Body: []byte("--x\r\n\x00\xff\n\r\n\r\n--x--")},
		"with a token": {Header: http.Header{"Content-Type": {"multipart/report"}}, Body: []byte("a\n"), Token: "t0ken"},
		"empty body":   {Header: http.Header{"As2-From": {"NORTHWIND"}}, Body: []byte{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b bytes.Buffer
			if err := want.Write(&b); err != nil {
				t.Fatal(err)
			}
			got, err := ReadReceipt(&b)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("-want +got\n%s", d)
			}
		})
	}
}

// A partner who names our own field must not vouch for himself.
func TestReceiptTakesNoTokenFromThePartner(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := (Receipt{Header: http.Header{tokenField: {"forged"}}}).Write(&b); err != nil {
		t.Fatal(err)
	}
	got, err := ReadReceipt(&b)
	if err != nil || got.Token != "" {
		t.Errorf("token %q, %v", got.Token, err)
	}
}

func FuzzReadReceipt(f *testing.F) {
	f.Add([]byte("Content-Type: text/plain\r\n\r\nbody"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := ReadReceipt(bytes.NewReader(b))
		if err == nil && len(r.Body) > len(b) {
			t.Error("a receipt grew")
		}
	})
}
