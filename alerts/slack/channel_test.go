package slack_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"edigw/alerts"
	"edigw/alerts/slack"
	"edigw/internal/conf"
	"edigw/partner"

	"github.com/google/go-cmp/cmp"
)

var now = time.Date(2026, 12, 1, 2, 10, 4, 0, time.UTC)

const path = "/services/T000/B000/s3cr3tpath"

// recorder is a webhook that answers as told.
type recorder struct {
	status int
	header map[string]string
	answer string

	mu    sync.Mutex
	texts []string
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	var post struct{ Text string }
	if err := json.Unmarshal(body, &post); err != nil || req.Method != http.MethodPost || req.URL.Path != path || req.Header.Get("Content-Type") != "application/json; charset=utf-8" {
		http.Error(w, "invalid_payload", http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.texts = append(r.texts, post.Text)
	for k, v := range r.header {
		w.Header().Set(k, v)
	}
	w.WriteHeader(r.status)
	io.WriteString(w, r.answer)
}

func channel(t *testing.T, webhook string) *slack.Channel {
	t.Helper()
	file := filepath.Join(t.TempDir(), "slack")
	if err := os.WriteFile(file, []byte(webhook+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	g := &partner.Gateway{Alerts: &partner.Alerts{Slack: &partner.SlackChannel{Webhook: conf.SecretFile(file)}}}
	return slack.New(func() *partner.Gateway { return g }, func() time.Time { return now }, nil)
}

var note = alerts.Notification{
	ID: "OUT-231.1.slack", Incident: "OUT-231", Severity: alerts.Page,
	Text: alerts.Text{Subject: "[PAGE] Northwind DE down, first deadline 03:00 [OUT-231]", Lead: "Northwind DE",
		Line: "down 02:10, refused, their side · 14 not sent, 1 unknown · first deadline 03:00 · next test 02:15", Link: "https://edigw.acme.example/outages/OUT-231"},
}

func TestMessageIsOneLineWithTheIncident(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		n    alerts.Notification
		want string
	}{
		"page": {note, "🔴 *Northwind DE* down 02:10, refused, their side · 14 not sent, 1 unknown · first deadline 03:00 · next test 02:15 · <https://edigw.acme.example/outages/OUT-231|OUT-231>"},
		"end": {alerts.Notification{Incident: "OUT-231", Severity: alerts.Info, Text: alerts.Text{Subject: "[OK] x", Lead: "Northwind DE", Line: "all 3 settled, 0 lost"}},
			"🟢 *Northwind DE* all 3 settled, 0 lost · OUT-231"},
		"no mention, no link from a partner's words": {alerts.Notification{Severity: alerts.Ticket, Text: alerts.Text{Lead: "<!channel>", Line: "they said <http://x|y> & more"}},
			"🟠 *&lt;!channel&gt;* they said &lt;http://x|y&gt; &amp; more"},
		"heartbeat": {alerts.Notification{Severity: alerts.Info, Text: alerts.Text{Lead: "edigw gw1", Line: "heartbeat", Link: "https://edigw.acme.example"}},
			"🔵 *edigw gw1* heartbeat · <https://edigw.acme.example>"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if d := cmp.Diff(c.want, slack.Text(c.n)); d != "" {
				t.Errorf("-want +got\n%s", d)
			}
		})
	}
}

func TestAnswersAreJudged(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status    int
		after     string
		answer    string
		wait      time.Duration
		fine      bool
		permanent bool
	}{
		"ok":                             {status: 200, answer: "ok", fine: true},
		"429 with seconds":               {status: 429, after: "30", wait: 30 * time.Second},
		"429 with a date":                {status: 429, after: now.Add(90 * time.Second).Format(http.TimeFormat), wait: 90 * time.Second},
		"429 without":                    {status: 429, wait: time.Second},
		"429 for a year is not believed": {status: 429, after: "31536000", wait: time.Hour},
		"429 with nonsense":              {status: 429, after: "soon", wait: time.Second},
		"429 with a past date":           {status: 429, after: now.Add(-time.Hour).Format(http.TimeFormat), wait: time.Second},
		"server error":                   {status: 503, after: "7", wait: 7 * time.Second},
		"webhook is gone":                {status: 404, answer: "no_service", permanent: true},
		"webhook is disabled":            {status: 403, answer: "action_prohibited", permanent: true},
		"moved elsewhere":                {status: 302, answer: "", permanent: true},
		"answer repeats the secret":      {status: 500, answer: "no route for " + path},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &recorder{status: c.status, answer: c.answer, header: map[string]string{}}
			if c.after != "" {
				r.header["Retry-After"] = c.after
			}
			if c.status == 302 {
				r.header["Location"] = "/elsewhere"
			}
			srv := httptest.NewServer(r)
			t.Cleanup(srv.Close)
			err := channel(t, srv.URL+path).Send(t.Context(), note)
			if len(r.texts) != 1 {
				t.Fatalf("%d posts, want 1 (%v)", len(r.texts), err)
			}
			if c.fine != (err == nil) {
				t.Fatalf("error %v, want none: %v", err, c.fine)
			}
			if err == nil {
				return
			}
			var permanent *alerts.PermanentError
			if errors.As(err, &permanent) != c.permanent {
				t.Errorf("%v: permanent %v, want %v", err, !c.permanent, c.permanent)
			}
			var temporary *alerts.TemporaryError
			if !c.permanent && (!errors.As(err, &temporary) || temporary.After != c.wait) {
				t.Errorf("%v: %+v, want a temporary error after %v", err, temporary, c.wait)
			}
			if strings.Contains(err.Error(), "s3cr3t") {
				t.Errorf("the error shows the webhook: %v", err)
			}
		})
	}
}

func TestWebhookIsCheckedAndNeverShown(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		webhook   string
		permanent bool
	}{
		"http elsewhere":       {"http://hooks.example" + path, true},
		"not a URL":            {"s3cr3t", true},
		"control characters":   {"https://hooks.example/s3cr3t\x7f", true},
		"another scheme":       {"ftp://127.0.0.1/s3cr3t", true},
		"nobody listens":       {"http://127.0.0.1:1" + path, false},
		"localhost by name":    {"http://localhost:1" + path, false},
		"loopback of IPv6":     {"http://[::1]:1" + path, false},
		"name that is unknown": {"https://hooks.invalid" + path, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := channel(t, c.webhook).Send(t.Context(), note)
			var permanent *alerts.PermanentError
			if err == nil || errors.As(err, &permanent) != c.permanent {
				t.Errorf("%v, want an error, permanent %v", err, c.permanent)
			}
			if err != nil && strings.Contains(err.Error(), "s3cr3t") {
				t.Errorf("the error shows the webhook: %v", err)
			}
		})
	}
}

func TestWithoutSettingsNothingIsPosted(t *testing.T) {
	t.Parallel()
	c := slack.New(func() *partner.Gateway { return &partner.Gateway{} }, time.Now, nil)
	if err := c.Send(t.Context(), note); !errors.Is(err, alerts.ErrNotSet) {
		t.Errorf("%v, want ErrNotSet", err)
	}
}
