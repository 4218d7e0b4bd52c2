package openas2

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"edigw/as2/smime"
	"edigw/partner/takeover"
)

// settings are the keys of one partner file as they come together.
type settings struct {
	t    *translator
	id   string
	pair *pair
	keys []setting
}

type setting struct{ key, value string } // value in YAML

func (s *settings) set(key, value string) { s.keys = append(s.keys, setting{key, value}) }

func (s *settings) note(about, format string, args ...any) { s.t.note(s.id, about, format, args...) }

func (s *settings) lost(about, format string, args ...any) { s.t.lost(s.id, about, format, args...) }

func (s *settings) names() {
	s.set("as2.id", takeover.Quoted(s.pair.theirs.AS2ID))
	if s.pair.ours.AS2ID != s.t.o.OurID {
		s.set("as2.our_id", takeover.Quoted(s.pair.ours.AS2ID))
	}
}

// sending translates the partnership from us to them: every attribute has a row
// in the table, or is reported as lost.
func (s *settings) sending(p *Partnership) {
	has := func(name string) bool {
		v, ok := p.attribute(name)
		return ok && v != "" && !strings.Contains(v, "$properties.")
	}
	for _, a := range p.Attributes {
		name := strings.ToLower(a.Name)
		row, known := rows[name]
		switch {
		case told[name] != "":
			s.note(a.Name, "it was %q: %s", takeover.Clip(a.Value), told[name])
		case strings.Contains(a.Value, "$properties."):
			s.lost(a.Name, "it holds a property that config.xml does not define: %q", takeover.Clip(a.Value))
		case !known:
			s.lost(a.Name, "edigw has nothing of that name; it was %q", takeover.Clip(a.Value))
		case row != nil:
			row(s, p, a.Value)
		}
	}
	for _, name := range []string{"sign", "encrypt"} {
		if !has(name) {
			s.set("as2."+name, "none")
		}
	}
	if !has("as2_url") {
		s.lost("as2_url", "it is missing; as2.url is a placeholder")
		s.set("as2.url", "https://unknown.invalid/as2")
	}
	s.receipt(p)
	s.login(p)
	s.folder(p)
}

// rows is what each attribute becomes; nil: it is taken elsewhere, or is how
// edigw always does it.
var rows = map[string]func(s *settings, p *Partnership, value string){
	"protocol": nil, "as2_mdn_to": nil, "as2_mdn_options": nil, "as2_receipt_option": nil, "http_user": nil, "http_password": nil, "compression_mode": nil,

	"as2_url": func(s *settings, _ *Partnership, v string) { s.set("as2.url", takeover.Quoted(v)) },
	"sign": func(s *settings, _ *Partnership, v string) {
		h, ok := smime.HashByName(v)
		if !ok {
			s.lost("sign", "%s is not used by edigw; sha256 was put in its place, agree it with the partner", v)
			s.set("as2.sign", "sha256")
			return
		}
		s.set("as2.sign", strings.ReplaceAll(smime.HashName(h), "-", ""))
	},
	"encrypt": func(s *settings, _ *Partnership, v string) {
		c, ok := ciphers[strings.ReplaceAll(takeover.Word(v), "-", "")]
		if !ok {
			s.lost("encrypt", "%s is not used by edigw; aes256-cbc was put in its place, agree it with the partner", v)
			c = "aes256-cbc"
		}
		s.set("as2.encrypt", c)
	},
	"compression_type": func(s *settings, p *Partnership, v string) { s.compression(p, v) },
	"compression":      func(s *settings, p *Partnership, v string) { s.compression(p, v) },
	"content_type":     func(s *settings, _ *Partnership, v string) { s.set("as2.content_type", takeover.Quoted(v)) },
	"content_transfer_encoding": func(s *settings, _ *Partnership, v string) {
		if strings.EqualFold(v, "base64") {
			s.set("as2.transfer_encoding", "base64")
		}
	},
	"subject": func(s *settings, p *Partnership, v string) { s.subject(p, v) },
	"prevent_chunking": func(s *settings, _ *Partnership, v string) {
		if strings.EqualFold(v, "false") {
			s.note("prevent_chunking", "OpenAS2 sent large files in chunks; edigw sends the length. as2.transfer: chunked would go back to that")
		}
	},
	"rename_digest_to_old_name": func(s *settings, _ *Partnership, v string) {
		if strings.EqualFold(v, "true") {
			s.set("as2.digest_names", "rfc3851")
		}
	},
	"resend_max_retries": func(s *settings, _ *Partnership, v string) {
		s.note("resend_max_retries", "it was %s; edigw tries 7 times with growing waits (retry.attempts), then makes a dead letter that can be replayed", takeover.Clip(v))
	},
	"resend_requires_new_message_id": func(s *settings, _ *Partnership, v string) {
		if strings.EqualFold(v, "true") {
			s.note("resend_requires_new_message_id", "edigw repeats under the same Message-ID, as RFC 4130 §5.5 has it; if this partner refuses that, set as2.fresh_id: true")
		}
	},
}

// told are attributes that nothing is set for, and what edigw does instead.
var told = map[string]string{
	"remove_cms_algorithm_protection_attrib":    "edigw adds that attribute only with as2.algorithm_protection",
	"prevent_canonicalization_for_mic":          "edigw hashes what goes out, byte for byte",
	"as2_message_id_format":                     "edigw makes Message-IDs of its own, under identity.domain",
	"set_transfer_encoding_on_inital_body_part": "edigw always says the transfer encoding",
	"no_set_transfer_encoding_for_signing":      "edigw always says the transfer encoding",
	"no_set_transfer_encoding_for_encryption":   "edigw always says the transfer encoding",
	"remove_http_header_folding":                "edigw never folds headers",
	"no_chunked_max_size":                       "edigw sends the length, not chunks, unless as2.transfer is chunked",
	"as2_mdn_response_max_wait_seconds":         "how long edigw waits is timeout.response, or as2.mdn.wait for asynchronous receipts",
	"reject_unsigned_messages":                  "it says nothing of what we send; what they must sign is as2.receive.require",
}

var ciphers = map[string]string{
	"3des": "3des", "desede3cbc": "3des", "desede": "3des", "tripledes": "3des",
	"aes128": "aes128-cbc", "aes128cbc": "aes128-cbc", "aes192": "aes192-cbc", "aes192cbc": "aes192-cbc", "aes256": "aes256-cbc", "aes256cbc": "aes256-cbc",
	"aes128gcm": "aes128-gcm", "aes256gcm": "aes256-gcm",
}

func (s *settings) compression(p *Partnership, v string) {
	if strings.EqualFold(v, "none") || v == "" {
		return
	}
	if !strings.EqualFold(v, "zlib") {
		s.lost("compression_type", "%s is unknown; nothing is compressed", takeover.Clip(v))
		return
	}
	if mode, _ := p.attribute("compression_mode"); strings.EqualFold(mode, "compress-after-signing") {
		s.set("as2.compress", "after-sign")
		return
	}
	s.set("as2.compress", "before-sign")
}

// subject keeps what edigw can fill in.
func (s *settings) subject(p *Partnership, v string) {
	for _, known := range [][2]string{
		{"$attributes.filename$", "{file}"}, {"$msg.attributes.filename$", "{file}"}, {"$sender.name$", p.Sender.Name}, {"$receiver.name$", p.Receiver.Name},
		{"$msg.sender.as2_id$", p.Sender.AS2ID}, {"$msg.receiver.as2_id$", p.Receiver.AS2ID}, {"$sender.as2_id$", p.Sender.AS2ID}, {"$receiver.as2_id$", p.Receiver.AS2ID},
	} {
		v = strings.ReplaceAll(v, known[0], known[1])
	}
	if strings.Contains(v, "$") {
		s.lost("subject", "%q holds variables that edigw does not fill in; it is left out", takeover.Clip(v))
		return
	}
	s.set("as2.subject", takeover.Quoted(v))
}

// receipt translates what is asked of the partner.
func (s *settings) receipt(p *Partnership) {
	to, _ := p.attribute("as2_mdn_to")
	options, signed := p.attribute("as2_mdn_options")
	if to == "" {
		s.set("as2.mdn", "{mode: none}")
		return
	}
	signed = signed && strings.Contains(strings.ToLower(options), "pkcs7-signature")
	mode := "sync"
	if url, _ := p.attribute("as2_receipt_option"); url != "" {
		mode = "async"
		s.note("as2_receipt_option", "asynchronous receipts came to %s; edigw asks for them at its own address, listen.partners.base_url. A partner's firewall may have to be told", takeover.Clip(url))
	}
	value := fmt.Sprintf("{mode: %s, signed: %t", mode, signed)
	switch h := s.asked(p, options); {
	case signed && h != "":
		value += ", algorithm: " + h
	case signed:
		s.lost("as2_mdn_options", "none of the digests is used by edigw (%q); receipts are asked for with sha256", takeover.Clip(options))
	}
	s.set("as2.mdn", value+"}")
}

// asked is the first digest of the options that edigw knows.
func (s *settings) asked(p *Partnership, options string) string {
	sign, _ := p.attribute("sign")
	options = strings.NewReplacer("$attribute.sign$", sign, "$attributes.sign$", sign).Replace(options)
	_, list, _ := strings.Cut(strings.ToLower(options), "signed-receipt-micalg")
	for _, name := range strings.FieldsFunc(list, func(r rune) bool { return strings.ContainsRune("=,; \t", r) }) {
		if h, ok := smime.HashByName(name); ok {
			return strings.ReplaceAll(smime.HashName(h), "-", "")
		}
	}
	return ""
}

func (s *settings) login(p *Partnership) {
	user, _ := p.attribute("http_user")
	password, _ := p.attribute("http_password")
	if user == "" {
		return
	}
	file := "secrets/" + s.id
	s.set("auth.basic", fmt.Sprintf("{user: %s, password_file: %s}", takeover.Quoted(user), s.named(file)))
	s.t.plan.Files = append(s.t.plan.Files, takeover.File{Path: file, Content: []byte(password + "\n")})
}

// named is a file of the plan as a partner file names it.
func (s *settings) named(file string) string { return takeover.Named(s.t.o.Home, file) }

// folder says where files for the partner go now.
func (s *settings) folder(p *Partnership) {
	for _, poller := range s.t.in.Pollers {
		if poller.Partnership != "" && poller.Partnership == p.Name || poller.Sender == p.Sender.AS2ID && poller.Receiver == p.Receiver.AS2ID {
			from := poller.Dir
			if from == "" {
				from = "the folder of pollerConfigBase"
			}
			s.note("outboxdir", "files for them lay in %s; now they go to outbox/%s/", from, s.id)
			if _, given := p.attribute("content_type"); !given && poller.ContentType != "" && !strings.EqualFold(poller.ContentType, "application/edi-x12") {
				s.set("as2.content_type", takeover.Quoted(poller.ContentType))
			}
		}
	}
}

// receiving translates the partnership from them to us. What it sets describes
// their messages; OpenAS2 demands little of it.
func (s *settings) receiving(p *Partnership) {
	var require []string
	sign, signs := p.attribute("sign")
	if reject, _ := p.attribute("reject_unsigned_messages"); signs && sign != "" || strings.EqualFold(reject, "true") {
		require = append(require, "signed")
	}
	if encrypt, ok := p.attribute("encrypt"); ok && encrypt != "" {
		require = append(require, "encrypted")
	}
	if len(require) == 0 {
		require = []string{"none"}
		s.note("partnership "+p.Name, "it asks for neither signature nor encryption, so edigw takes messages of theirs without: agree on more, and set as2.receive.require")
	}
	value := "{require: [" + strings.Join(require, ", ") + "]"
	if h, ok := smime.HashByName(sign); ok && smime.HashName(h) == "sha-1" || strings.EqualFold(sign, "md5") {
		value += ", digest: sha1"
		s.note("sign", "they sign with %s: as2.receive.digest lets sha1 pass; ask them for SHA-256", takeover.Clip(sign))
	}
	if url, _ := p.attribute("as2_receipt_option"); url != "" {
		value += ", receipt_urls: [" + takeover.Quoted(url) + "]"
		s.note("as2_receipt_option", "they may ask for receipts at %s; edigw posts them nowhere else", takeover.Clip(url))
	}
	s.set("as2.receive", value+"}")
	if !slices.Equal(require, []string{"none"}) {
		s.note("partnership "+p.Name, "edigw refuses messages of theirs that are not %s; OpenAS2 let them pass", strings.Join(require, " and "))
	}
	for _, name := range []string{"store_received_file_to", "blockerrormdn"} {
		if v, ok := p.attribute(name); ok {
			s.lost(name, "it was %q; received files lie in inbox/%s/, and every message that asks gets its receipt", takeover.Clip(v), s.id)
		}
	}
}

// certificates puts theirs into the plan: the current one, and the one that
// OpenAS2 falls back to.
func (s *settings) certificates() {
	var files []string
	for i, alias := range []string{s.pair.theirs.Alias, s.pair.theirs.Fallback} {
		if alias == "" {
			continue
		}
		e := s.t.in.Store.Find(alias)
		if e == nil || len(e.Certificates) == 0 {
			s.lost("x509_alias", "%s holds no certificate %q; import theirs with edigw cert import %s FILE", s.t.in.Store.File, alias, s.id)
			continue
		}
		file := fmt.Sprintf("keys/%s%s.pem", s.id, []string{"", "-fallback"}[i])
		s.t.plan.Files = append(s.t.plan.Files, takeover.File{Path: file, Content: e.PEM(false)})
		files = append(files, "{file: "+s.named(file)+"}")
	}
	if len(files) == 0 {
		return
	}
	if e := s.t.in.Store.Find(s.pair.theirs.Alias); e == nil || len(e.Certificates) == 0 {
		s.note("x509_alias_fallback", "documents are encrypted to the certificate of the fallback alias, since that of the alias is missing")
	}
	s.set("certificates.verify", "["+strings.Join(files, ", ")+"]")
	s.set("certificates.encrypt", "["+files[0]+"]")
}

// yaml writes the partner file, section by section.
func (s *settings) yaml() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# Taken over from OpenAS2; openas2-import.txt says what could not be.\nname: %s\nstage: test              # live when both sides are content\nprotocol: as2\n",
		takeover.Quoted(cmp.Or(s.pair.theirs.Name, s.pair.theirs.AS2ID)))
	for _, section := range []string{"as2", "certificates", "auth"} {
		var lines []string
		for _, k := range s.keys {
			if name, ok := strings.CutPrefix(k.key, section+"."); ok {
				lines = append(lines, "  "+name+": "+k.value+"\n")
			}
		}
		if len(lines) > 0 {
			b.WriteString(section + ":\n" + strings.Join(lines, ""))
		}
	}
	return []byte(b.String())
}
