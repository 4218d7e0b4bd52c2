package partner

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestGoodAS4FilesHaveNoMistakes(t *testing.T) {
	t.Parallel()
	s := mustLoad(t, installationAS4(t))
	want := `good/setup.yaml:1: warning: certificates.encrypt: missing: as4.security.encrypt is aes128-gcm (a file with the partner's certificate, or as4.security.encrypt: none)
good/setup.yaml:1: warning: certificates.verify: missing: receipts must be signed (a file with the partner's certificate, or his authority in as4.trust.authorities, or as4.receipt.signed: false)
`
	if diff := cmp.Diff(want, lines(s.Problems())); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

// TestEveryKeyOfAS4IsInTheSample: but for those that exclude another one.
func TestEveryKeyOfAS4IsInTheSample(t *testing.T) {
	t.Parallel()
	s := mustLoad(t, installationAS4(t))
	other := []string{"as4.to.party", "as4.from.ids", "as4.receive.also[0].agreement", "as4.receive.also[1].service.type", "as4.smp"}
	seen := 0
	for _, set := range s.Effective("every-key") {
		if !strings.HasPrefix(set.Key, "as4.") {
			continue
		}
		seen++
		excused := false
		for _, key := range other {
			excused = excused || strings.HasPrefix(set.Key, key)
		}
		if set.Origin == OriginBuiltIn && !excused {
			t.Errorf("the sample does not use %s", set.Key)
		}
	}
	if seen < 60 {
		t.Errorf("only %d settings of as4", seen)
	}
}

// TestEffectiveSettingsOfAS4TellTheirOrigin: file, profile, edigw.yaml, what is
// built in, and what follows from another setting.
func TestEffectiveSettingsOfAS4TellTheirOrigin(t *testing.T) {
	t.Parallel()
	dir := installationAS4(t)
	edit(t, filepath.Join(dir, "edigw.yaml"), "alerts:", "defaults: {as4: {profile: peppol, compress: none, fresh_id: true, security: {token: ski}, properties: {originalSender: {type: urn:example:other}, trackingIdentifier: T}}, as2: {sign: sha512}}\nalerts:")
	edit(t, filepath.Join(dir, "good", "wingtip.yaml"), "  profile: peppol\n", "")
	s := mustLoad(t, dir)
	effective := func(id string) map[string]Setting {
		out := map[string]Setting{}
		for _, set := range s.Effective(id) {
			out[set.Key] = set
		}
		return out
	}
	type row struct{ Key, Value, Origin string }
	for id, all := range map[string][]row{
		"wingtip": {
			{"as4.profile", "peppol", OriginDefaults},
			{"as4.to.party", "POP000123", OriginPartner},
			{"as4.to.type", "urn:fdc:peppol.eu:2017:identifiers:ap", OriginProfile},
			{"as4.from.type", "urn:fdc:peppol.eu:2017:identifiers:ap", OriginProfile},
			{"as4.security.token", "bst", OriginProfile},
			{"as4.compress", "gzip", OriginProfile},
			{"as4.fresh_id", "true", OriginDefaults},
			{"as4.duplicate_window", "14d", OriginBuiltIn},
			{"as4.properties.originalSender", "9915:acme", OriginPartner},
			{"as4.properties.originalSender.type", "iso6523-actorid-upis", OriginPartner},
			{"as4.properties.trackingIdentifier", "T", OriginDefaults},
			{"as4.to.role", "http://docs.oasis-open.org/ebxml-msg/ebms/v3.0/ns/core/200704/responder", OriginBuiltIn},
		},
		"minimal":      {{"as4.profile", "peppol", OriginDefaults}, {"as4.from.party", "9990098765432", OriginGateway}},
		"contoso-pull": {{"as4.receipt.mode", "async", OriginBuiltIn}, {"as4.receive.require", "signed, encrypted", OriginBuiltIn}},
		"fabrikam":     {{"as4.from.type", "urn:oasis:names:tc:ebcore:partyid-type:iso6523:0088", OriginGateway}, {"as4.security.sign", "by-key", OriginProfile}},
		"customs":      {{"as4.receive.require", "signed", OriginBuiltIn}, {"as4.service.value", "eu-customs-service-type/ics2", OriginPartner}},
	} {
		got := effective(id)
		for _, want := range all {
			if got[want.Key] != Setting(want) {
				t.Errorf("%s: got %+v, want %+v", id, got[want.Key], want)
			}
		}
		if set, there := got["as2.sign"]; there {
			t.Errorf("%s has %+v", id, set)
		}
	}
	for _, set := range s.Effective("every-key") {
		if strings.HasSuffix(set.Key, "password_file") && set.Origin != OriginBuiltIn && !strings.HasPrefix(set.Value, "<secret> in ") {
			t.Errorf("a secret is not masked: %+v", set)
		}
	}
}

// TestTokenThatOurCertificateCannotGive: without a key identifier there is
// nothing to name it by.
func TestTokenThatOurCertificateCannotGive(t *testing.T) {
	t.Parallel()
	dir := installationAS4(t)
	edit(t, filepath.Join(dir, "edigw.yaml"), "listen:", "  - {use: sign, file: ../keys/acme-bare.pem}\nlisten:")
	edit(t, filepath.Join(dir, "good", "minimal.yaml"), "as4:\n", "as4:\n  security: {sign: ecdsa-sha256, token: ski}\n")
	s := mustLoad(t, dir)
	p, _ := s.Partner("minimal")
	want := "good/minimal.yaml:3: as4.security.token: ../keys/acme-bare.pem, serial 4F:4A, has no key identifier that it could be named by (issuer-serial or bst)\n"
	if got := lines(p.Problems); got != want {
		t.Errorf("got %s", got)
	}
}

// TestIdentityWithoutAType is told of where the party is missing a type.
func TestIdentityWithoutAType(t *testing.T) {
	t.Parallel()
	dir := installationAS4(t)
	edit(t, filepath.Join(dir, "edigw.yaml"), `, type: "urn:oasis:names:tc:ebcore:partyid-type:iso6523:0088"`, "")
	s := mustLoad(t, dir)
	p, _ := s.Partner("minimal")
	if got := lines(p.Problems); !strings.Contains(got, `as4.from.party: "9990098765432" has no type and is no URI (ebMS 3.0 Core §5.2.2.3); it is identity.as4 of edigw.yaml`) {
		t.Errorf("got %s", got)
	}
}

// TestTheTypeOfIdentityBelongsToItsParty: a URI has none, whatever the profile has
// for other ids.
func TestTheTypeOfIdentityBelongsToItsParty(t *testing.T) {
	t.Parallel()
	for identity, want := range map[string]string{
		`{party: "urn:example:acme"}`: "", `{party: POP000999}`: "urn:fdc:peppol.eu:2017:identifiers:ap", `{party: POP000999, type: "urn:example:ids"}`: "urn:example:ids",
	} {
		dir := installationAS4(t)
		edit(t, filepath.Join(dir, "edigw.yaml"), `{party: "9990098765432", type: "urn:oasis:names:tc:ebcore:partyid-type:iso6523:0088"}`, identity)
		edit(t, filepath.Join(dir, "good", "wingtip.yaml"), "  from: {party: POP000999}\n", "")
		if m := mustPMode(t, mustLoad(t, dir), "wingtip", today); m.From.IDs[0].Type != want {
			t.Errorf("%s has type %q, want %q", identity, m.From.IDs[0].Type, want)
		}
	}
}

// TestASettingBelongsToItsProtocol: what the defaults of edigw.yaml say for AS4
// changes nothing for AS2, and the other way round.
func TestASettingBelongsToItsProtocol(t *testing.T) {
	t.Parallel()
	dir := installation(t)
	edit(t, filepath.Join(dir, "edigw.yaml"), "defaults:\n", "defaults:\n  as4: {profile: ics2, compress: none}\n  as2: {sign: sha512}\n")
	write(t, filepath.Join(dir, "good", "both.yaml"), strings.ReplaceAll(read(t, dir, "as4", "good", "minimal.yaml"), "../../", "../"))
	s := mustLoad(t, dir)
	for id, want := range map[string]string{"minimal": "as2.", "both": "as4."} {
		p, _ := s.Partner(id)
		if p.Misconfigured != (id == "both") { // ICS2 wants a service
			t.Errorf("%s: %s", id, lines(p.Problems))
		}
		for _, set := range s.Effective(id) {
			if strings.HasPrefix(set.Key, "as") && !strings.HasPrefix(set.Key, want) && set.Key != "as" {
				t.Errorf("%s has %s", id, set.Key)
			}
		}
	}
	if a := mustAgreement(t, s, "minimal", today); a.Sign != digest("sha512") {
		t.Errorf("the defaults of AS2 do not count: %v", a.Sign)
	}
}
