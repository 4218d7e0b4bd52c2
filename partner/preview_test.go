package partner

import (
	"errors"
	"testing"

	"edigw/as2/smime"
)

func TestPreviewIsWhatTheImportTakes(t *testing.T) {
	t.Parallel()
	dir := installation(t)
	s := mustLoad(t, dir)
	c := theirs(t, span2026)
	use := []string{UseVerify, UseEncrypt}
	before, err := Preview(Import{Owner: "minimal", Use: use, Data: certificatePEM(c), From: today}, today)
	if err != nil {
		t.Fatal(err)
	}
	taken, err := s.Import(Import{Owner: "minimal", Use: use, Data: certificatePEM(c), From: today}, today)
	if err != nil {
		t.Fatal(err)
	}
	if before.SHA256 != smime.Fingerprint(c) || before.SHA256 != taken.SHA256 || before.Serial != taken.Serial || before.Subject != taken.Subject || !before.NotAfter.Equal(taken.NotAfter) {
		t.Errorf("previewed %+v, taken %+v", before, taken)
	}
	for name, want := range map[string]error{"hello": ErrCertificateUnreadable, "": ErrCertificateUnreadable} {
		if _, err := Preview(Import{Owner: "minimal", Use: use, Data: []byte(name), From: today}, today); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", name, err, want)
		}
	}
	if _, err := Preview(Import{Owner: "minimal", Use: []string{UseTLSServer}, Data: c.Raw, From: today}, today); !errors.Is(err, ErrCertificateUse) {
		t.Errorf("a use that an import does not know: %v", err)
	}
}
