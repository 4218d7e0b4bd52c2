package ebms

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFaultsAreRead as they come: both versions of SOAP, and mixtures.
func TestFaultsAreRead(t *testing.T) {
	t.Parallel()
	in12 := func(inner string) string {
		return `<S:Envelope xmlns:S="` + SOAP + `"><S:Body><S:Fault>` + inner + `</S:Fault></S:Body></S:Envelope>`
	}
	in11 := func(inner string) string {
		return `<S:Envelope xmlns:S="` + SOAP11 + `"><S:Body><S:Fault>` + inner + `</S:Fault></S:Body></S:Envelope>`
	}
	for name, tc := range map[string]struct {
		raw  string
		want Fault
	}{
		"SOAP 1.2": {in12(`<S:Code><S:Value>S:Sender</S:Value><S:Subcode><S:Value xmlns:w="urn:w">w:FailedCheck</S:Value></S:Subcode></S:Code><S:Reason><S:Text xml:lang="en">No good.</S:Text></S:Reason><S:Detail><x><y>at line</y> 7</x></S:Detail>`),
			Fault{Code: Sender, Subcode: "FailedCheck", Reason: "No good.", Detail: "at line 7"}},
		"subcode in a subcode":    {in12(`<S:Code><S:Value>S:Receiver</S:Value><S:Subcode><S:Value>a:B</S:Value><S:Subcode><S:Value>a:C</S:Value></S:Subcode></S:Subcode></S:Code>`), Fault{Code: Receiver, Subcode: "C"}},
		"Code without a Value":    {in12(`<S:Code>S:Receiver</S:Code><S:Reason>Out of order</S:Reason>`), Fault{Code: Receiver, Reason: "Out of order"}},
		"fields of 1.1 in 1.2":    {in12(`<faultcode>S:Server</faultcode><faultstring>Out of order</faultstring>`), Fault{Code: Receiver, Reason: "Out of order"}},
		"nothing in it":           {in12(``), Fault{}},
		"a code of its own":       {in12(`<S:Code><S:Value>x:Busy</S:Value></S:Code>`), Fault{Code: "Busy"}},
		"SOAP 1.1":                {in11(`<faultcode>S:Client</faultcode><faultstring>No good.</faultstring><faultactor>urn:a</faultactor><detail><x>why</x></detail>`), Fault{Code: Sender, Reason: "No good.", Detail: "why", SOAP11: true}},
		"SOAP 1.1, code in parts": {in11(`<faultcode>S:Server.Busy.Now</faultcode><faultstring/>`), Fault{Code: Receiver, Subcode: "Busy.Now", SOAP11: true}},
		"control characters":      {in12(`<S:Reason><S:Text>a&#13;&#10;b&#x202e;c</S:Text></S:Reason>`), Fault{Reason: "a b c"}},
	} {
		e, err := parse(t, []byte(tc.raw))
		if err != nil || e.Fault == nil || e.Payload() != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(&tc.want, e.Fault); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	long := in12(`<S:Reason><S:Text>` + strings.Repeat("é", 100_000) + `</S:Text></S:Reason><S:Detail>` + strings.Repeat("<a>x</a>", 10_000) + `</S:Detail>`)
	e, err := parse(t, []byte(long))
	if err != nil || len(e.Fault.Reason) > maxText || len(e.Fault.Detail) > maxText || !strings.HasPrefix(e.Fault.Detail, "x x") {
		t.Errorf("%v, %d and %d bytes", err, len(e.Fault.Reason), len(e.Fault.Detail))
	}
}

// TestFaultBesideASignal: the standard wants both, and either may come alone
// (ebMS 3.0 Core §6.6).
func TestFaultBesideASignal(t *testing.T) {
	t.Parallel()
	s := SignalMessage{MessageInfo: MessageInfo{Timestamp: testNow, MessageID: "e@x", RefToMessageID: "m@x"}, Errors: []Error{NewError("EBMS:0009", "no Action", "m@x")}}
	f := &Fault{Code: Sender, Reason: "The header is invalid."}
	e, err := parse(t, Serialise(f.Envelope(s.Element()).Root))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(f, e.Fault); diff != "" || e.Errors() == nil || e.Errors().Errors[0].Detail != "no Action" {
		t.Errorf("%+v\n%s", e.Errors(), diff)
	}
	if text := f.Error(); text != "SOAP fault Sender: The header is invalid." {
		t.Error(text)
	}
	if f.Status() != 400 || (&Fault{Code: MustUnderstand}).Status() != 500 || (&Fault{Code: Sender, SOAP11: true}).Status() != 500 {
		t.Error("status")
	}
}

// TestVersionMismatchIsToldInTheirVersion (SOAP 1.2 part 1 App. A).
func TestVersionMismatchIsToldInTheirVersion(t *testing.T) {
	t.Parallel()
	_, err := parse(t, []byte(`<S:Envelope xmlns:S="`+SOAP11+`"><S:Body><a/></S:Body></S:Envelope>`))
	var f *Fault
	if !errors.As(err, &f) {
		t.Fatal(err)
	}
	want := `<?xml version="1.0" encoding="UTF-8"?><S11:Envelope xmlns:S11="` + SOAP11 + `"><S11:Header><env:Upgrade xmlns:env="` + SOAP + `"><env:SupportedEnvelope qname="env:Envelope"/></env:Upgrade></S11:Header>` +
		`<S11:Body><S11:Fault><faultcode>S11:VersionMismatch</faultcode><faultstring>` + f.Reason + `</faultstring></S11:Fault></S11:Body></S11:Envelope>`
	if diff := cmp.Diff(want, string(Serialise(f.Envelope().Root))); diff != "" || f.ContentType() != "text/xml; charset=UTF-8" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for code, old := range map[FaultCode]string{Sender: "S11:Client", Receiver: "S11:Server"} {
		if raw := string(Serialise((&Fault{Code: code, SOAP11: true}).Envelope().Root)); !strings.Contains(raw, "<faultcode>"+old+"<") {
			t.Errorf("%s: %s", code, raw)
		}
	}
	_, err = parse(t, []byte(`<html/>`))
	if !errors.As(err, &f) || f.SOAP11 || f.ContentType() != "application/soap+xml; charset=UTF-8" {
		t.Fatalf("%+v", f)
	}
	raw := string(Serialise(f.Envelope().Root))
	if !strings.Contains(raw, `<env:Upgrade xmlns:env="`+SOAP+`"><env:SupportedEnvelope qname="env:Envelope"/></env:Upgrade></env:Header>`) {
		t.Error(raw)
	}
}
