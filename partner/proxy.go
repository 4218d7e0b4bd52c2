package partner

import (
	"net/netip"
	"net/url"
	"strings"
)

// fault says what is wrong with a proxy, or "".
func (p *Proxy) fault() string {
	if p.User != "" && p.Password.IsZero() {
		return "user without password_file"
	}
	if p.User == "" && !p.Password.IsZero() {
		return "password_file without user"
	}
	for _, e := range p.Except {
		if strings.TrimSpace(e) == "" {
			return "an exception is empty; write an address, a prefix or a domain"
		}
		if _, err := netip.ParsePrefix(e); strings.Contains(e, "/") && err != nil {
			return "exception " + e + " is not a prefix such as 10.0.0.0/8"
		}
	}
	return ""
}

// target is the proxy's URL with its login, read now.
func (p *Proxy) target() (*url.URL, error) {
	u, err := url.Parse(string(p.URL))
	if err != nil || p.User == "" {
		return u, err
	}
	password, err := p.Password.Read()
	if err != nil {
		return nil, err
	}
	u.User = url.UserPassword(p.User, password)
	return u, nil
}
