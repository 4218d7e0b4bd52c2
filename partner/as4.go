package partner

import (
	"cmp"
	"crypto"
	"net/url"
	"slices"
	"strings"
	"time"

	"edigw/as4"
	"edigw/as4/ebms"
	"edigw/as4/wssec"
)

// AS4 is what a partner file settles for AS4.
type AS4 struct {
	// Template is the P-Mode without keys, certificates and passwords;
	// Snapshot.PMode fills in those that are in force, and which algorithm they
	// mean where the file leaves that to the key.
	Template as4.PMode
	Profile  string
	Wait     time.Duration // receipt.wait: how long a receipt may take that does not come in the response
	Fetch    *Fetch        // nil: nothing is fetched
	Network  Network

	Own, OwnParts []OwnProperty // properties of the message, and of each payload, that are left to each document

	pull       *Auth // their login when they pull; nil: the signature counts
	signatures []signature
	transport  string // as4.security.key_transport
}

// Fetch is how their messages are fetched.
type Fetch struct {
	Every time.Duration
	MPC   string
	login *Auth // nil: the signature of our pull request counts
}

// Pulled reports whether the partner fetches what we have for him.
func (a *AS4) Pulled() bool { return a.Template.MEP == as4.OneWayPull }

// settleAS4 fills in the values that depend on others.
func (d *draft) settleAS4() {
	a := d.file.AS4
	d.settleParties()
	signed := a.Security.Sign != "none"
	for _, b := range []**bool{&a.Receipt.NonRepudiation, &a.Receipt.Signed, &a.Receive.Receipt.NonRepudiation, &a.Receive.Receipt.Signed} {
		if *b == nil {
			value := signed
			*b = &value
		}
	}
	if a.MEP == string(as4.OneWayPull) && a.Receipt.Mode == string(as4.ReceiptSync) {
		a.Receipt.Mode = string(as4.ReceiptAsync)
	}
	if a.Service.Value == "" && a.Service.Type == "" {
		a.Service.Value = ebms.DefaultService
	}
	a.Receive.Require = d.required("as4.receive.require", a.Receive.Require, signed, a.Security.Encrypt != "none" && !a.Body)
	a.properties = d.properties("as4.properties")
	a.partProperties = d.properties("as4.part_properties")
}

// settleParties fills in who we are, and the roles.
func (d *draft) settleParties() {
	a := d.file.AS4
	if i := d.gateway.Identity.AS4; i != nil {
		if a.From.Party == "" && len(a.From.IDs) == 0 {
			a.From.Party = i.Party
			switch { // the type belongs to the id
			case i.Type != "":
				a.From.Type = i.Type
			case isURI(i.Party):
				a.From.Type = ""
			}
		}
		a.From.Role = cmp.Or(a.From.Role, i.Role)
	}
	a.From.Role = cmp.Or(a.From.Role, ebms.RoleInitiator)
	a.To.Role = cmp.Or(a.To.Role, ebms.RoleResponder)
}

// isURI reports whether s can stand as a party id or service without a type.
func isURI(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.Scheme != "" && (u.Opaque != "" || u.Host != "" || u.Path != "")
}

// derivedAS4 are the values of settleAS4, for the list of effective settings.
func (d *draft) derivedAS4(out map[string]string) {
	a := d.file.AS4
	out["as4.from.party"], out["as4.from.type"], out["as4.from.role"] = a.From.Party, a.From.Type, a.From.Role
	out["as4.to.role"] = a.To.Role
	out["as4.service.value"] = a.Service.Value
	out["as4.receive.require"] = strings.Join(a.Receive.Require, ", ")
	for key, b := range map[string]*bool{
		"as4.receipt.non_repudiation": a.Receipt.NonRepudiation, "as4.receipt.signed": a.Receipt.Signed,
		"as4.receive.receipt.non_repudiation": a.Receive.Receipt.NonRepudiation, "as4.receive.receipt.signed": a.Receive.Receipt.Signed,
	} {
		out[key] = map[bool]string{true: "true", false: "false"}[*b]
	}
	out["as4.receipt.mode"] = a.Receipt.Mode
}

// party is one side as the message has it.
func (p as4Party) party() ebms.Party {
	out := ebms.Party{Role: p.Role}
	if p.Party != "" {
		out.IDs = append(out.IDs, ebms.PartyID{Value: p.Party, Type: p.Type})
	}
	for _, id := range p.IDs {
		if id.Party != "" {
			out.IDs = append(out.IDs, ebms.PartyID{Value: id.Party, Type: cmp.Or(id.Type, p.Type)})
		}
	}
	return out
}

// ref is the AgreementRef; nil if there is none.
func (a *as4Agreement) ref() *ebms.AgreementRef {
	if a == nil || a.Word != "" || a.Value == "" {
		return nil
	}
	return &ebms.AgreementRef{Value: a.Value, Type: a.Type, PMode: a.PMode}
}

// service is the Service of the message.
func (s as4Service) service() ebms.Service { return ebms.Service(s) }

func (d *draft) as4() *AS4 {
	f := d.file.AS4
	t := as4.PMode{
		From: f.From.party(), To: f.To.party(), URL: string(f.URL), MEP: as4.MEP(f.MEP), MPC: f.MPC,
		Collaboration: as4.Collaboration{Agreement: f.Agreement.ref(), Service: f.Service.service(), Action: f.Action},
		Conversation:  f.Conversation,
		Properties:    written(f.properties), PartProperties: written(f.partProperties), FileNameProperty: f.FileNameProperty,
		Compress: f.Compress == "gzip", Body: f.Body,
		Receipt:        as4.ReceiptRequest{Mode: as4.ReceiptMode(f.Receipt.Mode), NonRepudiation: *f.Receipt.NonRepudiation, Signed: *f.Receipt.Signed},
		Receive:        d.as4Receive(),
		SubjectIsParty: f.Trust.Subject == "party" && len(f.Trust.Authorities) > 0,
	}
	if t.Receipt.Mode == as4.ReceiptNone {
		t.Receipt.NonRepudiation, t.Receipt.Signed = false, false
	}
	if f.Security.Sign != "none" {
		t.Sign = wssec.Signing{Digest: digest(f.Security.Digest), Token: wssec.Token(f.Security.Token)}
		if f.Security.Sign != byKey {
			t.Sign.Algorithm = wssec.SignatureAlgorithm(f.Security.Sign)
		}
	}
	if f.Security.Encrypt != "none" {
		t.Encrypt = wssec.Encrypting{Cipher: wssec.DataCipher(f.Security.Encrypt)}
		if f.Security.EncryptToken != "auto" {
			t.Encrypt.Token = wssec.Token(f.Security.EncryptToken)
		}
		if f.Security.KeyTransport != byKey {
			t.Encrypt.Transport = transportOf(f.Security.KeyTransport, t.Encrypt.Cipher)
		}
	}
	if d.file.Auth.Basic != nil {
		t.AuthUser = d.file.Auth.Basic.User
	}
	out := &AS4{Template: t, Profile: f.Profile, Wait: time.Duration(f.Receipt.Wait), signatures: signatures(f.Profile, f.Security.Sign), transport: f.Security.KeyTransport}
	out.Network = d.network()
	out.Own, out.OwnParts = unset(f.properties), unset(f.partProperties)
	if f.Pull != nil {
		out.pull = &Auth{f.Pull.User, f.Pull.Password}
	}
	if f.Fetch != nil {
		out.Fetch = &Fetch{Every: time.Duration(f.Fetch.Every), MPC: f.Fetch.MPC}
		if f.Fetch.User != "" {
			out.Fetch.login = &Auth{f.Fetch.User, f.Fetch.Password}
		}
	}
	return out
}

func (d *draft) as4Receive() as4.Receive {
	f := d.file.AS4.Receive
	out := as4.Receive{
		Signed: slices.Contains(f.Require, "signed"), Encrypted: slices.Contains(f.Require, "encrypted"), Digest: digest(f.Digest),
		Receipt:          as4.ReceiptRequest{Mode: as4.ReceiptMode(f.Receipt.Mode), NonRepudiation: *f.Receipt.NonRepudiation, Signed: *f.Receipt.Signed},
		AnyCollaboration: f.Collaboration == "any",
	}
	for _, name := range f.Algorithms {
		out.Algorithms = append(out.Algorithms, wssec.SignatureAlgorithm(name))
	}
	for _, c := range f.Also {
		more := as4.Collaboration{Agreement: d.file.AS4.Agreement.ref(), Service: c.Service.service(), Action: c.Action}
		if c.Agreement != nil {
			more.Agreement = c.Agreement.ref()
		}
		if more.Service.Value == "" && more.Service.Type == "" {
			more.Service.Value = ebms.DefaultService
		}
		out.Also = append(out.Also, more)
	}
	return out
}

// keyTransportsAS4 are the values of as4.security.key_transport (XML Encryption
// 1.1 §5.5): method, digest and mask.
var keyTransportsAS4 = map[string]wssec.KeyTransport{
	"rsa-oaep-mgf1-sha256": {Method: "rsa-oaep", Digest: crypto.SHA256, MGF: crypto.SHA256},
	"rsa-oaep-mgf1-sha1":   {Method: "rsa-oaep", Digest: crypto.SHA256, MGF: crypto.SHA1},
	"rsa-oaep-mgf1p":       {Method: "rsa-oaep-mgf1p", Digest: crypto.SHA1, MGF: crypto.SHA1},
	"ecdh-es":              {Method: "ecdh-es", Digest: crypto.SHA256},
	"ecdh-es-hkdf":         {Method: "ecdh-es", Derivation: "hkdf", Digest: crypto.SHA256},
	"x25519":               {Method: "x25519", Digest: crypto.SHA256},
}

// transportOf is a key transport; where a key wraps the content key, it is as
// long as that.
func transportOf(name string, cipher wssec.DataCipher) wssec.KeyTransport {
	t := keyTransportsAS4[name]
	if t.Method == "ecdh-es" || t.Method == "x25519" {
		t.Wrap = map[wssec.DataCipher]int{wssec.AES128GCM: 128, wssec.AES192GCM: 192, wssec.AES256GCM: 256}[cipher]
	}
	return t
}
