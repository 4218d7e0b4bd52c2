package main

import (
	"cmp"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"edigw/fault"
	"edigw/internal/testpki"
	"edigw/queue"
	"edigw/store/sqlite"
)

// crowd is an installation with very many letters: of every kind below, in
// turn, over all partners. The first partner has a tenth of them, of one outage.
type crowd struct {
	house
	partners, letters int
	seeded            time.Duration
}

// kinds are letters as the lanes write them, one of each; the crowd is made of
// their copies.
var kinds = []queue.Letter{
	{Reason: fault.ReasonCircuitOpen, Status: queue.LetterOpen, Outage: "OUT-1", Detail: "connection refused"},
	{Reason: fault.ReasonMaxAttempts, Status: queue.LetterOpen, Attempts: 7, Uncertain: true, Detail: "500"},
	{Reason: fault.ReasonSignature, Status: queue.LetterOpen, Attempts: 1, Cause: "decryption-failed", Detail: "no key for serial 4F:22"},
	{Reason: fault.ReasonRejected, Status: queue.LetterOpen, Attempts: 1, Detail: "400"},
	{Reason: fault.ReasonFormat, Status: queue.LetterOpen, Detail: "SE01 says 24, counted 23"},
	{Reason: fault.ReasonDeadline, Status: queue.LetterOpen, Attempts: 2, Overdue: true, Detail: "due 06:00"},
	{Reason: fault.ReasonReceiptMissing, Status: queue.LetterOpen, Attempts: 2, Uncertain: true, Detail: "no receipt within 60 min"},
	{Reason: fault.ReasonCircuitOpen, Status: queue.LetterOpen, Outage: "OUT-1", Detail: "connection refused"},
	{Reason: fault.ReasonRejected, Status: queue.LetterClosed, ClosedAs: queue.ClosedDelivered, Attempts: 1, Detail: "400"},
	{Reason: fault.ReasonFormat, Status: queue.LetterClosed, ClosedAs: queue.ClosedDiscarded, Detail: "SE01 says 24, counted 23"},
}

const idlePartner = `name: Partner %d
protocol: as2
as2: {id: PARTNER-%d, url: "https://as2-%d.northwind.example/as2", sign: sha256, encrypt: aes256-cbc, mdn: {mode: sync, signed: true}}
certificates:
  verify: [{file: ../keys/northwind.crt}]
  encrypt: [{file: ../keys/northwind.crt}]
retry: {base: 2s, attempts: 5}
`

// newCrowd makes the installation.
func newCrowd(t *testing.T, partners, letters int) crowd {
	t.Helper()
	c := crowd{newHouse(t, "ACME-AS2", testpki.SelfSigned(t, testpki.RSA(t, 0), "ACME-AS2", testpki.Valid())), partners, letters, 0}
	c.write(t, "keys/northwind.crt", string(testpki.SelfSigned(t, testpki.RSA(t, 1), "NORTHWIND", testpki.Valid()).CertPEM()))
	for i := range partners {
		c.partner(t, crowdPartner(i), fmt.Sprintf(idlePartner, i, i, i))
	}
	begin := time.Now()
	c.patterns(t)
	c.multiply(t)
	c.seeded = time.Since(begin)
	return c
}

func crowdPartner(i int) string { return fmt.Sprintf("partner-%05d", i) }

func crowdMessage(i int) string { return fmt.Sprintf("m%025d", i) }

// patterns records one letter of each kind as a lane does, with its message
// and what happened to it.
func (c crowd) patterns(t *testing.T) {
	t.Helper()
	s, err := sqlite.Open(t.Context(), filepath.Join(c.dir, "data"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	long := time.Now().Add(-20 * 24 * time.Hour)
	for i, l := range kinds {
		m := queue.Message{ID: fmt.Sprint("pattern-", i), Partner: crowdPartner(0), Lane: crowdPartner(0), Kind: queue.KindDocument, Direction: queue.Out, Protocol: "as2", Key: fmt.Sprint("pattern-", i),
			MessageID: fmt.Sprintf("<pattern-%d@edi.acme.example>", i), Source: "api", Actor: fault.Actor{Name: "erp"}, Payload: queue.Payload{SHA256: strings.Repeat("a", 64), Size: 1200, FileName: "invoice.edi"},
			Business: queue.Business{Kind: "x12", Type: "810"}, State: queue.Dead, Round: 1, Total: l.Attempts, Uncertain: l.Uncertain, Letter: fmt.Sprint("letter-", i), Accepted: long, Finished: long}
		if l.Status == queue.LetterClosed {
			m.Letter, m.State = "", queue.Delivered
			if l.ClosedAs == queue.ClosedDiscarded {
				m.State = queue.Discarded
			}
			l.Closed, l.Actor = long, fault.Actor{Name: "kim"}
		}
		l.ID, l.Message, l.Partner, l.Lane, l.Protocol, l.Direction, l.Created, l.First = fmt.Sprint("letter-", i), m.ID, m.Partner, m.Lane, "as2", queue.Out, long, long
		r := &queue.Result{Message: &m, Opened: &l, Events: []queue.Event{
			{At: long, Type: queue.EventDead, Partner: m.Partner, Lane: m.Lane, Message: m.ID, Letter: l.ID, Outage: l.Outage, Text: l.Detail},
			{At: long, Type: queue.EventReplay, Partner: m.Partner, Lane: m.Lane, Message: m.ID, Letter: l.ID, Actor: fault.Actor{Name: "kim"}, Text: "replay"},
		}}
		if i == 0 {
			r.Outage = &queue.Outage{ID: "OUT-1", Number: 1, Partner: m.Partner, Lane: m.Lane, Cause: fault.CauseRefused, Detail: l.Detail, Since: long}
			r.Events = append(r.Events, queue.Event{At: long, Type: queue.EventBreakerOpened, Partner: m.Partner, Lane: m.Lane, Outage: "OUT-1", Text: l.Detail})
		}
		if err := s.Record(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
}

// multiply copies the patterns in SQL, which takes minutes less than a
// gateway would. Triggers count as they always do; indices are made anew at the
// end.
func (c crowd) multiply(t *testing.T) {
	t.Helper()
	db, err := sql.Open("sqlite3", "file:"+filepath.Join(c.dir, "data", sqlite.FileName)+"?_synchronous=OFF&_journal_mode=WAL&_cache_size=-500000")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	run := func(query string, args ...any) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), query, args...); err != nil {
			t.Fatalf("%v\n%s", err, query)
		}
	}
	indices := named(t, db, "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL AND sql NOT LIKE '%UNIQUE%' ORDER BY rowid")
	run("BEGIN")
	for _, i := range indices {
		run("DROP INDEX " + i[0])
	}
	run("CREATE TEMP TABLE numbers (value INTEGER PRIMARY KEY, kind INTEGER, partner TEXT, outage TEXT, at INTEGER)")
	run(`WITH RECURSIVE n (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < ?1)
		INSERT INTO numbers SELECT value, value % ?2, printf('partner-%05d', iif(value % 10 = 7, 0, value / ?2 % ?3)), iif(value % 10 = 7, 'OUT-1', printf('OUT-%d', 2 + value / ?2 % ?3)), ?4 + value * ?5 FROM n`,
		c.letters, len(kinds), c.partners, time.Now().Add(-10*24*time.Hour).UnixMicro(), (9*24*time.Hour).Microseconds()/int64(c.letters))
	run(`INSERT INTO outages (number, id, partner, lane, cause, status, detail, since, answering, recovered, ended, withdrawn)
		SELECT CAST(substr(n.outage, 5) AS INTEGER), n.outage, n.partner, n.partner, o.cause, 0, o.detail, min(n.at), 0, 0, 0, 0 FROM numbers AS n JOIN outages AS o ON o.id = 'OUT-1'
		WHERE n.kind = 0 AND n.outage <> 'OUT-1' GROUP BY n.outage`)
	for _, c := range []struct {
		table, pattern string
		own            map[string]string
	}{
		{"messages", "t.id = 'pattern-' || n.kind", map[string]string{"seq": "value + 1000", "id": "printf('m%025d', value)", "partner": "n.partner", "lane": "n.partner", "key": "'INV-' || value", "message_id": "'<' || value || '@edi.acme.example>'",
			"bare_id": "value || '@edi.acme.example'", "letter": "iif(t.letter = '', '', printf('l%025d', value))", "accepted": "n.at", "finished": "n.at", "sha256": "printf('%064d', value)"}},
		{"letters", "t.id = 'letter-' || n.kind", map[string]string{"n": "value + 1000", "id": "printf('l%025d', value)", "message": "printf('m%025d', value)", "seq": "value + 1000", "partner": "n.partner", "lane": "n.partner",
			"outage": "iif(t.outage = '', '', n.outage)", "created": "n.at", "first": "n.at"}},
		{"events", "t.message = 'pattern-' || n.kind", map[string]string{"id": "NULL", "partner": "n.partner", "lane": "n.partner", "message": "printf('m%025d', value)", "letter": "printf('l%025d', value)", "outage": "iif(t.outage = '', '', n.outage)", "at": "n.at"}},
	} {
		columns := named(t, db, "SELECT name, 't.' || name FROM pragma_table_info('"+c.table+"')")
		var names, values []string
		for _, column := range columns {
			names = append(names, column[0])
			values = append(values, cmp.Or(c.own[column[0]], column[1]))
		}
		run(fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM numbers AS n CROSS JOIN %s AS t WHERE %s", c.table, strings.Join(names, ", "), strings.Join(values, ", "), c.table, c.pattern))
	}
	run("INSERT INTO refs (value, seq) SELECT 'INV-' || value, value + 1000 FROM numbers ORDER BY 1")
	for _, i := range indices {
		run(i[1])
	}
	run("COMMIT")
}

// named reads pairs of texts.
func named(t *testing.T, db *sql.DB, query string) (all [][2]string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var pair [2]string
		if err := rows.Scan(&pair[0], &pair[1]); err != nil {
			t.Fatal(err)
		}
		all = append(all, pair)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}
