package interop

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"time"
)

// driver runs a peer that is a library: a small program of ours around it
// takes commands as lines of JSON (README.md has the fields).
type driver struct {
	log     logBuffer
	process *exec.Cmd
	in      io.WriteCloser
	gone    chan struct{} // closed when the process has ended

	mu      sync.Mutex
	last    int
	waiting map[int]chan json.RawMessage
}

// question is a command to a driver. What each driver takes is in README.md.
type question struct {
	ID       int    `json:"id"`
	Op       string `json:"op"` // start, send, received
	Listen   string `json:"listen,omitempty"`
	Material any    `json:"material,omitempty"`
	Profiles any    `json:"profiles,omitempty"` // list of terms
	Terms    any    `json:"terms,omitempty"`
	// Document is what AS2 drivers send, Documents what AS4 drivers do.
	Document  *paperwork  `json:"document,omitempty"`
	Documents []paperwork `json:"documents,omitempty"`
	// MessageID is that of a message from edigw; of an AS4 message to be sent, its own.
	MessageID string `json:"message_id,omitempty"`
	Wait      int    `json:"wait,omitempty"` // seconds after which the driver gives up
	// Count and Senders are for the command load (load_test.go).
	Count   int `json:"count,omitempty"`
	Senders int `json:"senders,omitempty"`
	// What an AS4 driver is to do otherwise than agreed.
	Ping      bool   `json:"ping,omitempty"`
	Corrupt   bool   `json:"corrupt,omitempty"`
	Recipient string `json:"recipient,omitempty"`
	NoReceipt bool   `json:"no_receipt,omitempty"`
	// Files of a message of edigw, for the eyes of Apache Santuario.
	Envelope   string `json:"envelope,omitempty"`
	Attachment string `json:"attachment,omitempty"`
}

// terms are a profile as the peer sees it.
type terms struct {
	Profile     string `json:"profile"`
	Peer        string `json:"peer"`  // its AS2 name
	Edigw       string `json:"edigw"` // edigw's AS2 name
	Sign        string `json:"sign"`
	Signature   string `json:"signature"`
	Encrypt     string `json:"encrypt"`
	Transport   string `json:"key_transport"`
	Compress    string `json:"compress"`
	Encoding    string `json:"transfer_encoding"`
	MDN         string `json:"mdn"`
	MDNSigned   bool   `json:"mdn_signed"`
	MDNDigest   string `json:"mdn_algorithm"`
	ContentType string `json:"content_type"`
}

// paperwork is a document to be sent.
type paperwork struct {
	File        string `json:"file"`
	FileName    string `json:"file_name"`
	ContentType string `json:"content_type,omitempty"`
}

func termsOf(p peer, pr profile) terms {
	return terms{
		Profile: pr.name, Peer: pr.peerName(p), Edigw: ourName, Sign: pr.sign, Signature: pr.signature, Encrypt: pr.encrypt,
		Transport: pr.transport, Compress: pr.compress, Encoding: pr.encoding, MDN: pr.mdn, MDNSigned: pr.mdnSigned, MDNDigest: pr.mdnDigest,
		ContentType: pr.contentType,
	}
}

// allTerms are those of every profile.
func allTerms(p peer) []terms {
	all := make([]terms, len(profiles))
	for i, pr := range profiles {
		all[i] = termsOf(p, pr)
	}
	return all
}

// begin runs a driver's program and has it start, with these profiles as terms.
func (d *driver) begin(ctx context.Context, cmd *exec.Cmd, listen string, material, profiles any) error {
	d.process, d.waiting, d.gone = cmd, map[int]chan json.RawMessage{}, make(chan struct{})
	cmd.Stderr = &d.log
	var err error
	if d.in, err = cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	go d.listen(out)
	return d.ask(ctx, question{Op: "start", Listen: listen, Material: material, Profiles: profiles}, nil)
}

// listen hands answers to whoever waits for them, until the process ends.
func (d *driver) listen(out io.Reader) {
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		var a struct {
			ID int `json:"id"`
		}
		if json.Unmarshal(line, &a) != nil {
			fmt.Fprintf(&d.log, "not JSON: %s", line)
			continue
		}
		d.mu.Lock()
		reply := d.waiting[a.ID]
		delete(d.waiting, a.ID)
		d.mu.Unlock()
		if reply != nil {
			reply <- line
		}
	}
	_ = d.process.Wait() // whoever still asks is told
	close(d.gone)
}

// ask gives a command and reads its answer into out.
func (d *driver) ask(ctx context.Context, q question, out any) error {
	reply := make(chan json.RawMessage, 1)
	d.mu.Lock()
	d.last++
	q.ID, q.Wait = d.last, cmp.Or(q.Wait, int(patience/time.Second))
	d.waiting[q.ID] = reply
	line, err := json.Marshal(q)
	if err == nil {
		_, err = d.in.Write(append(line, '\n'))
	}
	d.mu.Unlock()
	if err != nil {
		return fmt.Errorf("%w\n%s", err, &d.log)
	}
	select {
	case text := <-reply:
		var failed struct {
			Error string `json:"error"`
		}
		if err := json.Unmarshal(text, &failed); err != nil {
			return err
		}
		if failed.Error != "" {
			return errors.New(failed.Error)
		}
		if out == nil {
			return nil
		}
		return json.Unmarshal(text, out)
	case <-d.gone:
		return fmt.Errorf("%w\n%s", errGone, &d.log)
	case <-ctx.Done():
		return fmt.Errorf("%s: no answer: %w\n%s", q.Op, ctx.Err(), &d.log)
	}
}

// sendAs has the driver send a document under these terms.
func (d *driver) sendAs(ctx context.Context, t terms, doc document) (o outcome, err error) {
	err = d.ask(ctx, question{Op: "send", Terms: &t, Document: &paperwork{File: doc.file, FileName: doc.fileName}}, &o)
	return o, err
}

// receivedAs asks for a message of edigw.
func (d *driver) receivedAs(ctx context.Context, t terms, messageID string) (a arrival, err error) {
	err = d.ask(ctx, question{Op: "received", Terms: &t, MessageID: messageID}, &a)
	return a, err
}

// end closes the driver's standard input, upon which it ends.
func (d *driver) end() {
	if d.process == nil || d.process.Process == nil {
		return
	}
	_ = d.in.Close()
	select {
	case <-d.gone:
	case <-time.After(10 * time.Second):
		_ = d.process.Process.Kill()
		<-d.gone
	}
}
