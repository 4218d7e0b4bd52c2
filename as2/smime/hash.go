package smime

import (
	"crypto"
	_ "crypto/sha1" // crypto.Hash.New needs them linked in
	_ "crypto/sha256"
	_ "crypto/sha512"
	"strings"
)

// digestAlgorithm ties together the names under which one hash goes.
type digestAlgorithm struct {
	hash    crypto.Hash
	name    string // RFC 5751 §3.4.3.2
	oid     string
	rsaOID  string // PKCS #1 v1.5 with this hash
	ecOID   string // ECDSA with this hash
	aliases []string
}

var digestAlgorithms = []digestAlgorithm{
	{crypto.SHA1, "sha-1", oidSHA1, oidSHA1WithRSA, oidECDSAWithSHA1, []string{"sha1", "rsasha1"}},
	{crypto.SHA256, "sha-256", oidSHA256, oidSHA256WithRSA, oidECDSAWithSHA256, []string{"sha256", "rsasha256", "sha2256", "rsassapsssha256"}},
	{crypto.SHA384, "sha-384", oidSHA384, oidSHA384WithRSA, oidECDSAWithSHA384, []string{"sha384", "rsasha384", "sha2384", "rsassapsssha384"}},
	{crypto.SHA512, "sha-512", oidSHA512, oidSHA512WithRSA, oidECDSAWithSHA512, []string{"sha512", "rsasha512", "sha2512", "rsassapsssha512"}},
}

// HashByName finds a digest under any spelling seen in micalg parameters and
// MIC fields: sha1, SHA-256, rsa-sha256, sha2_256 and the like; case, dashes
// and underscores do not count. It knows SHA-1, SHA-256, SHA-384 and SHA-512.
// QUIRK(as2-lib): names the digest of a PSS signature rsassa-pss-sha-256.
func HashByName(name string) (crypto.Hash, bool) {
	name = strings.ToLower(strings.TrimSpace(name))
	name = strings.ReplaceAll(strings.ReplaceAll(name, "-", ""), "_", "")
	for _, d := range digestAlgorithms {
		for _, alias := range d.aliases {
			if name == alias {
				return d.hash, true
			}
		}
	}
	return 0, false
}

// HashName gives the spelling of RFC 5751 §3.4.3.2, such as sha-256, or ""
// for a hash that HashByName does not know.
func HashName(h crypto.Hash) string {
	d, _ := digestByHash(h)
	return d.name
}

func digestByHash(h crypto.Hash) (digestAlgorithm, bool) {
	for _, d := range digestAlgorithms {
		if d.hash == h {
			return d, true
		}
	}
	return digestAlgorithm{}, false
}

func digestByOID(oid string) (digestAlgorithm, bool) {
	for _, d := range digestAlgorithms {
		if d.oid == oid {
			return d, true
		}
	}
	return digestAlgorithm{}, false
}
