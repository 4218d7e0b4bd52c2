package directory

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"edigw/as4/smp"
	"edigw/fault"
	"edigw/internal/testpki"
	"edigw/internal/testsmp"

	"github.com/miekg/dns"
)

// TestFound: in each of the ways that a directory may be asked.
func TestFound(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(t *testing.T, n *network){
		"NAPTR":                    func(*testing.T, *network) {},
		"the first NAPTR by order": func(_ *testing.T, n *network) { n.naptr("!.*!http://wrong.example!", "!^.*$!"+n.base+"!") },
		"a NAPTR that is none":     func(_ *testing.T, n *network) { n.naptr("!.*!"+n.base+"!", "!^(.*)$!x\\1!") },
		"too long for UDP": func(_ *testing.T, n *network) {
			all := []string{"!.*!" + n.base + "!"}
			for range 12 {
				all = append([]string{"!.*!http://wrong.example/" + strings.Repeat("x", 150) + "!"}, all...)
			}
			n.naptr(all...)
		},
		"a fixed SMP": func(_ *testing.T, n *network) { n.settings.Zone, n.settings.URL = "", n.base+"/" },
		"a redirect": func(t *testing.T, n *network) {
			answer, redirect := n.service().Signed(t, n.smp), testsmp.Service{Redirect: n.base + "/other"}.Signed(t, n.smp)
			n.answers(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasPrefix(r.URL.Path, "/other/") {
					_, _ = w.Write(answer)
				} else {
					_, _ = w.Write(redirect)
				}
			})
		},
		"a name server that is down before": func(_ *testing.T, n *network) {
			n.settings.DNS = append([]string{"127.0.0.1:1"}, n.settings.DNS...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNetwork(t)
			change(t, n)
			if e := mustFind(t, n.directory(), n.settings); e.URL != "https://ap.northwind.example/as4" || !e.Certificate.Equal(n.ap.Cert) {
				t.Errorf("%+v", e)
			}
		})
	}
}

// TestFoundByCNAME: the older names lead to the SMP as a host, looked up at the
// same name servers. It listens on port 80, so the test goes through a proxy.
func TestFoundByCNAME(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	name := smp.NameCNAME(northwind, zone)
	n.mu.Lock()
	n.records[name+"."] = []dns.RR{&dns.A{Hdr: dns.RR_Header{Name: name + ".", Rrtype: dns.TypeA, Class: dns.ClassINET}, A: net.IPv4(127, 0, 0, 1)}}
	n.mu.Unlock()
	answer := n.service().Signed(t, n.smp)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host == name {
			_, _ = w.Write(answer)
		}
	}))
	t.Cleanup(proxy.Close)
	n.settings.CNAME = true
	n.settings.HTTP.Proxy = mustURL(t, proxy.URL)
	if e := mustFind(t, n.directory(), n.settings); e.URL == "" {
		t.Error("nothing")
	}
	n.settings.Key = "another"
	if _, err := n.directory().Find(t.Context(), n.settings, Query{smp.ID{Scheme: northwind.Scheme, Value: "0088:1"}, invoice, billing}); cause(err) != fault.CauseNotListed {
		t.Errorf("another participant: %v", err)
	}
}

// TestAS4Row22Row23WhatFailsIsTold: the definite word of the directory is told from
// trouble with it, and trouble of all from that of one receiver.
func TestAS4Row22Row23WhatFailsIsTold(t *testing.T) {
	t.Parallel()
	status := func(code int) func(*testing.T, *network) {
		return func(_ *testing.T, n *network) {
			n.answers(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) })
		}
	}
	fixed := func(then func(*testing.T, *network)) func(*testing.T, *network) {
		return func(t *testing.T, n *network) {
			n.settings.Zone, n.settings.URL = "", n.base
			then(t, n)
		}
	}
	for name, c := range map[string]struct {
		change func(*testing.T, *network)
		cause  fault.Cause
		text   string
	}{
		"not in the network": {func(_ *testing.T, n *network) { clear(n.records) }, fault.CauseNotListed, "is not in the network"},
		"no record of ours":  {func(_ *testing.T, n *network) { n.naptr() }, fault.CauseNotListed, "is not in the network"},
		"no such document":   {status(404), fault.CauseNotListed, "does not take the document type busdox-docid-qns::urn:oasis"},
		"no such transport": {func(t *testing.T, n *network) {
			s := n.service()
			s.Endpoints[0].Transport = "busdox-transport-as2-ver1p0"
			n.says(s.Signed(t, n.smp))
		}, fault.CauseNotListed, "there is busdox-transport-as2-ver1p0"},
		"DNS fails":             {func(_ *testing.T, n *network) { n.rcode = dns.RcodeServerFailure }, fault.CauseDNS, "SERVFAIL"},
		"DNS is down":           {func(_ *testing.T, n *network) { n.settings.DNS = []string{"127.0.0.1:1"} }, fault.CauseDNS, "does not answer"},
		"a NAPTR of nonsense":   {func(_ *testing.T, n *network) { n.naptr("!.*!ldap://x!") }, fault.CauseDNS, "not the http"},
		"the SMP is down":       {func(_ *testing.T, n *network) { n.naptr("!.*!http://127.0.0.1:1!") }, fault.CauseDirectory, "refused"},
		"everybody's is down":   {func(_ *testing.T, n *network) { n.settings.Zone, n.settings.URL = "", "http://127.0.0.1:1" }, fault.CauseRefused, "127.0.0.1:1"},
		"everybody's is busy":   {fixed(status(503)), fault.CauseDirectory, "503"},
		"the SMP is busy":       {status(504), fault.CauseDirectory, "504"},
		"the SMP talks rubbish": {func(_ *testing.T, n *network) { n.says([]byte("<html>")) }, fault.CauseDirectory, "cannot be read"},
		"an answer without end": {func(_ *testing.T, n *network) { n.says(make([]byte, smp.MaxAnswer+1)) }, fault.CauseDirectory, "longer than 1 MiB"},
		"round and round": {func(t *testing.T, n *network) {
			answer := testsmp.Service{Redirect: n.base}.Signed(t, n.smp)
			n.answers(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(answer) })
		}, fault.CauseDirectory, "redirects again"},
		"an SMP of nobody": {func(t *testing.T, n *network) {
			n.says(n.service().Signed(t, testpki.SelfSigned(t, testpki.RSA(t, 2), "SMP", testpki.Valid())))
		}, fault.CauseBuild, "as4.smp.authorities"},
		"an access point of nobody": {func(t *testing.T, n *network) {
			s := n.service()
			s.Endpoints[0].Certificate = n.smp.Cert.Raw
			n.says(s.Signed(t, n.smp))
		}, fault.CauseBuild, "the access point"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNetwork(t)
			c.change(t, n)
			_, err := n.directory().Find(t.Context(), n.settings, query)
			if cause(err) != c.cause || !strings.Contains(fmt.Sprint(err), c.text) {
				t.Errorf("%s: %v, want %s with %q", cause(err), err, c.cause, c.text)
			}
			if f, ok := errors.AsType[*Failure](err); ok && (f.Outcome.Phase.Reached() || f.Outcome.Status != 0) {
				t.Errorf("it looks as if the receiver was reached: %+v", f.Outcome)
			}
		})
	}
}

// TestAS4Row25LookedUpOnce: whatever the number of documents to a receiver, his
// directory is asked once, and again when what is known is out of date.
func TestAS4Row25LookedUpOnce(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	d := n.directory()
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if _, err := d.Find(t.Context(), n.settings, query); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	asked := func(want int32, when string) {
		t.Helper()
		if got := n.asked.Load(); got != want {
			t.Errorf("%s: asked %d times, want %d", when, got, want)
		}
	}
	asked(1, "50 at once")
	d.Forget(n.settings, query)
	mustFind(t, d, n.settings)
	asked(1, "what was found just now did not work")
	n.later(59 * time.Minute)
	mustFind(t, d, n.settings)
	asked(1, "within the hour")
	d.Forget(n.settings, query)
	mustFind(t, d, n.settings)
	asked(2, "what was found some time ago did not work")
	n.later(time.Hour)
	mustFind(t, d, n.settings)
	asked(3, "out of date")
	other := n.settings
	other.Key = "changed"
	mustFind(t, d, other)
	asked(4, "changed settings")
}

// TestFailuresAreRememberedShortly: so that a retry finds what was mended, and a
// burst of documents asks once.
func TestFailuresAreRememberedShortly(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	d := n.directory()
	n.answers(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) })
	for range 2 {
		if _, err := d.Find(t.Context(), n.settings, query); cause(err) != fault.CauseDirectory {
			t.Error(err)
		}
	}
	if n.asked.Load() != 1 {
		t.Errorf("asked %d times", n.asked.Load())
	}
	n.says(n.service().Signed(t, n.smp))
	n.later(keepFailed)
	mustFind(t, d, n.settings)

	// What ends earlier than that is not used longer.
	s := n.service()
	s.Endpoints[0].Until = n.clock.Add(2 * time.Minute).UTC().Format(time.RFC3339)
	n.says(s.Signed(t, n.smp))
	n.settings.Key = "ending"
	mustFind(t, d, n.settings)
	n.later(3 * time.Minute)
	if _, err := d.Find(t.Context(), n.settings, query); cause(err) != fault.CauseNotListed {
		t.Errorf("past its end: %v", err)
	}
}

// TestWhoGoesAwayLeavesNothingBehind: the end of one's context is no answer for
// others.
func TestWhoGoesAwayLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	n := newNetwork(t)
	d := n.directory()
	begun, release := make(chan struct{}), make(chan struct{})
	answer := n.service().Signed(t, n.smp)
	var once sync.Once
	n.answers(func(w http.ResponseWriter, r *http.Request) {
		first := false
		once.Do(func() { first = true })
		if first {
			close(begun)
			<-release
			return
		}
		_, _ = w.Write(answer)
	})
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		_, err := d.Find(ctx, n.settings, query)
		gone <- err
	}()
	<-begun
	found := make(chan error, 1)
	go func() {
		_, err := d.Find(t.Context(), n.settings, query)
		found <- err
	}()
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("who went away: %v", err)
	}
	if err := <-found; err != nil {
		t.Errorf("who waited beside: %v", err)
	}
	close(release)
}

// TestWhatIsRememberedIsBounded: participants come from documents.
func TestWhatIsRememberedIsBounded(t *testing.T) {
	t.Parallel()
	d := New(time.Now)
	for i := range maxEntries + 100 {
		e, mine := d.claim(key{query: Query{Participant: smp.ID{Value: fmt.Sprint(i)}}})
		if !mine {
			t.Fatal("claimed twice")
		}
		e.until = time.Now().Add(time.Hour)
		close(e.done)
	}
	if len(d.entries) > maxEntries {
		t.Errorf("%d entries", len(d.entries))
	}
}
