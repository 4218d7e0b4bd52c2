package wssec

import (
	"bytes"
	"crypto"
	"encoding/hex"
	"math/big"
	"testing"

	"edigw/internal/certs"
)

func fromHex(t testing.TB, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestConcatKDF compares with what openssl's SSKDF (SP 800-56C, the same function)
// gives: openssl kdf -keylen N -kdfopt digest:… -kdfopt hexkey:… -kdfopt hexinfo:… SSKDF.
func TestConcatKDF(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		hash               crypto.Hash
		secret, info, want string
	}{
		{crypto.SHA256, "000102030405060708090a0b0c0d0e0f", "", "47f7ee88f8d079c8f7f81c40c51b9e2b"},
		{crypto.SHA256, "00112233445566778899aabbccddeeff", "03d8abcd", "548bc8cbca639ef488683b0cbf5cf4396163c394d93aab5826d745a3da660d416d8002685b31c629f862f65367ad9471683ef2322e81c6c63cb1de636fb01b6ca2a3db6a32bdfe8acdc0dacae71ea7a7"},
		{crypto.SHA384, "00112233445566778899aabbccddeeff", "03d8abcd", "ae1612aa180100c2b3481e81bc0e36a8708917a37c9d297d79ae610b3e71135e"},
		{crypto.SHA512, "00112233445566778899aabbccddeeff", "", "f09620ab0cf3f486b5263d000a29aa6b92dd4fc2324cbe2c"},
	} {
		want := fromHex(t, tc.want)
		if got := concatKDF(tc.hash, fromHex(t, tc.secret), fromHex(t, tc.info), len(want)); !bytes.Equal(got, want) {
			t.Errorf("%v of %s with %s: %x, want %x", tc.hash, tc.secret, tc.info, got, want)
		}
	}
}

// TestSharedSecretKeepsItsZeros: the secret is as long as the field, whatever it
// begins with (SEC 1 §3.3.1). 856 times the generator begins with a zero.
func TestSharedSecretKeepsItsZeros(t *testing.T) {
	t.Parallel()
	brainpool, _ := curveByOID("1.3.36.3.3.2.8.1.1.7")
	p := certs.BrainpoolP256r1().Params()
	generator, err := brainpool.key(uncompressed(certs.BrainpoolP256r1(), p.Gx, p.Gy))
	if err != nil {
		t.Fatal(err)
	}
	secret, err := multiply(generator, big.NewInt(856).Bytes())
	if want := fromHex(t, "00991ae878a54a2a16850e57e67fa7a3263c85a234ef0119814edf8ed311dccc"); err != nil || !bytes.Equal(secret, want) {
		t.Errorf("%x, %v", secret, err)
	}
}

func TestBitStrings(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		text, want string
		ok         bool
	}{
		{"", "", true}, {" ", "", true}, {"00", "", true}, {"0000", "00", true}, {"0003D8", "03d8", true}, {" 00ab ", "ab", true},
		{"03D8", "", false}, {"08", "", false}, {"0", "", false}, {"000", "", false}, {"0x", "", false}, {"07", "", false},
		{hex.EncodeToString(make([]byte, maxInfo+1)), "", false},
	} {
		got, err := readBits("PartyUInfo", tc.text)
		if (err == nil) != tc.ok || hex.EncodeToString(got) != tc.want {
			t.Errorf("%.20q: %x, %v", tc.text, got, err)
		}
	}
}
