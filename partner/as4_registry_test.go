package partner

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestReloadTellsWhatChangedForAS4: whatever steers a partner, wherever it stands.
func TestReloadTellsWhatChangedForAS4(t *testing.T) {
	t.Parallel()
	one := func(c PartnerChange) Change { return Change{Partners: []PartnerChange{c}} }
	for _, test := range []struct {
		name   string
		change func(t *testing.T, dir string)
		want   Change
	}{
		{"a property", func(t *testing.T, dir string) {
			edit(t, filepath.Join(dir, "good", "wingtip.yaml"), `"9915:acme"`, `"9915:acme-de"`)
		}, one(PartnerChange{ID: "wingtip", Settings: []SettingChange{{"as4.properties.originalSender", "9915:acme", "9915:acme-de"}}})},
		{"the profile", func(t *testing.T, dir string) {
			edit(t, filepath.Join(dir, "good", "contoso-pull.yaml"), "profile: edelivery-1.15", "profile: plain")
		}, one(PartnerChange{ID: "contoso-pull", Settings: []SettingChange{{"as4.profile", "edelivery-1.15", "plain"}}})},
		{"the URL", func(t *testing.T, dir string) {
			edit(t, filepath.Join(dir, "good", "minimal.yaml"), "contoso.example/msh", "contoso.example/as4")
		}, one(PartnerChange{ID: "minimal", Trust: true, Settings: []SettingChange{{"as4.url", "https://as4.contoso.example/msh", "https://as4.contoso.example/as4"}}})},
		{"an authority, in place", func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "..", "keys", "network-ca.pem"), read(t, dir, "..", "keys", "tailspin-ca.pem"))
		}, Change{Partners: []PartnerChange{{ID: "every-key", Certificates: true}, {ID: "wingtip", Certificates: true}}}},
		{"a password", func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "..", "secrets", "northwind"), "another password")
		}, one(PartnerChange{ID: "every-key", Credentials: true})},
		{"the password of their pull requests", func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "..", "secrets", "erp"), "another password")
		}, one(PartnerChange{ID: "every-key", Credentials: true})},
		{"our party, for those whose files say nothing", func(t *testing.T, dir string) {
			for _, id := range []string{"contoso-pull", "stadtwerke", "fabrikam", "setup"} {
				write(t, filepath.Join(dir, "good", id+".yaml"), strings.Replace(read(t, dir, "good", id+".yaml"), "to: {", "from: {party: \"urn:example:us\"}, to: {", 1))
			}
			for _, id := range []string{"contoso-pull", "stadtwerke", "fabrikam"} {
				write(t, filepath.Join(dir, "good", id+".yaml"), strings.Replace(read(t, dir, "good", id+".yaml"), "from: {party: \"urn:example:us\"}, to: {", "to: {", 1))
			}
			edit(t, filepath.Join(dir, "edigw.yaml"), `{party: "9990098765432"`, `{party: "9990098765433"`)
		}, Change{
			Gateway: []SettingChange{{"identity.as4.party", "9990098765432", "9990098765433"}},
			Partners: []PartnerChange{
				{ID: "contoso-pull", Settings: []SettingChange{{"as4.from.party", "9990098765432", "9990098765433"}}},
				{ID: "fabrikam", Settings: []SettingChange{{"as4.from.party", "9990098765432", "9990098765433"}}},
				{ID: "minimal", Settings: []SettingChange{{"as4.from.party", "9990098765432", "9990098765433"}}},
				{ID: "setup", Settings: []SettingChange{{"as4.from.party", "9990098765432", "urn:example:us"}, {"as4.from.type", "urn:oasis:names:tc:ebcore:partyid-type:iso6523:0088", "(none)"}}},
				{ID: "stadtwerke", Settings: []SettingChange{{"as4.from.party", "9990098765432", "9990098765433"}}},
			},
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := installationAS4(t)
			r := open(t, dir)
			if change, _ := r.Reload(); !change.Empty() {
				t.Fatalf("without a change: %+v", change)
			}
			test.change(t, dir)
			change, _ := r.Reload()
			if diff := cmp.Diff(test.want, change); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestOutlookOfAS4: what keeps documents of a partner from working now, by the
// P-Mode.
func TestOutlookOfAS4(t *testing.T) {
	t.Parallel()
	dir := installationAS4(t)
	edit(t, filepath.Join(dir, "edigw.yaml"), "file: ../keys/acme-ed25519.pem", "file: ../keys/acme-ed25519.pem, until: 2027-06-30")
	edit(t, filepath.Join(dir, "good", "wingtip.yaml"), "authorities: ../../keys/network-ca.pem", "authorities: {file: ../../keys/network-ca.pem, until: 2027-06-30}")
	edit(t, filepath.Join(dir, "good", "stadtwerke.yaml"), "encrypt: ../../keys/stadtwerke-brainpool.pem", "encrypt: {file: ../../keys/stadtwerke-brainpool.pem, until: 2027-06-30}")
	s := mustLoad(t, dir)
	mistakes := func(now time.Time) (out []string) {
		for _, p := range s.Outlook(now) {
			if !p.Warning {
				out = append(out, p.String())
			}
		}
		return out
	}
	if got := mistakes(today); len(got) > 0 {
		t.Errorf("today: %q", got)
	}
	got := mistakes(at(t, time.UTC, "2027-07-01 00:00"))
	want := []string{
		"edigw.yaml:7: keys: our signing key in ../keys/acme-ed25519.pem, serial 4F:40, ended 2027-06-30T23:59:59Z: nothing that needs it works with fabrikam (take the next one into use: edigw cert import edigw FILE; edigw cert new makes one)",
		"good/stadtwerke.yaml:8: certificates.encrypt: the partner's certificate in ../keys/stadtwerke-brainpool.pem, serial 4F:43, ended 2027-06-30T23:59:59Z: every document to them becomes a dead letter (get the successor from its owner, then edigw cert import stadtwerke FILE)",
		"good/wingtip.yaml:11: as4.trust.authorities: the authority of the partner's certificate in ../keys/network-ca.pem, serial 4F:48, ended 2027-06-30T23:59:59Z: every document to them becomes a dead letter (get the successor from its owner, then edigw cert import wingtip FILE)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestKeysTakeOverFromTheirKind: the list of certificates says which key of which
// kind is in use, and what follows it.
func TestKeysTakeOverFromTheirKind(t *testing.T) {
	t.Parallel()
	dir := installationAS4(t)
	edit(t, filepath.Join(dir, "edigw.yaml"), "listen:", "  - {use: sign, file: ../keys/acme-p256.pem, from: 2026-06-01, until: 2048-01-01}\nlisten:")
	list := func() map[string]string {
		out := map[string]string{}
		s := mustLoad(t, dir)
		for _, c := range s.Certificates(today) {
			if c.Owner == OwnerGateway && c.Use == UseSign || c.Use == UseAuthority {
				text := c.Owner + " " + c.Next
				if c.InUse {
					text += " in use"
				}
				out[c.Serial] = text
			}
		}
		return out
	}
	want := map[string]string{"4F:20": "edigw 4F:21 in use", "4F:21": "edigw ", "4F:40": "edigw  in use", "4F:41": "edigw  in use", "4F:42": "edigw  in use", "4F:48": "wingtip  in use"}
	if diff := cmp.Diff(want, list()); diff != "" {
		t.Errorf("with partners who take RSA alone (-want +got):\n%s", diff)
	}
	for _, id := range []string{"minimal", "contoso-pull", "stadtwerke", "fabrikam", "customs", "wingtip", "every-key", "setup", "fluxgas"} {
		write(t, filepath.Join(dir, "good", id+".yaml"), "protocol: as2\nas2: {id: "+id+", url: \"https://"+id+".example/\"}\ncertificates: {verify: ../../keys/northwind-2026.pem, encrypt: ../../keys/northwind-2026.pem}\n")
	}
	want = map[string]string{"4F:20": "edigw ", "4F:21": "edigw ", "4F:42": "edigw 4F:21 in use", "4F:40": "edigw  in use", "4F:41": "edigw  in use"}
	if diff := cmp.Diff(want, list()); diff != "" {
		t.Errorf("with AS2 alone (-want +got):\n%s", diff)
	}
}

// TestImportOfKeysOfAS4: a partner's protocol says which kinds of keys he may
// have; a key of ours begins at once if that of its own kind began later.
func TestImportOfKeysOfAS4(t *testing.T) {
	t.Parallel()
	dir := installationAS4(t)
	s := mustLoad(t, dir)
	x25519 := Import{Owner: "fluxgas", Use: []string{UseEncrypt}, Data: []byte(read(t, dir, "..", "keys", "fabrikam-x25519.pem"))}
	if _, err := s.Import(x25519, today); err != nil {
		t.Errorf("X25519 for ENTSOG: %v", err)
	}
	if m := mustPMode(t, mustLoad(t, dir), "fluxgas", today); m.Encrypt.Transport.Method != "rsa-oaep" && m.Encrypt.Transport.Method != "x25519" {
		t.Errorf("encrypts by %s", m.Encrypt.Transport.Method)
	}
	bad := x25519
	bad.Owner = "minimal"
	if _, err := s.Import(bad, today); err == nil || !strings.Contains(err.Error(), "as4.security.key_transport") {
		t.Errorf("X25519 where RSA-OAEP is settled: %v", err)
	}
	if _, err := Preview(x25519, today); err != nil {
		t.Errorf("preview: %v", err)
	}
	as2 := mustLoad(t, filepath.Dir(dir))
	if _, err := as2.Import(Import{Owner: "minimal", Use: []string{UseEncrypt}, Data: x25519.Data}, today); err == nil || !strings.Contains(err.Error(), "X25519") {
		t.Errorf("X25519 for AS2: %v", err)
	}
	key := Import{Owner: OwnerGateway, Use: []string{UseSign}, Data: []byte(read(t, dir, "..", "keys", "acme-p256.pem"))}
	if got, err := s.Import(key, today); err != nil || got.Serial != "4F:42" {
		t.Errorf("%+v, %v", got, err)
	}
	if text := read(t, dir, "edigw.yaml"); !strings.Contains(text, "{use: [sign], file: keys/edigw-4F42.pem}") {
		t.Errorf("edigw.yaml has now\n%s", text)
	}
}
