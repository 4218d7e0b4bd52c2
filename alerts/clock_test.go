package alerts

import (
	"slices"
	"strings"
	"testing"
	"time"

	"edigw/partner"
	"edigw/queue"

	"github.com/google/go-cmp/cmp"
)

// settings are settings made by hand.
type settings struct {
	gateway  partner.Gateway
	partners map[string]*partner.Partner
	certs    []partner.CertificateInfo
}

func (s *settings) Gateway() *partner.Gateway { return &s.gateway }
func (s *settings) Partner(id string) (*partner.Partner, bool) {
	p, ok := s.partners[id]
	return p, ok
}
func (s *settings) IDs() (ids []string) {
	for id := range s.partners {
		ids = append(ids, id)
	}
	return ids
}
func (s *settings) Certificates(time.Time) []partner.CertificateInfo { return s.certs }

func (s *settings) CertificatesOf(id string, now time.Time) []partner.CertificateInfo {
	return slices.DeleteFunc(slices.Clone(s.Certificates(now)), func(c partner.CertificateInfo) bool { return c.Owner != id })
}

func TestCertificatesAreToldOfStepByStep(t *testing.T) {
	t.Parallel()
	set := &settings{partners: map[string]*partner.Partner{"a": {}, "old": {Stage: partner.StageRetired}}}
	set.certs = []partner.CertificateInfo{
		{Owner: "a", Use: partner.UseEncrypt, SHA256: "9A", Ends: t0.AddDate(0, 0, 70)},
		{Owner: "a", Use: partner.UseVerify, SHA256: "9A", Ends: t0.AddDate(0, 0, 3), Successor: "5B"},
		{Owner: "old", Use: partner.UseVerify, SHA256: "01", Ends: t0},
		{Owner: partner.OwnerGateway, Use: partner.UseSign, SHA256: "02", Ends: t0.AddDate(1, 0, 0)},
	}
	var b Book
	var got []string
	for day := range 80 {
		now := t0.AddDate(0, 0, day)
		events := watchCertificates(b, set, now)
		for _, e := range events {
			got = append(got, e.Partner+" "+e.Facts["id"]+" at "+e.Facts["step"]+", "+e.Facts["days"]+" left")
		}
		b, _ = Fold(b, events, pace, now)
		if again := watchCertificates(b, set, now); len(again) != 0 {
			t.Fatalf("day %d: told twice: %+v", day, again)
		}
	}
	want := []string{"a encrypt/9A at 60, 60 left", "a encrypt/9A at 30, 30 left", "a encrypt/9A at 14, 14 left", "a encrypt/9A at 7, 7 left", "a encrypt/9A at 1, 1 left", "a encrypt/9A at -1, -1 left"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	if len(b.Incidents) != 1 {
		t.Errorf("%d incidents, want 1", len(b.Incidents))
	}
}

func TestDeadlinesOfTroubledLanesAreNear(t *testing.T) {
	t.Parallel()
	depths := []queue.Depth{
		{Lane: "a", Partner: "a", First: t0.Add(time.Hour)}, {Lane: "b", Partner: "b", First: t0.Add(time.Hour + time.Second)},
		{Lane: "c", Partner: "c"}, {Lane: "d", Partner: "d", First: t0.Add(time.Minute)}, {Lane: "e", Partner: "e", First: t0.Add(-time.Minute)},
	}
	troubled := func(d queue.Depth) bool { return d.Lane != "d" }
	events := watchDeadlines(Book{}, depths, troubled, t0)
	if len(events) != 1 || events[0].Partner != "a" {
		t.Fatalf("events %+v, want one of a", events)
	}
	b, _ := Fold(Book{}, events, pace, t0)
	if again := watchDeadlines(b, depths, troubled, t0); len(again) != 0 {
		t.Errorf("told twice: %+v", again)
	}
}

func TestHeartbeatComesOnceForEachInterval(t *testing.T) {
	t.Parallel()
	f := Figures{Node: "gw1", Base: "https://edigw.acme.example", Partners: 212, Incidents: 1}
	var s State
	var beats []time.Duration
	for at := time.Duration(0); at < 75*time.Hour; at += time.Hour {
		if at > 30*time.Hour && at < 60*time.Hour {
			continue // the gateway was down
		}
		var text Text
		var made bool
		if s, text, made = beat(s, 24*time.Hour, f, t0.Add(at)); made {
			beats = append(beats, at)
			if text.Subject != "[INFO] edigw gw1 heartbeat: alerts work, 212 partners, 1 incident running" {
				t.Errorf("subject %q", text.Subject)
			}
		}
	}
	if d := cmp.Diff([]time.Duration{24 * time.Hour, 60 * time.Hour}, beats); d != "" {
		t.Errorf("beats -want +got\n%s", d)
	}
	if _, _, made := beat(State{Heartbeat: t0}, 0, f, t0.Add(1000*time.Hour)); made {
		t.Error("a heartbeat although there is none")
	}
	s, _, made := beat(State{Heartbeat: t0.Add(48 * time.Hour)}, 24*time.Hour, f, t0)
	if made || !s.Heartbeat.Equal(t0) {
		t.Error("a clock that was put back stops the heartbeat")
	}
}

func TestDigestComesOnceADay(t *testing.T) {
	t.Parallel()
	var at partner.Cron
	if err := at.UnmarshalText([]byte("0 7 * * *")); err != nil {
		t.Fatal(err)
	}
	zone := berlin(t)
	s := State{Tally: Tally{Accepted: 20, Delivered: 17, Dead: 3, Settled: 2, Outages: 1}}
	f := Figures{Node: "gw1", Base: "https://edigw.acme.example", Letters: 1, Oldest: 3 * time.Hour, Waiting: 4, Running: []Incident{{ID: "INC-4", Kind: KindLetters, Partner: "northwind", Opened: t0}}}
	var texts []Text
	for now := t0; now.Before(t0.AddDate(0, 0, 3)); now = now.Add(time.Hour) {
		var text Text
		var made bool
		if s, text, made = digest(s, at, zone, f, now); made {
			texts = append(texts, text)
			if h := now.In(zone).Hour(); h != 7 {
				t.Errorf("digest at %d h", h)
			}
		}
	}
	if len(texts) != 3 {
		t.Fatalf("%d digests in three days", len(texts))
	}
	if texts[0].Subject != "[INFO] edigw gw1 digest: 17 delivered, 3 dead, 1 letter open" {
		t.Errorf("subject %q", texts[0].Subject)
	}
	for _, want := range []string{"20 accepted, 17 delivered, 3 became dead letters, 2 letters settled", "1 outage.", "4 in line, 1 letter open, the oldest for 3 h", "INC-4 letters northwind since 02:10"} {
		if !strings.Contains(texts[0].Body, want) {
			t.Errorf("body without %q:\n%s", want, texts[0].Body)
		}
	}
	if strings.Contains(texts[1].Body, "17 delivered") {
		t.Error("the tally was not begun anew")
	}
}

func TestBackoffIsCapped(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]time.Duration{0: 5 * time.Second, 1: 5 * time.Second, 2: 10 * time.Second, 4: 40 * time.Second, 100: 5 * time.Minute, 1 << 30: 5 * time.Minute} {
		if got := backoff(n, firstWait, longestWait); got != want {
			t.Errorf("wait %d: %v, want %v", n, got, want)
		}
	}
}
