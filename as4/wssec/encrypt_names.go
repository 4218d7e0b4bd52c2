package wssec

// Namespaces of encryption.
const (
	nsXENC    = "http://www.w3.org/2001/04/xmlenc#"
	nsXENC11  = "http://www.w3.org/2009/xmlenc11#"
	nsDSIG11  = "http://www.w3.org/2009/xmldsig11#"
	nsMore    = "http://www.w3.org/2021/04/xmldsig-more#"
	moreFirst = "http://www.w3.org/2001/04/xmldsig-more#"
)

// Identifiers of XML Encryption, the SOAP Message Security and SwA profiles.
const (
	tokenEncryptedKey  = soapSecurity11 + "#EncryptedKey"
	typeContentOnly    = swaProfile + "#Attachment-Content-Only"
	transformCipher    = swaProfile + "#Attachment-Ciphertext-Transform"
	typeElement        = nsXENC + "Element"
	typeElementContent = nsXENC + "Content"

	methodOAEP      = nsXENC11 + "rsa-oaep"
	methodOAEPMGF1P = nsXENC + "rsa-oaep-mgf1p"
	methodECDHES    = nsXENC11 + "ECDH-ES"
	methodX25519    = nsMore + "x25519"
	methodConcatKDF = nsXENC11 + "ConcatKDF"
	methodHKDF      = nsMore + "hkdf"
)

// Names of KeyTransport.
const (
	transportOAEP      = "rsa-oaep"
	transportOAEPMGF1P = "rsa-oaep-mgf1p"
	transportECDHES    = "ecdh-es"
	transportX25519    = "x25519"
	derivationConcat   = "concat-kdf"
	derivationHKDF     = "hkdf"
)
