package as2

import (
	"crypto/x509"
	"errors"
	"fmt"
	"strings"

	"edigw/as2/smime"
	"edigw/internal/tame"
)

// Bounds of what is said about certificates in one sentence.
const (
	maxShownNames  = 2
	maxShownIssuer = 80
)

// refuseSigner tells a fault of a signature: by whom it is, beside those whom
// it should be by, so that people can compare.
func refuseSigner(err error, v *smime.Verification, a Agreement, other string) error {
	if v == nil || !errors.Is(err, smime.ErrSignerUnknown) {
		return refuseLayer(err, other)
	}
	var by []string
	for _, s := range v.Signers {
		by = append(by, signerText(s.ID, s.Fingerprint))
	}
	return refuse(authenticationFailed, "the message is signed by %s; %s", listed(by, "nobody"), onFile(a))
}

// onFile names the partner's certificates, also those that count no more.
func onFile(a Agreement) string {
	text := "on file and in force: " + listed(certificateTexts(a.Verify), "none")
	if len(a.Lapsed) > 0 {
		text += "; on file, but not in force now: " + listed(certificateTexts(a.Lapsed), "none")
	}
	return text
}

func certificateTexts(all []*x509.Certificate) (texts []string) {
	for _, c := range all {
		texts = append(texts, certificateText(c))
	}
	return texts
}

// signerText names a certificate by what its owner can compare. Without it, a
// message names its signer by issuer and serial number only.
func signerText(id smime.ID, fingerprint string) string {
	id.Issuer = tame.Clip(id.Issuer, maxShownIssuer)
	if fingerprint == "" {
		return id.String()
	}
	return fmt.Sprintf("%s (SHA-256 %s)", id, fingerprint)
}

// listed joins the first few.
func listed(texts []string, none string) string {
	if len(texts) == 0 {
		return none
	}
	if more := len(texts) - maxShownNames; more > 0 {
		texts = append(texts[:maxShownNames:maxShownNames], fmt.Sprintf("%d more", more))
	}
	return strings.Join(texts, ", ")
}
