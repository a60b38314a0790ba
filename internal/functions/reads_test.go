package functions_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/functions"
	"holdfast/internal/testkit/dbtest"
)

// A kept answer is dropped when a collection that it was made of changes: every
// cached function names all it reads. What that is, the statements say that it
// runs, and for the counters, of which all are read at once, whether the answer
// changes with them.
func TestCachedFunctionsNameWhatTheyRead(t *testing.T) {
	o := dbtest.Options(t, db.PostgreSQL)
	o.PoolSize = 1 // the connection that is asked is the one that ran them
	k := open(t, o)
	fill(k)
	cached := 0
	for _, f := range k.table {
		if f.TTL == 0 {
			continue
		}
		cached++
		reads := map[string]bool{}
		for _, k.as = range []actor.Actor{{UserID: ada, TenantID: north, Role: actor.Owner},
			{UserID: bo, TenantID: north, Role: actor.Operator}} {
			if len(f.Roles) > 0 && !slices.Contains(f.Roles, k.as.Role) {
				continue
			}
			for _, params := range forms(f.In) {
				before := statements(k)
				k.bytes(f.Name, params)
				for sql, n := range statements(k) {
					if n > before[sql] {
						maps.Copy(reads, tables(sql))
					}
				}
				if reads["counters"] {
					maps.Copy(reads, counted(k, &f, params))
				}
			}
		}
		delete(reads, "counters")
		if len(reads) == 0 {
			t.Errorf("%s reads nothing", f.Name)
		}
		for name := range reads {
			if !slices.Contains(f.Reads, name) {
				t.Errorf("%s reads %s and does not say so", f.Name, name)
			}
		}
	}
	if cached == 0 {
		t.Error("no function is kept")
	}
}

// forms are the parameters without which, and with each switch of which, a
// function is called.
func forms(in any) []string {
	out := []string{""}
	for _, f := range reflect.VisibleFields(reflect.TypeOf(in)) {
		if f.Type.Kind() == reflect.Bool {
			out = append(out, f.Tag.Get("query")+"=true")
		}
	}
	return out
}

// statements is how often the connection has run each statement it has prepared.
func statements(k *kit) map[string]int64 {
	k.Helper()
	out := map[string]int64{}
	if err := k.d.Read(context.Background(), db.Scope{All: true}, func(tx *db.Tx) error {
		return tx.Query("SELECT statement, generic_plans + custom_plans FROM pg_prepared_statements", nil,
			func(r *db.Row) error {
				out[r.Text(0)] = r.Int(1)
				return nil
			})
	}); err != nil {
		k.Fatal(err)
	}
	return out
}

var (
	fromTable   = regexp.MustCompile(`\b(?:FROM|JOIN) ([a-z_]+)`)
	timedByName = regexp.MustCompile(`FROM timed_counters WHERE tenant_id = \$1 AND name = '([a-z_]+)'`)
)

// belongs are tables whose rows change with those of a collection alone.
var belongs = map[string]string{"incident_entities": "incidents", "predictive_scores": "score_runs"}

// tables are the collections that a statement reads: what a timed counter counts
// stands for it.
func tables(sql string) map[string]bool {
	out := map[string]bool{}
	for _, m := range fromTable.FindAllStringSubmatch(sql, -1) {
		if _, known := catalog.Default().Get(m[1]); known || m[1] == "counters" || belongs[m[1]] != "" {
			out[cmp.Or(belongs[m[1]], m[1])] = true
		}
	}
	for _, m := range timedByName.FindAllStringSubmatch(sql, -1) {
		for _, r := range catalog.Default().All() {
			if slices.ContainsFunc(r.Counters, func(c catalog.Counter) bool { return c.Name == m[1] }) {
				out[r.Name] = true
			}
		}
	}
	return out
}

// counted are the collections whose totals go into an answer: it is another
// where they are.
func counted(k *kit, f *functions.Function, params string) map[string]bool {
	k.Helper()
	out := map[string]bool{}
	set := func(sql string, args ...any) {
		k.Helper()
		if err := k.d.Write(context.Background(), db.Scope{All: true},
			func(tx *db.Tx) error { _, err := tx.Exec(sql, args...); return err }); err != nil {
			k.Fatal(err)
		}
	}
	was := string(k.bytes(f.Name, params))
	for _, r := range catalog.Default().All() {
		for i, name := range totals(r) {
			set("INSERT INTO counters (tenant_id, name, slot, delta) VALUES ($1, $2, $3, $4)", north, name,
				fmt.Sprintf("0190c000-0000-7000-8000-%012d", i), 7)
		}
		if string(k.bytes(f.Name, params)) != was {
			out[r.Name] = true
		}
		set("DELETE FROM counters WHERE CAST(slot AS text) LIKE '0190c000-%'")
	}
	return out
}

// totals are the names under which a collection's records are counted.
func totals(r *catalog.Resource) []string {
	var out []string
	for _, c := range r.Counters {
		if c.At != "" {
			continue
		}
		names := []string{c.Name}
		for _, by := range c.By {
			var longer []string
			for _, n := range names {
				for _, part := range append(choices(r, by), "true", "false") {
					longer = append(longer, n+":"+part)
				}
			}
			names = longer
		}
		out = append(out, names...)
	}
	return out
}

func choices(r *catalog.Resource, field string) []string {
	for _, f := range r.Fields {
		if f.Name == field {
			return slices.Clone(f.OneOf)
		}
	}
	return nil
}
