package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"edigw/access"
	"edigw/queue"
)

// TestPropertiesComeWithADocument: once for each, on both sides of the equals sign
// percent-encoded, and are shown in the order in which they came.
func TestPropertiesComeWithADocument(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	want := queue.Properties{
		Message: []queue.Property{{Name: "originalSender", Value: "urn:example:c1"}, {Name: "tracking", Value: "ü 100% = ja"}, {Name: "a=b", Value: "1, b=2"}},
		Part:    []queue.Property{{Name: "DocumentNo", Value: "4711+1/2"}},
	}
	got := b.as(access.Send, http.MethodPost, documents, "<a/>", "Message-Property", "originalSender=urn:example:c1", "Message-Property", "tracking=%C3%BC 100%25 = ja",
		"Message-Property", "a%3Db=1, b=2", "Part-Property", "DocumentNo=4711+1%2f2").want(http.StatusAccepted)
	equal(t, "handed on", want, b.intake.got[0].Properties)
	var m message
	b.as(access.Read, http.MethodGet, got.header.Get("Location"), "").want(http.StatusOK).json(&m)
	equal(t, "shown", []reference{{"originalSender", "urn:example:c1"}, {"tracking", "ü 100% = ja"}, {"a=b", "1, b=2"}}, m.Properties)
	equal(t, "shown of payloads", []reference{{"DocumentNo", "4711+1/2"}}, m.PartProperties)
	got = b.as(access.Send, http.MethodPost, documents, "<b/>").want(http.StatusAccepted)
	if body := string(got.body); !strings.Contains(body, `"properties":[]`) || !strings.Contains(body, `"part_properties":[]`) {
		t.Errorf("without any: %s", body)
	}
}

func TestHowPropertiesAreWritten(t *testing.T) {
	t.Parallel()
	const printed = `!"#$&'()*+,-./:;<=>?@[\]^_` + "`{|}~"
	long := strings.Repeat("%F0%9F%93%A6", 255) + "=" + strings.Repeat("%F0%9F%93%A6", 1024)
	for name, c := range map[string]struct {
		line        string
		name, value string
		want        string // part of what is wrong; empty: nothing
	}{
		"plain":                              {"a=b", "a", "b", ""},
		"an equals sign in the value":        {"a=b=c", "a", "b=c", ""},
		"an equals sign in the name":         {"a%3db=c", "a=b", "c", ""},
		"a plus sign is one":                 {"a=1+1", "a", "1+1", ""},
		"a percent sign":                     {"a=100%25", "a", "100%", ""},
		"one that is encoded twice":          {"a=%2541", "a", "%41", ""},
		"small hexadecimal digits":           {"a=%c3%bc", "a", "ü", ""},
		"all that ASCII prints":              {"a=" + printed, "a", printed, ""},
		"a line break is the intake's":       {"a=x%0D%0AX-Other: y", "a", "x\r\nX-Other: y", ""},
		"and so is a NUL":                    {"a=%00", "a", "\x00", ""},
		"and what is no UTF-8":               {"a=%C3", "a", "\xc3", ""},
		"and no name":                        {"=b", "", "b", ""},
		"and no value":                       {"a=", "a", "", ""},
		"the longest":                        {long, strings.Repeat("📦", 255), strings.Repeat("📦", 1024), ""},
		"longer":                             {long + "x", "", "", "too long"},
		"nothing":                            {"", "", "", "write NAME=VALUE"},
		"no equals sign":                     {"a", "", "", "write NAME=VALUE"},
		"no equals sign but an encoded one":  {"a%3Db", "", "", "write NAME=VALUE"},
		"letters beyond ASCII in the value":  {"a=ü", "", "", "percent-encode them"},
		"letters beyond ASCII in the name":   {"ü=a", "", "", "percent-encode them"},
		"Latin-1":                            {"a=\xfc", "", "", "percent-encode them"},
		"a tab":                              {"a=x\ty", "", "", "percent-encode them"},
		"DEL":                                {"a=x\x7f", "", "", "percent-encode them"},
		"a percent sign alone":               {"a=100%", "", "", "write %25"},
		"one with a single digit":            {"a=%4", "", "", "write %25"},
		"one with letters that are no digit": {"a=%u00FC", "", "", "write %25"},
		"a percent sign alone in the name":   {"%=a", "", "", "write %25"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, header := range []string{messageProperty, partProperty} {
				got, err := properties(http.Header{header: {"first=1", c.line}}, header)
				if c.want == "" {
					equal(t, header, []queue.Property{{Name: "first", Value: "1"}, {Name: c.name, Value: c.value}}, got)
				}
				if (err != nil) != (c.want != "") {
					t.Errorf("%q, %v", got, err)
				}
				if err == nil {
					continue
				}
				if p := ProblemOf(err); p.Slug != BadRequest || p.Field != header || !strings.Contains(p.Detail, c.want) {
					t.Errorf("%+v, want %q", p, c.want)
				}
			}
		})
	}
}

// FuzzProperties reads any line: it is refused with what is wrong, or says the same
// when it is written again as a client would.
func FuzzProperties(f *testing.F) {
	for _, line := range []string{"a=b", "a%3Db=c=d", "a=%C3%BC 100%25", "a=%", "=", "%3D==", "", "a", "ü=x", "a=%00%0d%0a", "a=\x7f", "a=%c3%28", "\xff=x"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		got, err := properties(http.Header{partProperty: {line}}, partProperty)
		if err != nil {
			if p := ProblemOf(err); p.Slug != BadRequest || p.Field != partProperty || p.Detail == "" {
				t.Fatalf("%q: %+v", line, p)
			}
			return
		}
		written := strings.ReplaceAll(url.PathEscape(got[0].Name), "=", "%3D") + "=" + url.PathEscape(got[0].Value)
		again, err := properties(http.Header{partProperty: {written}}, partProperty)
		switch {
		case err == nil:
			equal(t, "again", got, again)
		case len(written) <= maxPropertyLine:
			t.Fatalf("%q, written as %q: %v", line, written, err)
		}
	})
}
