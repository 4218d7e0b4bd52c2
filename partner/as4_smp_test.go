package partner

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"edigw/as4"
	"edigw/as4/ebms"
)

const network = `# A network of access points, whose directory names each receiver's.
protocol: as4
as4:
  profile: peppol
  from: {party: POP000999}
  sbdh: {country: DE, receive: unwrap}
  smp: {zone: participants.network.example, dns: ["192.0.2.53"], authorities: {file: ../../keys/tailspin-ca.pem, from: 2026-01-01}}
  trust: {authorities: ../../keys/network-ca.pem}
`

// TestANetworkNeedsNoReceiver: neither url, party nor certificates; the authorities
// in force vouch for both.
func TestANetworkNeedsNoReceiver(t *testing.T) {
	t.Parallel()
	dir := installationAS4(t)
	write(t, filepath.Join(dir, "good", "network.yaml"), network)
	s := mustLoad(t, dir)
	p, ok := s.Partner("network")
	if !ok || p.Misconfigured || len(p.Problems) > 0 {
		t.Fatalf("%v", p.Problems)
	}
	n := p.AS4.Network
	n.smp = nil
	if want := (Network{Wrap: true, Unwrap: true, Country: "DE", Directory: true, PartyType: "urn:fdc:peppol.eu:2017:identifiers:ap"}); n != want {
		t.Errorf("%+v, want %+v", n, want)
	}
	m := mustPMode(t, s, "network", today)
	if m.URL != "" || len(m.To.IDs) != 0 || m.Encrypt.Recipient != nil || m.Encrypt.Cipher == "" || m.Authorities == nil || !m.SubjectIsParty {
		t.Errorf("%+v", m)
	}
	d := s.Directory("network", today)
	if d == nil || d.Zone != "participants.network.example" || d.CNAME || d.Transport != "peppol-transport-as4-v2_0" || d.Keep != time.Hour || d.Publishers == nil || d.AccessPoints == nil || len(d.DNS) != 1 {
		t.Fatalf("%+v", d)
	}
	if s.Directory("wingtip", today) != nil || s.Directory("nobody", today) != nil {
		t.Error("a directory of a partner without one")
	}
	if early := s.Directory("network", at(t, time.UTC, "2025-12-31 00:00")); early.Publishers != nil || early.Key == d.Key {
		t.Error("an authority vouches before it is in force")
	}
	if c := s.CertificatesOf("network", today); len(c) != 2 || c[0].Use != UseAuthority || c[1].Use != UseAuthority {
		t.Errorf("certificates %+v", c)
	}
}

// TestWhatIsSaidForAllDocuments: the file's service and action are told from the
// ones that are built in.
func TestWhatIsSaidForAllDocuments(t *testing.T) {
	t.Parallel()
	s := mustLoad(t, installationAS4(t))
	for id, want := range map[string][2]bool{"wingtip": {true, true}, "minimal": {false, false}} {
		p, _ := s.Partner(id)
		if got := [2]bool{p.AS4.Network.FixedService, p.AS4.Network.FixedAction}; got != want {
			t.Errorf("%s: %v, want %v", id, got, want)
		}
	}
}

// TestAReceiverIsNotTakenForANetwork: nobody's message is the network's unless its
// file names a party.
func TestAReceiverIsNotTakenForANetwork(t *testing.T) {
	t.Parallel()
	dir := installationAS4(t)
	write(t, filepath.Join(dir, "good", "network.yaml"), network)
	s := mustLoad(t, dir)
	id := func(value string) ebms.Party {
		return ebms.Party{IDs: []ebms.PartyID{{Value: value, Type: "urn:fdc:peppol.eu:2017:identifiers:ap"}}}
	}
	if _, who, err := s.ByMessage(&ebms.UserMessage{From: id("POP000555"), To: id("POP000999")}, today); !errors.Is(err, as4.ErrNoPMode) {
		t.Errorf("%s, %v", who, err)
	}
}
