package as2sender

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"edigw/as2"
	"edigw/as2/smime"
	"edigw/queue"
)

func (e *evidence) writeTexts() error {
	if err := e.put(readmeFile, []byte(e.readme())); err != nil {
		return err
	}
	return e.put(verifyFile, []byte(e.commands()))
}

// instant is a time as evidence says it; a dash for none.
func instant(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}

// oneLine keeps a text from making lines of its own.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// or is s, or a dash for nothing.
func or(s string) string {
	if s = oneLine(s); s == "" {
		return "-"
	}
	return s
}

// readme tells the facts.
func (e *evidence) readme() string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-20s %s\n", name+":", or(fmt.Sprintf(format, args...)))
	}
	m := e.message
	fmt.Fprintf(&b, "Evidence for message %s, written %s\n\n", m.ID, instant(e.now))
	line("Partner", "%s", m.Partner)
	line("Message-ID", "%s", m.MessageID)
	line("Key", "%s", m.Key)
	line("AS2-From, AS2-To", "%s, %s", or(e.header("AS2-From")), or(e.header("AS2-To")))
	line("Document", "%s, %d bytes, SHA-256 %s", or(m.Payload.FileName), m.Payload.Size, or(m.Payload.SHA256))
	for _, r := range m.Business.References {
		line("Reference", "%s %s", r.Name, r.Value)
	}
	line("State", "%s", m.State)
	line("Accepted", "%s", instant(m.Accepted))
	if m.State == queue.Delivered {
		line("Delivered", "%s", instant(m.Finished))
	}
	line("Proof", "%s", m.Proof)
	line("Digest expected", "%s", e.expected())
	if e.attempt != nil {
		e.receiptLines(line)
	}
	b.WriteString("\nAttempts\n")
	for _, a := range e.attempts {
		b.WriteString(attemptLine(a))
	}
	if len(e.missing) > 0 {
		b.WriteString("\nMissing\n")
		for _, text := range e.missing {
			b.WriteString("  " + oneLine(text) + "\n")
		}
	}
	b.WriteString("\nVERIFY.txt says how anybody can check this with openssl.\n")
	return b.String()
}

// header is a header of the message as it was sent.
func (e *evidence) header(name string) string {
	for _, f := range e.rendition.Headers {
		if strings.EqualFold(f.Name, name) {
			return f.Value
		}
	}
	return ""
}

func (e *evidence) expected() string {
	if !e.sent() {
		return ""
	}
	return e.mic.String()
}

func (e *evidence) receiptLines(line func(name, format string, args ...any)) {
	line("Receipt of", "attempt %d, %s", e.attempt.N, instant(e.attempt.Started.Add(e.attempt.Duration)))
	line("Receipt's own id", "%s", e.mdn.MessageID)
	line("It is about", "%s", e.mdn.OriginalMessageID)
	if e.mdn.Disposition.Type != "" {
		line("Disposition", "%s", e.mdn.Disposition)
	}
	if e.mdn.MIC != (as2.MIC{}) {
		line("Digest received", "%s", e.mdn.MIC)
	}
	if a := e.attempt.Ack; a != nil {
		line("Verdict", "%s", a.Verdict)
		line("Signer recorded", "%s", a.Signer)
	}
	if e.signer >= 0 {
		line("Signer", "%s, %s", theirFile(e.signer), smime.CertificateID(e.theirs[e.signer]))
	}
	line("Left out", "%s holds headers and body as they came, but no cookies and no token of our URL", receiptFile)
}

// attemptLine is one exchange.
func attemptLine(a queue.Attempt) string {
	text := fmt.Sprintf("  %d  %s  %v  build %d  %s, reached %s", a.N, instant(a.Started), a.Duration.Round(time.Millisecond), a.Build, or(string(a.Class)), a.Phase)
	if a.Cause != "" {
		text += ", " + string(a.Cause)
	}
	if a.Status != 0 {
		text += fmt.Sprintf(", HTTP %d", a.Status)
	}
	if k := a.Ack; k != nil {
		d := as2.Disposition{Mode: k.Mode, Type: k.Type, Modifier: k.Modifier, Text: k.Text}
		text += fmt.Sprintf(", receipt %s: %s", k.Verdict, oneLine(d.String()))
	}
	if a.Detail != "" {
		text += ": " + oneLine(a.Detail)
	}
	return text + "\n"
}

// commands is VERIFY.txt. Lines that begin with four blanks are commands; only
// names and values of ours stand in them.
func (e *evidence) commands() string {
	var b strings.Builder
	b.WriteString("How to check this evidence\n\n" +
		"You need openssl 1.1.1 or later and a shell, in the folder where the zip was\nunpacked. Each command ends with exit status 0 if what stands above it is true.\n")
	n := 0
	step := func(text string, command string) {
		n++
		fmt.Fprintf(&b, "\n%d. %s\n\n    %s\n", n, text, command)
	}
	if e.signer >= 0 {
		e.signatureSteps(step)
	} else {
		b.WriteString("\nThere is no signature of the partner that could be checked; README.txt says why.\n")
	}
	if e.written && e.same {
		e.contentSteps(step)
	} else {
		b.WriteString("\nThe content cannot be checked; README.txt says why.\n")
	}
	return b.String()
}

func (e *evidence) signatureSteps(step func(text, command string)) {
	file, c := theirFile(e.signer), e.theirs[e.signer]
	step(fmt.Sprintf("%s is the partner's certificate: its SHA-256 fingerprint is\n   %s\n   Ask the partner to confirm it; nothing else here vouches for whose it is.", file, smime.Fingerprint(c)),
		fmt.Sprintf(`test "$(openssl x509 -in %s -noout -fingerprint -sha256 | cut -d = -f 2)" = "%s"`, file, smime.Fingerprint(c)))
	step(fmt.Sprintf("%s was signed with that certificate's key, and no byte of it changed since.\n   openssl says: CMS Verification successful", signedPartFile),
		fmt.Sprintf("openssl cms -verify -binary -inform DER -in %s -content %s -certfile %s -nointern -noverify -out receipt-verified.bin", signatureFile, signedPartFile, file))
	if e.same && e.mdn.MIC.Equal(e.mic) && bytes.Contains(e.part, []byte(e.mdn.MIC.Value)) {
		step(fmt.Sprintf("What was signed names the digest that we expect for message\n   %s:", oneLine(e.rendition.MessageID)),
			fmt.Sprintf(`grep -F "%s" %s`, e.mic.Value, signedPartFile))
	}
}

func (e *evidence) contentSteps(step func(text, command string)) {
	name, of := opensslName(e.mic), "the MIME entity that the digest covers"
	if e.entity.Header == "" && e.entity.Compressed == "" {
		of = "the content that the digest covers"
	}
	step(fmt.Sprintf("%s, %s, has the digest (%s, in base64)\n   %s", entityFile, of, name, e.mic.Value),
		fmt.Sprintf(`test "$(openssl dgst -%s -binary %s | openssl base64 -A)" = "%s"`, name, entityFile, e.mic.Value))
	sum, size := e.message.Payload.SHA256, e.message.Payload.Size
	if e.encoded() {
		step(fmt.Sprintf("%s is the document that was handed in, before it was compressed or encoded:", documentFile),
			fmt.Sprintf(`test "$(openssl dgst -sha256 -r %s | cut -c 1-64)" = "%s"`, documentFile, sum))
		return
	}
	step(fmt.Sprintf("The last %d bytes of %s are the document that was handed in, SHA-256\n   %s:", size, entityFile, sum),
		fmt.Sprintf(`test "$(tail -c %d %s | openssl dgst -sha256 -r | cut -c 1-64)" = "%s"`, size, entityFile, sum))
}

// opensslName is how openssl spells the algorithm of a MIC: sha256.
func opensslName(m as2.MIC) string {
	h, _ := smime.HashByName(m.Algorithm)
	return strings.ToLower(strings.ReplaceAll(h.String(), "-", ""))
}
