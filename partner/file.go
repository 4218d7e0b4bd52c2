package partner

import (
	"edigw/internal/conf"
	"edigw/retry"
)

// file is partners/<id>.yaml. It describes every key once: decoding, built-in
// values, the effective settings and docs/partner-file.md come from it.
type file struct {
	Name     string   `yaml:"name" unset:"the id" doc:"what people call the partner"`
	Zone     string   `yaml:"zone" default:"UTC" doc:"zone of quiet hours, windows and dates without one" example:"Europe/Berlin"`
	Stage    string   `yaml:"stage" enum:"setup test live retired" default:"live" doc:"setup refuses documents; test never pages; retired finishes what it has"`
	Protocol string   `yaml:"protocol" enum:"as2 as4" required:"yes" doc:"what the partner speaks; as4 beside a section as4" example:"as2"`
	Preset   string   `yaml:"preset" unset:"none" doc:"values that suit the partner's software for AS2, see Presets"`
	Owner    owner    `yaml:"owner" doc:"Whom to call."`
	AS2      *as2File `yaml:"as2" doc:"What was agreed for AS2; needed if protocol is as2."`
	AS4      *as4File `yaml:"as4" doc:"What was agreed for AS4, the P-Mode; needed if protocol is as4. See as4-pmode.md."`

	Certificates certificateFiles `yaml:"certificates" doc:"The partner's certificates: PEM, DER or P7B. Of several, encrypt uses the newest that has begun, verify accepts all that are valid."`
	TLS          tlsFiles         `yaml:"tls" doc:"Whom to believe at the partner's URL, and who we are there."`
	Auth         auth             `yaml:"auth" doc:"The login at the partner's URL."`
	Proxy        *Proxy           `yaml:"proxy" unset:"inherit" doc:"The HTTP proxy: that of edigw.yaml, none or another."`
	Backlog      backlog          `yaml:"backlog" doc:"What may wait; more is refused at the door with 429."`

	Empty string  `yaml:"empty" enum:"refuse allow" default:"refuse" doc:"a document of 0 bytes"`
	Check string  `yaml:"check" enum:"none envelope" default:"envelope" doc:"count segments and compare references before queueing"`
	Time  timeout `yaml:"timeout" doc:"Bounds of the parts of one exchange."`

	Retry   retryFile   `yaml:"retry" doc:"When a failed attempt is repeated."`
	Breaker breakerFile `yaml:"breaker" doc:"When a partner in trouble is left alone."`
	Lane    laneFile    `yaml:"lane" doc:"The flow of documents to the partner."`

	WarnBy        conf.Duration `yaml:"warn_by" unset:"never" min:"1s" doc:"age of a document at which an alert is raised"`
	DeliverBy     conf.Duration `yaml:"deliver_by" unset:"no deadline" min:"1s" doc:"age of a document after which no attempt starts, unless the caller gives a deadline"`
	AfterDeadline string        `yaml:"after_deadline" enum:"dead-letter keep" default:"dead-letter" doc:"what becomes of a document that is late"`

	Retention retentionFile `yaml:"retention" doc:"How long what is settled is kept; else as edigw.yaml says."`
	Inbox     inbox         `yaml:"inbox" doc:"Where received documents go; else to the folder inbox/<id>."`
	Alerts    notify        `yaml:"alerts" doc:"Alerts about this partner."`
}

type owner struct {
	Team  string    `yaml:"team" doc:"who looks after the partner"`
	Mail  conf.Mail `yaml:"mail" doc:"their mail address"`
	Phone string    `yaml:"phone" doc:"their telephone, shown in alerts"`
	Note  string    `yaml:"note" doc:"what helps whoever calls"`
}

type as2File struct {
	ID               string   `yaml:"id" required:"yes" doc:"their AS2 name (AS2-To)" example:"NORTHWIND"`
	OurID            string   `yaml:"our_id" unset:"identity.as2" doc:"our AS2 name (AS2-From)"`
	URL              conf.URL `yaml:"url" required:"yes" doc:"where messages go" example:"https://as2.northwind.example/as2"`
	Subject          string   `yaml:"subject" unset:"none" doc:"may hold {reference} and {file}" example:"Invoice {reference}"`
	ContentType      string   `yaml:"content_type" default:"auto" doc:"MIME type of documents, or auto: as recognised" example:"application/edi-x12"`
	Version          string   `yaml:"version" enum:"1.0 1.1 1.2 1.3" default:"1.2" doc:"AS2-Version that we claim; 1.3 is that of RFC 4130's successor: no SHA-1, no 3DES"`
	Sign             string   `yaml:"sign" enum:"none sha1 sha256 sha384 sha512" default:"sha256" doc:"digest of our signature"`
	Signature        string   `yaml:"signature" enum:"rsa-pkcs1 rsa-pss" default:"rsa-pkcs1" doc:"how an RSA key signs"`
	SignedAttributes bool     `yaml:"signed_attributes" default:"true" doc:"false for old Sterling, which refuses them"`
	Protection       bool     `yaml:"algorithm_protection" default:"false" doc:"sign the algorithms, too (RFC 6211); Sterling refuses that"`
	AttachCert       string   `yaml:"attach_certificate" enum:"none leaf chain" default:"chain" doc:"which of our certificates go into the signature"`
	CertificateID    string   `yaml:"certificate_id" enum:"issuer-serial key-id" default:"issuer-serial" doc:"how signature and encryption name certificates"`
	DigestNames      string   `yaml:"digest_names" enum:"rfc5751 rfc3851" default:"rfc5751" doc:"how digests are spelled: sha-256, or sha256 for old Seeburger"`
	Encrypt          string   `yaml:"encrypt" enum:"none 3des aes128-cbc aes192-cbc aes256-cbc aes128-gcm aes256-gcm" default:"aes256-cbc" doc:"cipher; GCM makes AuthEnvelopedData, which few partners read"`
	KeyTransport     string   `yaml:"key_transport" enum:"rsa-pkcs1 rsa-oaep-sha1 rsa-oaep-sha256 rsa-oaep-sha384 rsa-oaep-sha512 rsa-oaep-sha256-mgf1-sha1" default:"rsa-pkcs1" doc:"how the key is encrypted to an RSA certificate; one of an elliptic curve takes ECDH"`
	EncryptToSelf    bool     `yaml:"encrypt_to_self" default:"false" doc:"encrypt to our own certificate, too, so that we can open what we sent"`
	Compress         string   `yaml:"compress" enum:"none before-sign after-sign" default:"none" doc:"where the message is compressed"`
	TransferEncoding string   `yaml:"transfer_encoding" enum:"binary base64" default:"binary" doc:"of the document inside the message; several files go binary"`
	Transfer         string   `yaml:"transfer" enum:"content-length chunked" default:"content-length" doc:"how the HTTP request is framed"`
	ExpectContinue   bool     `yaml:"expect_continue" default:"false" doc:"ask before the body is sent (Expect: 100-continue)"`
	MDN              mdnFile  `yaml:"mdn" doc:"the receipt that we ask for"`
	Receive          receive  `yaml:"receive" doc:"what we demand of their messages"`

	DuplicateWindow conf.Duration `yaml:"duplicate_window" default:"7d" zero:"none" min:"1m" doc:"how long they remember a Message-ID; none: they do not"`
	FreshID         bool          `yaml:"fresh_id" default:"false" doc:"a replay after a definite refusal takes a new Message-ID"`
}

type mdnFile struct {
	Mode      string        `yaml:"mode" enum:"none sync async" default:"sync" doc:"how it comes back"`
	Signed    bool          `yaml:"signed" default:"true" doc:"it must be signed"`
	Algorithm string        `yaml:"algorithm" enum:"sha1 sha256 sha384 sha512" default:"sha256" doc:"digest that we ask for"`
	Wait      conf.Duration `yaml:"wait" default:"60m" min:"1s" max:"30d" doc:"only async: how long it may take"`
}

type receive struct {
	Require     []string   `yaml:"require,single" enum:"none signed encrypted" unset:"signed unless sign is none, encrypted unless encrypt is none" doc:"weaker messages are refused: insufficient-message-security; none: anything goes; an empty list counts as absent"`
	Digest      string     `yaml:"digest" enum:"sha1 sha256 sha384 sha512" default:"sha256" doc:"weakest digest accepted in a signature"`
	MIC         micFile    `yaml:"mic" doc:"what partners read differently about the digest that our receipts name"`
	ReceiptURLs []conf.URL `yaml:"receipt_urls,single" unset:"nowhere" doc:"where asynchronous receipts may be posted"`
}

type micFile struct {
	Unsigned   string `yaml:"unsigned" enum:"asked sha1 sha256 sha384 sha512" default:"asked" doc:"digest of unsigned messages; mendelson counts on SHA-1 whatever it asked for"`
	Compressed string `yaml:"compressed" enum:"with-headers body" default:"with-headers" doc:"of a message that is compressed only; OpenAS2 leaves the headers out"`
	Base64     string `yaml:"base64" enum:"decoded encoded" default:"decoded" doc:"of a plain message in base64"`
}

type certificateFiles struct {
	Verify  []certificateFile `yaml:"verify,single" doc:"that may have signed their messages and receipts"`
	Encrypt []certificateFile `yaml:"encrypt,single" doc:"that we encrypt to"`
}

type certificateFile struct {
	File  conf.Path   `yaml:"file,short" required:"yes" doc:"PEM, DER or P7B" example:"../keys/northwind.pem"`
	From  conf.Moment `yaml:"from" unset:"the certificate's begin" doc:"first day or instant of its use"`
	Until conf.Moment `yaml:"until" unset:"the certificate's end" doc:"last day or end of its use"`
}

type tlsFiles struct {
	Trust   []certificateFile `yaml:"trust,single" unset:"the system's authorities" doc:"their server certificates or authorities"`
	Client  []clientFile      `yaml:"client,single" unset:"none" doc:"our client certificate"`
	Inbound []certificateFile `yaml:"inbound,single" unset:"none is asked for" doc:"their client certificates, one of which they must show when they post to us; needs listen.partners.tls.client in edigw.yaml"`
}

type clientFile struct {
	Cert  conf.Path   `yaml:"cert" required:"yes" doc:"PEM with the certificate, then its intermediates" example:"../keys/acme-client.pem"`
	Key   conf.Path   `yaml:"key" required:"yes" doc:"PEM with the key" example:"../keys/acme-client.key"`
	From  conf.Moment `yaml:"from" unset:"the certificate's begin" doc:"first day or instant of its use"`
	Until conf.Moment `yaml:"until" unset:"the certificate's end" doc:"last day or end of its use"`
}

type auth struct {
	Basic *basic `yaml:"basic" unset:"none" doc:"HTTP basic, sent unasked"`
}

type basic struct {
	User     string      `yaml:"user" required:"yes" doc:"user at their server" example:"acme"`
	Password conf.Secret `yaml:"password_file" required:"yes" doc:"its password" example:"../secrets/northwind"`
}

type backlog struct {
	Messages int       `yaml:"messages" default:"100000" zero:"none" min:"1" doc:"messages that may wait"`
	Size     conf.Size `yaml:"size" default:"5GB" zero:"none" min:"1KB" doc:"bytes that may wait"`
}

type timeout struct {
	Connect  conf.Duration `yaml:"connect" default:"10s" min:"100ms" max:"5m" doc:"DNS, TCP, proxy and TLS together"`
	Send     conf.Duration `yaml:"send" default:"60s" min:"100ms" max:"1h" doc:"longest time without progress while sending"`
	Response conf.Duration `yaml:"response" default:"300s" min:"100ms" max:"1h" doc:"from the last byte sent to the response's headers"`
}

type retryFile struct {
	Base     conf.Duration `yaml:"base" default:"1s" doc:"longest first wait"`
	Factor   float64       `yaml:"factor" default:"2" zero:"auto" doc:"growth from wait to wait; auto spreads the waits up to the cap"`
	Cap      conf.Duration `yaml:"cap" default:"30m" doc:"longest wait of all"`
	Attempts int           `yaml:"attempts" default:"7" doc:"attempts in a round, the first included"`
	Jitter   retry.Jitter  `yaml:"jitter" default:"full" notation:"full equal none or a share such as 50%" doc:"how chance changes a wait"`
}

type breakerFile struct {
	Failures    int           `yaml:"failures" default:"5" doc:"failures within the window that open it"`
	Within      conf.Duration `yaml:"within" default:"60s" doc:"length of the window"`
	Consecutive int           `yaml:"consecutive" default:"5" doc:"failures in a row, however slow, that open it"`
	Cooldown    conf.Duration `yaml:"cooldown" default:"5m" doc:"time until the first test; doubles with each that fails"`
	MaxCooldown conf.Duration `yaml:"max_cooldown" default:"30m" doc:"longest time between tests"`
	OnOpen      string        `yaml:"on_open" enum:"dead-letter hold" default:"dead-letter" doc:"what waiting documents do then"`
	AutoReplay  *autoReplay   `yaml:"auto_replay" unset:"false" doc:"replay an outage's letters without an operator"`
}

type autoReplay struct {
	Word   string        `word:"false"`
	MaxAge conf.Duration `yaml:"max_age" required:"yes" min:"1m" doc:"older letters stay" example:"12h"`
	Max    int           `yaml:"max" required:"yes" min:"1" max:"1000000" doc:"at most so many" example:"1000"`
}

type laneFile struct {
	Concurrency int       `yaml:"concurrency" default:"1" min:"1" max:"256" doc:"exchanges at once; 1 is strictly first in, first out"`
	Rate        conf.Rate `yaml:"rate" unset:"no limit" doc:"exchanges started"`
	Connections int       `yaml:"connections" default:"4" min:"1" max:"256" doc:"connections open at most"`
	AfterDead   string    `yaml:"after_dead" enum:"continue block" default:"continue" doc:"may later documents overtake a letter; block needs on_open: hold"`
	OnUnknown   string    `yaml:"on_unknown" enum:"resend wait hold" unset:"resend; hold if duplicate_window is none" doc:"what follows an attempt after which they may have the document; wait only with async receipts"`
	HoldAfter   int       `yaml:"hold_after" default:"3" min:"1" max:"1000" doc:"configuration faults in a row that stop the lane"`
	ReplayRate  conf.Rate `yaml:"replay_rate" default:"5/s" doc:"replayed letters started"`
	Windows     []window  `yaml:"windows,single" unset:"always" doc:"when we may send"`
	Blackouts   []window  `yaml:"blackouts,single" unset:"never" doc:"when we may not send, whatever the windows say"`
}

type window struct {
	Cron Cron          `yaml:"cron" doc:"begin, again and again: minute hour day month weekday"`
	For  conf.Duration `yaml:"for" min:"1m" max:"366d" doc:"length, with cron"`
	Zone string        `yaml:"zone" unset:"the partner's zone" doc:"zone of cron, from and to"`
	From conf.Moment   `yaml:"from" doc:"begin, once"`
	To   conf.Moment   `yaml:"to" doc:"end, once"`
	Note string        `yaml:"note" doc:"why, for operators"`
}

type retentionFile struct {
	Payloads conf.Duration `yaml:"payloads" unset:"retention.payloads of edigw.yaml" min:"1h" doc:"documents; not shorter than evidence"`
	Evidence conf.Duration `yaml:"evidence" unset:"retention.evidence of edigw.yaml" min:"1h" doc:"signed parts and receipts"`
}

type inbox struct {
	Webhook *webhook `yaml:"webhook" unset:"none" doc:"post each to this address instead, see webhook.md"`
}

type webhook struct {
	URL    conf.URL    `yaml:"url" required:"yes" doc:"where" example:"https://erp.acme.example/in"`
	Secret conf.Secret `yaml:"secret_file" required:"yes" doc:"signs the posts" example:"../secrets/erp"`
}

type notify struct {
	Mail  []conf.Mail `yaml:"mail,single" unset:"none" doc:"who is told besides the addresses of edigw.yaml"`
	Quiet quiet       `yaml:"quiet" unset:"never" doc:"daily hours without alerts other than pages" example:"22:00-06:00"`
	Tier  int         `yaml:"tier" default:"1" min:"1" max:"9" doc:"1 pages; from 2 on tickets only"`
}
