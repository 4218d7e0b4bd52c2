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

	// Attributes (RFC 5652 §11, 6211).
	oidAttrContentType   = "\x2a\x86\x48\x86\xf7\x0d\x01\x09\x03" // 1.2.840.113549.1.9.3
	oidAttrMessageDigest = "\x2a\x86\x48\x86\xf7\x0d\x01\x09\x04" // 1.2.840.113549.1.9.4
	oidAttrSigningTime   = "\x2a\x86\x48\x86\xf7\x0d\x01\x09\x05" // 1.2.840.113549.1.9.5
	oidAttrProtection    = "\x2a\x86\x48\x86\xf7\x0d\x01\x09\x34" // 1.2.840.113549.1.9.52

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

// maxOID is the longest identifier that is shown, in bytes; real ones have up
// to twenty.
const maxOID = 64

// oidText writes an identifier with dots, for messages to people.
func oidText(oid string) string {
	var id asn1.ObjectIdentifier
	if _, err := asn1.Unmarshal(tlv(tagOID, []byte(oid)), &id); err != nil || len(oid) > maxOID {
		return "an invalid object identifier"
	}
	return id.String()
}

// Object identifiers of encryption.
const (
	// Authenticated ciphers (RFC 5084 §3.2).
	oidAES128GCM = "\x60\x86\x48\x01\x65\x03\x04\x01\x06" // 2.16.840.1.101.3.4.1.6
	oidAES192GCM = "\x60\x86\x48\x01\x65\x03\x04\x01\x1a" // 2.16.840.1.101.3.4.1.26
	oidAES256GCM = "\x60\x86\x48\x01\x65\x03\x04\x01\x2e" // 2.16.840.1.101.3.4.1.46

	// RSAES-OAEP (RFC 8017 A.2.1).
	oidPSpecified = "\x2a\x86\x48\x86\xf7\x0d\x01\x01\x09" // 1.2.840.113549.1.1.9

	// Key agreement (RFC 5753 §7.1.4) and key wrap (RFC 3565 §2.3.2).
	oidStdDHSHA1        = "\x2b\x81\x05\x10\x86\x48\x3f\x00\x02"         // 1.3.133.16.840.63.0.2
	oidStdDHSHA256      = "\x2b\x81\x04\x01\x0b\x01"                     // 1.3.132.1.11.1
	oidStdDHSHA384      = "\x2b\x81\x04\x01\x0b\x02"                     // 1.3.132.1.11.2
	oidStdDHSHA512      = "\x2b\x81\x04\x01\x0b\x03"                     // 1.3.132.1.11.3
	oidCofactorDHSHA1   = "\x2b\x81\x05\x10\x86\x48\x3f\x00\x03"         // 1.3.133.16.840.63.0.3
	oidCofactorDHSHA256 = "\x2b\x81\x04\x01\x0e\x01"                     // 1.3.132.1.14.1
	oidCofactorDHSHA384 = "\x2b\x81\x04\x01\x0e\x02"                     // 1.3.132.1.14.2
	oidCofactorDHSHA512 = "\x2b\x81\x04\x01\x0e\x03"                     // 1.3.132.1.14.3
	oidAES128Wrap       = "\x60\x86\x48\x01\x65\x03\x04\x01\x05"         // 2.16.840.1.101.3.4.1.5
	oidAES192Wrap       = "\x60\x86\x48\x01\x65\x03\x04\x01\x19"         // 2.16.840.1.101.3.4.1.25
	oidAES256Wrap       = "\x60\x86\x48\x01\x65\x03\x04\x01\x2d"         // 2.16.840.1.101.3.4.1.45
	oid3DESWrap         = "\x2a\x86\x48\x86\xf7\x0d\x01\x09\x10\x03\x06" // 1.2.840.113549.1.9.16.3.6

	// Ciphers that are refused by name.
	oidRC2CBC           = "\x2a\x86\x48\x86\xf7\x0d\x03\x02"             // 1.2.840.113549.3.2
	oidRC4              = "\x2a\x86\x48\x86\xf7\x0d\x03\x04"             // 1.2.840.113549.3.4
	oidDESCBC           = "\x2b\x0e\x03\x02\x07"                         // 1.3.14.3.2.7
	oidAES128CCM        = "\x60\x86\x48\x01\x65\x03\x04\x01\x07"         // 2.16.840.1.101.3.4.1.7
	oidAES192CCM        = "\x60\x86\x48\x01\x65\x03\x04\x01\x1b"         // 2.16.840.1.101.3.4.1.27
	oidAES256CCM        = "\x60\x86\x48\x01\x65\x03\x04\x01\x2f"         // 2.16.840.1.101.3.4.1.47
	oidChaCha20Poly1305 = "\x2a\x86\x48\x86\xf7\x0d\x01\x09\x10\x03\x12" // 1.2.840.113549.1.9.16.3.18
)

// refusedNames are the names that people know algorithms by which are not taken.
var refusedNames = map[string]string{
	oidRC2CBC:           "RC2-CBC",
	oidRC4:              "RC4",
	oidDESCBC:           "DES-CBC",
	oidAES128CCM:        "AES-128-CCM",
	oidAES192CCM:        "AES-192-CCM",
	oidAES256CCM:        "AES-256-CCM",
	oidChaCha20Poly1305: "ChaCha20-Poly1305",
	oid3DESWrap:         "Triple-DES key wrap",
}

// refusedText names an algorithm that is not taken, for messages to people.
func refusedText(oid string) string {
	if name, ok := refusedNames[oid]; ok {
		return name + " (" + oidText(oid) + ")"
	}
	return oidText(oid)
}
