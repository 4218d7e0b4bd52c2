package exchange

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"
)

// idleTimeout closes connections that nobody used, so that an idle partner
// holds nothing.
const idleTimeout = 90 * time.Second

// defaultContinue is how long 100 Continue is waited for: many servers that know
// it answer at once, and those that do not never will.
const defaultContinue = 2 * time.Second

// maxHeader bounds status line and headers of a response.
const maxHeader = 64 << 10

// Settings is the transport of one partner.
type Settings struct {
	// Trust lists what the server may show: a certificate listed here is
	// accepted as it is, whatever name it bears, while it is valid; every
	// listed certificate also counts as a root. Empty: the system's roots.
	Trust []*x509.Certificate
	// Client gives the client certificate in force, asked at each handshake
	// that wants one. Nil, or a nil certificate: none.
	Client func() (*tls.Certificate, error)
	// Proxy is our HTTP proxy (http or https), with user information if it
	// asks for a login. Nil: direct.
	Proxy *url.URL
	// Except lists what is contacted without Proxy: an IP address, a prefix
	// such as 10.0.0.0/8 (both match addresses in the URL, names are not
	// looked up for it), or a domain, which includes what lies under it.
	Except []string
	// Connect bounds name lookup, TCP, proxy and TLS in total. Zero: 10 s.
	Connect time.Duration
	// Connections bounds the open connections to one host. Zero: 4.
	Connections int
	// Continue bounds the wait for 100 Continue (Limits.Expect); then the body is
	// sent all the same. Zero: 2 s.
	Continue time.Duration
	// Resolver looks names up. Nil: the system's.
	Resolver *net.Resolver
	// Now is the clock that certificates are judged by. Nil: time.Now.
	Now func() time.Time
}

// NewClient gives the client of one partner: HTTP/1.1 with keep-alive, no
// compression, no cookies, no redirects. It opens nothing yet. An error names
// the setting that cannot be used. When the settings are replaced, call
// CloseIdleConnections; running exchanges end undisturbed.
func NewClient(s Settings) (*http.Client, error) {
	d, err := newDialer(s)
	if err != nil {
		return nil, err
	}
	connections := s.Connections
	if connections <= 0 {
		connections = 4
	}
	wait := s.Continue
	if wait <= 0 {
		wait = defaultContinue
	}
	protocols := new(http.Protocols)
	// One document a connection at a time: with HTTP/2 a stalled document
	// would hold others, and GOAWAY would invite net/http to send again.
	protocols.SetHTTP1(true)
	return &http.Client{
		Transport: &http.Transport{
			Proxy:                  d.forward,
			DialContext:            d.plain,
			DialTLSContext:         d.secure,
			Protocols:              protocols,
			DisableCompression:     true,
			MaxConnsPerHost:        connections,
			MaxIdleConnsPerHost:    connections,
			IdleConnTimeout:        idleTimeout,
			MaxResponseHeaderBytes: maxHeader,
			ExpectContinueTimeout:  wait,
			WriteBufferSize:        16 << 10, // a usual invoice in one write
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

// exceptions answers which hosts go without the proxy.
type exceptions struct {
	prefixes []netip.Prefix
	domains  []string
}

func parseExceptions(list []string) (exceptions, error) {
	var e exceptions
	for _, s := range list {
		s = strings.ToLower(strings.TrimSpace(s))
		if addr, err := netip.ParseAddr(s); err == nil {
			e.prefixes = append(e.prefixes, netip.PrefixFrom(addr.Unmap(), addr.Unmap().BitLen()))
			continue
		}
		if strings.Contains(s, "/") {
			p, err := netip.ParsePrefix(s)
			if err != nil {
				return e, fmt.Errorf("proxy exception %q: not a prefix such as 10.0.0.0/8", s)
			}
			e.prefixes = append(e.prefixes, p.Masked())
			continue
		}
		s = strings.Trim(strings.TrimPrefix(s, "*"), ".")
		if s == "" {
			return e, fmt.Errorf("proxy exception: empty, want an address, a prefix or a domain")
		}
		e.domains = append(e.domains, s)
	}
	return e, nil
}

func (e exceptions) match(host string) bool {
	if addr, err := netip.ParseAddr(host); err == nil {
		addr = addr.Unmap().WithZone("")
		for _, p := range e.prefixes {
			if p.Contains(addr) {
				return true
			}
		}
		return false
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	for _, d := range e.domains {
		if host == d || strings.HasSuffix(host, "."+d) {
			return true
		}
	}
	return false
}
