package edi

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// isa returns an ISA segment with a control number and a usage indicator.
func isa(control int, usage string) string {
	return fmt.Sprintf("ISA*00*          *00*          *ZZ*ACME           *01*NORTHWIND      *261130*0429*U*00401*%09d*0*%s*>~\n", control, usage)
}

// x12Of returns an interchange of one transaction set with its right envelope.
func x12Of(set string, segments ...string) string {
	var b strings.Builder
	b.WriteString(isa(7, "P") + "GS*XX*ACME*NORTHWIND*20261130*0429*7*X*004010~\nST*" + set + "*0001~\n")
	for _, s := range segments {
		b.WriteString(s + "~\n")
	}
	fmt.Fprintf(&b, "SE*%d*0001~\nGE*1*7~\nIEA*1*000000007~\n", len(segments)+2)
	return b.String()
}

var (
	twoInterchanges = isa(1, "P") + "GS*PO*A*B*20261130*0429*1*X*004010~ST*850*0001~BEG*00*SA*PO-1~SE*3*0001~ST*850*0002~BEG*00*SA*PO-2~SE*3*0002~GE*2*1~IEA*1*000000001~\r\n" +
		strings.NewReplacer("*", "|", "~", "\x85").Replace(isa(2, "T")+"GS*IN*A*B*20261130*0429*2*X*004010~ST*810*0001~BIG*20261130*INV-1~SE*3*0001~GE*1*2~IEA*1*000000002~")
	binarySegment = x12Of("841", "BIN*13*a~SE*99~\r\nGE*", "BDS*ASC*3*~*~", "BIN*0*")
)

func TestX12ReferencesByTransactionSet(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		set, segment string
		want         []Reference
	}{
		{"810", "BIG*20261130*INV-1*20261101*PO-1", []Reference{{"invoice", "INV-1"}, {"order", "PO-1"}}},
		{"850", "BEG*00*SA*PO-1**20261130", []Reference{{"order", "PO-1"}}},
		{"855", "BAK*00*AD*PO-1*20261130", []Reference{{"order", "PO-1"}}},
		{"856", "BSN*00*SHIP-1*20261130*0429", []Reference{{"shipment", "SHIP-1"}}},
		{"860", "BCH*04*SA*PO-1**2*20261130", []Reference{{"order", "PO-1"}}},
		{"997", "AK1*IN*20931", []Reference{{"acknowledged", "20931"}}},
		{"999", "AK1*IN*20931*004010", []Reference{{"acknowledged", "20931"}}},
		{"824", "BIG*20261130*INV-1", nil},
		{"810", "BIG*20261130", nil},
	} {
		r := scan(x12Of(test.set, test.segment))
		if r.Problem != nil || r.Type != test.set {
			t.Errorf("%s: type %q, problem %+v", test.set, r.Type, r.Problem)
		}
		if diff := cmp.Diff(test.want, r.References[4:], cmp.Transformer("nil", func(refs []Reference) []Reference { return append([]Reference{}, refs...) })); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", test.set, test.segment, diff)
		}
	}
}

func TestX12SeveralInterchangesWithDelimitersOfTheirOwn(t *testing.T) {
	t.Parallel()
	want := Report{
		Kind: X12, Type: "850", Interchanges: 2, Production: true, Test: true,
		References: []Reference{
			{"interchange", "000000001"}, {"sender", "ACME"}, {"receiver", "NORTHWIND"},
			{"group", "1"}, {"order", "PO-1"}, {"order", "PO-2"},
			{"interchange", "000000002"}, {"group", "2"}, {"invoice", "INV-1"},
		},
	}
	if diff := cmp.Diff(want, scan(twoInterchanges)); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

func TestX12AcceptsWhatPartnersSend(t *testing.T) {
	t.Parallel()
	good := x12Of("850", "BEG*00*SA*PO-1**20261130", "PO1*1*48*EA")
	for name, text := range map[string]string{
		"line ends behind segments":  good,
		"CRLF behind segments":       strings.ReplaceAll(good, "\n", "\r\n"),
		"no line ends":               strings.ReplaceAll(good, "\n", ""),
		"LF as terminator":           strings.ReplaceAll(good, "~", ""),
		"CR LF as terminator":        strings.ReplaceAll(strings.ReplaceAll(good, "~", ""), "\n", "\r\n"),
		"blank lines":                strings.ReplaceAll(good, "\n", "\n\r\n \t\n"),
		"lines wrapped":              strings.Replace(good, "PO1*1*48", "PO\r\n1*1*\n48", 1),
		"Ctrl-Z and NUL behind":      good + "\x1a\x00\x00",
		"leading zeros left out":     strings.Replace(strings.Replace(good, "SE*4*", "SE*04*", 1), "IEA*1*000000007", "IEA*1*7", 1),
		"TA1 in the interchange":     strings.Replace(good, "GS*", "TA1*000000001*261130*0429*A*000~\nGS*", 1),
		"binary data of any content": binarySegment,
		"no group at all":            isa(7, "P") + "TA1*000000001*261130*0429*A*000~IEA*0*000000007~",
	} {
		if r := scan(text); r.Kind != X12 || r.Interchanges != 1 || r.Problem != nil {
			t.Errorf("%s: kind %s, %d interchanges, problem %+v", name, r.Kind, r.Interchanges, r.Problem)
		}
	}
}

func TestX12EnvelopeFaults(t *testing.T) {
	t.Parallel()
	good := x12Of("850", "BEG*00*SA*PO-1", "PO1*1*48*EA") // ISA GS ST BEG PO1 SE GE IEA
	change := func(old, new string) string {
		if strings.Count(good, old) != 1 {
			t.Fatalf("%q is not there once", old)
		}
		return strings.Replace(good, old, new, 1)
	}
	long := strings.Repeat("x", maxSegment)
	for name, test := range map[string]struct {
		text string
		want Problem
	}{
		"SE01":                {change("SE*4", "SE*24"), Problem{"SE01", 6, "4", "24", "SE01 says 24, counted 4 (segment 6)"}},
		"SE01 no number":      {change("SE*4", "SE*x"), Problem{"SE01", 6, "4", "x", "SE01 says x, counted 4 (segment 6)"}},
		"SE01 absent":         {change("SE*4*0001", "SE"), Problem{"SE01", 6, "4", "", "SE01 says nothing, counted 4 (segment 6)"}},
		"SE02":                {change("SE*4*0001", "SE*4*0002"), Problem{"SE02", 6, "0001", "0002", "SE02 says 0002, ST02 says 0001 (segment 6)"}},
		"SE02 is no number":   {change("SE*4*0001", "SE*4*1"), Problem{"SE02", 6, "0001", "1", "SE02 says 1, ST02 says 0001 (segment 6)"}},
		"GE01":                {change("GE*1", "GE*2"), Problem{"GE01", 7, "1", "2", "GE01 says 2, counted 1 (segment 7)"}},
		"GE02":                {change("GE*1*7", "GE*1*8"), Problem{"GE02", 7, "7", "8", "GE02 says 8, GS06 says 7 (segment 7)"}},
		"IEA01":               {change("IEA*1", "IEA*0"), Problem{"IEA01", 8, "1", "0", "IEA01 says 0, counted 1 (segment 8)"}},
		"IEA02":               {change("IEA*1*000000007", "IEA*1*000000008"), Problem{"IEA02", 8, "000000007", "000000008", "IEA02 says 000000008, ISA13 says 000000007 (segment 8)"}},
		"only the first":      {strings.Replace(change("SE*4", "SE*5"), "GE*1", "GE*9", 1), Problem{"SE01", 6, "4", "5", "SE01 says 5, counted 4 (segment 6)"}},
		"no SE":               {change("SE*4*0001~\n", ""), Problem{"SE", 6, "SE", "GE", "SE is missing: found GE (segment 6)"}},
		"no SE before ST":     {change("SE*4*0001~\n", "ST*850*0002~\nSE*2*0002~\n"), Problem{"SE", 6, "SE", "ST", "SE is missing: found ST (segment 6)"}},
		"no GE":               {change("GE*1*7~\n", ""), Problem{"GE", 7, "GE", "IEA", "GE is missing: found IEA (segment 7)"}},
		"no IEA":              {change("IEA*1*000000007~\n", ""), Problem{"IEA", 7, "IEA", "end of file", "IEA is missing: the file ends after segment 7"}},
		"no IEA before ISA":   {change("IEA*1*000000007~\n", "") + good, Problem{"IEA", 8, "IEA", "ISA", "IEA is missing: found ISA (segment 8)"}},
		"cut in a set":        {good[:strings.Index(good, "PO1")], Problem{"SE", 4, "SE", "end of file", "SE is missing: the file ends after segment 4"}},
		"cut in a segment":    {good[:strings.Index(good, "48")], Problem{"PO1", 5, "segment terminator", "end of file", "the file ends inside PO1, its terminator is missing (segment 5)"}},
		"cut in ISA":          {good[:50], Problem{"ISA", 1, "segment terminator", "end of file", "the file ends inside ISA, its terminator is missing (segment 1)"}},
		"SE without ST":       {change("ST*850*0001~\nBEG*00*SA*PO-1~\nPO1*1*48*EA~\n", ""), Problem{"SE", 3, "ST", "SE", "SE without ST before it (segment 3)"}},
		"ST without GS":       {change("GS*XX*ACME*NORTHWIND*20261130*0429*7*X*004010~\n", ""), Problem{"ST", 2, "GS", "ST", "ST without GS before it (segment 2)"}},
		"segment without ST":  {change("ST*850*0001~\n", ""), Problem{"BEG", 3, "ST", "BEG", "BEG without ST before it (segment 3)"}},
		"other content after": {good + "hello", Problem{"IEA", 8, "ISA or end of file", "other content", "content that is no ISA follows IEA (segment 8)"}},
		"segment too long":    {change("*EA", "*"+long), Problem{"PO1", 5, "at most 65536 bytes", "more", "PO1 is longer than 64 KiB (segment 5)"}},
		"ISA element short":   {change("ACME           ", "ACME          "), Problem{"ISA06", 1, "separator at byte 51", "another character", "ISA06 has a wrong length: no separator at byte 51 of ISA (segment 1)"}},
		"letter as delimiter": {change("*P*>~", "*P*>Z"), Problem{"ISA16", 1, "three different delimiters", "letters, digits or equal ones", "ISA16 and the segment terminator are no usable delimiters (segment 1)"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := scan(test.text)
			if r.Kind != X12 {
				t.Errorf("kind %s", r.Kind)
			}
			if diff := cmp.Diff(&test.want, r.Problem); diff != "" {
				t.Errorf("problem (-want +got):\n%s", diff)
			}
		})
	}
}

func TestX12IdentityIsOnlyThatOfOneWholeInterchange(t *testing.T) {
	t.Parallel()
	good := x12Of("850", "BEG*00*SA*PO-1")
	for name, text := range map[string]string{
		"two interchanges":         good + good,
		"second without first IEA": strings.Replace(good, "IEA*1*000000007~\n", "", 1) + good,
		"other content after":      good + "UNB+UNOC:3+A+B+261130:0429+1'",
		"broken ISA":               strings.Replace(good, "ACME           ", "ACME ", 1),
		"no control number":        strings.Replace(good, "*000000007*0*P", "*         *0*P", 1),
	} {
		if r := scan(text); r.Kind != X12 || r.Identity != nil {
			t.Errorf("%s: kind %s, identity %q", name, r.Kind, r.Identity)
		}
	}
	want := []string{"ZZ", "ACME", "01", "NORTHWIND", "261130", "0429", "000000007", "P"}
	if diff := cmp.Diff(want, scan(strings.Replace(good, "SE*3", "SE*9", 1)).Identity); diff != "" {
		t.Errorf("a wrong count changes the identity (-want +got):\n%s", diff)
	}
}
