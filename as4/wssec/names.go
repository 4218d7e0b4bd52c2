package wssec

// Namespaces.
const (
	nsSOAP   = "http://www.w3.org/2003/05/soap-envelope"
	nsWSSE   = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd"
	nsWSU    = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd"
	nsWSSE11 = "http://docs.oasis-open.org/wss/oasis-wss-wssecurity-secext-1.1.xsd"
	nsDS     = "http://www.w3.org/2000/09/xmldsig#"
)

// Identifiers of the SOAP Message Security, X.509 token and SwA profiles.
const (
	soapSecurity   = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-soap-message-security-1.0"
	soapSecurity11 = "http://docs.oasis-open.org/wss/oasis-wss-soap-message-security-1.1"
	x509Profile    = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-x509-token-profile-1.0"
	swaProfile     = "http://docs.oasis-open.org/wss/oasis-wss-SwAProfile-1.1"

	encodingBase64  = soapSecurity + "#Base64Binary"
	typeX509        = x509Profile + "#X509v3"
	typePKIPath     = x509Profile + "#X509PKIPathv1"
	typePKCS7       = x509Profile + "#PKCS7"
	typeSKI         = x509Profile + "#X509SubjectKeyIdentifier"
	typeThumbprint  = soapSecurity11 + "#ThumbprintSHA1"
	transformSTR    = soapSecurity + "#STR-Transform"
	transformPart   = swaProfile + "#Attachment-Content-Signature-Transform"
	transformWhole  = swaProfile + "#Attachment-Complete-Signature-Transform"
	exclusiveC14N   = "http://www.w3.org/2001/10/xml-exc-c14n#"
	prefixListSpace = exclusiveC14N // of InclusiveNamespaces
)
