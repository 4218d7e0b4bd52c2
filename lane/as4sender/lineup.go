package as4sender

import "container/heap"

// lineup is partners who wait to be asked, with the places that there are for
// them. It is guarded by Fetcher.mu.
type lineup struct {
	agenda  agenda
	most    int
	running int
}

// waits reports whether somebody waits for whom there is a place.
func (l *lineup) waits() bool { return len(l.agenda) > 0 && l.running < l.most }

// add has a partner wait until he is due.
func (l *lineup) add(p *fetched) {
	p.line = l
	heap.Push(&l.agenda, p)
}

// next takes the partner who is due first, and a place for him.
func (l *lineup) next() *fetched {
	p := heap.Pop(&l.agenda).(*fetched)
	p.line = nil
	l.running++
	return p
}

// leave takes a partner out of the line where he stands, if he does.
func (p *fetched) leave() {
	if p.line != nil {
		heap.Remove(&p.line.agenda, p.index)
		p.line = nil
	}
}

// agenda is a heap of partners by due.
type agenda []*fetched

func (a agenda) Len() int { return len(a) }
func (a agenda) Less(i, j int) bool {
	if a[i].due.Equal(a[j].due) {
		return a[i].id < a[j].id
	}
	return a[i].due.Before(a[j].due)
}
func (a agenda) Swap(i, j int) {
	a[i], a[j] = a[j], a[i]
	a[i].index, a[j].index = i, j
}

// Push is heap.Interface's.
func (a *agenda) Push(x any) {
	p := x.(*fetched)
	p.index = len(*a)
	*a = append(*a, p)
}

// Pop is heap.Interface's.
func (a *agenda) Pop() any {
	old := *a
	p := old[len(old)-1]
	old[len(old)-1] = nil
	*a = old[:len(old)-1]
	return p
}
