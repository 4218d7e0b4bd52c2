package exchange

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"edigw/fault"
)

// dialer opens connections: to the partner, to our proxy, or through it.
type dialer struct {
	net       net.Dialer
	connect   time.Duration
	proxy     *url.URL // nil: none
	proxyAddr string   // host:port
	except    exceptions
	trust     trust
	client    func() (*tls.Certificate, error)
}

func newDialer(s Settings) (*dialer, error) {
	d := &dialer{
		net:     net.Dialer{Resolver: s.Resolver, KeepAlive: 30 * time.Second},
		connect: s.Connect,
		proxy:   s.Proxy,
		trust:   newTrust(s.Trust, s.Now),
		client:  s.Client,
	}
	if d.connect <= 0 {
		d.connect = 10 * time.Second
	}
	if s.Proxy != nil {
		port, ok := map[string]string{"http": "80", "https": "443"}[s.Proxy.Scheme]
		if !ok || s.Proxy.Hostname() == "" {
			return nil, fmt.Errorf("proxy: want http://host:port or https://host:port, scheme is %q", s.Proxy.Scheme)
		}
		if s.Proxy.Port() != "" {
			port = s.Proxy.Port()
		}
		d.proxyAddr = net.JoinHostPort(s.Proxy.Hostname(), port)
	}
	var err error
	d.except, err = parseExceptions(s.Except)
	return d, err
}

// dialError says where opening a connection ended.
type dialError struct {
	phase fault.Phase
	addr  string // host:port that was dialled
	proxy bool   // addr is our proxy
	err   error
}

func (e *dialError) Error() string { return e.phase.String() + " " + e.addr + ": " + e.err.Error() }
func (e *dialError) Unwrap() error { return e.err }

// proxyRefusal is our proxy's answer to CONNECT.
type proxyRefusal struct {
	status int
	text   string
}

func (e *proxyRefusal) Error() string { return e.text }

// forward is Transport.Proxy. Only plain HTTP is forwarded by the transport;
// secure opens its own tunnel, because it must see each phase.
func (d *dialer) forward(req *http.Request) (*url.URL, error) {
	if req.URL.Scheme == "http" && d.proxied(req.URL.Hostname()) {
		return d.proxy, nil
	}
	return nil, nil
}

func (d *dialer) proxied(host string) bool { return d.proxy != nil && !d.except.match(host) }

// plain opens a TCP connection to the partner or, for plain HTTP, to our proxy.
func (d *dialer) plain(ctx context.Context, _, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, d.connect)
	defer cancel()
	toProxy := d.proxy != nil && addr == d.proxyAddr
	c, err := d.tcp(ctx, addr, toProxy)
	if err != nil {
		return nil, err
	}
	if toProxy {
		return newConn(c, addr), nil
	}
	return newConn(c, ""), nil
}

// secure opens a TLS connection, through our proxy where one is in the way.
func (d *dialer) secure(ctx context.Context, _, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, d.connect)
	defer cancel()
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, &dialError{fault.PhaseConnect, addr, false, err}
	}
	if d.proxy != nil && addr == d.proxyAddr { // the transport forwards plain HTTP over TLS to the proxy
		tc, err := d.tlsToProxy(ctx)
		if err != nil {
			return nil, err
		}
		return newConn(tc, addr), nil
	}
	rec := recorderFrom(ctx)
	var under net.Conn
	if d.proxied(host) {
		under, err = d.tunnel(ctx, addr)
	} else {
		under, err = d.tcp(ctx, addr, false)
	}
	if err != nil {
		return nil, err
	}
	rec.reach(fault.PhaseTLS)
	began := time.Now()
	tc := tls.Client(under, d.config(host))
	if err := tc.HandshakeContext(ctx); err != nil {
		under.Close()
		return nil, &dialError{fault.PhaseTLS, addr, false, err}
	}
	rec.took(func(t *fault.Timings) { t.TLS = time.Since(began) })
	return newConn(tc, ""), nil
}

func (d *dialer) config(host string) *tls.Config {
	cfg := &tls.Config{
		MinVersion: tls.VersionTLS12,
		ServerName: host,
		Time:       d.trust.now,
		// The library's check knows no pin: VerifyConnection does all of it.
		InsecureSkipVerify: true,
		VerifyConnection:   func(cs tls.ConnectionState) error { return d.trust.verify(cs, host) },
	}
	if d.client != nil {
		cfg.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			cert, err := d.client()
			if err != nil {
				return nil, &clientCertificateError{err}
			}
			if cert == nil {
				cert = new(tls.Certificate) // none to send (crypto/tls wants a value)
			}
			return cert, nil
		}
	}
	return cfg
}

// clientCertificateError is our own fault in a handshake.
type clientCertificateError struct{ err error }

func (e *clientCertificateError) Error() string { return e.err.Error() }
func (e *clientCertificateError) Unwrap() error { return e.err }

// tcp looks the name up and connects.
func (d *dialer) tcp(ctx context.Context, addr string, proxy bool) (net.Conn, error) {
	recorderFrom(ctx).dialling(addr, proxy)
	c, err := d.net.DialContext(ctx, "tcp", addr)
	if err != nil {
		phase := fault.PhaseConnect
		if _, ok := errors.AsType[*net.DNSError](err); ok {
			phase = fault.PhaseResolve
		}
		return nil, &dialError{phase, addr, proxy, err}
	}
	return c, nil
}

// tlsToProxy connects to a proxy that is itself behind TLS.
func (d *dialer) tlsToProxy(ctx context.Context) (*tls.Conn, error) {
	c, err := d.tcp(ctx, d.proxyAddr, true)
	if err != nil {
		return nil, err
	}
	cfg := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: d.proxy.Hostname(), Time: d.trust.now}
	tc := tls.Client(c, cfg)
	if err := tc.HandshakeContext(ctx); err != nil {
		c.Close()
		return nil, &dialError{fault.PhaseProxy, d.proxyAddr, true, err}
	}
	return tc, nil
}

// tunnel asks our proxy for a connection to addr (RFC 9110 §9.3.6).
func (d *dialer) tunnel(ctx context.Context, addr string) (net.Conn, error) {
	var under net.Conn
	var err error
	if d.proxy.Scheme == "https" {
		under, err = d.tlsToProxy(ctx)
	} else {
		under, err = d.tcp(ctx, d.proxyAddr, true)
	}
	if err != nil {
		return nil, err
	}
	recorderFrom(ctx).reach(fault.PhaseProxy)
	stop := context.AfterFunc(ctx, func() { under.Close() })
	err = d.askTunnel(under, addr)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		under.Close()
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, &dialError{fault.PhaseProxy, d.proxyAddr, true, err}
	}
	return under, nil
}

func (d *dialer) askTunnel(c net.Conn, addr string) error {
	req := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: addr}, Host: addr, Header: http.Header{}}
	if u := d.proxy.User; u != nil {
		password, _ := u.Password()
		login := base64.StdEncoding.EncodeToString([]byte(u.Username() + ":" + password))
		req.Header.Set("Proxy-Authorization", "Basic "+login)
	}
	if err := req.Write(c); err != nil {
		return err
	}
	// The partner speaks only after our ClientHello: nothing of its bytes can
	// be in this buffer.
	br := bufio.NewReader(io.LimitReader(c, maxHeader))
	res, err := http.ReadResponse(br, req)
	if err != nil {
		return err
	}
	if res.StatusCode/100 != 2 {
		return &proxyRefusal{res.StatusCode, res.Status}
	}
	if br.Buffered() > 0 {
		return errors.New("the proxy sent bytes before the tunnel was used")
	}
	return nil
}
