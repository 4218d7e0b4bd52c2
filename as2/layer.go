package as2

import (
	"io"
	"time"

	"edigw/as2/smime"
)

// signed puts an entity, whose digest is given, and a signature over it into a
// multipart/signed (RFC 1847 §2.1).
func signed(a Agreement, inner entity, digest []byte, now time.Time, boundary string) (entity, error) {
	sig, err := smime.SignDetached(digest, smime.SignOptions{
		Key:              a.SigningKey,
		Certificate:      a.SigningCertificate,
		Chain:            a.SigningChain,
		Hash:             a.Sign,
		OmitCertificates: a.OmitCertificate,
		NoAttributes:     a.NoAttributes,
		PSS:              a.PSS, AlgorithmProtection: a.AlgorithmProtection, KeyID: a.KeyID,
		Time: now,
	})
	if err != nil {
		return entity{}, badKey("keys", "cannot sign: %v", err)
	}
	signature := entity{header: []Field{
		{"Content-Type", `application/pkcs7-signature; name="smime.p7s"`},
		{"Content-Transfer-Encoding", "base64"},
		{"Content-Disposition", `attachment; filename="smime.p7s"`},
	}}
	open := "--" + boundary + "\r\n"
	end := "\r\n--" + boundary + "\r\n" + signature.headerBlock() + wrapped(sig) + "\r\n--" + boundary + "--\r\n"
	return entity{
		header: []Field{{"Content-Type", `multipart/signed; protocol="application/pkcs7-signature"; micalg=` +
			a.digestName(a.Sign) + `; boundary="` + boundary + `"`}},
		size: int64(len(open)) + inner.total() + int64(len(end)),
		body: func(w io.Writer) error {
			if _, err := io.WriteString(w, open); err != nil {
				return err
			}
			if err := inner.write(w); err != nil {
				return err
			}
			_, err := io.WriteString(w, end)
			return err
		},
	}, nil
}

// compressed puts an entity into CompressedData (RFC 5402 §2). It is compressed
// once here, to learn the size, and again at each write: that costs time, but
// no memory.
func compressed(inner entity) (entity, error) {
	e := entity{
		header: []Field{
			{"Content-Type", `application/pkcs7-mime; smime-type=compressed-data; name="smime.p7z"`},
			{"Content-Transfer-Encoding", "binary"},
			{"Content-Disposition", `attachment; filename="smime.p7z"`},
		},
		body: func(w io.Writer) error { return compress(w, inner.write) },
	}
	var size counter
	err := e.body(&size)
	e.size = int64(size)
	return e, err
}

func compress(w io.Writer, write func(io.Writer) error) error {
	c, err := smime.NewCompressor(w)
	if err != nil {
		return err
	}
	if err := write(c); err != nil {
		return err
	}
	return c.Close()
}

// encryption says how and for whom the message is encrypted.
func (a Agreement) encryption() smime.EncryptOptions {
	return smime.EncryptOptions{Cipher: a.Encrypt, Recipients: a.Recipients, Transport: a.Transport, KeyID: a.KeyID}
}

// encrypted puts an entity into EnvelopedData, or AuthEnvelopedData where the
// cipher authenticates. Its body has a fresh key each time it is written.
func encrypted(a Agreement, inner entity) (entity, error) {
	options := a.encryption()
	size, err := smime.EncryptedSize(inner.total(), options)
	if err != nil {
		return entity{}, badSetting("as2.encrypt", "%v", err)
	}
	return entity{
		header: []Field{
			{"Content-Type", `application/pkcs7-mime; smime-type=` + string(a.Encrypt.Kind()) + `; name="smime.p7m"`},
			{"Content-Transfer-Encoding", "binary"},
			{"Content-Disposition", `attachment; filename="smime.p7m"`},
		},
		size: size,
		body: func(w io.Writer) error {
			enc, err := smime.NewEncrypter(w, inner.total(), options)
			if err != nil {
				return err
			}
			if err := inner.write(enc); err != nil {
				return err
			}
			return enc.Close()
		},
	}, nil
}
