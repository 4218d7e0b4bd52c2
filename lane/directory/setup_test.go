package directory

import (
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"edigw/as4/smp"
	"edigw/fault"
	"edigw/internal/testpki"
	"edigw/internal/testsmp"

	"github.com/miekg/dns"
)

const zone = "sml.example"

var (
	northwind = smp.ID{Scheme: "iso6523-actorid-upis", Value: "0088:4098765000007"}
	invoice   = smp.ID{Scheme: "busdox-docid-qns", Value: "urn:oasis:names:specification:ubl:schema:xsd:Invoice-2::Invoice##urn:x::2.1"}
	billing   = smp.ID{Scheme: "cenbii-procid-ubl", Value: "urn:p"}
	query     = Query{northwind, invoice, billing}
)

// network is one on loopback: a name server, an SMP, and what they say.
type network struct {
	points, publishers testpki.Identity
	smp, ap            testpki.Identity
	settings           Settings
	zoneAsked, asked   atomic.Int32
	mu                 sync.Mutex
	records            map[string][]dns.RR // by lower-case name with the dot
	rcode              int
	answer             http.HandlerFunc
	base               string
	clock              time.Time
}

func newNetwork(t *testing.T) *network {
	span := testpki.Valid()
	n := &network{points: testpki.CA(t, "Test AP CA", span), publishers: testpki.CA(t, "Test SMP CA", span), records: map[string][]dns.RR{}, clock: time.Now()}
	n.smp = n.publishers.Issue(t, testpki.RSA(t, 0), "SMP000001", span)
	n.ap = n.points.Issue(t, testpki.RSA(t, 1), "POP000001", span)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.asked.Add(1)
		n.mu.Lock()
		answer := n.answer
		n.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(server.Close)
	n.base = server.URL
	n.settings = Settings{Zone: zone, DNS: []string{n.nameServer(t)}, Transport: smp.TransportAS4, Keep: time.Hour, Key: "k"}
	pool := func(i testpki.Identity) *x509.CertPool {
		p := x509.NewCertPool()
		p.AddCert(i.Cert)
		return p
	}
	n.settings.Trust = smp.Trust{Publishers: pool(n.publishers), AccessPoints: pool(n.points)}
	n.naptr(`!.*!` + n.base + `!`)
	n.says(n.service().Signed(t, n.smp))
	return n
}

func (n *network) service() testsmp.Service {
	return testsmp.Service{Participant: [2]string{northwind.Scheme, northwind.Value}, Document: [2]string{invoice.Scheme, invoice.Value}, Process: [2]string{billing.Scheme, billing.Value},
		Endpoints: []testsmp.Endpoint{{Transport: smp.TransportAS4, URL: "https://ap.northwind.example/as4", Certificate: n.ap.Cert.Raw}}}
}

// says has the SMP answer, and only about the right question.
func (n *network) says(answer []byte) {
	n.answers(func(w http.ResponseWriter, r *http.Request) {
		if want := smp.URL("", northwind, invoice); r.URL.EscapedPath() != want {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(answer)
	})
}

func (n *network) answers(f http.HandlerFunc) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.answer = f
}

func (n *network) naptr(regexps ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	name := smp.NameNAPTR(northwind, zone) + "."
	n.records[name] = nil
	for i, r := range regexps {
		n.records[name] = append(n.records[name], &dns.NAPTR{Hdr: dns.RR_Header{Name: name, Rrtype: dns.TypeNAPTR, Class: dns.ClassINET, Ttl: 60},
			Order: uint16(100 - i), Preference: 10, Flags: "U", Service: smp.ServiceSMP, Regexp: r, Replacement: "."})
	}
}

// nameServer serves the records over UDP and TCP.
func (n *network) nameServer(t *testing.T) string {
	packet, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", packet.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	handler := dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		n.zoneAsked.Add(1)
		n.mu.Lock()
		defer n.mu.Unlock()
		a := new(dns.Msg).SetReply(q)
		name := strings.ToLower(q.Question[0].Name)
		records, known := n.records[name]
		for _, r := range records {
			if r.Header().Rrtype == q.Question[0].Qtype {
				a.Answer = append(a.Answer, r)
			}
		}
		if a.Rcode = n.rcode; n.rcode == 0 && !known {
			a.Rcode = dns.RcodeNameError
		}
		if _, udp := w.LocalAddr().(*net.UDPAddr); udp {
			a.Truncate(bufferSize)
		}
		_ = w.WriteMsg(a)
	})
	for _, s := range []*dns.Server{{PacketConn: packet, Handler: handler}, {Listener: listener, Handler: handler}} {
		started := make(chan struct{})
		s.NotifyStartedFunc = func() { close(started) }
		go func() { _ = s.ActivateAndServe() }()
		<-started
		t.Cleanup(func() { _ = s.Shutdown() })
	}
	return packet.LocalAddr().String()
}

func (n *network) directory() *Directory {
	return New(func() time.Time { n.mu.Lock(); defer n.mu.Unlock(); return n.clock })
}

func (n *network) later(d time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.clock = n.clock.Add(d)
}

func mustFind(t *testing.T, d *Directory, s Settings) smp.Endpoint {
	t.Helper()
	e, err := d.Find(t.Context(), s, query)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func mustURL(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func cause(err error) fault.Cause {
	f, ok := errors.AsType[*Failure](err)
	if !ok {
		return "none"
	}
	return f.Outcome.Cause
}
