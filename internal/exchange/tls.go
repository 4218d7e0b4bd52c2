package exchange

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net"
	"reflect"
	"strings"

	"edigw/fault"
)

// tlsDetail explains a handshake that failed, and what it points at.
func tlsDetail(err error, addr string) (fault.Cause, string, string) {
	host, _, _ := net.SplitHostPort(addr)
	refused, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	_, notTLS := errors.AsType[tls.RecordHeaderError](err)
	alert, alerted := remoteAlert(err)
	own, ours := errors.AsType[*clientCertificateError](err)
	switch {
	case untrusted:
		detail, suspect := trustDetail(refused, host)
		return fault.CauseTLSTrust, detail, suspect
	case ours:
		return fault.CauseKey, fmt.Sprintf("Our client certificate for %s cannot be used: %v", host, own.err), ""
	case isTimeout(err):
		return fault.CauseTLSTimeout, fmt.Sprintf("The TLS handshake with %s did not end in time", addr), addr
	case notTLS:
		return fault.CauseTLS, fmt.Sprintf("%s does not speak TLS at this port", addr), addr
	case alerted:
		return fault.CauseTLS, fmt.Sprintf("%s ended the TLS handshake: %s", addr, alertWords(alert)), addr
	case isReset(err):
		return fault.CauseTLS, fmt.Sprintf("%s closed the connection during the TLS handshake", addr), addr
	}
	return fault.CauseTLS, fmt.Sprintf("TLS handshake with %s failed (%s)", addr, plainError(err)), addr
}

// trustDetail names the certificate and what is wrong with it.
func trustDetail(e *tls.CertificateVerificationError, host string) (detail, suspect string) {
	if len(e.UnverifiedCertificates) == 0 {
		return fmt.Sprintf("%s showed no TLS certificate", host), host
	}
	leaf := e.UnverifiedCertificates[0]
	name := fmt.Sprintf("(%s, serial %s)", nameOf(leaf.RawSubject, leaf.Subject), Serial(leaf.SerialNumber))
	suspect = host + " serial " + Serial(leaf.SerialNumber)
	invalid, isInvalid := errors.AsType[x509.CertificateInvalidError](e.Err)
	switch {
	case isInvalid && invalid.Reason == x509.Expired:
		bad := leaf
		whose := fmt.Sprintf("TLS certificate of %s %s", host, name)
		if invalid.Cert != nil && !invalid.Cert.Equal(leaf) {
			bad = invalid.Cert
			whose = fmt.Sprintf("Issuer %s of the TLS certificate of %s", nameOf(bad.RawSubject, bad.Subject), host)
		}
		return fmt.Sprintf("%s is valid only from %s to %s", whose,
			bad.NotBefore.UTC().Format("2006-01-02"), bad.NotAfter.UTC().Format("2006-01-02 15:04 UTC")), suspect
	case isInvalid:
		return fmt.Sprintf("TLS certificate of %s %s may not be used for a server or by its issuer", host, name), suspect
	}
	if _, ok := errors.AsType[x509.HostnameError](e.Err); ok {
		return fmt.Sprintf("TLS certificate %s is not for %s but for %s", name, host, certificateNames(leaf)), suspect
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](e.Err); ok {
		return fmt.Sprintf("TLS certificate of %s %s is issued by %s, which is not trusted here",
			host, name, nameOf(leaf.RawIssuer, leaf.Issuer)), suspect
	}
	return fmt.Sprintf("TLS certificate of %s %s cannot be verified", host, name), suspect
}

func certificateNames(c *x509.Certificate) string {
	names := append([]string(nil), c.DNSNames...)
	for _, ip := range c.IPAddresses {
		names = append(names, ip.String())
	}
	if len(names) == 0 {
		return "no name at all"
	}
	return clean(strings.Join(names, ", "), 200)
}

// Serial is a certificate's serial number as people read it out: 4F:22.
func Serial(n *big.Int) string {
	if n == nil {
		return ""
	}
	return strings.ReplaceAll(fmt.Sprintf("% X", n.Bytes()), " ", ":")
}

// certificateAlerts are the alerts by which a server refuses our client
// certificate, or its absence (RFC 8446 §6.2).
var certificateAlerts = map[tls.AlertError]string{
	40:  "it agrees to none of our offers, or wants another client certificate",
	41:  "it wants a client certificate",
	42:  "it refuses our client certificate",
	43:  "it does not support our client certificate",
	44:  "our client certificate is revoked",
	45:  "our client certificate has expired",
	46:  "it does not know our client certificate",
	48:  "it does not trust the issuer of our client certificate",
	49:  "it knows our client certificate but gives no access",
	116: "it wants a client certificate",
}

// remoteAlert finds the alert that the other side sent. crypto/tls keeps its
// type to itself, all but the number in it.
func remoteAlert(err error) (tls.AlertError, bool) {
	op, ok := errors.AsType[*net.OpError](err)
	if !ok || op.Op != "remote error" || op.Err == nil {
		return 0, false
	}
	v := reflect.ValueOf(op.Err)
	if v.Kind() != reflect.Uint8 || v.Type().PkgPath() != "crypto/tls" {
		return 0, false
	}
	return tls.AlertError(v.Uint()), true
}

func alertWords(a tls.AlertError) string {
	if words, ok := certificateAlerts[a]; ok {
		return words
	}
	return a.Error()
}

// clientCertificateRefused tells a refusal that came after our side of the
// handshake was over, as it does in TLS 1.3.
func (r *recorder) clientCertificateRefused(err error) (string, bool) {
	alert, ok := remoteAlert(err)
	if !ok || r.reused || r.answered {
		return "", false
	}
	words, ok := certificateAlerts[alert]
	return fmt.Sprintf("%s ended the TLS handshake: %s", r.host, words), ok
}

// nameOf writes a name for people. One that no honest certificate has is not
// taken apart: that takes time by the square of its length.
func nameOf(raw []byte, n pkix.Name) string {
	if len(raw) > 4<<10 {
		return "an overlong name"
	}
	return clean(n.String(), 200)
}
