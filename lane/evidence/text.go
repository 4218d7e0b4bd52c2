package evidence

import (
	"fmt"
	"strings"
	"time"

	"edigw/as2/smime"
	"edigw/fault"
	"edigw/queue"
)

// Instant is a time as evidence says it; a dash for none.
func Instant(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}

// OneLine keeps a text from making lines of its own.
func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// Or is s, or a dash for nothing.
func Or(s string) string {
	if s = OneLine(s); s == "" {
		return "-"
	}
	return s
}

// Line is a fact of README.txt.
type Line struct{ Name, Value string }

// Facts are those that the protocol knows.
type Facts struct {
	Who      []Line                              // between whom it went
	Expected []Line                              // what a receipt must name
	Said     []Line                              // of the receipt, if there is one
	Ack      func(*fault.Acknowledgement) string // what an acknowledgement says, in a few words
}

// PutReadme writes README.txt: the facts.
func (z *Zip) PutReadme(f Facts) error {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-20s %s\n", name+":", Or(fmt.Sprintf(format, args...)))
	}
	lines := func(all []Line) {
		for _, l := range all {
			line(l.Name, "%s", l.Value)
		}
	}
	m := z.Message
	fmt.Fprintf(&b, "Evidence for message %s, written %s\n\n", m.ID, Instant(z.Now))
	line("Partner", "%s", m.Partner)
	line("Message-ID", "%s", m.MessageID)
	line("Key", "%s", m.Key)
	lines(f.Who)
	line("Document", "%s, %d bytes, SHA-256 %s", Or(m.Payload.FileName), m.Payload.Size, Or(m.Payload.SHA256))
	for _, r := range m.Business.References {
		line("Reference", "%s %s", r.Name, r.Value)
	}
	line("State", "%s", m.State)
	line("Accepted", "%s", Instant(m.Accepted))
	if m.State == queue.Delivered {
		line("Delivered", "%s", Instant(m.Finished))
	}
	line("Proof", "%s", m.Proof)
	lines(f.Expected)
	if z.Attempt != nil {
		line("Receipt of", "attempt %d, %s", z.Attempt.N, Instant(z.Came()))
		lines(f.Said)
		z.receiptLines(line)
	}
	b.WriteString("\nAttempts\n")
	for _, a := range z.Attempts {
		b.WriteString(attemptLine(a, f.Ack))
	}
	if len(z.missing) > 0 {
		b.WriteString("\nMissing\n")
		for _, text := range z.missing {
			b.WriteString("  " + OneLine(text) + "\n")
		}
	}
	b.WriteString("\nVERIFY.txt says how anybody can check this.\n")
	return z.Put(readmeFile, []byte(b.String()))
}

func (z *Zip) receiptLines(line func(name, format string, args ...any)) {
	if a := z.Attempt.Ack; a != nil {
		line("Verdict", "%s", a.Verdict)
		line("Signer recorded", "%s", a.Signer)
	}
	if z.Signer >= 0 {
		line("Signer", "%s, %s", TheirFile(z.Signer), smime.CertificateID(z.Theirs[z.Signer]))
	}
	line("Left out", "%s holds headers and body as they came, but no cookies and no token of our URL", ReceiptFile)
}

// attemptLine is one exchange.
func attemptLine(a queue.Attempt, ack func(*fault.Acknowledgement) string) string {
	text := fmt.Sprintf("  %d  %s  %v  build %d  %s, reached %s", a.N, Instant(a.Started), a.Duration.Round(time.Millisecond), a.Build, Or(string(a.Class)), a.Phase)
	if a.Cause != "" {
		text += ", " + string(a.Cause)
	}
	if a.Status != 0 {
		text += fmt.Sprintf(", HTTP %d", a.Status)
	}
	if k := a.Ack; k != nil {
		text += fmt.Sprintf(", receipt %s: %s", k.Verdict, OneLine(ack(k)))
	}
	if a.Detail != "" {
		text += ": " + OneLine(a.Detail)
	}
	return text + "\n"
}

// Steps is VERIFY.txt while it is written. Lines that begin with four blanks are
// commands; only names and values of ours, and digests, stand in them.
type Steps struct {
	zip *Zip
	b   strings.Builder
	n   int
}

// Steps begins VERIFY.txt; programs are those that its commands need.
func (z *Zip) Steps(programs string) *Steps {
	s := &Steps{zip: z}
	s.b.WriteString("How to check this evidence\n\n" +
		"You need " + programs + " and a shell, in the folder where the zip was\nunpacked. Each command ends with exit status 0 if what stands above it is true.\n")
	return s
}

// Add adds a step: what is true, and the command that shows it.
func (s *Steps) Add(text, command string) {
	s.n++
	fmt.Fprintf(&s.b, "\n%d. %s\n\n    %s\n", s.n, text, command)
}

// Say adds a remark.
func (s *Steps) Say(text string) { s.b.WriteString("\n" + text + "\n") }

// Certificate adds the step that says whose signature it is; it reports false, and
// says so, if there is none.
func (s *Steps) Certificate() bool {
	z := s.zip
	if z.Signer < 0 {
		s.Say("There is no signature of the partner that could be checked; README.txt says why.")
		return false
	}
	file, print := TheirFile(z.Signer), smime.Fingerprint(z.Theirs[z.Signer])
	s.Add(fmt.Sprintf("%s is the partner's certificate: its SHA-256 fingerprint is\n   %s\n   Ask the partner to confirm it; nothing else here vouches for whose it is.", file, print),
		fmt.Sprintf(`test "$(openssl x509 -in %s -noout -fingerprint -sha256 | cut -d = -f 2)" = "%s"`, file, print))
	return true
}

// Digest is the command that holds the digest of a file, by openssl's name of the
// algorithm, to a value in base64.
func Digest(algorithm, file, value string) string {
	return fmt.Sprintf(`test "$(openssl dgst -%s -binary %s | openssl base64 -A)" = "%s"`, algorithm, file, value)
}

// SHA256 is the command that holds the SHA-256 of what another one prints to a
// value in hexadecimal.
func SHA256(producer, value string) string {
	return fmt.Sprintf(`test "$(%s | openssl dgst -sha256 -r | cut -c 1-64)" = "%s"`, producer, value)
}

// Put writes VERIFY.txt.
func (s *Steps) Put() error { return s.zip.Put(verifyFile, []byte(s.b.String())) }
