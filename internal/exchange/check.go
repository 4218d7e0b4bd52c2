package exchange

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"edigw/fault"
)

// Step is one part of a connection check.
type Step struct {
	Name  string // DNS, TCP, Proxy, TLS, HTTP
	OK    bool
	Took  time.Duration // zero if not known
	Words string        // what was found, for people
}

// Report is the result of a connection check.
type Report struct {
	Steps   []Step // in order; ends with the first that failed
	Outcome fault.Outcome
}

// OK reports whether the partner answers: any HTTP answer but 502, 503 and
// 504 will do (delivery.md §6).
func (r Report) OK() bool { return len(r.Steps) > 0 && r.Steps[len(r.Steps)-1].OK }

// Answers reports whether an outcome shows that the partner answers.
func Answers(out fault.Outcome) bool {
	return out.Status != 0 && (out.Status < 502 || out.Status > 504)
}

// Check contacts a partner without a document: name, TCP, TLS, HEAD. It closes
// the idle connections of c first, so that it proves that a new one can be
// opened. An address that is no http or https URL fails at once.
func Check(ctx context.Context, c *http.Client, address string, l Limits) Report {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		out := fault.Outcome{Cause: fault.CauseBuild, Detail: "The address is not an http or https URL"}
		return Report{Steps: []Step{{Name: "DNS", Words: out.Detail}}, Outcome: out}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, u.String(), nil)
	if err != nil {
		out := fault.Outcome{Cause: fault.CauseBuild, Detail: "The address is not an http or https URL"}
		return Report{Steps: []Step{{Name: "DNS", Words: out.Detail}}, Outcome: out}
	}
	if closer, ok := roundTripper(c).(interface{ CloseIdleConnections() }); ok {
		closer.CloseIdleConnections()
	}
	l.Body = headSize
	_, out := Do(ctx, c, req, l)
	return Report{Steps: Steps(out, u), Outcome: out}
}

// Steps tells the outcome of contacting u as the way it went; it ends with the
// first step that failed.
func Steps(out fault.Outcome, u *url.URL) []Step {
	var done []Step
	t := out.Timings
	parts := []struct {
		phase fault.Phase
		name  string
		took  time.Duration
		words string
		skip  bool
	}{
		{fault.PhaseResolve, "DNS", t.Resolve, "name found", t.Resolve == 0 && out.Phase != fault.PhaseResolve},
		{fault.PhaseConnect, "TCP", t.Connect, "connected", false},
		{fault.PhaseProxy, "Proxy", 0, "", out.Phase != fault.PhaseProxy},
		{fault.PhaseTLS, "TLS", t.TLS, "certificate trusted", u.Scheme != "https"},
	}
	for _, p := range parts {
		switch {
		case out.Phase == p.phase || out.Phase < p.phase:
			return append(done, Step{Name: p.name, Took: p.took, Words: out.Detail})
		case !p.skip:
			done = append(done, Step{Name: p.name, OK: true, Took: p.took, Words: p.words})
		}
	}
	last := Step{Name: "HTTP", Took: t.Wait, Words: out.Detail}
	if out.Status != 0 {
		last.OK = Answers(out)
		last.Words = fmt.Sprintf("answered %d %s", out.Status, http.StatusText(out.Status))
	}
	return append(done, last)
}
