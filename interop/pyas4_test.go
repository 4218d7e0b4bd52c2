package interop

import (
	"context"
	"os/exec"
)

// pyas4 is a Python library, with the driver in pyas4/.
type pyas4 struct {
	as4Driver
	python string
}

func newPyAS4() *pyas4 { return &pyas4{as4Driver: as4Driver{listen: freeAddress()}} }

func (*pyas4) name() string    { return "pyas4" }
func (*pyas4) product() string { return "as4 0.2.0 (Python)" }

// lacks: it speaks the profile of the Peppol network and nothing else.
func (*pyas4) lacks(p as4Profile, _ direction) string {
	if p.community != "peppol" {
		return "It knows the Peppol profile only: RSA, one encrypted and compressed XML document in the envelope of that network."
	}
	return ""
}

func (p *pyas4) install(ctx context.Context) (err error) {
	p.python, err = virtualenv(ctx, "pyas4-0.2.0", "pyas4/requirements.txt")
	return err
}

func (p *pyas4) start(ctx context.Context, m as4Material, all []as4Terms) error {
	p.dir = m.Dir
	return p.begin(ctx, exec.Command(p.python, "pyas4/driver.py"), p.listen, m, all)
}
