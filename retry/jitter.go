package retry

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// JitterMode says how chance shortens or lengthens a wait.
type JitterMode uint8

// Jitter modes.
const (
	JitterFull         JitterMode = iota // anywhere from nothing to the whole wait
	JitterEqual                          // half of the wait, and anywhere up to the other half
	JitterProportional                   // the wait, plus or minus a ratio of it
	JitterNone                           // exactly the wait
)

// Jitter is a mode, with the ratio in (0, 1] if it is proportional. The zero
// Jitter is full.
type Jitter struct {
	Mode  JitterMode
	Ratio float64
}

// ParseJitter reads "full", "equal", "none" or a percentage such as "50%",
// which is proportional.
func ParseJitter(s string) (Jitter, error) {
	switch s {
	case "full":
		return Jitter{Mode: JitterFull}, nil
	case "equal":
		return Jitter{Mode: JitterEqual}, nil
	case "none":
		return Jitter{Mode: JitterNone}, nil
	}
	percent, found := strings.CutSuffix(s, "%")
	ratio, err := strconv.ParseFloat(percent, 64)
	j := Jitter{Mode: JitterProportional, Ratio: ratio / 100}
	if !found || err != nil || !j.valid() {
		return Jitter{}, fmt.Errorf("%q is no jitter: write full, equal, none, or a share from 1%% to 100%%", s)
	}
	return j, nil
}

// String is the form that ParseJitter reads.
func (j Jitter) String() string {
	switch j.Mode {
	case JitterFull:
		return "full"
	case JitterEqual:
		return "equal"
	case JitterNone:
		return "none"
	case JitterProportional:
		return strconv.FormatFloat(j.Ratio*100, 'g', 6, 64) + "%"
	}
	return fmt.Sprintf("jitter(%d)", uint8(j.Mode))
}

// MarshalText writes the form that ParseJitter reads.
func (j Jitter) MarshalText() ([]byte, error) { return []byte(j.String()), nil }

// UnmarshalText reads what ParseJitter reads.
func (j *Jitter) UnmarshalText(text []byte) error {
	parsed, err := ParseJitter(string(text))
	if err != nil {
		return err
	}
	*j = parsed
	return nil
}

func (j Jitter) valid() bool {
	if j.Mode == JitterProportional {
		return j.Ratio > 0 && j.Ratio <= 1
	}
	return j.Mode <= JitterNone
}

// apply is the wait d for chance rnd; at 1 it is the longest possible one.
func (j Jitter) apply(d time.Duration, rnd float64) time.Duration {
	var least, most float64
	switch j.Mode {
	case JitterFull:
		least, most = 0, 1
	case JitterEqual:
		least, most = 0.5, 1
	case JitterProportional:
		least, most = 1-j.Ratio, 1+j.Ratio
	default:
		return d
	}
	return time.Duration(float64(d) * (least + (most-least)*unit(rnd)))
}

// unit is rnd within [0, 1], whatever a caller gives.
func unit(rnd float64) float64 {
	if rnd > 0 { // false where it is not a number
		return min(rnd, 1)
	}
	return 0
}
