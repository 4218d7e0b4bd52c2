package dlq

import (
	"context"
	"time"

	"edigw/breaker"
	"edigw/fault"
	"edigw/partner"
	"edigw/queue"
)

// Store is what the service asks of a store. Each method is one whole
// transaction; storetest.Store says what each promises.
type Store interface {
	Ledger
	Letters
	Messages
	Jobs
	Items
	Outages
}

// Ledger writes.
type Ledger interface {
	Record(ctx context.Context, results ...*queue.Result) error
	AddEvents(ctx context.Context, events ...queue.Event) error
}

// Letters reads letters.
type Letters interface {
	Letter(ctx context.Context, id string) (queue.Letter, error)
	Letters(ctx context.Context, f queue.LetterFilter, p queue.Page) ([]queue.Letter, string, error)
	LetterGroups(ctx context.Context, f queue.LetterFilter) ([]queue.LetterGroup, error)
	Depths(ctx context.Context) ([]queue.Depth, error)
}

// Messages reads the messages behind letters.
type Messages interface {
	Message(ctx context.Context, id string) (queue.Message, error)
	Editions(ctx context.Context, partner, key string) ([]queue.Edition, error)
	Builds(ctx context.Context, message string) ([]queue.Build, error)
	Attempts(ctx context.Context, message string) ([]queue.Attempt, error)
}

// Jobs keeps bulk replays.
type Jobs interface {
	Tally(ctx context.Context, f queue.LetterFilter, forgotten map[string]time.Time, now time.Time) ([]queue.Tally, error)
	FreezeReplay(ctx context.Context, j queue.ReplayJob, ids []string, events ...queue.Event) (queue.ReplayJob, error)
	ReplayJob(ctx context.Context, id string) (queue.ReplayJob, error)
	ReplayJobs(ctx context.Context, s queue.ReplayStatus) ([]queue.ReplayJob, error)
	SaveReplay(ctx context.Context, j queue.ReplayJob, events []queue.Event, items ...queue.ReplayItem) error
}

// Items reads what is left of bulk replays.
type Items interface {
	ReplayPartners(ctx context.Context, job, after string, limit int) ([]string, error)
	ReplayLine(ctx context.Context, job, partner string, after, limit int) ([]queue.ReplayItem, error)
	ReplayUnderWay(ctx context.Context, job string, after, limit int) ([]queue.ReplayItem, error)
}

// Outages reads outages.
type Outages interface {
	Outage(ctx context.Context, id string) (queue.Outage, error)
	Outages(ctx context.Context, partner string, running bool, p queue.Page) ([]queue.Outage, string, error)
}

// Lanes is the scheduler as letters see it. All methods may be called
// concurrently; none but UseAsTest blocks.
type Lanes interface {
	// Breaker is the state of a lane's breaker; the zero State is closed.
	Breaker(lane string) breaker.State
	// Running reports whether an exchange of the message is in flight, also if
	// an acknowledgement settled it meanwhile.
	Running(lane, message string) bool
	// UseAsTest makes a message in line the next test of a breaker that is not
	// closed, at once.
	UseAsTest(ctx context.Context, message string, by fault.Actor) error
	// Wake says that what stands in the lane changed.
	Wake(lane string)
	// LettersChanged says that a letter of the partner was closed, replayed or
	// opened again: an outage may have ended.
	LettersChanged(partner string)
}

// Partners gives the settings in force. What it returns is never changed, and
// neither method blocks.
type Partners interface {
	Partner(id string) (*partner.Partner, bool)
	// Identity is what the Message-IDs of documents to the partner are made of.
	Identity(id string) (queue.Identity, bool)
}

// Judge verifies a stored acknowledgement again.
type Judge interface {
	// Judge verifies the acknowledgement kept in the spool as raw against the
	// builds of m, under the certificates and settings of today.
	Judge(ctx context.Context, m queue.Message, builds []queue.Build, raw string) fault.Outcome
}
