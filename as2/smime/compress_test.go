package smime

import (
	"bytes"
	"compress/zlib"
	"errors"
	"io"
	"testing"
	"testing/iotest"
)

func compress(t testing.TB, content []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := NewCompressor(&out)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Close(), w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func decompress(message []byte, l Limits) ([]byte, error) {
	r, err := NewDecompressor(bytes.NewReader(message), l)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// compressedWith builds a DER CompressedData around a stream.
func compressedWith(stream []byte) []byte {
	return tlv(tagSequence, tlv(tagOID, []byte(oidCompressedData)), tlv(tagExplicit0, tlv(tagSequence,
		[]byte{tagInteger, 1, 0}, algorithmID(oidZlib, nil),
		tlv(tagSequence, tlv(tagOID, []byte(oidData)), tlv(tagExplicit0, tlv(tagOctets, stream))))))
}

func zlibStream(t testing.TB, content []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zlib.NewWriter(&out)
	w.Write(content)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestCompressRoundTrip(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, 1000, 3_000_000} {
		content := payload(size)
		for name, message := range map[string][]byte{
			"ours": compress(t, content), "DER": compressedWith(zlibStream(t, content)),
		} {
			r, err := NewDecompressor(iotest.HalfReader(bytes.NewReader(message)), Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, content) {
				t.Errorf("%s, %d bytes: got %d, %v", name, size, len(got), err)
			}
		}
	}
}

func TestDecompressionFailures(t *testing.T) {
	t.Parallel()
	content := payload(100_000)
	stream := zlibStream(t, content)
	flipped := bytes.Clone(stream)
	flipped[len(flipped)-1] ^= 1
	zeros := compress(t, make([]byte, 8<<20))
	for _, tt := range []struct {
		name    string
		message []byte
		limits  Limits
		want    error
	}{
		{"checksum", compressedWith(flipped), Limits{}, ErrDecompress},
		{"stream cut short", compressedWith(stream[:len(stream)-5]), Limits{}, ErrDecompress},
		{"bytes behind the stream", compressedWith(append(bytes.Clone(stream), 1)), Limits{}, ErrDecompress},
		{"not zlib", compressedWith([]byte("plain text")), Limits{}, ErrDecompress},
		{"empty", compressedWith(nil), Limits{}, ErrDecompress},
		{"ratio", zeros, Limits{}, ErrDecompress},
		{"ratio by setting", zeros, Limits{InflateRatio: 2000}, nil},
		{"total", compressedWith(stream), Limits{InflateTotal: 99_999}, ErrDecompress},
		{"total just enough", compressedWith(stream), Limits{InflateTotal: 100_000}, nil},
		{"message cut short", compressedWith(stream)[:1000], Limits{}, ErrMalformed},
		{"end of contents missing", compress(t, content)[:len(compress(t, content))-1], Limits{}, ErrMalformed},
		{"another algorithm", bytes.Replace(compressedWith(stream), []byte(oidZlib), []byte(oidCompressedData), 1), Limits{}, ErrUnsupported},
	} {
		if _, err := decompress(tt.message, tt.limits); !errors.Is(err, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, err, tt.want)
		}
	}
	lost := errors.New("connection reset")
	r, err := NewDecompressor(io.MultiReader(bytes.NewReader(compressedWith(stream)[:1000]), iotest.ErrReader(lost)), Limits{})
	if err == nil {
		_, err = io.ReadAll(r)
	}
	if !errors.Is(err, lost) {
		t.Errorf("lost connection: %v", err)
	}
}
