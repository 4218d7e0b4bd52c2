package queue

import (
	"os"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// rows writes the table as docs/message-states.md does.
func rows() []string {
	var out []string
	for t, froms := range transitions {
		for from, tos := range froms {
			var names []string
			for _, s := range tos {
				names = append(names, string(s))
			}
			f := string(from)
			if f == "" {
				f = "∅"
			}
			out = append(out, "| "+string(t)+" | "+f+" | "+strings.Join(names, ", ")+" |")
		}
	}
	sort.Strings(out)
	return out
}

func TestDocumentedTransitionsEqualTheTable(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../docs/message-states.md")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range strings.Split(string(b), "\n") {
		if strings.HasPrefix(l, "| ") && !strings.HasPrefix(l, "| trigger") {
			got = append(got, l)
		}
	}
	sort.Strings(got)
	if d := cmp.Diff(rows(), got); d != "" {
		t.Errorf("docs/message-states.md differs from queue/transition.go (-code +docs)\n%s", d)
	}
}

func TestEveryTriggerHasAStep(t *testing.T) {
	t.Parallel()
	for trigger := range transitions {
		_, ok := steps[trigger]
		if byAdmit := trigger == OnAccept || trigger == OnRefuse; ok == byAdmit {
			t.Errorf("trigger %s: step %v", trigger, ok)
		}
	}
}

func TestTerminalStatesStay(t *testing.T) {
	t.Parallel()
	for trigger, froms := range transitions {
		for from, tos := range froms {
			for _, to := range tos {
				if from.Terminal() && from != to {
					t.Errorf("%s takes terminal %s to %s", trigger, from, to)
				}
			}
		}
	}
}
