package interop

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// message is a message in edigw's API.
type message struct {
	ID        string    `json:"id"`
	MessageID string    `json:"message_id"`
	Source    string    `json:"source"`
	State     string    `json:"state"`
	Proof     string    `json:"proof"`
	Detail    string    `json:"detail"`
	Finished  time.Time `json:"finished"`
	Attempts  []attempt `json:"attempts"`
}

type attempt struct {
	Class  string           `json:"class"`
	Status int              `json:"status"`
	Head   string           `json:"head"` // beginning of the answer
	Detail string           `json:"detail"`
	Ack    *acknowledgement `json:"acknowledgement"`
}

type acknowledgement struct {
	Verdict     string `json:"verdict"`
	Disposition string `json:"disposition"`
	EBMS        string `json:"ebms"`
	Positive    bool   `json:"positive"`
	Signer      string `json:"signer"`
	Detail      string `json:"detail"`
}

// ended reports whether nothing more becomes of a message by itself.
func (m message) ended() bool { return m.State == "delivered" || m.State == "dead" }

// refused reports whether the peer answered that it did not take it.
func (m message) refused() bool {
	if len(m.Attempts) == 0 {
		return false
	}
	ack := m.Attempts[len(m.Attempts)-1].Ack
	return ack != nil && strings.Contains(ack.Disposition, "error")
}

// message reads one from the API.
func (s *site) message(ctx context.Context, id string) (m message, err error) {
	err = s.api.Get(ctx, "/messages/"+id, nil, &m)
	return m, err
}

// facts are what edigw writes beside a document that it received.
type facts struct {
	Partner     string `json:"partner"`
	MessageID   string `json:"message_id"`
	FileName    string `json:"file_name"`
	ContentType string `json:"content_type"`
	Signed      bool   `json:"signed"`
	Encrypted   bool   `json:"encrypted"`
	Compressed  bool   `json:"compressed"`
	MIC         string `json:"mic"`
	Disposition string `json:"disposition"`
	Problem     string `json:"problem"`
	Part        int    `json:"part"` // of several files, from 1
	AS4         struct {
		Properties []property `json:"properties"`
		Pulled     bool       `json:"pulled"`
	} `json:"as4"`

	document string // path
}

// property is one of an AS4 message or of its payload.
type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// inbox gives what lies in the folder of a partner.
func (s *site) inbox(partner string) (all []facts, err error) {
	names, err := filepath.Glob(s.path("site", "inbox", partner, "*", "*.json"))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		f := facts{document: strings.TrimSuffix(name, ".json")}
		if err := json.Unmarshal(text, &f); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, f)
	}
	return all, nil
}

// sent finds the newest document that was sent to a partner; receipts that
// edigw owed are none.
func (s *site) sent(ctx context.Context, partner string) (m message, found bool, err error) {
	var list struct {
		Items []message `json:"items"`
	}
	err = s.api.Get(ctx, "/messages", url.Values{"partner": {partner}, "direction": {"out"}, "limit": {"50"}}, &list)
	for _, one := range list.Items {
		if err == nil && one.Source != "inbox" {
			m, err = s.message(ctx, one.ID)
			return m, err == nil, err
		}
	}
	return message{}, false, err
}

// taken gives the messages that came from a partner, refused ones too.
func (s *site) taken(t *testing.T, partner string) []message {
	t.Helper()
	var list struct {
		Items []message `json:"items"`
	}
	if err := s.api.Get(t.Context(), "/messages", url.Values{"partner": {partner}, "direction": {"in"}}, &list); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// delivered gives the messages to a partner that are.
func (s *site) delivered(partner string) []message {
	s.Helper()
	var list struct {
		Items []message `json:"items"`
	}
	if err := s.api.Get(context.Background(), "/messages", url.Values{"partner": {partner}, "direction": {"out"}, "state": {"delivered"}}, &list); err != nil {
		s.Fatal(err)
	}
	return list.Items
}
