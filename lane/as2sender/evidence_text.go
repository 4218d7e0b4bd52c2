package as2sender

import (
	"bytes"
	"fmt"
	"strings"

	"edigw/as2"
	"edigw/as2/smime"
	"edigw/fault"
	"edigw/lane/evidence"
)

func (e *proof) writeTexts() error {
	facts := evidence.Facts{
		Who:      []evidence.Line{{Name: "AS2-From, AS2-To", Value: evidence.Or(e.header("AS2-From")) + ", " + evidence.Or(e.header("AS2-To"))}},
		Expected: []evidence.Line{{Name: "Digest expected", Value: e.expected()}},
		Said:     e.said(),
		Ack: func(k *fault.Acknowledgement) string {
			return as2.Disposition{Mode: k.Mode, Type: k.Type, Modifier: k.Modifier, Text: k.Text}.String()
		},
	}
	if err := e.PutReadme(facts); err != nil {
		return err
	}
	return e.steps().Put()
}

// header is a header of the message as it was sent.
func (e *proof) header(name string) string {
	for _, f := range e.rendition.Headers {
		if strings.EqualFold(f.Name, name) {
			return f.Value
		}
	}
	return ""
}

func (e *proof) expected() string {
	if !e.Sent {
		return ""
	}
	return e.mic.String()
}

// said is what the receipt says.
func (e *proof) said() []evidence.Line {
	all := []evidence.Line{{Name: "Receipt's own id", Value: e.mdn.MessageID}, {Name: "It is about", Value: e.mdn.OriginalMessageID}}
	if e.mdn.Disposition.Type != "" {
		all = append(all, evidence.Line{Name: "Disposition", Value: e.mdn.Disposition.String()})
	}
	if e.mdn.MIC != (as2.MIC{}) {
		all = append(all, evidence.Line{Name: "Digest received", Value: e.mdn.MIC.String()})
	}
	return all
}

// steps is VERIFY.txt.
func (e *proof) steps() *evidence.Steps {
	s := e.Steps("openssl 1.1.1 or later")
	if s.Certificate() {
		e.signatureSteps(s)
	}
	if e.written && e.same {
		e.contentSteps(s)
	} else {
		s.Say("The content cannot be checked; README.txt says why.")
	}
	return s
}

func (e *proof) signatureSteps(s *evidence.Steps) {
	s.Add(fmt.Sprintf("%s was signed with that certificate's key, and no byte of it changed since.\n   openssl says: CMS Verification successful", signedPartFile),
		fmt.Sprintf("openssl cms -verify -binary -inform DER -in %s -content %s -certfile %s -nointern -noverify -out receipt-verified.bin", signatureFile, signedPartFile, evidence.TheirFile(e.Signer)))
	if e.same && e.mdn.MIC.Equal(e.mic) && bytes.Contains(e.part, []byte(e.mdn.MIC.Value)) {
		s.Add(fmt.Sprintf("What was signed names the digest that we expect for message\n   %s:", evidence.OneLine(e.rendition.MessageID)),
			fmt.Sprintf(`grep -F "%s" %s`, e.mic.Value, signedPartFile))
	}
}

func (e *proof) contentSteps(s *evidence.Steps) {
	name, of := opensslName(e.mic), "the MIME entity that the digest covers"
	if e.entity.Header == "" && e.entity.Compressed == "" {
		of = "the content that the digest covers"
	}
	s.Add(fmt.Sprintf("%s, %s, has the digest (%s, in base64)\n   %s", entityFile, of, name, e.mic.Value), evidence.Digest(name, entityFile, e.mic.Value))
	sum, size := e.Message.Payload.SHA256, e.Message.Payload.Size
	if e.encoded() {
		s.Add(fmt.Sprintf("%s is the document that was handed in, before it was compressed or encoded:", evidence.DocumentFile), evidence.SHA256("cat "+evidence.DocumentFile, sum))
		return
	}
	s.Add(fmt.Sprintf("The last %d bytes of %s are the document that was handed in, SHA-256\n   %s:", size, entityFile, sum),
		evidence.SHA256(fmt.Sprintf("tail -c %d %s", size, entityFile), sum))
}

// opensslName is how openssl spells the algorithm of a MIC: sha256.
func opensslName(m as2.MIC) string {
	h, _ := smime.HashByName(m.Algorithm)
	return strings.ToLower(strings.ReplaceAll(h.String(), "-", ""))
}
