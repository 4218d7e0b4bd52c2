package smime

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"

	"edigw/internal/gcm"
)

// authEnveloped builds AuthEnvelopedData of AES-GCM around given recipients and
// authAttrs.
func authEnveloped(t testing.TB, key, iv, content []byte, attributes [][]byte, recipients ...[]byte) []byte {
	t.Helper()
	encrypted, tag := gcmSealed(t, key, iv, content, attributes)
	return authEnvelopedAs(key, gcmParameters{nonce: iv, tagSize: gcm.TagSize}.encode(), encrypted, tag, attributes, recipients...)
}

// gcmSealed encrypts content and authenticates attributes, in the order of DER.
func gcmSealed(t testing.TB, key, iv, content []byte, attributes [][]byte) (encrypted, tag []byte) {
	t.Helper()
	var additional []byte
	if attributes != nil {
		additional = tlv(tagSet, slices.SortedFunc(slices.Values(attributes), bytes.Compare)...)
	}
	c, err := gcm.New(key, iv)
	if err != nil {
		t.Fatal(err)
	}
	encrypted = make([]byte, len(content))
	c.Seal(encrypted, content)
	sum := c.Tag(additional)
	return encrypted, sum[:]
}

func authEnvelopedAs(key, params, encrypted, tag []byte, attributes [][]byte, recipients ...[]byte) []byte {
	oid := map[int]string{16: oidAES128GCM, 24: oidAES192GCM, 32: oidAES256GCM}[len(key)]
	var authAttrs []byte
	if attributes != nil {
		authAttrs = tlv(tagExplicit1, attributes...)
	}
	return tlv(tagSequence, tlv(tagOID, []byte(oidAuthEnvelopedData)), tlv(tagExplicit0, tlv(tagSequence,
		[]byte{tagInteger, 1, 0}, tlv(tagSet, recipients...),
		tlv(tagSequence, tlv(tagOID, []byte(oidData)), algorithmID(oid, params), tlv(tagContext0, encrypted)),
		authAttrs, tlv(tagOctets, tag))))
}

// keyTransported is a RecipientInfo for partner.
func keyTransported(t testing.TB, key []byte) []byte {
	t.Helper()
	to, _, err := newAddressee(partner().cert, len(key), EncryptOptions{})
	if err != nil {
		t.Fatal(err)
	}
	info, err := to.info(key)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func TestReadAuthEnvelopedData(t *testing.T) {
	t.Parallel()
	a, _ := cipherByName(AES256GCM)
	key, iv := a.newKey()
	info := keyTransported(t, key)
	attributes := [][]byte{ // not in the order of DER
		attribute(oidAttrSigningTime, tlv(tagUTCTime, []byte("260301123015Z"))),
		attribute(oidAttrContentType, tlv(tagOID, []byte(oidData))),
	}
	full := gcmParameters{nonce: iv, tagSize: 16}.encode()
	for _, size := range []int{0, 1, 16, 1000, chunk, chunk + 7, 3*chunk + 1} {
		content := payload(size)
		ct, tag := gcmSealed(t, key, iv, content, nil)
		_, attributesTag := gcmSealed(t, key, iv, content, attributes)
		swapped := [][]byte{attributes[0]}
		for _, tt := range []struct {
			name    string
			message []byte
			want    error
		}{
			{"plain", authEnvelopedAs(key, full, ct, tag, nil, info), nil},
			{"attributes", authEnvelopedAs(key, full, ct, attributesTag, attributes, info), nil},
			{"no attributes", authEnvelopedAs(key, full, ct, tag, [][]byte{}, info), ErrDecrypt},
			{"attributes taken away", authEnvelopedAs(key, full, ct, attributesTag, nil, info), ErrDecrypt},
			{"an attribute taken away", authEnvelopedAs(key, full, ct, attributesTag, swapped, info), ErrDecrypt},
			{"attributes added", authEnvelopedAs(key, full, ct, tag, attributes, info), ErrDecrypt},
			{"tag of 12 bytes by default", authEnvelopedAs(key, tlv(tagSequence, tlv(tagOctets, iv)), ct, tag[:12], nil, info), nil},
			{"tag of 13 bytes", authEnvelopedAs(key, gcmParameters{nonce: iv, tagSize: 13}.encode(), ct, tag[:13], nil, info), nil},
			{"tag of 8 bytes", authEnvelopedAs(key, gcmParameters{nonce: iv, tagSize: 8}.encode(), ct, tag[:8], nil, info), ErrMalformed},
			{"tag of 17 bytes", authEnvelopedAs(key, gcmParameters{nonce: iv, tagSize: 17}.encode(), ct, append(bytes.Clone(tag), 0), nil, info), ErrMalformed},
			{"tag shorter than announced", authEnvelopedAs(key, full, ct, tag[:12], nil, info), ErrMalformed},
			{"tag longer than announced", authEnvelopedAs(key, gcmParameters{nonce: iv, tagSize: 12}.encode(), ct, tag, nil, info), ErrMalformed},
			{"wrong tag of 12 bytes", authEnvelopedAs(key, tlv(tagSequence, tlv(tagOctets, iv)), ct, tag[1:13], nil, info), ErrDecrypt},
			{"nonce of 8 bytes", authEnvelopedAs(key, gcmParameters{nonce: iv[:8], tagSize: 16}.encode(), ct, tag, nil, info), ErrUnsupported},
			{"no parameters", authEnvelopedAs(key, nil, ct, tag, nil, info), ErrMalformed},
		} {
			got, err := decrypt(tt.message, partner().recipient())
			if !errors.Is(err, tt.want) || tt.want == nil && !bytes.Equal(got, content) {
				t.Errorf("%s, %d bytes: %d, %v, want %v", tt.name, size, len(got), err, tt.want)
			}
			if tt.want != nil && size < chunk && len(got) > 0 {
				t.Errorf("%s, %d bytes: %d came out", tt.name, size, len(got))
			}
		}
	}
}

// Indefinite lengths, content in pieces, a tag in pieces, attributes behind.
func TestAuthEnvelopedDataInBER(t *testing.T) {
	t.Parallel()
	a, _ := cipherByName(AES128GCM)
	key, iv := a.newKey()
	content := payload(2*chunk + 100)
	attributes := [][]byte{attribute(oidAttrContentType, tlv(tagOID, []byte(oidData)))}
	ct, tag := gcmSealed(t, key, iv, content, attributes)
	piece := func(b []byte) []byte { return tlv(tagOctets, b) }
	build := func(behindContent []byte, behind ...[]byte) []byte {
		return indefiniteLength(tagSequence, tlv(tagOID, []byte(oidAuthEnvelopedData)), indefiniteLength(tagExplicit0,
			indefiniteLength(tagSequence, []byte{tagInteger, 1, 0}, indefiniteLength(tagSet, keyTransported(t, key)),
				indefiniteLength(tagSequence, tlv(tagOID, []byte(oidData)),
					algorithmID(oidAES128GCM, gcmParameters{nonce: iv, tagSize: 16}.encode()),
					indefiniteLength(tagExplicit0, piece(ct[:5]), piece(nil), piece(ct[5:70_000]), piece(ct[70_000:])), behindContent),
				bytes.Join(behind, nil))))
	}
	authAttrs := indefiniteLength(tagExplicit1, attributes[0])
	inPieces := indefiniteLength(tagOctets|constructed, piece(tag[:3]), piece(tag[3:]))
	for _, tt := range []struct {
		name    string
		message []byte
		want    error
	}{
		{"tag in one piece", build(nil, authAttrs, piece(tag)), nil},
		{"tag in pieces", build(nil, authAttrs, inPieces), nil},
		{"attributes that nothing protects", build(nil, authAttrs, piece(tag), indefiniteLength(tagExplicit2, attributes[0])), nil},
		{"no tag", build(nil, authAttrs), ErrMalformed},
		{"no tag, and attributes in its place", build(nil, authAttrs, indefiniteLength(tagExplicit2, attributes[0])), ErrMalformed},
		{"attributes that are none", build(nil, indefiniteLength(tagExplicit1, derNull), piece(tag)), ErrMalformed},
		{"more behind the content", build(derNull, authAttrs, piece(tag)), ErrMalformed},
		{"large attributes", build(nil, indefiniteLength(tagExplicit1, attribute(oidAttrContentType, tlv(tagOctets, make([]byte, defaultStructure)))), piece(tag)), ErrLimit},
	} {
		got, err := decrypt(tt.message, partner().recipient())
		if !errors.Is(err, tt.want) || tt.want == nil && !bytes.Equal(got, content) {
			t.Errorf("%s: %d bytes, %v, want %v", tt.name, len(got), err, tt.want)
		}
	}
}

// QUIRK(as2-lib): AES-GCM inside EnvelopedData, the tag at the end of the content.
func TestGCMInsideEnvelopedData(t *testing.T) {
	t.Parallel()
	a, _ := cipherByName(AES192GCM)
	key, iv := a.newKey()
	recipients := tlv(tagSet, keyTransported(t, key))
	for _, tagSize := range []int{12, 13, 16} {
		alg := algorithmID(oidAES192GCM, gcmParameters{nonce: iv, tagSize: tagSize}.encode())
		for _, size := range []int{0, 1, 15, 16, chunk - 16, chunk - 1, chunk, 2*chunk + 3} {
			content := payload(size)
			ct, tag := gcmSealed(t, key, iv, content, nil)
			whole := append(ct, tag[:tagSize]...)
			piece := indefiniteLength(tagExplicit0, tlv(tagOctets, whole[:len(whole)-5]), tlv(tagOctets, whole[len(whole)-5:]))
			for _, body := range [][]byte{tlv(tagContext0, whole), piece} {
				message := enveloped(t, recipients, append(bytes.Clone(alg), body...))
				d, err := NewDecrypter(bytes.NewReader(message), []Recipient{partner().recipient()}, Limits{})
				if err != nil {
					t.Fatal(err)
				}
				if got, err := io.ReadAll(d); err != nil || !bytes.Equal(got, content) || d.Kind() != EnvelopedData {
					t.Fatalf("tag of %d, %d bytes: got %d, %v", tagSize, size, len(got), err)
				}
			}
			whole[len(whole)/2] ^= 1
			if _, err := decrypt(enveloped(t, recipients, append(bytes.Clone(alg), tlv(tagContext0, whole)...)), partner().recipient()); !errors.Is(err, ErrDecrypt) {
				t.Errorf("tag of %d, %d bytes, one changed: %v", tagSize, size, err)
			}
		}
		if _, err := decrypt(enveloped(t, recipients, append(bytes.Clone(alg), tlv(tagContext0, make([]byte, tagSize-1))...)), partner().recipient()); !errors.Is(err, ErrDecrypt) {
			t.Errorf("content shorter than its tag: %v", err)
		}
	}
}
