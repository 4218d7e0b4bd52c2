package keywrap

import (
	"bytes"
	"encoding/hex"
	"testing"
)

// The test vectors of RFC 3394 §4.
func TestKeyWrapOfRFC3394(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ section, kek, key, wrapped string }{
		{"4.1", "000102030405060708090A0B0C0D0E0F", "00112233445566778899AABBCCDDEEFF", "1FA68B0A8112B447AEF34BD8FB5A7B829D3E862371D2CFE5"},
		{"4.2", "000102030405060708090A0B0C0D0E0F1011121314151617", "00112233445566778899AABBCCDDEEFF", "96778B25AE6CA435F92B5B97C050AED2468AB8A17AD84E5D"},
		{"4.3", "000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F", "00112233445566778899AABBCCDDEEFF", "64E8C3F9CE0F5BA263E9777905818A2A93C8191E7D6E8AE7"},
		{"4.4", "000102030405060708090A0B0C0D0E0F1011121314151617", "00112233445566778899AABBCCDDEEFF0001020304050607", "031D33264E15D33268F24EC260743EDCE1C6C7DDEE725A936BA814915C6762D2"},
		{"4.5", "000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F", "00112233445566778899AABBCCDDEEFF0001020304050607", "A8F9BC1612C68B3FF6E6F4FBE30E71E4769C8B80A32CB8958CD5D17D6B254DA1"},
		{"4.6", "000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F", "00112233445566778899AABBCCDDEEFF000102030405060708090A0B0C0D0E0F", "28C9F404C4B810F4CBCCB35CFB87F8263F5786E2D80ED326CBC7F0E71A99F43BFB988B9B7A02DD21"},
	} {
		kek, key, wrapped := unhex(t, tt.kek), unhex(t, tt.key), unhex(t, tt.wrapped)
		if got, err := Wrap(kek, key); err != nil || !bytes.Equal(got, wrapped) {
			t.Errorf("§%s: wrapped to %X, %v", tt.section, got, err)
		}
		if got, err := Unwrap(kek, wrapped); err != nil || !bytes.Equal(got, key) {
			t.Errorf("§%s: unwrapped to %X, %v", tt.section, got, err)
		}
		for i := range wrapped {
			changed := bytes.Clone(wrapped)
			changed[i] ^= 1
			if got, err := Unwrap(kek, changed); err == nil {
				t.Errorf("§%s, byte %d changed: unwrapped to %X", tt.section, i, got)
			}
		}
	}
	kek := make([]byte, 16)
	for _, size := range []int{0, 7, 8, 16, 23, 25} {
		if _, err := Unwrap(kek, make([]byte, size)); err == nil {
			t.Errorf("%d bytes unwrapped", size)
		}
	}
	for _, size := range []int{0, 8, 17} {
		if _, err := Wrap(kek, make([]byte, size)); err == nil {
			t.Errorf("%d bytes wrapped", size)
		}
	}
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
