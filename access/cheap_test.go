package access

// Cheap makes passwords cost next to nothing.
func Cheap(s *Service) { s.cost = cost{passes: 1, memory: 8, lanes: 1} }
