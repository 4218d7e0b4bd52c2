package partner

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// Uses of a certificate.
const (
	UseSign      = "sign"        // ours: signs what we send
	UseDecrypt   = "decrypt"     // ours: opens what we get
	UseVerify    = "verify"      // theirs: signed what we get
	UseEncrypt   = "encrypt"     // theirs: opens what we send
	UseTLSClient = "tls-client"  // ours, at the partner's server
	UseTLSServer = "tls-server"  // ours, on the partners' listener
	UseTLSTrust  = "tls-trust"   // theirs: whom we believe at their URL
	UseTLSIn     = "tls-inbound" // theirs: shown to our listener
	UseAuthority = "authority"   // theirs: whose certificates may have signed what we get by AS4
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
	InUse     bool      `json:"in_use"`         // it serves now: where only the newest is used it is that; our keys decrypt before they begin, too
	Next      string    `json:"next,omitempty"` // where only the newest is used, or told to partners: serial of the one that follows it at NextFrom
	NextFrom  time.Time `json:"next_from,omitzero"`
	Successor string    `json:"successor,omitempty"` // serial of the one that takes over before its end
	Late      string    `json:"late,omitempty"`      // without such a one: serial of the next that begins after its end
	LateBegin time.Time `json:"late_begin,omitzero"` // when that one begins
	Covered   bool      `json:"covered"`             // it takes over, or another in force now ends later
}

// DaysLeft is how many days of its use are left at now, down to the whole day;
// negative when it has ended.
func (c CertificateInfo) DaysLeft(now time.Time) int {
	return int(math.Floor(c.Ends.Sub(now).Hours() / 24))
}

// Certificates lists every certificate of every use, the gateway's first, then
// the partners' by id.
func (s *Snapshot) Certificates(now time.Time) []CertificateInfo {
	out := append(s.ownInfos(UseSign, now), s.ownInfos(UseDecrypt, now)...)
	if s.tls != nil {
		out = append(out, infos(OwnerGateway, UseTLSServer, []term{s.tls.term}, now)...)
	}
	for _, id := range s.ids {
		out = append(out, s.CertificatesOf(id, now)...)
	}
	return out
}

// ownInfos lists our keys for a use. A key takes over from one of the same kind;
// RSA and the curves of NIST count as one kind unless a partner's P-Mode wants one
// of the two alone.
func (s *Snapshot) ownInfos(use string, now time.Time) []CertificateInfo {
	terms := ownTerms(s.own, use)
	out := make([]CertificateInfo, len(terms))
	for _, members := range successions(terms, use == UseSign && s.particular()) {
		for i, info := range infos(OwnerGateway, use, pick(terms, members), now) {
			out[members[i]] = info
		}
	}
	return out
}

// particular reports whether a partner takes signatures of RSA alone, or of
// elliptic curves alone.
func (s *Snapshot) particular() bool {
	for _, p := range s.partners {
		if p.AS4 != nil && len(p.AS4.signatures) > 0 && takes(p.AS4.signatures, kindRSA) != takes(p.AS4.signatures, kindNIST) {
			return true
		}
	}
	return false
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
	out = append(out, infos(id, UseTLSTrust, p.certificates.trust, now)...)
	out = append(out, infos(id, UseTLSIn, p.certificates.inbound, now)...)
	out = append(out, infos(id, UseAuthority, p.certificates.authorities, now)...)
	return append(out, infos(id, UseAuthority, p.certificates.publishers, now)...)
}

func infos(owner, use string, terms []term, now time.Time) []CertificateInfo {
	var out []CertificateInfo
	best := newest(terms, now)
	for n, t := range terms {
		info := CertificateInfo{
			Owner: owner, Use: use, File: t.file, Subject: t.subject, Serial: t.serial, SHA256: colons(t.sum[:]),
			NotBefore: t.begin, NotAfter: t.end, Begins: t.begins(), Ends: t.ends(), InForce: t.inForce(now),
		}
		info.follow(t, terms, now)
		info.InUse = info.InForce && (n == best || !newestOnly(use)) || use == UseDecrypt && now.Before(info.Ends)
		if n == best && (newestOnly(use) || use == UseDecrypt) { // partners are told one to encrypt to
			info.giveWay(terms, now)
		}
		out = append(out, info)
	}
	return out
}

// follow says what comes after the end of t: of those that take over without a
// gap, or else of those that come late, the first to begin. One that was in use
// before t takes over from nobody.
func (c *CertificateInfo) follow(t term, terms []term, now time.Time) {
	var next, late *term
	for i := range terms {
		o := &terms[i]
		switch {
		case o.sum == t.sum || !o.ends().After(t.ends()):
		case o.begins().Before(t.begins()): // it was there before: nobody put it there to take over
			c.Covered = c.Covered || o.inForce(now)
		case o.begins().After(t.ends()):
			if late == nil || o.begins().Before(late.begins()) {
				late = o
			}
			c.Covered = c.Covered || o.inForce(now)
		case next == nil || o.begins().Before(next.begins()):
			next = o
		}
	}
	switch {
	case next != nil:
		c.Successor, c.Covered = next.serial, true
	case late != nil:
		c.Late, c.LateBegin = late.serial, late.begins()
	}
}

// giveWay says which of those to come is the next to be used, by its begin.
func (c *CertificateInfo) giveWay(terms []term, now time.Time) {
	for _, t := range terms {
		if t.ever() && now.Before(t.begins()) && t.begins().Before(c.Ends) && (c.Next == "" || t.begins().Before(c.NextFrom)) {
			c.Next, c.NextFrom = t.serial, t.begins()
		}
	}
}

// colons writes a fingerprint as people compare it by phone.
func colons(sum []byte) string {
	return strings.ReplaceAll(fmt.Sprintf("% X", sum), " ", ":")
}
