package main

import (
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	"edigw/as2/smime"
	"edigw/internal/exchange"
	"edigw/internal/words"
	"edigw/partner"
)

// CertCmds are about certificates.
type CertCmds struct {
	List   CertList   `cmd:"" help:"Every certificate with its use and days left."`
	New    CertNew    `cmd:"" help:"Make a key and its certificate."`
	Import CertImport `cmd:"" help:"Take a new certificate of a partner, or a key of our own, into use."`
	Export CertExport `cmd:"" help:"Print our certificates for partners, or write them to files."`
	Check  CertCheck  `cmd:"" help:"Exit with 1 if a certificate has ended, or ends within some days, without a successor."`
}

// CertList lists certificates.
type CertList struct {
	Partner string `help:"Only this partner's; edigw for our own."`
}

// Help is shown by --help.
func (CertList) Help() string {
	return "Example:\n  edigw cert list --partner northwind"
}

// Run prints them.
func (c *CertList) Run(e *env) error {
	s, err := e.settings()
	if err != nil {
		return err
	}
	if _, known := s.Partner(c.Partner); c.Partner != "" && c.Partner != partner.OwnerGateway && !known {
		return errors.New(s.NoPartner(c.Partner))
	}
	now := time.Now()
	var rows [][]string
	shown := []partner.CertificateInfo{}
	for _, i := range s.Certificates(now) {
		if c.Partner != "" && i.Owner != c.Partner {
			continue
		}
		shown = append(shown, i)
		rows = append(rows, []string{i.Owner, i.Use, used(i, now), fmt.Sprint(i.DaysLeft(now)), i.Serial, successor(i), i.File})
	}
	e.table("OWNER\tUSE\tIN USE\tDAYS LEFT\tSERIAL\tSUCCESSOR\tFILE", rows)
	return e.result(page[partner.CertificateInfo]{Items: shown})
}

// used says whether a certificate serves its use now, or from when on.
func used(i partner.CertificateInfo, now time.Time) string {
	switch later := i.Begins.After(now); {
	case i.InUse && later: // a key of ours that opens what comes early
		return "opens; partners from " + utcMinute(i.Begins)
	case i.InUse:
		return "yes"
	case later:
		return "from " + utcMinute(i.Begins)
	case i.InForce:
		return "no, a newer one is"
	}
	return "ended"
}

// successor says which one is used after it, and from when on if that is not its
// end.
func successor(i partner.CertificateInfo) string {
	switch {
	case i.Next != "":
		return i.Next + " from " + utcMinute(i.NextFrom)
	case i.Successor != "":
		return i.Successor
	case i.Late != "":
		return "late: " + i.Late + " from " + utcMinute(i.LateBegin)
	}
	return "none"
}

// CertCheck is for monitoring.
type CertCheck struct {
	Days int `default:"30" help:"Warn so many days before the end."`
}

// Help is shown by --help.
func (CertCheck) Help() string {
	return "Example:\n  edigw cert check --days 60"
}

// Run prints what ends without a successor.
func (c *CertCheck) Run(e *env) error {
	s, err := e.settings()
	if err != nil {
		return err
	}
	now := time.Now()
	all := endingWithin(s, now, c.Days)
	for _, i := range all {
		e.say("%s", tellEnding(i, now))
	}
	if err := e.result(page[partner.CertificateInfo]{Items: all}); err != nil {
		return err
	}
	if len(all) > 0 {
		return &codeError{code: exitFailed, text: words.Count(len(all), "certificate ends", "certificates end") + " soon"}
	}
	e.say("No certificate ends within %d days without a successor.", c.Days)
	return nil
}

// endingWithin are the certificates whose use has ended, or ends within some days,
// while nothing takes over.
func endingWithin(s *partner.Snapshot, now time.Time, days int) []partner.CertificateInfo {
	out := []partner.CertificateInfo{}
	for _, i := range s.Certificates(now) {
		left := i.DaysLeft(now)
		if i.Begins.After(now) || i.Successor != "" || i.Covered && left < 0 || left > days {
			continue
		}
		out = append(out, i)
	}
	return out
}

// tellEnding says when one ends, what follows, and which it is.
func tellEnding(i partner.CertificateInfo, now time.Time) string {
	left := i.DaysLeft(now)
	ends, next := "ends in "+words.Count(left, "day", "days"), "no successor"
	if left < 0 {
		ends = "has ended"
	}
	if i.Late != "" {
		next = "serial " + i.Late + " begins only " + utcMinute(i.LateBegin)
	}
	return fmt.Sprintf("%s: %s certificate %s (%s), %s. Serial %s, SHA-256 %s, %s", i.Owner, i.Use, ends, utcMinute(i.Ends), next, i.Serial, i.SHA256, i.File)
}

// utcMinute is a time as settings of our own mean it.
func utcMinute(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

// describe is a certificate in one line, as it is compared by phone.
func describe(c *x509.Certificate) string {
	return fmt.Sprintf("%s, serial %s, valid %s to %s\n  SHA-256 %s", c.Subject, exchange.Serial(c.SerialNumber),
		c.NotBefore.UTC().Format(time.DateOnly), c.NotAfter.UTC().Format(time.DateOnly), smime.Fingerprint(c))
}
