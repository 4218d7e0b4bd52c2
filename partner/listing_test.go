package partner

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestListAddsOneEntryAndChangesNothingElse has one case for each way in which
// the lists of certificates may be written.
func TestListAddsOneEntryAndChangesNothingElse(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, text, want string }{
		{"a path", "certificates: {verify: a.pem}\n", "certificates: {verify: [a.pem, NEW]}\n"},
		{"a path, block", "certificates:\n  verify:   a.pem   # why\nlane: {}\n", "certificates:\n  verify:   [a.pem, NEW]   # why\nlane: {}\n"},
		{"a path in double quotes", "certificates:\n  verify: \"a #\\\" b.pem\" # why\n", "certificates:\n  verify: [\"a #\\\" b.pem\", NEW] # why\n"},
		{"a path in single quotes", "certificates: {'verify': 'it''s, a.pem'}\n", "certificates: {'verify': ['it''s, a.pem', NEW]}\n"},
		{"a path that needs quotes in a list", "certificates:\n  verify: a, [b].pem\n", "certificates:\n  verify: ['a, [b].pem', NEW]\n"},
		{"a path that is a number", "certificates: {verify: 12}\n", "certificates: {verify: [12, NEW]}\n"},
		{"a path with a blank", "certificates:\n  verify: my keys/a.pem\n", "certificates:\n  verify: [my keys/a.pem, NEW]\n"},
		{"no line end", "certificates:\n  verify: a.pem", "certificates:\n  verify: [a.pem, NEW]"},
		{"a section", "certificates: {verify: {file: a.pem, from: 2026-01-01}, encrypt: b}\n", "certificates: {verify: [{file: a.pem, from: 2026-01-01}, NEW], encrypt: b}\n"},
		{"a section, block", "certificates:\n  verify:\n    file: a.pem # 1\n    # 2\n\n    from: 2026-01-01\n  # 3\n  encrypt: b\n",
			"certificates:\n  verify:\n    - file: a.pem # 1\n      # 2\n\n      from: 2026-01-01\n    - NEW\n  # 3\n  encrypt: b\n"},
		{"a section, block, last and without line end", "certificates:\n  verify:\n    file: a.pem", "certificates:\n  verify:\n    - file: a.pem\n    - NEW"},
		{"a flow list", "certificates:\n  verify:  [{file: ü.pem}, {file: b, from: 2027-01-01}]  # both\n  encrypt: [c]\n",
			"certificates:\n  verify:  [{file: ü.pem}, {file: b, from: 2027-01-01}, NEW]  # both\n  encrypt: [c]\n"},
		{"a flow list over several lines", "certificates:\n  verify: [\n    a.pem, # one ]\n    \"b]\", 'c''}',\n    it's.pem # three\n  ]\n  encrypt: x\n",
			"certificates:\n  verify: [\n    a.pem, # one ]\n    \"b]\", 'c''}',\n    it's.pem, NEW # three\n  ]\n  encrypt: x\n"},
		{"a comma at the end", "certificates: {verify: [a.pem, ], }\n", "certificates: {verify: [a.pem, NEW ], }\n"},
		{"an empty flow list", "certificates: {verify: []}\n", "certificates: {verify: [NEW]}\n"},
		{"an empty flow list with a comment", "certificates:\n  verify: [ # none yet\n  ]\n", "certificates:\n  verify: [NEW # none yet\n  ]\n"},
		{"a block list", "certificates:\n  verify:\n    - a.pem # one\n    # two\n    - file: b.pem\n      from: 2027-01-01 # since\n\n  # theirs\n  encrypt: c\n",
			"certificates:\n  verify:\n    - a.pem # one\n    # two\n    - file: b.pem\n      from: 2027-01-01 # since\n    - NEW\n\n  # theirs\n  encrypt: c\n"},
		{"a block list as far left as its key", "certificates:\n  verify:\n  - a.pem\n  -   b.pem\n  encrypt: c\n", "certificates:\n  verify:\n  - a.pem\n  -   b.pem\n  - NEW\n  encrypt: c\n"},
		{"a block list at the end", "certificates:\n  verify:\n  - {file: a.pem,\n     from: 2026-01-01}", "certificates:\n  verify:\n  - {file: a.pem,\n     from: 2026-01-01}\n  - NEW"},
		{"an item below its dash", "certificates:\n  verify:\n    -\n      file: a.pem\n  encrypt: c\n", "certificates:\n  verify:\n    -\n      file: a.pem\n    - NEW\n  encrypt: c\n"},
		{"no value", "certificates:\n  verify:   # to come\n  encrypt: c\n", "certificates:\n  verify: NEW   # to come\n  encrypt: c\n"},
		{"no value, flow", "certificates: {verify: , encrypt: c}\n", "certificates: {verify: NEW , encrypt: c}\n"},
		{"null", "certificates: {verify: ~, encrypt: null}\n", "certificates: {verify: NEW, encrypt: null}\n"},
		{"the list missing", "certificates:\n  encrypt: # c\n    - c\n  # end\nlane: {}\n", "certificates:\n  encrypt: # c\n    - c\n  verify: NEW\n  # end\nlane: {}\n"},
		{"the list missing, flow", "certificates: {encrypt: [c], } # x\nlane: {}\n", "certificates: {encrypt: [c], verify: NEW } # x\nlane: {}\n"},
		{"an empty section", "certificates: {}\n", "certificates: {verify: NEW}\n"},
		{"a section without value", "certificates: # to come\nlane: {}\n", "certificates: {verify: NEW} # to come\nlane: {}\n"},
		{"the section missing", "protocol: as2\n# end\n", "protocol: as2\n# end\ncertificates:\n  verify: NEW\n"},
		{"the section missing, no line end", "protocol: as2", "protocol: as2\ncertificates:\n  verify: NEW"},
		{"the section missing behind a text of lines", "owner:\n  note: |\n    call them\n    # twice\n", "owner:\n  note: |\n    call them\n    # twice\ncertificates:\n  verify: NEW\n"},
		{"the section missing before the document's end", "---\nprotocol: as2\n...\n", "---\nprotocol: as2\ncertificates:\n  verify: NEW\n...\n"},
		{"the section missing, all indented", "  name: x\n  protocol: as2\n", "  name: x\n  protocol: as2\n  certificates:\n    verify: NEW\n"},
		{"the whole file in flow style", "{protocol: as2, lane: {rate: 1/s}}\n", "{protocol: as2, lane: {rate: 1/s}, certificates: {verify: NEW}}\n"},
		{"an empty file", "", "certificates:\n  verify: NEW\n"},
		{"only comments", "# nothing\n", "# nothing\ncertificates:\n  verify: NEW\n"},
		{"a like key elsewhere", "as2: {verify: no}\ncertificates:\n  encrypt: [verify]\n  verify: a\n", "as2: {verify: no}\ncertificates:\n  encrypt: [verify]\n  verify: [a, NEW]\n"},
		{"a byte order mark", "\xef\xbb\xbfcertificates: {verify: a}\n", "\xef\xbb\xbfcertificates: {verify: [a, NEW]}\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for _, e := range []entry{fileEntry("../keys/n.pem", ""), fileEntry("../keys/n.pem", "2027-01-01"), fileEntry("../my keys/n.pem", "2027-01-01T10:00:00Z")} {
				for _, end := range []string{"\n", "\r\n"} {
					got, err := list([]byte(strings.ReplaceAll(test.text, "\n", end)), listVerify, e)
					if err != nil {
						t.Fatalf("%s, %q: %v", e, end, err)
					}
					want := strings.ReplaceAll(strings.Replace(test.want, "NEW", string(e), 1), "\n", end)
					if test.text == "" || !strings.Contains(test.text, "\n") {
						got = []byte(strings.ReplaceAll(string(got), "\r\n", "\n"))
						want = strings.ReplaceAll(want, "\r\n", "\n") // no line tells how lines end
					}
					if diff := cmp.Diff(want, string(got)); diff != "" {
						t.Errorf("(-want +got):\n%s", diff)
					}
				}
			}
		})
	}
}

// TestListRefusesWhatItCannotEdit: better by hand than wrong.
func TestListRefusesWhatItCannotEdit(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"a path over several lines": "certificates:\n  verify: a\n    b.pem\n",
		"a folded path":             "certificates:\n  verify: >-\n    a.pem\n",
		"no section":                "certificates: a.pem\n",
		"a list for the section":    "certificates: [a.pem]\n",
	} {
		if got, err := list([]byte(text), listVerify, fileEntry("n.pem", "")); !errors.Is(err, errLayout) {
			t.Errorf("%s: %v\n%s", name, err, got)
		}
	}
	for name, text := range map[string]string{"broken": "certificates: {verify: [\n", "a list": "- a\n", "binary": "a\x00"} {
		if _, err := list([]byte(text), listVerify, fileEntry("n.pem", "")); err == nil {
			t.Errorf("%s: edited", name)
		}
	}
}
