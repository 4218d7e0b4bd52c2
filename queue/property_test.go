package queue

import "testing"

func TestPropertiesThatSayTheSame(t *testing.T) {
	t.Parallel()
	a, b, other := Property{"type", "order"}, Property{"no", "7"}, Property{"no", "8"}
	one := Properties{Message: []Property{a, b}, Part: []Property{b}}
	for name, c := range map[string]struct {
		with Properties
		want bool
	}{
		"themselves":       {one, true},
		"in another order": {Properties{Message: []Property{b, a}, Part: []Property{b}}, true},
		"another value":    {Properties{Message: []Property{a, other}, Part: []Property{b}}, false},
		"one fewer":        {Properties{Message: []Property{a}, Part: []Property{b}}, false},
		"one more":         {Properties{Message: []Property{a, b}, Part: []Property{b, a}}, false},
		"the other list":   {Properties{Message: []Property{b}, Part: []Property{a, b}}, false},
		"none":             {Properties{}, false},
	} {
		if one.Equal(c.with) != c.want || c.with.Equal(one) != c.want {
			t.Errorf("%s: not %v", name, c.want)
		}
	}
	if one.None() || !(Properties{}).None() || !(Properties{}).Equal(Properties{Message: []Property{}}) {
		t.Error("none is not told")
	}
}
