package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
	"time"

	"edigw/internal/conf"
	"edigw/internal/words"
	"edigw/partner"
)

// PartnerNew writes a partner's file and the sheet to send them. What is not
// given by a flag is asked for.
type PartnerNew struct {
	ID       string   `arg:"" help:"Id of the partner: lower-case letters, digits, dashes. It names the file."`
	Name     string   `help:"What people call them."`
	Protocol string   `default:"" enum:",as2,as4" help:"as2 or as4; default: that of the other flags."`
	Software *string  `help:"AS2: their software, one of the presets; \"\": unknown."`
	AS2ID    string   `name:"as2-id" help:"Their AS2 name."`
	Address  string   `name:"address" help:"Where their server takes messages." placeholder:"URL"`
	Cert     []string `name:"cert" type:"existingfile" help:"Their certificate (PEM, DER or P7B); for signatures and encryption if only one is given, else the first verifies and the second encrypts."`
	Receipt  string   `help:"sync, async or none."`
	WhenDown string   `name:"when-down" help:"hold or dead-letter: what happens to documents while they do not answer."`
	Owner    string   `help:"Who looks after them: a team."`
	Mail     string   `help:"The owner's mail address."`
	Phone    string   `help:"The owner's telephone, shown in alerts."`

	newAS4
}

// Help is shown by --help.
func (PartnerNew) Help() string {
	return "Examples:\n  edigw partner new contoso --name \"Contoso Ltd\" --as2-id CONTOSO --address https://as2.contoso.example/as2 \\\n    --cert contoso.pem --receipt sync --when-down hold --owner \"EDI desk\"\n  edigw partner new stadtwerke --protocol as4 --profile edelivery-1.15 --party 9990012345678 \\\n    --party-type urn:oasis:names:tc:ebcore:partyid-type:iso6523:0088 --address https://as4.stadtwerke.example/msh \\\n    --service Orders --service-type urn:example:services --action Deliver --cert stadtwerke.pem\n\nNothing is written while an answer or a certificate does not fit. Compare the fingerprints with the partner by phone before the first document."
}

// Run asks, writes partners/ID.yaml and partners/ID-sheet.txt, and has a
// running gateway take the file into use.
func (c *PartnerNew) Run(e *env) error {
	s, err := e.settings()
	if err != nil {
		return err
	}
	if !partner.ValidID(c.ID) {
		return wrong("%q cannot be an id: lower-case letters, digits and dashes, at most 63", c.ID)
	}
	file := filepath.Join(string(s.Gateway().Partners), c.ID+".yaml")
	if _, err := os.Stat(file); err == nil {
		return fmt.Errorf("%s exists already: correct it there, then edigw check and edigw reload; or take another id", file)
	}
	if err := c.interview(e, s); err != nil {
		return err
	}
	given, err := c.certificates(e, s)
	if err != nil {
		return err
	}
	if err := c.sound(e, s, given); err != nil {
		return err
	}
	sheet := filepath.Join(string(s.Gateway().Partners), c.ID+"-sheet.txt")
	if err := c.write(e, s, file, sheet, given); err != nil {
		return err
	}
	e.say("%s written, stage test; %s is for them.", file, sheet)
	return c.inForce(e)
}

// theirFile is a file with a certificate of theirs, which is copied to keys/.
type theirFile struct {
	from, name string
	content    []byte
	kind       string // of the key, as cert new calls it; empty for others
}

// write makes the partner's file, with copies of their certificates, and the sheet.
func (c *PartnerNew) write(e *env, s *partner.Snapshot, file, sheet string, given []theirFile) error {
	keys := func(f theirFile) string { return filepath.Join(s.Dir(), "keys", f.name) }
	text, err := c.yaml(filepath.Dir(file), given, keys)
	if err != nil {
		return err
	}
	var files []newFile
	for _, f := range given {
		files = append(files, newFile{keys(f), f.content})
	}
	if err := writeNewFiles(append(files, newFile{file, text})); err != nil {
		return err
	}
	if s, err = e.settings(); err != nil { // with the partner
		return err
	}
	return os.WriteFile(sheet, c.sheet(s), 0o600)
}

// sound refuses a file in which an answer is at fault, or a certificate: it would
// have to be found and corrected by hand. Nothing is written yet; the certificates
// are read where they are.
func (c *PartnerNew) sound(e *env, s *partner.Snapshot, given []theirFile) error {
	text, err := c.yaml(string(s.Gateway().Partners), given, func(f theirFile) string { return f.from })
	if err != nil {
		return err
	}
	root, _ := conf.Parse("", text)
	var bad []partner.Problem
	for _, p := range s.Trial(c.ID, text, time.Now()) {
		if key, _, _ := strings.Cut(p.Key, "["); unfit(p) || !p.Warning && (root == nil || root.Has(key)) {
			bad = append(bad, p)
		}
	}
	return c.refuse(e, bad)
}

// unfit are mistakes and breaches of a profile that come of the kind of a key or
// certificate, whether or not the file has the key that the problem names.
func unfit(p partner.Problem) bool {
	switch p.Key {
	case "certificates.verify", "certificates.encrypt", "keys":
		return true
	case "as4.security.sign", "as4.security.key_transport", "as4.security.encrypt_token", "as4.receive.require", "as4.receive.algorithms":
		return !p.Warning
	}
	return false
}

// refuse says what is wrong, if anything is.
func (c *PartnerNew) refuse(e *env, bad []partner.Problem) error {
	if len(bad) == 0 {
		return nil
	}
	for _, p := range bad {
		e.say("%s", p.String())
	}
	if c.Protocol == "as4" && slices.ContainsFunc(bad, ofOurs) {
		e.say("A key that fits: %s; then list it in keys of edigw.yaml.", c.newKey())
	}
	if err := e.result(map[string]any{"id": c.ID, "problems": bad}); err != nil {
		return err
	}
	return wrong("nothing was written: correct %s and run it again", words.Count(len(bad), "answer", "answers"))
}

// inForce checks what was written and has it taken into use.
func (c *PartnerNew) inForce(e *env) error {
	s, err := e.settings()
	if err != nil {
		return err
	}
	p, _ := s.Partner(c.ID)
	for _, problem := range p.Problems {
		e.say("%s", problem.String())
	}
	gateway, err := e.gateway()
	if err != nil {
		return err
	}
	var ignored any
	switch err := gateway.Post(e.ctx, "/reload", nil, &ignored); {
	case p.Misconfigured:
		e.say("It is not used before that is corrected. Next: edigw check, then edigw reload")
	case err != nil:
		e.say("No gateway took it into use yet (%v)", err)
	default:
		e.say("The gateway has taken it into use. Next: edigw partner test %s", c.ID)
	}
	if err := e.result(map[string]any{"id": c.ID, "problems": p.Problems}); err != nil {
		return err
	}
	if p.Misconfigured {
		return partly("%s has %s", c.ID+".yaml", words.Count(len(p.Problems), "mistake", "mistakes"))
	}
	return nil
}

// certificates reads theirs and shows fingerprints to compare.
func (c *PartnerNew) certificates(e *env, s *partner.Snapshot) (out []theirFile, err error) {
	for i, from := range c.Cert {
		list, err := partner.ReadCertificates(from)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", from, err)
		}
		for _, cert := range list {
			e.say("%s", describe(cert))
		}
		f := theirFile{name: fmt.Sprintf("%s-%s%s", c.ID, []string{"verify", "encrypt"}[min(i, 1)], filepath.Ext(from)), kind: kindIn(list)}
		if len(c.Cert) == 1 {
			f.name = c.ID + filepath.Ext(from)
		}
		if f.content, err = os.ReadFile(from); err != nil {
			return nil, err
		}
		if f.from, err = filepath.Abs(from); err != nil {
			return nil, err
		}
		name := filepath.Join(s.Dir(), "keys", f.name)
		if _, err := os.Lstat(name); err == nil {
			return nil, alreadyThere(name)
		}
		out = append(out, f)
	}
	e.say("Compare these fingerprints with the partner by phone.")
	return out, nil
}

var partnerFile = template.Must(template.New("partner").Parse(`name: {{printf "%q" .C.Name}}
stage: test              # live when both sides are content
protocol: as2
{{- if .Software}}
preset: {{.Software}}{{end}}
owner: {team: {{printf "%q" .C.Owner}}{{if .C.Mail}}, mail: {{.C.Mail}}{{end}}{{if .C.Phone}}, phone: {{printf "%q" .C.Phone}}{{end}}}
as2:
  id: {{printf "%q" .C.AS2ID}}
  url: {{.C.Address}}
  mdn: {mode: {{.C.Receipt}}{{if ne .C.Receipt "none"}}, signed: true{{end}}{{if eq .C.Receipt "async"}}, wait: 60m{{end}}}
certificates:
  verify:  [{file: {{.Verify}}}]
  encrypt: [{file: {{.Encrypt}}}]
breaker: {on_open: {{.C.WhenDown}}}   # while they do not answer: dead-letter, or hold
`))

// yaml is the partner's file in that folder; path says where it finds their
// certificates.
func (c *PartnerNew) yaml(folder string, given []theirFile, path func(theirFile) string) ([]byte, error) {
	var b bytes.Buffer
	named := func(path string) string { return fmt.Sprintf("%q", pathIn(folder, path)) }
	first, last := given[0], given[len(given)-1]
	values := map[string]any{"C": c, "Software": *c.Software, "Verify": named(path(first)), "Encrypt": named(path(last))}
	form := partnerFile
	if c.Protocol == "as4" {
		form = partnerFileAS4
		values["Security"] = c.security(first.kind, last.kind)
		if c.TLSClient != "" {
			abs, err := filepath.Abs(c.TLSClient)
			if err != nil {
				return nil, err
			}
			values["TLS"] = named(abs)
		}
	}
	err := form.Execute(&b, values)
	return b.Bytes(), err
}

// pathIn is a path as a file in a folder names it.
func pathIn(folder, path string) string {
	if rel, err := filepath.Rel(folder, path); err == nil {
		return filepath.ToSlash(rel)
	}
	return path
}
