package alerts

import "time"

// Unreadable is what is left of a stored incident that cannot be read: a
// defect, so that people hear that something was there. It hides no other.
func Unreadable(id string, version int64, closed time.Time, why string) Incident {
	in := Incident{ID: id, Version: version, Key: string(KindDefect) + "/" + gateway + "/" + id, Kind: KindDefect, Severity: Ticket, Stage: Running, News: NewsOpened,
		Events: 1, Detail: "what is stored of incident " + id + " is damaged: " + clip(clean(why), maxText)}
	if !closed.IsZero() {
		in.Stage, in.News, in.Closed = Over, NewsNone, closed
	}
	return in
}

// Unreadable puts a text in the place of one that was stored and cannot be
// read, so that whoever waits for it hears that there was one. What its columns
// say stays.
func (n Notification) Unreadable(why string) Notification {
	what := "An alert"
	if n.Incident != "" {
		what = "An alert about incident " + n.Incident
	}
	line := "could not be read back from the store: " + clip(clean(why), maxText)
	n.Name = n.ID
	n.Text = Text{Subject: what + " could not be read back", Body: what + " " + line + ".\nLook at the incident.\n", Lead: what, Line: line}
	return n
}
