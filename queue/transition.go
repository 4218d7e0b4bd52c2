package queue

import "fmt"

// Trigger names what happens to a message. An event is a row of the ledger; a
// trigger is what the transition table takes.
type Trigger string

// Triggers of the transition table.
const (
	OnAccept     Trigger = "accept"      // durable, the caller may forget it
	OnRefuse     Trigger = "refuse"      // turned away at the door
	OnStart      Trigger = "start"       // an exchange is about to begin
	OnResult     Trigger = "result"      // an exchange ended
	OnCrash      Trigger = "crash"       // the process that was sending is gone
	OnAck        Trigger = "ack"         // an acknowledgement came by itself
	OnAckOverdue Trigger = "ack-overdue" // none came in time
	OnDeadline   Trigger = "deadline"    // deliver_by passed before another attempt could start
	OnWarn       Trigger = "warn"        // warn_by passed
	OnBury       Trigger = "bury"        // the breaker opened, on_open: dead-letter
	OnFail       Trigger = "fail"        // cannot be built, or its record is damaged: our own side
	OnWithdraw   Trigger = "withdraw"    // the letter should not have been made: our own network
	OnReplay     Trigger = "replay"
	OnUndo       Trigger = "undo"   // within the seconds after a replay
	OnCancel     Trigger = "cancel" // an operator takes it out of the line
	OnSettle     Trigger = "settle" // closed on the partner's word
	OnDiscard    Trigger = "discard"
	OnRecheck    Trigger = "recheck"   // the stored receipt verifies now
	OnSupersede  Trigger = "supersede" // a newer edition takes its place
)

// transitions is the whole state machine of an outbound message: for each
// trigger and state the states that may follow. Whatever is not here cannot
// happen. docs/message-states.md is held equal to it by a test, and so are the
// CHECK constraints of the stores.
var transitions = map[Trigger]map[State][]State{
	OnAccept: {"": {Queued, Dead}},
	OnRefuse: {"": {Refused}},
	OnStart:  {Queued: {Sending}, Waiting: {Sending}},
	OnResult: {Sending: {Delivered, AwaitingAck, Queued, Waiting, Dead}},
	OnCrash:  {Sending: {Waiting, AwaitingAck, Dead}},
	OnAck: {
		Sending: {Sending, Delivered, Waiting, Dead}, AwaitingAck: {AwaitingAck, Delivered, Waiting, Dead},
		Queued: {Queued, Delivered, Dead}, Waiting: {Waiting, Delivered, Dead},
		Dead: {Dead, Delivered}, Delivered: {Delivered}, Superseded: {Superseded}, Discarded: {Discarded},
	},
	OnAckOverdue: {AwaitingAck: {Waiting, Dead}},
	OnDeadline:   {Queued: {Queued, Dead}, Waiting: {Waiting, Dead}},
	OnWarn:       {Queued: {Queued}, Waiting: {Waiting}},
	OnBury:       {Queued: {Dead}, Waiting: {Dead}},
	OnFail:       {Queued: {Dead}, Waiting: {Dead}, Sending: {Dead}, AwaitingAck: {Dead}},
	OnWithdraw:   {Dead: {Queued}},
	OnReplay:     {Dead: {Queued, Waiting}},
	OnUndo:       {Queued: {Dead}, Waiting: {Dead}},
	OnCancel:     {Queued: {Discarded, Dead}, Waiting: {Discarded, Dead}},
	OnSettle:     {Dead: {Delivered}},
	OnDiscard:    {Dead: {Discarded}},
	OnRecheck:    {Dead: {Delivered}},
	OnSupersede:  {Queued: {Superseded}, Waiting: {Superseded}, Dead: {Superseded}},
}

// MoveError says that a trigger does not fit a message's state. Callers answer
// it with 409: somebody else was faster.
type MoveError struct {
	Message string
	State   State
	Trigger Trigger
}

// Error names the message, its state and what was tried.
func (e *MoveError) Error() string {
	return fmt.Sprintf("message %s is %s: %s is not possible now", e.Message, e.State, e.Trigger)
}

// Allowed reports whether trigger t may take a message from one state to
// another.
func Allowed(t Trigger, from, to State) bool {
	for _, s := range transitions[t][from] {
		if s == to {
			return true
		}
	}
	return false
}

// Fits reports whether trigger t means anything to a message in state s.
func Fits(t Trigger, s State) bool { return len(transitions[t][s]) > 0 }

// Possible reports whether any trigger may take a message from one state to
// another; stores refuse every other change of state.
func Possible(from, to State) bool {
	for t := range transitions {
		if Allowed(t, from, to) {
			return true
		}
	}
	return false
}
