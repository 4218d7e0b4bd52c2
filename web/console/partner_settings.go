package console

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"edigw/access"
	"edigw/internal/words"
	"edigw/partner"
)

// settingsPage is what holds for a partner, and where each value comes from.
type settingsPage struct {
	ID, Name     string
	File         string
	Tabs         []filterLink
	Stale        bool
	Problems     []partner.Problem
	Gone         bool // its file
	Groups       []settingGroup
	Certificates []certificateRow
	Import       bool   // the user may import one
	Wrong        string // with what was to be imported
	Uses         []option
	From         string // first day, as typed
	Key          *keyForm
}

// settingGroup is the settings below one key.
type settingGroup struct {
	Name string
	Rows []settingRow
}

// settingRow is one setting. Set says that somebody chose it.
type settingRow struct {
	Key, Value, Origin string
	Set                bool
}

// partnerSettings is the tab of all settings.
func (c *Console) partnerSettings(v *visit) (view, error) { return c.settingsView(v, "") }

// settingsView is the tab, with what was wrong with a certificate that was to
// be imported.
func (c *Console) settingsView(v *visit, wrong string) (view, error) {
	s, err := c.shownPartner(v)
	if err != nil {
		return view{}, err
	}
	p := settingsPage{ID: s.id, Name: s.name, File: "partners/" + s.id + ".yaml", Tabs: partnerTabs(s.id, "settings"), Gone: s.settings == nil}
	if s.settings != nil {
		p.Stale, p.Problems = s.settings.Stale, s.settings.Problems
		p.Groups = grouped(c.Settings().Effective(s.id))
		p.Import = v.may(access.Operate) && c.Importer != nil
	}
	status, topic := http.StatusOK, "partner:"+s.id
	key := slices.Equal(v.form["use"], []string{partner.UseTLSClient})
	if s.settings != nil {
		p.Key = c.loginForm(v, s.id, map[bool]string{true: wrong}[key])
	}
	if p.Wrong, p.From = wrong, v.form.Get("from"); key {
		p.Wrong, p.From = "", ""
	}
	if wrong != "" {
		status, topic = http.StatusBadRequest, "-" // the answer to a form has no address to look at again
	}
	for _, use := range []string{partner.UseVerify, partner.UseEncrypt, partner.UseTLSTrust} {
		name, _ := words.Use(use)
		chosen := use != partner.UseTLSTrust
		if p.Wrong != "" {
			chosen = slices.Contains(v.form["use"], use)
		}
		p.Uses = append(p.Uses, option{use, name, chosen})
	}
	for _, i := range c.certificatesOf(v, s.id) {
		p.Certificates = append(p.Certificates, v.certificateRow(i, ""))
	}
	return view{template: "partner_settings", title: s.name + ", settings", nav: "/", topic: topic, status: status, data: p}, nil
}

// grouped puts settings of one section together, those of no section first.
func grouped(all []partner.Setting) []settingGroup {
	groups := []settingGroup{{Name: "general"}}
	for _, s := range all {
		section, _, nested := strings.Cut(s.Key, ".")
		if !nested {
			section = groups[0].Name
		}
		i := slices.IndexFunc(groups, func(g settingGroup) bool { return g.Name == section })
		if i < 0 {
			i = len(groups)
			groups = append(groups, settingGroup{Name: section})
		}
		groups[i].Rows = append(groups[i].Rows, settingRow{s.Key, plain(s.Value), s.Origin, s.Origin != partner.OriginBuiltIn})
	}
	return groups
}

// plan tells in words when and how a partner's documents go out.
func (c *Console) plan(v *visit, s standing) []string {
	p := s.settings
	if p == nil || p.Misconfigured {
		return nil
	}
	f := words.PlanFacts{Retries: p.Schedule(), Failures: p.Breaker.Failures, Within: p.Breaker.Within, Cooldown: p.Breaker.Cooldown, MaxCooldown: p.Breaker.MaxCooldown,
		Holds: p.Lane.OnOpen == partner.OpenHold, Width: p.Lane.Concurrency, WarnBy: p.WarnBy, DeliverBy: p.DeliverBy, KeepOverdue: p.KeepOverdue, Now: v.now, Zone: v.zoneOf(p)}
	if p.Lane.Rate > 0 {
		f.Rate = perSecond(p.Lane.Rate)
	}
	var open bool
	if open, f.Why, f.Until, f.Note = p.Lane.Calendar.Open(v.now); open {
		f.Why = ""
	}
	f.Note = plain(f.Note)
	return words.Plan(f)
}

// perSecond is a rate for people.
func perSecond(rate float64) string {
	if rate < 1 {
		return "1 every " + words.Span(time.Duration(float64(time.Second)/rate))
	}
	return strconv.FormatFloat(rate, 'g', 3, 64) + "/s"
}
