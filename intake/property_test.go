package intake

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"edigw/as4"
	"edigw/partner"
	"edigw/queue"

	"github.com/google/go-cmp/cmp"
)

// speaksAS4 makes a partner one of AS4 who needs a property of each kind.
func speaksAS4(p *partner.Partner) {
	p.Protocol, p.AS2 = "as4", nil
	p.AS4 = &partner.AS4{
		Template: as4.PMode{FileNameProperty: "FileName"},
		Own:      []partner.OwnProperty{{Name: "tracking", Required: true}, {Name: "region"}}, OwnParts: []partner.OwnProperty{{Name: "DocumentNo", Required: true}},
	}
}

// wanted are properties with which speaksAS4 takes a document.
func wanted(more ...queue.Property) queue.Properties {
	return queue.Properties{Message: append([]queue.Property{{Name: "tracking", Value: "t-1"}}, more...), Part: []queue.Property{{Name: "DocumentNo", Value: "4711"}}}
}

func TestPropertiesAreStoredAsTheyCame(t *testing.T) {
	t.Parallel()
	h := open1(t, speaksAS4)
	given := wanted(queue.Property{Name: strings.Repeat("ä", maxPropertyName), Value: strings.Repeat("€", maxPropertyValue)}, queue.Property{Name: "a b", Value: `= %3D "<&`})
	a := h.mustSend(t, Request{Properties: given}, x12("000000001", "P", "A", 4))
	m, err := h.store.Message(t.Context(), a.Message.ID)
	if diff := cmp.Diff(given, m.Properties); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestPropertiesThatNoHeaderCanHold(t *testing.T) {
	t.Parallel()
	one := func(name, value string) []queue.Property { return []queue.Property{{Name: name, Value: value}} }
	var many []queue.Property
	for i := range maxProperties + 1 {
		many = append(many, queue.Property{Name: fmt.Sprintf("p%d", i), Value: "x"})
	}
	for name, c := range map[string]struct {
		list []queue.Property
		want string
	}{
		"too many":                      {many, "There are 33 properties; at most 32 are taken."},
		"no name":                       {one("", "x"), "Property 1 has no name: write NAME=VALUE."},
		"no value":                      {one("a", ""), `Property "a" has no value.`},
		"a name too long":               {one(strings.Repeat("ä", maxPropertyName+1), "x"), "is too long."},
		"a value too long":              {one("a", strings.Repeat("€", maxPropertyValue+1)), `The value of property "a" is too long.`},
		"a line break in the value":     {one("a", "x\r\ny"), `The value of property "a" has control characters.`},
		"a control character of Latin1": {one("a", "x\u0085y"), `The value of property "a" has control characters.`},
		"a NUL in the name":             {one("a\x00", "x"), `The name of property 1, "a\x00", has control characters.`},
		"no character of XML":           {one("a", "x\uffff"), `The value of property "a" has control characters.`},
		"no UTF-8":                      {one("a", "x\xc3"), `The value of property "a" is no UTF-8.`},
		"a surrogate":                   {one("a", "\xed\xa0\x80"), `The value of property "a" is no UTF-8.`},
		"a blank before the value":      {one("a", " x"), `The value of property "a" begins or ends with a blank.`},
		"a blank after the name":        {one("a ", "x"), `The name of property 1, "a ", begins or ends with a blank.`},
		"a name twice":                  {append(one("a", "x"), one("a", "y")...), `Property "a" is given twice.`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := open1(t, speaksAS4)
			for field, r := range map[string]Request{
				"Message-Property": {Properties: queue.Properties{Message: c.list}},
				"Part-Property":    {Properties: queue.Properties{Part: c.list}},
			} {
				_, err := h.send(r, "x")
				no, ok := errors.AsType[*Refusal](err)
				if !ok || no.Slug != BadRequest || no.Field != field || !strings.Contains(no.Detail, c.want) {
					t.Errorf("%v, want %q", err, c.want)
				}
			}
			for _, m := range h.messages(t) {
				if !m.Properties.None() {
					t.Errorf("what cannot be stored was recorded: %q", m.Properties)
				}
			}
		})
	}
}

// TestPropertiesOfThePartnerFile: what a document must bring, and what it must not.
func TestPropertiesOfThePartnerFile(t *testing.T) {
	t.Parallel()
	network := func(p *partner.Partner) {
		speaksAS4(p)
		p.AS4.Own = []partner.OwnProperty{{Name: partner.OriginalSender, Required: true}, {Name: partner.FinalRecipient, Required: true}}
		p.AS4.Network.Wrap = true
	}
	part := []queue.Property{{Name: "DocumentNo", Value: "4711"}}
	for name, c := range map[string]struct {
		partner func(*partner.Partner)
		given   queue.Properties
		slug    Slug // empty: it is taken
		field   string
		want    string
	}{
		"all that it must":                      {speaksAS4, wanted(), "", "", ""},
		"more":                                  {speaksAS4, wanted(queue.Property{Name: "more", Value: "x"}), "", "", ""},
		"no message property":                   {speaksAS4, queue.Properties{Part: part}, MissingProperty, "Message-Property", "Partner northwind needs the message property tracking with each document (as4.properties.tracking is required)"},
		"no part property":                      {speaksAS4, queue.Properties{Message: wanted().Message}, MissingProperty, "Part-Property", "needs the part property DocumentNo with each document (as4.part_properties.DocumentNo is required)"},
		"one of the other kind":                 {speaksAS4, queue.Properties{Message: append(wanted().Message, part...)}, MissingProperty, "Part-Property", "DocumentNo"},
		"two ends that the document may name":   {network, queue.Properties{Part: part}, "", "", ""},
		"the media type":                        {speaksAS4, queue.Properties{Message: wanted().Message, Part: append([]queue.Property{{Name: "MimeType", Value: "x"}}, part...)}, ReservedProperty, "Part-Property", "The part property MimeType is filled in by edigw for each payload: it says how the payload is packed (AS4 §3.1)."},
		"the encoding":                          {speaksAS4, queue.Properties{Message: wanted().Message, Part: append([]queue.Property{{Name: "CharacterSet", Value: "x"}}, part...)}, ReservedProperty, "Part-Property", "CharacterSet"},
		"the compression":                       {speaksAS4, queue.Properties{Message: wanted().Message, Part: append([]queue.Property{{Name: "CompressionType", Value: "x"}}, part...)}, ReservedProperty, "Part-Property", "CompressionType"},
		"the file's name":                       {speaksAS4, queue.Properties{Message: wanted().Message, Part: append([]queue.Property{{Name: "FileName", Value: "x"}}, part...)}, ReservedProperty, "Part-Property", "it is as4.file_name_property of partner northwind and holds the file's name."},
		"of the message these are free":         {speaksAS4, wanted(queue.Property{Name: "MimeType", Value: "x"}), "", "", ""},
		"a message property to a partner's AS2": {nil, queue.Properties{Message: part}, NoProperties, "Message-Property", "Partner northwind speaks AS2, whose messages have no properties."},
		"a part property to a partner's AS2":    {nil, queue.Properties{Part: part}, NoProperties, "Part-Property", "speaks AS2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := open1(t, c.partner)
			_, err := h.send(Request{Properties: c.given}, "x")
			no, refused := errors.AsType[*Refusal](err)
			switch {
			case c.slug == "" && err != nil:
				t.Errorf("refused: %v", err)
			case c.slug == "":
			case !refused || no.Slug != c.slug || no.Field != c.field || no.Later() || !strings.Contains(no.Detail, c.want):
				t.Errorf("%v, want %s of %s: %s", err, c.slug, c.field, c.want)
			}
		})
	}
}

// TestOtherPropertiesMakeAnotherDocument, under a key of the producer as under one
// that is derived, from the envelope or from the bytes.
func TestOtherPropertiesMakeAnotherDocument(t *testing.T) {
	t.Parallel()
	envelope := x12("000000001", "P", "A", 4)
	other := wanted(queue.Property{Name: "region", Value: "west"})
	turned := queue.Properties{Message: []queue.Property{other.Message[1], other.Message[0]}, Part: other.Part}
	for name, c := range map[string]struct {
		key, body string
		want      queue.Admitted // of the other properties
	}{
		"a given key":           {"K-1", envelope, queue.AdmitReused},
		"that of the envelope":  {"", envelope, queue.AdmitNew},
		"that of bare contents": {"", "no envelope", queue.AdmitNew},
	} {
		h := open1(t, speaksAS4)
		first := h.mustSend(t, Request{Key: c.key, Properties: wanted()}, c.body)
		if again := h.mustSend(t, Request{Key: c.key, Properties: wanted()}, c.body); again.Outcome != queue.AdmitReplayed || again.Message.ID != first.Message.ID {
			t.Errorf("%s: the same again is %s", name, again.Outcome)
		}
		second, err := h.send(Request{Key: c.key, Properties: other}, c.body)
		if c.want == queue.AdmitReused {
			no, ok := errors.AsType[*Refusal](err)
			if !ok || no.Slug != KeyReused || !strings.Contains(no.Detail, "which has the same content, but other properties") {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil || second.Outcome != c.want || second.Message.ID == first.Message.ID {
			t.Errorf("%s: %s, %v", name, second.Outcome, err)
		}
		if sameKey := second.Message.Key == first.Message.Key; sameKey != (c.body == envelope) {
			t.Errorf("%s: keys %s and %s", name, first.Message.Key, second.Message.Key)
		}
		if again := h.mustSend(t, Request{Properties: turned}, c.body); again.Outcome != queue.AdmitReplayed || again.Message.ID != second.Message.ID {
			t.Errorf("%s: in another order it is %s", name, again.Outcome)
		}
	}
}

// TestAnOutboxCannotGiveAProperty: the note says what is missing, and that the file
// has to come in by another way.
func TestAnOutboxCannotGiveAProperty(t *testing.T) {
	t.Parallel()
	b := newBox(t, open1(t, speaksAS4))
	b.drop("a.edi", x12("000000001", "P", "A", 4))
	b.run(7 * time.Second)
	const note = "rejected/2026-12-01/a.edi.error.txt"
	b.want("rejected/2026-12-01/a.edi", note)
	text := b.read(note)
	for _, part := range []string{"a.edi was not accepted: Property is missing", "needs the message property tracking with each document", "edigw send PARTNER FILE with --property or --part-property NAME=VALUE", "An outbox has no place for it."} {
		if !strings.Contains(text, part) {
			t.Errorf("the note does not say %q:\n%s", part, text)
		}
	}
	if strings.Contains(text, "into outbox/") {
		t.Errorf("the note sends the file on a round trip:\n%s", text)
	}
	b.settings.partners["northwind"].AS4.Own, b.settings.partners["northwind"].AS4.OwnParts = nil, nil
	b.drop("b.edi", x12("000000001", "P", "A", 4))
	b.run(7 * time.Second)
	if all := b.messages(t, queue.Queued); len(all) != 1 || !all[0].Properties.None() {
		t.Errorf("without anything required: %+v", all)
	}
}
