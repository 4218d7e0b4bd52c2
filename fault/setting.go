package fault

import "errors"

// ErrPayload says that what is stored of a message cannot be read, or is not as
// long as it should be.
var ErrPayload = errors.New("stored document cannot be read")

// SettingError says which setting, key or certificate keeps a message from
// being built. Only a change of that makes the next try better.
type SettingError struct {
	Key     string // as in the partner's file: "as2.encrypt", "certificates.encrypt"; "keys" is the gateway's own
	Why     string // what is wrong, and with what
	Cause   Cause  // CauseKey: own key or certificate; CauseBuild: any other setting
	Suspect string // serial of the certificate, if one is at fault
}

// Error implements error.
func (e *SettingError) Error() string { return e.Key + ": " + e.Why }

// Local tells an error of building a message as facts: nothing was sent, and
// what must be mended first.
func Local(err error) Outcome {
	o := Outcome{Phase: PhaseNone, Cause: CauseBuild, Detail: err.Error()}
	var setting *SettingError
	switch {
	case errors.As(err, &setting):
		o.Cause, o.Suspect = setting.Cause, setting.Suspect
		if o.Suspect == "" {
			o.Suspect = setting.Key
		}
	case errors.Is(err, ErrPayload):
		o.Cause = CausePayload
	}
	return o
}
