package partner

import (
	"crypto"
	"strings"
	"time"

	"edigw/as4"
	"edigw/as4/ebms"
	"edigw/as4/wssec"
)

// Term is a parameter of a P-Mode by the name that the standard gives it (ebMS 3.0
// Core App. D, AS4 §5.2.5), to be compared with the partner's.
type Term struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Terms are the P-Mode of a partner at now, as far as it was settled; nil if he does
// not speak AS4.
func (s *Snapshot) Terms(id string, now time.Time) []Term {
	p, ok := s.partners[id]
	if !ok || p.AS4 == nil {
		return nil
	}
	m := s.receivingAS4(p, now)
	t := &terms{}
	t.add("Profile", p.AS4.Profile)
	t.business(m)
	t.security(m)
	t.receipts(p.AS4, m)
	t.receiving(m)
	return t.list
}

type terms struct{ list []Term }

// add leaves out what was not settled.
func (t *terms) add(name, value string) {
	if value != "" {
		t.list = append(t.list, Term{name, value})
	}
}

func withType(value, kind string) string {
	if kind == "" {
		return value
	}
	return value + " (" + kind + ")"
}

func (t *terms) party(name string, p ebms.Party) {
	var ids []string
	for _, id := range p.IDs {
		ids = append(ids, withType(id.Value, id.Type))
	}
	t.add(name+".Party", strings.Join(ids, ", "))
	t.add(name+".Role", p.Role)
}

func (t *terms) business(m as4.PMode) {
	if m.Agreement != nil {
		t.add("Agreement", withType(m.Agreement.Value, m.Agreement.Type))
	}
	way, binding, _ := strings.Cut(string(m.MEP), "/")
	t.add("MEP", way)
	t.add("MEPBinding", binding)
	t.party("Initiator", m.From)
	t.party("Responder", m.To)
	t.add("Protocol.Address", m.URL)
	t.add("BusinessInfo.Service", withType(m.Service.Value, m.Service.Type))
	t.add("BusinessInfo.Action", m.Action)
	t.add("BusinessInfo.MPC", ebms.Partition(m.MPC))
	for _, one := range m.Properties {
		t.add("BusinessInfo.Properties", one.Name+": "+withType(one.Value, one.Type))
	}
	t.add("PayloadService.CompressionType", map[bool]string{true: "application/gzip", false: "none"}[m.Compress])
}

func (t *terms) security(m as4.PMode) {
	if m.Sign.Algorithm == "" {
		t.add("Security.X509.Sign", "none")
	} else {
		t.add("Security.X509.Sign", string(m.Sign.Algorithm)+", digests "+hashName(m.Sign.Digest)+", token "+or(string(m.Sign.Token), string(wssec.TokenBST)))
		if c := m.Sign.Certificate; c != nil {
			t.add("Security.X509.Signature.Certificate", "ours, SHA-256 "+as4.Fingerprint(c))
		}
	}
	if m.Encrypt.Cipher == "" {
		t.add("Security.X509.Encryption", "none")
		return
	}
	t.add("Security.X509.Encryption", string(m.Encrypt.Cipher)+", key by "+transportText(m.Encrypt.Transport))
	if c := m.Encrypt.Recipient; c != nil {
		t.add("Security.X509.Encryption.Certificate", "theirs, SHA-256 "+as4.Fingerprint(c))
	}
}

func (t *terms) receipts(a *AS4, m as4.PMode) {
	pattern := map[as4.ReceiptMode]string{as4.ReceiptSync: "Response", as4.ReceiptAsync: "Callback"}[m.Receipt.Mode]
	if pattern == "" {
		t.add("Security.SendReceipt", "false")
	} else {
		t.add("Security.SendReceipt", "true")
		t.add("Security.SendReceipt.ReplyPattern", pattern)
		t.add("Security.SendReceipt.NonRepudiation", truth(m.Receipt.NonRepudiation))
		t.add("Receipt signed", truth(m.Receipt.Signed))
		if a.Wait > 0 && m.Receipt.Mode == as4.ReceiptAsync {
			t.add("Receipt within", a.Wait.String())
		}
	}
	if f := a.Fetch; f != nil {
		t.add("We pull from", f.MPC+", every "+f.Every.String())
	}
}

// receiving is the other leg: what they send us.
func (t *terms) receiving(m as4.PMode) {
	r := m.Receive
	var demands []string
	if r.Signed {
		demands = append(demands, "signed")
	}
	if r.Encrypted {
		demands = append(demands, "encrypted")
	}
	t.add("Demanded of their messages", or(strings.Join(demands, ", "), "nothing"))
	settled := "as above"
	if r.AnyCollaboration {
		settled = "any service, action and agreement"
	}
	for _, c := range r.Also {
		settled += "; " + withType(c.Service.Value, c.Service.Type) + ", " + c.Action
	}
	t.add("Taken from them", settled)
	if r.Receipt.Mode == "" || r.Receipt.Mode == as4.ReceiptNone {
		t.add("Our receipts", "none")
		return
	}
	t.add("Our receipts", map[as4.ReceiptMode]string{as4.ReceiptSync: "Response", as4.ReceiptAsync: "Callback"}[r.Receipt.Mode]+
		map[bool]string{true: ", with digests"}[r.Receipt.NonRepudiation]+map[bool]string{true: ", signed"}[r.Receipt.Signed])
}

func truth(is bool) string { return map[bool]string{true: "true", false: "false"}[is] }

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

func hashName(h crypto.Hash) string {
	if h == 0 {
		h = crypto.SHA256
	}
	return h.String()
}

// transportText is how a key is transported, as as4.security.key_transport has it.
func transportText(t wssec.KeyTransport) string {
	text := or(t.Method, "the certificate's kind")
	if t.Digest != 0 {
		text += ", digest " + t.Digest.String()
	}
	if t.Derivation != "" {
		text += ", " + t.Derivation
	}
	if t.MGF != 0 {
		text += ", MGF1 with " + t.MGF.String()
	}
	return text
}
