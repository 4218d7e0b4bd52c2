package as2sender

import (
	"bufio"
	"bytes"
	"io"

	"edigw/as2"
	"edigw/internal/rawmime"
)

// maxPartHead bounds the header of the part that holds a receipt's signature.
const maxPartHead = 64 << 10

// takeReceipt reads the receipt, if there is one.
func (e *proof) takeReceipt() {
	if e.Attempt == nil {
		return
	}
	e.mdn, _ = as2.ParseMDN(e.Receipt.Header, e.Receipt.Body)
	e.part, e.signature = splitSigned(e.Receipt)
	if e.signature == nil {
		e.Lacks("The receipt is not signed.")
	}
}

// splitSigned gives the part of a multipart/signed receipt that is signed, and
// the signature (RFC 1847 §2.1); nil if it is not built so.
func splitSigned(r as2.Receipt) (part, signature []byte) {
	kind, params, err := rawmime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/signed" {
		return nil, nil
	}
	parts := rawmime.NewMultipart(bytes.NewReader(r.Body), params["boundary"], 2)
	first, err := parts.Next()
	if err != nil {
		return nil, nil
	}
	if part, err = io.ReadAll(first); err != nil {
		return nil, nil
	}
	second, err := parts.Next()
	if err != nil {
		return nil, nil
	}
	br := bufio.NewReader(second)
	header, err := rawmime.ReadHeader(br, maxPartHead)
	if err != nil {
		return nil, nil
	}
	content, err := rawmime.DecodeTransfer(br, header.Get("Content-Transfer-Encoding"))
	if err != nil {
		return nil, nil
	}
	if signature, err = io.ReadAll(content); err != nil || len(signature) == 0 {
		return nil, nil
	}
	return part, signature
}

// writeReceipt writes the receipt, and its signature in pieces.
func (e *proof) writeReceipt() error {
	if err := e.PutReceipt(); err != nil || e.signature == nil {
		return err
	}
	if err := e.Put(signedPartFile, e.part); err != nil {
		return err
	}
	return e.Put(signatureFile, e.signature)
}
