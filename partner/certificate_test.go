package partner

import (
	"bytes"
	"encoding/asn1"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func sampleKey(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(samples, "keys", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestCertificateFormats(t *testing.T) {
	t.Parallel()
	bundle := sampleKey(t, "tailspin.p7b")
	for _, test := range []struct {
		name string
		data []byte
		want []string
	}{
		{"PEM", sampleKey(t, "northwind-2026.pem"), []string{"4F:22"}},
		{"several PEM", sampleKey(t, "two.pem"), []string{"4F:22", "4F:23"}},
		{"PEM with a key", sampleKey(t, "acme-next.pem"), []string{"4F:21"}},
		{"DER", sampleKey(t, "northwind-2026.der"), []string{"4F:22"}},
		{"P7B", bundle, []string{"4F:2A", "4F:24"}},
		{"P7B in BER", indefinite(t, bundle), []string{"4F:2A", "4F:24"}},
		{"P7B in BER, in PEM", pem.EncodeToMemory(&pem.Block{Type: "PKCS7", Bytes: indefinite(t, bundle)}), []string{"4F:2A", "4F:24"}},
		{"P7B in PEM", pem.EncodeToMemory(&pem.Block{Type: "PKCS7", Bytes: bundle}), []string{"4F:2A", "4F:24"}},
	} {
		list, err := parseCertificates(test.data)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if diff := cmp.Diff(test.want, serials(list)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// indefinite writes the outer levels of DER in BER, with indefinite lengths, as
// far as what is signed is not touched.
func indefinite(t *testing.T, der []byte) []byte {
	t.Helper()
	const levels = 4 // ContentInfo, [0], SignedData, certificates
	var rewrite func(der []byte, level int) []byte
	rewrite = func(der []byte, level int) (out []byte) {
		for len(der) > 0 {
			var v asn1.RawValue
			rest, err := asn1.Unmarshal(der, &v)
			if err != nil {
				t.Fatal(err)
			}
			if v.IsCompound && level < levels {
				out = append(append(append(out, v.FullBytes[0], 0x80), rewrite(v.Bytes, level+1)...), 0, 0)
			} else {
				out = append(out, v.FullBytes...)
			}
			der = rest
		}
		return out
	}
	return rewrite(der, 0)
}

func TestHostileBundlesAreRefusedBeforeTheyAreRead(t *testing.T) {
	t.Parallel()
	small := bytes.Repeat([]byte{0x05, 0x00}, maxCertificateFile/2-10)
	for _, test := range []struct {
		name string
		data []byte
		want string
	}{
		{"deep, indefinite lengths", bytes.Repeat([]byte{0x30, 0x80}, 100_000), "objects inside each other"},
		{"deep, definite lengths", deep(60), "objects inside each other"},
		{"many small objects", append([]byte{0x30, 0x83, byte(len(small) >> 16), byte(len(small) >> 8), byte(len(small))}, small...), "objects in it"},
		{"a length beyond the end", []byte{0x30, 0x84, 0xff, 0xff, 0xff, 0xff}, "neither"},
		{"a length of lengths", []byte{0x30, 0x89, 1, 1, 1, 1, 1, 1, 1, 1, 1}, "neither"},
		{"an indefinite primitive", []byte{0x04, 0x80, 0x00, 0x00}, "neither"},
		{"a long tag", []byte{0x3f, 0x81, 0x00, 0x00}, "neither"},
		{"cut off", sampleKey(t, "tailspin.p7b")[:600], "neither"},
		{"nothing", nil, "no certificate"},
	} {
		_, err := parseCertificates(test.data)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

// deep is that many sequences inside each other.
func deep(levels int) []byte {
	out := []byte{0x05, 0x00}
	for range levels {
		if len(out) < 128 {
			out = append([]byte{0x30, byte(len(out))}, out...)
		} else {
			out = append([]byte{0x30, 0x82, byte(len(out) >> 8), byte(len(out))}, out...)
		}
	}
	return out
}

func TestTheLibraryIsNotAskedAboutBundlesThatItReadsSlowly(t *testing.T) {
	t.Parallel()
	small := bytes.Repeat([]byte{0x05, 0x00}, 20_000-2)
	data := append([]byte{0x30, 0x82, byte(len(small) >> 8), byte(len(small))}, small...)
	if _, err := parseBundle(data); err == nil {
		t.Error("a sequence of nulls is a bundle")
	}
}

func TestOddFilesAreRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	large := filepath.Join(dir, "large")
	write(t, large, strings.Repeat("x", maxCertificateFile+1))
	for name, path := range map[string]string{"a folder": dir, "a device": os.DevNull, "too large": large, "missing": filepath.Join(dir, "no")} {
		if _, err := readFile(path); err == nil {
			t.Errorf("%s was read", name)
		}
	}
}

func FuzzCertificates(f *testing.F) {
	for _, name := range []string{"northwind-2026.pem", "northwind-2026.der", "tailspin.p7b", "acme.p12"} {
		f.Add(sampleKey(f, name))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4<<10 {
			return
		}
		if list, err := parseCertificates(data); err == nil {
			single(list)
		}
		parseIdentity(data, "")
	})
}
