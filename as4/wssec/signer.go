package wssec

import (
	"crypto/x509"
	"fmt"
	"slices"
	"strings"

	"edigw/internal/xmldsig"
)

// identify finds whose signature it is, and checks its value: with pinned
// certificates that it names, else with those that it carries, which count only
// below an authority.
func (v *verifier) identify(s signature) error {
	name, err := readKeyInfo(s.keyInfo, v.security, v.ids)
	if err != nil {
		return err
	}
	v.report.Named = name.text
	v.report.Claimed = append(v.report.Claimed, slices.DeleteFunc(slices.Clone(name.certs), v.knows)...)
	var named []*x509.Certificate
	for _, c := range v.trust.Pinned {
		if name.names(c) {
			named = append(named, c)
		}
	}
	if len(named) > 0 {
		return v.checkPinned(s, named)
	}
	return v.checkStranger(s, name)
}

func (v *verifier) knows(c *x509.Certificate) bool {
	return slices.ContainsFunc(v.report.Claimed, c.Equal)
}

// checkPinned verifies with our copies. One that is in force wins.
func (v *verifier) checkPinned(s signature, named []*x509.Certificate) error {
	err := v.check(s, named[0])
	for _, c := range named {
		if one := v.check(s, c); one == nil {
			if err = v.inForce(c); err == nil {
				v.report.Signer = c
				return nil
			}
		}
	}
	return err
}

// check verifies the value with the key of one certificate.
func (v *verifier) check(s signature, c *x509.Certificate) error {
	if kind := xmldsig.KindOf(c.PublicKey); kind != s.method.Kind {
		return fmt.Errorf("%w: it is said to be made by %s, and %s has a key of kind %s", ErrSignature, s.method.Name, describe(c), kind)
	}
	if !s.method.Verify(c.PublicKey, s.text, s.value) {
		return fmt.Errorf("%w: the value was not made with the key of %s over this SignedInfo", ErrSignature, describe(c))
	}
	return nil
}

func (v *verifier) inForce(c *x509.Certificate) error {
	const day = "2006-01-02 15:04 MST"
	switch {
	case v.trust.Now.Before(c.NotBefore):
		return fmt.Errorf("%w: %s is not valid before %s", ErrSigner, describe(c), c.NotBefore.UTC().Format(day))
	case v.trust.Now.After(c.NotAfter):
		return fmt.Errorf("%w: %s expired at %s", ErrSigner, describe(c), c.NotAfter.UTC().Format(day))
	}
	return nil
}

// maxTried is how many keys that came along a signature is tried with: anybody
// can send many, on curves on which that takes long.
const maxTried = 4

// checkStranger verifies with a certificate that came along, so that it can be
// said whose signature it is.
func (v *verifier) checkStranger(s signature, name keyName) error {
	carried := name.certs
	if name.match != nil {
		carried = slices.DeleteFunc(slices.Clone(v.report.Claimed), func(c *x509.Certificate) bool { return !name.match(c) })
	}
	if len(carried) == 0 {
		return fmt.Errorf("%w: it names its signer by %s; %s", ErrSigner, name.text, v.onFile())
	}
	err := v.check(s, carried[0])
	for _, c := range carried[:min(len(carried), maxTried)] {
		if v.check(s, c) != nil {
			continue
		}
		v.report.Stranger = c
		if v.trust.Authorities == nil {
			return fmt.Errorf("%w: signed by %s; %s", ErrSigner, describe(c), v.onFile())
		}
		if err := v.chain(c); err != nil {
			return fmt.Errorf("%w: signed by %s, which is not below an authority that is trusted (%w); %s", ErrSigner, describe(c), err, v.onFile())
		}
		v.report.Signer, v.report.Stranger = c, nil
		return nil
	}
	return err
}

// chain builds a path to an authority (RFC 5280 §6). What a signature is for is
// not written in certificates by common authorities, so any usage will do.
func (v *verifier) chain(c *x509.Certificate) error {
	between := x509.NewCertPool()
	for _, up := range slices.Concat(v.trust.Intermediates, v.report.Claimed) {
		between.AddCert(up)
	}
	_, err := c.Verify(x509.VerifyOptions{
		Roots: v.trust.Authorities, Intermediates: between, CurrentTime: v.trust.Now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
	})
	return err
}

// onFile names what a person can compare with.
func (v *verifier) onFile() string {
	if len(v.trust.Pinned) == 0 {
		return "no certificate of the partner is on file"
	}
	const most = 2
	var texts []string
	for _, c := range v.trust.Pinned[:min(len(v.trust.Pinned), most)] {
		texts = append(texts, describe(c))
	}
	if more := len(v.trust.Pinned) - most; more > 0 {
		texts = append(texts, fmt.Sprintf("%d more", more))
	}
	return "on file: " + strings.Join(texts, ", ")
}
