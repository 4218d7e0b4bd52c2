package as4sender

import (
	"slices"
	"strings"

	"edigw/as4"
	"edigw/as4/ebms"
	"edigw/as4/sbdh"
	"edigw/partner"
	"edigw/queue"
)

// withOwn is a P-Mode of m's partner with the properties that m was handed in
// with. They are part of the P-Mode's fingerprint as its own are: what is sent
// again has the same ones, or is built anew.
func withOwn(snapshot *partner.Snapshot, p as4.PMode, m queue.Message) as4.PMode {
	of := settingsOf(snapshot, m.Partner)
	if of == nil {
		return p
	}
	return of.With(p, typeless(m.Properties.Message), typeless(m.Properties.Part))
}

// complete refuses a document that lacks a required property: it was handed in
// before the partner file said so, or was to name the property itself.
func complete(snapshot *partner.Snapshot, p as4.PMode, m queue.Message) error {
	of := settingsOf(snapshot, m.Partner)
	if of == nil {
		return nil
	}
	if key, name := of.Missing(p.Properties, p.PartProperties); key != "" {
		return unaddressed("the document was handed in without the property %s, which %s.%s of the partner file requires: hand it in again with it, or give it a value there", name, key, name)
	}
	return nil
}

func settingsOf(snapshot *partner.Snapshot, id string) *partner.AS4 {
	p, _ := snapshot.Partner(id)
	if p == nil {
		return nil
	}
	return p.AS4
}

func typeless(list []queue.Property) (out []ebms.Property) {
	for _, one := range list {
		out = append(out, ebms.Property{Name: one.Name, Value: one.Value})
	}
	return out
}

// contradicted refuses a Standard Business Document that names another sender or
// receiver than it was handed in with: one of the two is wrong, and nobody here
// knows which.
func contradicted(m queue.Message, h sbdh.Header) error {
	for _, side := range []struct {
		name string
		said sbdh.ID
	}{{partner.OriginalSender, h.Sender}, {partner.FinalRecipient, h.Receiver}} {
		given := givenWith(m, side.name)
		asked := sbdh.ParseID(given, "")
		switch {
		case given == "" || side.said.Value == "":
		case !strings.EqualFold(asked.Value, side.said.Value), asked.Scheme != "" && side.said.Scheme != "" && !strings.EqualFold(asked.Scheme, side.said.Scheme):
			return unaddressed("the document was handed in with the property %s %q, and its Standard Business Document says %q: hand it in again with the right one, or without", side.name, given, side.said)
		}
	}
	return nil
}

// givenWith is the message property that m was handed in with, empty if there is
// none of the name.
func givenWith(m queue.Message, name string) string {
	for _, one := range m.Properties.Message {
		if one.Name == name {
			return one.Value
		}
	}
	return ""
}

// withEnds are message properties with those of the two ends. What the document
// was handed in with and what its Standard Business Document says count more than
// the partner file, and that more than what edigw finds in the document.
func withEnds(list []ebms.Property, m queue.Message, a addressed) []ebms.Property {
	for _, side := range []struct {
		name string
		id   sbdh.ID
	}{{partner.OriginalSender, a.header.Sender}, {partner.FinalRecipient, a.header.Receiver}} {
		there := slices.ContainsFunc(list, func(p ebms.Property) bool { return p.Name == side.name })
		if side.id.Value != "" && (!there || a.handedIn || givenWith(m, side.name) != "") {
			list = as4.Merged(list, []ebms.Property{{Name: side.name, Type: side.id.Scheme, Value: side.id.Value}})
		}
	}
	return list
}
