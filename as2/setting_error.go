package as2

import (
	"errors"
	"fmt"

	"edigw/fault"
)

// ErrPayload says that the stored document cannot be read, or is not as long as
// the Document says.
var ErrPayload = errors.New("stored document cannot be read")

// SettingError says which setting, key or certificate keeps a message from
// being built. Only a change of that makes the next try better.
type SettingError struct {
	Key     string      // as in the partner's file: "as2.encrypt", "certificates.encrypt"; "keys" is the gateway's own
	Why     string      // what is wrong, and with what
	Cause   fault.Cause // CauseKey: own key or certificate; CauseBuild: any other setting
	Suspect string      // serial of the certificate, if one is at fault
}

// Error implements error.
func (e *SettingError) Error() string { return e.Key + ": " + e.Why }

func badSetting(key, why string, args ...any) error {
	return &SettingError{Key: key, Why: fmt.Sprintf(why, args...), Cause: fault.CauseBuild}
}

func badKey(key, why string, args ...any) error {
	return &SettingError{Key: key, Why: fmt.Sprintf(why, args...), Cause: fault.CauseKey}
}

// BuildOutcome tells an error of Build as facts: nothing was sent, and what
// must be mended first.
func BuildOutcome(err error) fault.Outcome {
	o := fault.Outcome{Phase: fault.PhaseNone, Cause: fault.CauseBuild, Detail: err.Error()}
	var setting *SettingError
	switch {
	case errors.As(err, &setting):
		o.Cause, o.Suspect = setting.Cause, setting.Suspect
		if o.Suspect == "" {
			o.Suspect = setting.Key
		}
	case errors.Is(err, ErrPayload):
		o.Cause = fault.CausePayload
	}
	return o
}
