package conf

import (
	"errors"
	"net"
	"net/mail"
	"net/url"
	"strconv"
	"strings"
)

// URL is an absolute http or https URL without credentials and fragment.
type URL string

// UnmarshalText checks the URL.
func (u *URL) UnmarshalText(text []byte) error {
	parsed, err := url.Parse(string(text))
	switch {
	case err != nil || parsed.Host == "" || parsed.Hostname() == "":
		return errors.New("not a URL such as https://edi.northwind.example/in")
	case parsed.Scheme != "http" && parsed.Scheme != "https":
		return errors.New("the URL must begin with https:// or http://")
	case parsed.User != nil:
		return errors.New("the URL holds a user or password; they belong into a section with password_file")
	case parsed.Fragment != "":
		return errors.New("the URL holds a fragment (#)")
	}
	*u = URL(text)
	return nil
}

// Notation says what may be written.
func (URL) Notation() string { return "URL" }

// Address is a host and port to listen on or to call; the host may be empty.
type Address string

// UnmarshalText checks the address.
func (a *Address) UnmarshalText(text []byte) error {
	_, port, err := net.SplitHostPort(string(text))
	if n, perr := strconv.ParseUint(port, 10, 16); err != nil || perr != nil || strconv.FormatUint(n, 10) != port {
		return errors.New("not an address such as 127.0.0.1:4000 or :4080")
	}
	*a = Address(text)
	return nil
}

// Notation says what may be written.
func (Address) Notation() string { return "host:port" }

// Mail is one mail address, without a display name.
type Mail string

// UnmarshalText checks the address.
func (m *Mail) UnmarshalText(text []byte) error {
	parsed, err := mail.ParseAddress(string(text))
	if err != nil || parsed.Address != string(text) || strings.ContainsAny(string(text), "\r\n") {
		return errors.New("not a mail address such as edi@acme.example")
	}
	*m = Mail(text)
	return nil
}

// Notation says what may be written.
func (Mail) Notation() string { return "mail address" }
