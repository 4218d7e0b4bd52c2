package demo

import (
	"context"
	"io"
	"net/http"
	"net/smtp"
	"strings"
	"testing"
	"time"
)

// TestSinksTakeMailAndPosts over real connections, and print them.
func TestSinksTakeMailAndPosts(t *testing.T) {
	t.Parallel()
	shift, held, err := claim()
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	place := installation{shift: shift}
	var out strings.Builder
	s, err := openSinks(place.address(mailPort), place.address(slackPort), &printer{out: &out})
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	mail := "Subject: =?UTF-8?q?=5BPAGE=5D_Contoso_d=C3=BCster_=5BOUT-1=5D?=\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\nCause: connection=\r\n refused\r\n"
	if err := smtp.SendMail(place.address(mailPort), nil, "edigw@acme.example", []string{"ops@acme.example"}, []byte(mail)); err != nil {
		t.Fatal(err)
	}
	resp, err := http.Post("http://"+place.address(slackPort)+"/services/demo", "application/json", strings.NewReader(`{"text": "*Contoso* down OUT-1"}`))
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(resp.Body); err != nil || string(b) != "ok" {
		t.Errorf("webhook answered %q, %v", b, err)
	}
	resp.Body.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if !s.waitFor(ctx, "mail", "[PAGE] Contoso düster [OUT-1]", "connection refused") {
		t.Errorf("the mail did not come: %+v", s.list())
	}
	if !s.waitFor(ctx, "slack", "OUT-1", "*Contoso*") {
		t.Errorf("the post did not come: %+v", s.list())
	}
	if s.about("slack", "OUT-2") {
		t.Error("an alert about OUT-2 came from nowhere")
	}
	for _, want := range []string{"[PAGE] Contoso düster [OUT-1]", "| Cause: connection refused", "  *Contoso* down OUT-1"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("not printed: %q in\n%s", want, out.String())
		}
	}
}

func TestWebhookRefusesWhatIsNoPost(t *testing.T) {
	t.Parallel()
	shift, held, err := claim()
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	place := installation{shift: shift}
	s, err := openSinks(place.address(mailPort), place.address(slackPort), &printer{out: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	resp, err := http.Post("http://"+place.address(slackPort), "application/json", strings.NewReader(`{"words": 1}`))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusBadRequest || len(s.list()) != 0 {
		t.Errorf("status %d, alerts %v", resp.StatusCode, s.list())
	}
}
