package interop

import (
	"context"
	"os/exec"
)

// pyas2lib is a Python library, with the driver in pyas2/.
type pyas2lib struct {
	driver
	python string
	listen string // host:port
}

func newPyAS2Lib() peer { return &pyas2lib{listen: freeAddress()} }

func (*pyas2lib) name() string    { return "pyas2lib" }
func (*pyas2lib) product() string { return "pyas2lib 1.4.4" }

func (*pyas2lib) lacks(p profile, d direction) string {
	switch {
	case p.encrypt == "aes256-gcm":
		return "It knows no GCM."
	case p.transport != "rsa-pkcs1" && d == fromPeer:
		return "It encrypts keys in the PKCS #1 way only."
	case p.transport == "rsa-oaep-sha256":
		return "It opens OAEP with SHA-1 only."
	case p.compress == "after-sign" && d == fromPeer:
		return "It compresses before it signs, never after."
	case p.encoding == "base64" && d == fromPeer:
		return "It sends no base64."
	}
	return ""
}

func (p *pyas2lib) install(ctx context.Context) (err error) {
	p.python, err = virtualenv(ctx, "pyas2lib-1.4.4", "pyas2/requirements.txt")
	return err
}

func (p *pyas2lib) start(ctx context.Context, m material) error {
	return p.begin(ctx, exec.Command(p.python, "pyas2/driver.py"), p.listen, m, allTerms(p))
}

func (p *pyas2lib) endpoints(profile) (messages, receipts string) {
	return "http://" + p.listen + "/as2", "http://" + p.listen + "/receipts"
}

func (p *pyas2lib) send(ctx context.Context, pr profile, d document) (outcome, error) {
	return p.sendAs(ctx, termsOf(p, pr), d)
}

func (p *pyas2lib) received(ctx context.Context, pr profile, messageID string) (arrival, error) {
	return p.receivedAs(ctx, termsOf(p, pr), messageID)
}

func (p *pyas2lib) stop() { p.end() }
