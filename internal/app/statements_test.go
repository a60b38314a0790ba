package app_test

import (
	"context"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/config"
	"holdfast/internal/db"
	"holdfast/internal/demo"
	"holdfast/internal/testkit"
)

// beforeTenants are tables with tenants' rows that are asked before a tenant is
// known or for all at once: who somebody is, what tells of refusals, and what a
// node does in the background. Of no other table a request lifts the fence.
var beforeTenants = []string{"audit", "audit_heads", "audit_seals", "import_jobs", "members", "outbox", "settings", "sso_accounts",
	"sso_connections", "sso_domains", "sso_groups", "sso_names", "sso_requests", "tenants", "webhook_deliveries",
	"webhook_lanes", "webhooks"}

// unfenced are the tables with a column tenant_id and no row policy: a session is read before the tenant is known.
var unfenced = []string{"sessions"}

// The whole API is called as an administrator, and PostgreSQL's own log of it is
// read: each statement on a table that holds tenants' rows is one of a transaction
// that said before, for itself alone, whose rows it may see.
func TestEveryStatementInItsTenant(t *testing.T) {
	// In the folder above the data of every cluster of the tests.
	const size = "SELECT (pg_stat_file(current_setting('data_directory') || '/../log')).size"
	var from, to int64
	k := testkit.New(t, db.PostgreSQL, func(c *config.Config) {
		u, err := url.Parse(c.DatabaseURL)
		testkit.Must(t, err)
		side, err := pgx.Connect(t.Context(), c.DatabaseURL)
		testkit.Must(t, err)
		defer side.Close(context.Background())
		_, err = side.Exec(t.Context(), "ALTER DATABASE "+strings.Trim(u.Path,
			"/")+" SET log_statement = 'all'") // of the connections from now on
		testkit.Must(t, err)
		testkit.Must(t, side.QueryRow(t.Context(), size).Scan(&from))
	})
	side := connect(t, k)
	fenced := fencedTables(t, side)
	walk(t, k)
	var text string
	testkit.Must(t, side.QueryRow(t.Context(), size).Scan(&to))
	testkit.Must(t, side.QueryRow(t.Context(), "SELECT pg_read_file(current_setting('data_directory') || '/../log', $1, $2)", from, to-from).Scan(&text))
	seen, asked := 0, map[string]bool{}
	for s := range logged(text) {
		for _, m := range tableNamed.FindAllStringSubmatch(s.sql, -1) {
			if !fenced[m[1]] {
				continue
			}
			seen++
			asked[m[1]] = true
			its := s.tenant == demo.North || s.tenant == db.NoTenant // what a node has to do that is no tenant's
			if !its && !(s.all && slices.Contains(beforeTenants, m[1])) {
				t.Errorf("in a transaction of tenant %q, of all (%v): %s", s.tenant, s.all, s.sql)
			}
		}
	}
	t.Logf("%d times one of %d tables of %d", seen, len(asked), len(fenced))
	if seen < 500 || len(asked) < 70 {
		t.Errorf("only %d times a table of tenants was named, %d of %d tables", seen, len(asked), len(fenced))
	}
}

// fencedTables are those whose row policy binds their owner too: all that hold
// tenants' rows but those that are written down. Requests own none of them.
func fencedTables(t *testing.T, side *pgx.Conn) map[string]bool {
	t.Helper()
	rows, err := side.Query(t.Context(), `SELECT c.relname, c.relrowsecurity AND c.relforcerowsecurity, pg_has_role('holdfast_app', c.relowner, 'MEMBER')
		FROM pg_class c WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace AND (c.relname = 'tenants' OR EXISTS (
			SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'tenant_id' AND NOT a.attisdropped)) ORDER BY 1`)
	testkit.Must(t, err)
	fenced, open := map[string]bool{}, []string{}
	var name string
	var forced, owned bool
	_, err = pgx.ForEachRow(rows, []any{&name, &forced, &owned}, func() error {
		if fenced[name] = forced; !forced {
			open = append(open, name)
		}
		if owned {
			t.Errorf("the role of requests owns %s", name)
		}
		return nil
	})
	testkit.Must(t, err)
	if d := cmp.Diff(unfenced, open); d != "" {
		t.Errorf("tables with tenant_id and no forced row security (-want +got):\n%s", d)
	}
	var bound bool
	testkit.Must(t, side.QueryRow(t.Context(), "SELECT NOT (rolsuper OR rolbypassrls OR rolcreaterole) FROM pg_roles WHERE rolname = 'holdfast_app'").Scan(&bound))
	if !bound {
		t.Error("nothing binds the role of requests")
	}
	return fenced
}

// A loggedStatement is one of PostgreSQL's log, and what its transaction had said.
type loggedStatement struct {
	sql    string
	of     string // its transaction: begun by begin, or all that is sent before a Sync
	tenant string // whose rows it may see
	all    bool   // it may see all rows
}

var (
	logLine    = regexp.MustCompile(`(?m)^\d{4}-\d\d-\d\d \S+ \S+ \[(\d+)\] (\d*/\d*) ([A-Z]+):  `)
	logExecute = regexp.MustCompile(`^(?:execute \S+|statement): `)
	tableNamed = regexp.MustCompile(`\b(?:FROM|JOIN|UPDATE|INTO)\s+([a-z_]+)`)
	setting    = regexp.MustCompile(`set_config\('holdfast\.(\w+)', \$(\d), true\)`)
)

// logged gives the statements of a log in their order. Of each connection a line
// with the parameters comes right after its statement.
func logged(text string) func(yield func(loggedStatement) bool) {
	return func(yield func(loggedStatement) bool) {
		at := logLine.FindAllStringSubmatchIndex(text, -1)
		now, sets := map[string]*loggedStatement{}, map[string]map[string]string{} // by process
		for i, m := range at {
			end := len(text)
			if i+1 < len(at) {
				end = at[i+1][0]
			}
			pid, of, kind, said := text[m[2]:m[3]], text[m[4]:m[5]], text[m[6]:m[7]], text[m[1]:end]
			if kind != "LOG" && kind != "DETAIL" {
				continue // an error, with the statement that met it: its own line came before
			}
			if now[pid] == nil || now[pid].of != of {
				now[pid] = &loggedStatement{of: of}
			}
			if kind == "DETAIL" {
				now[pid].told(sets[pid], said)
				sets[pid] = nil
				continue
			}
			head := logExecute.FindString(said)
			if head == "" {
				continue
			}
			s := strings.TrimSpace(said[len(head):])
			if strings.Contains(s, "set_config(") {
				sets[pid] = map[string]string{}
				for _, c := range setting.FindAllStringSubmatch(s, -1) {
					sets[pid][c[1]] = c[2]
				}
				continue
			}
			out := *now[pid]
			out.sql = s
			if !yield(out) {
				return
			}
		}
	}
}

// What another connection's error says is no part of the statement before it.
func TestLogIsReadByConnection(t *testing.T) {
	const log = `2026-11-30 05:45:46.331 UTC [7] 3/12 LOG:  execute <unnamed>: SELECT set_config('holdfast.tenant_id', $1, true)
2026-11-30 05:45:46.331 UTC [7] 3/12 DETAIL:  Parameters: $1 = 'north'
2026-11-30 05:45:46.332 UTC [7] 3/12 LOG:  statement: commit
2026-11-30 05:45:46.332 UTC [9] 4/50520 ERROR:  canceling statement due to user request
2026-11-30 05:45:46.332 UTC [9] 4/50520 STATEMENT:  SELECT key
	FROM jobs
2026-11-30 05:45:46.333 UTC [9] 4/0 FATAL:  terminating connection due to administrator command
2026-11-30 05:45:46.334 UTC [7] 3/12 LOG:  execute st1: SELECT id
	FROM items
`
	var got []string
	for s := range logged(log) {
		got = append(got, s.tenant+": "+s.sql)
	}
	if d := cmp.Diff([]string{"north: commit", "north: SELECT id\n\tFROM items"}, got); d != "" {
		t.Errorf("statements (-want +got):\n%s", d)
	}
}

// told takes in the parameters of the settings that a transaction makes.
func (s *loggedStatement) told(sets map[string]string, parameters string) {
	for name, n := range sets {
		_, value, _ := strings.Cut(parameters, "$"+n+" = '")
		value, _, _ = strings.Cut(value, "'")
		switch name {
		case "tenant_id":
			s.tenant = value
		case "all_tenants":
			s.all = value == "on"
		}
	}
}

// walk sends each operation of the API with its example, reads and changes a
// record of each collection, and calls each function.
func walk(t *testing.T, k *testkit.Kit) {
	t.Helper()
	admin, begin := testkit.As(actor.Admin), time.Now()
	var doc documented
	k.Call(testkit.Request{Method: "GET", Path: "/openapi.json"}).JSON(t, &doc)
	for path, item := range doc.Paths {
		for method, raw := range item {
			var op documentedOperation
			if method != "servers" && method != "parameters" && speaks(path, method) && json.Unmarshal(raw, &op) == nil {
				try(t, k, strings.ToUpper(method), path, doc.example(op.Body))
			}
		}
	}
	for _, r := range catalog.Default().All() {
		var rows []struct{ ID string }
		path, others := "/v1/"+r.Name, ""
		if r.Name == "members" {
			others = "&email=neq." + admin // who is taken out of the tenant can go on with nothing
		}
		if r.Name == "settings" {
			others = "&section=neq.security" // without these an administrator needs a second factor
		}
		if got := k.Get(admin, path+"?limit=2&order=id"+others); got.Status != 200 ||
			json.Unmarshal(got.Body, &rows) != nil || len(rows) == 0 {
			continue
		}
		for method, where := range map[string]string{"GET": "/" + rows[0].ID, "PATCH": "?id=eq." + rows[0].ID,
			"DELETE": "/" + rows[0].ID} {
			q := testkit.Request{Method: method, Path: path + where, As: admin}
			if method == "PATCH" {
				q.Body = "{}"
			}
			if got := k.Call(q); got.Status >= 500 { // what may not be deleted is refused, some of it by the database
				t.Errorf("%s %s: %d %s", method, q.Path, got.Status, got.Body)
			}
		}
	}
	for _, fn := range k.App.Functions() {
		k.Call(testkit.Request{Method: fn.Methods[0], Path: "/functions/v1/" + fn.Name, As: admin})
	}
	id := k.Insert(t, admin, "zones", map[string]any{"code": "WALK", "name": "Walk"})
	for method, body := range map[string]any{"PATCH": `{"name":"Walked"}`, "GET": nil} {
		if r := k.Call(testkit.Request{Method: method, Path: "/v1/zones?id=eq." + id, As: admin,
			Body: body}); r.Status >= 300 {
			t.Errorf("%s a zone: %d %s", method, r.Status, r.Body)
		}
	}
	t.Logf("the walk took %s", time.Since(begin).Round(time.Millisecond))
}
