package main

import (
	"errors"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// setupLinkName is the file in the data folder that holds the set-up link as
// long as it may be used.
const setupLinkName = "setup-link"

// offerSetup lets the first administrator in while there is no user: a link in
// a file of the data folder, and on the terminal if there is one. What is no
// terminal may be kept as a log, which must not hold it. A gateway that cannot
// offer it goes on with its documents.
func (g *gateway) offerSetup(e *env) {
	token, err := g.access.NewSetup(e.ctx)
	if err == nil && token == "" {
		g.dropSetupLink() // of a process that was killed
		return
	}
	file, link := g.setupLinkFile(), g.consoleURL()+"/set-up?token="+url.QueryEscape(token)
	if err == nil {
		err = writeDurably(file, link+"\n")
	}
	if err != nil {
		g.log.Error("there is no user, and no set-up link could be made: use edigw user add NAME --role admin", "err", err)
		return
	}
	g.log.Info("there is no user yet: the set-up link lies in the data folder", "file", file)
	where := "the link in " + file
	if terminal(e.out) {
		where = link
	}
	e.say("Nobody can sign in to the console yet. Within 24 hours, make the first administrator: open\n  %s", where)
}

// dropSetupLink removes the file of a link that is void.
func (g *gateway) dropSetupLink() {
	if err := os.Remove(g.setupLinkFile()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		g.log.Warn("the file of a void set-up link is left", "err", err)
	}
}

func (g *gateway) setupLinkFile() string {
	return filepath.Join(string(g.settings.Current().Gateway().Data), setupLinkName)
}

// consoleURL is how operators reach the console: as the settings say, else
// where it listens.
func (g *gateway) consoleURL() string {
	if s := g.settings.Current().Gateway(); s.Listen.Console.BaseURL != "" {
		return s.ConsoleURL()
	}
	return "http://" + g.doors.address("console")
}

// terminal reports whether a person looks at what is written to w.
func terminal(w io.Writer) bool {
	f, ok := w.(interface{ Fd() uintptr })
	if !ok {
		return false
	}
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}
