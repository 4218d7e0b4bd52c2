package main

import (
	"cmp"
	"path/filepath"
	"time"

	"edigw/as4/ebms"
	"edigw/partner"
	"edigw/partner/domibus"
	"edigw/partner/holodeck"
	"edigw/partner/takeover"
)

// importAS4 is what is asked of both products.
type importAS4 struct {
	Keystore []string `type:"existingfile" help:"PKCS #12 keystore with the keys and certificates that it names by alias; may be given several times. keytool makes one of a JKS."`
	Password string   `name:"password-file" type:"existingfile" help:"File with the keystores' password."`
	DryRun   bool     `help:"Say what would be written, and write nothing."`
}

// ImportHolodeck makes partner files of P-Modes of Holodeck B2B.
type ImportHolodeck struct {
	From []string `arg:"" type:"path" help:"P-Modes, or folders with them."`
	Us   string   `help:"Our party id; without it that of identity.as4 in edigw.yaml."`
	importAS4
}

// Help is shown by --help.
func (ImportHolodeck) Help() string {
	return "Example:\n  edigw partner import holodeck conf/pmodes --keystore partnerkeys.p12 --password-file secret --dry-run\n\nWrites a partner file for each kind of message that we send (stage test), certificates, our keys and holodeck-import.txt. Files that are there already are never overwritten."
}

// Run reads, translates, writes and checks.
func (c *ImportHolodeck) Run(e *env) error {
	s, store, o, err := c.begin(e, c.Us)
	if err != nil {
		return err
	}
	all, err := holodeck.Read(c.From...)
	if err != nil {
		return err
	}
	plan, err := holodeck.Translate(filepath.Clean(c.From[0]), all, store, o)
	if err != nil {
		return err
	}
	return takenOver{plan, "holodeck"}.carryOut(e, s, c.DryRun)
}

// ImportDomibus makes partner files of a configuration of Domibus.
type ImportDomibus struct {
	File string `arg:"" type:"existingfile" help:"The P-Mode configuration, as the administration console downloads it."`
	Us   string `help:"Name or id of our party; without it that of identity.as4 in edigw.yaml, or whose configuration it is."`
	importAS4
}

// Help is shown by --help.
func (ImportDomibus) Help() string {
	return "Example:\n  edigw partner import domibus pmode.xml --keystore gateway_truststore.p12 --password-file secret --dry-run\n\nWrites a partner file for each kind of message that we send (stage test), certificates, our keys and domibus-import.txt. Files that are there already are never overwritten."
}

// Run reads, translates, writes and checks.
func (c *ImportDomibus) Run(e *env) error {
	s, store, o, err := c.begin(e, c.Us)
	if err != nil {
		return err
	}
	in, err := domibus.Read(c.File)
	if err != nil {
		return err
	}
	plan, err := domibus.Translate(in, store, o)
	if err != nil {
		return err
	}
	return takenOver{plan, "domibus"}.carryOut(e, s, c.DryRun)
}

// begin reads what both need: our settings, the keystores, and who we are.
func (c importAS4) begin(e *env, us string) (*partner.Snapshot, *takeover.Keystore, takeover.Options, error) {
	o := takeover.Options{Us: us}
	s, err := e.settings()
	if err != nil {
		return nil, nil, o, err
	}
	password, err := passwordIn(c.Password)
	if err != nil {
		return nil, nil, o, err
	}
	store := &takeover.Keystore{}
	for _, file := range c.Keystore {
		if err := store.Read(file, password, "it needs a password; give it by --password-file"); err != nil {
			return nil, nil, o, err
		}
	}
	home, err := filepath.Rel(string(s.Gateway().Partners), s.Dir())
	if err != nil {
		return nil, nil, o, err
	}
	o.Home, o.Taken = cmp.Or(filepath.ToSlash(home), ".."), s.IDs()
	if i := s.Gateway().Identity.AS4; i != nil {
		o.Party = ebms.PartyID{Value: i.Party, Type: i.Type}
	}
	o.Known = func(u *ebms.UserMessage) string {
		_, id, err := s.ByMessage(u, time.Now())
		if err != nil {
			return "" // nobody's, or of another kind than a partner's
		}
		return id
	}
	return s, store, o, nil
}
