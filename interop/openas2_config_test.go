package interop

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"text/template"
)

// keystore makes the PKCS #12 of OpenAS2: the peer's key, edigw's
// certificate, and a key that is nobody's, in the ciphers of old Java, which are
// all that its library reads.
func (o *openAS2) keystore(ctx context.Context) error {
	m, store := o.material, o.path("openas2.p12")
	for _, args := range [][]string{
		{"-importkeystore", "-srckeystore", m.Store, "-srcstoretype", "PKCS12", "-srcstorepass", m.Password, "-srcalias", "peer",
			"-destkeystore", store, "-deststoretype", "PKCS12", "-deststorepass", m.Password},
		{"-importcert", "-noprompt", "-alias", "edigw", "-file", m.Edigw, "-keystore", store, "-storetype", "PKCS12", "-storepass", m.Password},
		{"-genkeypair", "-alias", "other", "-keyalg", "RSA", "-keysize", "2048", "-validity", "30", "-dname", "CN=somebody else, O=Test material",
			"-keystore", store, "-storetype", "PKCS12", "-storepass", m.Password},
	} {
		cmd := exec.CommandContext(ctx, "keytool", append([]string{"-J-Dkeystore.pkcs12.legacy=true"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("keytool: %w\n%s", err, out)
		}
	}
	return nil
}

// configure writes config.xml, partnerships.xml and the folders.
func (o *openAS2) configure() error {
	type deal struct {
		Name, Peer, Alias, Edigw string
		Attributes               map[string]string
	}
	data := struct {
		Dir, Password, ReceivePort, ReceiptsPort, OurName string
		Deals                                             []deal
	}{Dir: o.material.Dir, Password: o.material.Password, OurName: ourName}
	_, data.ReceivePort, _ = net.SplitHostPort(o.receive)
	_, data.ReceiptsPort, _ = net.SplitHostPort(o.receipts)
	for _, t := range o.ways() {
		d := deal{Name: t.name, Peer: t.peerName(o), Alias: "peer", Edigw: "edigw", Attributes: o.attributes(t.profile)}
		if t.tapped {
			d.Attributes["as2_url"] = "http://" + o.way.address + "/as2"
		}
		if t.signer != "" {
			d.Alias = t.signer
		}
		if t.recipient != "" {
			d.Edigw = "edigw-" + t.recipient
		}
		data.Deals = append(data.Deals, d)
		if err := os.MkdirAll(o.path("out", t.name), 0o700); err != nil {
			return err
		}
	}
	for name, text := range map[string]string{"config.xml": openAS2Config, "partnerships.xml": openAS2Partnerships, "commands.xml": "<commands/>\n"} {
		t, err := template.New(name).Parse(text)
		if err != nil {
			return err
		}
		f, err := os.Create(o.path(name))
		if err != nil {
			return err
		}
		if err := t.Execute(f, data); err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	return nil
}

// ways are what it is to be ready for. For figures it is not made to poll folders
// that nobody uses.
func (o *openAS2) ways() []trick {
	if o.only != nil {
		return honest([]profile{*o.only})
	}
	return slices.Concat(honest(profiles), tricks)
}

// attributes are the settings of the partnership in which the peer sends.
func (o *openAS2) attributes(p profile) map[string]string {
	a := map[string]string{
		"protocol":                       "as2",
		"subject":                        "Interoperability: " + p.name,
		"as2_url":                        o.material.URL,
		"content_type":                   p.contentType,
		"content_transfer_encoding":      p.encoding,
		"as2_message_id_format":          o.messageID(p),
		"resend_requires_new_message_id": "false",
		"resend_max_retries":             "0",
		"as2_mdn_options":                "none",
	}
	if p.sign != "none" {
		a["sign"] = strings.ToUpper(p.sign)
	}
	if p.encrypt != "none" {
		a["encrypt"] = strings.ToUpper(strings.TrimSuffix(p.encrypt, "-cbc"))
	}
	if p.compress != "none" {
		a["compression_type"] = "ZLIB"
		a["compression_mode"] = map[string]string{"before-sign": "compress-before-signing", "after-sign": "compress-after-signing"}[p.compress]
	}
	if !p.receipt() {
		return a
	}
	a["as2_mdn_to"] = "edi@openas2.example"
	if p.mdnSigned {
		a["as2_mdn_options"] = "signed-receipt-protocol=optional, pkcs7-signature; signed-receipt-micalg=optional, " + p.mdnDigest
	}
	if p.mdn == "async" {
		a["as2_receipt_option"] = "http://" + o.receipts + "/"
	}
	return a
}

const openAS2Config = `<?xml version="1.0" encoding="UTF-8"?>
<openas2>
  <properties storageBaseDir="{{.Dir}}"/>
  <certificates classname="org.openas2.cert.PKCS12CertificateFactory" filename="{{.Dir}}/openas2.p12" password="{{.Password}}" interval="300"/>
  <partnerships classname="org.openas2.partner.XMLPartnershipFactory" filename="{{.Dir}}/partnerships.xml" interval="300"/>
  <loggers><logger classname="org.openas2.logging.ConsoleLogger"/></loggers>
  <commands classname="org.openas2.cmd.XMLCommandRegistry" filename="{{.Dir}}/commands.xml"/>
  <commandProcessors/>
  <processor classname="org.openas2.processor.DefaultProcessor" pendingMDN="{{.Dir}}/pending" pendingMDNinfo="{{.Dir}}/pending-info">
    <module classname="org.openas2.processor.sender.AS2SenderModule" retries="0"/>
    <module classname="org.openas2.processor.sender.MDNSenderModule" retries="3"/>
    <module classname="org.openas2.processor.storage.MDNFileModule" protocol="as2" tempdir="{{.Dir}}/temp"
            filename="{{.Dir}}/mdn/$mdn.msg.headers.message-id$"/>
    <module classname="org.openas2.processor.storage.MessageFileModule" protocol="as2" tempdir="{{.Dir}}/temp"
            filename="{{.Dir}}/in/$msg.headers.message-id$/$msg.content-disposition.filename$"/>
    <module classname="org.openas2.processor.receiver.AS2ReceiverModule" address="127.0.0.1" port="{{.ReceivePort}}"
            errordir="{{.Dir}}/in-error" errorformat="sender.as2_id, receiver.as2_id, headers.message-id"/>
    <module classname="org.openas2.processor.receiver.AS2MDNReceiverModule" address="127.0.0.1" port="{{.ReceiptsPort}}"/>
    <module classname="org.openas2.processor.resender.DirectoryResenderModule" resenddir="{{.Dir}}/resend" errordir="{{.Dir}}/resend-error" resenddelay="5"/>
{{- range .Deals}}
    <module classname="org.openas2.processor.receiver.AS2DirectoryPollingModule" interval="1" sendfilename="true"
            outboxdir="{{$.Dir}}/out/{{.Name}}" errordir="{{$.Dir}}/failed/{{.Name}}" sentdir="{{$.Dir}}/sent/{{.Name}}"
            defaults="sender.as2_id={{.Peer}}, receiver.as2_id={{$.OurName}}"/>
{{- end}}
  </processor>
</openas2>
`

const openAS2Partnerships = `<?xml version="1.0" encoding="UTF-8"?>
<partnerships>
  <partner name="edigw" as2_id="{{.OurName}}" x509_alias="edigw" email="edi@edigw.example"/>
  <partner name="edigw-other" as2_id="{{.OurName}}" x509_alias="other" email="edi@edigw.example"/>
{{- range .Deals}}
  <partner name="{{.Peer}}" as2_id="{{.Peer}}" x509_alias="{{.Alias}}" email="edi@openas2.example"/>
  <partnership name="{{.Peer}}-sends">
    <sender name="{{.Peer}}"/>
    <receiver name="{{.Edigw}}"/>
{{- range $name, $value := .Attributes}}
    <attribute name="{{$name}}" value="{{$value | html}}"/>
{{- end}}
  </partnership>
  <partnership name="{{.Peer}}-receives">
    <sender name="edigw"/>
    <receiver name="{{.Peer}}"/>
    <attribute name="as2_mdn_options" value="none"/>
  </partnership>
{{- end}}
</partnerships>
`
