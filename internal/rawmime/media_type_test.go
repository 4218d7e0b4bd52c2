package rawmime

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseMediaTypeTakesWhatPartnersSend(t *testing.T) {
	t.Parallel()
	type params = map[string]string
	for name, test := range map[string]struct {
		value string
		typ   string
		want  params
	}{
		"plain":                    {"application/edi-x12", "application/edi-x12", params{}},
		"any case":                 {"Multipart/SIGNED; BOUNDARY=aB; micalg=SHA-256", "multipart/signed", params{"boundary": "aB", "micalg": "SHA-256"}},
		"no blank after ;":         {`multipart/signed;protocol="application/pkcs7-signature";boundary="x"`, "multipart/signed", params{"protocol": "application/pkcs7-signature", "boundary": "x"}},
		"joined fold":              {"multipart/report; report-type=disposition-notification; \tboundary=\"a b\"", "multipart/report", params{"report-type": "disposition-notification", "boundary": "a b"}},
		"blanks around =":          {"text/plain ; charset = utf-8 ", "text/plain", params{"charset": "utf-8"}},
		"whole value quoted":       {`"multipart/report; boundary=\"----=_P\""`, "multipart/report", params{"boundary": "----=_P"}},
		"whole, inner not escaped": {`"multipart/report; boundary="x""`, "multipart/report", params{"boundary": "x"}},
		"whole, no inner quotes":   {`"multipart/report; boundary=x"`, "multipart/report", params{"boundary": "x"}},
		"whole, stray ; behind":    {`"multipart/report; boundary=x";`, "multipart/report", params{"boundary": "x"}},
		"stray ;":                  {"application/edifact;", "application/edifact", params{}},
		"many stray ;":             {"application/xml;; ;charset=utf-8; ;", "application/xml", params{"charset": "utf-8"}},
		"stray word":               {"multipart/signed; boundary=x; foo", "multipart/signed", params{"boundary": "x"}},
		"stray word in the middle": {"multipart/signed; foo; boundary=x", "multipart/signed", params{"boundary": "x"}},
		"stray after a quote":      {`multipart/signed; boundary="x",; micalg=sha1`, "multipart/signed", params{"boundary": "x", "micalg": "sha1"}},
		"stray comma":              {"text/plain,", "text/plain", params{}},
		"separators unquoted":      {"multipart/signed; boundary=----=_Part_0/1:2", "multipart/signed", params{"boundary": "----=_Part_0/1:2"}},
		"; in quotes":              {`attachment; filename="a;b=c.edi"`, "attachment", params{"filename": "a;b=c.edi"}},
		"escaped quote":            {`attachment; filename="a\"b\\c.edi"`, "attachment", params{"filename": `a"b\c.edi`}},
		"bare backslash":           {`attachment; filename="C:\out\a.edi"`, "attachment", params{"filename": `C:\out\a.edi`}},
		"empty value":              {`attachment; filename=""; name=`, "attachment", params{"filename": "", "name": ""}},
		"same parameter twice":     {"multipart/signed; boundary=x; Boundary=x", "multipart/signed", params{"boundary": "x"}},
		"filename* before plain":   {"attachment; filename*=UTF-8''Stra%C3%9Fe.edi; filename=Strasse.edi", "attachment", params{"filename*": "UTF-8''Stra%C3%9Fe.edi", "filename": "Straße.edi"}},
		"filename* in Latin 1":     {"attachment; filename*=iso-8859-1'de'Stra%DFe.edi", "attachment", params{"filename*": "iso-8859-1'de'Stra%DFe.edi", "filename": "Straße.edi"}},
		"filename* undecodable":    {"attachment; filename=a; filename*=utf-8''%FF", "attachment", params{"filename*": "utf-8''%FF", "filename": "a"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			typ, got, err := ParseMediaType(test.value)
			if err != nil {
				t.Fatal(err)
			}
			if typ != test.typ {
				t.Errorf("type %q, want %q", typ, test.typ)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("parameters (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseMediaTypeRefuses(t *testing.T) {
	t.Parallel()
	var many strings.Builder
	for i := range maxParams + 1 {
		fmt.Fprintf(&many, "; p%d=x", i)
	}
	for name, test := range map[string]struct {
		value string
		want  error
	}{
		"nothing":               {"", ErrSyntax},
		"parameters only":       {"; boundary=x", ErrSyntax},
		"no subtype":            {"multipart/; boundary=x", ErrSyntax},
		"two types":             {"text/plain, text/html", ErrSyntax},
		"open quote":            {`multipart/signed; boundary="x`, ErrSyntax},
		"two boundaries":        {"multipart/signed; boundary=x; boundary=y", ErrSyntax},
		"line end":              {"text/plain;\r\nboundary=x", ErrSyntax},
		"parameter name quoted": {`text/plain; "a"=b`, ErrSyntax},
		"too many parameters":   {"text/plain" + many.String(), ErrLimit},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if typ, params, err := ParseMediaType(test.value); !errors.Is(err, test.want) {
				t.Errorf("got %q, %v, error %v; want %v", typ, params, err, test.want)
			}
		})
	}
}

func FuzzParseMediaType(f *testing.F) {
	f.Add(`multipart/signed; protocol="application/pkcs7-signature"; micalg=sha-256; boundary="x"`)
	f.Add(`"multipart/report; boundary=\"x\""`)
	f.Add("attachment; filename*=utf-8''%e2%82%ac;;")
	f.Fuzz(func(t *testing.T, v string) {
		typ, params, err := ParseMediaType(v)
		if err != nil {
			return
		}
		if typ != strings.ToLower(typ) || typ == "" {
			t.Errorf("type %q is empty or not in lower case", typ)
		}
		for name, value := range params {
			if !isToken(name) || name != strings.ToLower(name) {
				t.Errorf("parameter name %q", name)
			}
			if name != "filename" && len(value) > len(v) {
				t.Errorf("parameter %s is longer than the whole value", name)
			}
		}
	})
}
