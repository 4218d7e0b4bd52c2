package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"edigw/internal/conf"
	"edigw/internal/words"
	"edigw/partner"
	"edigw/partner/openas2"
	"edigw/partner/takeover"
)

// PartnerImport takes partners over from other products.
type PartnerImport struct {
	OpenAS2  ImportOpenAS2  `cmd:"" name:"openas2" help:"From an OpenAS2 installation."`
	Holodeck ImportHolodeck `cmd:"" name:"holodeck" help:"From P-Modes of Holodeck B2B."`
	Domibus  ImportDomibus  `cmd:"" name:"domibus" help:"From the P-Mode configuration of Domibus."`
}

// ImportOpenAS2 makes partner files of an OpenAS2 installation.
type ImportOpenAS2 struct {
	Dir      string `arg:"" type:"existingdir" help:"Its folder, or its folder config."`
	Us       string `help:"Name or AS2 id that is ours; without it whoever has a key in the keystore."`
	Password string `name:"password-file" type:"existingfile" help:"File with the keystore's password, if config.xml does not say it."`
	DryRun   bool   `help:"Say what would be written, and write nothing."`
}

// Help is shown by --help.
func (ImportOpenAS2) Help() string {
	return "Example:\n  edigw partner import openas2 /opt/OpenAS2 --dry-run\n\nWrites a partner file each (stage test), their certificates, our keys and openas2-import.txt. Files that are there already are never overwritten."
}

// imported is the command's result for programs.
type imported struct {
	Partners []string          `json:"partners"`
	Files    []string          `json:"files"`
	Keys     []takeover.OwnKey `json:"keys"`
	Remarks  []takeover.Remark `json:"remarks"`
	Problems []conf.Problem    `json:"problems"`
}

// Run reads, translates, writes and checks.
func (c *ImportOpenAS2) Run(e *env) error {
	s, err := e.settings()
	if err != nil {
		return err
	}
	password, err := passwordIn(c.Password)
	if err != nil {
		return err
	}
	in, err := openas2.Read(c.Dir, password)
	if err != nil {
		return err
	}
	known := func(ours, theirs string) string {
		if p, ok := s.ByAS2Names(theirs, ours); ok {
			return p.ID
		}
		return ""
	}
	home, err := filepath.Rel(string(s.Gateway().Partners), s.Dir())
	if err != nil {
		return err
	}
	plan, err := openas2.Translate(in, openas2.Options{Us: c.Us, OurID: s.Gateway().Identity.AS2, Taken: s.IDs(), Known: known, Home: filepath.ToSlash(home)})
	if err != nil {
		return err
	}
	return takenOver{plan, "openas2"}.carryOut(e, s, c.DryRun)
}

// passwordIn is the password in a file; empty if there is none.
func passwordIn(file string) (string, error) {
	if file == "" {
		return "", nil
	}
	b, err := os.ReadFile(file)
	return strings.TrimRight(string(b), "\r\n"), err
}

// takenOver is a plan, and the product it is from: the beginning of the file that
// says what was taken over and what was not.
type takenOver struct {
	*takeover.Plan
	product string
}

// carryOut writes what is planned and takes it into use, or only says it.
func (p takenOver) carryOut(e *env, s *partner.Snapshot, dryRun bool) error {
	out := imported{Partners: p.Partners, Keys: p.Keys, Remarks: p.Remarks}
	for _, f := range p.Files {
		out.Files = append(out.Files, f.Path)
	}
	text := p.report()
	if dryRun {
		e.say("%s\nNothing was written (--dry-run).", text)
		return e.result(out)
	}
	if err := writeAll(s, append(p.Files, p.reportFile(s, text))); err != nil {
		return err
	}
	return p.inForce(e, out, text)
}

// inForce has what was written taken into use, then says what was done and what
// edigw check would say of it.
func (p takenOver) inForce(e *env, out imported, text string) error {
	s, err := e.settings()
	if err != nil {
		return err
	}
	gateway, err := e.gateway()
	if err != nil {
		return err
	}
	var ignored any
	reload := gateway.Post(e.ctx, "/reload", nil, &ignored)
	e.say("%s", text)
	if reload != nil {
		e.say("No gateway took them into use yet (%v)", reload)
	}
	bad := 0
	for _, id := range p.Partners {
		is, _ := s.Partner(id)
		for _, problem := range is.Problems {
			e.say("%s", problem.String())
		}
		out.Problems = append(out.Problems, is.Problems...)
		if is.Misconfigured {
			bad++
		}
	}
	if err := e.result(out); err != nil {
		return err
	}
	if bad > 0 {
		return partly("%s of %d have mistakes", words.Count(bad, "partner", "partners"), len(p.Partners))
	}
	return nil
}

// reportFile is where the report goes; one of an earlier import stays.
func (p takenOver) reportFile(s *partner.Snapshot, text string) takeover.File {
	name := p.product + "-import.txt"
	for n := 2; ; n++ {
		if _, err := os.Lstat(filepath.Join(s.Dir(), name)); errors.Is(err, fs.ErrNotExist) {
			return takeover.File{Path: name, Content: []byte(text + "\n")}
		}
		name = fmt.Sprintf("%s-import-%d.txt", p.product, n)
	}
}

// report says in words what a plan carries over and what it does not.
func (p takenOver) report() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s from %s, stage test: %s\n", words.Count(len(p.Partners), "partner", "partners"), p.Source, strings.Join(p.Partners, ", "))
	for _, k := range p.Keys {
		fmt.Fprintf(&b, "Our key %q is %s. It is used when edigw.yaml lists it.\nThe command changes what we sign with for ALL partners, not only for those imported: who knows\nanother certificate of ours refuses what we send. Tell them first, or write --use decrypt alone:\n  edigw cert import edigw %s --use sign,decrypt\n", k.Alias, k.File, k.File)
	}
	b.WriteString("\nFiles:\n")
	for _, f := range p.Files {
		b.WriteString("  " + f.Path + "\n")
	}
	for _, f := range p.Files {
		if id, ok := strings.CutPrefix(f.Path, "partners/"); ok {
			fmt.Fprintf(&b, "\n%s:\n    %s\n", id, strings.ReplaceAll(strings.TrimSpace(string(f.Content)), "\n", "\n    "))
		}
	}
	for _, part := range []struct {
		title string
		lost  bool
	}{{"Could not be carried over", true}, {"Good to know", false}} {
		b.WriteString("\n" + part.title + ":\n")
		n := 0
		for _, r := range p.Remarks {
			if r.Lost == part.lost {
				where := r.Partner
				if where == "" {
					where = "installation"
				}
				fmt.Fprintf(&b, "  %s: %s: %s\n", where, r.About, r.Text)
				n++
			}
		}
		if n == 0 {
			b.WriteString("  nothing\n")
		}
	}
	b.WriteString("\nCompare the fingerprints of the certificates with the partners (edigw cert list), send a test (edigw partner test ID --message FILE),\nthen set stage: live.")
	return b.String()
}

// staged is a file that is whole and durable, and has not its name yet.
type staged struct{ temp, name string }

// writeAll writes files that must not be there yet: all of them or none. They
// get their names in the order given when all are durable, so that a crash
// leaves no half file, and no partner file before what it names; an import
// after it goes on from there.
func writeAll(s *partner.Snapshot, files []takeover.File) (err error) {
	var all []staged
	named := 0
	defer func() {
		for i, f := range all {
			switch {
			case i >= named:
				_ = os.Remove(f.temp)
			case err != nil:
				_ = os.Remove(f.name)
			}
		}
		if err != nil {
			err = fmt.Errorf("nothing was imported: %w", err)
		}
	}()
	for _, f := range files {
		name := filepath.Join(s.Dir(), filepath.FromSlash(f.Path))
		if rest, ok := strings.CutPrefix(f.Path, "partners/"); ok {
			name = filepath.Join(string(s.Gateway().Partners), rest)
		}
		if there, err := os.ReadFile(name); err == nil && bytes.Equal(there, f.Content) {
			continue // an earlier import put it there: our own key, for other partners
		}
		temp, err := stage(name, f.Content)
		if err != nil {
			return err
		}
		all = append(all, staged{temp, name})
	}
	for ; named < len(all); named++ {
		if err := os.Rename(all[named].temp, all[named].name); err != nil {
			return err
		}
	}
	folders := map[string]bool{}
	for _, f := range all {
		folders[filepath.Dir(f.name)] = true
	}
	for dir := range folders {
		err = errors.Join(err, syncFolder(dir))
	}
	return err
}

// stage writes the file of a name that nothing may have, and gives where it
// lies until it gets that name.
func stage(name string, content []byte) (temp string, err error) {
	if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		return "", cmp.Or(err, fmt.Errorf("%s exists already, and nothing is overwritten: move it away", name))
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return "", err
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".edigw-")
	if err != nil {
		return "", err
	}
	if _, err = f.Write(content); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(f.Name())
	}
	return f.Name(), err
}
