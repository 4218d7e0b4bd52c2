package exchange

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"edigw/fault"
)

// Bounds on the headers that an Outcome keeps.
const (
	maxKept      = 24
	maxKeptValue = 256
)

// keptHeaders are those that help a person to see who answered.
var keptHeaders = map[string]bool{
	"Server": true, "Via": true, "Date": true, "Allow": true, "Location": true, "Message-Id": true,
	"Content-Type": true, "Content-Length": true, "Retry-After": true, "Www-Authenticate": true,
	"Proxy-Authenticate": true, "Disposition-Notification-Options": true,
}

// answer fills what status and headers tell.
func (r *recorder) answer(res *http.Response, now time.Time) fault.Outcome {
	out := fault.Outcome{Phase: fault.PhaseResponse, Status: res.StatusCode, Headers: keep(res.Header)}
	if v := res.Header.Get("Retry-After"); v != "" {
		if date, err := http.ParseTime(res.Header.Get("Date")); err == nil {
			now = date // their clock against their clock
		}
		out.RetryAfter, out.HasRetry = RetryAfter(v, now)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if res.StatusCode == http.StatusProxyAuthRequired && !r.secure && r.conn != nil && r.conn.proxy != "" {
		// Only a proxy may ask for this login (RFC 9110 §15.5.8): the
		// document went no further.
		out.Phase, out.Cause, out.Suspect = fault.PhaseProxy, fault.CauseProxyAuth, r.conn.proxy
		out.Detail = "Our proxy " + r.conn.proxy + " refuses our login (407)"
	}
	return out
}

// RetryAfter reads both forms of Retry-After (RFC 9110 §10.2.3). A date in the
// past is a wait of nothing. What cannot be read is no wish.
func RetryAfter(v string, now time.Time) (time.Duration, bool) {
	const most = 366 * 24 * time.Hour
	v = strings.TrimSpace(v)
	if isDigits(v) {
		seconds, err := strconv.ParseInt(v, 10, 64)
		if err != nil || seconds > int64(most/time.Second) {
			return most, true
		}
		return time.Duration(seconds) * time.Second, true
	}
	at, err := http.ParseTime(v)
	if err != nil {
		return 0, false
	}
	return min(max(at.Sub(now), 0), most), true
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// keep chooses and bounds response headers; the first value of each.
func keep(h http.Header) map[string]string {
	kept := make(map[string]string)
	for _, name := range slices.Sorted(maps.Keys(h)) {
		if len(kept) == maxKept {
			break
		}
		if values := h[name]; len(values) > 0 && (keptHeaders[name] || strings.HasPrefix(name, "As2-")) {
			v := values[0]
			if name == "Location" {
				v = withoutQuery(v)
			}
			kept[name] = clean(v, maxKeptValue)
		}
	}
	return kept
}

// withoutQuery drops what in a URL may be a secret.
func withoutQuery(location string) string {
	u, err := url.Parse(location)
	if err != nil {
		return ""
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

// clean bounds a partner's text and takes control characters out of it.
func clean(s string, most int) string {
	if len(s) > most {
		s = s[:most]
	}
	return strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(s, "?"))
}
