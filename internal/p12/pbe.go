package p12

import (
	"bytes"
	"crypto"
	"crypto/aes"
	"crypto/cipher"
	"crypto/des"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"hash"
	"math/big"
	"unicode/utf16"

	"edigw/internal/ber"

	_ "crypto/sha1" // crypto.Hash.New needs them linked in
	_ "crypto/sha256"
	_ "crypto/sha512"
)

// Bounds of what a key store may make us compute.
const (
	maxIterations = 2_000_000  // of one derivation; today's writers use up to 600,000
	maxWork       = 40_000_000 // of all derivations of a store, each time that one goes through its iterations
	maxSalt       = 1 << 10
	maxMACKey     = 1 << 10
)

// Purposes of a derived key (RFC 7292 §B.3).
const (
	forKey byte = 1
	forIV  byte = 2
	forMAC byte = 3
)

type (
	pbeParams struct {
		Salt       []byte
		Iterations int
	}
	pbes2Params struct {
		KDF    pkix.AlgorithmIdentifier
		Scheme pkix.AlgorithmIdentifier
	}
	pbkdf2Params struct {
		Salt       []byte
		Iterations int
		KeyLength  int                      `asn1:"optional"`
		PRF        pkix.AlgorithmIdentifier `asn1:"optional"`
	}
)

// passwordCiphers are the schemes of RFC 7292 appendix C.
var passwordCiphers = map[string]struct {
	size  int
	block func(key []byte) (cipher.Block, error)
}{
	"1.2.840.113549.1.12.1.3": {24, des.NewTripleDESCipher},
	"1.2.840.113549.1.12.1.4": {16, func(k []byte) (cipher.Block, error) { return des.NewTripleDESCipher(append(k[:16:16], k[:8]...)) }},
	"1.2.840.113549.1.12.1.5": {16, func(k []byte) (cipher.Block, error) { return newRC2(k), nil }},
	"1.2.840.113549.1.12.1.6": {5, func(k []byte) (cipher.Block, error) { return newRC2(k), nil }},
}

// schemes are the ciphers of PBES2 (RFC 8018 §B.2).
var schemes = map[string]struct {
	size  int
	block func(key []byte) (cipher.Block, error)
}{
	"1.2.840.113549.3.7":      {24, des.NewTripleDESCipher},
	"2.16.840.1.101.3.4.1.2":  {16, aes.NewCipher},
	"2.16.840.1.101.3.4.1.22": {24, aes.NewCipher},
	"2.16.840.1.101.3.4.1.42": {32, aes.NewCipher},
}

// functions are the pseudo-random functions of PBKDF2 (RFC 8018 §B.1).
var functions = map[string]crypto.Hash{
	"":                    crypto.SHA1,
	"1.2.840.113549.2.7":  crypto.SHA1,
	"1.2.840.113549.2.9":  crypto.SHA256,
	"1.2.840.113549.2.10": crypto.SHA384,
	"1.2.840.113549.2.11": crypto.SHA512,
}

// digests are those of the MAC.
var digests = map[string]crypto.Hash{
	"1.3.14.3.2.26":          crypto.SHA1,
	"2.16.840.1.101.3.4.2.1": crypto.SHA256,
	"2.16.840.1.101.3.4.2.2": crypto.SHA384,
	"2.16.840.1.101.3.4.2.3": crypto.SHA512,
}

const (
	oidPBES2  = "1.2.840.113549.1.5.13"
	oidPBKDF2 = "1.2.840.113549.1.5.12"
	oidPBMAC1 = "1.2.840.113549.1.5.14"
)

// decrypt opens what is encrypted by password. A wrong password and damaged
// content cannot be told apart.
func (r *reader) decrypt(alg pkix.AlgorithmIdentifier, data []byte) ([]byte, error) {
	mode, err := r.mode(alg)
	if err != nil {
		return nil, err
	}
	size := mode.BlockSize()
	if len(data) == 0 || len(data)%size != 0 {
		return nil, ErrMalformed
	}
	out := make([]byte, len(data))
	mode.CryptBlocks(out, data)
	pad := int(out[len(out)-1])
	if pad == 0 || pad > size || !bytes.Equal(out[len(out)-pad:], bytes.Repeat([]byte{byte(pad)}, pad)) {
		return nil, ErrPassword
	}
	return out[:len(out)-pad], nil
}

func (r *reader) mode(alg pkix.AlgorithmIdentifier) (cipher.BlockMode, error) {
	oid := alg.Algorithm.String()
	if oid == oidPBES2 {
		return r.pbes2(alg)
	}
	c, known := passwordCiphers[oid]
	if !known {
		return nil, unsupported("encryption %s", oid)
	}
	var p pbeParams
	if !whole(alg.Parameters.FullBytes, &p) {
		return nil, ErrMalformed
	}
	if err := r.allow(p, rounds(c.size, crypto.SHA1)+1); err != nil {
		return nil, err
	}
	key := derive(crypto.SHA1, forKey, p.Salt, r.bmp, p.Iterations, c.size)
	iv := derive(crypto.SHA1, forIV, p.Salt, r.bmp, p.Iterations, 8)
	block, err := c.block(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewCBCDecrypter(block, iv), nil
}

func (r *reader) pbes2(alg pkix.AlgorithmIdentifier) (cipher.BlockMode, error) {
	var p pbes2Params
	if !whole(alg.Parameters.FullBytes, &p) {
		return nil, ErrMalformed
	}
	s, known := schemes[p.Scheme.Algorithm.String()]
	if !known {
		return nil, unsupported("encryption %s", p.Scheme.Algorithm)
	}
	key, err := r.stretched(p.KDF, s.size)
	if err != nil {
		return nil, err
	}
	block, err := s.block(key)
	if err != nil {
		return nil, err
	}
	var iv []byte
	if !whole(p.Scheme.Parameters.FullBytes, &iv) || len(iv) != block.BlockSize() {
		return nil, ErrMalformed
	}
	return cipher.NewCBCDecrypter(block, iv), nil
}

// stretched derives a key by PBKDF2 (RFC 8018 §5.2). The password is UTF-8. The
// key has size bytes; 0: as many as the parameters say.
func (r *reader) stretched(kdf pkix.AlgorithmIdentifier, size int) ([]byte, error) {
	var k pbkdf2Params
	if kdf.Algorithm.String() != oidPBKDF2 {
		return nil, unsupported("key derivation %s", kdf.Algorithm)
	}
	if !whole(kdf.Parameters.FullBytes, &k) {
		return nil, ErrMalformed
	}
	h, known := functions[k.PRF.Algorithm.String()]
	if !known {
		return nil, unsupported("pseudo-random function %s", k.PRF.Algorithm)
	}
	if size == 0 {
		if size = k.KeyLength; size < 1 || size > maxMACKey {
			return nil, ErrMalformed
		}
	}
	if err := r.allow(pbeParams{k.Salt, k.Iterations}, rounds(size, h)); err != nil {
		return nil, err
	}
	return pbkdf2.Key(h.New, r.password, k.Salt, k.Iterations, size)
}

// rounds is how often a derivation goes through its iterations.
func rounds(size int, h crypto.Hash) int { return (size + h.Size() - 1) / h.Size() }

// allow holds the bounds on what is derived.
func (r *reader) allow(p pbeParams, rounds int) error {
	if p.Iterations < 1 || len(p.Salt) > maxSalt {
		return ErrMalformed
	}
	if p.Iterations <= maxIterations {
		r.left -= p.Iterations * rounds
	}
	if p.Iterations > maxIterations || r.left < 0 {
		return unsupported("key derivations of more than %d iterations, %d in all", maxIterations, maxWork)
	}
	return nil
}

// bmp is a password as RFC 7292 §B.1 has it: two bytes a character, with an end.
func bmp(password string) []byte {
	var out []byte
	for _, u := range utf16.Encode([]rune(password)) {
		out = append(out, byte(u>>8), byte(u))
	}
	return append(out, 0, 0)
}

// derive is the key derivation of RFC 7292 §B.2.
func derive(hash crypto.Hash, purpose byte, salt, password []byte, iterations, size int) []byte {
	h := hash.New()
	u, v := h.Size(), h.BlockSize()
	fill := func(b []byte) (out []byte) {
		for n := (len(b) + v - 1) / v * v; len(out) < n; {
			out = append(out, b[:min(len(b), n-len(out))]...)
		}
		return out
	}
	d := bytes.Repeat([]byte{purpose}, v)
	i := append(fill(salt), fill(password)...)
	var out []byte
	for len(out) < size {
		a := stretch(h, append(d[:v:v], i...), iterations)
		out = append(out, a...)
		b := new(big.Int).SetBytes(bytes.Repeat(a, v/u+1)[:v])
		b.Add(b, big.NewInt(1))
		for j := 0; j < len(i); j += v {
			n := new(big.Int).SetBytes(i[j : j+v])
			n.Add(n, b)
			sum := n.Bytes()
			if len(sum) > v {
				sum = sum[len(sum)-v:]
			}
			clear(i[j : j+v])
			copy(i[j+v-len(sum):j+v], sum)
		}
	}
	return out[:size]
}

// stretch hashes data so many times.
func stretch(h hash.Hash, data []byte, times int) []byte {
	for range times {
		h.Reset()
		h.Write(data)
		data = h.Sum(nil)
	}
	return data
}

// checkMAC verifies the MAC over the safe, by RFC 7292 appendix B or as PBMAC1
// (RFC 9579).
func (r *reader) checkMAC(m macData, safe []byte) error {
	oid := m.Mac.Algorithm.Algorithm.String()
	if oid == oidPBMAC1 {
		var p pbes2Params
		if !whole(m.Mac.Algorithm.Parameters.FullBytes, &p) {
			return ErrMalformed
		}
		h, known := functions[p.Scheme.Algorithm.String()]
		if !known || len(p.Scheme.Algorithm) == 0 {
			return unsupported("MAC %s", p.Scheme.Algorithm)
		}
		key, err := r.stretched(p.KDF, 0) // RFC 9579 §4: keyLength must be there
		if err != nil {
			return err
		}
		return verify(h, key, safe, m.Mac.Digest)
	}
	h, known := digests[oid]
	p := pbeParams{m.Salt, m.Iterations}
	if !known {
		return unsupported("MAC %s", oid)
	}
	if err := r.allow(p, 2); err != nil { // one for each form of an empty password
		return err
	}
	if verify(h, derive(h, forMAC, m.Salt, r.bmp, m.Iterations, h.Size()), safe, m.Mac.Digest) == nil {
		return nil
	}
	if r.password == "" { // some writers leave the end of the empty text out
		r.bmp = nil
		return verify(h, derive(h, forMAC, m.Salt, r.bmp, m.Iterations, h.Size()), safe, m.Mac.Digest)
	}
	return ErrPassword
}

func verify(h crypto.Hash, key, data, want []byte) error {
	mac := hmac.New(h.New, key)
	mac.Write(data)
	if !hmac.Equal(mac.Sum(nil), want) {
		return ErrPassword
	}
	return nil
}

// whole reads BER, all of it.
func (r *reader) whole(data []byte, into any) error {
	der, err := r.ber.DER(data)
	switch {
	case errors.Is(err, ber.ErrMalformed), err == nil && !whole(der, into):
		return ErrMalformed
	case err != nil:
		return unsupported("%v", err)
	}
	return nil
}

// whole reads der, all of it.
func whole(der []byte, into any) bool {
	rest, err := asn1.Unmarshal(der, into)
	return err == nil && len(rest) == 0
}
