package sqlite

import (
	"strings"
	"testing"
)

// However long a history is, the rows that are read are those that are given.
func TestHistoryReadsNoMoreThanItGives(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	audit := where{}
	audit.add("actor <> ''")
	audit.equal("partner", "p")
	for name, c := range map[string]struct {
		query string
		args  []any
		want  string
	}{
		"of a partner":               {historyOfPartner, []any{"p", "t", 20}, "SEARCH events USING INDEX events_partner (partner=? AND type=?"},
		"of an outage":               {historyOfOutage, []any{"o", "t", 20}, "SEARCH events USING INDEX events_outage (outage=? AND type=?"},
		"audit entries of a partner": {auditTable.query(audit), append(audit.args, 100), "SEARCH events USING INDEX events_audit_partner (partner=?"},
	} {
		if text := plan(t, s, c.query, c.args...); !strings.Contains(text, c.want) || strings.Contains(text, "TEMP B-TREE") {
			t.Errorf("%s: plan is\n%s\nwant %s and no sorting", name, text, c.want)
		}
	}
}
