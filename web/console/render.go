package console

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strings"

	"edigw/access"
	"edigw/internal/words"
	"edigw/web"
)

//go:embed templates/*.html
var templateFiles embed.FS

// sheets are the templates of pages by name, each with the layout and the
// shared parts.
type sheets map[string]*template.Template

// shared are the templates that every page may use.
var shared = []string{"templates/layout.html", "templates/parts.html"}

func loadSheets(a assets) (sheets, error) {
	base, err := template.New("layout.html").Funcs(template.FuncMap{
		"asset":  a.url,
		"number": func(n int) string { return words.Number(int64(n)) },
		"bytes":  words.Bytes,
	}).ParseFS(templateFiles, shared...)
	if err != nil {
		return nil, fmt.Errorf("console: %w", err)
	}
	files, err := fs.Glob(templateFiles, "templates/*.html")
	if err != nil {
		return nil, err
	}
	all := sheets{}
	for _, file := range files {
		if slices.Contains(shared, file) {
			continue
		}
		t, err := base.Clone()
		if err == nil {
			t, err = t.ParseFS(templateFiles, file)
		}
		if err != nil {
			return nil, fmt.Errorf("console: %w", err)
		}
		all[strings.TrimSuffix(path.Base(file), ".html")] = t
	}
	return all, nil
}

// sheet is what the layout prints around a page.
type sheet struct {
	Title     string
	Nav       []navEntry
	Topic     string // what the page watches; empty: everything
	User      string // empty: nobody is signed in
	Role      string
	Operator  bool // may act
	Admin     bool
	Flash     *flash
	Now       moment
	RequestID string
	Data      any
}

// navEntry is an entry of the navigation.
type navEntry struct {
	Name, Path string
	Lit        bool
}

var navigation = []navEntry{
	{Name: "Board", Path: "/"}, {Name: "Messages", Path: "/messages"}, {Name: "Dead letters", Path: "/letters"},
	{Name: "Alerts", Path: "/alerts"}, {Name: "Certificates", Path: "/certificates"}, {Name: "Audit", Path: "/audit"},
}

// print answers with a page. Nothing is sent before it is rendered whole.
func (c *Console) print(v *visit, shown view) {
	s := sheet{
		Title: shown.title, Topic: shown.topic, User: v.user.Name, Role: string(v.user.Role), Operator: v.may(access.Operate), Admin: v.may(access.Admin),
		Now: v.at(v.now), RequestID: web.RequestID(v.r.Context()), Data: shown.data,
	}
	if v.user.Name != "" {
		for _, e := range navigation {
			e.Lit = e.Path == shown.nav
			s.Nav = append(s.Nav, e)
		}
		if s.Admin {
			s.Nav = append(s.Nav, navEntry{Name: "Users", Path: "/users", Lit: shown.nav == "/users"})
		}
		if v.r.Header.Get("X-Edigw-Live") == "" { // a page that looks again by itself takes no news
			s.Flash = c.told.take(v.session.Hash, v.now)
		}
	}
	var body bytes.Buffer
	if err := c.sheets[shown.template].ExecuteTemplate(&body, "layout.html", s); err != nil {
		c.Log.Error("a page cannot be rendered", "request_id", s.RequestID, "page", shown.template, "err", err)
		http.Error(v.w, "This page has a defect. The log says more, under request "+s.RequestID+".", http.StatusInternalServerError)
		return
	}
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if shown.status == 0 {
		shown.status = http.StatusOK
	}
	v.w.WriteHeader(shown.status)
	_, _ = v.w.Write(body.Bytes()) // an error means that the browser is gone
}
