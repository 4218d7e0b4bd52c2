package partner

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"edigw/as4"
	"edigw/as4/ebms"
)

// checkAS4 finds settings of as4 that are each well formed but do not fit
// together.
func (d *draft) checkAS4() {
	d.checkParty("as4.to", "who they are", d.file.AS4.To)
	d.checkParty("as4.from", "who we are; here, or as identity.as4 in edigw.yaml", d.file.AS4.From)
	d.checkSameParty()
	d.checkCollaborations()
	d.checkWay()
	d.checkReceiptAS4()
	d.checkContent()
	d.checkProperties("as4.properties", d.file.AS4.properties, false)
	d.checkProperties("as4.part_properties", d.file.AS4.partProperties, true)
	d.checkSecurity()
	d.checkKeysAS4()
	d.checkNetwork()
	d.checkProfile()
}

// checkParty holds one side to what ebMS wants of ids and roles.
func (d *draft) checkParty(key, missing string, p as4Party) {
	switch {
	case p.Party == "" && len(p.IDs) == 0 && key == "as4.to" && d.looksUp():
	case p.Party == "" && len(p.IDs) == 0:
		d.problem(key+".party", missing, "missing")
	case p.Party != "" && len(p.IDs) > 0 && d.given(key+".party"):
		d.problem(key+".ids", "party alone, or all of them in ids", "there is party, too")
	}
	if p.Party != "" {
		d.checkID(key+".party", p.Party, p.Type)
	}
	for i, id := range p.IDs {
		if id.Party != "" { // else reported already
			d.checkID(fmt.Sprintf("%s.ids[%d]", key, i), id.Party, cmp.Or(id.Type, p.Type))
		}
	}
	d.checkText(key+".role", p.Role)
}

// checkID refuses an id that could not stand in a message.
func (d *draft) checkID(key, id, kind string) {
	d.checkText(key, id, kind)
	if kind == "" && !isURI(id) {
		where := ""
		if i := d.gateway.Identity.AS4; key == "as4.from.party" && i != nil && id == i.Party && !d.given(key) {
			where = "; it is identity.as4 of edigw.yaml"
		}
		d.problem(key, "write its type beside it, such as urn:oasis:names:tc:ebcore:partyid-type:iso6523:0088 for a GLN", "%q has no type and is no URI (ebMS 3.0 Core §5.2.2.3)%s", clip(id), where)
	}
}

// checkText refuses texts that no message header can hold.
func (d *draft) checkText(key string, list ...string) {
	if bad := unwritable(list...); bad != "" {
		d.problem(key, "", "%s", bad)
	}
}

func clip(s string) string {
	if r := []rune(s); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return s
}

// checkSameParty finds a partner who goes by our own id.
func (d *draft) checkSameParty() {
	t := d.out.AS4.Template
	for _, id := range t.To.IDs {
		if slices.Contains(t.From.IDs, id) && !d.ourselves() {
			d.problem("as4.to", "the partner's own party id", "%s is our own party, too", clip(id.Value))
			return
		}
	}
}

// checkCollaborations holds agreement, service and action to what ebMS wants.
func (d *draft) checkCollaborations() {
	f := d.file.AS4
	d.checkService("as4.service", f.Service)
	d.checkText("as4.action", f.Action)
	d.checkAgreement("as4.agreement", f.Agreement)
	if f.Action == "" {
		d.problem("as4.action", "its name, or remove the key", "empty")
	}
	if f.Receive.Collaboration == "any" && len(f.Receive.Also) > 0 {
		d.warning("as4.receive.also", "remove it, or collaboration: exact", "has no effect: as4.receive.collaboration is any")
	}
	known := []as4.Collaboration{d.out.AS4.Template.Collaboration}
	for i, c := range f.Receive.Also {
		key := fmt.Sprintf("as4.receive.also[%d]", i)
		d.checkService(key+".service", c.Service)
		d.checkText(key+".action", c.Action)
		d.checkAgreement(key+".agreement", c.Agreement)
		is := d.out.AS4.Template.Receive.Also[i]
		if slices.ContainsFunc(known, func(k as4.Collaboration) bool {
			return k.Service == is.Service && k.Action == is.Action && sameAgreement(k.Agreement, is.Agreement)
		}) && c.Action != "" {
			d.warning(key, "remove it", "says again what is taken already")
		}
		known = append(known, is)
	}
	if known[0].Service.Value == ebms.TestService && known[0].Action == ebms.TestAction {
		d.problem("as4.service", "the service that documents are for", "is the test service: what it gets is never delivered")
	}
}

func (d *draft) checkService(key string, s as4Service) {
	d.checkText(key, s.Value, s.Type)
	switch {
	case s.Value == "" && key == "as4.service" && d.wraps(): // the document's
	case s.Value == "" && s.Type != "":
		d.problem(key+".value", "the name of the service", "missing: there is a type of service%s", prefixed(", which is", d.from(key+".type")))
	case s.Value != "" && s.Type == "" && !isURI(s.Value):
		d.problem(key, "write its type beside it: {value: …, type: …}", "%q has no type and is no URI (ebMS 3.0 Core §5.2.2.8)", clip(s.Value))
	}
}

func (d *draft) checkAgreement(key string, a *as4Agreement) {
	if ref := a.ref(); ref != nil {
		d.checkText(key, ref.Value, ref.Type, ref.PMode)
	}
}

// checkWay finds what does not fit how messages come and go.
func (d *draft) checkWay() {
	f := d.file.AS4
	pulled := d.out.AS4.Pulled()
	owed := f.Receive.Receipt.Mode == string(as4.ReceiptAsync)
	switch {
	case f.URL != "", d.looksUp():
	case !pulled:
		d.problem("as4.url", "write url: https://as4.stadtwerke.example/msh, where messages go", "missing")
	case f.Fetch != nil:
		d.problem("as4.url", "where they hand out messages", "missing: as4.fetch has nowhere to send its pull requests")
	case owed:
		d.problem("as4.url", "where they take receipts, or as4.receive.receipt.mode: sync", "missing: receipts that we owe have nowhere to go")
	}
	d.checkMPC("as4.mpc", f.MPC)
	if f.Pull != nil {
		d.checkSecret("as4.pull.password_file", f.Pull.Password)
		if !pulled {
			d.problem("as4.pull", "remove it, or mep: one-way/pull; what we fetch is as4.fetch", "they pull nothing: as4.mep is %s", f.MEP)
		}
	}
	if pulled {
		d.checkPulled()
	}
	if f.Fetch != nil {
		d.checkFetch()
	}
}

// checkPulled finds what keeps a partner from pulling.
func (d *draft) checkPulled() {
	f := d.file.AS4
	if d.gateway.Listen.Partners == nil {
		d.problem("as4.mep", "set listen.partners in edigw.yaml", "nobody can pull: nothing listens for partners")
	}
	if f.Pull == nil && len(d.file.Certificates.Verify)+len(f.Trust.Authorities) == 0 {
		d.problem("as4.pull", "their login here, or a file with their certificate in certificates.verify", "missing: nothing would prove that a pull request is theirs")
	}
	if ebms.Partition(f.MPC) == ebms.DefaultMPC && f.Profile == "plain" {
		d.warning("as4.mpc", "such as urn:example:mpc:"+d.id, "the default channel is everybody's: whoever pulls from it is told by his signature or login alone")
	}
	if d.root.Has("as4.receipt.mode") && nodeAt(d.root, "as4.receipt.mode").Text == string(as4.ReceiptSync) {
		d.problem("as4.receipt.mode", "remove it, or async", "a message that they pull has no response for the receipt")
	}
}

// checkFetch finds what keeps us from pulling.
func (d *draft) checkFetch() {
	f := d.file.AS4.Fetch
	d.checkMPC("as4.fetch.mpc", f.MPC)
	switch {
	case f.User != "" && f.Password.IsZero():
		d.problem("as4.fetch.password_file", "a file with the password", "missing: user is given")
	case f.User == "" && !f.Password.IsZero():
		d.problem("as4.fetch.user", "our user name at their server", "missing: password_file is given")
	case f.User == "" && d.file.AS4.Security.Sign == "none":
		d.warning("as4.fetch", "as4.security.sign, or user and password_file", "nothing proves that our pull requests are ours")
	}
	d.checkText("as4.fetch.user", f.User)
	d.checkSecret("as4.fetch.password_file", f.Password)
}

func (d *draft) checkMPC(key, mpc string) {
	if d.checkText(key, mpc); mpc != "" && !isURI(mpc) {
		d.problem(key, "such as urn:example:mpc:acme", "%q is no URI (ebMS 3.0 Core §3.4)", clip(mpc))
	}
}

func (d *draft) checkReceiptAS4() {
	f := d.file.AS4
	switch {
	case f.Receipt.Mode == "none":
		if d.root.Has("as4.receipt.signed") || d.root.Has("as4.receipt.non_repudiation") || d.root.Has("as4.receipt.wait") {
			d.warning("as4.receipt", "remove all but mode", "no receipt is expected")
		}
	case f.Security.Sign == "none" && *f.Receipt.NonRepudiation:
		d.problem("as4.receipt.non_repudiation", "false, or a signature", "it would hold the digests of our signature, and as4.security.sign is none%s", d.from("as4.security.sign"))
	case f.Receipt.Mode == "async" && !*f.Receipt.Signed:
		d.problem("as4.receipt.signed", "true, or mode: sync", "a receipt that comes by itself proves nothing unless it is signed")
	}
	if f.Receipt.Mode != "async" {
		if d.root.Has("as4.receipt.wait") && f.Receipt.Mode == "sync" {
			d.problem("as4.receipt.wait", "remove it, or set mode: async", "only a receipt that comes later is waited for")
		}
	} else {
		switch {
		case d.gateway.Listen.Partners == nil:
			d.problem("as4.receipt.mode", "set listen.partners in edigw.yaml", "async needs a place of ours where the partner posts receipts")
		case d.out.AS4.Wait < time.Minute:
			d.warning("as4.receipt.wait", "60m is usual", "under a minute: most partners answer later")
		}
	}
	if f.Receive.Receipt.Mode != "none" && f.Security.Sign == "none" && *f.Receive.Receipt.Signed {
		d.problem("as4.receive.receipt.signed", "false, or a signature", "as4.security.sign is none%s, so nothing says how", d.from("as4.security.sign"))
	}
	if d.root.Has("as4.receive.receipt.mode") && f.Receive.Receipt.Mode == "none" {
		d.warning("as4.receive.receipt.mode", "sync", "they never learn whether a message arrived, and may send it again and again")
	}
}

// checkContent finds what no message can hold.
func (d *draft) checkContent() {
	f := d.file.AS4
	d.checkText("as4.conversation", f.Conversation)
	if rest := strings.ReplaceAll(f.Conversation, "{message}", ""); strings.ContainsAny(rest, "{}") {
		d.problem("as4.conversation", "a fixed text, {message}, or none", "%q holds something in braces that is not {message}", clip(f.Conversation))
	}
	if !f.Body {
		return
	}
	if f.Compress != "none" {
		d.problem("as4.body", "compress: none, or body: false", "only attachments are compressed (AS4 §3.1)%s", prefixed("; as4.compress is", d.from("as4.compress")))
	}
	if f.Security.Encrypt != "none" {
		d.problem("as4.body", "encrypt: none, or body: false", "only attachments are encrypted: the payload would go out in the clear%s", prefixed("; as4.security.encrypt is", d.from("as4.security.encrypt")))
	}
	if f.FileNameProperty != "" || len(f.partProperties) > 0 {
		d.warning("as4.body", "", "a payload in the Body has properties all the same; few partners look there")
	}
}

// checkProperties finds properties that belong to the protocol, or say nothing.
func (d *draft) checkProperties(key string, list []namedProperty, ofPart bool) {
	for _, p := range list {
		switch {
		case ofPart && ofMSH(p.Name):
			d.problem(key+"."+p.Name, "remove it", "is filled in by edigw for each payload (AS4 §3.1)")
		case ofPart && p.Name == d.file.AS4.FileNameProperty:
			d.problem(key+"."+p.Name, "remove it, or as4.file_name_property", "holds the file's name: as4.file_name_property says so")
		case p.Value == "" && p.origin == OriginPartner && (p.blank || p.Type == "" && p.required == nil):
			d.problem(key+"."+p.Name, "a value; {required: true} if each document brings its own; or remove it", "has no value (EBMS:0009)")
		case p.Value != "" && p.must() && p.origin == OriginPartner:
			d.warning(key+"."+p.Name, "remove value or required", "required has no effect: a document that brings no %s gets the value that stands here", p.Name)
		}
	}
	d.checkText("as4.file_name_property", d.file.AS4.FileNameProperty)
}

// checkOther refuses the section of the other protocol.
func (d *draft) checkOther() {
	f := &d.file
	for _, way := range []struct {
		name, other string
		missing     bool
		keys        string
	}{
		{protocolAS2, protocolAS4, f.AS2 == nil, "its id and url at least"},
		{protocolAS4, protocolAS2, f.AS4 == nil, "a section with to, and url at least"},
	} {
		if f.Protocol != way.name {
			continue
		}
		if way.missing {
			d.problem(way.name, way.keys, "missing, though protocol is %s", way.name)
		}
		if d.root.Has(way.other) {
			d.problem(way.other, "remove the section, or protocol: "+way.other, "does not belong to protocol %s", way.name)
		}
	}
	if p := d.below.preset(f.Preset); f.Protocol == protocolAS4 && p != nil && len(p.root.Entries) > 0 && p.root.Entries[0].Key == protocolAS2 {
		d.problem("preset", "remove it; for AS4 there is as4.profile", "%s is for AS2", f.Preset)
	}
	d.strayKeys()
}

// strayKeys says of keys of the other protocol where they are from.
func (d *draft) strayKeys() {
	as2, as4 := keysOf[as2File](), keysOf[as4File]()
	for i, p := range d.report.Problems {
		section, key, _ := strings.Cut(p.Key, ".")
		switch {
		case p.Reason != "unknown key":
		case section == protocolAS4 && slices.Contains(as2, key) && !as4Alone[key]:
			d.report.Problems[i].Reason = "unknown key: it is one of AS2"
		case section == protocolAS2 && slices.Contains(as4, key):
			d.report.Problems[i].Reason = "unknown key: it is one of AS4"
		}
	}
}

// as4Alone are keys of AS2 that AS4 has in another place.
var as4Alone = map[string]bool{"sign": true, "encrypt": true, "key_transport": true}

// keysOf are the keys of a section.
func keysOf[T any]() (out []string) {
	t := reflect.TypeFor[T]()
	for i := range t.NumField() {
		if name, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ","); name != "" {
			out = append(out, name)
		}
	}
	return out
}
