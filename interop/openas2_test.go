package interop

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// openAS2 is OpenAS2, a server: it takes what it is to send from folders, and
// tells what became of it by further folders and its log.
type openAS2 struct {
	jars     string
	material material
	receive  string // host:port
	receipts string // host:port
	log      logBuffer
	process  *exec.Cmd
	gone     chan struct{}
	only     *profile // for figures (load_test.go): this one, without a log of what it digests
	heap     string   // of Java; empty: 2g

	before, way *tap // of the scenarios: before it, and on its way to edigw
}

func newOpenAS2() peer { return &openAS2{} }

func (*openAS2) name() string    { return "openas2" }
func (*openAS2) product() string { return "OpenAS2 2.10.1" }

func (*openAS2) preset() string { return "openas2" }

// lacks: its engine knows RSA PKCS #1 v1.5 and CBC when it writes, and no
// AuthEnvelopedData at all.
func (*openAS2) lacks(p profile, d direction) string {
	switch {
	case strings.HasSuffix(p.encrypt, "-gcm"):
		return "It knows no AuthEnvelopedData."
	case d == fromPeer && p.signature == "rsa-pss":
		return "It signs with PKCS #1 v1.5 only."
	case p.transport != "rsa-pkcs1":
		return "It encrypts and decrypts keys with PKCS #1 v1.5 only."
	}
	return ""
}

func (o *openAS2) install(ctx context.Context) (err error) {
	for _, program := range []string{"mvn", "java", "keytool"} {
		if _, err := exec.LookPath(program); err != nil {
			return err
		}
	}
	o.jars, err = jars(ctx, "openas2.sha256", "net.sf.openas2:openas2-server:2.10.1")
	return err
}

func (o *openAS2) endpoints(profile) (messages, receipts string) {
	return "http://" + o.receive + "/", "http://" + o.receipts + "/"
}

func (o *openAS2) path(parts ...string) string {
	return filepath.Join(append([]string{o.material.Dir}, parts...)...)
}

func (o *openAS2) start(ctx context.Context, m material) error {
	o.material, o.receive, o.receipts = m, freeAddress(), freeAddress()
	if err := o.keystore(ctx); err != nil {
		return err
	}
	if err := o.configure(); err != nil {
		return err
	}
	return o.launch(ctx)
}

// launch runs the process and waits until it is ready.
func (o *openAS2) launch(ctx context.Context) error {
	path, err := classPath(o.jars)
	if err != nil {
		return err
	}
	args := []string{"-Xmx" + cmp.Or(o.heap, "2g"), "-cp", path, "-Dorg.apache.commons.logging.Log=org.openas2.logging.Log"}
	if o.only == nil {
		args = append(args, "-Dorg.openas2.logging.log.AS2Util=trace")
	}
	o.process = bound(exec.Command("java", append(args, "org.openas2.app.OpenAS2Server", o.path("config.xml"))...))
	o.process.Dir = o.material.Dir
	o.process.Stdout, o.process.Stderr = &o.log, &o.log
	if err := o.process.Start(); err != nil {
		return err
	}
	o.gone = make(chan struct{})
	go func(p *exec.Cmd, gone chan<- struct{}) {
		_ = p.Wait() // whoever waits for its log is told
		close(gone)
	}(o.process, o.gone)
	began := len(o.log.String())
	err = o.await(ctx, "the log says that it started", func() bool {
		return regexp.MustCompile(`OpenAS2 Server .* started\.`).MatchString(o.log.String()[began:])
	})
	if err != nil {
		return fmt.Errorf("%w\n%s", err, &o.log)
	}
	return nil
}

// await waits as long as the process lives.
func (o *openAS2) await(ctx context.Context, what string, done func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	ended := false
	err := await(ctx, what, func() bool {
		select {
		case <-o.gone:
			ended = true
			return true
		default:
			return done()
		}
	})
	if ended {
		return errGone
	}
	return err
}

func (o *openAS2) stop() {
	if o.process == nil || o.process.Process == nil {
		return
	}
	_ = o.process.Process.Signal(syscall.SIGTERM)
	select {
	case <-o.gone:
	case <-time.After(10 * time.Second):
		_ = o.process.Process.Kill()
		<-o.gone
	}
	_ = os.WriteFile(o.path("openas2.log"), []byte(o.log.String()), 0o600) // for EDIGW_INTEROP_KEEP
}

// messageID is that of what it sends: always the same for one profile, so that
// a second document is a repetition of the first.
func (o *openAS2) messageID(p profile) string { return "<" + p.name + "@openas2.example>" }

// received waits for the file of a message. The folder of a message has the
// name of its Message-ID without brackets, the file in it that of the document.
func (o *openAS2) received(ctx context.Context, _ profile, messageID string) (a arrival, err error) {
	folder := o.path("in", strings.Trim(messageID, "<>"))
	err = o.await(ctx, "OpenAS2 has stored "+messageID, func() bool {
		files, err := os.ReadDir(folder)
		if err == nil && len(files) == 1 {
			a = arrival{File: filepath.Join(folder, files[0].Name()), FileName: files[0].Name()}
			if "<"+a.FileName+">" == messageID {
				a.FileName = "" // what it takes where it knows none
			}
		}
		return a.File != ""
	})
	return a, err
}

// send puts the document into the folder of the profile, and waits until
// OpenAS2 counts it as sent or as failed.
func (o *openAS2) send(ctx context.Context, p profile, d document) (outcome, error) {
	id := o.messageID(p)
	began := len(o.log.String())
	if err := o.drop(p, d); err != nil {
		return outcome{}, err
	}
	// The log comes through a pipe, later than the files: its last line of the
	// message is what to wait for.
	last := regexp.MustCompile(`moved .*` + regexp.QuoteMeta(id))
	if !p.receipt() {
		last = regexp.MustCompile(`Message sent and response received in .*` + regexp.QuoteMeta(id))
	}
	err := o.await(ctx, "OpenAS2 has settled "+id, func() bool { return last.MatchString(o.log.String()[began:]) })
	if err != nil {
		return outcome{}, fmt.Errorf("%w\n%s", err, o.about(id))
	}
	return o.outcome(p, id)
}

// drop puts a document where OpenAS2 looks for some to send.
func (o *openAS2) drop(p profile, d document) error {
	return os.Rename(d.file, o.path("out", p.name, d.fileName))
}

// files counts what lies in a folder.
func files(dir string) int {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0 // not made yet
	}
	return len(entries)
}

var (
	loggedMIC  = regexp.MustCompile(`MIC check on calculated MIC: (\S+, \S+)`)
	loggedDisp = regexp.MustCompile(`received MDN \[([^\]]*)\]`)
)

// outcome reads what OpenAS2 says of a message that it sent.
func (o *openAS2) outcome(p profile, id string) (outcome, error) {
	result := outcome{MessageID: id}
	log := o.about(id)
	if files(o.path("failed", p.name)) > 0 {
		result.Problem = "it counts the message as failed"
	}
	if m := loggedDisp.FindStringSubmatch(log); m != nil {
		result.Disposition = dispositionOf(m[1])
	}
	if m := loggedMIC.FindStringSubmatch(log); m != nil {
		result.MIC = m[1]
	}
	stored, err := os.ReadFile(o.path("mdn", strings.Trim(id, "<>")))
	if errors.Is(err, os.ErrNotExist) {
		return result, nil // none was asked for, or it was not accepted
	}
	if err != nil {
		return result, err
	}
	lines := bufio.NewScanner(bytes.NewReader(stored))
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch {
		case strings.EqualFold(name, "Content-Type"):
			// It verifies the signature of every signed receipt, and stores
			// only those that passed.
			result.Signed = strings.Contains(value, "multipart/signed")
			result.Verified = result.Signed
		case name == "MIC":
			result.MICReturned = value
		}
	}
	result.Equal = result.MIC != "" && strings.Contains(log, "MIC is matched")
	return result, nil
}

// dispositionOf leaves the mode out of a disposition.
func dispositionOf(text string) string {
	_, rest, found := strings.Cut(text, ";")
	if !found {
		return text
	}
	return strings.TrimSpace(rest)
}

// about gives the lines of the log that name a message.
func (o *openAS2) about(id string) string {
	var b strings.Builder
	for line := range strings.Lines(o.log.String()) {
		if strings.Contains(line, id) {
			b.WriteString(line)
		}
	}
	return b.String()
}
