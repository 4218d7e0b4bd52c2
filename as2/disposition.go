package as2

import (
	"errors"
	"strings"
)

// ErrDisposition says that a value is no disposition.
var ErrDisposition = errors.New("not a disposition: no disposition type")

// autoMode is the disposition mode of every MDN that we send: nobody looks at
// a message before it is answered (RFC 4130 §7.4.3).
const autoMode = "automatic-action/MDN-sent-automatically"

// Disposition is what an MDN says became of the message (RFC 4130 §7.4.3).
type Disposition struct {
	Mode     string // "automatic-action/MDN-sent-automatically", as received; may be empty
	Type     string // processed, failed; lower case
	Modifier string // error, failure, warning or empty; lower case
	Text     string // what follows the modifier, as received: "authentication-failed"
}

// ParseDisposition reads the value of a Disposition field. It takes any case,
// missing or extra blanks and a missing mode; a value without a disposition
// type is ErrDisposition.
func ParseDisposition(field string) (Disposition, error) {
	mode, rest, found := strings.Cut(field, ";")
	if !found {
		mode, rest = "", field // QUIRK(several): no mode
	}
	d := Disposition{Mode: strings.TrimSpace(mode)}
	state, text, _ := strings.Cut(rest, ":")
	kind, modifier, _ := strings.Cut(state, "/")
	d.Type = strings.ToLower(strings.TrimSpace(kind))
	d.Modifier = strings.ToLower(strings.TrimSpace(modifier))
	d.Text = strings.TrimSpace(text)
	if d.Type == "" || strings.ContainsAny(d.Type, " \t;") {
		return Disposition{}, ErrDisposition
	}
	return d, nil
}

// Positive reports whether the message was taken: processed, at most with a
// warning (RFC 4130 §7.5.5). Whatever we do not know is not positive.
func (d Disposition) Positive() bool {
	return d.Type == "processed" && (d.Modifier == "" || d.Modifier == "warning")
}

// State is the part behind the mode: "processed", "processed/error:
// decryption-failed".
func (d Disposition) State() string {
	s := d.Type
	if d.Modifier != "" {
		s += "/" + d.Modifier
	}
	if d.Text != "" {
		s += ": " + d.Text
	}
	return s
}

// String is the value of a Disposition field, with one blank behind each colon
// and semicolon.
func (d Disposition) String() string {
	state := d.State()
	if d.Mode == "" && !strings.Contains(state, ";") {
		return state
	}
	return d.Mode + "; " + state
}
