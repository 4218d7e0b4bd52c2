package conf

import (
	"strings"
	"unicode"
)

// Nearest is the word of choices that a slip of the finger may have turned
// into got, or "".
func Nearest(got string, choices []string) string {
	const longest = 64
	if len(got) > longest {
		return ""
	}
	plain := strings.NewReplacer("-", "", "_", "")
	got = plain.Replace(strings.ToLower(got))
	best, word := len(got)/3+1, ""
	for _, c := range choices {
		other := plain.Replace(strings.ToLower(c))
		if n := len(other) - len(got); n > best || -n > best {
			continue // no slip is so long, and choices may be thousands
		}
		if d := distance(got, other); d <= best && (word == "" || d < best) {
			best, word = d, c
		}
	}
	return word
}

// distance counts the insertions, deletions, replacements and swaps of
// neighbours that lead from a to b.
func distance(a, b string) int {
	var before, last []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last, row = last, row, make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(b)]
}

// beginning are the choices that got is the beginning of: a name without its
// version or kind, of which none is likelier than the others.
func beginning(got string, choices []string) (out []string) {
	for _, c := range choices {
		if strings.HasPrefix(strings.ToLower(c), strings.ToLower(got)) {
			out = append(out, c)
		}
	}
	return out
}

// hint names the choice that was probably meant, or those, else all of them. A
// number is no slip of another one.
func hint(got string, choices []string) string {
	if near := Nearest(got, choices); near != "" && strings.ContainsFunc(got, unicode.IsLetter) {
		if more := beginning(got, choices); len(more) > 1 {
			return "did you mean " + strings.Join(more, " or ") + "?"
		}
		return "did you mean " + near + "?"
	}
	return "one of: " + strings.Join(choices, ", ")
}
