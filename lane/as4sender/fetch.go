package as4sender

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"edigw/as4"
	"edigw/as4/ebms"
	"edigw/fault"
	"edigw/queue"
)

// Taker takes the answer to a pull request of ours: as4.Handler.TakePulled.
type Taker interface {
	TakePulled(ctx context.Context, partner string, p as4.PMode, header http.Header, body io.Reader) (as4.PullResult, error)
}

// got is what a pull request brought.
type got string

const (
	gotMessage   got = "message"
	gotDuplicate got = "duplicate" // one that was taken before
	gotRefused   got = "refused"   // one that was not taken; they are told why
	gotNothing   got = "empty"
	gotFailure   got = "failed"
)

// answer is what came of one pull request.
type answer struct {
	got      got
	why      string // of a failure, in one sentence
	do       string // what to do about it
	ours     bool   // it lies on our side
	after    time.Duration
	hasAfter bool // they asked to be left alone for that long
}

// pull sends one pull request to a partner and has what comes taken.
func (s *Sender) pull(ctx context.Context, id string, take Taker) answer {
	now, snapshot := s.Now(), s.Settings()
	p, err := snapshot.FetchingPMode(id, now)
	if err != nil {
		return ourFault(err)
	}
	name, err := queue.NewID(now, rand.Reader)
	if err != nil {
		return ourFault(err)
	}
	p.ProductHeader = s.Product
	request, err := as4.NewPullRequest(p, fmt.Sprintf("pull-%s@%s", name, snapshot.Gateway().Identity.Domain), now)
	if err != nil {
		return ourFault(err)
	}
	c, limits, err := s.desk.Client(snapshot, id)
	if err != nil {
		return ourFault(err)
	}
	var taken as4.PullResult
	var failed error
	o := as4.Pull(ctx, c, p, request, limits, func(header http.Header, body io.Reader) {
		taken, failed = take.TakePulled(ctx, id, p, header, body)
	})
	return answerOf(o, taken, failed)
}

// answerOf reads an answer: what it holds comes before what the transport says.
func answerOf(o fault.Outcome, r as4.PullResult, failed error) answer {
	a := answer{got: gotFailure, after: o.RetryAfter, hasAfter: o.HasRetry}
	switch {
	case failed != nil:
		return answer{got: gotFailure, ours: true, why: "what came cannot be kept: " + failed.Error(), do: "look at the disk of the data folder, and at the log; they keep the message for us"}
	case r.Duplicate:
		a.got = gotDuplicate
	case r.Accepted:
		a.got = gotMessage
	case r.MessageID != "" || r.Code != "":
		a.got = gotRefused
	case r.Empty:
		a.got = gotNothing
	case len(r.Errors) > 0:
		a.why, a.do = errorText(r.Errors[0])
	case o.Status == 0 || o.Cause != fault.CauseNone:
		a.why, a.do = o.Sentence(), "see whether they answer: edigw partner test; call them if they do not"
		a.ours = o.Cause == fault.CauseProxy || o.Cause == fault.CauseProxyAuth || o.Cause == fault.CauseBuild
		if a.ours {
			a.do = "correct our proxy or as4.url"
		}
	case o.Status == http.StatusUnauthorized || o.Status == http.StatusForbidden:
		a.why, a.do = o.Sentence(), "compare auth.basic and tls.client with what they expect"
	case o.Status < 200 || o.Status >= 300:
		a.why, a.do = o.Sentence(), "ask them what their server says of our pull requests"
	default:
		a.why, a.do = lower(r.Problem), "compare as4.url and as4.fetch with what they gave you; the address may be another one for pulling"
	}
	return a
}

// ourFault is a pull request that could not be sent.
func ourFault(err error) answer {
	a := answer{got: gotFailure, ours: true, why: err.Error(), do: "edigw check, edigw doctor and the log tell more"}
	var setting *fault.SettingError
	if errors.As(err, &setting) {
		a.do = "correct " + setting.Key + ", then edigw reload"
	}
	return a
}

// errorText is an error of theirs for people. Code and words are theirs, what
// they mean is the table's.
func errorText(e ebms.Error) (why, do string) {
	why, do = "they answered "+e.Code, "ask them what their log has for our pull request"
	if c, ok := ebms.LookupCode(e.Code); ok {
		why += " " + c.Name
	}
	switch ebms.Number(e.Code) {
	case "0101", "0102", "0103":
		do = "ask them which certificate or login they have of us, and compare as4.fetch"
	case "0001", "0003", "0010":
		do = "compare as4.fetch.mpc with the channel that they hold for us"
	}
	for _, text := range []string{e.Detail, e.Description} {
		if text = strings.TrimSpace(text); text != "" {
			return why + ": " + text, do
		}
	}
	return why, do
}

// lower begins a sentence as the rest of another.
func lower(s string) string {
	if s == "" {
		return "they answered nothing"
	}
	return strings.ToLower(s[:1]) + s[1:]
}
