package as2

import (
	"crypto"
	"crypto/rsa"
	"crypto/x509"
	"net/url"
	"strings"
	"time"

	"edigw/as2/smime"
	"edigw/fault"
)

// checkBuild finds what would make a message that the partner must refuse.
func checkBuild(a Agreement, d Document, now time.Time) error {
	switch {
	case CheckName(a.From) != nil:
		return badSetting("as2.our_id", "%v", ErrName)
	case CheckName(a.To) != nil:
		return badSetting("as2.id", "%v", ErrName)
	case CheckMessageID(d.MessageID) != nil:
		return badSetting("identity.domain", "%v", ErrMessageID)
	case !headerValue(d.ContentType) || !strings.Contains(d.ContentType, "/"):
		return badSetting("as2.content_type", "%q is not of the form type/subtype", d.ContentType)
	case a.ProductHeader != "" && !headerValue(a.ProductHeader):
		return badSetting("product header", "it is not printable ASCII")
	case smime.HashName(askedDigest(a)) == "":
		return badSetting("as2.mdn.algorithm", "digest %v is not supported", askedDigest(a))
	case a.Compress != "" && a.Compress != CompressNone && !compresses(a):
		return badSetting("as2.compress", "unknown value %q", string(a.Compress))
	}
	if err := checkVersion(a); err != nil {
		return err
	}
	if err := checkMultipart(d.ContentType); err != nil {
		return err
	}
	if err := checkSigning(a, now); err != nil {
		return err
	}
	if err := checkRecipients(a, now); err != nil {
		return err
	}
	return checkReceipt(a, d)
}

func checkSigning(a Agreement, now time.Time) error {
	if a.Sign == 0 {
		return nil
	}
	if smime.HashName(a.Sign) == "" {
		return badSetting("as2.sign", "digest %v is not supported", a.Sign)
	}
	if a.SigningKey == nil || a.SigningCertificate == nil {
		return badKey("keys", "no key and certificate in force for signing")
	}
	if public, ok := a.SigningCertificate.PublicKey.(interface{ Equal(crypto.PublicKey) bool }); !ok || !public.Equal(a.SigningKey.Public()) {
		return badKey("keys", "the signing key does not belong to the certificate %s", smime.CertificateID(a.SigningCertificate))
	}
	return checkValidity("keys", "our signing certificate", fault.CauseKey, a.SigningCertificate, now)
}

func checkRecipients(a Agreement, now time.Time) error {
	if !encrypts(a) {
		return nil
	}
	if len(a.Recipients) == 0 {
		return badSetting("certificates.encrypt", "no certificate of the partner in force to encrypt to")
	}
	for _, c := range a.Recipients {
		if err := checkValidity("certificates.encrypt", "the partner's certificate", fault.CauseBuild, c, now); err != nil {
			return err
		}
		if pub, ok := c.PublicKey.(*rsa.PublicKey); ok {
			if err := a.Transport.Fits(a.Encrypt, pub); err != nil {
				return badSetting("as2.key_transport", "%v; the certificate is %s", err, smime.CertificateID(c))
			}
		}
	}
	return nil
}

// checkValidity names the certificate that has expired or has not begun.
func checkValidity(key, what string, cause fault.Cause, c *x509.Certificate, now time.Time) error {
	e := &fault.SettingError{Key: key, Cause: cause, Suspect: smime.CertificateID(c).Serial}
	switch {
	case now.After(c.NotAfter):
		e.Why = what + " " + smime.CertificateID(c).String() + " expired " + c.NotAfter.UTC().Format(time.RFC3339)
	case now.Before(c.NotBefore):
		e.Why = what + " " + smime.CertificateID(c).String() + " is not valid before " + c.NotBefore.UTC().Format(time.RFC3339)
	default:
		return nil
	}
	return e
}

func checkReceipt(a Agreement, d Document) error {
	switch a.MDN.Mode {
	case MDNNone, "":
		return nil
	case MDNSync:
	case MDNAsync:
		u, err := url.Parse(a.MDN.URL)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.Fragment != "" || !headerValue(a.MDN.URL) {
			return badSetting("listen.partners.base_url", "asynchronous receipts need an http or https URL of ours")
		}
		if d.Token == "" || url.QueryEscape(d.Token) != d.Token {
			return badSetting("as2.mdn", "an asynchronous receipt needs a token of URL-safe characters")
		}
	default:
		return badSetting("as2.mdn.mode", "unknown value %q", string(a.MDN.Mode))
	}
	if !a.MDN.Signed {
		return nil
	}
	if len(a.Verify) == 0 {
		return badSetting("certificates.verify", "a signed receipt is asked for, but no certificate of the partner is in force to verify it")
	}
	return nil
}

// headerValue tells whether s can stand in a header as it is.
func headerValue(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return s != ""
}
