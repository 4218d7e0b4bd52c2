package as2

import (
	"net/http"
	"strings"
	"testing"

	"edigw/as2/smime"
	"edigw/fault"
)

// TestReceiptsAsTheyCome: what stands around the fields of a receipt, signed or
// not: line ends, spelling and quoting of its type, text ahead.
func TestReceiptsAsTheyCome(t *testing.T) {
	t.Parallel()
	a := toNorthwind()
	r, _ := mustBuild(t, a, []byte("ISA~"))
	const reportType = `multipart/report; report-type=disposition-notification; boundary="r"`
	body := "--r\r\nContent-Type: text/plain\r\n\r\nwords\r\n--r\r\nContent-Type: message/disposition-notification\r\n\r\n" +
		"Original-Message-ID: " + r.MessageID + "\r\nDisposition: automatic-action/MDN-sent-automatically; processed\r\nReceived-Content-MIC: " + r.MICs[0].String() + "\r\n\r\n--r--\r\n"
	lines := func(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }
	for name, change := range map[string]func(contentType, body string) (string, string){
		"as it should be":                   func(c, b string) (string, string) { return c, b },
		"line feeds alone":                  func(c, b string) (string, string) { return c, lines(b) },
		"type in capitals":                  func(c, b string) (string, string) { return strings.Replace(c, "multipart", "MULTIPART", 1), b },
		"row 5: type wholly quoted":         func(c, b string) (string, string) { return `"` + strings.ReplaceAll(c, `"`, `\"`) + `"`, b },
		"row 6: joined fold":                func(c, b string) (string, string) { return strings.ReplaceAll(c, "; ", ";\t"), b },
		"no blanks between parameters":      func(c, b string) (string, string) { return strings.ReplaceAll(c, "; ", ";"), b },
		"row 61: stray characters behind":   func(c, b string) (string, string) { return c + "; ,", b },
		"mendelson: a Date ahead":           func(c, b string) (string, string) { return c, "Date: Fri, 18 Mar 2022 22:28:42 CDT\r\n\r\n" + b },
		"OpenAS2: its type again ahead":     func(c, b string) (string, string) { return c, "Content-Type: " + c + "\r\n\r\n" + b },
		"blank lines and a text at the end": func(c, b string) (string, string) { return c, "\r\n\r\n" + b + "\r\nthe end\r\n" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			unsigned := a
			unsigned.MDN.Signed = false
			contentType, text := change(reportType, body)
			if ack, mdn := VerifyMDN(http.Header{"Content-Type": {contentType}}, []byte(text), []Rendition{r}, unsigned); ack.Verdict != fault.AckTrusted || !ack.Positive {
				t.Errorf("unsigned: %q, %s", ack.Verdict, mdn.Problem)
			}
			// The same around a signature of theirs over what lies within.
			part := "Content-Type: " + reportType + "\r\n\r\n" + body
			if name == "line feeds alone" {
				part = lines(part)
			}
			contentType, text = change(signedByHand(t, part, "s", northwind()))
			ack, mdn := VerifyMDN(http.Header{"Content-Type": {contentType}}, []byte(text), []Rendition{r}, a)
			if ack.Verdict != fault.AckTrusted || !ack.Positive || ack.Signer != smime.Fingerprint(northwind().cert) {
				t.Errorf("signed: %q, %s", ack.Verdict, mdn.Problem)
			}
		})
	}
}

// TestRequestsAsTheyCome: spelling of what a message says in its header.
func TestRequestsAsTheyCome(t *testing.T) {
	t.Parallel()
	long := "<" + strings.Repeat("x", maxMessageID-2-len("@acme.example")) + "@acme.example>"
	for name, tc := range map[string]struct {
		send  func(*Agreement)
		wire  func(http.Header)
		check func(*testing.T, MDN)
	}{
		"options in capitals, without blanks": {wire: func(h http.Header) {
			h.Set("Disposition-Notification-Options", "SIGNED-RECEIPT-PROTOCOL=REQUIRED,PKCS7-SIGNATURE;Signed-Receipt-MICalg=REQUIRED,SHA-256")
		}, check: func(t *testing.T, m MDN) {
			if !m.Signed || m.MIC.Algorithm != "SHA-256" {
				t.Errorf("signed %t, MIC %s", m.Signed, m.MIC)
			}
		}},
		"options in quotes": {wire: func(h http.Header) {
			h.Set("Disposition-Notification-Options", `signed-receipt-protocol=optional,"pkcs7-signature"; signed-receipt-micalg=optional,"sha256"`)
		}, check: func(t *testing.T, m MDN) {
			if !m.Signed || m.MIC.Algorithm != "sha256" {
				t.Errorf("signed %t, MIC %s", m.Signed, m.MIC)
			}
		}},
		"an algorithm alone asks for no signature": {wire: func(h http.Header) {
			h.Set("Disposition-Notification-Options", "signed-receipt-micalg=optional, sha-256")
		}, check: func(t *testing.T, m MDN) {
			if m.Signed {
				t.Error("the receipt is signed")
			}
		}},
		"receipt asked for with an empty value": {wire: func(h http.Header) { h.Set("Disposition-Notification-To", "") }},
		"receipt asked for with no address":     {wire: func(h http.Header) { h.Set("Disposition-Notification-To", `http://[not an address> "\`) }},
		"row 13: names quoted twice":            {wire: func(h http.Header) { h.Set("AS2-From", `""ACME-AS2""`) }},
		"row 13: blanks within the quotes":      {wire: func(h http.Header) { h.Set("AS2-From", `"  ACME-AS2 "`) }},
		"longest Message-ID": {wire: func(h http.Header) { h.Set("Message-ID", long) }, check: func(t *testing.T, m MDN) {
			if m.OriginalMessageID != long {
				t.Errorf("%d characters echoed", len(m.OriginalMessageID))
			}
		}},
		"type in capitals": {wire: func(h http.Header) {
			h.Set("Content-Type", strings.Replace(h.Get("Content-Type"), "application/pkcs7-mime; smime-type", "Application/PKCS7-MIME;SMIME-Type", 1))
		}},
		"old type name, wrong smime-type": {wire: func(h http.Header) { h.Set("Content-Type", "application/x-pkcs7-mime; smime-type=signed-data") }},
		"later version":                   {wire: func(h http.Header) { h.Set("AS2-Version", "1.9") }},
		"PSS, named as as2-lib names it": {send: func(a *Agreement) { a.Encrypt, a.PSS = "", true }, wire: func(h http.Header) {
			h.Set("Content-Type", strings.Replace(h.Get("Content-Type"), "micalg=sha-256", "micalg=rsassa-pss-sha-256", 1))
		}},
		"micalg unknown": {send: func(a *Agreement) { a.Encrypt = "" }, wire: func(h http.Header) {
			h.Set("Content-Type", strings.Replace(h.Get("Content-Type"), "micalg=sha-256", "micalg=unknown", 1))
		}},
		"no micalg, no protocol": {send: func(a *Agreement) { a.Encrypt = "" }, wire: func(h http.Header) {
			_, boundary, _ := strings.Cut(h.Get("Content-Type"), "boundary=")
			h.Set("Content-Type", "multipart/signed; boundary="+boundary)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := toNorthwind()
			if tc.send != nil {
				tc.send(&a)
			}
			m := &memory{agreement: fromAcme()}
			m.agreement.Receive.Encrypted = false
			r, wire := mustBuild(t, a, []byte("ISA~"))
			req := wireRequest(t, r, wire)
			tc.wire(req.Header)
			mdn, state := dispositionOf(t, serve(testHandler(t, m), req))
			got, payload := m.last(t)
			if state != "processed" || string(payload) != "ISA~" || !mdn.MIC.Equal(r.MICs[0]) || mdn.To != "ACME-AS2" {
				t.Fatalf("answered %q to %q, MIC %s: %s", state, mdn.To, mdn.MIC, got.Problem)
			}
			if tc.check != nil {
				tc.check(t, mdn)
			}
		})
	}
}

// TestReceiptUnderAnyStatus: the status speaks of the transport. A receipt counts
// under any of them, and "processing" is neither good nor bad news.
func TestReceiptUnderAnyStatus(t *testing.T) {
	t.Parallel()
	a := toNorthwind()
	r, wire := mustBuild(t, a, []byte("ISA~"))
	for name, tc := range map[string]struct{ early, status int }{
		"200": {0, 200}, "201": {0, 201}, "202": {0, 202}, "206": {0, 206}, "299": {0, 299}, "500": {0, 500},
		"102, then 200": {http.StatusProcessing, 200}, "103, then 202": {http.StatusEarlyHints, 202},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := testHandler(t, &memory{agreement: fromAcme()})
			_, out, mdn := send(t, a, r, wire, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				answer := serve(h, req)
				if tc.early != 0 {
					w.WriteHeader(tc.early)
					w.WriteHeader(tc.early)
				}
				for field, values := range answer.Header {
					w.Header()[field] = values
				}
				w.WriteHeader(tc.status)
				w.Write(readBody(t, answer))
			}))
			if out.Status != tc.status || out.Ack == nil || out.Ack.Verdict != fault.AckTrusted || !out.Ack.Positive {
				t.Errorf("%+v, %+v, %s", out, out.Ack, mdn.Problem)
			}
		})
	}
	t.Run("102 and no more", func(t *testing.T) {
		t.Parallel()
		_, out, _ := send(t, a, r, wire, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			serve(testHandler(t, &memory{agreement: fromAcme()}), req)
			w.WriteHeader(http.StatusProcessing)
			panic(http.ErrAbortHandler)
		}))
		if out.Status != 0 || out.Ack != nil || out.Phase != fault.PhaseSent {
			t.Errorf("%+v", out)
		}
	})
}
