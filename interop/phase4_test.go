package interop

import (
	"context"
	"os/exec"
	"path/filepath"
)

// phase4 is phax phase4, a Java library, with the driver in phase4/.
type phase4 struct {
	as4Driver
	lib string // folder of its jars

	material as4Material // as it was started
	agreed   []as4Terms
}

func newPhase4() *phase4 { return &phase4{as4Driver: as4Driver{listen: freeAddress()}} }

func (*phase4) name() string    { return "phase4" }
func (*phase4) product() string { return "phase4 4.4.1" }

// lacks nothing: what it refuses stands among the deviations.
func (*phase4) lacks(as4Profile, direction) string { return "" }

func (p *phase4) install(ctx context.Context) error {
	if _, err := exec.LookPath("javac"); err != nil {
		return err
	}
	// A servlet engine, a JAXB runtime and something that writes a log it leaves to
	// whoever uses it.
	lib, err := jars(ctx, "phase4.sha256", "com.helger.phase4:phase4-lib:4.4.1", "org.eclipse.jetty.ee10:jetty-ee10-servlet:12.0.16",
		"org.glassfish.jaxb:jaxb-runtime:4.0.5", "org.slf4j:slf4j-simple:2.0.17")
	p.lib = lib
	return err
}

func (p *phase4) start(ctx context.Context, m as4Material, all []as4Terms) error {
	p.dir = m.Dir
	run, err := javaDriver(ctx, "phase4", p.lib, filepath.Join(m.Dir, "classes"), "2g")
	if err != nil {
		return err
	}
	p.material, p.agreed = m, all
	return p.begin(ctx, run, p.listen, m, all)
}

// again starts it anew after it was stopped.
func (p *phase4) again(ctx context.Context) error { return p.start(ctx, p.material, p.agreed) }
