package words

import "time"

// FetchFacts is why the messages that a partner holds for us cannot be fetched.
type FetchFacts struct {
	Now   time.Time // for dates
	Zone  *time.Location
	Since time.Time // the first failure in a row
	Count int       // failures in a row
	Ours  bool      // on our side
	Why   string
	Do    string    // empty: it is not said
	Next  time.Time // zero: a request runs
}

// Fetch says that a partner's messages cannot be fetched, whose side it is on, and
// what happens next by itself.
func Fetch(f FetchFacts) string {
	side := "their side"
	if f.Ours {
		side = "our side"
	}
	next := "A request runs now"
	if !f.Next.IsZero() {
		next = "Next request " + Clock(f.Next, f.Now, f.Zone)
	}
	return "Their messages cannot be fetched since " + Clock(f.Since, f.Now, f.Zone) + " (" + Count(f.Count, "failure", "failures") + ", probably " + side + "): " +
		f.Why + ". " + next + when(f.Do != "", ". Do: "+f.Do)
}
