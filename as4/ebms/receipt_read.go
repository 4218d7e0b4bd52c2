package ebms

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/beevik/etree"

	"edigw/internal/xmltree"
)

// UserMessage is the copy of the eb:UserMessage in a receipt that shows no more
// than reception; nil if it holds none.
func (r *Receipt) UserMessage() *etree.Element {
	if list := xmltree.Children(r.Element, EB, "UserMessage"); len(list) > 0 {
		return list[0]
	}
	return nil
}

// NonRepudiation reports whether the receipt has an
// ebbp:NonRepudiationInformation, good or bad: its references must be compared.
func (r *Receipt) NonRepudiation() bool {
	return len(xmltree.Children(r.Element, EBBP, "NonRepudiationInformation")) > 0
}

// References are the parts that the receipt names, with their digests (AS4
// §5.1.8), at least one. Prefixes, white space, transforms and what else stands
// beside a ds:Reference do not matter. The error is ErrReceipt with the reason:
// without a signature none of this is proof.
func (r *Receipt) References() ([]Reference, error) {
	lists := xmltree.Children(r.Element, EBBP, "NonRepudiationInformation")
	switch {
	case len(lists) > 1:
		return nil, fmt.Errorf("%w: it has %d NonRepudiationInformation", ErrReceipt, len(lists))
	case len(lists) == 0 && r.UserMessage() != nil:
		return nil, fmt.Errorf("%w: it has no NonRepudiationInformation, only a copy of the UserMessage", ErrReceipt)
	case len(lists) == 0:
		return nil, fmt.Errorf("%w: it has no NonRepudiationInformation of namespace %s%s", ErrReceipt, EBBP, held(r.Element))
	}
	var list []Reference
	for _, part := range xmltree.Children(lists[0], EBBP, "MessagePartNRInformation") {
		references := xmltree.Children(part, DS, "Reference")
		if len(references) != 1 {
			return nil, fmt.Errorf("%w: a MessagePartNRInformation has %d ds:Reference, not one%s", ErrReceipt, len(references), held(part))
		}
		ref, err := readReference(references[0])
		if err != nil {
			return nil, err
		}
		list = append(list, ref)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%w: its NonRepudiationInformation names no part%s", ErrReceipt, held(lists[0]))
	}
	return list, nil
}

// held says what stands in an element instead of what should.
func held(e *etree.Element) string {
	list := e.ChildElements()
	if len(list) == 0 {
		return "; it is empty"
	}
	return "; it holds " + clean(QName{clip(xmltree.Space(list[0]), maxName), name(list[0])}.String(), 2*maxName+2)
}

// readReference reads a ds:Reference as it stands in a signature or a receipt.
// The error is ErrReceipt.
func readReference(e *etree.Element) (ref Reference, err error) {
	uri, _ := xmltree.Attr(e, "", "URI")
	ref.URI = trim(uri)
	if ref.URI == "" {
		return ref, fmt.Errorf("%w: a ds:Reference has no URI", ErrReceipt)
	}
	methods, values := xmltree.Children(e, DS, "DigestMethod"), xmltree.Children(e, DS, "DigestValue")
	if len(methods) != 1 || len(values) != 1 {
		return ref, fmt.Errorf("%w: the ds:Reference to %s has %d DigestMethod and %d DigestValue", ErrReceipt, shown(ref.URI), len(methods), len(values))
	}
	algorithm, _ := xmltree.Attr(methods[0], "", "Algorithm")
	ref.DigestMethod = trim(algorithm)
	text := strings.Join(strings.Fields(xmltree.Text(values[0])), "")
	ref.Value, err = base64.StdEncoding.DecodeString(text)
	if err != nil || len(ref.Value) == 0 || ref.DigestMethod == "" {
		return ref, fmt.Errorf("%w: the ds:Reference to %s has no digest that can be read", ErrReceipt, shown(ref.URI))
	}
	return ref, nil
}

// maxDifferences bounds how many differences Compare tells.
const maxDifferences = 5

// Compare holds the references of a receipt to those that were sent, as sets:
// URI, digest method and digest must be the same, their order does not matter.
// The error is ErrContent and names what is missing or other. Both must hold
// something: a receipt for a message that was not signed is no matter of
// digests.
func Compare(sent, got []Reference) error {
	if len(sent) == 0 || len(got) == 0 {
		return fmt.Errorf("%w: it names %d parts, %d were signed", ErrContent, len(got), len(sent))
	}
	var differences []string
	tell := func(format string, args ...any) { differences = append(differences, fmt.Sprintf(format, args...)) }
	was, is := byURI(sent), byURI(got)
	for _, s := range sent {
		switch others := is[s.URI]; {
		case slices.ContainsFunc(others, s.equal):
		case len(others) == 0:
			tell("it does not name %s", shown(s.URI))
		case others[0].DigestMethod != s.DigestMethod:
			tell("the digest of %s is by %s, sent was %s", shown(s.URI), shown(others[0].DigestMethod), shown(s.DigestMethod))
		default:
			tell("the digest of %s is %s, sent was %s", shown(s.URI), digest(others[0].Value), digest(s.Value))
		}
	}
	for _, g := range got {
		switch others := was[g.URI]; {
		case len(others) == 0:
			tell("it names %s, which was not sent", shown(g.URI))
		case !slices.ContainsFunc(others, g.equal) && slices.ContainsFunc(is[g.URI], others[0].equal):
			tell("it names %s once more, with the digest %s", shown(g.URI), digest(g.Value))
		}
	}
	if len(differences) == 0 {
		return nil
	}
	if n := len(differences); n > maxDifferences {
		differences = append(differences[:maxDifferences], fmt.Sprintf("and %d more", n-maxDifferences))
	}
	return fmt.Errorf("%w: %s", ErrContent, strings.Join(differences, "; "))
}

func byURI(list []Reference) map[string][]Reference {
	named := map[string][]Reference{}
	for _, r := range list {
		named[r.URI] = append(named[r.URI], r)
	}
	return named
}

func (r Reference) equal(o Reference) bool {
	return r.URI == o.URI && r.DigestMethod == o.DigestMethod && bytes.Equal(r.Value, o.Value)
}

func shown(uri string) string { return clean(uri, maxName) }

// digest writes a digest as it stands in the XML; one that is none is cut.
func digest(value []byte) string {
	if len(value) > 64 {
		return hex.EncodeToString(value[:8]) + "… (" + fmt.Sprint(len(value)) + " bytes)"
	}
	return base64.StdEncoding.EncodeToString(value)
}
