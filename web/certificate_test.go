package web

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
	"testing"

	"edigw/access"
	"edigw/partner"
)

// TestOwnKeysAreImportedByAdmins: their password is in no log and no answer.
func TestOwnKeysAreImportedByAdmins(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	key := base64.StdEncoding.EncodeToString([]byte("a key store"))
	body := `{"key": "` + key + `", "use": ["sign", "decrypt"], "from": "2027-01-01", "password": "correct horse"}`
	a := b.as(access.Admin, http.MethodPost, Base+"/certificates", body)
	a.want(http.StatusOK)
	if len(b.lanes.imports) != 1 {
		t.Fatalf("%d imports", len(b.lanes.imports))
	}
	if i := b.lanes.imports[0]; i.Partner != partner.OwnerGateway || !slices.Equal(i.Uses, []string{"sign", "decrypt"}) || i.From != "2027-01-01" ||
		string(i.Certificate) != "a key store" || i.Password != "correct horse" || i.By.Name == "" {
		t.Errorf("import of %s for %s from %s", i.Partner, i.Uses, i.From)
	}
	for in, field := range map[string]string{
		`{"use": ["sign"]}`: "key", `{"key": "` + key + `"}`: "use", `{"key": "` + key + `", "use": ["verify"]}`: "use", `{"key": "` + key + `", "use": ["sign"], "from": "soon"}`: "from",
	} {
		if p := b.as(access.Admin, http.MethodPost, Base+"/certificates", in).problem(BadRequest); p.Field != field {
			t.Errorf("%s: field %q", in, p.Field)
		}
	}
	b.as(access.Operate, http.MethodPost, Base+"/certificates", body).problem(Forbidden)
	if len(b.lanes.imports) != 1 {
		t.Error("imported by somebody who may not")
	}
	b.lanes.fail = &Problem{Slug: BadRequest, Field: "password", Detail: "the password of the P12 is wrong"}
	b.as(access.Admin, http.MethodPost, Base+"/certificates", body).problem(BadRequest)
	if strings.Contains(b.log.String()+string(a.body), "horse") {
		t.Error("the password is in the log or the answer")
	}
}

// TestLoginOfOursNeedsAnAdmin: what serves a partner's connection may hold a
// private key.
func TestLoginOfOursNeedsAnAdmin(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	body := `{"certificate": "` + base64.StdEncoding.EncodeToString([]byte("a key store")) + `", "use": ["tls-client"], "password": "correct horse"}`
	b.as(access.Operate, http.MethodPost, Base+"/partners/northwind/certificates", body).problem(Forbidden)
	b.as(access.Admin, http.MethodPost, Base+"/partners/northwind/certificates", body).want(http.StatusOK)
	b.as(access.Operate, http.MethodPost, Base+"/partners/northwind/certificates", strings.Replace(body, "tls-client", "tls-trust", 1)).want(http.StatusOK)
	if n := len(b.lanes.imports); n != 2 || b.lanes.imports[0].Password != "correct horse" || b.lanes.imports[1].Uses[0] != partner.UseTLSTrust {
		t.Errorf("%d imports", n)
	}
	if strings.Contains(b.log.String(), "horse") {
		t.Error("the password is in the log")
	}
}
