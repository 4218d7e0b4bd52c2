package smime

import "encoding/asn1"

// Object identifiers as the bytes of their encoding, which is what they are
// compared by.
const (
	// Content types (RFC 5652, 5083, 3274).
	oidData              = "\x2a\x86\x48\x86\xf7\x0d\x01\x07\x01"         // 1.2.840.113549.1.7.1
	oidSignedData        = "\x2a\x86\x48\x86\xf7\x0d\x01\x07\x02"         // 1.2.840.113549.1.7.2
	oidEnvelopedData     = "\x2a\x86\x48\x86\xf7\x0d\x01\x07\x03"         // 1.2.840.113549.1.7.3
	oidAuthEnvelopedData = "\x2a\x86\x48\x86\xf7\x0d\x01\x09\x10\x01\x17" // 1.2.840.113549.1.9.16.1.23
	oidCompressedData    = "\x2a\x86\x48\x86\xf7\x0d\x01\x09\x10\x01\x09" // 1.2.840.113549.1.9.16.1.9

	// Attributes (RFC 5652 §11).
	oidAttrContentType   = "\x2a\x86\x48\x86\xf7\x0d\x01\x09\x03" // 1.2.840.113549.1.9.3
	oidAttrMessageDigest = "\x2a\x86\x48\x86\xf7\x0d\x01\x09\x04" // 1.2.840.113549.1.9.4
	oidAttrSigningTime   = "\x2a\x86\x48\x86\xf7\x0d\x01\x09\x05" // 1.2.840.113549.1.9.5

	// Digests (RFC 3370 §2, 5754 §2).
	oidSHA1   = "\x2b\x0e\x03\x02\x1a"                 // 1.3.14.3.2.26
	oidSHA256 = "\x60\x86\x48\x01\x65\x03\x04\x02\x01" // 2.16.840.1.101.3.4.2.1
	oidSHA384 = "\x60\x86\x48\x01\x65\x03\x04\x02\x02" // 2.16.840.1.101.3.4.2.2
	oidSHA512 = "\x60\x86\x48\x01\x65\x03\x04\x02\x03" // 2.16.840.1.101.3.4.2.3

	// Signatures and key transport (RFC 3370 §3 and §4, 5754 §3, 4056, 8017).
	oidRSA             = "\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01" // 1.2.840.113549.1.1.1
	oidRSAOAEP         = "\x2a\x86\x48\x86\xf7\x0d\x01\x01\x07" // 1.2.840.113549.1.1.7
	oidMGF1            = "\x2a\x86\x48\x86\xf7\x0d\x01\x01\x08" // 1.2.840.113549.1.1.8
	oidRSAPSS          = "\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0a" // 1.2.840.113549.1.1.10
	oidSHA1WithRSA     = "\x2a\x86\x48\x86\xf7\x0d\x01\x01\x05" // 1.2.840.113549.1.1.5
	oidSHA256WithRSA   = "\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0b" // 1.2.840.113549.1.1.11
	oidSHA384WithRSA   = "\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0c" // 1.2.840.113549.1.1.12
	oidSHA512WithRSA   = "\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0d" // 1.2.840.113549.1.1.13
	oidECPublicKey     = "\x2a\x86\x48\xce\x3d\x02\x01"         // 1.2.840.10045.2.1
	oidECDSAWithSHA1   = "\x2a\x86\x48\xce\x3d\x04\x01"         // 1.2.840.10045.4.1
	oidECDSAWithSHA256 = "\x2a\x86\x48\xce\x3d\x04\x03\x02"     // 1.2.840.10045.4.3.2
	oidECDSAWithSHA384 = "\x2a\x86\x48\xce\x3d\x04\x03\x03"     // 1.2.840.10045.4.3.3
	oidECDSAWithSHA512 = "\x2a\x86\x48\xce\x3d\x04\x03\x04"     // 1.2.840.10045.4.3.4

	// Ciphers (RFC 3370 §5, 3565) and compression (RFC 3274 §2).
	oidDESEDE3CBC = "\x2a\x86\x48\x86\xf7\x0d\x03\x07"             // 1.2.840.113549.3.7
	oidAES128CBC  = "\x60\x86\x48\x01\x65\x03\x04\x01\x02"         // 2.16.840.1.101.3.4.1.2
	oidAES192CBC  = "\x60\x86\x48\x01\x65\x03\x04\x01\x16"         // 2.16.840.1.101.3.4.1.22
	oidAES256CBC  = "\x60\x86\x48\x01\x65\x03\x04\x01\x2a"         // 2.16.840.1.101.3.4.1.42
	oidZlib       = "\x2a\x86\x48\x86\xf7\x0d\x01\x09\x10\x03\x08" // 1.2.840.113549.1.9.16.3.8
)

// oidText writes an identifier with dots, for messages to people.
func oidText(oid string) string {
	var id asn1.ObjectIdentifier
	if _, err := asn1.Unmarshal(tlv(tagOID, []byte(oid)), &id); err != nil {
		return "an invalid object identifier"
	}
	return id.String()
}
