package takeover

import "strings"

// Algorithms of XML Signature and XML Encryption by their identifiers, as values
// of as4.security.
var (
	Signatures = map[string]string{
		"http://www.w3.org/2001/04/xmldsig-more#rsa-sha256": "rsa-sha256", "http://www.w3.org/2001/04/xmldsig-more#rsa-sha384": "rsa-sha384",
		"http://www.w3.org/2001/04/xmldsig-more#rsa-sha512": "rsa-sha512", "http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha256": "ecdsa-sha256",
		"http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha384": "ecdsa-sha384", "http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha512": "ecdsa-sha512",
		"http://www.w3.org/2021/04/xmldsig-more#eddsa-ed25519": "ed25519",
	}
	Digests = map[string]string{
		"http://www.w3.org/2001/04/xmlenc#sha256": "sha256", "http://www.w3.org/2001/04/xmldsig-more#sha384": "sha384", "http://www.w3.org/2001/04/xmlenc#sha512": "sha512",
	}
	Ciphers = map[string]string{
		"http://www.w3.org/2009/xmlenc11#aes128-gcm": "aes128-gcm", "http://www.w3.org/2009/xmlenc11#aes192-gcm": "aes192-gcm", "http://www.w3.org/2009/xmlenc11#aes256-gcm": "aes256-gcm",
	}
)

// KeyTransport is the value of as4.security.key_transport for RSA-OAEP with a
// digest and a mask, each by its identifier; ok is false for what edigw does not
// write. A mask that is not said is by SHA-1 (XML Encryption 1.1 §5.5.2).
func KeyTransport(algorithm, digest, mask string) (name string, ok bool) {
	sha256, sha1 := strings.HasSuffix(digest, "#sha256"), digest == "" || strings.HasSuffix(digest, "#sha1")
	switch {
	case strings.HasSuffix(algorithm, "#rsa-oaep-mgf1p") && sha1:
		return "rsa-oaep-mgf1p", true
	case !strings.HasSuffix(algorithm, "#rsa-oaep") || !sha256:
		return "", false
	case strings.HasSuffix(mask, "#mgf1sha256"):
		return "rsa-oaep-mgf1-sha256", true
	case mask == "", strings.HasSuffix(mask, "#mgf1sha1"):
		return "rsa-oaep-mgf1-sha1", true
	}
	return "", false
}
