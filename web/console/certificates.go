package console

import (
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"edigw/access"
	"edigw/internal/selfsigned"
	"edigw/internal/words"
	"edigw/partner"
	"edigw/web"
)

// certificatesPerPage is how many certificates are shown at once.
const certificatesPerPage = 100

// certificates is the page of every key and certificate.
type certificates struct {
	Title string
	Fine  bool
	Chips []filterLink
	Owner string
	Rows  []certificateRow
	Newer string
	Older string
	Key   *keyForm // nil: the user may not
}

// certificateRow is one certificate in one of its uses.
type certificateRow struct {
	Key       string
	Owner     string // a partner's id; empty: ours
	Name      string
	Use       string
	Stops     string // what stops when it ends
	Begins    moment
	Ends      moment
	Mark      mark
	Left      string
	Later     bool // its use has not begun
	InForce   bool
	Must      bool // it ends soon, and nothing takes over
	Successor string
	NextFrom  moment // when the successor is used, if that is before the end
	Late      string // the next, which begins only after the end
	LateBegin moment
	Serial    string
	Brief     string // the beginning of a long serial
	Subject   string
	SHA256    string
	File      string
	Download  string // address of a certificate of ours, for partners
}

func (c *Console) certificatePages() []page {
	return []page{
		{path: "/certificates", params: []string{"owner", "show", "from"}, show: c.certificates},
		{path: "/certificates/ours", params: []string{"sha256"}, show: c.ourCertificate},
	}
}

func (c *Console) certificateActions() []action {
	return []action{
		{path: "/partners/{id}/certificates", do: c.importCertificate},
		{path: "/certificates", need: access.Admin, do: c.importOwnKey},
		{path: "/letters/{id}/trust", do: c.trustSigner},
	}
}

// mustAct reports whether somebody must act for a certificate of a list: its
// use ends within endingDays, and nothing takes over.
func mustAct(all []partner.CertificateInfo, i partner.CertificateInfo, now time.Time) bool {
	if i.Successor != "" || i.DaysLeft(now) > endingDays {
		return false
	}
	return !slices.ContainsFunc(all, func(o partner.CertificateInfo) bool {
		return o.Owner == i.Owner && o.Use == i.Use && o.InForce && o.DaysLeft(now) > endingDays
	})
}

// acting are the certificates for which somebody must act, the first to end
// first. all is as a Snapshot lists it: by owner.
func acting(all []partner.CertificateInfo, now time.Time) (must []partner.CertificateInfo) {
	for from := 0; from < len(all); {
		to := from
		for to < len(all) && all[to].Owner == all[from].Owner {
			to++
		}
		for _, i := range all[from:to] {
			if mustAct(all[from:to], i, now) {
				must = append(must, i)
			}
		}
		from = to
	}
	slices.SortStableFunc(must, func(x, y partner.CertificateInfo) int { return x.Ends.Compare(y.Ends) })
	return must
}

// certificateList is every key and certificate, the first to end first.
type certificateList struct {
	all, must []partner.CertificateInfo
	pressing  map[partner.CertificateInfo]bool // those of must
}

// certificateLists keeps the last one: among 10,000 partners it takes longer to
// make than all else on a page.
type certificateLists struct {
	mu       sync.Mutex
	settings *partner.Snapshot
	at       time.Time
	last     certificateList
}

const certificatesFresh = time.Minute // what is counted is days

// of gives the list of some settings, at most a minute old. Nobody may change
// it.
func (l *certificateLists) of(s *partner.Snapshot, now time.Time) certificateList {
	l.mu.Lock()
	defer l.mu.Unlock()
	if age := now.Sub(l.at); l.settings == s && age >= 0 && age < certificatesFresh {
		return l.last
	}
	made := certificateList{all: s.Certificates(now), pressing: map[partner.CertificateInfo]bool{}}
	made.must = acting(made.all, now)
	for _, i := range made.must {
		made.pressing[i] = true
	}
	slices.SortStableFunc(made.all, func(x, y partner.CertificateInfo) int { return x.Ends.Compare(y.Ends) })
	l.settings, l.at, l.last = s, now, made
	return made
}

func (c *Console) certificates(v *visit) (view, error) { return c.certificatesView(v, "") }

// certificatesView is the page, with what was wrong with a key that was to be
// imported.
func (c *Console) certificatesView(v *visit, wrongKey string) (view, error) {
	show, owner := v.query.Get("show"), v.query.Get("owner")
	if show != "" && show != "ending" {
		return view{}, wrong("filter", show)
	}
	list := c.certs.of(c.Settings(), v.now)
	all, must := list.all, list.must
	p := certificates{Title: words.ActWithin(endingDays, len(must)), Fine: len(must) == 0, Owner: plain(owner), Chips: []filterLink{
		{"All", with(v.query, "/certificates", "show", ""), show == ""}, {"To act on", with(v.query, "/certificates", "show", "ending"), show == "ending"},
	}}
	if show == "ending" {
		all = must
	}
	if owner != "" {
		all = slices.DeleteFunc(slices.Clone(all), func(i partner.CertificateInfo) bool { return i.Owner != owner })
	}
	from, _ := strconv.Atoi(v.query.Get("from"))
	from = max(0, min(from, len(all)))
	for _, i := range all[from:min(from+certificatesPerPage, len(all))] {
		row := v.certificateRow(i, c.ownerName(i.Owner))
		row.Must = list.pressing[i]
		p.Rows = append(p.Rows, row)
	}
	if from > 0 {
		p.Newer = with(v.query, "/certificates", "from", unlessZero(max(0, from-certificatesPerPage)))
	}
	if from+certificatesPerPage < len(all) {
		p.Older = with(v.query, "/certificates", "from", strconv.Itoa(from+certificatesPerPage))
	}
	p.Key = c.ownKeyForm(v, wrongKey)
	shown := view{template: "certificates", title: "Certificates", nav: "/certificates", data: p}
	if wrongKey != "" {
		shown.status, shown.topic = http.StatusBadRequest, "-" // the answer to a form has no address to look at again
	}
	return shown, nil
}

func unlessZero(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func (c *Console) ownerName(owner string) string {
	if owner == partner.OwnerGateway {
		return "We (edigw)"
	}
	return c.partnerName(owner)
}

// certificatesOf are a partner's certificates, the first to end first.
func (c *Console) certificatesOf(v *visit, id string) []partner.CertificateInfo {
	all := c.Settings().CertificatesOf(id, v.now)
	slices.SortStableFunc(all, func(x, y partner.CertificateInfo) int { return x.Ends.Compare(y.Ends) })
	return all
}

// ourCertificate is a certificate of ours as a file for partners, without its
// key.
func (c *Console) ourCertificate(v *visit) (view, error) {
	cert, ok := c.Settings().OwnCertificateOf(v.query.Get("sha256"))
	if !ok {
		return view{}, &web.Problem{Slug: web.NotFound, Detail: "There is no such certificate of ours."}
	}
	h := v.w.Header()
	h.Set("Content-Type", "application/x-pem-file")
	h.Set("Content-Disposition", `attachment; filename="edigw-`+hex.EncodeToString(cert.SerialNumber.Bytes())+`.pem"`)
	_, err := v.w.Write(selfsigned.CertificatePEM(cert))
	return view{sent: true}, err
}

func (v *visit) certificateRow(i partner.CertificateInfo, name string) certificateRow {
	r := certificateRow{
		Key: i.Owner + "/" + i.Use + "/" + i.SHA256, Owner: i.Owner, Name: name, Begins: v.at(i.Begins), Ends: v.at(i.Ends), Left: words.DaysLeft(i.DaysLeft(v.now)),
		Later: i.Begins.After(v.now), InForce: i.InForce, Successor: briefSerial(i.Successor), Serial: i.Serial, Brief: briefSerial(i.Serial), Subject: plain(i.Subject), SHA256: i.SHA256, File: plain(i.File),
	}
	r.Use, r.Stops = words.Use(i.Use)
	if i.Owner == partner.OwnerGateway {
		r.Owner = ""
		if i.Use == partner.UseSign || i.Use == partner.UseDecrypt {
			r.Download = "/certificates/ours?sha256=" + url.QueryEscape(i.SHA256)
		}
	}
	if i.Next != "" {
		r.Successor, r.NextFrom = briefSerial(i.Next), v.at(i.NextFrom)
	}
	if i.Successor == "" && i.Late != "" {
		r.Late, r.LateBegin = briefSerial(i.Late), v.at(i.LateBegin)
	}
	switch days := i.DaysLeft(v.now); {
	case days < 0 && i.Covered:
		r.Mark = mark{"idle", "■", "Ended, taken over"}
	case days < 0:
		r.Mark = mark{"bad", "■", "Ended"}
	case days <= endingDays && i.Successor == "":
		r.Mark = mark{"bad", "◐", "Ends soon"}
	case days <= endingDays:
		r.Mark = mark{"warn", "◐", "Ends soon, taken over"}
	default:
		r.Mark = mark{"ok", "●", "Good"}
	}
	return r
}

// briefSerial is enough of a serial to tell certificates of one partner apart.
func briefSerial(serial string) string {
	const most = 17 // six bytes
	if len(serial) <= most {
		return serial
	}
	return serial[:most] + "…"
}

// sentenceOf makes a sentence of an error that is meant for people.
func sentenceOf(err error) string {
	text := err.Error()
	if text == "" {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:] + "."
}
