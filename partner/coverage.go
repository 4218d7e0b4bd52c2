package partner

import (
	"fmt"
	"slices"
	"time"
)

// sameEnd is what two ends may differ by and count as one: certificates that were
// made after each other on the same day for the same time.
const sameEnd = 24 * time.Hour

// flaw is what is odd about how the certificates for a use follow each other.
type flaw struct{ reason, hint string }

// flaws finds certificates that are listed twice, successors that end before
// what they follow, and times that are still to come in which none is in force.
func flaws(use string, terms []term, now time.Time) []flaw {
	return slices.Concat(never(terms, now), repeats(terms, now), shortLived(use, terms, now), gaps(terms, now))
}

// follows reports whether a key of one kind may take the place of one of another
// kind: RSA and the curves of NIST do, since AS2 takes both.
func follows(a, b keyKind) bool {
	plain := func(k keyKind) bool { return k == kindRSA || k == kindNIST || k == kindOther }
	return a == b || plain(a) && plain(b)
}

// successions are the terms of our keys in groups whose members follow each
// other, as their places in the list. With apart, kinds never do.
func successions(terms []term, apart bool) (out [][]int) {
	for i, t := range terms {
		g := slices.IndexFunc(out, func(members []int) bool {
			kind := terms[members[0]].kind
			return kind == t.kind || !apart && follows(kind, t.kind)
		})
		if g < 0 {
			out, g = append(out, nil), len(out)
		}
		out[g] = append(out[g], i)
	}
	return out
}

// pick are the members of a group.
func pick(terms []term, members []int) (out []term) {
	for _, i := range members {
		out = append(out, terms[i])
	}
	return out
}

// never finds a certificate whose from lies behind its end.
func never(terms []term, now time.Time) (out []flaw) {
	for _, t := range terms {
		if why, hint := idle([]term{t}, now); !t.ever() && now.Before(t.end) && newest(terms, now) >= 0 {
			out = append(out, flaw{why, hint})
		}
	}
	return out
}

// noneInForce begins the reason that nothing serves a use today.
const noneInForce = "none is in force; "

// idle says why none of some certificates is in force: of the next to begin, or
// else of the last that ended, for which the hint is empty.
func idle(terms []term, now time.Time) (why, hint string) {
	last, next := terms[0], -1
	for i, t := range terms {
		if t.ends().After(last.ends()) {
			last = t
		}
		if t.ever() && now.Before(t.begins()) && (next < 0 || t.begins().Before(terms[next].begins())) {
			next = i
		}
	}
	switch {
	case next >= 0:
		t := terms[next]
		hint = "an earlier from, or list the one before until then"
		if t.from.IsZero() || !t.from.After(t.begin) {
			hint = "it is valid only from then on: look at the clock, or list the one before until then"
		}
		return fmt.Sprintf("%s, serial %s, is not used before %s", t.file, t.serial, moment(t.begins())), hint
	case !last.ever() && now.Before(last.end):
		return fmt.Sprintf("%s, serial %s, is never used: its from is %s, and it ends %s", last.file, last.serial, moment(last.begins()), moment(last.ends())), "an earlier from, or a certificate that is valid then"
	}
	return fmt.Sprintf("%s, serial %s, ended %s", last.file, last.serial, moment(last.ends())), ""
}

// repeats finds a certificate that is listed twice for the same time.
func repeats(terms []term, now time.Time) (out []flaw) {
	for j, b := range terms {
		for _, a := range terms[:j] {
			if a.sum == b.sum && a.begins().Before(b.ends()) && b.begins().Before(a.ends()) && now.Before(b.ends()) {
				out = append(out, flaw{fmt.Sprintf("serial %s is listed twice: in %s, %s, and in %s, %s", a.serial, a.file, a.span(), b.file, b.span()), "remove one of the two"})
				break
			}
		}
	}
	return out
}

// shortLived finds a successor that ends before the one that it follows: from
// then on the older one would be used again. An until that is written is meant
// so. Where all are used, only a dated one is meant as a successor; authorities
// follow nobody.
func shortLived(use string, terms []term, now time.Time) (out []flaw) {
	for _, b := range terms {
		if !now.Before(b.ends()) || !b.until.IsZero() || use == UseTLSTrust || use == UseAuthority || !newestOnly(use) && b.from.IsZero() {
			continue
		}
		for _, a := range terms {
			if a.begins().Before(b.begins()) && b.begins().Before(a.ends()) && b.ends().Add(sameEnd).Before(a.ends()) {
				out = append(out, flaw{fmt.Sprintf("serial %s in %s, %s, ends before serial %s in %s, %s, which it follows", b.serial, b.file, b.span(), a.serial, a.file, a.span()),
					"take the longer one, or end the older one with until"})
				break
			}
		}
	}
	return out
}

// gaps finds the times between two certificates in which none is in force.
func gaps(terms []term, now time.Time) (out []flaw) {
	sorted := slices.Clone(terms)
	slices.SortStableFunc(sorted, func(a, b term) int { return a.begins().Compare(b.begins()) })
	var last *term // of those so far the one that ends last
	for i := range sorted {
		t := &sorted[i]
		if !t.begins().Before(t.ends()) {
			continue // never in force
		}
		if last != nil && t.begins().After(last.ends()) && t.begins().After(now) {
			out = append(out, flaw{fmt.Sprintf("none is in force from %s to %s: serial %s in %s ends, serial %s in %s begins later",
				moment(last.ends()), moment(t.begins()), last.serial, last.file, t.serial, t.file), "let the successor begin earlier: move its from, or get one that is valid earlier"})
		}
		if last == nil || t.ends().After(last.ends()) {
			last = t
		}
	}
	return out
}

// moment is an instant for people.
func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }
