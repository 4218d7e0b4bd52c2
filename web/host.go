package web

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"edigw/partner"
)

// misnamedEvery is how often the log tells of requests under foreign names.
const misnamedEvery = time.Minute

// addressed refuses requests that were meant for another host. A page of a
// stranger can have its own name point at the gateway's address (DNS
// rebinding); a browser inside then takes the gateway for that page's own
// server, reads its metrics and tries passwords.
func (a *API) addressed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		listen := a.Settings().Gateway().Listen.Console
		if ours(r.Host, listen) {
			next.ServeHTTP(w, r)
			return
		}
		now := a.Now()
		if last := a.misnamed.Load(); now.UnixNano()-last >= int64(misnamedEvery) && a.misnamed.CompareAndSwap(last, now.UnixNano()) {
			a.Log.Warn("a request under a foreign host name is refused; if the name is the console's own, set listen.console.base_url", "host", Clean(r.Host), keyFrom, Remote(r), keyRequest, RequestID(r.Context()))
		}
		w.Header().Set("Connection", "close")
		a.refuse(w, r, &Problem{Slug: Forbidden, Detail: fmt.Sprintf("This gateway is not %.100q. Use its address, or the name in listen.console.base_url of edigw.yaml.", r.Host)})
	})
}

// ours reports whether a Host header can be meant for the console: an address,
// this machine, a name without a dot, which only the own network can give, or
// a name that the settings have. Older clients send none.
func ours(host string, listen partner.ConsoleListener) bool {
	name := hostName(host)
	if name == "" && host == "" || name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return true
	}
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	if name == "" {
		return false
	}
	if !strings.ContainsAny(name, ".:") {
		return true
	}
	base, err := url.Parse(string(listen.BaseURL))
	return err == nil && name == hostName(base.Host) || name == hostName(string(listen.Address))
}

// hostName is the name in a Host header, or in an address to listen at.
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}
