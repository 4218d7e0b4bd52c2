package web

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"edigw/access"
	"edigw/breaker"
	"edigw/partner"
)

// readyWithin bounds the question whether the gateway works.
const readyWithin = 5 * time.Second

// reloaded is the answer to a reload.
type reloaded struct {
	Changed  []string                `json:"changed" doc:"keys of edigw.yaml and partners, for people"`
	Gateway  []partner.SettingChange `json:"gateway" doc:"keys of edigw.yaml"`
	Keys     bool                    `json:"keys" doc:"own keys changed"`
	Restart  []string                `json:"restart" doc:"keys of edigw.yaml that need a restart to count"`
	Added    []string                `json:"added"`
	Removed  []string                `json:"removed"`
	Partners []partnerChange         `json:"partners"`
	Kept     []string                `json:"kept" doc:"partners whose file is bad: their last good settings stay"`
	Unusable []string                `json:"unusable" doc:"partners whose file is bad and never was good: they send nothing"`
	Same     int                     `json:"unchanged" doc:"partners whose file is good and did not change"`
	Problems []partner.Problem       `json:"problems" doc:"every mistake and warning in the files"`
}

// partnerChange is what a reload changed for one partner.
type partnerChange struct {
	ID           string                  `json:"id"`
	Settings     []partner.SettingChange `json:"settings"`
	Certificates bool                    `json:"certificates"`
	Trust        bool                    `json:"trust"`
	Credentials  bool                    `json:"credentials"`
	Stale        bool                    `json:"stale" doc:"the file went bad, the last good settings stay"`
	Fixed        bool                    `json:"fixed"`
	Tested       bool                    `json:"test_due" doc:"the lane was stopped and its next test is due at once"`
}

func (a *API) gatewayRoutes() []route {
	routes := []route{
		{method: http.MethodPost, path: "/reload", scope: access.Operate, about: "Take changed settings into use.",
			in: nothing{}, out: reloaded{}, status: http.StatusOK, do: a.reload},
		{method: http.MethodGet, path: "/openapi.json", about: "This description; any token may read it.", media: "application/json", status: http.StatusOK, do: a.describe},
	}
	if a.Backup != nil {
		routes = append(routes, route{method: http.MethodPost, path: "/backup", scope: access.Admin, local: true, about: "Write a consistent copy of the data to a file on the gateway's machine; over the local socket only.",
			in: backup{}, out: backup{}, status: http.StatusOK, also: []Slug{Conflict, DiskFull}, do: a.backup})
	}
	return routes
}

func (a *API) reload(c *call) error {
	if err := c.read(&nothing{}); err != nil {
		return err
	}
	waits := a.testsPlanned()
	change, problems, err := a.Reload(c.r.Context(), c.actor)
	if err != nil {
		return err
	}
	v := reloaded{
		Changed: changed(change), Gateway: append([]partner.SettingChange{}, change.Gateway...), Keys: change.Keys, Restart: append([]string{}, change.Restart...),
		Added: append([]string{}, change.Added...), Removed: append([]string{}, change.Removed...),
		Partners: listOf(change.Partners, "", viewPartnerChange).Items, Kept: []string{}, Unusable: []string{}, Problems: append([]partner.Problem{}, problems...),
	}
	touched := map[string]bool{}
	for i, p := range change.Partners {
		touched[p.ID] = true
		v.Partners[i].Tested = p.Reach() && waits[p.ID]
	}
	for _, id := range change.Added {
		touched[id] = true
	}
	settings := a.Settings()
	for _, id := range settings.IDs() {
		switch p, _ := settings.Partner(id); {
		case p.Stale:
			v.Kept = append(v.Kept, id)
		case p.Misconfigured:
			v.Unusable = append(v.Unusable, id)
		case !touched[id]:
			v.Same++
		}
	}
	return c.answer(http.StatusOK, v)
}

// testsPlanned gives the partners whose lanes stand still until a test that a
// changed way to the partner makes due at once.
func (a *API) testsPlanned() map[string]bool {
	waits := map[string]bool{}
	for _, id := range a.Settings().IDs() {
		b := a.Lanes.View(id).Breaker
		waits[id] = b.Phase == breaker.Open && !b.Manual
	}
	return waits
}

// changed names what a reload changed.
func changed(c partner.Change) []string {
	names := []string{}
	for _, s := range c.Gateway {
		names = append(names, s.Key)
	}
	if c.Keys {
		names = append(names, "own keys")
	}
	for _, id := range c.Added {
		names = append(names, id+" (new)")
	}
	for _, id := range c.Removed {
		names = append(names, id+" (gone)")
	}
	for _, p := range c.Partners {
		switch {
		case p.Stale:
			names = append(names, p.ID+" (its file is bad, the old settings stay)")
		case p.Fixed:
			names = append(names, p.ID+" (its file is good again)")
		default:
			names = append(names, p.ID)
		}
	}
	return names
}

func viewPartnerChange(p partner.PartnerChange) partnerChange {
	return partnerChange{ID: p.ID, Settings: append([]partner.SettingChange{}, p.Settings...), Certificates: p.Certificates, Trust: p.Trust,
		Credentials: p.Credentials, Stale: p.Stale, Fixed: p.Fixed}
}

// backup is the body of a backup.
type backup struct {
	File string `json:"file" doc:"absolute path on the gateway's machine; it must not exist"`
}

func (a *API) backup(c *call) error {
	var in backup
	if err := c.read(&in); err != nil {
		return err
	}
	if !filepath.IsAbs(in.File) {
		return bad("file", "This must be an absolute path on the gateway's machine.")
	}
	err := a.Backup(c.r.Context(), filepath.Clean(in.File))
	switch {
	case errors.Is(err, fs.ErrExist):
		return &Problem{Slug: Conflict, Field: "file", Detail: "This file is there already: name another one."}
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return bad("file", "The gateway cannot write there.")
	case err != nil:
		return err
	}
	return c.answer(http.StatusOK, in)
}

func (a *API) describe(c *call) error {
	c.w.Header().Set("Content-Type", "application/json")
	_, _ = c.w.Write(a.openapi)
	return nil
}

// healthz says that the process lives.
func (a *API) healthz(w http.ResponseWriter, _ *http.Request) { plain(w, http.StatusOK, "ok\n") }

// readyz says whether store and listeners work, whatever partners or alert
// channels do.
func (a *API) readyz(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), readyWithin)
	defer cancel()
	switch err := a.Ready(ctx); {
	case a.stopping.Load():
		plain(w, http.StatusServiceUnavailable, "stopping\n")
	case err != nil:
		why := "the log says why"
		var p *Problem
		if errors.As(err, &p) { // else it may name paths
			why = p.Detail
		}
		a.Log.Warn("not ready", keyErr, err)
		plain(w, http.StatusServiceUnavailable, "not ready: "+why+"\n")
	default:
		plain(w, http.StatusOK, "ready\n")
	}
}

func plain(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text))
}

func (a *API) metrics() http.Handler {
	return promhttp.HandlerFor(a.Metrics, promhttp.HandlerOpts{MaxRequestsInFlight: 4, Timeout: 30 * time.Second})
}
