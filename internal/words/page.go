package words

import "time"

// BoardFacts is what the first line of the board may need.
type BoardFacts struct {
	Partners  int
	Troubled  int           // partners that need someone
	Last      time.Duration // since the last delivery
	LastTo    string        // its partner; empty: none yet
	FirstLost time.Duration // until the first deadline is lost; 0: none
}

// Board is the first line of the board.
func Board(f BoardFacts) string {
	if f.Partners == 0 {
		return "No partner yet. Add the first one with edigw partner new."
	}
	if f.Troubled == 0 {
		s := "All " + Count(f.Partners, "partner", "partners") + " fine."
		if f.Partners == 1 {
			s = "The one partner is fine."
		}
		return s + when(f.LastTo != "", " Last delivery "+Span(f.Last)+" ago ("+f.LastTo+").")
	}
	s := Number(int64(f.Troubled)) + " of " + Count(f.Partners, "partner", "partners") + " " + needs(f.Troubled) + " you."
	return s + when(f.FirstLost > 0, " First deadline lost in "+Span(f.FirstLost)+".")
}

func needs(n int) string {
	if n == 1 {
		return "needs"
	}
	return "need"
}

// Sentences of pages that have nothing to show, or old things.
const (
	NoTraffic    = "No document yet. Run the connection test."
	NeverALetter = "No dead letters."
)

// Stale says since when a page was not updated.
func Stale(since, now time.Time, zone *time.Location) string {
	return "Not updated since " + Clock(since, now, zone) + ", retrying"
}

// NoLetters is the empty dead-letter page: when the last letter was, and what
// became of it ("replayed by Kim").
func NoLetters(last, now time.Time, zone *time.Location, fate string) string {
	if last.IsZero() {
		return NeverALetter
	}
	return NeverALetter + " Last one: " + Day(last, now, zone) + when(fate != "", ", "+fate) + "."
}

// Removed says that a payload is past its retention.
func Removed(after time.Duration) string {
	return "Content and evidence removed after " + Span(after) + "; facts and Message-ID kept."
}

// NothingFound says what was searched, and how far back.
func NothingFound(back time.Duration, by string) string {
	return "Nothing matches. Searched " + days(back) + " by " + by + "."
}

func days(d time.Duration) string { return Count(int(d/(24*time.Hour)), "day", "days") }
