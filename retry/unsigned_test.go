package retry

import (
	"testing"

	"edigw/fault"
)

// TestUnsignedDuplicateDeliversNothing: where a signed receipt was asked for,
// anybody on the way can break an attempt off and answer the next with an unsigned
// "I have it": that is no proof that the partner has it.
func TestUnsignedDuplicateDeliversNothing(t *testing.T) {
	t.Parallel()
	for _, ack := range []fault.Acknowledgement{
		{Verdict: fault.AckUnsigned, EBMS: "EBMS:4001"},
		{Verdict: fault.AckUnsigned, EBMS: "EBMS:0004", Detail: "(unsigned) duplicate"},
	} {
		o := fault.Outcome{Phase: fault.PhaseDone, Status: 200, AckAsked: fault.AckSync, Ack: &ack}
		if v := Classify(o, History{Uncertain: true}); v.Class == Success || v.Proof != "" {
			t.Errorf("%s: class %s, proof %q", ack.EBMS, v.Class, v.Proof)
		}
	}
}

// TestUnsignedRefusalIsNotDefinite: it is obeyed, and what is known of the document
// stays as it was, so that a receipt that comes later counts.
func TestUnsignedRefusalIsNotDefinite(t *testing.T) {
	t.Parallel()
	for verdict, definite := range map[fault.AckVerdict]bool{fault.AckUnsigned: false, fault.AckTrusted: true} {
		o := fault.Outcome{Phase: fault.PhaseDone, Status: 200, AckAsked: fault.AckSync, Ack: &fault.Acknowledgement{Verdict: verdict, EBMS: "EBMS:0102"}}
		if v := Classify(o, History{Uncertain: true}); v.Class != Permanent || v.Definite != definite {
			t.Errorf("%s: class %s, definite %t", verdict, v.Class, v.Definite)
		}
	}
}
