package lane

// LanesInMemory counts the lanes that the scheduler holds.
func (s *Scheduler) LanesInMemory() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.lines)
}
