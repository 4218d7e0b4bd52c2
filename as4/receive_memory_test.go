package as4

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"edigw/as4/wssec"
	"edigw/internal/testfixture"
)

// TestRow46ReceiveHasConstantMemory: a message of 100 MB takes no more memory than
// a small one, compressed, signed and encrypted. What it takes lies on the disk
// without a name, and is given back.
func TestRow46ReceiveHasConstantMemory(t *testing.T) {
	const size = 100 << 20
	for name, change := range map[string]func(send, receive *PMode){
		"compressed, signed, encrypted": func(*PMode, *PMode) {},
		"signed": func(s, r *PMode) {
			s.Compress, s.Encrypt, r.Receive.Encrypted = false, wssec.Encrypting{}, false
		},
	} {
		t.Run(name, func(t *testing.T) {
			send, receive := toNorthwind(), fromAcme()
			change(&send, &receive)
			file, err := os.Create(filepath.Join(t.TempDir(), "wire"))
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			r, err := Build(file, send, orderDocument(Payload{ContentType: "application/octet-stream", Size: size, Content: &pseudo{size: size}}), nil, testNow)
			if err != nil {
				t.Fatal(err)
			}
			h := receiverHandler(t, &receiver{p: receive})
			inbox := &readThrough{}
			h.o.Inbox = inbox
			if _, err := file.Seek(0, io.SeekStart); err != nil {
				t.Fatal(err)
			}
			req, err := http.NewRequest(http.MethodPost, "http://edi.northwind.example/as4", file)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", r.ContentType)
			req.ContentLength = r.Size
			var res *http.Response
			used := testfixture.Allocated(t, func() { res = serve(h, req) })
			if answer, e := answered(t, res); answer != "receipt" || inbox.read != size {
				t.Errorf("answered %s: %s, %d bytes were read", answer, e.Detail, inbox.read)
			}
			if used > 8<<20 {
				t.Errorf("receiving %d bytes allocates %d", r.Size, used)
			}
			if left, err := os.ReadDir(h.o.Scratch); err != nil || len(left) > 0 {
				t.Errorf("left on the disk: %v, %v", left, err)
			}
			t.Logf("%d bytes of wire, %d KiB allocated", r.Size, used>>10)
		})
	}
}

// readThrough is an inbox that reads the payloads and keeps nothing.
type readThrough struct{ read int64 }

// Receive implements Inbox.
func (d *readThrough) Receive(_ context.Context, r Received) (*Answer, bool, error) {
	for _, p := range r.Payloads {
		n, err := io.Copy(io.Discard, struct{ io.Reader }{p.Content})
		d.read += n
		if err != nil {
			return nil, false, err
		}
	}
	return nil, false, nil
}
