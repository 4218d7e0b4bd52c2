package main

import (
	"bufio"
	"fmt"
	"slices"
	"strings"

	"edigw/partner"
)

// question is one thing that a new partner file needs.
type question struct {
	to       *string
	text     string
	fallback string
	oneOf    []string    // answers; the first one empty: it may be left out
	unless   func() bool // it needs no answer, by those before; nil: it does
}

// optional are the answers of a question that may be left out, whatever they are.
var optional = []string{""}

// interview asks for what no flag gave.
func (c *PartnerNew) interview(e *env, s *partner.Snapshot) error {
	in := bufio.NewReader(e.in)
	if err := c.protocol(e, in, s); err != nil {
		return err
	}
	if err := (question{to: &c.Name, text: "What do people call them", fallback: c.ID}).ask(e, in); err != nil {
		return err
	}
	questions, err := c.askAS2()
	if c.Protocol == "as4" {
		questions, err = c.askAS4(e, in, s)
	}
	if err != nil {
		return err
	}
	first := ""
	if len(c.Cert) > 0 {
		first = c.Cert[0]
	}
	for _, q := range slices.Concat(questions, []question{
		{to: &first, text: "File with their certificate"},
		{to: &c.Receipt, text: "Receipt that we ask for (sync, async, none)", fallback: "sync", oneOf: []string{"sync", "async", "none"}, unless: c.pulled},
		{to: &c.WhenDown, text: "While they do not answer: hold documents in line, or make each a dead-letter", fallback: "hold", oneOf: []string{"hold", "dead-letter"}},
		{to: &c.Owner, text: "Who looks after them (team)", fallback: "EDI desk"},
	}) {
		if err := q.ask(e, in); err != nil {
			return err
		}
	}
	if len(c.Cert) == 0 {
		c.Cert = []string{first}
	}
	return nil
}

// protocol settles which one it is: as the flags say, or a person. Nobody is asked
// while we have a name in one of them alone.
func (c *PartnerNew) protocol(e *env, in *bufio.Reader, s *partner.Snapshot) error {
	switch identity := s.Gateway().Identity; {
	case c.Protocol != "":
	case c.newAS4 != (newAS4{}):
		c.Protocol = "as4"
	case c.AS2ID != "" || c.Software != nil, identity.AS4 == nil:
		c.Protocol = "as2"
	case identity.AS2 == "":
		c.Protocol = "as4"
	}
	q := question{to: &c.Protocol, text: "Protocol (as2, as4)", fallback: "as2", oneOf: []string{"as2", "as4"}}
	if err := q.ask(e, in); err != nil {
		return err
	}
	return c.sensible(s)
}

// askAS2 are the questions that only AS2 has.
func (c *PartnerNew) askAS2() ([]question, error) {
	presets, err := partner.Presets()
	names := []string{""}
	for _, p := range presets {
		names = append(names, p.Name)
	}
	known := c.Software != nil // by --software, also as unknown
	if !known {
		c.Software = new(string)
	}
	return []question{
		{to: c.Software, text: "Their software (" + strings.Join(names[1:], ", ") + "; empty: unknown)", oneOf: names, unless: func() bool { return known }},
		{to: &c.AS2ID, text: "Their AS2 name"},
		{to: &c.Address, text: "URL of their server"},
	}, err
}

// ask fills the answer, from the flag, the person or the fallback.
func (q question) ask(e *env, in *bufio.Reader) error {
	for *q.to == "" && (q.unless == nil || !q.unless()) {
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
	left := *q.to == "" && q.unless != nil && q.unless()
	if len(q.oneOf) < 2 || left || slices.Contains(q.oneOf, *q.to) {
		return nil
	}
	return wrong("%q is none of: %s", *q.to, strings.Trim(strings.Join(q.oneOf, ", "), ", "))
}

func (q question) optional() bool { return len(q.oneOf) > 0 && q.oneOf[0] == "" }
