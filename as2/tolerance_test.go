package as2

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"edigw/fault"
)

// report writes an MDN by hand.
func report(fields string) (http.Header, []byte) {
	return http.Header{"Content-Type": {`multipart/report; report-type=disposition-notification; boundary="r"`}},
		[]byte("--r\r\nContent-Type: text/plain\r\n\r\nwords\r\n--r\r\nContent-Type: message/disposition-notification\r\n\r\n" + fields + "\r\n--r--\r\n")
}

// TestKnownFaultsOfMDNs: what is tolerated in a receipt, and what never settles.
func TestKnownFaultsOfMDNs(t *testing.T) {
	t.Parallel()
	a := toNorthwind()
	a.MDN.Signed = false
	r, _ := mustBuild(t, a, []byte("ISA~"))
	mic := r.MICs[0]
	usual := "Final-Recipient: rfc822; NORTHWIND\r\nOriginal-Message-ID: " + r.MessageID + "\r\nDisposition: automatic-action/MDN-sent-automatically; processed\r\nReceived-Content-MIC: " + mic.String() + "\r\n"
	replace := func(old, new string) string {
		if !strings.Contains(usual, old) {
			t.Fatalf("%q is not in the MDN", old)
		}
		return strings.Replace(usual, old, new, 1)
	}
	for name, tc := range map[string]struct {
		fields   string
		verdict  fault.AckVerdict
		positive bool
		text     string
	}{
		"usual": {usual, fault.AckTrusted, true, ""},
		"row 51: no Message-ID, no Original-Recipient": {usual, fault.AckTrusted, true, ""},
		"recipients without type, one with":            {replace("Final-Recipient: rfc822; ", "Original-Recipient: NORTHWIND\r\nFinal-Recipient:"), fault.AckTrusted, true, ""},
		"capitals":                                     {replace("automatic-action/MDN-sent-automatically; processed", "AUTOMATIC-ACTION/MDN-SENT-AUTOMATICALLY; PROCESSED"), fault.AckTrusted, true, ""},
		"manual":                                       {replace("automatic-action/MDN-sent-automatically", "manual-action/MDN-sent-manually"), fault.AckTrusted, true, ""},
		"failed/error":                                 {replace("processed\r\n", "failed/Error:unexpected-processing-error\r\n"), fault.AckTrusted, false, "unexpected-processing-error"},
		"failed, the reason in its field":              {replace("processed\r\n", "failed/failure\r\nFAILURE: unsupported format\r\n"), fault.AckTrusted, false, "unsupported format"},
		"error, its text in its field":                 {replace("processed\r\n", "processed/error\r\nError: authentication-failed\r\n"), fault.AckTrusted, false, "authentication-failed"},
		"error beside a warning":                       {replace("processed\r\n", "processed/warning: seen before\r\nError: not taken\r\n"), fault.AckTrusted, false, "not taken"},
		"failure beside a Warning field":               {usual + "Warning: seen before\r\nFailure: not taken\r\n", fault.AckTrusted, false, "not taken"},
		"warning field beside an error":                {replace("processed\r\n", "processed/error: decryption-failed\r\nWarning: fine\r\n"), fault.AckTrusted, false, "decryption-failed"},
		"no blanks after separators":                   {strings.NewReplacer(": ", ":", "; ", ";", ", ", ",").Replace(usual), fault.AckTrusted, true, ""},
		"LF line ends":                                 {strings.ReplaceAll(usual, "\r\n", "\n"), fault.AckTrusted, true, ""},
		"no last line end":                             {strings.TrimSuffix(usual, "\r\n"), fault.AckTrusted, true, ""},
		"lower-case field names":                       {strings.NewReplacer("Original-Message-ID", "original-message-id", "Disposition", "disposition").Replace(usual), fault.AckTrusted, true, ""},
		"id without brackets":                          {replace(r.MessageID, bare(r.MessageID)), fault.AckTrusted, true, ""},
		"folded":                                       {replace("; processed", ";\r\n\tprocessed"), fault.AckTrusted, true, ""},
		"recipient without type":                       {replace("rfc822; ", ""), fault.AckTrusted, true, ""},
		"no recipient":                                 {replace("Final-Recipient: rfc822; NORTHWIND\r\n", ""), fault.AckTrusted, true, ""},
		"other spelling of SHA-256":                    {replace("sha-256", "SHA256"), fault.AckTrusted, true, ""},
		"no mode":                                      {replace("automatic-action/MDN-sent-automatically; ", ""), fault.AckTrusted, true, ""},
		"warning: duplicate":                           {replace("processed\r\n", "processed/warning: duplicate-document\r\n"), fault.AckTrusted, true, "duplicate-document"},
		"row 9: refused with 200":                      {replace("processed\r\n", "processed/error: decryption-failed\r\n"), fault.AckTrusted, false, "decryption-failed"},
		"misspelt refusal":                             {replace("processed\r\n", "processed/error: decompresion-failed\r\n"), fault.AckTrusted, false, "decompresion-failed"},
		"refusal without MIC":                          {replace("processed\r\nReceived-Content-MIC: "+mic.String(), "failed/Failure: sender-equals-receiver"), fault.AckTrusted, false, "sender-equals-receiver"},
		"error in a field of its own":                  {usual + "Error: authentication-failed\r\n", fault.AckTrusted, false, "authentication-failed"},
		"warning in a field of its own":                {usual + "Warning: seen before\r\n", fault.AckTrusted, true, "seen before"},
		"failure beside a blank line":                  {usual + "\r\nFailure: later\r\n", fault.AckTrusted, false, "later"},
		"unsigned without MIC":                         {replace("Received-Content-MIC: "+mic.String()+"\r\n", ""), fault.AckTrusted, true, ""},
		"other MIC":                                    {replace(mic.Value, base64.StdEncoding.EncodeToString(make([]byte, 32))), fault.AckMICMismatch, true, ""},
		"MIC without algorithm":                        {replace(", sha-256", ""), fault.AckMICMismatch, true, ""},
		"hidden second Disposition":                    {usual + "\r\n\r\nDisposition: x; failed\r\n", fault.AckContradictory, false, ""},
		"two messages":                                 {usual + "Original-Message-ID: <x@y>\r\n", fault.AckContradictory, false, ""},
		"two MICs":                                     {usual + "Received-Content-MIC: x, sha1\r\n", fault.AckContradictory, false, ""},
		"no Disposition":                               {replace("Disposition: automatic-action/MDN-sent-automatically; processed\r\n", ""), fault.AckMalformed, false, ""},
		"empty Disposition":                            {replace("automatic-action/MDN-sent-automatically; processed", ""), fault.AckMalformed, false, ""},
		"names no message":                             {replace("Original-Message-ID: "+r.MessageID+"\r\n", ""), fault.AckMalformed, true, ""},
		"other message":                                {replace(r.MessageID, "<other@x>"), fault.AckOtherMessage, true, ""},
		"id of other case":                             {replace(r.MessageID, strings.ToUpper(r.MessageID)), fault.AckOtherMessage, true, ""},
		"no fields":                                    {"", fault.AckMalformed, false, ""},
		"too many fields":                              {usual + strings.Repeat("X: y\r\n", 300), fault.AckMalformed, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			header, body := report(tc.fields)
			ack, mdn := VerifyMDN(header, body, []Rendition{r}, a)
			if ack.Verdict != tc.verdict || ack.Positive != tc.positive || ack.Text != tc.text {
				t.Errorf("verdict %q, positive %t, text %q; want %q, %t, %q (%s)", ack.Verdict, ack.Positive, ack.Text, tc.verdict, tc.positive, tc.text, mdn.Problem)
			}
			signed := a
			signed.MDN.Signed = true
			if ack, _ := VerifyMDN(header, body, []Rendition{r}, signed); ack.Verdict == fault.AckTrusted {
				t.Error("unsigned is trusted where signed was asked")
			}
		})
	}
}

// TestMDNStructures: nesting, encodings, missing pieces.
func TestMDNStructures(t *testing.T) {
	t.Parallel()
	a := toNorthwind()
	a.MDN.Signed = false
	r, _ := mustBuild(t, a, []byte("ISA~"))
	fields := "Original-Message-ID: " + r.MessageID + "\r\nDisposition: x; processed\r\n"
	machine := "Content-Type: message/disposition-notification\r\n"
	nested := func(depth int) string {
		inner := machine + "\r\n" + fields
		for i := range depth {
			inner = fmt.Sprintf("Content-Type: multipart/mixed; boundary=b%d\r\n\r\n--b%d\r\n%s\r\n--b%d--", i, i, inner, i)
		}
		return inner
	}
	for name, tc := range map[string]struct {
		parts   []string
		verdict fault.AckVerdict
	}{
		"machine part alone":            {[]string{machine + "\r\n" + fields}, fault.AckTrusted},
		"text without header":           {[]string{"\r\nhello", machine + "\r\n" + fields}, fault.AckTrusted},
		"text of unknown charset":       {[]string{"Content-Type: text/plain; charset=klingon\r\n\r\n\xff\xfe", machine + "\r\n" + fields}, fault.AckTrusted},
		"text as broken base64":         {[]string{"Content-Type: text/plain\r\nContent-Transfer-Encoding: base64\r\n\r\n%%%", machine + "\r\n" + fields}, fault.AckTrusted},
		"machine part in base64":        {[]string{machine + "Content-Transfer-Encoding: base64\r\n\r\n" + wrapped([]byte(fields))}, fault.AckTrusted},
		"machine part quoted":           {[]string{machine + "Content-Transfer-Encoding: quoted-printable\r\n\r\n" + strings.ReplaceAll(fields, "=", "=3D")}, fault.AckTrusted},
		"original message as third":     {[]string{"\r\nhello", machine + "\r\n" + fields, "Content-Type: text/rfc822-headers\r\n\r\nDisposition: x; failed"}, fault.AckTrusted},
		"row 11: nested multipart":      {[]string{"\r\nhello", nested(2)}, fault.AckTrusted},
		"nested too deep":               {[]string{nested(6)}, fault.AckMalformed},
		"machine part in broken base64": {[]string{machine + "Content-Transfer-Encoding: base64\r\n\r\n%%%"}, fault.AckMalformed},
		"unknown encoding":              {[]string{machine + "Content-Transfer-Encoding: rot13\r\n\r\n" + fields}, fault.AckMalformed},
		"two machine parts":             {[]string{machine + "\r\n" + fields, nested(1)}, fault.AckContradictory},
		"no machine part":               {[]string{"\r\nhello"}, fault.AckMalformed},
		"too many parts":                {[]string{"\r\n", "\r\n", "\r\n", "\r\n", "\r\n", "\r\n", "\r\n", "\r\n", machine + "\r\n" + fields}, fault.AckMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := "preamble\r\n"
			for _, part := range tc.parts {
				body += "--r\r\n" + part + "\r\n"
			}
			body += "--r--\r\n"
			header := http.Header{"Content-Type": {`multipart/report; boundary=r`}}
			ack, mdn := VerifyMDN(header, []byte(body), []Rendition{r}, a)
			if ack.Verdict != tc.verdict {
				t.Errorf("verdict %q, want %q (%s)", ack.Verdict, tc.verdict, mdn.Problem)
			}
			if ack, _ := VerifyMDN(header, []byte(body[:len(body)-6]), []Rendition{r}, a); ack.Verdict == fault.AckTrusted {
				t.Error("trusted without its end")
			}
		})
	}
}
