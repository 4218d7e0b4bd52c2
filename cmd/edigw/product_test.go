package main

import (
	"net/http"
	"strings"
	"testing"
)

// A receipt to a partner of AS2 1.3 says which version of edigw made it.
func TestReceiptsNameTheProductWithItsVersion(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	c := newSender(s, `, version: "1.3"`)
	s.start()
	req, _ := c.request("http://"+s.receive, "<1@northwind.example>", orderX12)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	want := "edigw:" + version
	if got := res.Header.Get("AS2-Product"); got != want || !strings.HasPrefix(res.Header.Get("Server"), "edigw/"+version) {
		t.Errorf("AS2-Product %q, want %q; Server %q", got, want, res.Header.Get("Server"))
	}
}
