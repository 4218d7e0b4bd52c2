package gcm

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"encoding/hex"
	"math/rand/v2"
	"testing"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// sealChunks encrypts in chunks whose lengths cut gives, each of whole blocks
// but the last.
func sealChunks(t testing.TB, key, nonce, plain, additional []byte, cut func(left int) int) (encrypted, tag []byte) {
	t.Helper()
	c, err := New(key, nonce)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]byte, len(plain))
	for done := 0; done < len(plain); {
		n := min(cut(len(plain)-done), len(plain)-done)
		c.Seal(out[done:done+n], plain[done:done+n])
		done += n
	}
	sum := c.Tag(additional)
	return out, sum[:]
}

// The test cases of "The Galois/Counter Mode of Operation" (McGrew and Viega,
// submission to NIST, appendix B) whose nonce has 12 bytes.
func TestGCMOfTheSpecification(t *testing.T) {
	t.Parallel()
	const (
		long  = "feffe9928665731c6d6a8f9467308308"
		plain = "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b391aafd255"
		data  = "feedfacedeadbeeffeedfacedeadbeefabaddad2"
		nonce = "cafebabefacedbaddecaf888"
		zero  = "00000000000000000000000000000000"
	)
	for _, tt := range []struct{ name, key, nonce, plain, additional, encrypted, tag string }{
		{"1", zero, zero[:24], "", "", "", "58e2fccefa7e3061367f1d57a4e7455a"},
		{"2", zero, zero[:24], zero, "", "0388dace60b6a392f328c2b971b2fe78", "ab6e47d42cec13bdf53a67b21257bddf"},
		{"3", long, nonce, plain, "", "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091473f5985", "4d5c2af327cd64a62cf35abd2ba6fab4"},
		{"4", long, nonce, plain[:120], data, "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091", "5bc94fbc3221a5db94fae95ae7121a47"},
		{"7", zero + zero[:16], zero[:24], "", "", "", "cd33b28ac773f74ba00ed1f312572435"},
		{"8", zero + zero[:16], zero[:24], zero, "", "98e7247c07f0fe411c267e4384b0f600", "2ff58d80033927ab8ef4d4587514f0fb"},
		{"10", long + long[:16], nonce, plain[:120], data, "3980ca0b3c00e841eb06fac4872a2757859e1ceaa6efd984628593b40ca1e19c7d773d00c144c525ac619d18c84a3f4718e2448b2fe324d9ccda2710", "2519498e80f1478f37ba55bd6d27618c"},
		{"13", zero + zero, zero[:24], "", "", "", "530f8afbc74536b9a963b4f1c4cb738b"},
		{"14", zero + zero, zero[:24], zero, "", "cea7403d4d606b6e074ec5d3baf39d18", "d0d1c8a799996bf0265b98b5d48ab919"},
		{"16", long + long, nonce, plain[:120], data, "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662", "76fc6ece0f4e1768cddf8853bb2d551b"},
	} {
		for _, size := range []int{16, 32, 64 << 10} {
			got, tag := sealChunks(t, unhex(t, tt.key), unhex(t, tt.nonce), unhex(t, tt.plain), unhex(t, tt.additional),
				func(int) int { return size })
			if !bytes.Equal(got, unhex(t, tt.encrypted)) || !bytes.Equal(tag, unhex(t, tt.tag)) {
				t.Errorf("test case %s in chunks of %d: %x, tag %x", tt.name, size, got, tag)
			}
		}
	}
}

// Any lengths, any cuts: the same as the standard library gives in one piece.
func TestGCMByChunksIsGCM(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 4))
	random := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		return b
	}
	for round := range 6000 {
		limit := 700
		if round%100 == 0 {
			limit = 5 * 64 << 10
		}
		key, nonce := random([]int{16, 24, 32}[round%3]), random(NonceSize)
		plain, additional := random(rng.IntN(limit)), random(rng.IntN(100)*(round%2))
		block, err := aes.NewCipher(key)
		if err != nil {
			t.Fatal(err)
		}
		aead, err := cipher.NewGCM(block)
		if err != nil {
			t.Fatal(err)
		}
		want := aead.Seal(nil, nonce, plain, additional)
		got, tag := sealChunks(t, key, nonce, plain, additional, func(left int) int {
			return 16 * (1 + rng.IntN(1+left/16))
		})
		if !bytes.Equal(append(got, tag...), want) {
			t.Fatalf("round %d: %d bytes, %d of additional data: differs", round, len(plain), len(additional))
		}
	}
}

func TestFieldOfGHASH(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(5, 6))
	random := func() gf128 { return gf128{rng.Uint64(), rng.Uint64()} }
	for range 200 {
		x, y, z := random(), random(), random()
		switch {
		case x.times(y) != y.times(x):
			t.Fatal("a product depends on the order")
		case x.times(y.times(z)) != x.times(y).times(z):
			t.Fatal("a product depends on where it begins")
		case x.times(y.plus(z)) != x.times(y).plus(x.times(z)):
			t.Fatal("a product of a sum is not the sum of products")
		case x.power(0).times(y) != y || x.power(5) != x.times(x).times(x).times(x).times(x):
			t.Fatal("a power is not a product")
		}
	}
}

// What was sealed by chunks opens by chunks, whatever the cuts were.
func TestOpenUndoesSeal(t *testing.T) {
	t.Parallel()
	key, nonce := make([]byte, 32), make([]byte, NonceSize)
	plain := bytes.Repeat([]byte("LIN+1++4711:EN'"), 1000)
	sealed, tag := sealChunks(t, key, nonce, plain, nil, func(int) int { return 4096 })
	s, err := New(key, nonce)
	if err != nil {
		t.Fatal(err)
	}
	for rest := sealed; len(rest) > 0; {
		n := min(len(rest), 48)
		s.Open(rest[:n])
		rest = rest[n:]
	}
	if got := s.Tag(nil); !bytes.Equal(sealed, plain) || !bytes.Equal(got[:], tag) {
		t.Errorf("tag %x, want %x; the content is the same: %t", got, tag, bytes.Equal(sealed, plain))
	}
}

func TestBounds(t *testing.T) {
	t.Parallel()
	s, err := New(make([]byte, 16), make([]byte, NonceSize))
	if err != nil {
		t.Fatal(err)
	}
	s.sum.size = Longest - 32
	if err := s.Fits(32); err != nil {
		t.Errorf("up to the bound: %v", err)
	}
	if err := s.Fits(33); err == nil {
		t.Error("more than the bound fits")
	}
	for _, tc := range []struct{ key, nonce int }{{16, 0}, {16, 8}, {16, 16}, {0, 12}, {15, 12}, {33, 12}} {
		if _, err := New(make([]byte, tc.key), make([]byte, tc.nonce)); err == nil {
			t.Errorf("a key of %d and a nonce of %d bytes are taken", tc.key, tc.nonce)
		}
	}
}
