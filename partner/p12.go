package partner

import (
	"crypto/x509"
	"errors"
	"fmt"
	"strings"

	"edigw/internal/p12"
)

// Why a P12 does not open: with the password that was given, or without one.
var (
	errPassword   = errors.New("the password is wrong")
	errNoPassword = errors.New("it needs a password")
)

// p12Identity reads a P12 with one key: that and all certificates.
func p12Identity(data []byte, password string) (key any, list []*x509.Certificate, err error) {
	entries, err := p12.Read(data, password)
	switch {
	case errors.Is(err, p12.ErrPassword) && password == "":
		return nil, nil, errNoPassword
	case errors.Is(err, p12.ErrPassword):
		return nil, nil, errPassword
	case errors.Is(err, p12.ErrJKS):
		return nil, nil, err
	case errors.Is(err, p12.ErrMalformed):
		return nil, nil, errors.New("neither PEM nor a P12, or cut off")
	case err != nil:
		return nil, nil, fmt.Errorf("%w; write it anew with openssl pkcs12 -export", err)
	}
	var names []string
	for _, e := range entries {
		list = append(list, e.Certificates...)
		if e.Key == nil {
			continue
		}
		key = e.Key
		names = append(names, fmt.Sprintf("%.64q", e.Name))
	}
	switch {
	case len(names) == 0:
		return nil, nil, errors.New("no private key in it")
	case len(names) > 1:
		const shown = 5
		more := ""
		if len(names) > shown {
			names, more = names[:shown], ", …"
		}
		return nil, nil, fmt.Errorf("it holds several keys: %s%s; write a P12 with one of them alone", strings.Join(names, ", "), more)
	}
	return key, list, nil
}
