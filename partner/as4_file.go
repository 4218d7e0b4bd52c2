package partner

import "edigw/internal/conf"

// What a partner may speak.
const (
	protocolAS2 = "as2"
	protocolAS4 = "as4"
)

// as4File is the section as4 of a partner file: the P-Mode in the words of the
// specification (ebMS 3.0 Core App. D), seen from our side.
type as4File struct {
	Profile          string          `yaml:"profile" enum:"plain edelivery-1.15 edelivery-2.0 peppol entsog bdew ics2" default:"plain" doc:"fills in what the community has settled, see Profiles; plain: nothing"`
	URL              conf.URL        `yaml:"url" unset:"needed, unless they pull and nothing is fetched" doc:"where messages go, receipts that we owe, and our pull requests" example:"https://as4.stadtwerke.example/msh"`
	To               as4Party        `yaml:"to" doc:"who they are"`
	From             as4Party        `yaml:"from" doc:"who we are; what it leaves out is that of identity.as4 in edigw.yaml"`
	Agreement        *as4Agreement   `yaml:"agreement" unset:"none" doc:"AgreementRef: what was settled"`
	Service          as4Service      `yaml:"service" doc:"Service of what we send, and of what we take"`
	Action           string          `yaml:"action" default:"http://docs.oasis-open.org/ebxml-msg/as4/200902/action" doc:"Action of what we send, and of what we take; without the key that of AS4 §5.2.5"`
	MEP              string          `yaml:"mep" enum:"one-way/push one-way/pull two-way/push-and-push" default:"one-way/push" doc:"how documents reach them; one-way/pull: they fetch them here, from mpc"`
	MPC              string          `yaml:"mpc" unset:"the default MPC" doc:"message partition channel of what we send; with one-way/pull the one that they name"`
	Conversation     string          `yaml:"conversation" default:"{message}" zero:"none" doc:"ConversationId; {message} is the MessageId; none: an empty one"`
	Properties       conf.Raw        `yaml:"properties" doc:"message properties: name: value, or name: {value, type}; without a value it is each document's own, with required: true a document without it is refused"`
	PartProperties   conf.Raw        `yaml:"part_properties" doc:"properties of each payload, written the same way"`
	FileNameProperty string          `yaml:"file_name_property" unset:"none" doc:"part property that carries the file's name" example:"FileName"`
	Compress         string          `yaml:"compress" enum:"none gzip" default:"gzip" doc:"compress each payload (AS4 §3.1)"`
	Body             bool            `yaml:"body" default:"false" doc:"the payload, one XML document, stands in the SOAP Body, neither compressed nor encrypted"`
	Security         as4Security     `yaml:"security" doc:"how we sign and encrypt"`
	Receipt          as4Receipt      `yaml:"receipt" doc:"the receipt that we expect"`
	Receive          as4Receive      `yaml:"receive" doc:"what we demand of their messages, and how we answer"`
	Pull             *as4Pull        `yaml:"pull" unset:"the signature of their pull requests counts" doc:"only one-way/pull: the login that their pull requests show"`
	Fetch            *as4Fetch       `yaml:"fetch" unset:"nothing is fetched" doc:"fetch their messages by pull requests of ours"`
	Trust            as4Trust        `yaml:"trust" doc:"whose certificates may have signed besides those of certificates.verify"`
	SBDH             as4SBDH         `yaml:"sbdh" doc:"the Standard Business Document around documents, see peppol.md"`
	SMP              *as4SMP         `yaml:"smp" unset:"url is where documents go" doc:"in place of url and certificates: each receiver is looked up in the directory of a network, see peppol.md"`
	DuplicateWindow  conf.Duration   `yaml:"duplicate_window" default:"14d" zero:"none" min:"1m" doc:"how long they remember a MessageId; none: they do not"`
	FreshID          bool            `yaml:"fresh_id" default:"false" doc:"a replay after a definite refusal takes a new MessageId"`
	properties       []namedProperty // of Properties
	partProperties   []namedProperty // of PartProperties
}

// as4Party is one side. Its ids are party, or all of ids.
type as4Party struct {
	Party string       `yaml:"party" unset:"none" doc:"party id" example:"9990012345678"`
	Type  string       `yaml:"type" unset:"none" zero:"none" doc:"kind of the id, and of ids that say none; an id without a type must be a URI"`
	IDs   []as4PartyID `yaml:"ids,single" unset:"party alone" doc:"in place of party: several ids of the same party"`
	Role  string       `yaml:"role" unset:"initiator from us, responder to them" doc:"their role, or ours, when we send"`
}

type as4PartyID struct {
	Party string `yaml:"party,short" required:"yes" doc:"party id" example:"9990012345678"`
	Type  string `yaml:"type" unset:"that beside ids" zero:"none" doc:"its kind"`
}

type as4Agreement struct {
	Word  string `word:"none"`
	Value string `yaml:"value" required:"yes" doc:"its name" example:"https://agreements.example/1"`
	Type  string `yaml:"type" unset:"none" zero:"none" doc:"kind of the name"`
	PMode string `yaml:"pmode" unset:"none" zero:"none" doc:"id of the P-Mode, for partners that want it"`
}

type as4Service struct {
	Value string `yaml:"value" unset:"that of AS4 §5.2.5, if there is no type either" doc:"its name" example:"Orders"`
	Type  string `yaml:"type" unset:"none" zero:"none" doc:"kind of the name; without one it must be a URI"`
}

type as4Security struct {
	Sign         string `yaml:"sign" enum:"none by-key rsa-sha256 rsa-sha384 rsa-sha512 ecdsa-sha256 ecdsa-sha384 ecdsa-sha512 ed25519" default:"rsa-sha256" doc:"signature; by-key: the profile's first one that a key of ours fits"`
	Digest       string `yaml:"digest" enum:"sha256 sha384 sha512" default:"sha256" doc:"digest of what is signed"`
	Token        string `yaml:"token" enum:"bst pkipath pkcs7 ski thumbprint issuer-serial" default:"bst" doc:"how the signature gives or names our certificate"`
	Encrypt      string `yaml:"encrypt" enum:"none aes128-gcm aes192-gcm aes256-gcm" default:"aes128-gcm" doc:"cipher of the payloads"`
	KeyTransport string `yaml:"key_transport" enum:"by-key rsa-oaep-mgf1-sha256 rsa-oaep-mgf1-sha1 rsa-oaep-mgf1p ecdh-es ecdh-es-hkdf x25519" default:"rsa-oaep-mgf1-sha256" doc:"how the key reaches them; by-key: as their certificate wants; rsa-oaep-mgf1p: the older name, SHA-1 throughout; ecdh-es derives its key by ConcatKDF, ecdh-es-hkdf by HKDF"`
	EncryptToken string `yaml:"encrypt_token" enum:"auto ski issuer-serial thumbprint bst" default:"auto" doc:"how their certificate is named; auto: ski, or issuer-serial if it has none"`
}

type as4Receipt struct {
	Mode           string        `yaml:"mode" enum:"none sync async" default:"sync" doc:"in the response, or posted to us later; of a message that they pull it always comes later"`
	NonRepudiation *bool         `yaml:"non_repudiation" unset:"true unless security.sign is none" doc:"it must hold the digests of what we signed (AS4 §5.1.8)"`
	Signed         *bool         `yaml:"signed" unset:"true unless security.sign is none" doc:"it must be signed"`
	Wait           conf.Duration `yaml:"wait" default:"60m" min:"1s" max:"30d" doc:"only async, or pulled: how long it may take"`
}

type as4Receive struct {
	Require       []string           `yaml:"require,single" enum:"none signed encrypted" unset:"signed unless sign is none, encrypted unless encrypt is none" doc:"weaker messages are refused: EBMS:0103; none: anything goes; an empty list counts as absent"`
	Digest        string             `yaml:"digest" enum:"sha256 sha384 sha512" default:"sha256" doc:"weakest digest accepted in a signature"`
	Algorithms    []string           `yaml:"algorithms,single" enum:"rsa-sha256 rsa-sha384 rsa-sha512 ecdsa-sha256 ecdsa-sha384 ecdsa-sha512 ed25519" unset:"all" doc:"signatures accepted"`
	Collaboration string             `yaml:"collaboration" enum:"exact any" default:"exact" doc:"exact: agreement, service and action must be those above, or one of also; any: whatever they are"`
	Also          []as4Collaboration `yaml:"also,single" unset:"none" doc:"what they send besides"`
	Receipt       as4Answer          `yaml:"receipt" doc:"the receipt that we send"`
}

type as4Collaboration struct {
	Agreement *as4Agreement `yaml:"agreement" unset:"the partner's" doc:"AgreementRef of it; none: it has none"`
	Service   as4Service    `yaml:"service" doc:"its service"`
	Action    string        `yaml:"action" required:"yes" doc:"its action" example:"Confirm"`
}

type as4Answer struct {
	Mode           string `yaml:"mode" enum:"none sync async" default:"sync" doc:"in the response, or posted to url; none: they get no receipt"`
	NonRepudiation *bool  `yaml:"non_repudiation" unset:"true unless security.sign is none" doc:"with the digests of what they signed; of unsigned messages with a copy of their header"`
	Signed         *bool  `yaml:"signed" unset:"true unless security.sign is none" doc:"we sign it, and errors, too"`
}

type as4Pull struct {
	User     string      `yaml:"user" required:"yes" doc:"their user name" example:"stadtwerke"`
	Password conf.Secret `yaml:"password_file" required:"yes" doc:"their password" example:"../secrets/stadtwerke-pull"`
}

type as4Fetch struct {
	Every    conf.Duration `yaml:"every" default:"5m" min:"1s" max:"1d" doc:"how often; what waits there is fetched one message after the other"`
	MPC      string        `yaml:"mpc" required:"yes" doc:"message partition channel that they hold for us" example:"urn:example:mpc:acme"`
	User     string        `yaml:"user" unset:"none: the signature counts" doc:"our user name in pull requests"`
	Password conf.Secret   `yaml:"password_file" doc:"its password"`
}

type as4Trust struct {
	Authorities []certificateFile `yaml:"authorities,single" unset:"none" doc:"authorities, whose certificates may have signed"`
	Subject     string            `yaml:"subject" enum:"any party" default:"any" doc:"party: the common name of such a certificate must be the party id"`
}
