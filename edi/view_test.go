package edi

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"unicode"
	"unicode/utf8"

	"edigw/internal/testfixture"
	"github.com/google/go-cmp/cmp"
)

// viewed makes a view without bounds.
func viewed(t testing.TB, document string) View {
	t.Helper()
	v, err := ReadView(strings.NewReader(document), 1<<24, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	checkView(t, v, document)
	return v
}

// checkView holds what is true of every view.
func checkView(t testing.TB, v View, document string) {
	t.Helper()
	offset := int64(-1)
	faults := 0
	for i, l := range v.Lines {
		var joined strings.Builder
		for _, p := range l.Parts() {
			if p.Text == "" || p.Kind.String() == "unknown" {
				t.Fatalf("line %d: part %+v", i, p)
			}
			joined.WriteString(p.Text)
		}
		if joined.String() != l.Text {
			t.Fatalf("line %d: the parts are %q, the text %q", i, joined.String(), l.Text)
		}
		for _, r := range l.Text {
			if !unicode.IsPrint(r) || r == utf8.RuneError && !strings.Contains(document, "\ufffd") {
				t.Fatalf("line %d: %q holds %U", i, l.Text, r)
			}
		}
		if len(l.Text) > 2*maxText || l.Depth < 0 || l.Depth > maxDepth || l.N < 0 {
			t.Fatalf("line %d: %d bytes, depth %d, number %d", i, len(l.Text), l.Depth, l.N)
		}
		if l.Offset < offset || l.Offset >= int64(len(document)) {
			t.Fatalf("line %d: offset %d behind %d of %d", i, l.Offset, offset, len(document))
		}
		offset = l.Offset
		if l.Fault != "" {
			faults++
			if v.Problem == nil || l.Fault != v.Problem.Text {
				t.Fatalf("line %d: fault %q, problem %+v", i, l.Fault, v.Problem)
			}
		}
	}
	if want := btoi(v.Problem != nil); faults > 1 || faults < want && !v.Truncated {
		t.Fatalf("%d lines have the fault, problem %+v", faults, v.Problem)
	}
	lossless := v.Form == FormText || v.Form == FormSegments && !strings.Contains(document, "UNOC")
	if lossless && !v.Truncated {
		var all strings.Builder
		for _, l := range v.Lines {
			all.WriteString(l.Text)
		}
		if got := unshow(all.String()); got != document {
			t.Fatalf("the view hides something (-document +shown):\n%s", cmp.Diff(document, got))
		}
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// unshow gives the bytes that a text of a view stands for.
func unshow(text string) string {
	var b strings.Builder
	for text != "" {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r >= '␀' && r < '␠':
			b.WriteByte(byte(r - '␀'))
		case r == '␡':
			b.WriteByte(0x7f)
		case r == '\\' && len(text) > 1 && strings.IndexByte("xuU", text[1]) >= 0:
			size = map[byte]int{'x': 4, 'u': 6, 'U': 10}[text[1]]
			n, err := strconv.ParseUint(text[2:size], 16, 32)
			switch {
			case err != nil:
				panic(text)
			case text[1] == 'x':
				b.WriteByte(byte(n))
			default:
				b.WriteRune(rune(n))
			}
		default:
			b.WriteString(text[:size])
		}
		text = text[size:]
	}
	return b.String()
}

// texts are the lines of a view, indented by their depth, faults behind them.
func texts(v View) []string {
	var all []string
	for _, l := range v.Lines {
		text := strings.Repeat("  ", l.Depth) + l.Text
		if l.Continued {
			text = "… " + text
		}
		if l.Fault != "" {
			text += " ! " + l.Fault
		}
		all = append(all, text)
	}
	return all
}

func TestSampleDocumentsAreShown(t *testing.T) {
	t.Parallel()
	for name, want := range samples {
		v := viewed(t, sample(t, name))
		form := FormSegments
		if strings.HasSuffix(name, ".xml") {
			form = FormXML
		}
		if v.Kind != want.Kind || v.Type != want.Type || v.Form != form || v.Problem != nil || v.Truncated {
			t.Errorf("%s: %s %s as %s, problem %+v, truncated %t", name, v.Kind, v.Type, v.Form, v.Problem, v.Truncated)
		}
		for _, l := range v.Lines {
			if form == FormSegments && (l.Tag == "" || l.Name == "" || l.Continued) {
				t.Errorf("%s: line %+v has no name", name, l)
			}
		}
	}
}

func TestTextIsShownAsItIs(t *testing.T) {
	t.Parallel()
	for document, want := range map[string][]string{
		"":                                  nil,
		"a\nb\r\n\n c":                      {"a␊", "b␍␊", "␊", " c"},
		"tab\there, bell\a\x7f":             {"tab␉here, bell␇␡"},
		"pay \u202eELPMAXE\u202c \u200bnow": {`pay \u202eELPMAXE\u202c \u200bnow`},
		"M\xfcller and Müller \u00a0\u00ad": {`M\xfcller and Müller \u00a0\u00ad`},
		`a\nb \x41 \u0041`:                  {`a\nb \x5cx41 \x5cu0041`},
		"␍␊ are pictures":                   {`\u240d\u240a are pictures`},
		"tag \U000e0041\u3164\ufe0f":        {`tag \U000e0041\u3164\ufe0f`},
		"\ufeffISABELLA":                    {`\ufeffISABELLA`},
		"שלום 123":                          {"שלום 123"},
	} {
		v := viewed(t, document)
		if diff := cmp.Diff(want, texts(v)); diff != "" || v.Form != FormText || v.Kind != Unknown {
			t.Errorf("%q as %s (-want +got):\n%s", document, v.Form, diff)
		}
	}
}

func TestSymbolsAreTheirOwnParts(t *testing.T) {
	t.Parallel()
	v := viewed(t, "a\u202eb\tc\r\n")
	want := []Part{{PartData, "a"}, {PartSymbol, `\u202e`}, {PartData, "b"}, {PartSymbol, "␉"}, {PartData, "c"}, {PartLineEnd, "␍␊"}}
	if diff := cmp.Diff(want, v.Lines[0].Parts()); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
}

func TestBinaryContentIsShownInHex(t *testing.T) {
	t.Parallel()
	v := viewed(t, "PK\x03\x04 and sixteen more\x00")
	want := []string{
		"50 4b 03 04 20 61 6e 64  20 73 69 78 74 65 65 6e  PK.. and sixteen",
		"20 6d 6f 72 65 00                                  more.",
	}
	if diff := cmp.Diff(want, texts(v)); diff != "" || v.Form != FormHex || v.Charset != "" {
		t.Errorf("form %s, charset %q (-want +got):\n%s", v.Form, v.Charset, diff)
	}
	if v.Lines[1].Offset != 16 || v.Lines[1].N != 2 {
		t.Errorf("second row %+v", v.Lines[1])
	}
	if v := viewed(t, "\xff\xfe<\x00a\x00/\x00>\x00"); v.Form != FormHex {
		t.Errorf("UTF-16 is shown as %s", v.Form)
	}
	if v := viewed(t, strings.Repeat("\xc3\xa4\xd6\xf6", 10)); v.Form != FormHex {
		t.Errorf("an unknown character set is shown as %s", v.Form)
	}
}

func TestViewsAreBounded(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"x12-810-invoice.edi", "edifact-invoic.edi", "ubl-invoice.xml"} {
		document := sample(t, name)
		for limit := 0; limit < len(document)+9; limit += 1 + limit%7 {
			v, err := ReadView(strings.NewReader(document), int64(limit), 1000)
			if err != nil {
				t.Fatal(err)
			}
			checkView(t, v, document)
			if v.Truncated != (limit < len(document)) || v.Problem != nil {
				t.Fatalf("%s: %d bytes: truncated %t, problem %+v", name, limit, v.Truncated, v.Problem)
			}
		}
		all := len(viewed(t, document).Lines)
		for most := range all + 2 {
			v, err := ReadView(strings.NewReader(document), 1<<20, most)
			if err != nil {
				t.Fatal(err)
			}
			if len(v.Lines) != min(most, all) || v.Truncated != (most < all) {
				t.Fatalf("%s: %d lines of at most %d, truncated %t", name, len(v.Lines), most, v.Truncated)
			}
		}
	}
	v, err := ReadView(strings.NewReader("abc"), -1, -1)
	if err != nil || len(v.Lines) != 0 || !v.Truncated {
		t.Errorf("no bounds: %+v, %v", v, err)
	}
}

func TestLongLinesAreContinued(t *testing.T) {
	t.Parallel()
	v := viewed(t, strings.Repeat("a", 3*maxText-1)+"\nb")
	if len(v.Lines) != 4 || !v.Lines[2].Continued || v.Lines[2].Offset != 2*maxText || v.Lines[2].N != 1 || v.Lines[3].N != 2 || v.Lines[3].Continued {
		t.Errorf("%d lines, third %+v", len(v.Lines), v.Lines[2])
	}
}

func TestTheErrorOfAViewIsTheReaders(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	if _, err := ReadView(iotest.ErrReader(broken), 100, 10); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
}

// hostileDocuments make a lot of a view out of few bytes.
var hostileDocuments = map[string]string{
	"separators":      "UNB+UNOC:3+A+B+261130:0429+1'" + strings.Repeat("+:", 1<<19),
	"empty segments":  "UNB+UNOC:3+A+B+261130:0429+1'" + strings.Repeat("'", 1<<20),
	"escapes":         strings.Repeat("\x80aaaaaaaaaaaa", 1<<16),
	"lines":           strings.Repeat("\n", 1<<20),
	"tags":            strings.Repeat("<a>", 1<<18),
	"attributes":      "<a " + strings.Repeat("b='' ", 1<<18),
	"text and CDATA":  "<a>" + strings.Repeat("x<![CDATA[]]>", 1<<16),
	"comment":         "<a><!--" + strings.Repeat("-\n", 1<<19),
	"quotes":          "<a b='" + strings.Repeat(">", 1<<20),
	"entities":        "<a>" + strings.Repeat("&#10;", 1<<17),
	"levels":          "ISA*00*          *00*          *ZZ*A              *ZZ*B              *261130*0429*U*00401*000000001*0*P*>~GS*~ST*856*1~" + strings.Repeat("HL*1*1*S~", 1<<17),
	"repeated ISA":    strings.Repeat("ISA*00*          *00*          *ZZ*A              *ZZ*B              *261130*0429*U*00401*000000001*0*P*>~", 1<<13),
	"binary":          strings.Repeat("\x00", 1<<20),
	"segment forever": "UNB+" + strings.Repeat("a", 1<<20),
}

func TestMemoryOfAViewIsBounded(t *testing.T) {
	const limit, lines = 1 << 20, 5000
	for name, document := range hostileDocuments {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			v, err := ReadView(strings.NewReader(document), limit, lines)
			runtime.GC()
			runtime.ReadMemStats(&after)
			if err != nil {
				t.Fatal(err)
			}
			checkView(t, v, document)
			if got := int64(after.HeapAlloc) - int64(before.HeapAlloc); got > 10*limit+400*lines {
				t.Errorf("%d bytes are held", got)
			}
			if got := after.TotalAlloc - before.TotalAlloc; got > 40*limit {
				t.Errorf("%d bytes were allocated", got)
			}
			if len(v.Lines) > lines {
				t.Errorf("%d lines", len(v.Lines))
			}
		})
	}
}

func TestHostileCapturesAreShown(t *testing.T) {
	t.Parallel()
	seen := 0
	err := filepath.WalkDir(testfixture.Path(t, "hostile"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		seen++
		viewed(t, string(raw))
		if _, body, ok := strings.Cut(string(raw), "\r\n\r\n"); ok {
			viewed(t, body)
		}
		return nil
	})
	if err != nil || seen < 50 {
		t.Errorf("%d captures, %v", seen, err)
	}
}

func FuzzReadView(f *testing.F) {
	for name := range samples {
		f.Add(sample(f, name), 1<<16, 1000)
	}
	for _, document := range []string{
		"<?xml version='1.0' encoding='iso-8859-1'?>\n<!-- \n --><a b=\"&amp;\"><![CDATA[\n]]>\xe4</a>", "<a>\n<b></a>", "<!DOCTYPE a []><a/>",
		"UNA:+.?*'UNB+UNOW:4+A+B+261130:0429+1'UNH+1+DESADV:D:96A:UN'CPS+1'CPS+2+1'PAC+1*2'", "UNB\x1dUNOB\x1f1\x1c", "\ufeff\\x41\u202e␍\x00",
		"ISA*00*          *00*          *ZZ*A              *ZZ*B              *261130*0429*^*00501*000000001*0*P*>~GS*~ST*856*1~BIN*3*~*~~LS*1~HL*1**S~LE*1~",
	} {
		f.Add(document, 1<<16, 1000)
	}
	f.Fuzz(func(t *testing.T, document string, limit, lines int) {
		limit, lines = min(limit, 1<<20), min(lines, 1<<16)
		v, err := ReadView(iotest.HalfReader(strings.NewReader(document)), int64(limit), lines)
		if err != nil {
			t.Fatal(err)
		}
		if len(v.Lines) > max(lines, 0) {
			t.Fatalf("%d lines", len(v.Lines))
		}
		checkView(t, v, document)
		if s := scan(document); !v.Truncated && v.Form != FormText && v.Form != FormHex && !cmp.Equal(s.Problem, v.Problem) {
			t.Fatalf("the door says %+v, the view %+v", s.Problem, v.Problem)
		}
		Diff(v, v)
	})
}
