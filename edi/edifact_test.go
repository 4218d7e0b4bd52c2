package edi

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// edifactOf returns an interchange of one message with its right envelope.
func edifactOf(typ string, segments ...string) string {
	var b strings.Builder
	b.WriteString("UNB+UNOC:3+ACME:ZZZ+NORTHWIND:14:DE+261130:0429+REF7'\nUNH+M1+" + typ + ":D:96A:UN'\n")
	for _, s := range segments {
		b.WriteString(s + "'\n")
	}
	fmt.Fprintf(&b, "UNT+%d+M1'\nUNZ+1+REF7'\n", len(segments)+2)
	return b.String()
}

func TestEDIFACTReferencesByMessageType(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		typ, segment string
		want         Reference
	}{
		{"INVOIC", "BGM+380+INV-1+9", Reference{"invoice", "INV-1"}},
		{"ORDERS", "BGM+220+PO-1+9", Reference{"order", "PO-1"}},
		{"ORDCHG", "BGM+230+PO-1:1+9", Reference{"order", "PO-1"}},
		{"ORDRSP", "BGM+231+OR-1+9", Reference{"order-response", "OR-1"}},
		{"DESADV", "BGM+351+DN-1+9", Reference{"shipment", "DN-1"}},
		{"INVRPT", "BGM+35+IR-1+9", Reference{"document", "IR-1"}},
		{"INVOIC", "RFF+ON:PO-1:10", Reference{"order", "PO-1"}},
		{"CONTRL", "UCI+REF1+A+B+7", Reference{"acknowledged", "REF1"}},
		{"INVOIC", "BGM+380+A?+B?:C??D?'E+9", Reference{"invoice", "A+B:C?D'E"}},
		{"INVOIC", "BGM+380+Stra\xdfe+9", Reference{"invoice", "Straße"}},
	} {
		r := scan(edifactOf(test.typ, test.segment))
		if r.Problem != nil || r.Type != test.typ || len(r.References) != 4 {
			t.Errorf("%s: type %q, references %v, problem %+v", test.segment, r.Type, r.References, r.Problem)
			continue
		}
		if diff := cmp.Diff(test.want, r.References[3]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.segment, diff)
		}
	}
}

func TestEDIFACTAcceptsWhatPartnersSend(t *testing.T) {
	t.Parallel()
	good := edifactOf("ORDERS", "BGM+220+PO?'1+9", "FTX+AAI+++it?'s 5 ?+ 5??")
	other := strings.NewReplacer("?'", "\\|", "?+", "\\^", "??", "?", "'", "|", "+", "^", ":", "&").Replace(good)
	want := scan(good)
	if want.Kind != EDIFACT || want.Problem != nil || want.References[3].Value != "PO'1" {
		t.Fatalf("report %+v", want)
	}
	// Other delimiters need, or allow, other text.
	numbers := map[string]string{"other service string": "PO|1", "control delimiters": "PO?1"}
	for name, text := range map[string]string{
		"UNA":                  "UNA:+.? '" + good,
		"UNA and line ends":    "UNA:+.? '\r\n" + strings.ReplaceAll(good, "\n", "\r\n"),
		"other service string": "UNA&^,\\ |\n" + other,
		"no line ends":         strings.ReplaceAll(good, "\n", ""),
		"lines wrapped":        strings.Replace(strings.Replace(good, "UNT+", "U\r\nNT+", 1), "?'1", "?\n'1", 1),
		"padding behind":       good + "\r\n\x1a\x00",
		"control delimiters":   strings.NewReplacer("?'", "'", "?+", "+", "??", "?", "'", "\x1c", "+", "\x1d", ":", "\x1f").Replace(strings.ReplaceAll(strings.ReplaceAll(good, "PO?'1", "PO?1"), "?'s", "")),
	} {
		r := scan(text)
		if number := numbers[name]; number != "" {
			if r.References[3].Value != number {
				t.Errorf("%s: order %q, want %q", name, r.References[3].Value, number)
			}
			r.References[3].Value = "PO'1"
		}
		if diff := cmp.Diff(want, r); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestEDIFACTGroupsAndSeveralInterchanges(t *testing.T) {
	t.Parallel()
	grouped := "UNB+UNOA:1+A+B+261130:0429+1'UNG+INVOIC+A+B+261130:0429+G1+UN+D:96A'" +
		"UNH+1+INVOIC:D:96A:UN'BGM+380+INV-1'UNT+3+1'UNH+2+INVOIC:D:96A:UN'BGM+380+INV-2'UNT+3+2'UNE+2+G1'UNZ+1+1'"
	second := "UNA:+.? 'UNB+UNOA:1+A+B+261130:0430+2++++++1'UNH+1+ORDERS:D:96A:UN'UNT+2+1'UNZ+1+2'"
	want := Report{
		Kind: EDIFACT, Type: "INVOIC", Interchanges: 2, Production: true, Test: true,
		References: []Reference{
			{"interchange", "1"}, {"sender", "A"}, {"receiver", "B"}, {"group", "G1"},
			{"invoice", "INV-1"}, {"invoice", "INV-2"}, {"interchange", "2"},
		},
	}
	if diff := cmp.Diff(want, scan(grouped+"\r\n"+second)); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

func TestEDIFACTEnvelopeFaults(t *testing.T) {
	t.Parallel()
	good := edifactOf("ORDERS", "BGM+220+PO-1+9") // UNB UNH BGM UNT UNZ
	grouped := "UNB+UNOA:1+A+B+261130:0429+1'UNG+INVOIC+A+B+261130:0429+G1+UN+D:96A'UNH+1+INVOIC'UNT+2+1'UNE+1+G1'UNZ+1+1'"
	change := func(text, old, new string) string {
		if strings.Count(text, old) != 1 {
			t.Fatalf("%q is not there once", old)
		}
		return strings.Replace(text, old, new, 1)
	}
	for name, test := range map[string]struct {
		text string
		want Problem
	}{
		"UNT count":         {change(good, "UNT+3", "UNT+24"), Problem{"UNT 0074", 4, "3", "24", "UNT 0074 says 24, counted 3 (segment 4)"}},
		"UNT reference":     {change(good, "UNT+3+M1", "UNT+3+M2"), Problem{"UNT 0062", 4, "M1", "M2", "UNT 0062 says M2, UNH 0062 says M1 (segment 4)"}},
		"UNZ count":         {change(good, "UNZ+1", "UNZ+2"), Problem{"UNZ 0036", 5, "1", "2", "UNZ 0036 says 2, counted 1 (segment 5)"}},
		"UNZ reference":     {change(good, "UNZ+1+REF7", "UNZ+1+REF8"), Problem{"UNZ 0020", 5, "REF7", "REF8", "UNZ 0020 says REF8, UNB 0020 says REF7 (segment 5)"}},
		"UNE count":         {change(grouped, "UNE+1", "UNE+3"), Problem{"UNE 0060", 5, "1", "3", "UNE 0060 says 3, counted 1 (segment 5)"}},
		"UNE reference":     {change(grouped, "UNE+1+G1", "UNE+1+G2"), Problem{"UNE 0048", 5, "G1", "G2", "UNE 0048 says G2, UNG 0048 says G1 (segment 5)"}},
		"UNZ counts groups": {change(grouped, "UNZ+1", "UNZ+2"), Problem{"UNZ 0036", 6, "1", "2", "UNZ 0036 says 2, counted 1 (segment 6)"}},
		"no UNE":            {change(grouped, "UNE+1+G1'", ""), Problem{"UNE", 5, "UNE", "UNZ", "UNE is missing: found UNZ (segment 5)"}},
		"no UNT":            {change(good, "UNT+3+M1'\n", ""), Problem{"UNT", 4, "UNT", "UNZ", "UNT is missing: found UNZ (segment 4)"}},
		"no UNZ":            {change(good, "UNZ+1+REF7'\n", ""), Problem{"UNZ", 4, "UNZ", "end of file", "UNZ is missing: the file ends after segment 4"}},
		"no UNZ before UNB": {change(good, "UNZ+1+REF7'\n", "") + good, Problem{"UNZ", 5, "UNZ", "UNB", "UNZ is missing: found UNB (segment 5)"}},
		"released end":      {change(good, "PO-1+9'", "PO-1+9?'"), Problem{"UNT", 4, "UNT", "UNZ", "UNT is missing: found UNZ (segment 4)"}},
		"cut in a segment":  {good[:strings.Index(good, "PO-1")], Problem{"BGM", 3, "segment terminator", "end of file", "the file ends inside BGM, its terminator is missing (segment 3)"}},
		"cut in UNB":        {"UNB+", Problem{"UNB", 1, "segment terminator", "end of file", "the file ends inside UNB, its terminator is missing (segment 1)"}},
		"UNA only":          {"UNA:+.? '", Problem{"UNB", 1, "segment terminator", "end of file", "the file ends inside UNB, its terminator is missing (segment 1)"}},
		"UNA without UNB":   {"UNA:+.? 'UNH+1+ORDERS'", Problem{"UNB", 1, "UNB", "other content", "UNA is not followed by UNB (segment 1)"}},
		"segment outside":   {change(good, "UNH+M1+ORDERS:D:96A:UN'\n", ""), Problem{"BGM", 2, "UNH", "BGM", "BGM without UNH before it (segment 2)"}},
		"other content":     {good + "ISA*", Problem{"UNZ", 5, "UNB or end of file", "other content", "content that is no UNB follows UNZ (segment 5)"}},
		"segment too long":  {change(good, "PO-1", strings.Repeat("x", maxSegment)), Problem{"BGM", 3, "at most 65536 bytes", "more", "BGM is longer than 64 KiB (segment 3)"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := scan(test.text)
			if r.Kind != EDIFACT {
				t.Errorf("kind %s", r.Kind)
			}
			if diff := cmp.Diff(&test.want, r.Problem); diff != "" {
				t.Errorf("problem (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEDIFACTIdentityDoesNotDependOnDelimiters(t *testing.T) {
	t.Parallel()
	want := []string{"ACME:ZZZ", "NORTHWIND:14:DE", "261130:0429", "REF7", ""}
	good := edifactOf("ORDERS")
	for _, text := range []string{good, "UNA&^.? |" + strings.NewReplacer("'", "|", "+", "^", ":", "&").Replace(good)} {
		if diff := cmp.Diff(want, scan(text).Identity); diff != "" {
			t.Errorf("identity (-want +got):\n%s", diff)
		}
	}
	if r := scan(good + good); r.Identity != nil || r.Interchanges != 2 {
		t.Errorf("two interchanges: %d, identity %q", r.Interchanges, r.Identity)
	}
}
