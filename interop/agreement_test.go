package interop

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"edigw/internal/conf"
)

// introduce writes the partner files of a peer, one a profile, and takes them
// into use. It gives what stands before the address that takes messages.
func (s *site) introduce(t *testing.T, p peer, all []profile) (wire *front) {
	s.Helper()
	messages, _ := p.endpoints(all[0])
	to, err := url.Parse(messages)
	if err != nil {
		s.Fatal(err)
	}
	wire = newFront(t, to.Host)
	for _, pr := range all {
		s.write(strings.Replace(partnerFile(p, pr), to.Host, wire.address, 1), "site", "partners", pr.partner(p)+".yaml")
	}
	s.reload()
	return wire
}

// reload takes the files into use. Mistakes in them fail the test, but the
// partners of good files run all the same.
func (s *site) reload() {
	s.Helper()
	var got struct {
		Problems []conf.Problem `json:"problems"`
	}
	if err := s.api.Post(context.Background(), "/reload", nil, &got); err != nil {
		s.Fatal(err)
	}
	for _, mistake := range got.Problems {
		if !mistake.Warning {
			s.Error(mistake)
		}
	}
}

// partnerFile is what an operator would write for a peer and a profile.
func partnerFile(p peer, pr profile) string {
	messages, receipts := p.endpoints(pr)
	var b strings.Builder
	fmt.Fprintf(&b, "protocol: as2\n")
	if t, ok := p.(tuned); ok {
		fmt.Fprintf(&b, "preset: %s\n", t.preset())
	}
	fmt.Fprintf(&b, "as2:\n  id: %q\n  url: %q\n  content_type: %s\n", pr.peerName(p), messages, pr.contentType)
	fmt.Fprintf(&b, "  sign: %s\n  encrypt: %s\n  compress: %s\n  transfer_encoding: %s\n", pr.sign, pr.encrypt, pr.compress, pr.encoding)
	for key, value := range map[string]string{"signature": pr.signature, "key_transport": pr.transport} {
		if value != "rsa-pkcs1" {
			fmt.Fprintf(&b, "  %s: %s\n", key, value)
		}
	}
	if pr.ours != "" {
		fmt.Fprintf(&b, "  %s\n", pr.ours)
	}
	fmt.Fprintf(&b, "  mdn: {mode: %s", pr.mdn)
	if pr.receipt() {
		fmt.Fprintf(&b, ", signed: %v, algorithm: %s", pr.mdnSigned, pr.mdnDigest)
	}
	fmt.Fprintf(&b, "}\n  receive: {require: [%s], digest: sha1", pr.demands())
	if pr.mdn == "async" {
		fmt.Fprintf(&b, ", receipt_urls: [%q]", receipts)
	}
	fmt.Fprintf(&b, "}\n")
	fmt.Fprintf(&b, "certificates: {verify: ../../%[1]s/peer.crt, encrypt: ../../%[1]s/peer.crt}\n", p.name())
	return b.String()
}

// demands is what edigw requires of the peer's messages: not less than agreed.
func (p profile) demands() string {
	var all []string
	if p.sign != "none" {
		all = append(all, "signed")
	}
	if p.encrypt != "none" {
		all = append(all, "encrypted")
	}
	if len(all) == 0 {
		return "none"
	}
	return strings.Join(all, ", ")
}
