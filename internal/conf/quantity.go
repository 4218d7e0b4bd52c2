package conf

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// Size is a number of bytes such as 64KB, 2GB (powers of 1,000) or 64KiB
// (powers of 1,024).
type Size int64

var sizeUnits = []struct {
	name string
	size int64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1},
}

// UnmarshalText reads the notation.
func (s *Size) UnmarshalText(text []byte) error {
	for _, u := range sizeUnits {
		digits, ok := strings.CutSuffix(string(text), u.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseUint(strings.TrimSpace(digits), 10, 63)
		if err != nil {
			break
		}
		if int64(n) > math.MaxInt64/u.size {
			return errors.New("too large")
		}
		*s = Size(int64(n) * u.size)
		return nil
	}
	return errors.New("not a size such as 64KB, 500MB or 2GB")
}

// Notation names what may be written.
func (Size) Notation() string { return "size" }

// Rate is a number of events a second, written as 10/s, 600/m or 20/h.
type Rate float64

// UnmarshalText reads the notation; a rate is more than zero.
func (r *Rate) UnmarshalText(text []byte) error {
	n, per, ok := strings.Cut(string(text), "/")
	seconds := map[string]float64{"s": 1, "m": 60, "h": 3600}[per]
	count, err := strconv.ParseFloat(n, 64)
	if !ok || seconds == 0 || err != nil || !(count > 0 && count <= 1e6) {
		return errors.New("not a rate such as 10/s, 600/m or 20/h")
	}
	*r = Rate(count / seconds)
	return nil
}

// Notation names what may be written.
func (Rate) Notation() string { return "rate" }

// Share is a part of a whole, 0 to 1, written as 20%.
type Share float64

// UnmarshalText reads the notation.
func (s *Share) UnmarshalText(text []byte) error {
	digits, ok := strings.CutSuffix(string(text), "%")
	n, err := strconv.ParseFloat(digits, 64)
	if !ok || err != nil || !(n >= 0 && n <= 100) {
		return errors.New("not a share such as 20%")
	}
	*s = Share(n / 100)
	return nil
}

// Notation names what may be written.
func (Share) Notation() string { return "share" }
