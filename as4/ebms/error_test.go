package ebms

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestErrorsAreRead(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		raw  string
		want Error
	}{
		"everything": {`<eb:Error category="Content" refToMessageInError="m@x" errorCode="EBMS:0002" origin="ebMS" severity="warning" shortDescription="FeatureNotSupported"><eb:Description xml:lang="de">Kann ich nicht</eb:Description><eb:ErrorDetail> a
			b </eb:ErrorDetail></eb:Error>`,
			Error{"EBMS:0002", Warning, "FeatureNotSupported", "Content", "ebMS", "Kann ich nicht", "a b", "m@x"}},
		"the least":                {`<eb:Error/>`, Error{Severity: Failure}},
		"unknown code":             {`<eb:Error errorCode="PEPPOL:NOT_SERVICED"/>`, Error{Code: "PEPPOL:NOT_SERVICED", Severity: Failure}},
		"no language":              {`<eb:Error><eb:Description>a</eb:Description></eb:Error>`, Error{Severity: Failure, Description: "a"}},
		"elements in the detail":   {`<eb:Error><eb:ErrorDetail><x>at <y>line</y></x>7</eb:ErrorDetail></eb:Error>`, Error{Severity: Failure, Detail: "at line 7"}},
		"detail ahead":             {`<eb:Error><eb:ErrorDetail>a</eb:ErrorDetail><eb:Description>b</eb:Description></eb:Error>`, Error{Severity: Failure, Detail: "a", Description: "b"}},
		"control characters":       {`<eb:Error errorCode="EBMS:0004&#10;x"><eb:ErrorDetail>a&#10;b&#x85;c</eb:ErrorDetail></eb:Error>`, Error{Code: "EBMS:0004 x", Severity: Failure, Detail: "a b c"}},
		"a code in its own fields": {`<eb:Error N42ErrorCode="EBMS:0001"/>`, Error{Severity: Failure}},
	} {
		e, err := parse(t, []byte(signalled(tc.raw)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff([]Error{tc.want}, e.Errors().Errors); diff != "" || e.Errors().RefToMessageID != "order-1@northwind.example" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestErrorSignalsAreReadAsFarAsTheyGo: a peer's complaint is read however badly
// the rest of its signal is made.
func TestErrorSignalsAreReadAsFarAsTheyGo(t *testing.T) {
	t.Parallel()
	raw := signalled(`<eb:Error errorCode="EBMS:0004"/>`)
	for name, tc := range map[string]struct{ old, new string }{
		"no MessageInfo":       {"MessageInfo>", "Info>"},
		"no Timestamp":         {"<eb:Timestamp>2026-03-02T10:30:00Z</eb:Timestamp>", ""},
		"no MessageId":         {"<eb:MessageId>s@contoso.example</eb:MessageId>", ""},
		"MessageId of blanks":  {"s@contoso.example", "s contoso"},
		"no RefToMessageId":    {"<eb:RefToMessageId>order-1@northwind.example</eb:RefToMessageId>", ""},
		"MessageInfo behind":   {"<eb:MessageInfo>", "<x/><eb:MessageInfo>"},
		"the time as it likes": {"2026-03-02T10:30:00Z", "Mon, 02 Mar 2026 10:30:00 GMT"},
	} {
		e, err := parse(t, []byte(replaced(t, raw, tc.old, tc.new)))
		if err != nil || e.Errors() == nil || e.Errors().Errors[0].Code != "EBMS:0004" {
			t.Errorf("%s: %v", name, err)
		}
	}
	many, err := parse(t, []byte(signalled(strings.Repeat(`<eb:Error errorCode="EBMS:0004"/>`, 5_000))))
	if err != nil || len(many.Errors().Errors) != maxErrors {
		t.Errorf("%v, %d errors", err, len(many.Errors().Errors))
	}
}

func TestSignalRules(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ raw, want string }{
		"PullRequest without mpc":       {signalled(`<eb:PullRequest/>`), ""},
		"PullRequest with a selection":  {signalled(`<eb:PullRequest mpc="urn:a"><x/></eb:PullRequest>`), ""},
		"something foreign behind":      {signalled(`<eb:PullRequest/><x/>`), ""},
		"nothing":                       {signalled(``), "SignalMessage holds 0 of"},
		"something foreign alone":       {signalled(`<x/>`), "SignalMessage holds 0 of"},
		"two PullRequest":               {signalled(`<eb:PullRequest/><eb:PullRequest/>`), "SignalMessage holds 2 PullRequest"},
		"something of ebMS":             {signalled(`<eb:PullRequest/><eb:Role/>`), "Role must not stand there"},
		"receipt without its MessageId": {strings.Replace(signalled(`<eb:Receipt/>`), "<eb:MessageId>s@contoso.example</eb:MessageId>", "", 1), "MessageInfo has no MessageId"},
		"receipt and error":             {signalled(`<eb:Receipt/><eb:Error errorCode="EBMS:0004"/>`), "SignalMessage holds 2 of"},
	} {
		_, err := parse(t, []byte(tc.raw))
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.HasPrefix(err.Error(), "EBMS:0009: "+tc.want) && !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: got %v, want %q", name, err, tc.want)
		}
	}
}

func TestNewError(t *testing.T) {
	t.Parallel()
	got := NewError("ebms:0101", "digest of #body\r\nX-Header: a", "m@x")
	c, _ := LookupCode("0101")
	want := Error{"EBMS:0101", Failure, "FailedAuthentication", "Processing", "security", c.Meaning, "digest of #body  X-Header: a", "m@x"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := NewError("EBMS:9999", "a", ""); got.Code != "EBMS:9999" || got.Severity != Failure {
		t.Errorf("%+v", got)
	}
	for code, number := range map[string]string{"EBMS:0004": "0004", " ebms: 0004 ": "0004", "0004": "0004", "PEPPOL:NOT_SERVICED": "PEPPOL:NOT_SERVICED", "": ""} {
		if n := Number(code); n != number {
			t.Errorf("%q: got %q", code, n)
		}
	}
	if _, ok := LookupCode(""); ok {
		t.Error("no code is a code")
	}
}
