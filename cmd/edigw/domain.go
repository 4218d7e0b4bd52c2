package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"edigw/partner"
	"edigw/queue"
)

// domainName is the file in the data folder that remembers identity.domain.
const domainName = "domain"

// keepDomain remembers identity.domain from the first start on, and refuses
// another one: Message-IDs made with it would not be recognised as repeats.
// Where the file is gone the newest message that was sent tells.
func keepDomain(ctx context.Context, store queueOfMessages, data, domain string) error {
	was, err := rememberedDomain(data)
	if err != nil {
		return err
	}
	if was != "" && was != domain {
		return otherDomain(was, domain, filepath.Join(data, domainName)+" remembers it")
	}
	if was != "" {
		return nil
	}
	sent, _, err := store.Messages(ctx, queue.MessageFilter{Direction: queue.Out}, queue.Page{Limit: 1})
	if err != nil {
		return err
	}
	for _, m := range sent {
		_, was, found := strings.Cut(strings.Trim(m.MessageID, "<>"), "@")
		if found && was != domain {
			return otherDomain(was, domain, "message "+m.ID+" has it")
		}
	}
	return writeDurably(filepath.Join(data, domainName), domain+"\n")
}

// queueOfMessages lists messages, newest first; every store does.
type queueOfMessages interface {
	Messages(ctx context.Context, f queue.MessageFilter, p queue.Page) ([]queue.Message, string, error)
}

func otherDomain(was, is, why string) error {
	return fmt.Errorf("identity.domain is %s, but documents were sent with %s: partners tell repeats by Message-IDs that end in it; set it back (%s)", is, was, why)
}

// rememberedDomain is what the data folder remembers, "" if it does not.
func rememberedDomain(data string) (string, error) {
	b, err := os.ReadFile(filepath.Join(data, domainName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	return strings.TrimSpace(string(b)), nil // empty too after a power cut during the first start
}

// movedDomain finds an identity.domain that the data folder knows as another:
// the gateway would not start. A folder that cannot be read says nothing.
func movedDomain(s *partner.Snapshot) []partner.Problem {
	was, err := rememberedDomain(string(s.Gateway().Data))
	if err != nil || was == "" {
		return nil
	}
	if p, moved := s.MovedDomain(was); moved {
		return []partner.Problem{p}
	}
	return nil
}
