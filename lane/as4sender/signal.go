package as4sender

import (
	"edigw/as2"
	"edigw/as4"
	"edigw/lane/wire"
	"edigw/queue"
)

// Signal tells what a kept receipt or error says, under today's certificates and
// settings; the verdict of its time stands in the attempt. builds are all those
// of m.
func (s *Sender) Signal(m queue.Message, builds []queue.Build, kept as2.Receipt) as4.Signal {
	p, err := s.Settings().AcknowledgingPMode(m.Partner, wire.FirstSent(builds, m.Accepted), s.Now())
	if err != nil {
		p = as4.PMode{} // the partner's file is gone: it is told all the same
	}
	_, signal := as4.VerifySignal(kept.Header, kept.Body, renditions(builds, ""), p, s.Now())
	return signal
}
