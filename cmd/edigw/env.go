package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"edigw/internal/apiclient"
	"edigw/partner"
)

// socketName is the local socket in the data folder: root and the service's
// user may use it without a token.
const socketName = "edigw.sock"

// env is what every command may use.
type env struct {
	*output
	ctx    context.Context
	config string
	url    string
	token  string
}

// gateway gives a client for the running gateway: the one that --url names,
// else the local one of this installation.
func (e *env) gateway() (*apiclient.Client, error) {
	if e.url != "" {
		return apiclient.New(e.url, e.token)
	}
	settings, err := e.settings()
	if err != nil {
		// A gateway that runs goes on with its last good settings: a mistake in
		// the file must not take its operator's commands away.
		if usual := filepath.Join(filepath.Dir(e.config), "data", socketName); exists(usual) {
			return apiclient.Local(usual), nil
		}
		return nil, err
	}
	return apiclient.Local(filepath.Join(string(settings.Gateway().Data), socketName)), nil
}

// settings loads the installation's settings; mistakes of partner files do not
// matter here.
func (e *env) settings() (*partner.Snapshot, error) {
	r, _, err := e.registry()
	if err != nil {
		return nil, err
	}
	return r.Current(), nil
}

// registry is settings for a gateway that runs, with the mistakes of partner
// files.
func (e *env) registry() (*partner.Registry, []partner.Problem, error) {
	if err := e.installed(); err != nil {
		return nil, nil, err
	}
	r, problems, err := partner.Open(e.config, time.Now)
	if err != nil {
		return nil, nil, mistakes(err, problems)
	}
	return r, problems, nil
}

// noSuch says that a partner which was asked for has no settings file, for a
// search that found nothing; else it is empty.
func (e *env) noSuch(id string) string {
	if id == "" || e.url != "" {
		return ""
	}
	s, err := e.settings()
	if err != nil {
		return ""
	}
	if _, known := s.Partner(id); known {
		return ""
	}
	return " " + s.NoPartner(id)
}

// installed fails if there are no settings where they should be.
func (e *env) installed() error {
	switch info, err := os.Stat(e.config); {
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s cannot be read: %w (use sudo, or the gateway's own user)", e.config, err)
	case err != nil:
		return fmt.Errorf("no settings at %s (--config or EDIGW_CONFIG names them; edigw init makes an installation)", e.config)
	case info.IsDir():
		return fmt.Errorf("%s is a folder: --config names the file in it, %s", e.config, filepath.Join(e.config, "edigw.yaml"))
	}
	return nil
}

// ask puts a question and reports whether the answer begins with y. Anything
// but a clear yes is no.
func (e *env) ask(format string, args ...any) bool {
	fmt.Fprintf(e.err, format+" [y/N] ", args...)
	line, _ := bufio.NewReader(e.in).ReadString('\n')
	return strings.HasPrefix(strings.ToLower(strings.TrimSpace(line)), "y")
}

// table prints rows in columns.
func (e *env) table(head string, rows [][]string) {
	if e.json {
		return
	}
	w := tabwriter.NewWriter(e.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, head)
	for _, r := range rows {
		fmt.Fprintln(w, strings.Join(r, "\t"))
	}
	_ = w.Flush()
}

// query makes a query of the values that are not empty.
func query(pairs ...string) url.Values {
	q := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	return q
}

// local is a time as the machine's user reads it; empty for none.
func local(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04:05")
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}
