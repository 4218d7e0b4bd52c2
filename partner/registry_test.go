package partner

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"edigw/retry"
)

func open(t *testing.T, dir string) *Registry {
	t.Helper()
	r, problems, err := Open(filepath.Join(dir, "edigw.yaml"), func() time.Time { return today })
	if err != nil {
		t.Fatalf("%v\n%s", err, lines(problems))
	}
	return r
}

func mustPartner(t *testing.T, r *Registry, id string) *Partner {
	t.Helper()
	p, ok := r.Current().Partner(id)
	if !ok {
		t.Fatalf("no partner %s", id)
	}
	return p
}

func TestReloadWithoutChangeChangesNothing(t *testing.T) {
	t.Parallel()
	r := open(t, installation(t))
	if change, _ := r.Reload(); !change.Empty() {
		t.Errorf("%+v", change)
	}
}

func TestABadFileAtStartIsMisconfiguredAndLaterStale(t *testing.T) {
	t.Parallel()
	dir := installation(t)
	file := filepath.Join(dir, "good", "blocking.yaml")
	write(t, filepath.Join(dir, "good", "bad.yaml"), "protocol: as2\nstage: prod\n")
	r := open(t, dir)
	if p := mustPartner(t, r, "bad"); !p.Misconfigured || p.Stale || len(p.Problems) != 2 {
		t.Errorf("at start: %+v", p)
	}
	if _, err := r.Current().Agreement("bad", today); err == nil {
		t.Error("a misconfigured partner can be sent to")
	}

	edit(t, file, "after_dead: block", "after_dead: blok")
	change, problems := r.Reload()
	p := mustPartner(t, r, "blocking")
	if p.Misconfigured || !p.Stale || p.Lane.AfterDead != DeadBlock || len(p.Problems) != 1 {
		t.Errorf("later: %+v", p)
	}
	if !strings.Contains(lines(problems), "good/blocking.yaml:7: lane.after_dead:") {
		t.Errorf("problems:\n%s", lines(problems))
	}
	if diff := cmp.Diff([]PartnerChange{{ID: "blocking", Stale: true}}, change.Partners); diff != "" {
		t.Errorf("change (-want +got):\n%s", diff)
	}
	if again, _ := r.Reload(); !again.Empty() {
		t.Errorf("the same bad file again: %+v", again)
	}

	edit(t, file, "after_dead: blok", "after_dead: continue")
	change, _ = r.Reload()
	if p := mustPartner(t, r, "blocking"); p.Stale || p.Lane.AfterDead != DeadContinue {
		t.Errorf("mended: %+v", p)
	}
	want := []PartnerChange{{ID: "blocking", Fixed: true, Settings: []SettingChange{{"lane.after_dead", "block", "continue"}}}}
	if diff := cmp.Diff(want, change.Partners); diff != "" {
		t.Errorf("change (-want +got):\n%s", diff)
	}
}

func TestABadGatewayFileKeepsTheOldOneAndReloadsPartners(t *testing.T) {
	t.Parallel()
	dir := installation(t)
	r := open(t, dir)
	edit(t, filepath.Join(dir, "edigw.yaml"), "lane: {replay_rate: 2/s}", "lane: {replay_rate: 2}")
	edit(t, filepath.Join(dir, "good", "minimal.yaml"), "CONTOSO", "CONTOSO-2")
	change, problems := r.Reload()
	if !strings.Contains(lines(problems), "edigw.yaml:20: defaults.lane.replay_rate: not a rate") {
		t.Errorf("problems:\n%s", lines(problems))
	}
	p := mustPartner(t, r, "minimal")
	if p.AS2.Template.To != "CONTOSO-2" || p.Lane.ReplayRate != 2 {
		t.Errorf("%+v", p)
	}
	if len(change.Partners) != 1 || change.Partners[0].ID != "minimal" || len(change.Gateway) > 0 {
		t.Errorf("%+v", change)
	}
}

func TestAnotherDomainIsAMistakeAndKeepsTheOldFile(t *testing.T) {
	t.Parallel()
	dir := installation(t)
	r := open(t, dir)
	edit(t, filepath.Join(dir, "edigw.yaml"), "domain: edi.acme.example", "domain: b2b.acme.example")
	edit(t, filepath.Join(dir, "edigw.yaml"), "stop_timeout: 60s", "stop_timeout: 90s")
	edit(t, filepath.Join(dir, "good", "minimal.yaml"), "CONTOSO", "CONTOSO-2")
	change, problems := r.Reload()
	if text := lines(problems); !strings.Contains(text, "edigw.yaml:6: identity.domain: was edi.acme.example, is b2b.acme.example") || !strings.Contains(text, "restart") {
		t.Errorf("problems:\n%s", text)
	}
	g := r.Current().Gateway()
	if g.Identity.Domain != "edi.acme.example" || time.Duration(g.StopTimeout) != time.Minute || len(change.Gateway)+len(change.Restart) > 0 {
		t.Errorf("%+v, %+v", g, change)
	}
	if mustPartner(t, r, "minimal").AS2.Template.To != "CONTOSO-2" {
		t.Error("partner files are not reloaded")
	}
	edit(t, filepath.Join(dir, "edigw.yaml"), "domain: b2b.acme.example", "domain: edi.acme.example")
	if _, problems := r.Reload(); strings.Contains(lines(problems), "identity.domain") || time.Duration(r.Current().Gateway().StopTimeout) != 90*time.Second {
		t.Errorf("set back:\n%s", lines(problems))
	}
}

func TestWhatNeedsARestartStaysAndIsNamed(t *testing.T) {
	t.Parallel()
	dir := installation(t)
	r := open(t, dir)
	edit(t, filepath.Join(dir, "edigw.yaml"), "node: gw1", "node: gw2")
	edit(t, filepath.Join(dir, "edigw.yaml"), `address: ":4080"`, `address: ":4081"`)
	edit(t, filepath.Join(dir, "edigw.yaml"), "stop_timeout: 60s", "stop_timeout: 90s")
	for range 2 {
		change, _ := r.Reload()
		if diff := cmp.Diff([]string{"node", "listen"}, change.Restart); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		g := r.Current().Gateway()
		if g.Node != "gw1" || g.Listen.Partners.Address != ":4080" || time.Duration(g.StopTimeout) != 90*time.Second {
			t.Errorf("%+v", g)
		}
	}
}

func TestReloadTellsWhatChanged(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		change func(t *testing.T, dir string)
		want   Change
	}{
		{"a new file", func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "good", "new.yaml"), "protocol: as2\nstage: setup\nas2: {id: NEW, url: https://new.example/}\n")
		}, Change{Added: []string{"new"}}},
		{"a file that is gone", func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, "good", "minimal.yaml")); err != nil {
				t.Fatal(err)
			}
		}, Change{Removed: []string{"minimal"}}},
		{"another trusted certificate", func(t *testing.T, dir string) {
			edit(t, filepath.Join(dir, "good", "blocking.yaml"), "../keys/tailspin.p7b", "../keys/tls.pem")
		}, Change{Partners: []PartnerChange{{ID: "blocking", Trust: true, Settings: []SettingChange{{"tls.trust", "../keys/tailspin.p7b", "../keys/tls.pem"}}}}}},
		{"a certificate renewed in place", func(t *testing.T, dir string) {
			data, err := os.ReadFile(filepath.Join(dir, "keys", "northwind-2027.pem"))
			if err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, "keys", "contoso-ec.pem"), string(data))
		}, Change{Partners: []PartnerChange{{ID: "blocking", Certificates: true}}}},
		{"a password", func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "secrets", "northwind"), "another password")
		}, Change{Partners: []PartnerChange{{ID: "every-key", Credentials: true}}}},
		{"the defaults, for those whose files say nothing", func(t *testing.T, dir string) {
			edit(t, filepath.Join(dir, "edigw.yaml"), "replay_rate: 2/s}", "replay_rate: 2/s, hold_after: 5}")
			for _, id := range []string{"minimal", "no-duplicates", "setup"} {
				if err := os.Remove(filepath.Join(dir, "good", id+".yaml")); err != nil {
					t.Fatal(err)
				}
			}
		}, Change{
			Removed:  []string{"minimal", "no-duplicates", "setup"},
			Partners: []PartnerChange{{ID: "blocking", Settings: []SettingChange{{"lane.hold_after", "3", "5"}}}},
		}},
		{"an own key", func(t *testing.T, dir string) {
			edit(t, filepath.Join(dir, "edigw.yaml"), "until: 2049-06-30", "until: 2048-06-30")
		}, Change{Keys: true, Gateway: []SettingChange{{"keys[1].until", "2049-06-30", "2048-06-30"}}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := installation(t)
			r := open(t, dir)
			test.change(t, dir)
			change, _ := r.Reload()
			if diff := cmp.Diff(test.want, change); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestRow39TwoPartnersMayNotShareTheirNames: both are refused, and each problem
// names the other file; with good settings from before they go on with those.
func TestRow39TwoPartnersMayNotShareTheirNames(t *testing.T) {
	t.Parallel()
	dir := installation(t)
	twin := "protocol: as2\nstage: setup\nas2:\n  id: CONTOSO\n  url: https://twin.example/\n"
	file := filepath.Join(dir, "good", "zwilling.yaml")
	write(t, file, twin)
	r := open(t, dir)
	for id, other := range map[string]string{"minimal": "zwilling", "zwilling": "minimal"} {
		p := mustPartner(t, r, id)
		want := "as2.id: good/" + other + ".yaml has the same AS2 names (ours ACME-AS2, theirs CONTOSO)"
		if text := lines(p.Problems); !p.Misconfigured || !strings.Contains(text, "good/"+id+".yaml:") || !strings.Contains(text, want) {
			t.Errorf("%s: misconfigured: %v, problems:\n%s", id, p.Misconfigured, text)
		}
	}
	if p, ok := r.Current().ByAS2Names("CONTOSO", "ACME-AS2"); ok {
		t.Errorf("the names are those of %s", p.ID)
	}

	write(t, file, strings.Replace(twin, "CONTOSO", "ZWILLING", 1))
	r.Reload()
	for _, id := range []string{"minimal", "zwilling"} {
		if p := mustPartner(t, r, id); p.Misconfigured || p.Stale {
			t.Errorf("mended: %s: %s", id, lines(p.Problems))
		}
	}

	write(t, file, twin)
	write(t, filepath.Join(dir, "good", "aaa.yaml"), twin)
	_, problems := r.Reload()
	for id, fresh := range map[string]bool{"minimal": false, "zwilling": false, "aaa": true} {
		p := mustPartner(t, r, id)
		if p.Misconfigured != fresh || p.Stale == fresh || !strings.Contains(lines(p.Problems), "has the same AS2 names") {
			t.Errorf("on reload %s: misconfigured: %v, stale: %v, problems:\n%s", id, p.Misconfigured, p.Stale, lines(p.Problems))
		}
		if !strings.Contains(lines(problems), "good/"+id+".yaml:4: as2.id: ") && id != "minimal" {
			t.Errorf("the reload does not tell of %s:\n%s", id, lines(problems))
		}
	}
	for theirs, want := range map[string]string{"CONTOSO": "minimal", "ZWILLING": "zwilling"} {
		if p, ok := r.Current().ByAS2Names(theirs, "ACME-AS2"); !ok || p.ID != want {
			t.Errorf("on reload messages of %s are those of %v", theirs, p)
		}
	}
}

func TestOtherFilesInTheFolderAreTold(t *testing.T) {
	t.Parallel()
	dir := installation(t)
	for _, name := range []string{"Contoso.yaml", "contoso.yml", "contoso.yaml.bak", ".contoso.yaml.swp", "minimal-sheet.txt", "a_b.yaml"} {
		write(t, filepath.Join(dir, "good", name), "protocol: as2\n")
	}
	s := mustLoad(t, dir)
	var got []string
	for _, p := range s.Problems() {
		if !strings.Contains(p.File, "setup") {
			got = append(got, p.String())
		}
	}
	hint := "(lower-case letters, digits and dashes, at most 63, such as northwind-de.yaml)"
	want := []string{
		"good/Contoso.yaml: the name is not a partner id " + hint,
		"good/a_b.yaml: the name is not a partner id " + hint,
		"good/contoso.yaml.bak: warning: not a partner file (partner files end in .yaml)",
		"good/contoso.yml: warning: not a partner file (partner files end in .yaml)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestEffectiveSettingsTellTheirOrigin(t *testing.T) {
	t.Parallel()
	s := mustLoad(t, installation(t))
	got := make(map[string]Setting)
	for _, set := range s.Effective("no-duplicates") {
		got[set.Key] = set
	}
	for _, want := range []struct{ Key, Value, Origin string }{
		{"name", "no-duplicates", OriginBuiltIn},
		{"as2.sign", "sha1", OriginPartner},
		{"as2.our_id", "ACME-AS2", OriginGateway},
		{"as2.fresh_id", "true", OriginPreset},
		{"as2.duplicate_window", "none", OriginPartner},
		{"breaker.on_open", "hold", OriginDefaults},
		{"lane.replay_rate", "2/s", OriginDefaults},
		{"lane.on_unknown", "hold", OriginBuiltIn},
		{"lane.rate", "(no limit)", OriginBuiltIn},
		{"backlog.messages", "50000", OriginGateway},
		{"retention.evidence", "400d", OriginGateway},
		{"proxy", "none", OriginPartner},
		{"certificates.encrypt", "../keys/tailspin.p7b", OriginPartner},
		{"retry.attempts", "7", OriginBuiltIn},
	} {
		if got[want.Key] != Setting(want) {
			t.Errorf("got %+v, want %+v", got[want.Key], want)
		}
	}
	for _, set := range append(s.Effective("every-key"), s.GatewaySettings()...) {
		if strings.HasSuffix(set.Key, "password_file") && set.Origin != OriginBuiltIn && !strings.HasPrefix(set.Value, "<secret> in ") {
			t.Errorf("a secret is not masked: %+v", set)
		}
	}
	if p, _ := s.Partner("no-duplicates"); p.Lane.OnUnknown != retry.Hold || p.Lane.OnOpen != OpenHold || p.Backlog.Messages != 50000 || !p.FreshID || p.Duplicates != 0 {
		t.Errorf("the partner does not have its effective settings: %+v", p)
	}
	if len(s.Effective("nobody")) != 0 {
		t.Error("settings of nobody")
	}
}

func TestEveryKeySampleHasEveryKey(t *testing.T) {
	t.Parallel()
	s := mustLoad(t, installation(t))
	for _, set := range append(s.Effective("every-key"), s.GatewaySettings()...) {
		if set.Origin == OriginBuiltIn && !strings.Contains(set.Key, "windows[0].") && !strings.Contains(set.Key, "blackouts[") && !strings.HasPrefix(set.Key, "certificates.") && !strings.HasPrefix(set.Key, "tls.trust[0]") && !strings.HasPrefix(set.Key, "keys[") {
			t.Errorf("the samples do not use %s", set.Key)
		}
	}
}

func TestScheduleInWords(t *testing.T) {
	t.Parallel()
	p := mustPartner(t, open(t, installation(t)), "minimal")
	if p.OpensAt() != 5 || !strings.Contains(p.Schedule(), "7 attempts") || !strings.Contains(p.Schedule(), "at attempt 5") {
		t.Errorf("%d: %s", p.OpensAt(), p.Schedule())
	}
}

func TestReadersNeverWait(t *testing.T) {
	t.Parallel()
	r := open(t, installation(t))
	var readers sync.WaitGroup
	stop := make(chan struct{})
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					s := r.Current()
					for _, id := range s.IDs() {
						s.Receiving(id, today)
						s.Certificates(today)
					}
				}
			}
		})
	}
	for range 3 {
		r.Reload()
	}
	close(stop)
	readers.Wait()
}

func TestDescriptorsForSockets(t *testing.T) {
	t.Parallel()
	g := mustLoad(t, installation(t)).Gateway()
	if _, ok := g.CheckDescriptors(65536); !ok {
		t.Error("65536 files are not enough for 2000 sockets")
	}
	p, ok := g.CheckDescriptors(1024)
	want := "edigw.yaml: limits.sockets: 2000 exchanges at once, and the listeners, need 4712 open files; this process may have 1024 (raise the limit (systemd: LimitNOFILE=4712), or lower limits.sockets)"
	if ok || p.String() != want {
		t.Errorf("got %v", p)
	}
}
