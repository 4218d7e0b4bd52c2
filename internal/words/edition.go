package words

import "strings"

// Replaces says what a new document does to earlier ones with the same
// reference. Empty if ids are none.
func Replaces(ids []string) string {
	switch len(ids) {
	case 0:
		return ""
	case 1:
		return "replaces " + ids[0] + ", which is not sent any more"
	}
	return "replaces " + strings.Join(ids, " and ") + ", which are not sent any more"
}
