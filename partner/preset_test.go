package partner

import (
	"bytes"
	"encoding/asn1"
	"encoding/base64"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"edigw/as2"
	"edigw/as2/smime"
)

// sent is a message as a partner of a preset gets it, unencrypted.
type sent struct {
	partner   *Partner
	agreement as2.Agreement
	headers   string
	body      string
	signature string // DER
}

// has an object identifier in its signature.
func (s sent) has(oid ...int) bool {
	der, _ := asn1.Marshal(asn1.ObjectIdentifier(oid))
	return strings.Contains(s.signature, string(der))
}

func (s sent) binary() bool {
	return strings.Contains(s.body, "Content-Transfer-Encoding: binary\r\nContent-Disposition: attachment; filename=\"order.edi\"\r\n\r\nISA*00*")
}

// wrapped reports whether the document went in base64 lines of 76.
func (s sent) wrapped() bool {
	_, text, ok := strings.Cut(s.body, "Content-Transfer-Encoding: base64\r\nContent-Disposition: attachment; filename=\"order.edi\"\r\n\r\n")
	line, _, _ := strings.Cut(text, "\r\n")
	return ok && len(line) == 76
}

func (s sent) uncompressed() bool { return !strings.Contains(s.body, "smime-type=compressed-data") }

const (
	protection = "RFC 6211"
	pss        = "RSASSA-PSS"
)

// TestPresetsLeadToTheWire: whatever the defaults of edigw.yaml say, what the
// preset promises is what the partner gets.
func TestPresetsLeadToTheWire(t *testing.T) {
	t.Parallel()
	promises := map[string]func(s sent) map[string]bool{
		"sterling": func(s sent) map[string]bool {
			return map[string]bool{
				"no " + protection: !s.has(1, 2, 840, 113549, 1, 9, 52), "no " + pss: !s.has(1, 2, 840, 113549, 1, 1, 10),
				"binary": s.binary(), "uncompressed": s.uncompressed(), "issuer and serial": !s.agreement.KeyID,
			}
		},
		"mendelson": func(s sent) map[string]bool {
			rules := s.agreement.Receive.MIC
			return map[string]bool{"fresh id": s.partner.FreshID, "SHA-1 for what is not signed": rules.Unsigned == digest("sha1"), "MIC with headers": !rules.CompressedBody}
		},
		"amazon": func(s sent) map[string]bool {
			return map[string]bool{"uncompressed": s.uncompressed(), "binary": s.binary()}
		},
		"seeburger": func(s sent) map[string]bool {
			return map[string]bool{"micalg": strings.Contains(s.headers, "micalg=sha256;"), "asked": strings.Contains(s.headers, "signed-receipt-micalg=optional, sha256\r\n"), "binary": s.binary()}
		},
		"biztalk": func(s sent) map[string]bool {
			return map[string]bool{"not asked first": !s.agreement.ExpectContinue, "uncompressed": s.uncompressed(), "a type for each part": strings.Count(s.body, "Content-Type: ") == 2}
		},
		"opentext": func(s sent) map[string]bool { return map[string]bool{"binary": s.binary()} },
		"axway":    func(s sent) map[string]bool { return map[string]bool{"base64": s.wrapped()} },
		"mulesoft": func(s sent) map[string]bool { return map[string]bool{"base64": s.wrapped()} },
		"liaison": func(s sent) map[string]bool {
			return map[string]bool{"with length": !s.agreement.Chunked, "not asked first": !s.agreement.ExpectContinue}
		},
		"openas2": func(s sent) map[string]bool {
			return map[string]bool{"MIC of the body": s.agreement.Receive.MIC.CompressedBody}
		},
		"as2lib": func(s sent) map[string]bool {
			return map[string]bool{"uncompressed": s.uncompressed(), "no GCM": s.partner.AS2.Template.Encrypt == smime.AES256CBC}
		},
		"pyas2": func(s sent) map[string]bool {
			return map[string]bool{"signed": s.signature != "", "binary": s.binary(), "PKCS #1": s.agreement.Transport == smime.KeyTransport{}}
		},
	}
	presets, err := Presets()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range presets {
		promised := promises[p.Name]
		if promised == nil {
			t.Errorf("%s promises nothing that is looked at", p.Name)
			continue
		}
		for _, contrary := range []bool{false, true} {
			for what, kept := range promised(toPreset(t, p.Name, contrary)) {
				if !kept {
					t.Errorf("%s, contrary defaults %t: %s is not kept", p.Name, contrary, what)
				}
			}
		}
	}
}

// contraryDefaults are the opposite of what the presets want.
const contraryDefaults = `defaults:
  as2:
    sign: sha256
    algorithm_protection: true
    certificate_id: key-id
    signature: rsa-pss
    compress: before-sign
    encrypt: aes256-gcm
    key_transport: rsa-oaep-sha512
    transfer: chunked
    expect_continue: true
    receive: {mic: {unsigned: sha512, compressed: body}}
`

// toPreset builds a message to a partner of a preset.
func toPreset(t *testing.T, preset string, contrary bool) sent {
	t.Helper()
	dir := installation(t)
	if contrary {
		encoding := "base64"
		if preset == "axway" || preset == "mulesoft" {
			encoding = "binary"
		}
		text := contraryDefaults + "    transfer_encoding: " + encoding + "\n"
		if !slices.Contains([]string{"sterling", "amazon", "biztalk", "as2lib"}, preset) { // else there is nothing to see of the rest
			text = strings.Replace(text, "compress: before-sign", "compress: none", 1)
		}
		if preset == "openas2" {
			text = strings.Replace(text, "compressed: body", "compressed: with-headers", 1)
		}
		edit(t, filepath.Join(dir, "edigw.yaml"), "defaults:\n", text)
	}
	edit(t, filepath.Join(dir, "good", "minimal.yaml"), "protocol: as2\n", "protocol: as2\npreset: "+preset+"\n")
	s := mustLoad(t, dir)
	out := sent{}
	out.partner, _ = s.Partner("minimal")
	out.agreement = mustAgreement(t, s, "minimal", today)
	clear := out.agreement
	clear.Encrypt = "" // else there is nothing to see
	content := "ISA*00*" + strings.Repeat("x", 200) + "~"
	var body bytes.Buffer
	r, err := as2.Build(&body, clear, as2.Document{
		MessageID: "<1@acme.example>", ContentType: "application/edi-x12", FileName: "order.edi", Size: int64(len(content)), Date: today,
	}, strings.NewReader(content), today, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Headers {
		out.headers += f.Name + ": " + f.Value + "\r\n"
	}
	out.body = body.String()
	_, text, _ := strings.Cut(out.body, "filename=\"smime.p7s\"\r\n\r\n")
	text, _, _ = strings.Cut(text, "\r\n--")
	der, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(text, "\r\n", ""))
	if err != nil {
		t.Fatal(err)
	}
	out.signature = string(der)
	return out
}
