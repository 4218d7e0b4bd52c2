package as4

import (
	"crypto"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"time"

	"edigw/as4/ebms"
	"edigw/fault"
	"edigw/internal/rawmime"
)

// checkBuild finds what would make a message that the partner must refuse. What
// the header itself must fulfil is checked once it is filled in.
func checkBuild(p PMode, d Document, now time.Time) error {
	switch {
	case checkMessageID(d.MessageID) != nil:
		return badSetting("identity.domain", "%v", errOwnMessageID)
	case d.RefToMessageID != "" && ebms.CheckMessageID(d.RefToMessageID) != nil:
		return errors.New("the message that this one answers has no MessageId")
	case d.Test && len(d.Payloads) > 0:
		return errors.New("a message to the test service has no payload")
	case p.Agreement != nil && strings.TrimSpace(p.Agreement.Value) == "":
		return badSetting("as4.agreement", "it is empty, which is not the same as none: give it a value or leave it out")
	}
	for i, payload := range d.Payloads {
		if err := checkPayloadType(payload.ContentType); err != nil {
			return fmt.Errorf("payload %d: %w", i+1, err)
		}
	}
	if err := checkBodyPayload(p, d); err != nil {
		return err
	}
	if p.Sign.Algorithm != "" {
		if err := checkSigning(p, now); err != nil {
			return err
		}
	}
	if err := checkRecipient(p, now); err != nil {
		return err
	}
	return checkReceipt(p)
}

func checkPayloadType(contentType string) error {
	_, _, err := rawmime.ParseMediaType(contentType)
	if err != nil || !strings.Contains(contentType, "/") || !headerValue(contentType) {
		return badSetting("as4.content_type", "%q is not of the form type/subtype", contentType)
	}
	return nil
}

// checkBodyPayload holds what can stand in the Body: one payload, as it is.
func checkBodyPayload(p PMode, d Document) error {
	if !p.Body || d.Test {
		return nil
	}
	switch {
	case p.Compress:
		return badSetting("as4.compress", "only attachments are compressed (AS4 §3.1), and as4.body puts the payload into the SOAP Body")
	case p.Encrypt.Cipher != "":
		return badSetting("as4.security.encrypt", "only attachments are encrypted, and as4.body puts the payload into the SOAP Body: it would go out in the clear")
	case len(d.Payloads) != 1:
		return badSetting("as4.body", "the SOAP Body takes one payload, the document has %d", len(d.Payloads))
	case d.Payloads[0].Size > maxBody:
		return badSetting("as4.body", "the payload has %d bytes, the SOAP Body takes %d: send it as an attachment", d.Payloads[0].Size, maxBody)
	}
	return nil
}

func checkSigning(p PMode, now time.Time) error {
	s := p.Sign
	switch {
	case s.Algorithm == "":
		return badSetting("as4.security.sign", "a signature is due, and no algorithm for it is set")
	case s.Key == nil || s.Certificate == nil:
		return badKey("keys", "no key and certificate in force for signing")
	}
	if public, ok := s.Certificate.PublicKey.(interface{ Equal(crypto.PublicKey) bool }); !ok || !public.Equal(s.Key.Public()) {
		return badKey("keys", "the signing key does not belong to the certificate %s", certificateName(s.Certificate))
	}
	return checkValidity("keys", "our signing certificate", fault.CauseKey, s.Certificate, now)
}

func checkRecipient(p PMode, now time.Time) error {
	if p.Encrypt.Cipher == "" {
		return nil
	}
	if p.Encrypt.Recipient == nil {
		return badSetting("certificates.encrypt", "no certificate of the partner in force to encrypt to")
	}
	return checkValidity("certificates.encrypt", "the partner's certificate", fault.CauseBuild, p.Encrypt.Recipient, now)
}

// checkValidity names the certificate that has expired or has not begun.
func checkValidity(key, what string, cause fault.Cause, c *x509.Certificate, now time.Time) error {
	e := &fault.SettingError{Key: key, Cause: cause, Suspect: serial(c)}
	switch {
	case now.After(c.NotAfter):
		e.Why = what + " " + certificateName(c) + " expired " + c.NotAfter.UTC().Format(time.RFC3339)
	case now.Before(c.NotBefore):
		e.Why = what + " " + certificateName(c) + " is not valid before " + c.NotBefore.UTC().Format(time.RFC3339)
	default:
		return nil
	}
	return e
}

// checkReceipt refuses a receipt that could settle nothing.
func checkReceipt(p PMode) error {
	switch p.Receipt.Mode {
	case ReceiptNone, "":
		return nil
	case ReceiptSync, ReceiptAsync:
	default:
		return badSetting("as4.receipt.mode", "unknown value %q", string(p.Receipt.Mode))
	}
	switch {
	case p.Receipt.NonRepudiation && p.Sign.Algorithm == "":
		return badSetting("as4.receipt.non_repudiation", "it takes the digests of our signature, and the message is not signed")
	case p.Receipt.Signed && len(p.Verify) == 0 && p.Authorities == nil:
		return badSetting("certificates.verify", "a signed receipt is asked for, but no certificate of the partner is in force to verify it")
	case !p.Receipt.Signed && ackTiming(p) == fault.AckAsync:
		// A MessageId can be guessed, and nothing else vouches for such a receipt.
		return badSetting("as4.receipt.signed", "a receipt that comes by itself proves nothing unless it is signed")
	}
	return nil
}

// headerValue tells whether s can stand in a header as it is.
func headerValue(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return s != ""
}
