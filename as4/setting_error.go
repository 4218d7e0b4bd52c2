package as4

import (
	"fmt"

	"edigw/fault"
)

func badSetting(key, why string, args ...any) error {
	return &fault.SettingError{Key: key, Why: fmt.Sprintf(why, args...), Cause: fault.CauseBuild}
}

func badKey(key, why string, args ...any) error {
	return &fault.SettingError{Key: key, Why: fmt.Sprintf(why, args...), Cause: fault.CauseKey}
}
