package demo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"edigw/internal/apiclient"
	"edigw/partner"
)

// Bounds of a demo.
const (
	storyLimit  = 4 * time.Minute  // a story that takes longer did not come right
	settleLimit = 30 * time.Second // for what is under way at the end
	hurryLimit  = 2 * time.Second  // the same after Ctrl-C
	idleEvery   = 5 * time.Second  // a document now and then
	awayFor     = 90 * time.Second // the outage that is left to whoever looks on
	logName     = "edigw.log"
)

// stage is everything that a demo runs with.
type stage struct {
	*story
	own     bool // the folder is a temporary one of ours
	swept   bool
	held    io.Closer
	scratch string
	log     *os.File
	gateway Gateway
	token   string // of the API
	right   bool   // the story came out right
	played  time.Duration
}

// setUp makes the folder, the scripted partners and the sinks.
func setUp(o Options, p *printer) (_ *stage, err error) {
	s := &stage{story: &story{print: p, list: &checklist{}, busy: &busy{}, late: newGate(time.Second), cast: map[string]player{}, letters: map[string]*document{}}, played: o.For}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	shift, held, err := claim()
	if err != nil {
		return nil, err
	}
	s.held = held
	dir := o.Dir
	if dir == "" {
		if dir, err = os.MkdirTemp("", "edigw-demo-"); err != nil {
			return nil, err
		}
		s.own = true
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	p.line("Making keys and settings in %s …", dir)
	var k keys
	if s.place, k, err = install(dir, shift); err != nil {
		return nil, err
	}
	if s.log, err = os.OpenFile(filepath.Join(dir, logName), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600); err != nil {
		return nil, err
	}
	if s.sinks, err = openSinks(s.place.address(mailPort), s.place.address(slackPort), p); err != nil {
		return nil, err
	}
	return s, s.hire(k)
}

// hire makes the partners and opens them.
func (s *stage) hire(k keys) (err error) {
	if s.scratch, err = os.MkdirTemp("", "edigw-demo-partners-"); err != nil {
		return err
	}
	settings, problems, err := partner.Load(s.place.config(), time.Now())
	if err != nil {
		return fmt.Errorf("%w: %v", err, problems)
	}
	log := slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelError}))
	for id, b := range map[string]behaviour{
		wellPartner:      {},
		busyPartner:      {front: s.busy.before},
		downPartner:      {},
		signaturePartner: {pinsNext: true},
		latePartner:      {receipts: s.late},
		silentPartner:    {front: silent},
		micPartner:       {answer: wrongMIC},
	} {
		if s.cast[id], err = newScripted(settings, id, k, b, s.scratch, log); err != nil {
			return err
		}
	}
	if s.as4, err = newScriptedAS4(settings, as4Partner, k, s.scratch, log); err != nil {
		return err
	}
	s.cast[as4Partner] = s.as4
	for _, p := range s.cast {
		if err := p.open(); err != nil {
			return err
		}
	}
	return nil
}

// start starts the gateway and says where it is.
func (s *stage) start(ctx context.Context, start func(context.Context, string, io.Writer) (Gateway, error)) (err error) {
	if s.gateway, err = start(context.WithoutCancel(ctx), s.place.config(), s.log); err != nil {
		return err
	}
	client := apiclient.Local(s.gateway.Socket())
	program, err := os.Executable()
	if err != nil {
		return err
	}
	s.feed = &feed{dir: s.place.dir, config: s.place.config(), program: program}
	s.follow = newFollower(client, &teller{print: s.print})
	token, err := s.feed.command(ctx, "token", "new", "demo", "--scope", "send,read,operate")
	if err != nil {
		return err
	}
	if s.feed.client, err = apiclient.New(s.gateway.ConsoleURL(), token); err != nil {
		return err
	}
	password, err := s.admit(ctx)
	if err != nil {
		return err
	}
	s.token = token
	s.introduce(password)
	return nil
}

// signIn is the console's user of the demo.
const signIn = "demo"

// admit makes a user for the console and gives the password.
func (s *stage) admit(ctx context.Context) (password string, err error) {
	password = strings.ToLower(rand.Text()[:16])
	file := filepath.Join(s.scratch, "password")
	if err := os.WriteFile(file, []byte(password), 0o600); err != nil {
		return "", err
	}
	_, err = s.feed.command(ctx, "user", "add", signIn, "--role", "operator", "--payloads", "--password-file", file)
	return password, err
}

// introduce says where the gateway is and who plays.
func (s *stage) introduce(password string) {
	s.print.line("Console  %s     sign in as %s, password %s", s.gateway.ConsoleURL(), signIn, password)
	s.print.line("Log      %s", s.log.Name())
	s.print.line("Eight partners on this machine, each with records of its own; the last one speaks AS4, the others AS2:")
	for _, p := range []struct{ id, about string }{
		{wellPartner, "always well"},
		{busyPartner, "answers 503 with Retry-After now and then"},
		{downPartner, "is going to be down for a while"},
		{signaturePartner, "believes in another certificate of ours"},
		{latePartner, "sends its receipts later, by itself"},
		{silentPartner, "takes everything and never answers"},
		{micPartner, "signs receipts over something else"},
		{as4Partner, "loses a receipt, is down, and has an old agreement for a while"},
	} {
		s.print.line("  %-18s  %s", p.id, p.about)
	}
	s.print.line("Look on from another terminal, as long as this runs:")
	s.print.line("  export EDIGW_CONFIG=%s", s.place.config())
	s.print.line("  edigw partner list; edigw dlq list; edigw message list")
}

// perform plays the story, then a document now and then, and reckons.
func (s *stage) perform(ctx context.Context, length time.Duration) int {
	begin := time.Now()
	watching, stop := context.WithCancel(context.WithoutCancel(ctx))
	watched := make(chan struct{})
	go func() { defer close(watched); s.follow.run(watching) }()
	telling, cancel := context.WithTimeout(ctx, storyLimit)
	s.play(telling)
	cancel()
	idle, cancel := ctx, context.CancelFunc(func() {})
	if length > 0 {
		idle, cancel = context.WithDeadline(ctx, begin.Add(length))
	}
	s.afterwards(idle, length == 0)
	cancel()
	patience := settleLimit
	if ctx.Err() != nil {
		patience = hurryLimit
	}
	a, err := s.reckon(context.WithoutCancel(ctx), patience)
	stop()
	<-watched
	if err != nil {
		s.print.line("demo: %v", err)
	}
	missing := s.list.missing()
	s.right = err == nil && missing == ""
	switch {
	case missing == "":
	case ctx.Err() != nil:
		s.print.line("\nThe story was interrupted.")
	default:
		s.print.line("\nNot seen: %s.", missing)
	}
	s.close()
	s.print.line("%v", a)
	if s.right || length == 0 && ctx.Err() != nil && err == nil { // Ctrl-C may come in the middle of the story
		return 0
	}
	return 1
}

// afterwards says what to try and hands in a document now and then.
func (s *stage) afterwards(ctx context.Context, endless bool) {
	if ctx.Err() != nil {
		return
	}
	s.print.line("\n%s", title("The story is told; a document comes now and then"))
	var back <-chan time.Time
	if endless {
		back = s.handOver(ctx)
		s.print.line("In the console, %s: the board says who needs you. Contoso is down: get its documents out.", s.gateway.ConsoleURL())
		s.print.line("Litware's receipt is there, too: the message shows every exchange; Close as delivered takes their word.")
		s.print.line("Or try this in another terminal, with EDIGW_CONFIG as above; Ctrl-C ends the demo.")
		s.print.line("  edigw dlq list                                what nobody decided yet: Litware's receipt")
		s.print.line("  edigw dlq replay LETTER                       asks to confirm possible-duplicate: Litware has it")
		s.print.line("  edigw dlq settle LETTER --note \"they have it\"   closes it on their word")
		s.print.line("  edigw message trace INV-30001                 a document by its number")
		s.print.line("  edigw partner test %s              a ping over AS4; its receipt is verified", as4Partner)
		s.print.line("  edigw breaker trip %s; edigw breaker reset %s", wellPartner, wellPartner)
		s.print.line("  curl -H 'Authorization: Bearer %s' '%s/api/v1/letters?status=open'", s.token, s.gateway.ConsoleURL())
		s.print.line("  cp %s %s/outbox/%s/", filepath.Join(s.place.dir, "documents", "*"), s.place.dir, wellPartner)
	}
	tick := time.NewTicker(idleEvery)
	defer tick.Stop()
	samples, partners := []sample{x12Invoice, edifactOrder, ublInvoice}, []string{wellPartner, busyPartner, latePartner, as4Partner}
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-back:
			back = nil
			s.answerAgain()
			continue
		case <-tick.C:
		}
		if n%8 == 1 {
			s.busy.next(1)
		}
		if _, err := s.post(ctx, samples[n%len(samples)], partners[n%len(partners)]); err != nil && ctx.Err() == nil {
			s.print.fact("demo", "%v", err)
		}
	}
}

// handOver begins an outage that nobody of the demo mends: what is dead is for
// whoever sits at the console. It gives when the partner answers again.
func (s *stage) handOver(ctx context.Context) <-chan time.Time {
	s.cast[downPartner].close()
	s.print.fact("demo", "%s stops listening once more, for %v", downPartner, awayFor)
	for _, sample := range []sample{x12Order, edifactOrder, x12Invoice, edifactInvoice, x12Order} {
		if _, err := s.post(ctx, sample, downPartner); err != nil && ctx.Err() == nil {
			s.print.fact("demo", "%v", err)
		}
	}
	return time.NewTimer(awayFor).C
}

// answerAgain ends the outage.
func (s *stage) answerAgain() {
	if err := s.cast[downPartner].open(); err != nil {
		s.print.fact("demo", "%v", err)
		return
	}
	s.print.fact("demo", "%s listens again: its dead letters wait for your click", downPartner)
}

// reckon waits until nothing is under way, then compares the books.
func (s *stage) reckon(ctx context.Context, patience time.Duration) (account, error) {
	wait, cancel := context.WithTimeout(ctx, patience)
	s.follow.until(wait, view.settled)
	cancel()
	business := map[string][]effect{}
	requests := 0
	for id, p := range s.cast {
		business[id] = p.list()
		n, _ := p.requests()
		requests += n
	}
	v, err := s.follow.ledger(ctx)
	if err != nil {
		return account{}, fmt.Errorf("the books cannot be read: %w", err)
	}
	a, faults := reckon(s.feed.documents(), v, business)
	a.alerts = len(s.sinks.list())
	effects := 0
	for _, list := range business {
		effects += len(list)
	}
	s.print.line("\nThe partners saw %d requests and booked %d documents.", requests, effects)
	for _, line := range balance(v) {
		s.print.line("%s", line)
	}
	for _, f := range faults {
		s.print.line("%s", f)
	}
	if a.lost+a.duplicated > 0 {
		return a, errors.New("the books do not agree")
	}
	return a, nil
}

// settled reports whether nothing is under way.
func (v view) settled() bool {
	for _, m := range v.messages {
		switch m.State {
		case "queued", "waiting", "sending", "awaiting-ack":
			return false
		}
	}
	return true
}

// close ends everything, in the order of who needs whom. It may be called
// again.
func (s *stage) close() {
	if s.gateway != nil {
		if err := s.gateway.Stop(context.Background()); err != nil {
			s.print.line("demo: the gateway did not stop well: %v", err)
		}
		s.gateway = nil
	}
	for _, p := range s.cast {
		p.retire()
	}
	s.cast = nil
	if s.sinks != nil {
		s.sinks.close()
	}
	if s.log != nil {
		s.log.Close()
	}
	if s.held != nil {
		s.held.Close()
	}
	os.RemoveAll(s.scratch)
	s.sweep()
}

// sweep removes a temporary folder, or says where it is and how to look at it.
func (s *stage) sweep() {
	switch {
	case s.swept:
	case s.own && s.right && s.played > 0:
		os.RemoveAll(s.place.dir)
		s.print.line("Its folder is removed, EDIGW_CONFIG above leads nowhere now; edigw demo --keep DIR keeps one.")
	case s.place.dir != "":
		s.print.line("The folder stays: EDIGW_CONFIG=%s edigw serve shows it again, without the partners.", s.place.config())
	}
	s.swept = true
}
