package takeover

import (
	"fmt"
	"slices"
	"strings"

	"edigw/as4/ebms"
)

// sheet are the keys of one partner file as they come together.
type sheet struct {
	w     *Writer
	id    string
	main  Leg
	lines map[string][]string // by section
}

// Unknown is a URL that nobody answers, where the product says none.
const Unknown = "https://unknown.invalid/as4"

func (s *sheet) set(section, key, value string) {
	if s.lines == nil {
		s.lines = map[string][]string{}
	}
	s.lines[section] = append(s.lines[section], "  "+key+": "+value+"\n")
}

func (s *sheet) note(about, format string, args ...any) {
	s.w.Plan.Note(s.id, about, format, args...)
}

func (s *sheet) lost(about, format string, args ...any) {
	s.w.Plan.Lost(s.id, about, format, args...)
}

// fields is a section in flow style; those without text are left out.
func fields(pairs ...string) string {
	var out []string
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			out = append(out, pairs[i]+": "+pairs[i+1])
		}
	}
	return "{" + strings.Join(out, ", ") + "}"
}

func text(s string) string {
	if s == "" {
		return ""
	}
	return Quoted(s)
}

func (s *sheet) parties(ours, theirs ebms.Party) {
	url := s.main.URL
	if url == "" && s.main.Out && s.main.Pulled {
		url = "-"
	}
	switch url {
	case "-": // nothing goes there
	case "":
		s.lost("URL", "where they listen is not said; as4.url is a placeholder")
		s.set("as4", "url", Quoted(Unknown))
	default:
		s.set("as4", "url", Quoted(url))
	}
	roles := [2]string{ours.Role, theirs.Role}
	if !s.main.Out { // the roles are those of sending
		roles = [2]string{}
	}
	s.set("as4", "to", party(theirs.IDs, roles[1], ebms.RoleResponder))
	if same := len(ours.IDs) == 1 && ours.IDs[0] == s.w.o.Party; !same || roles[0] != "" && roles[0] != ebms.RoleInitiator {
		s.set("as4", "from", party(ours.IDs, roles[0], ebms.RoleInitiator))
	}
}

func party(ids []ebms.PartyID, role, usual string) string {
	if role == usual {
		role = ""
	}
	if len(ids) == 1 {
		return fields("party", text(ids[0].Value), "type", text(ids[0].Type), "role", text(role))
	}
	var list []string
	for _, id := range ids {
		list = append(list, fields("party", text(id.Value), "type", text(id.Type)))
	}
	return fields("ids", "["+strings.Join(list, ", ")+"]", "role", text(role))
}

func agreement(a *ebms.AgreementRef) string {
	if a == nil {
		return "none"
	}
	return fields("value", text(a.Value), "type", text(a.Type), "pmode", text(a.PMode))
}

func service(v ebms.Service) string { return fields("value", text(v.Value), "type", text(v.Type)) }

// sending writes what we send; out is nil if we send nothing.
func (s *sheet) sending(out *Leg) {
	l := s.main
	if l.Agreement != nil {
		s.set("as4", "agreement", agreement(l.Agreement))
	}
	if l.Service.Value != "" {
		s.set("as4", "service", service(l.Service))
	}
	if l.Action != "" {
		s.set("as4", "action", Quoted(l.Action))
	}
	if out == nil {
		s.note(l.Name, "nothing was sent to them; agreement, service and action are those of what they send")
	} else {
		switch {
		case out.Pulled:
			s.set("as4", "mep", "one-way/pull")
		case out.TwoWay:
			s.set("as4", "mep", "two-way/push-and-push")
		}
		if out.MPC != "" && out.MPC != ebms.DefaultMPC {
			s.set("as4", "mpc", Quoted(out.MPC))
		}
		s.login("pull", out)
	}
	if len(l.Properties) > 0 && out != nil {
		var list []string
		for _, p := range l.Properties {
			value := Quoted(p.Value)
			if p.Type != "" {
				value = fields("value", value, "type", Quoted(p.Type))
			}
			list = append(list, Quoted(p.Name)+": "+value)
		}
		s.set("as4", "properties", "{"+strings.Join(list, ", ")+"}")
	}
	if l.Body {
		s.set("as4", "body", "true")
	}
	if !l.Compress || l.Body {
		s.set("as4", "compress", "none")
	}
	s.security(l)
}

func (s *sheet) login(section string, l *Leg) {
	if l.User == "" || section == "pull" && !l.Pulled {
		return
	}
	file := "secrets/" + s.id + "-" + section
	s.w.Plan.Files = append(s.w.Plan.Files, File{file, []byte(l.Password + "\n")})
	s.set("as4", section, fields("user", Quoted(l.User), "password_file", Named(s.w.o.Home, file)))
}

func (s *sheet) security(l Leg) {
	v := l.Security
	if v.Sign == "" {
		v = Security{Sign: "none", Encrypt: v.Encrypt, KeyTransport: v.KeyTransport, EncryptToken: v.EncryptToken}
	}
	if v.Encrypt == "" || l.Body {
		if v.Encrypt != "" {
			s.lost("encryption", "the payload stands in the SOAP Body, which edigw does not encrypt")
		}
		v.Encrypt, v.KeyTransport, v.EncryptToken = "none", "", ""
	}
	s.set("as4", "security", fields("sign", v.Sign, "digest", v.Digest, "token", v.Token, "encrypt", v.Encrypt, "key_transport", v.KeyTransport, "encrypt_token", v.EncryptToken))
}

// receiving writes what they send, and the receipts of both sides.
func (s *sheet) receiving(out *Leg, in, also []Leg) {
	if out != nil && out.Receipt != "" {
		copied := ""
		if out.Copy && out.Receipt != "none" {
			copied = "false"
		}
		mode := out.Receipt
		if out.Security.Sign == "" && (mode == "async" || mode == "sync" && out.Pulled) {
			s.lost(out.Name+", receipt", "it comes by itself and is not signed, so edigw could not believe it: none is expected")
			mode = "none"
		}
		if out.Pulled && mode == "sync" {
			mode = "" // it comes by itself then
		}
		if mode != "" || copied != "" {
			s.set("as4", "receipt", fields("mode", mode, "non_repudiation", copied))
		}
	}
	if len(in) == 0 {
		return
	}
	var require []string
	if !slices.ContainsFunc(in, func(l Leg) bool { return l.Security.Sign == "" }) {
		require = append(require, "signed")
	}
	if !slices.ContainsFunc(in, func(l Leg) bool { return l.Security.Encrypt == "" }) {
		require = append(require, "encrypted")
	}
	if len(require) == 0 {
		require = []string{"none"}
		s.note(in[0].Name, "it asks for neither signature nor encryption, so edigw takes messages of theirs without: agree on more, and set as4.receive.require")
	}
	var list []string
	for _, l := range also {
		list = append(list, fields("agreement", agreement(l.Agreement), "service", service(l.Service), "action", Quoted(l.Action)))
	}
	more := ""
	if len(list) > 0 {
		more = "[" + strings.Join(list, ", ") + "]"
	}
	answer := ""
	if mode := in[0].Receipt; mode == "async" || mode == "none" {
		answer = fields("mode", mode)
		if mode == "async" {
			s.note(in[0].Name, "receipts that we owe go to as4.url, later")
		}
	}
	s.set("as4", "receive", fields("require", "["+strings.Join(require, ", ")+"]", "also", more, "receipt", answer))
}

// fetch writes what is pulled from them.
func (s *sheet) fetch(in []Leg) {
	done := false
	for _, l := range in {
		switch {
		case !l.Pulled:
		case done:
			s.lost(l.Name, "edigw fetches from one channel of a partner; this one is %s", Clip(l.MPC))
		default:
			done = true
			password := ""
			if l.User != "" {
				file := "secrets/" + s.id + "-fetch"
				s.w.Plan.Files = append(s.w.Plan.Files, File{file, []byte(l.Password + "\n")})
				password = Named(s.w.o.Home, file)
			}
			mpc := l.MPC
			if mpc == "" {
				mpc = ebms.DefaultMPC
			}
			s.set("as4", "fetch", fields("mpc", Quoted(mpc), "user", text(l.User), "password_file", password))
			s.note(l.Name, "edigw fetches every 5 minutes; as4.fetch.every changes that")
		}
	}
}

// certificates puts theirs into the plan.
func (s *sheet) certificates(c Counterpart) {
	signs := slices.ContainsFunc(c.Legs, func(l Leg) bool { return l.Security.Sign != "" })
	seals := s.main.Security.Encrypt != ""
	for _, use := range []struct {
		key, end string
		aliases  []string
		needed   bool
	}{{"verify", "", c.Verify, signs}, {"encrypt", "-encrypt", c.Encrypt, seals}} {
		if !use.needed {
			continue
		}
		found := false
		for _, alias := range use.aliases {
			e := s.w.Store.Find(alias)
			if e == nil || len(e.Certificates) == 0 || found {
				continue
			}
			found = true
			file := "keys/" + s.id + use.end + ".pem"
			s.w.Plan.Files = append(s.w.Plan.Files, File{file, e.PEM(false)})
			s.set("certificates", use.key, "[{file: "+Named(s.w.o.Home, file)+"}]")
		}
		if !found {
			where := "no keystore was given"
			if !s.w.Store.Empty() {
				where = s.w.Store.File + " does not hold it"
			}
			s.lost("certificate "+strings.Join(use.aliases, ", "), "%s; import theirs with edigw cert import %s FILE --use %s", where, s.id, use.key)
		}
	}
}

func (s *sheet) yaml(name string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# Taken over from %s; %s-import.txt says what could not be.\nname: %s\nstage: test              # live when both sides are content\nprotocol: as4\n",
		s.w.Product, strings.ToLower(strings.Fields(s.w.Product)[0]), Quoted(name))
	for _, section := range []string{"as4", "certificates"} {
		if len(s.lines[section]) > 0 {
			b.WriteString(section + ":\n" + strings.Join(s.lines[section], ""))
		}
	}
	return []byte(b.String())
}
