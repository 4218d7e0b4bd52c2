package partner

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// Uses of a certificate.
const (
	UseSign      = "sign"       // ours: signs what we send
	UseDecrypt   = "decrypt"    // ours: opens what we get
	UseVerify    = "verify"     // theirs: signed what we get
	UseEncrypt   = "encrypt"    // theirs: opens what we send
	UseTLSClient = "tls-client" // ours, at the partner's server
	UseTLSServer = "tls-server" // ours, on the partners' listener
	UseTLSTrust  = "tls-trust"  // theirs: whom we believe at their URL
)

// OwnerGateway is the owner of the gateway's own certificates.
const OwnerGateway = "edigw"

// CertificateInfo is one certificate for one use.
type CertificateInfo struct {
	Owner     string    `json:"owner"` // a partner's id, or OwnerGateway
	Use       string    `json:"use"`
	File      string    `json:"file"` // relative to edigw.yaml
	Subject   string    `json:"subject"`
	Serial    string    `json:"serial"` // "4F:22"
	SHA256    string    `json:"sha256"` // "9A:1C:…"
	NotBefore time.Time `json:"not_before"`
	NotAfter  time.Time `json:"not_after"`
	Begins    time.Time `json:"begins"` // when its use begins and ends, by certificate and file
	Ends      time.Time `json:"ends"`
	InForce   bool      `json:"in_force"`
	Successor string    `json:"successor,omitempty"` // serial of the one that takes over before its end
}

// DaysLeft is how many days of its use are left at now, down to the whole day;
// negative when it has ended.
func (c CertificateInfo) DaysLeft(now time.Time) int {
	return int(math.Floor(c.Ends.Sub(now).Hours() / 24))
}

// Certificates lists every certificate of every use, the gateway's first, then
// the partners' by id.
func (s *Snapshot) Certificates(now time.Time) []CertificateInfo {
	out := infos(OwnerGateway, UseSign, ownTerms(s.own, "sign"), now)
	out = append(out, infos(OwnerGateway, UseDecrypt, ownTerms(s.own, "decrypt"), now)...)
	if s.tls != nil {
		out = append(out, infos(OwnerGateway, UseTLSServer, []term{s.tls.term}, now)...)
	}
	for _, id := range s.ids {
		out = append(out, s.CertificatesOf(id, now)...)
	}
	return out
}

// CertificatesOf lists those of one partner; none of an unknown id.
func (s *Snapshot) CertificatesOf(id string, now time.Time) []CertificateInfo {
	p, known := s.partners[id]
	if !known {
		return nil
	}
	out := infos(id, UseVerify, p.certificates.verify, now)
	out = append(out, infos(id, UseEncrypt, p.certificates.encrypt, now)...)
	out = append(out, infos(id, UseTLSClient, clientTerms(p.certificates.client), now)...)
	return append(out, infos(id, UseTLSTrust, p.certificates.trust, now)...)
}

func infos(owner, use string, terms []term, now time.Time) []CertificateInfo {
	var out []CertificateInfo
	for i, t := range terms {
		info := CertificateInfo{
			Owner: owner, Use: use, File: t.file, Subject: t.subject, Serial: t.serial, SHA256: colons(t.sum[:]),
			NotBefore: t.begin, NotAfter: t.end, Begins: t.begins(), Ends: t.ends(), InForce: t.inForce(now),
		}
		var next *term
		for j := range terms {
			o := &terms[j]
			if j != i && o.sum != t.sum && !o.begins().After(t.ends()) && o.ends().After(t.ends()) && (next == nil || o.begins().Before(next.begins())) {
				next = o
			}
		}
		if next != nil {
			info.Successor = next.serial
		}
		out = append(out, info)
	}
	return out
}

// colons writes a fingerprint as people compare it by phone.
func colons(sum []byte) string {
	return strings.ReplaceAll(fmt.Sprintf("% X", sum), " ", ":")
}
