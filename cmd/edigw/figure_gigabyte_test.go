package main

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"crypto"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"edigw/as2/smime"
	"edigw/internal/testfixture"
)

// block is how much is digested and enciphered at a time, by both that are
// compared.
const block = 64 << 10

// TestFigureGigabyte is B2: how fast the engine is over one gigabyte in memory,
// and what a document of one gigabyte costs two gateways that are processes of
// their own: time beside that of the disk alone, and memory.
func TestFigureGigabyte(t *testing.T) {
	figureAlone(t)
	n := size[int64](3<<20, 1<<30)
	for name, part := range map[string]func(*testing.T, int64) string{"engine": engineRows, "durable": func(t *testing.T, n int64) string { return durableRows(t, inAS2, n) }} {
		t.Run(name, func(t *testing.T) {
			if rows := part(t, n); full() {
				t.Logf("\nB2: a document of %d MB, SHA-256 with RSA-2048, AES-256-CBC\n%s", n>>20, rows)
			}
		})
	}
}

// engineRows is part (a): the engine beside the standard library, over the same
// bytes in the same minute.
func engineRows(t *testing.T, n int64) string {
	w := newCryptoWork(t, newPair(t, inAS2, 1), invoice(1))
	document := &repeated{text: noise(t, 1<<20), left: n}
	var invoices []byte
	for i := range 100 {
		invoices = append(invoices, invoice(i)...)
	}
	text := &repeated{text: invoices, left: n}
	rows := []string{"memory to discard, one thread; bar: 70 %      MB/s   bare MB/s   of bare   by processor time"}
	row := func(what string, engine, bare func()) {
		best := [2]pace{}
		for i := range best { // whoever else is at work must not hit one of the two only
			a, b := streamed(t, n, engine), streamed(t, n, bare)
			best[0], best[1] = best[0].faster(a, i), best[1].faster(b, i)
		}
		rows = append(rows, fmt.Sprintf("%-40s %8.0f %11.0f %7.0f %% %16.0f %%", what, best[0].rate, best[1].rate,
			100*best[0].rate/best[1].rate, 100*best[1].cpu.Seconds()/best[0].cpu.Seconds()))
	}
	wire := bytes.NewBuffer(make([]byte, 0, n+1<<20))
	row("sign, encrypt", func() { wire.Reset(); w.seal(t, wire, document.again(), n) }, func() { bareSeal(t, document.again()) })
	row("decrypt, verify", func() { w.unseal(t, bytes.NewReader(wire.Bytes()), n, false) }, func() { bareUnseal(t, wire.Bytes(), false) })
	var packed bytes.Buffer
	squeeze := func() {
		packed.Reset()
		c, err := smime.NewCompressor(&packed)
		streamTo(t, c, text.again(), err)
		wire.Reset()
		w.seal(t, wire, bytes.NewReader(packed.Bytes()), int64(packed.Len()))
	}
	var zipped bytes.Buffer
	row("compress, sign, encrypt", squeeze, func() {
		zipped.Reset()
		streamTo(t, zlib.NewWriter(&zipped), text.again(), nil)
		bareSeal(t, bytes.NewReader(zipped.Bytes()))
	})
	row("decrypt, verify, decompress", func() { w.unseal(t, bytes.NewReader(wire.Bytes()), n, true) }, func() { bareUnseal(t, zipped.Bytes(), true) })
	return strings.Join(rows, "\n")
}

// faster keeps the better of two rounds.
func (p pace) faster(q pace, round int) pace {
	if round == 0 {
		return q
	}
	return p.better(q)
}

// streamed measures one pass over n bytes; the rate is in MB a second.
func streamed(t *testing.T, n int64, pass func()) pace {
	t.Helper()
	begin, used := time.Now(), cpuTime(t)
	pass()
	return pace{float64(n) / (1 << 20) / time.Since(begin).Seconds(), cpuTime(t) - used}
}

// seal signs what r gives and encrypts it.
func (w cryptoWork) seal(t *testing.T, to io.Writer, r io.Reader, n int64) {
	t.Helper()
	o := smime.EncryptOptions{Cipher: smime.AES256CBC, Recipients: []*x509.Certificate{w.theirsCert}}
	e, err := smime.NewEncrypter(to, n, o)
	digest := sha256.New()
	streamTo(t, e, io.TeeReader(r, digest), err)
	if _, err := smime.SignDetached(digest.Sum(nil), smime.SignOptions{Key: w.own, Certificate: w.ownCert, Hash: crypto.SHA256, Time: time.Now()}); err != nil {
		t.Fatal(err)
	}
	want, err := smime.EncryptedSize(n, o)
	if b, ok := to.(*bytes.Buffer); err != nil || ok && int64(b.Len()) != want {
		t.Fatalf("%d bytes of content became %d, announced were %d (%v)", n, b.Len(), want, err)
	}
}

// unseal decrypts and digests, and counts what comes out of it.
func (w cryptoWork) unseal(t *testing.T, r io.Reader, n int64, packed bool) {
	t.Helper()
	d, err := smime.NewDecrypter(r, []smime.Recipient{{Certificate: w.theirsCert, Key: w.theirs}}, smime.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	opened := io.TeeReader(d, sha256.New())
	if packed {
		if opened, err = smime.NewDecompressor(opened, smime.Limits{}); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := io.CopyBuffer(io.Discard, readerOnly{opened}, make([]byte, block)); err != nil || got != n {
		t.Fatalf("%d bytes came out, %v; %d went in", got, err, n)
	}
}

// bareSeal is seal by the standard library alone, without any format.
func bareSeal(t *testing.T, r io.Reader) {
	t.Helper()
	mode, digest := bareCipher(t, cipher.NewCBCEncrypter)
	bareStream(t, r, func(p []byte) { digest.Write(p); mode.CryptBlocks(p, p[:len(p)&^15]) })
}

// bareUnseal is unseal by the standard library alone.
func bareUnseal(t *testing.T, wire []byte, packed bool) {
	t.Helper()
	mode, digest := bareCipher(t, cipher.NewCBCDecrypter)
	bareStream(t, bytes.NewReader(wire), func(p []byte) {
		q := p[:len(p)&^15]
		if packed { // what is compressed is not what deciphering it again would give
			mode.CryptBlocks(make([]byte, len(q)), q)
		} else {
			mode.CryptBlocks(q, q)
		}
		digest.Write(p)
	})
	if packed {
		z, err := zlib.NewReader(bytes.NewReader(wire))
		if err == nil {
			_, err = io.Copy(io.Discard, z)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func bareCipher(t *testing.T, direction func(cipher.Block, []byte) cipher.BlockMode) (cipher.BlockMode, hash.Hash) {
	t.Helper()
	secret := noise(t, 48)
	b, err := aes.NewCipher(secret[:32])
	if err != nil {
		t.Fatal(err)
	}
	return direction(b, secret[32:]), sha256.New()
}

// bareStream hands all of r over in blocks.
func bareStream(t *testing.T, r io.Reader, each func([]byte)) {
	t.Helper()
	buffer := make([]byte, block)
	for {
		n, err := io.ReadFull(r, buffer)
		each(buffer[:n])
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// streamTo writes all of r in blocks, and closes.
func streamTo(t *testing.T, w io.WriteCloser, r io.Reader, err error) {
	t.Helper()
	if err == nil {
		_, err = io.CopyBuffer(struct{ io.Writer }{w}, readerOnly{r}, make([]byte, block))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// readerOnly hides all that a reader can do besides.
type readerOnly struct{ io.Reader }

// repeated gives a text again and again, n bytes in all.
type repeated struct {
	text  []byte
	left  int64
	at, n int64
}

func (r *repeated) again() io.Reader { return &repeated{text: r.text, n: r.left} }

// Read implements io.Reader.
func (r *repeated) Read(p []byte) (int, error) {
	if r.n == 0 {
		return 0, io.EOF
	}
	some := r.text[r.at%int64(len(r.text)):]
	n := copy(p[:min(int64(len(p)), r.n)], some)
	r.at += int64(n)
	r.n -= int64(n)
	return n, nil
}

func noise(t *testing.T, n int) []byte {
	t.Helper()
	b := make([]byte, n)
	rand.Read(b)
	return b
}

// durableRows is part (b): the document goes from one gateway to another, all
// that must be is durable, and both are looked at.
func durableRows(t *testing.T, files partnerFiles, n int64) string {
	p := newPair(t, files, 1)
	in := p.in.serve(t)
	p.connect(t, in.partners, 4)
	out := p.out.serve(t)
	exchangeOne(t, out, 64<<10) // connections, statements and keys are warm
	sides := []*process{out, in}
	var idle, written [2]int64
	var used [2]time.Duration
	for i, side := range sides {
		idle[i], written[i], used[i] = side.status(t, "VmRSS"), side.written(t), side.cpu(t)
	}
	disk := writeOnce(t, p.out.dir, n)
	took := exchangeOne(t, out, n)
	placed := func() (times int) {
		for _, one := range inboxSizes(t, p.in) {
			if one == n {
				times++
			}
		}
		return times
	}
	until(t, 20*time.Minute, "the document lies in the receiver's folder", func() bool { return placed() > 0 })
	if got := placed(); got != 1 {
		t.Errorf("it lies there %d times", got)
	}
	disk = min(disk, writeOnce(t, p.out.dir, n))
	const mb = 1 << 20
	rows := []string{"two processes; bar: < 64 MB above idle     idle MB   peak MB   above idle   CPU s   written, times the document"}
	all := int64(0)
	for i, side := range sides {
		peak, wrote := side.status(t, "VmHWM"), side.written(t)-written[i]
		all += wrote
		rows = append(rows, fmt.Sprintf("%-40s %9.1f %9.1f %12.1f %7.2f %15.2f", [2]string{"sender", "receiver"}[i],
			float64(idle[i])/mb, float64(peak)/mb, float64(peak-idle[i])/mb, (side.cpu(t)-used[i]).Seconds(), float64(wrote)/float64(n)))
	}
	times := float64(all) / float64(n)
	return strings.Join(append(rows, fmt.Sprintf(`from hand-in to receipt %.2f s, %.0f MB/s; writing the document once with fsync %.2f s
that is %.2f times writing it once; %.2f of the disk for the %.2f times it is written (bar 0.8)`,
		took.Seconds(), float64(n)/mb/took.Seconds(), disk.Seconds(), took.Seconds()/disk.Seconds(), times*disk.Seconds()/took.Seconds(), times)), "\n")
}

// writeOnce is how long n bytes take to a file of the same disk, with fsync.
func writeOnce(t *testing.T, dir string, n int64) time.Duration {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "written-once"))
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(f.Name())
	defer f.Close()
	begin := time.Now()
	document := &repeated{text: noise(t, 1<<20), left: n}
	if _, err := io.CopyBuffer(struct{ io.Writer }{f}, document.again(), make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	return time.Since(begin)
}

// written is how many bytes the process had written to disks.
func (p *process) written(t testing.TB) int64 {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", p.pid))
	if err != nil {
		testfixture.Missing(t, "/proc/PID/io")
	}
	lines := bufio.NewScanner(bytes.NewReader(b))
	for lines.Scan() {
		if text, ok := strings.CutPrefix(lines.Text(), "write_bytes: "); ok {
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatal("/proc/PID/io has no write_bytes")
	return 0
}

// exchangeOne hands a document of random bytes in and waits until it is
// delivered.
func exchangeOne(t *testing.T, out *process, bytes int64) time.Duration {
	t.Helper()
	begin := time.Now()
	noise := mathrand.NewChaCha8([32]byte{byte(bytes >> 20), 1})
	sum := sha256.New()
	var m struct{ ID, State, Detail, SHA256 string }
	if _, err := out.api.Send(t.Context(), "/partners/northwind-0/messages", nil, io.TeeReader(io.LimitReader(noise, bytes), sum), &m); err != nil {
		t.Fatal(err)
	}
	if m.SHA256 != hex.EncodeToString(sum.Sum(nil)) {
		t.Fatalf("the gateway took %s for a document %x", m.SHA256, sum.Sum(nil))
	}
	until(t, 20*time.Minute, "the document is delivered", func() bool {
		if err := out.api.Get(t.Context(), "/messages/"+m.ID, nil, &m); err != nil {
			t.Fatal(err)
		}
		if m.State == "dead" {
			t.Fatalf("the document is dead: %s", m.Detail)
		}
		return m.State == "delivered"
	})
	return time.Since(begin)
}

// inboxSizes gives the sizes of the documents in the receiver's folder.
func inboxSizes(t *testing.T, h house) (sizes []int64) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(h.dir, "inbox", "*", "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if strings.HasPrefix(filepath.Base(f), ".") { // on its way into the folder
			continue
		}
		info, err := os.Stat(f)
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, info.Size())
	}
	return sizes
}
