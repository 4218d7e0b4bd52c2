package as4

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"edigw/as4/ebms"
	"edigw/as4/wssec"
	"edigw/fault"
	"edigw/internal/scratch"
)

// TestBuildRefuses names what must be mended. Known faults 15, 31 and 62 are
// among them.
func TestBuildRefuses(t *testing.T) {
	t.Parallel()
	old := newPair("old.example", acme().key, testNow.AddDate(-2, 0, 0), testNow.AddDate(-1, 0, 0), nil)
	early := newPair("early.example", northwind().key, testNow.AddDate(1, 0, 0), testNow.AddDate(2, 0, 0), nil)
	for name, tc := range map[string]struct {
		change  func(*PMode, *Document)
		key     string
		suspect string
		cause   fault.Cause
		says    string
	}{
		"MessageId without a domain":     {func(_ *PMode, d *Document) { d.MessageID = "order" }, "identity.domain", "", fault.CauseBuild, "left@right"},
		"MessageId in angle brackets":    {func(_ *PMode, d *Document) { d.MessageID = "<a@b>" }, "identity.domain", "", fault.CauseBuild, "angle brackets"},
		"MessageId with a blank":         {func(_ *PMode, d *Document) { d.MessageID = "a b@c" }, "identity.domain", "", fault.CauseBuild, "blanks"},
		"no type":                        {func(_ *PMode, d *Document) { d.Payloads[0].ContentType = "edi" }, "as4.content_type", "", fault.CauseBuild, "type/subtype"},
		"type that ends its line":        {func(_ *PMode, d *Document) { d.Payloads[0].ContentType = "a/b\r\nX: y" }, "as4.content_type", "", fault.CauseBuild, ""},
		"no key":                         {func(p *PMode, _ *Document) { p.Sign.Key = nil }, "keys", "", fault.CauseKey, "no key"},
		"key of somebody else":           {func(p *PMode, _ *Document) { p.Sign.Key = stranger().key }, "keys", "", fault.CauseKey, "does not belong"},
		"own certificate expired":        {func(p *PMode, _ *Document) { p.Sign.Certificate = old.cert }, "keys", serial(old.cert), fault.CauseKey, "expired 2025-03-02"},
		"algorithm that the key has not": {func(p *PMode, _ *Document) { p.Sign.Algorithm = wssec.Ed25519 }, "as4.security.sign", "", fault.CauseKey, "ed25519"},
		"unknown algorithm":              {func(p *PMode, _ *Document) { p.Sign.Algorithm = "rsa-sha1" }, "as4.security.sign", "", fault.CauseKey, "rsa-sha1"},
		"nobody to encrypt to":           {func(p *PMode, _ *Document) { p.Encrypt.Recipient = nil }, "certificates.encrypt", "", fault.CauseBuild, "no certificate"},
		"their certificate not yet":      {func(p *PMode, _ *Document) { p.Encrypt.Recipient = early.cert }, "certificates.encrypt", serial(early.cert), fault.CauseBuild, "not valid before"},
		"transport that the key has not": {func(p *PMode, _ *Document) { p.Encrypt.Transport.Method = "x25519" }, "as4.security.encrypt", "", fault.CauseBuild, ""},
		"unknown cipher":                 {func(p *PMode, _ *Document) { p.Encrypt.Cipher = "aes128-cbc" }, "as4.security.encrypt", "", fault.CauseBuild, "aes128-cbc"},
		"row 31: Body not encrypted": {func(p *PMode, _ *Document) { p.Body, p.Compress = true, false }, "as4.security.encrypt", "", fault.CauseBuild,
			"in the clear"},
		"Body and compression": {func(p *PMode, _ *Document) { p.Body, p.Encrypt = true, wssec.Encrypting{} }, "as4.compress", "", fault.CauseBuild, "only attachments"},
		"Body with two payloads": {func(p *PMode, d *Document) {
			p.Body, p.Compress, p.Encrypt = true, false, wssec.Encrypting{}
			d.Payloads = append(d.Payloads, d.Payloads[0])
		}, "as4.body", "", fault.CauseBuild, "has 2"},
		"Body that is no XML": {func(p *PMode, _ *Document) { p.Body, p.Compress, p.Encrypt = true, false, wssec.Encrypting{} }, "as4.body", "", fault.CauseBuild, ""},
		"XML that is none, to be signed as it is": {func(p *PMode, d *Document) { p.Compress, d.Payloads[0].ContentType = false, "text/xml" },
			"as4.compress", "", fault.CauseBuild, "text/xml"},
		"row 62: empty agreement":     {func(p *PMode, _ *Document) { p.Agreement = &ebms.AgreementRef{} }, "as4.agreement", "", fault.CauseBuild, "leave it out"},
		"row 15: no service":          {func(p *PMode, _ *Document) { p.Service = ebms.Service{} }, "as4", "", fault.CauseBuild, "Service"},
		"no party":                    {func(p *PMode, _ *Document) { p.To.IDs = nil }, "as4", "", fault.CauseBuild, "PartyId"},
		"party without type or URI":   {func(p *PMode, _ *Document) { p.To.IDs = []ebms.PartyID{{Value: "NORTHWIND"}} }, "as4", "", fault.CauseBuild, "URI"},
		"unknown receipt":             {func(p *PMode, _ *Document) { p.Receipt.Mode = "later" }, "as4.receipt.mode", "", fault.CauseBuild, "later"},
		"digests of what is unsigned": {func(p *PMode, _ *Document) { p.Sign = wssec.Signing{} }, "as4.receipt.non_repudiation", "", fault.CauseBuild, ""},
		"nobody to verify with":       {func(p *PMode, _ *Document) { p.Verify = nil }, "certificates.verify", "", fault.CauseBuild, ""},
		"unsigned receipt by itself": {func(p *PMode, _ *Document) { p.Receipt.Mode, p.Receipt.Signed = ReceiptAsync, false },
			"as4.receipt.signed", "", fault.CauseBuild, "proves nothing"},
	} {
		p, d := toNorthwind(), orderDocument(payload("application/EDI-X12", "order.edi", []byte("ISA~")))
		tc.change(&p, &d)
		_, err := Build(io.Discard, p, d, nil, testNow)
		var setting *fault.SettingError
		if !errors.As(err, &setting) || setting.Key != tc.key || setting.Suspect != tc.suspect || setting.Cause != tc.cause || !strings.Contains(setting.Why, tc.says) {
			t.Errorf("%s: %v, %+v", name, err, setting)
			continue
		}
		if out := fault.Local(err); out.Cause != tc.cause || out.Suspect == "" || out.Detail == "" {
			t.Errorf("%s: outcome %+v", name, out)
		}
	}
}

// TestPayloadThatIsNotAsItsRecordSays is told from a disk that is full and from a
// writer that fails.
func TestPayloadThatIsNotAsItsRecordSays(t *testing.T) {
	t.Parallel()
	broken := errors.New("input/output error")
	for name, tc := range map[string]struct {
		content io.ReadSeeker
		size    int64
		w       io.Writer
		space   func(t *testing.T) *scratch.Space
		want    error
	}{
		"shorter":    {bytes.NewReader([]byte("ISA")), 4, io.Discard, nil, fault.ErrPayload},
		"longer":     {bytes.NewReader([]byte("ISA~~")), 4, io.Discard, nil, fault.ErrPayload},
		"unreadable": {struct{ io.ReadSeeker }{&broke{broken}}, 4, io.Discard, nil, fault.ErrPayload},
		"writer":     {bytes.NewReader([]byte("ISA~")), 4, iotestWriter{broken}, nil, broken},
		"no folder": {&zeros{size: 200 << 20}, 200 << 20, io.Discard, func(t *testing.T) *scratch.Space {
			return (*scratch.Rooms)(nil).Space(t.TempDir()+"/nowhere", "", "")
		}, scratch.ErrDisk},
	} {
		for _, compress := range []bool{true, false} {
			if name == "no folder" && !compress {
				continue // nothing is put aside
			}
			p, d := toNorthwind(), orderDocument(Payload{ContentType: "a/b", Size: tc.size, Content: tc.content})
			p.Compress = compress
			var space *scratch.Space
			if tc.space != nil {
				space = tc.space(t)
			}
			if _, err := Build(tc.w, p, d, space, testNow); !errors.Is(err, tc.want) {
				t.Errorf("%s, compressed %t: %v", name, compress, err)
			}
		}
	}
}

type broke struct{ err error }

func (b *broke) Read([]byte) (int, error) { return iotest.ErrReader(b.err).Read(nil) }

func (b *broke) Seek(int64, int) (int64, error) { return 0, nil }

type iotestWriter struct{ err error }

func (w iotestWriter) Write([]byte) (int, error) { return 0, w.err }
