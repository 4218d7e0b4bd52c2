package sqlite

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"time"
)

// micros is how a time is stored: microseconds since 1970, 0 for the zero
// time. The range reaches beyond every year that can be written with four
// digits, which nanoseconds would not.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// instant reads a stored time, in UTC.
func instant(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

// moment reads a stored time into *t.
type moment struct{ t *time.Time }

// Scan is sql.Scanner.
func (m moment) Scan(src any) error {
	us, ok := src.(int64)
	if !ok {
		return fmt.Errorf("a time is stored as %T", src)
	}
	*m.t = instant(us)
	return nil
}

// object stores and reads a value as JSON; v is a pointer when reading. A nil
// pointer is stored as NULL, and NULL leaves *v as it is.
type object struct{ v any }

// Value is driver.Valuer.
func (o object) Value() (driver.Value, error) {
	b, err := json.Marshal(o.v)
	if err != nil || string(b) == "null" {
		return nil, err
	}
	return string(b), nil
}

// Scan is sql.Scanner.
func (o object) Scan(src any) error {
	switch src := src.(type) {
	case nil:
		return nil
	case string:
		return json.Unmarshal([]byte(src), o.v)
	case []byte:
		return json.Unmarshal(src, o.v)
	}
	return fmt.Errorf("an object is stored as %T", src)
}

// damage gathers what of a row cannot be read. Such a value stays zero and the
// rest of the row is good: one bad row must not hide all others of a list.
type damage struct{ text string }

// object reads a named column like the type object, but for its error.
func (d *damage) object(name string, v any) doubtful { return doubtful{object{v}, name, d} }

type doubtful struct {
	object
	name string
	d    *damage
}

// Scan is sql.Scanner.
func (x doubtful) Scan(src any) error {
	if err := x.object.Scan(src); err != nil {
		if x.d.text != "" {
			x.d.text += "; "
		}
		x.d.text += fmt.Sprintf("%s: %.100s", x.name, err)
	}
	return nil
}

// list stores a slice as JSON; an empty one is "[]", never NULL.
type list[T any] []T

// Value is driver.Valuer.
func (l list[T]) Value() (driver.Value, error) {
	if len(l) == 0 {
		return "[]", nil
	}
	b, err := json.Marshal([]T(l))
	return string(b), err
}
