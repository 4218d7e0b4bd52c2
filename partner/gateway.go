package partner

import (
	"strings"

	"edigw/internal/conf"
)

// Gateway is edigw.yaml. It is immutable and may be shared; relative paths are
// resolved already.
type Gateway struct {
	Node        string        `yaml:"node" default:"gw1" doc:"name of this process in logs, leases and metrics; a change needs a restart"`
	Data        conf.Path     `yaml:"data" default:"data" doc:"folder of the database, spool and archive; a change needs a restart"`
	Partners    conf.Path     `yaml:"partners" default:"partners" doc:"folder of the partner files"`
	Store       string        `yaml:"store" enum:"sqlite" default:"sqlite" doc:"kind of the store; a change needs a restart"`
	Identity    Identity      `yaml:"identity" doc:"Who we are, unless a partner file overrides it."`
	Keys        []Key         `yaml:"keys" doc:"Own keys. Several per use with dates make a roll-over: sign with the newest that has begun, decrypt with all that have not ended."`
	Listen      Listen        `yaml:"listen" doc:"The two listeners; a change needs a restart, but for what is below partners.tls."`
	Limits      Limits        `yaml:"limits" doc:"Bounds of the whole gateway."`
	Proxy       *Proxy        `yaml:"proxy" unset:"direct" doc:"The HTTP proxy on the way to partners."`
	StopTimeout conf.Duration `yaml:"stop_timeout" default:"60s" min:"1s" max:"1h" doc:"how long running exchanges may take when the gateway stops"`
	Defaults    conf.Raw      `yaml:"defaults" doc:"any keys of a partner file, for all partners; a partner file and its preset count more"`
	Alerts      *Alerts       `yaml:"alerts" unset:"no alerts" doc:"Where alerts go."`
	Retention   Keep          `yaml:"retention" doc:"How long what is settled is kept."`
	Log         Log           `yaml:"log" doc:"The log on standard error."`
}

// Identity is who we are.
type Identity struct {
	Domain string       `yaml:"domain" required:"yes" doc:"right side of every Message-ID; fixed at init, never changed" example:"edi.acme.example"`
	AS2    string       `yaml:"as2" unset:"each partner file says as2.our_id" doc:"our AS2 name (AS2-From)"`
	AS4    *AS4Identity `yaml:"as4" unset:"none" doc:"our party in AS4"`
}

// AS4Identity is our party in AS4.
type AS4Identity struct {
	Party string `yaml:"party" required:"yes" doc:"our party id" example:"urn:oasis:names:tc:ebcore:partyid-type:unregistered:acme"`
	Type  string `yaml:"type" unset:"none: the id is a URI, or the profile has a type" doc:"kind of the id"`
	Role  string `yaml:"role" unset:"initiator" doc:"our role when we send"`
}

// Key is an own key with its certificate.
type Key struct {
	Use      []string    `yaml:"use,single" required:"yes" enum:"sign decrypt" doc:"what the key is for" example:"[sign, decrypt]"`
	File     conf.Path   `yaml:"file" required:"yes" doc:"P12, or PEM with the key and its certificates" example:"keys/acme.p12"`
	Password conf.Secret `yaml:"password_file" unset:"no password" doc:"password of the P12"`
	From     conf.Moment `yaml:"from" unset:"the certificate's begin" doc:"first day or instant of its use; with decrypt: from when on partners encrypt to it, it opens messages before, too; dates are UTC"`
	Until    conf.Moment `yaml:"until" unset:"the certificate's end" doc:"last day or end of its use"`
}

// Listen is where the gateway listens.
type Listen struct {
	Partners *Listener       `yaml:"partners" unset:"receives nothing" doc:"the partners' side: POST /as2 and /as4, receipts"`
	Console  ConsoleListener `yaml:"console" doc:"the operators' side: console, API, metrics"`
}

// Listener is the partners' side.
type Listener struct {
	Address conf.Address `yaml:"address" default:":4080" doc:"where to listen"`
	BaseURL conf.URL     `yaml:"base_url" unset:"no asynchronous receipts" doc:"how partners reach it from outside"`
	TLS     *ServerTLS   `yaml:"tls" unset:"plain HTTP" doc:"certificate and key; a change counts from the next reload on"`
}

// ServerTLS is the listener's TLS certificate, leaf first, and its key, both
// PEM, and what it asks of clients.
type ServerTLS struct {
	Cert   conf.Path `yaml:"cert" required:"yes" doc:"PEM with the certificate, then its intermediates" example:"keys/tls.pem"`
	Key    conf.Path `yaml:"key" required:"yes" doc:"PEM with the key" example:"keys/tls.key"`
	Client string    `yaml:"client" enum:"none request require" default:"none" doc:"whether clients are asked for a certificate, or must show one; whose it must be says tls.inbound of the partner files"`
}

// ConsoleListener is the operators' side.
type ConsoleListener struct {
	Address conf.Address `yaml:"address" default:"127.0.0.1:4000" doc:"where to listen"`
	BaseURL conf.URL     `yaml:"base_url" unset:"http:// and the address" doc:"how operators reach it, for links in alerts; https makes the session cookie Secure"`
}

// Limits bounds the gateway.
type Limits struct {
	Document    conf.Size  `yaml:"document" default:"2GB" min:"1KB" doc:"largest document, in and out"`
	Header      conf.Size  `yaml:"header" default:"64KB" min:"4KB" max:"1MB" doc:"largest HTTP header received"`
	Sockets     int        `yaml:"sockets" default:"2000" min:"10" max:"1000000" doc:"exchanges open at once; checked against the descriptor limit"`
	RetryBudget conf.Share `yaml:"retry_budget" default:"20%" min:"1%" doc:"retries among all starts of the last minute, never under 10/s"`
	Backlog     backlog    `yaml:"backlog" doc:"what a partner may have waiting unless its file says otherwise"`
}

// Proxy is an HTTP proxy.
type Proxy struct {
	Word     string      `word:"inherit none"`
	URL      conf.URL    `yaml:"url" required:"yes" doc:"the proxy" example:"http://proxy.acme.example:3128"`
	User     string      `yaml:"user" unset:"no login" doc:"user at the proxy"`
	Password conf.Secret `yaml:"password_file" doc:"password at the proxy"`
	Except   []string    `yaml:"except" unset:"none" doc:"contacted without it: addresses, prefixes, domains" example:"[10.0.0.0/8]"`
}

// Alerts is where alerts go.
type Alerts struct {
	Mail      *MailChannel  `yaml:"mail" unset:"no mail" doc:"alerts by mail"`
	Slack     *SlackChannel `yaml:"slack" unset:"no Slack" doc:"alerts to Slack"`
	GroupWait conf.Duration `yaml:"group_wait" default:"30s" max:"1h" doc:"how long events of one cause are gathered"`
	Repeat    conf.Duration `yaml:"repeat" default:"4h" min:"1m" doc:"an incident is told again at most this often"`
	DLQ       DLQAlerts     `yaml:"dlq" doc:"when letters raise an alert"`
	Order     []string      `yaml:"order" enum:"mail slack" unset:"mail, then slack" doc:"order of the channels; every alert goes to all"`
	Heartbeat conf.Duration `yaml:"heartbeat" default:"24h" zero:"none" min:"1m" doc:"a sign of life"`
	Digest    Cron          `yaml:"digest" default:"0 7 * * *" zero:"none" doc:"the daily summary"`
	Zone      string        `yaml:"zone" default:"UTC" doc:"zone of digest"`
}

// MailChannel is the mail server for alerts.
type MailChannel struct {
	Host     string      `yaml:"host" required:"yes" doc:"the server" example:"smtp.acme.example"`
	Port     int         `yaml:"port" default:"587" min:"1" max:"65535" doc:"its port"`
	TLS      string      `yaml:"tls" enum:"none starttls tls" default:"starttls" doc:"how the connection is protected"`
	User     string      `yaml:"user" unset:"no login" doc:"user at the server"`
	Password conf.Secret `yaml:"password_file" doc:"password at the server"`
	From     conf.Mail   `yaml:"from" required:"yes" doc:"sender" example:"edigw@acme.example"`
	To       []conf.Mail `yaml:"to,single" required:"yes" doc:"who gets every alert" example:"[edi-ops@acme.example]"`
}

// SlackChannel is a Slack webhook; its URL is a secret.
type SlackChannel struct {
	Webhook conf.Secret `yaml:"webhook_file" required:"yes" doc:"file with the webhook's URL: https, or http on loopback" example:"secrets/slack"`
}

// DLQAlerts says when letters raise an alert.
type DLQAlerts struct {
	Depth  int           `yaml:"depth" default:"100" min:"1" doc:"more open letters than this"`
	Oldest conf.Duration `yaml:"oldest" default:"4h" min:"1m" doc:"a letter open longer than this"`
	Growth conf.Rate     `yaml:"growth" unset:"never" doc:"letters that come faster than this" example:"20/h"`
}

// Keep says how long what is settled is kept.
type Keep struct {
	Keys     conf.Duration `yaml:"keys" default:"400d" min:"1d" doc:"idempotency keys, after the message is terminal"`
	Payloads conf.Duration `yaml:"payloads" default:"400d" min:"1h" doc:"documents; not shorter than evidence"`
	Evidence conf.Duration `yaml:"evidence" default:"400d" min:"1h" doc:"signed parts and receipts"`
	Wire     conf.Duration `yaml:"wire" default:"24h" doc:"built messages, after the message is terminal"`
}

// Log is the log on standard error.
type Log struct {
	Format string `yaml:"format" enum:"json text" default:"json" doc:"one JSON object a line, or text"`
	Level  string `yaml:"level" enum:"debug info warn error" default:"info" doc:"least important level shown"`
}

// ConsoleURL is how operators reach the console, without a slash at the end.
func (g *Gateway) ConsoleURL() string {
	if g.Listen.Console.BaseURL != "" {
		return strings.TrimRight(string(g.Listen.Console.BaseURL), "/")
	}
	return "http://" + string(g.Listen.Console.Address)
}

// PartnerURL is how partners reach us, without a slash at the end; empty if
// edigw.yaml does not say.
func (g *Gateway) PartnerURL() string {
	if g.Listen.Partners == nil {
		return ""
	}
	return strings.TrimRight(string(g.Listen.Partners.BaseURL), "/")
}
