package main

import (
	"bytes"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"text/template"
	"time"

	"edigw/as2"
	"edigw/internal/selfsigned"
)

//go:embed template
var templates embed.FS

// ownYears is how long the certificates of `edigw init` are valid: partners
// exchange them by hand.
const ownYears = 3

// echo ends the AS2 name of the other end of the sample partner myself.
const echo = "-ECHO"

// InitCommand writes an installation that runs as it is.
type InitCommand struct {
	Dir    string `arg:"" help:"Folder to make; it must be empty or not exist."`
	Name   string `default:"ACME-AS2" help:"Our AS2 name, as agreed with partners."`
	Domain string `default:"edi.acme.example" help:"Right side of every Message-ID: a domain of ours. It is never changed."`

	PartnersPort int `name:"partners-port" default:"4080" help:"Where partners post to, on loopback until edigw.yaml says otherwise."`
	ConsolePort  int `name:"console-port" default:"4000" help:"Where operators and the API are."`
}

// Help is shown by --help.
func (InitCommand) Help() string {
	return "Examples:\n  edigw init /etc/edigw --name ACME-AS2 --domain edi.acme.example\n  edigw init second --partners-port 4180 --console-port 4100      beside the first one, on one machine"
}

// Run makes folders, keys and settings.
func (c *InitCommand) Run(out *output) error {
	if err := as2.CheckName(c.Name + echo); err != nil {
		return wrong("--name %q: %v", c.Name, err)
	}
	if err := as2.CheckMessageID("<x@" + c.Domain + ">"); err != nil {
		return wrong("--domain %q cannot stand in a Message-ID: %v", c.Domain, err)
	}
	for name, port := range map[string]int{"--partners-port": c.PartnersPort, "--console-port": c.ConsolePort} {
		if port < 1 || port > 65535 {
			return wrong("%s %d is no port: 1 to 65535", name, port)
		}
	}
	if c.PartnersPort == c.ConsolePort {
		return wrong("--partners-port and --console-port are both %d: partners and operators never share a port", c.ConsolePort)
	}
	if entries, err := os.ReadDir(c.Dir); err == nil && len(entries) > 0 {
		return fmt.Errorf("%s is not empty; name a folder that does not exist yet", c.Dir)
	}
	for _, d := range []string{"", "partners", "keys", "secrets", "outbox", "inbox", "data"} {
		if err := os.MkdirAll(filepath.Join(c.Dir, d), 0o700); err != nil {
			return err
		}
	}
	if err := c.keys(); err != nil {
		return err
	}
	for file, from := range map[string]string{
		"edigw.yaml": "edigw.yaml", "partners/northwind.yaml": "northwind.yaml",
		"partners/myself.yaml": "myself.yaml", "partners/myself-back.yaml": "myself-back.yaml",
	} {
		if err := c.write(file, from); err != nil {
			return err
		}
	}
	out.say("An installation is ready in %s:", c.Dir)
	out.say("  edigw.yaml            the gateway: who we are, where it listens, whom it alerts")
	out.say("  partners/*.yaml       one trading partner each: a sample, and this gateway itself")
	out.say("  keys/own.crt          our certificate, for partners (self-signed, %d years)", ownYears)
	out.say("Partners post to 127.0.0.1:%d, console and API are on http://127.0.0.1:%d.", c.PartnersPort, c.ConsolePort)
	out.say("Next:")
	out.say("  cd %s && edigw serve", c.Dir)
	out.say("  edigw send myself FILE --wait      in another terminal: out and back in over AS2")
	out.say("Our AS2 name is %s, Message-IDs end in @%s: both are promises to partners, so set them", c.Name, c.Domain)
	out.say("with --name and --domain before the first real document.")
	return out.result(map[string]string{"dir": c.Dir, "as2": c.Name, "domain": c.Domain})
}

func (c *InitCommand) write(file, from string) error {
	t, err := template.ParseFS(templates, "template/"+from)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, c); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(c.Dir, file), b.Bytes(), 0o600)
}

// keys makes our own key and certificate, and a sample certificate that stands
// for a partner's.
func (c *InitCommand) keys() error {
	now := time.Now().Add(-time.Hour).Truncate(time.Second)
	for _, k := range []struct{ name, common string }{{"own", c.Name}, {"northwind-sample", "NORTHWIND sample"}} {
		key, err := selfsigned.NewKey(selfsigned.RSA2048)
		if err != nil {
			return err
		}
		cert, err := selfsigned.Certificate(key, selfsigned.Request{CommonName: k.common, NotBefore: now, NotAfter: now.AddDate(ownYears, 0, 0)})
		if err != nil {
			return err
		}
		if err := c.file("keys/"+k.name+".crt", selfsigned.CertificatePEM(cert)); err != nil {
			return err
		}
		if k.name != "own" {
			continue // nobody holds the sample partner's key
		}
		private, err := selfsigned.KeyPEM(key)
		if err != nil {
			return err
		}
		if err := c.file("keys/own.pem", append(private, selfsigned.CertificatePEM(cert)...)); err != nil {
			return err
		}
	}
	return nil
}

func (c *InitCommand) file(name string, content []byte) error {
	return os.WriteFile(filepath.Join(c.Dir, name), content, 0o600)
}
