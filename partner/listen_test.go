package partner

import (
	"crypto/tls"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"edigw/internal/testpki"
)

// TestNoPartnerIsCalledAsWeAre: commands and lists would not tell them apart.
func TestNoPartnerIsCalledAsWeAre(t *testing.T) {
	t.Parallel()
	dir := installation(t)
	write(t, filepath.Join(dir, "good", "edigw.yaml"), read(t, dir, "good", "minimal.yaml"))
	s := mustLoad(t, dir)
	if _, known := s.Partner(OwnerGateway); known || !strings.Contains(lines(s.Problems()), "good/edigw.yaml: the name is that of the gateway itself") {
		t.Errorf("known %t\n%s", known, lines(s.Problems()))
	}
}

// TestListenersCertificateNeedsNoRestart: another file, or whether clients must
// show one, counts from the reload on; another address does not.
func TestListenersCertificateNeedsNoRestart(t *testing.T) {
	t.Parallel()
	dir := installation(t)
	r := open(t, dir)
	if _, auth := r.Current().ServerTLS(); auth != tls.RequestClientCert {
		t.Errorf("asks %v", auth)
	}
	id := testpki.Server(t)
	write(t, filepath.Join(dir, "keys", "tls-2.pem"), string(id.CertPEM()))
	write(t, filepath.Join(dir, "keys", "tls-2.key"), string(id.KeyPEM(t)))
	edit(t, filepath.Join(dir, "edigw.yaml"), "cert: keys/tls.pem, key: keys/tls.key, client: request", "cert: keys/tls-2.pem, key: keys/tls-2.key, client: require")
	change, problems := r.Reload()
	cert, auth := r.Current().ServerTLS()
	if len(change.Restart) > 0 || !cert.Leaf.Equal(id.Cert) || auth != tls.RequireAnyClientCert {
		t.Errorf("restart %q, asks %v\n%s", change.Restart, auth, lines(problems))
	}
	edit(t, filepath.Join(dir, "edigw.yaml"), `address: ":4080"`, `address: ":4081"`)
	if change, _ := r.Reload(); !slices.Equal(change.Restart, []string{"listen"}) || r.Current().Gateway().Listen.Partners.Address != ":4080" {
		t.Errorf("restart %q", change.Restart)
	}
	edit(t, filepath.Join(dir, "edigw.yaml"), `, tls: {cert: keys/tls-2.pem, key: keys/tls-2.key, client: require}`, "")
	if change, _ := r.Reload(); !slices.Equal(change.Restart, []string{"listen"}) {
		t.Errorf("without TLS: restart %q", change.Restart)
	}
}
