package xmltree

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/beevik/etree"
)

// FuzzParse: what Parse takes has canonical forms that Parse takes again, and that
// are their own canonical forms. The guard agrees with what it has written.
func FuzzParse(f *testing.F) {
	for n := range uint64(20) {
		f.Add([]byte(madeDocument(n)))
		f.Add([]byte(spoiled(n)))
	}
	f.Add([]byte(selected))
	f.Add([]byte("<a xmlns:p='x y' p:b='1\r\n2'/>"))
	limits := Limits{Bytes: 1 << 16}
	wide := Limits{Bytes: 1 << 24, Depth: 100, Elements: 1 << 20, Attributes: 1 << 20, Scope: 1 << 20, Namespace: 1 << 24}
	f.Fuzz(func(t *testing.T, data []byte) {
		before := bytes.Clone(data)
		d, err := Parse(data, limits)
		if !bytes.Equal(data, before) {
			t.Fatal("Parse has changed what it read")
		}
		if err != nil {
			if !errors.Is(err, ErrSyntax) && !errors.Is(err, ErrDTD) && !errors.Is(err, ErrInstruction) && !errors.Is(err, ErrLimit) {
				t.Fatalf("an error of no kind: %v", err)
			}
			return
		}
		clean, err := guard(data, limits.withDefaults())
		if err != nil {
			t.Fatal(err)
		}
		if again, err := guard(clean, wide); err != nil || !bytes.Equal(again, clean) {
			t.Fatalf("the guard of its own output: %v\n%q\n%q", err, clean, again)
		}
		elements := Find(d.Root(), func(*etree.Element) bool { return true })
		for _, m := range []Method{{}, {Comments: true}, {Comments: true, Inclusive: true}, {Prefixes: []string{"#default", "a", "p"}}} {
			for _, e := range []*etree.Element{d.Root(), elements[len(elements)/2]} {
				fuzzForm(t, e, m, wide)
			}
		}
	})
}

func fuzzForm(t *testing.T, e *etree.Element, m Method, l Limits) {
	var once, twice bytes.Buffer
	if err := Canonical(&once, e, m); err != nil {
		if !relative(err) {
			t.Fatalf("no canonical form: %v", err)
		}
		return
	}
	d, err := Parse(once.Bytes(), l)
	if err != nil {
		t.Fatalf("the canonical form is not taken: %v\n%q", err, once.Bytes())
	}
	if err := CanonicalDocument(&twice, d, m); relative(err) {
		return // what was declared around the element is declared in it now
	} else if err != nil || !bytes.Equal(once.Bytes(), twice.Bytes()) {
		t.Fatalf("the canonical form has another one: %v\n%q\n%q", err, once.Bytes(), twice.Bytes())
	}
}

func relative(err error) bool {
	return errors.Is(err, ErrCanonical) && strings.Contains(err.Error(), "relative URI")
}
