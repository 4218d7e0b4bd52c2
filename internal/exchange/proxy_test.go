package exchange_test

import (
	"bufio"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"edigw/fault"
	"edigw/internal/exchange"
	"edigw/internal/testpki"
)

// tunnelling is a proxy that connects to where it is told, for the login
// user:secret.
func tunnelling(t *testing.T) (*partner, *atomic.Int32) {
	t.Helper()
	var tunnels atomic.Int32
	p := listen(t, nil, func(c net.Conn, r *bufio.Reader) {
		req, err := http.ReadRequest(r)
		for err == nil && req.Header.Get("Proxy-Authorization") != "Basic dXNlcjpzZWNyZXQ=" {
			io.Copy(io.Discard, req.Body)
			io.WriteString(c, reply(407, "", `Proxy-Authenticate: Basic realm="acme"`))
			req, err = http.ReadRequest(r)
		}
		if err != nil {
			return
		}
		if req.Method != http.MethodConnect {
			io.WriteString(c, reply(200, "forwarded "+req.URL.String()))
			return
		}
		up, err := net.Dial("tcp", req.Host)
		if err != nil {
			io.WriteString(c, reply(502, ""))
			return
		}
		tunnels.Add(1)
		io.WriteString(c, "HTTP/1.1 200 Connection established\r\n\r\n")
		go func() { io.Copy(up, r); up.Close() }()
		io.Copy(c, up)
		up.Close()
	})
	return p, &tunnels
}

func proxyURL(p *partner, login string) *url.URL {
	u := &url.URL{Scheme: "http", Host: p.addr}
	if name, password, ok := strings.Cut(login, ":"); ok {
		u.User = url.UserPassword(name, password)
	}
	return u
}

func TestProxy(t *testing.T) {
	t.Parallel()
	id := testpki.Server(t)
	p := listen(t, serverConfig(id), answering(reply(200, "ok")))
	trust := []*x509.Certificate{id.Cert}

	t.Run("opens a tunnel", func(t *testing.T) {
		t.Parallel()
		proxy, tunnels := tunnelling(t)
		c := client(t, exchange.Settings{Trust: trust, Proxy: proxyURL(proxy, "user:secret")})
		res, out := send(t, c, "https://"+p.addr, "document")
		wantOutcome(t, out, fault.PhaseDone, fault.CauseNone)
		if res == nil || string(res.Body) != "ok" || tunnels.Load() != 1 {
			t.Errorf("got %+v over %d tunnels", res, tunnels.Load())
		}
	})
	t.Run("asks for a login", func(t *testing.T) {
		t.Parallel()
		proxy, _ := tunnelling(t)
		c := client(t, exchange.Settings{Trust: trust, Proxy: proxyURL(proxy, "user:wrong")})
		_, out := send(t, c, "https://"+p.addr, "document")
		wantOutcome(t, out, fault.PhaseProxy, fault.CauseProxyAuth, proxy.addr, "407")
		if out.Status != 0 {
			t.Errorf("status: got %d, but the partner said nothing", out.Status)
		}
		if strings.Contains(out.Detail, "wrong") {
			t.Errorf("the password is in %q", out.Detail)
		}
	})
	t.Run("asks for a login, plain HTTP", func(t *testing.T) {
		t.Parallel()
		proxy, _ := tunnelling(t)
		c := client(t, exchange.Settings{Proxy: proxyURL(proxy, "user:wrong")})
		for range 2 {
			_, out := send(t, c, "http://as2.northwind.example/as2", "document")
			wantOutcome(t, out, fault.PhaseProxy, fault.CauseProxyAuth, proxy.addr)
		}
	})
	t.Run("forwards plain HTTP", func(t *testing.T) {
		t.Parallel()
		proxy, _ := tunnelling(t)
		c := client(t, exchange.Settings{Proxy: proxyURL(proxy, "user:secret")})
		res, out := send(t, c, "http://as2.northwind.example/as2", "document")
		wantOutcome(t, out, fault.PhaseDone, fault.CauseNone)
		if res == nil || string(res.Body) != "forwarded http://as2.northwind.example/as2" {
			t.Errorf("got %+v", res)
		}
	})
	t.Run("refuses", func(t *testing.T) {
		t.Parallel()
		proxy := listen(t, nil, answering(reply(403, "no")))
		c := client(t, exchange.Settings{Trust: trust, Proxy: proxyURL(proxy, "")})
		_, out := send(t, c, "https://"+p.addr, "document")
		wantOutcome(t, out, fault.PhaseProxy, fault.CauseProxy, proxy.addr, "403")
	})
	t.Run("closes without an answer", func(t *testing.T) {
		t.Parallel()
		proxy := listen(t, nil, func(c net.Conn, r *bufio.Reader) { readHeader(r) })
		c := client(t, exchange.Settings{Trust: trust, Proxy: proxyURL(proxy, "")})
		_, out := send(t, c, "https://"+p.addr, "document")
		wantOutcome(t, out, fault.PhaseProxy, fault.CauseProxy)
	})
	t.Run("does not answer", func(t *testing.T) {
		t.Parallel()
		proxy := listen(t, nil, func(_ net.Conn, r *bufio.Reader) { readHeader(r); <-t.Context().Done() })
		c := client(t, exchange.Settings{Trust: trust, Proxy: proxyURL(proxy, ""), Connect: eased})
		_, out := send(t, c, "https://"+p.addr, "document")
		wantOutcome(t, out, fault.PhaseProxy, fault.CauseProxy, "in time")
	})
	t.Run("is down", func(t *testing.T) {
		t.Parallel()
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		c := client(t, exchange.Settings{Proxy: &url.URL{Scheme: "http", Host: l.Addr().String()}})
		for _, target := range []string{"https://as2.northwind.example", "http://as2.northwind.example"} {
			_, out := send(t, c, target, "document")
			wantOutcome(t, out, fault.PhaseConnect, fault.CauseProxy, "our proxy")
		}
	})
	t.Run("is behind TLS and not trusted", func(t *testing.T) {
		t.Parallel()
		proxy := listen(t, serverConfig(id), answering(reply(200, "")))
		c := client(t, exchange.Settings{Trust: trust, Proxy: &url.URL{Scheme: "https", Host: proxy.addr}})
		for _, target := range []string{"https://as2.northwind.example", "http://as2.northwind.example"} {
			_, out := send(t, c, target, "document")
			wantOutcome(t, out, fault.PhaseProxy, fault.CauseProxy, proxy.addr)
		}
	})
}

func TestProxyExceptions(t *testing.T) {
	t.Parallel()
	proxy := listen(t, nil, answering(reply(200, "by the proxy")))
	direct := listen(t, nil, answering(reply(200, "direct")))
	_, port, _ := net.SplitHostPort(direct.addr)
	for name, tc := range map[string]struct {
		except []string
		host   string
		want   string
	}{
		"none":                     {nil, "127.0.0.1", "by the proxy"},
		"prefix":                   {[]string{"127.0.0.0/8"}, "127.0.0.1", "direct"},
		"other prefix":             {[]string{"10.0.0.0/8"}, "127.0.0.1", "by the proxy"},
		"address":                  {[]string{"127.0.0.1"}, "127.0.0.1", "direct"},
		"name":                     {[]string{"localhost"}, "localhost", "direct"},
		"other domain, same end":   {[]string{"host"}, "localhost", "by the proxy"},
		"name under a domain":      {[]string{"*.example"}, "as2.northwind.example", "not reached"},
		"prefix looks up no names": {[]string{"127.0.0.0/8"}, "localhost", "by the proxy"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := exchange.Settings{Proxy: proxyURL(proxy, ""), Except: tc.except}
			if tc.want == "not reached" {
				s.Resolver = noNames()
			}
			res, out := send(t, client(t, s), "http://"+net.JoinHostPort(tc.host, port), "x")
			got := "not reached"
			if res != nil {
				got = string(res.Body)
			}
			if got != tc.want {
				t.Errorf("got %q (%s), want %q", got, out.Detail, tc.want)
			}
		})
	}
}

func TestUnusableProxySettings(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]exchange.Settings{
		"scheme":     {Proxy: &url.URL{Scheme: "socks5", Host: "127.0.0.1:1"}},
		"no host":    {Proxy: &url.URL{Scheme: "http"}},
		"bad prefix": {Except: []string{"10.0.0.0/99"}},
		"empty":      {Except: []string{"."}},
	} {
		if _, err := exchange.NewClient(s); err == nil {
			t.Errorf("%s: got a client, want an error", name)
		}
	}
}
