package as4sender

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"edigw/as4"
	"edigw/as4/ebms"
	"edigw/as4/sbdh"
	"edigw/as4/smp"
	"edigw/fault"
	"edigw/internal/certs"
	"edigw/lane/directory"
	"edigw/lane/wire"
	"edigw/partner"
	"edigw/queue"
)

// terms are what holds for one message: the P-Mode of its partner, and, where the
// partner is a network, what its document says about itself and where the
// directory says that its receiver is.
type terms struct {
	p         as4.PMode
	agreement string       // fingerprint of all that the message is built from
	point     *accessPoint // nil: nobody was looked up
	settings  directory.Settings
	query     directory.Query
}

// accessPoint is whom a build was made for.
type accessPoint struct {
	URL         string `json:"url"`
	Certificate []byte `json:"certificate"` // DER
}

// record is what is kept of a build.
type record struct {
	as4.Rendition
	AccessPoint *accessPoint `json:"access_point,omitempty"`
}

// terms finds out what holds for m now.
func (s *Sender) terms(ctx context.Context, snapshot *partner.Snapshot, m queue.Message) (terms, *fault.Outcome) {
	p, err := snapshot.PMode(m.Partner, s.Now())
	if err != nil {
		return terms{}, wire.Failed(err)
	}
	n := networkOf(snapshot, m.Partner)
	p = withOwn(snapshot, p, m)
	t := terms{p: p}
	if !n.Wrap && !n.Directory {
		if err := complete(snapshot, p, m); err != nil {
			return t, barred(err)
		}
		t.agreement = p.Fingerprint()
		return t, nil
	}
	a, err := s.address(m, n, p)
	if err != nil {
		return t, barred(err)
	}
	t.p.Service, t.p.Action = ebms.Service{Value: a.header.Process.Value, Type: a.header.Process.Scheme}, a.header.Document.String()
	if n.FixedService {
		t.p.Service = p.Service
	}
	if n.FixedAction {
		t.p.Action = p.Action
	}
	t.p.Properties = withEnds(p.Properties, m, a)
	if err := complete(snapshot, t.p, m); err != nil {
		return t, barred(err)
	}
	if d := snapshot.Directory(m.Partner, s.Now()); d != nil {
		if o := s.lookUp(ctx, snapshot, m.Partner, d, a.header, &t); o != nil {
			return t, o
		}
	}
	t.agreement = t.p.Fingerprint()
	if a.wrap { // the header is part of what is built
		sum := sha256.Sum256(fmt.Appendf(nil, "%s %q", t.agreement, []string{fmt.Sprintf("%+v", a.header)}))
		t.agreement = hex.EncodeToString(sum[:])
	}
	return t, nil
}

// networkOf is how documents of a partner go to receivers of a network.
func networkOf(snapshot *partner.Snapshot, id string) partner.Network {
	if of := settingsOf(snapshot, id); of != nil {
		return of.Network
	}
	return partner.Network{}
}

// lookUp fills in the access point of the receiver.
func (s *Sender) lookUp(ctx context.Context, snapshot *partner.Snapshot, id string, d *partner.Directory, h sbdh.Header, t *terms) *fault.Outcome {
	document, process := h.Document, h.Process
	t.query = directory.Query{Participant: smp.ID(h.Receiver), Document: smp.ID(document), Process: smp.ID(process)}
	for what, id := range map[string]smp.ID{"receiver": t.query.Participant, "document type": t.query.Document, "process": t.query.Process} {
		if err := id.Check(); err != nil {
			return barred(unaddressed("the %s cannot be looked up: %v", what, err))
		}
	}
	way, err := snapshot.Transport(id, s.Now)
	if err != nil {
		return wire.Failed(err)
	}
	way.Trust, way.Client = nil, nil // those are for access points
	t.settings = directory.Settings{Zone: d.Zone, URL: d.URL, CNAME: d.CNAME, DNS: d.DNS, Transport: d.Transport, Keep: d.Keep,
		Trust: smp.Trust{Publishers: d.Publishers, AccessPoints: d.AccessPoints}, HTTP: way, Key: d.Key}
	found, err := s.directory.Find(ctx, t.settings, t.query)
	if failure, ok := errors.AsType[*directory.Failure](err); ok {
		return &failure.Outcome
	}
	if err != nil {
		return wire.Failed(err)
	}
	t.point = &accessPoint{URL: found.URL, Certificate: found.Certificate.Raw}
	s.points.remember(id, found.URL)
	p := &t.p
	p.URL = found.URL
	if p.Encrypt.Cipher != "" {
		p.Encrypt.Recipient = found.Certificate
	}
	p.To.IDs = []ebms.PartyID{{Value: found.Certificate.Subject.CommonName, Type: networkOf(snapshot, id).PartyType}}
	// Whoever is below the authority may have renewed his certificate, and has
	// the same name then.
	p.Verify, p.Lapsed, p.SubjectIsParty = append(p.Verify[:0:0], found.Certificate), nil, true
	return nil
}

// unfit says why a build cannot be sent as things are, nil if it can.
func (t terms) unfit(b queue.Build) *fault.Outcome {
	switch {
	case b.N == 0:
		return &fault.Outcome{Phase: fault.PhaseResolve, Cause: fault.CauseDirectory, Detail: "the receiver was found only after the message should have been built"}
	case t.point != nil && b.Agreement != t.agreement: // encrypted to somebody else than is there now
		return &fault.Outcome{Cause: fault.CauseStopped, Detail: "the receiver's access point changed just now"}
	}
	return nil
}

// acknowledged is which acknowledgement a message under the P-Mode asks for.
func acknowledged(p as4.PMode) fault.AckTiming {
	switch p.Receipt.Mode {
	case as4.ReceiptSync:
		return fault.AckSync
	case as4.ReceiptAsync:
		return fault.AckAsync
	}
	return fault.AckNotAsked
}

// points are the access points that partners' documents went to last, for
// connection checks: a network has no address of its own.
type points struct {
	mu   sync.Mutex
	urls map[string]string // by partner
}

func (p *points) remember(id, url string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.urls == nil {
		p.urls = map[string]string{}
	}
	p.urls[id] = url
}

func (p *points) last(id string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.urls[id]
}

// forget has the directory asked again if what it said did not work.
func (s *Sender) forget(t terms, o fault.Outcome) {
	if t.point == nil {
		return
	}
	again := slices.Contains([]fault.Cause{fault.CauseDNS, fault.CauseRefused, fault.CauseUnreachable, fault.CauseConnectTimeout, fault.CauseTLSTrust, fault.CauseTLS, fault.CauseTLSTimeout}, o.Cause) ||
		slices.Contains([]int{http.StatusNotFound, http.StatusGone, http.StatusForbidden, http.StatusMovedPermanently, http.StatusPermanentRedirect}, o.Status)
	if a := o.Ack; a != nil {
		again = again || a.Verdict == fault.AckWrongSigner || slices.Contains([]string{"EBMS:0004", "EBMS:0101", "EBMS:0102"}, a.EBMS)
	}
	if again {
		s.directory.Forget(t.settings, t.query)
	}
}

// knew fills in, for judging an acknowledgement, the certificates of the access
// points that a message went to.
func (s *Sender) knew(p *as4.PMode, builds []queue.Build) {
	for _, b := range builds {
		var r record
		if json.Unmarshal(b.Record, &r) != nil || r.AccessPoint == nil || !b.Sent {
			continue
		}
		c, err := certs.ParseCertificate(r.AccessPoint.Certificate)
		if err != nil {
			continue
		}
		p.To.IDs = []ebms.PartyID{{Value: c.Subject.CommonName}}
		p.Verify, p.SubjectIsParty = append(slices.Clip(p.Verify), c), true
	}
}

// awaited reports whether trouble is one that passes, and is no fault of the
// message or of our settings: then it counts as an attempt.
func awaited(o fault.Outcome) bool {
	return slices.Contains([]fault.Cause{fault.CauseDNS, fault.CauseDirectory, fault.CauseRefused, fault.CauseUnreachable, fault.CauseConnectTimeout,
		fault.CauseTLSTimeout, fault.CauseTLSTrust, fault.CauseTLS, fault.CauseReset, fault.CauseTimeout, fault.CauseProxy}, o.Cause)
}

func property(p as4.PMode, name string) *ebms.Property {
	if i := slices.IndexFunc(p.Properties, func(q ebms.Property) bool { return q.Name == name }); i >= 0 {
		return &p.Properties[i]
	}
	return nil
}
