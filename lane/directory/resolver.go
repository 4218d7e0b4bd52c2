package directory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"edigw/as4/smp"

	"github.com/miekg/dns"
)

// Bounds of asking DNS.
const (
	askTime    = 3 * time.Second // one server, once
	askRounds  = 2
	maxServers = 3
	bufferSize = 1232 // of an answer over UDP (DNS flag day 2020)
)

// errNoName says that a name does not exist, or has no record of the kind.
var errNoName = errors.New("the name is not there")

// resolver asks name servers.
type resolver struct{ servers []string }

// newResolver asks the servers given, or those of the system.
func newResolver(servers []string) (resolver, error) {
	if len(servers) == 0 {
		system, err := dns.ClientConfigFromFile("/etc/resolv.conf")
		if err != nil || len(system.Servers) == 0 {
			return resolver{}, fmt.Errorf("the system names no name server (/etc/resolv.conf): %w", cmp.Or(err, errors.New("it is empty")))
		}
		for _, s := range system.Servers {
			servers = append(servers, net.JoinHostPort(s, system.Port))
		}
	}
	out := resolver{}
	for _, s := range servers[:min(len(servers), maxServers)] {
		if _, _, err := net.SplitHostPort(s); err != nil {
			s = net.JoinHostPort(strings.Trim(s, "[]"), "53")
		}
		out.servers = append(out.servers, s)
	}
	return out, nil
}

// ask gives the records of a kind that a name has. The error is errNoName, or
// says which server did not answer.
func (r resolver) ask(ctx context.Context, name string, kind uint16) ([]dns.RR, error) {
	q := new(dns.Msg).SetQuestion(dns.Fqdn(name), kind)
	q.SetEdns0(bufferSize, false)
	var failed error
	for i := range askRounds * len(r.servers) {
		server := r.servers[i%len(r.servers)]
		a, err := r.exchange(ctx, q, server)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			failed = fmt.Errorf("the name server %s does not answer for %s (%w)", server, name, err)
		case a.Rcode == dns.RcodeNameError, a.Rcode == dns.RcodeSuccess && len(a.Answer) == 0:
			return nil, errNoName
		case a.Rcode == dns.RcodeSuccess:
			return a.Answer, nil
		default:
			failed = fmt.Errorf("the name server %s answers %s for %s", server, dns.RcodeToString[a.Rcode], name)
		}
	}
	return nil, failed
}

// exchange asks one server, over TCP if the answer is too long for UDP.
func (r resolver) exchange(ctx context.Context, q *dns.Msg, server string) (*dns.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	q.Id = dns.Id()
	a, _, err := (&dns.Client{UDPSize: bufferSize}).ExchangeContext(ctx, q, server)
	if err == nil && a.Truncated {
		a, _, err = (&dns.Client{Net: "tcp"}).ExchangeContext(ctx, q, server)
	}
	if err != nil {
		return nil, err
	}
	if len(a.Question) != 1 || !strings.EqualFold(a.Question[0].Name, q.Question[0].Name) || a.Question[0].Qtype != q.Question[0].Qtype {
		return nil, errors.New("it answers another question")
	}
	return a, nil
}

// maxRecords bounds the NAPTR records of a participant that are looked at.
const maxRecords = 20

// publisher finds the SMP of a participant in the NAPTR record of the SML.
func (r resolver) publisher(ctx context.Context, name string) (string, error) {
	answer, err := r.ask(ctx, name, dns.TypeNAPTR)
	if err != nil {
		return "", err
	}
	var records []*dns.NAPTR
	for _, rr := range answer[:min(len(answer), maxRecords)] {
		if n, ok := rr.(*dns.NAPTR); ok && strings.EqualFold(n.Service, smp.ServiceSMP) && strings.EqualFold(n.Flags, "U") {
			records = append(records, n)
		}
	}
	slices.SortStableFunc(records, func(a, b *dns.NAPTR) int {
		return cmp.Or(cmp.Compare(a.Order, b.Order), cmp.Compare(a.Preference, b.Preference))
	})
	for _, n := range records {
		if u, one := smp.FromNAPTR(n.Regexp); one == nil {
			return u, nil
		} else if err == nil {
			err = one
		}
	}
	if err == nil {
		err = errNoName
	}
	return "", err
}

// exists fails with errNoName for a name without an address.
func (r resolver) exists(ctx context.Context, name string) error {
	_, err := r.ask(ctx, name, dns.TypeA)
	if errors.Is(err, errNoName) {
		_, err = r.ask(ctx, name, dns.TypeAAAA)
	}
	return err
}

// standard resolves the addresses of hosts with the same servers.
func (r resolver) standard() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, network, r.servers[0])
	}}
}
