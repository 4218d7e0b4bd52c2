package queue

import "slices"

// Property is a name with its value, for the header of an AS4 message.
type Property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Properties are those that a document was handed in with, in the order in which
// they were given. Names are unique in each list.
type Properties struct {
	Message []Property `json:"message,omitempty"`
	Part    []Property `json:"part,omitempty"` // of each of its payloads
}

// None reports whether nothing was given.
func (p Properties) None() bool { return len(p.Message)+len(p.Part) == 0 }

// Equal reports whether both say the same, in whatever order: documents with
// other properties are other documents.
func (p Properties) Equal(other Properties) bool {
	return sameProperties(p.Message, other.Message) && sameProperties(p.Part, other.Part)
}

func sameProperties(a, b []Property) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(one Property) bool { return !slices.Contains(b, one) })
}
