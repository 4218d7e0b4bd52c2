package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
	"time"

	"edigw/as2"
	"edigw/internal/conf"
	"edigw/internal/words"
	"edigw/partner"
)

// PartnerNew writes a partner's file and the sheet to send them. What is not
// given by a flag is asked for.
type PartnerNew struct {
	ID       string   `arg:"" help:"Id of the partner: lower-case letters, digits, dashes. It names the file."`
	Name     string   `help:"What people call them."`
	Protocol string   `default:"as2" enum:"as2,as4" help:"as2 or as4."`
	Software *string  `help:"Their software, one of the presets; \"\": unknown."`
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
	return "Example:\n  edigw partner new contoso --name \"Contoso Ltd\" --as2-id CONTOSO --address https://as2.contoso.example/as2 \\\n    --cert contoso.pem --receipt sync --when-down hold --owner \"EDI desk\"\n  edigw partner new stadtwerke --protocol as4 --profile edelivery-1.15 --party 9990012345678 \\\n    --party-type urn:oasis:names:tc:ebcore:partyid-type:iso6523:0088 --address https://as4.stadtwerke.example/msh --cert stadtwerke.pem\n\nCompare the fingerprints with the partner by phone before the first document."
}

// question is one thing that a new partner file needs.
type question struct {
	to       *string
	text     string
	fallback string
	oneOf    []string
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
	if err := c.sensible(s); err != nil {
		return err
	}
	if err := c.interview(e); err != nil {
		return err
	}
	names, err := c.certificates(e, s)
	if err == nil {
		err = c.write(e, s, file, names)
	}
	if err != nil {
		for _, name := range names { // so that it can be begun again
			os.Remove(filepath.Join(s.Dir(), "keys", filepath.Base(name)))
		}
		return err
	}
	if s, err = e.settings(); err != nil { // with the partner
		return err
	}
	sheet := filepath.Join(string(s.Gateway().Partners), c.ID+"-sheet.txt")
	if err := os.WriteFile(sheet, c.sheet(s), 0o600); err != nil {
		return err
	}
	e.say("%s written, stage test; %s is for them.", file, sheet)
	return c.inForce(e)
}

// write makes the partner's file.
func (c *PartnerNew) write(e *env, s *partner.Snapshot, file string, certs []string) error {
	text, err := c.yaml(certs)
	if err != nil {
		return err
	}
	if err := c.sound(e, s, text); err != nil {
		return err
	}
	return writeNew(file, text)
}

// sound refuses a file in which an answer is at fault: it would have to be found
// and corrected by hand.
func (c *PartnerNew) sound(e *env, s *partner.Snapshot, text []byte) error {
	root, _ := conf.Parse("", text)
	var bad []partner.Problem
	for _, p := range s.Trial(c.ID, text, time.Now()) {
		if key, _, _ := strings.Cut(p.Key, "["); !p.Warning && (root == nil || root.Has(key)) {
			bad = append(bad, p)
			e.say("%s", p.String())
		}
	}
	if len(bad) == 0 {
		return nil
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

func (c *PartnerNew) interview(e *env) error {
	known := c.Software != nil // by --software, also as unknown
	if !known {
		c.Software = new(string)
	}
	of, err := c.askAS2()
	if c.Protocol == "as4" {
		of, err = c.askAS4()
	}
	if err != nil {
		return err
	}
	first := ""
	if len(c.Cert) > 0 {
		first = c.Cert[0]
	}
	in := bufio.NewReader(e.in)
	for _, q := range slices.Concat([]question{{&c.Name, "What do people call them", c.ID, nil}}, of, []question{
		{&c.Address, "URL of their server", "", nil},
		{&first, "File with their certificate", "", nil},
		{&c.Receipt, "Receipt that we ask for (sync, async, none)", "sync", []string{"sync", "async", "none"}},
		{&c.WhenDown, "While they do not answer: hold documents in line, or make each a dead-letter", "hold", []string{"hold", "dead-letter"}},
		{&c.Owner, "Who looks after them (team)", "EDI desk", nil},
	}) {
		if q.to == c.Software && known {
			if err := q.check(); err != nil {
				return err
			}
			continue
		}
		if err := q.ask(e, in); err != nil {
			return err
		}
	}
	if len(c.Cert) == 0 {
		c.Cert = []string{first}
	}
	return nil
}

// askAS2 are the questions that only AS2 has.
func (c *PartnerNew) askAS2() ([]question, error) {
	presets, err := partner.Presets()
	software := []string{""}
	for _, p := range presets {
		software = append(software, p.Name)
	}
	return []question{
		{c.Software, "Their software (" + strings.Join(software[1:], ", ") + "; empty: unknown)", "", software},
		{&c.AS2ID, "Their AS2 name", "", nil},
	}, err
}

// ask fills the answer, from the flag, the person or the fallback.
func (q question) ask(e *env, in *bufio.Reader) error {
	for *q.to == "" {
		fmt.Fprint(e.err, q.text)
		if q.fallback != "" {
			fmt.Fprintf(e.err, " [%s]", q.fallback)
		}
		fmt.Fprint(e.err, ": ")
		line, err := in.ReadString('\n')
		*q.to = strings.TrimSpace(line)
		if *q.to == "" {
			*q.to = q.fallback
		}
		if *q.to != "" || q.optional() {
			break
		}
		if err != nil {
			return wrong("an answer is missing: %s (see edigw partner new --help for flags)", q.text)
		}
	}
	return q.check()
}

// check refuses an answer that is not one of those offered.
func (q question) check() error {
	if q.oneOf == nil || slices.Contains(q.oneOf, *q.to) {
		return nil
	}
	return wrong("%q is none of: %s", *q.to, strings.Trim(strings.Join(q.oneOf, ", "), ", "))
}

func (q question) optional() bool { return len(q.oneOf) > 0 && q.oneOf[0] == "" }

// certificates copies theirs into keys/ and shows fingerprints to compare. With
// an error it gives those that it had copied.
func (c *PartnerNew) certificates(e *env, s *partner.Snapshot) ([]string, error) {
	var names []string
	for i, from := range c.Cert {
		certs, err := partner.ReadCertificates(from)
		if err != nil {
			return names, fmt.Errorf("%s: %w", from, err)
		}
		for _, cert := range certs {
			e.say("%s", describe(cert))
		}
		b, err := os.ReadFile(from)
		if err != nil {
			return names, err
		}
		name := fmt.Sprintf("%s-%s%s", c.ID, []string{"verify", "encrypt"}[min(i, 1)], filepath.Ext(from))
		if len(c.Cert) == 1 {
			name = c.ID + filepath.Ext(from)
		}
		if err := writeNew(filepath.Join(s.Dir(), "keys", name), b); err != nil {
			return names, err
		}
		names = append(names, "../keys/"+name)
	}
	e.say("Compare these fingerprints with the partner by phone.")
	return names, nil
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

func (c *PartnerNew) yaml(certs []string) ([]byte, error) {
	var b bytes.Buffer
	form := partnerFile
	if c.Protocol == "as4" {
		form = partnerFileAS4
	}
	err := form.Execute(&b, map[string]any{"C": c, "Software": *c.Software, "Verify": certs[0], "Encrypt": certs[len(certs)-1]})
	return b.Bytes(), err
}

// sheet is what the partner must know of us, with blanks for their answers.
func (c *PartnerNew) sheet(s *partner.Snapshot) []byte {
	if c.Protocol == "as4" {
		return c.sheetAS4(s)
	}
	var b strings.Builder
	g := s.Gateway()
	fmt.Fprintf(&b, "AS2 connection with %s\n\nOURS\n  AS2 name          %s\n  URL for messages  %s/as2\n", c.Name, inHeader(g.Identity.AS2), ourURL(s))
	fmt.Fprintf(&b, "  Receipts          we ask for: %s, signed\n                    we answer: in the response; asynchronously only at addresses that we agreed\n", c.Receipt)
	fmt.Fprintf(&b, "  Algorithms        signature SHA-256, encryption AES-256-CBC\n")
	for _, info := range s.Certificates(time.Now()) {
		if info.Owner == partner.OwnerGateway && (info.Use == partner.UseSign || info.Use == partner.UseDecrypt) {
			onSheet(&b, info)
		}
	}
	blanks(&b, "AS2 name", "URL for messages", "Addresses that you send from", "Certificate, SHA-256", "Algorithms", "Receipts that you want", "URLs for asynchronous ones", "Maintenance windows", "Contact at night")
	return []byte(b.String())
}

// ourURL is how partners reach us.
func ourURL(s *partner.Snapshot) string {
	if url := s.Gateway().PartnerURL(); url != "" {
		return url
	}
	return "(to be told: listen.partners.base_url is not set)"
}

// onSheet writes a certificate of ours, with its fingerprint.
func onSheet(b *strings.Builder, info partner.CertificateInfo) {
	fmt.Fprintf(b, "  Certificate       for %s: %s, serial %s, valid to %s\n                    SHA-256 %s\n", info.Use, info.Subject, info.Serial, info.NotAfter.UTC().Format(time.DateOnly), info.SHA256)
}

// blanks are what the partner fills in.
func blanks(b *strings.Builder, names ...string) {
	b.WriteString("\nYOURS (please fill in and send back)\n")
	for _, name := range names {
		fmt.Fprintf(b, "  %-28s ______________________________\n", name)
	}
}

// inHeader is an AS2 name, and how headers have it where that differs: whoever
// enters it must know whether the quotes belong to it.
func inHeader(name string) string {
	if quoted := as2.QuoteName(name); quoted != name {
		return name + "   (in headers: " + quoted + ")"
	}
	return name
}

// createNew opens a file that must not exist yet.
func createNew(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil, fmt.Errorf("%s exists already, and nothing is overwritten: give another name, or move it away", name)
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s cannot be written: there is no folder %s", name, filepath.Dir(name))
	}
	return f, err
}

// writeNew writes a file that must not exist yet.
func writeNew(name string, content []byte) error {
	f, err := createNew(name)
	if err != nil {
		return err
	}
	if _, err := f.Write(content); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
