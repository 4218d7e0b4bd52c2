package edi

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// isaOf is an ISA with a repetition separator or U, and a version.
func isaOf(repetition, version string) string {
	return "ISA*00*          *00*          *ZZ*ACME           *ZZ*NORTHWIND      *261130*0429*" + repetition + "*" + version + "*000000001*0*P*>~"
}

func TestSegmentsAreShownWithNameDepthAndParts(t *testing.T) {
	t.Parallel()
	v := viewed(t, isaOf("^", "00501")+"GS*PO*A*B*20261130*0429*1*X*005010~\r\nST*850*0001~BEG*00*SA*PO-1**20261102~REF*a>b^c~ZZZ*1~SE*5*0001~GE*1*1~IEA*1*000000001~\n")
	type line struct {
		N, Depth  int
		Tag, Name string
	}
	want := []line{
		{1, 0, "ISA", "Interchange Control Header"}, {2, 1, "GS", "Functional Group Header"}, {3, 2, "ST", "Transaction Set Header"},
		{4, 3, "BEG", "Beginning Segment for Purchase Order"}, {5, 3, "REF", "Reference Identification"}, {6, 3, "ZZZ", ""},
		{7, 2, "SE", "Transaction Set Trailer"}, {8, 1, "GE", "Functional Group Trailer"}, {9, 0, "IEA", "Interchange Control Trailer"},
	}
	var got []line
	for _, l := range v.Lines {
		got = append(got, line{l.N, l.Depth, l.Tag, l.Name})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("lines (-want +got):\n%s", diff)
	}
	parts := []Part{
		{PartTag, "REF"}, {PartElement, "*"}, {PartData, "a"}, {PartComponent, ">"}, {PartData, "b"}, {PartRepetition, "^"}, {PartData, "c"}, {PartTerminator, "~"},
	}
	if diff := cmp.Diff(parts, v.Lines[4].Parts()); diff != "" {
		t.Errorf("REF (-want +got):\n%s", diff)
	}
	for _, p := range v.Lines[0].Parts() {
		if p.Kind == PartComponent || p.Kind == PartRepetition {
			t.Errorf("ISA has a part %+v", p)
		}
	}
	if got := v.Lines[1].Parts(); got[len(got)-1] != (Part{PartLineEnd, "␍␊"}) {
		t.Errorf("GS ends with %+v", got[len(got)-1])
	}
}

func TestRepetitionsOfX12DependOnTheVersion(t *testing.T) {
	t.Parallel()
	for isa, want := range map[string]PartKind{isaOf("U", "00401"): PartData, isaOf("^", "00401"): PartData, isaOf("^", "00402"): PartRepetition, isaOf("U", "00501"): PartData} {
		v := viewed(t, isa+"GS*a^b~")
		if got := len(v.Lines[1].Parts()) > 4; got != (want == PartRepetition) {
			t.Errorf("%.100s: parts %v", isa[82:89], v.Lines[1].Parts())
		}
	}
}

func TestReleaseAndServiceCharactersOfEDIFACT(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		document string
		want     []Part
	}{
		"release": {"UNB+UNOC:3'IMD+Rot?'+a??'", []Part{
			{PartTag, "IMD"}, {PartElement, "+"}, {PartData, "Rot"}, {PartRelease, "?"}, {PartData, "'"}, {PartElement, "+"}, {PartData, "a"},
			{PartRelease, "?"}, {PartData, "?"}, {PartTerminator, "'"},
		}},
		"own separators": {"UNA|;.! ~UNB;UNOC|3~A|b;c!;'~", []Part{
			{PartTag, "A"}, {PartComponent, "|"}, {PartData, "b"}, {PartElement, ";"}, {PartData, "c"}, {PartRelease, "!"}, {PartData, ";'"}, {PartTerminator, "~"},
		}},
		"repetition of version 4": {"UNA:+.?#'UNB+UNOW:4'PAC+1#2*3'", []Part{
			{PartTag, "PAC"}, {PartElement, "+"}, {PartData, "1"}, {PartRepetition, "#"}, {PartData, "2*3"}, {PartTerminator, "'"},
		}},
		"version 4 without UNA": {"UNB+UNOW:4'PAC+1*2'", []Part{
			{PartTag, "PAC"}, {PartElement, "+"}, {PartData, "1"}, {PartRepetition, "*"}, {PartData, "2"}, {PartTerminator, "'"},
		}},
		"no repetition in version 3": {"UNA:+.?*'UNB+UNOC:3'PAC+1*2'", []Part{
			{PartTag, "PAC"}, {PartElement, "+"}, {PartData, "1*2"}, {PartTerminator, "'"},
		}},
		"separators that nobody can type": {"UNB\x1dUNOB\x1f1\x1cPAC\x1d1\x1f2\x1c", []Part{
			{PartTag, "PAC"}, {PartElement, "␝"}, {PartData, "1"}, {PartComponent, "␟"}, {PartData, "2"}, {PartTerminator, "␜"},
		}},
		"no terminator": {"UNB+UNOC:3'PAC+1", []Part{{PartTag, "PAC"}, {PartElement, "+"}, {PartData, "1"}}},
		"wrapped":       {"UNB+UNOC:3'PA\r\nC+1'", []Part{{PartTag, "PA"}, {PartSymbol, "␍␊"}, {PartTag, "C"}, {PartElement, "+"}, {PartData, "1"}, {PartTerminator, "'"}}},
	} {
		v := viewed(t, c.document)
		if diff := cmp.Diff(c.want, v.Lines[len(v.Lines)-1].Parts()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestCharacterSetsOfEDIFACT(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"UNOC": "FTX+Ã¼\\xa0'", "UNOW": "FTX+ü\\xa0'", "UNOY": "FTX+ü\\xa0'", "UNOA": "FTX+ü\\xa0'", "UNOE": `FTX+\xc3\xbc\xa0'`,
	} {
		v := viewed(t, "UNB+"+id+":3'FTX+\xc3\xbc\xa0'")
		charset := map[string]string{"UNOC": "ISO-8859-1", "UNOE": "UNOE"}[id]
		if charset == "" {
			charset = "UTF-8"
		}
		if got := v.Lines[1].Text; got != want || v.Charset != charset {
			t.Errorf("%s is %s: %q, want %q", id, v.Charset, got, want)
		}
	}
}

func TestBinaryDataHoldsNoSeparators(t *testing.T) {
	t.Parallel()
	v := viewed(t, isaOf("U", "00401")+"GS*~ST*1*1~BIN*7*a*b~\x00>~~SE*3*1~")
	want := []Part{{PartTag, "BIN"}, {PartElement, "*"}, {PartData, "7"}, {PartElement, "*"}, {PartData, "a*b~"}, {PartSymbol, "␀"}, {PartData, ">~"}, {PartTerminator, "~"}}
	if diff := cmp.Diff(want, v.Lines[3].Parts()); diff != "" {
		t.Errorf("BIN (-want +got):\n%s", diff)
	}
}

func TestLevelsThatSegmentsState(t *testing.T) {
	t.Parallel()
	for document, want := range map[string][]string{
		isaOf("U", "00401") + "GS*SH~ST*856*1~BSN*00~HL*1**S~TD5*a~HL*2*1*O~PRF*1~HL*3*2*I~LIN*1~HL*4*2*I~LIN*2~HL*9*8*S~CTT*5~SE*1*1~ST*856*2~HL*2*1*I~": {
			"GS 1", "ST 2", "BSN 3", "HL 3", "TD5 4", "HL 4", "PRF 5", "HL 5", "LIN 6", "HL 5", "LIN 6", "HL 3", "CTT 3", "SE 2", "ST 2", "HL 3",
		},
		isaOf("U", "00401") + "GS*PO~ST*850*1~LS*100~N1*BY~LS*200~N1*ST~LE*200~LE*100~LE*1~CTT*1~": {
			"GS 1", "ST 2", "LS 3", "N1 4", "LS 4", "N1 5", "LE 4", "LE 3", "LE 3", "CTT 3",
		},
		"UNB+UNOC:3'UNH+1+DESADV:D:96A:UN'BGM+351'CPS+1'PAC+1'CPS+2+1'PAC+2'CNT+2:1'UNT+1+1'": {
			"UNH 1", "BGM 2", "CPS 2", "PAC 3", "CPS 3", "PAC 4", "CNT 2", "UNT 1",
		},
		"UNB+UNOC:3'UNG+ORDERS'UNH+1'BGM+220'UNT+3'UNE+1'UNZ+1'": {"UNG 1", "UNH 2", "BGM 3", "UNT 2", "UNE 1", "UNZ 0"},
	} {
		var got []string
		for _, l := range viewed(t, document).Lines[1:] {
			got = append(got, l.Tag+" "+string(rune('0'+l.Depth)))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("depths (-want +got):\n%s", diff)
		}
	}
}

// TestFaultsStandWhereTheyWereNoticed also holds that a problem's position is
// the number of the line.
func TestFaultsStandWhereTheyWereNoticed(t *testing.T) {
	t.Parallel()
	invoice, edifact := sample(t, "x12-810-invoice.edi"), sample(t, "edifact-invoic.edi")
	for name, c := range map[string]struct{ document, line, fault string }{
		"count":            {strings.Replace(invoice, "SE*24", "SE*23", 1), "SE*23*0001~␊", "SE01 says 23, counted 24 (segment 26)"},
		"reference":        {strings.Replace(edifact, "UNZ+1+NW0000731", "UNZ+1+NW0000732", 1), "UNZ+1+NW0000732'␍␊", "UNZ 0020 says NW0000732, UNB 0020 says NW0000731 (segment 38)"},
		"missing trailer":  {strings.Replace(invoice, "SE*24*0001~\n", "", 1), "GE*1*20931~␊", "SE is missing: found GE (segment 26)"},
		"cut off":          {invoice[:len(invoice)-10], "IEA*1*0", "the file ends inside IEA, its terminator is missing (segment 28)"},
		"end missing":      {invoice[:strings.Index(invoice, "IEA")], "GE*1*20931~␊", "IEA is missing: the file ends after segment 27"},
		"ISA too short":    {strings.Replace(invoice, "ISA*00* ", "ISA*00*", 1), "", "ISA02 has a wrong length: no separator at byte 18 of ISA (segment 1)"},
		"trailing content": {invoice + "PS: thanks\n", "PS: thanks␊", "content that is no ISA follows IEA (segment 28)"},
		"UNA alone":        {"UNA:+.? 'BGM+1'\nBGM", "BGM+1'␊", "UNA is not followed by UNB (segment 1)"},
		"half an ISA":      {"ISA*00*  ", "ISA*00*  ", "the file ends inside ISA, its terminator is missing (segment 1)"},
	} {
		v := viewed(t, c.document)
		found := false
		for _, l := range v.Lines {
			if l.Fault == "" {
				continue
			}
			found = true
			if l.Fault != c.fault || c.line != "" && l.Text != c.line {
				t.Errorf("%s: %q at %q, want %q at %q", name, l.Fault, l.Text, c.fault, c.line)
			}
			if l.Tag != "" && l.N != v.Problem.Position {
				t.Errorf("%s: line %d, problem at %d", name, l.N, v.Problem.Position)
			}
		}
		if !found {
			t.Errorf("%s: no line has the fault; problem %+v", name, v.Problem)
		}
	}
}

func TestAFaultBehindTheLastLineIsStillNamed(t *testing.T) {
	t.Parallel()
	v, err := ReadView(strings.NewReader(strings.Replace(sample(t, "x12-810-invoice.edi"), "SE*24", "SE*23", 1)), 1<<20, 5)
	if err != nil || v.Problem == nil || v.Problem.Segment != "SE01" {
		t.Fatalf("problem %+v, %v", v.Problem, err)
	}
	for _, l := range v.Lines {
		if l.Fault != "" {
			t.Errorf("line %+v", l)
		}
	}
}

func TestWhatSurroundsInterchangesIsShown(t *testing.T) {
	t.Parallel()
	one := "UNB+UNOA:3+A+B+261130:0429+1'UNH+1+ORDERS:D:96A:UN'UNT+2+1'UNZ+1+1'"
	v := viewed(t, "\ufeff\n"+one+"\r\n\x00\x00\x1a"+one)
	got := texts(v)
	want := []string{`\ufeff␊`, "UNZ+1+1'␍␊", "␀␀␚", "UNB+UNOA:3+A+B+261130:0429+1'"}
	if diff := cmp.Diff(want, []string{got[0], got[4], got[5], got[6]}); diff != "" || v.Problem != nil {
		t.Errorf("problem %+v (-want +got):\n%s", v.Problem, diff)
	}
}

// TestSegmentNamesAreWords keeps slips out of the tables.
func TestSegmentNamesAreWords(t *testing.T) {
	t.Parallel()
	for standard, names := range map[string]map[string]string{"X12": x12Names, "EDIFACT": edifactNames} {
		if len(names) < 100 {
			t.Errorf("%s: %d names", standard, len(names))
		}
		seen := map[string]bool{}
		for tag, name := range names {
			if len(tag) < 2 || len(tag) > 3 || tag != strings.ToUpper(tag) || standard == "EDIFACT" && len(tag) != 3 {
				t.Errorf("%s: tag %q", standard, tag)
			}
			if name == "" || strings.TrimSpace(name) != name || strings.Contains(name, "  ") || strings.HasSuffix(name, ".") {
				t.Errorf("%s: %s is %q", standard, tag, name)
			}
			seen[name] = true
		}
		if len(seen) < len(names)-3 { // REF and N9, CAD and W27 share a name
			t.Errorf("%s: %d names for %d segments", standard, len(seen), len(names))
		}
	}
	for _, l := range []string{"x12", "edifact"} {
		headers := map[string][]level{"x12": newX12(&Report{}).levels[:], "edifact": newEDIFACT(&Report{}).levels[:]}[l]
		names := map[string]map[string]string{"x12": x12Names, "edifact": edifactNames}[l]
		for _, h := range headers {
			if names[h.header] == "" || names[h.trailer] == "" {
				t.Errorf("%s: %s or %s has no name", l, h.header, h.trailer)
			}
		}
	}
}

// TestSeparatorsDoNotAmplify: a document of nothing but separators has no more
// pieces than any other, and all of it is shown.
func TestSeparatorsDoNotAmplify(t *testing.T) {
	t.Parallel()
	const isa = "ISA*00*          *00*          *ZZ*ACME           *ZZ*NORTHWIND      *261201*0210*U*00401*000000001*0*P*>~"
	for name, document := range map[string]string{
		"X12":     isa + strings.Repeat("A*", 1<<18),
		"EDIFACT": "UNB+UNOA:1+ACME+NORTHWIND+261201:0210+1'" + strings.Repeat("A+:", 1<<17) + "'",
		"lines":   isa + strings.Repeat("N1*a*b*c~", 1<<15),
		"symbols": strings.Repeat("a\x01", 100) + strings.Repeat("plain text\u200b", 1<<15),
		"XML":     "<a>" + strings.Repeat("<b c='d'/>", 1<<15) + "</a>",
	} {
		v := viewed(t, document)
		parts, size := 0, 0
		for _, l := range v.Lines {
			parts += len(l.Parts())
			size += len(l.Text)
		}
		if !v.Coarse || parts > maxParts+len(v.Lines) || size < len(document)/2 || v.Truncated {
			t.Errorf("%s: %d bytes in %d lines have %d parts and %d bytes of text, coarse %t, truncated %t", name, len(document), len(v.Lines), parts, size, v.Coarse, v.Truncated)
		}
		if first := v.Lines[0].Parts(); len(first) < 2 {
			t.Errorf("%s: the first line is not taken apart: %v", name, first)
		}
	}
	if v := viewed(t, isa+"GS*PO~"); v.Coarse {
		t.Error("a short document is coarse")
	}
}
