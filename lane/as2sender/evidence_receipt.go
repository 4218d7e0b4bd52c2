package as2sender

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"

	"edigw/as2"
	"edigw/fault"
	"edigw/internal/rawmime"
	"edigw/store/spool"
)

// maxPartHead bounds the header of the part that holds a receipt's signature.
const maxPartHead = 64 << 10

// readReceipt takes the receipt that settled the message: the last trusted one,
// a positive one first, or else the last that came at all.
func (e *evidence) readReceipt() error {
	best := 0
	for i := range e.attempts {
		a, rank := &e.attempts[i], 1
		if a.Raw == "" {
			continue
		}
		if a.Ack != nil && a.Ack.Verdict == fault.AckTrusted {
			rank = 2
			if a.Ack.Positive {
				rank = 3
			}
		}
		if rank >= best {
			best, e.attempt = rank, a
		}
	}
	if e.attempt == nil {
		e.lacks("No receipt is on file, so nothing here is signed by the partner.")
		return nil
	}
	f, err := e.sender.Spool.Open(spool.Receipt, e.attempt.Raw)
	if errors.Is(err, fs.ErrNotExist) {
		e.lacks("The receipt of attempt %d is not kept any more (retention).", e.attempt.N)
		e.attempt = nil
		return nil
	} else if err != nil {
		return err
	}
	defer f.Close()
	if e.receipt, err = as2.ReadReceipt(f); err != nil {
		e.lacks("The receipt of attempt %d is damaged: %v.", e.attempt.N, err)
		e.attempt = nil
		return nil
	}
	e.mdn, _ = as2.ParseMDN(e.receipt.Header, e.receipt.Body)
	e.part, e.signature = splitSigned(e.receipt)
	if e.signature == nil {
		e.lacks("The receipt is not signed.")
	}
	return nil
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

// writeReceipt writes the receipt without what lets somebody pose as the
// partner: the token of its URL, and cookies.
func (e *evidence) writeReceipt() error {
	if e.attempt == nil {
		return nil
	}
	shown := as2.Receipt{Header: e.receipt.Header.Clone(), Body: e.receipt.Body}
	shown.Header.Del("Set-Cookie")
	w, err := e.create(receiptFile)
	if err != nil {
		return err
	}
	if err := shown.Write(w); err != nil {
		return err
	}
	if e.signature == nil {
		return nil
	}
	if err := e.put(signedPartFile, e.part); err != nil {
		return err
	}
	return e.put(signatureFile, e.signature)
}
