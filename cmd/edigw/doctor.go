package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"time"

	"edigw/internal/apiclient"
	"edigw/internal/words"
	"edigw/lane/as2sender"
	"edigw/lane/as4sender"
	"edigw/partner"
	"edigw/store/spool"
	"edigw/store/sqlite"
)

// DoctorCommand checks an installation and says what to do about what it finds.
type DoctorCommand struct {
	AllPartners bool `name:"all-partners" help:"Also contact every partner; no document is sent."`
}

// Help is shown by --help.
func (DoctorCommand) Help() string {
	return "Example:\n  edigw doctor --all-partners\n\nExit code 1 if something is wrong; warnings do not count."
}

// finding is one thing that was looked at.
type finding struct {
	What string `json:"what"`
	OK   bool   `json:"ok"`
	Warn bool   `json:"warning,omitempty"`
	Text string `json:"text"`
}

// examination gathers findings.
type examination struct {
	e    *env
	s    *partner.Snapshot
	list []finding
}

// Run examines, and tells each finding as it is made.
func (c *DoctorCommand) Run(e *env) error {
	if err := e.installed(); err != nil {
		return err
	}
	s, problems, err := partner.Load(e.config, time.Now())
	x := &examination{e: e, s: s}
	if s != nil {
		problems = s.Outlook(time.Now())
	}
	x.settings(problems)
	if err != nil {
		if !errors.Is(err, partner.ErrSettings) {
			return err
		}
		return x.end()
	}
	x.permissions()
	x.disk()
	x.running()
	x.certificates()
	x.alerts()
	if c.AllPartners {
		x.partners()
	}
	return x.end()
}

func (x *examination) found(what string, ok bool, format string, args ...any) {
	x.add(finding{What: what, OK: ok, Text: fmt.Sprintf(format, args...)})
}

func (x *examination) add(f finding) {
	mark := "ok  "
	switch {
	case !f.OK && f.Warn:
		mark = "note"
	case !f.OK:
		mark = "BAD "
	}
	x.e.say("%s  %-12s  %s", mark, f.What, f.Text)
	x.list = append(x.list, f)
}

func (x *examination) end() error {
	bad := 0
	for _, f := range x.list {
		if !f.OK && !f.Warn {
			bad++
		}
	}
	if err := x.e.result(map[string]any{"findings": x.list, "bad": bad}); err != nil {
		return err
	}
	if bad > 0 {
		return &codeError{code: exitFailed, text: words.Count(bad, "thing needs", "things need") + " somebody"}
	}
	return nil
}

func (x *examination) settings(problems []partner.Problem) {
	if len(problems) == 0 {
		x.found("settings", true, "no mistakes")
	}
	for _, p := range problems {
		x.add(finding{What: "settings", Warn: p.Warning, Text: p.String()})
	}
}

// permissions looks for secrets that others can read.
func (x *examination) permissions() {
	bad := 0
	for _, dir := range []string{"secrets", "keys", string(x.s.Gateway().Data)} {
		keys := dir == "keys"
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(x.s.Dir(), dir)
		}
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			info, err := d.Info()
			if err == nil && info.Mode().Perm()&0o077 != 0 && filepath.Base(path) != socketName && !(keys && public(path)) {
				bad++
				x.found("files", false, "%s can be read by others (mode %04o): chmod 600 it", path, info.Mode().Perm())
			}
			return nil
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			bad++
			x.found("files", false, "%v", err)
		}
	}
	if bad == 0 {
		x.found("files", true, "keys, secrets and data can be read by their owner only")
	}
}

// public reports whether a file holds certificates and no key: everybody may
// read those.
func public(path string) bool {
	certificates, err := partner.ReadCertificates(path)
	if err != nil || len(certificates) == 0 {
		return false
	}
	data, err := os.ReadFile(path)
	return err == nil && !partner.HoldsPrivateKey(data)
}

func (x *examination) disk() {
	data := string(x.s.Gateway().Data)
	free, err := spool.Free(data)
	switch need := 2 * int64(x.s.Gateway().Limits.Document); {
	case errors.Is(err, fs.ErrNotExist):
		x.add(finding{What: "disk", Warn: true, Text: data + " does not exist yet; edigw serve makes it"})
	case err != nil:
		x.found("disk", false, "%v", err)
	case free < need:
		x.found("disk", false, "%s MB free below %s, less than one largest document and its message need (limits.document)", words.Number(free>>20), data)
	default:
		x.found("disk", true, "%s MB free below %s", words.Number(free>>20), data)
	}
}

// running asks the gateway, or opens its store if none runs.
func (x *examination) running() {
	gateway, err := x.e.gateway()
	if err != nil {
		x.found("gateway", false, "%v", err)
		return
	}
	var ignored any
	err = gateway.Get(x.e.ctx, "/outages", nil, &ignored)
	var down *apiclient.UnreachableError
	switch {
	case err == nil:
		x.found("gateway", true, "runs and answers")
		if link := filepath.Join(string(x.s.Gateway().Data), setupLinkName); exists(link) {
			x.add(finding{What: "users", Warn: true, Text: "nobody can sign in to the console: open the link in " + link + " (it holds for 24 hours from the start), or edigw user add NAME --role admin"})
		}
	case errors.As(err, &down) && !down.Denied():
		x.add(finding{What: "gateway", Warn: true, Text: "does not run"})
		x.stopped()
	default:
		x.found("gateway", false, "%v", err)
	}
}

// stopped looks at what only a stopped gateway shows: the store and whether
// its addresses are free.
func (x *examination) stopped() {
	data := string(x.s.Gateway().Data)
	if _, err := os.Stat(filepath.Join(data, sqlite.FileName)); err == nil {
		store, err := sqlite.Open(x.e.ctx, data, sqlite.Options{Check: true})
		if err != nil {
			x.found("store", false, "%v", err)
		} else {
			x.found("store", true, "opens, and SQLite finds it sound")
			_ = store.Close()
		}
	}
	addresses := []string{string(x.s.Gateway().Listen.Console.Address)}
	if p := x.s.Gateway().Listen.Partners; p != nil {
		addresses = append(addresses, string(p.Address))
	}
	for _, a := range addresses {
		l, err := net.Listen("tcp", a)
		if err != nil {
			x.found("address", false, "%s cannot be used: %v", a, err)
			continue
		}
		l.Close()
		x.found("address", true, "%s is free", a)
	}
}

func (x *examination) certificates() {
	now := time.Now()
	all := endingWithin(x.s, now, 30)
	for _, c := range all {
		x.add(finding{What: "certificate", Warn: c.DaysLeft(now) > 7, Text: tellEnding(c, now)})
	}
	if len(all) == 0 {
		x.found("certificate", true, "none ends within 30 days without a successor")
	}
}

func (x *examination) alerts() {
	if a := x.s.Gateway().Alerts; a == nil || a.Mail == nil && a.Slack == nil {
		x.add(finding{What: "alerts", Warn: true, Text: "nobody is told of trouble: set alerts.mail or alerts.slack in edigw.yaml"})
		return
	}
	x.found("alerts", true, "are set")
}

// partners contacts every partner, without a document.
func (x *examination) partners() {
	settings := func() *partner.Snapshot { return x.s }
	as2, as4 := as2sender.New(as2sender.Options{Settings: settings, Now: time.Now}), as4sender.New(as4sender.Options{Settings: settings, Now: time.Now})
	for _, id := range x.s.IDs() {
		p, _ := x.s.Partner(id)
		if p.Misconfigured || p.Stage == partner.StageRetired {
			continue
		}
		if p.URL() == "" && p.AS4 != nil && p.AS4.Network.Directory {
			x.found("partner", true, "%s is a network: each receiver is looked up (as4.smp), there is nothing to contact", id)
			continue
		}
		if p.URL() == "" {
			x.found("partner", true, "%s pulls from us: there is nothing to contact", id)
			continue
		}
		report := as2.Report
		if p.AS4 != nil {
			report = as4.Report
		}
		r := report(x.e.ctx, id)
		if r.OK() {
			x.found("partner", true, "%s answers", id)
			continue
		}
		text := r.Outcome.Detail
		if n := len(r.Steps); n > 0 {
			text = r.Steps[n-1].Name + ": " + r.Steps[n-1].Words
		}
		x.add(finding{What: "partner", Warn: p.Stage != partner.StageLive, Text: id + " does not answer. " + text})
	}
}
