package as4

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"strings"

	"edigw/as4/ebms"
)

// Fingerprint identifies what a message is built from: parties, collaboration,
// properties, algorithms, certificates and the receipt that is asked for. When
// it differs from that of a Rendition, the message must be built anew. It holds
// nothing secret, and neither URL nor login are part of it.
//
// The settings are hashed line by line. Each value is quoted, so no two P-Modes
// give the same lines. What a message does not use, and what is as built in,
// adds no line: a new release with new settings builds nothing anew.
func (p PMode) Fingerprint() string {
	var b strings.Builder
	line := func(key string, values ...any) {
		fmt.Fprintf(&b, "%s %q\n", key, values)
	}
	changed := func(on bool, key string, values ...any) {
		if on {
			line(key, values...)
		}
	}
	party := func(side string, of ebms.Party) {
		for _, id := range of.IDs {
			line(side, id.Value, id.Type)
		}
		line(side+" role", of.Role)
	}
	properties := func(of string, list []ebms.Property) {
		for _, one := range list {
			line(of, one.Name, one.Type, one.Value)
		}
	}
	party("from", p.From)
	party("to", p.To)
	if a := p.Agreement; a != nil {
		line("agreement", a.Value, a.Type, a.PMode)
	}
	line("about", p.Service.Value, p.Service.Type, p.Action)
	changed(p.MPC != "" && p.MPC != ebms.DefaultMPC, "mpc", p.MPC)
	changed(p.Conversation != "", "conversation", p.Conversation)
	properties("property", p.Properties)
	properties("part property", p.PartProperties)
	changed(p.FileNameProperty != "", "file name", p.FileNameProperty)
	changed(p.Compress, "compressed")
	changed(p.Body, "in the body")
	if p.Sign.Algorithm != "" {
		line("signature", string(p.Sign.Algorithm), certificateID(p.Sign.Certificate))
		changed(p.Sign.Digest != 0, "digest", p.Sign.Digest.String())
		changed(p.Sign.Token != "", "token", string(p.Sign.Token))
		for _, c := range p.Sign.Chain {
			line("chain", certificateID(c))
		}
	}
	if e := p.Encrypt; e.Cipher != "" {
		line("encryption", string(e.Cipher), certificateID(e.Recipient))
		t := e.Transport
		line("transport", t.Method, t.Digest.String(), t.MGF.String(), fmt.Sprint(t.Wrap))
		changed(e.Token != "", "recipient token", string(e.Token))
	}
	line("receipt", string(p.Receipt.Mode), fmt.Sprint(p.Receipt.NonRepudiation, p.Receipt.Signed))
	changed(p.MEP == OneWayPull, "pulled")
	sum := sha256.Sum256([]byte(b.String()))
	return hex.EncodeToString(sum[:])
}

// certificateID is the SHA-256 of a certificate in hex, "" for none.
func certificateID(c *x509.Certificate) string {
	if c == nil {
		return ""
	}
	sum := sha256.Sum256(c.Raw)
	return hex.EncodeToString(sum[:])
}
