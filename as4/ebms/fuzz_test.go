package ebms

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"edigw/internal/xmltree"
)

// FuzzParseEnvelope: whatever XML comes, the error has a class, what is kept is
// bounded and clean, and a user message that was taken can be written and read
// again.
func FuzzParseEnvelope(f *testing.F) {
	f.Add([]byte(wire(order().Element())))
	f.Add([]byte(wire(minimal().Element(), (&SignalMessage{Errors: []Error{NewError("EBMS:0004", "a", "b@c")}}).Element())))
	f.Add([]byte(signalled(`<eb:Receipt><b:NonRepudiationInformation xmlns:b="` + EBBP + `"><b:MessagePartNRInformation><ds:Reference URI="#a"><ds:DigestMethod Algorithm="` + sha256URI + `"/><ds:DigestValue>AAEC</ds:DigestValue></ds:Reference></b:MessagePartNRInformation></b:NonRepudiationInformation></eb:Receipt>`)))
	f.Add([]byte(signalled(`<eb:PullRequest mpc="urn:a"/>`)))
	f.Add([]byte(enveloped(`<x S:mustUnderstand="1"/>`, "")))
	f.Add(Serialise((&Fault{Code: MustUnderstand, Reason: "a", NotUnderstood: []QName{{"urn:x", "y"}}}).Envelope().Root))
	f.Add(Serialise((&Fault{Code: VersionMismatch, SOAP11: true}).Envelope().Root))
	f.Fuzz(func(t *testing.T, raw []byte) {
		doc, err := xmltree.Parse(raw, xmltree.Limits{})
		if err != nil {
			return
		}
		e, err := ParseEnvelope(doc)
		var fault *Fault
		var problem *ProblemError
		switch {
		case e == nil:
			t.Fatal("no envelope")
		case errors.As(err, &fault):
			tidy(t, string(fault.Code), fault.Reason)
			again, err := parse(t, Serialise(fault.Envelope().Root))
			if err != nil || again.Fault.Code != fault.Code {
				t.Fatalf("our fault %+v is read as %v, %+v", fault, err, again.Fault)
			}
		case errors.As(err, &problem):
			tidy(t, problem.Code, problem.Detail, problem.MessageID)
		case err != nil:
			t.Fatalf("of no class: %v", err)
		case e.User == nil && e.Signals == nil && e.Fault == nil:
			t.Fatal("nothing was read, and nothing is wrong")
		case e.User != nil:
			writtenAgain(t, e.User)
		}
		if e.Fault != nil {
			tidy(t, string(e.Fault.Code), e.Fault.Subcode, e.Fault.Reason, e.Fault.Detail)
		}
		for _, s := range e.Signals {
			tidy(t, s.MessageID, s.RefToMessageID)
			for _, x := range s.Errors {
				tidy(t, x.Code, x.Category, x.Origin, x.ShortDescription, x.Description, x.Detail, x.RefToMessageInError)
			}
			if s.Receipt != nil {
				list, err := s.Receipt.References()
				if err == nil {
					err = Compare(list, list)
				} else {
					tidy(t, err.Error())
				}
				if len(list) > 0 && err != nil {
					t.Fatalf("%v is not itself: %v", list, err)
				}
			}
		}
	})
}

func tidy(t *testing.T, texts ...string) {
	t.Helper()
	for _, s := range texts {
		if len(s) > 5<<10 || strings.ContainsAny(s, "\r\n\t\x00\u202e") {
			t.Fatalf("not tidy: %.100q", s)
		}
	}
}

func writtenAgain(t *testing.T, u *UserMessage) {
	t.Helper()
	again, err := parse(t, []byte(wire(u.Element())))
	if err != nil {
		t.Fatalf("%+v\nwritten and read again: %v", u, err)
	}
	again.User.Timestamp = u.Timestamp // milliseconds are kept
	if !reflect.DeepEqual(u, again.User) {
		t.Fatalf("%+v\nis read again as\n%+v", u, again.User)
	}
	if u.Check() == nil && string(Serialise(again.User.Element())) != string(Serialise(u.Element())) && u.Timestamp.Nanosecond()%1e6 == 0 {
		t.Fatal("written twice, it is not the same")
	}
}
