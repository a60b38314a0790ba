package chain

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"holdfast/internal/db"
	"holdfast/internal/testkit/dbtest"
)

// The rows of a batch are found by their key, however long the tenant's log is.
func TestLinksAreFoundByKey(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, o db.Options) {
		d := dbtest.Open(t, o)
		const tenant = "0190a000-0000-7000-8000-000000000001"
		explain := map[db.Engine]string{db.SQLite: "EXPLAIN QUERY PLAN ", db.PostgreSQL: "EXPLAIN "}[d.Engine()]
		err := d.Write(t.Context(), db.Scope{All: true}, func(tx *db.Tx) error {
			for range 1000 {
				tx.Queue("INSERT INTO audit (tenant_id, id, at, action, outcome) VALUES ($1, $2, $3, 'update', 'ok')",
					[]any{tenant, uuid.NewString(), time.Now()}, nil)
			}
			return tx.Flush()
		})
		if err == nil {
			err = d.Analyze(t.Context(), "audit")
		}
		if err != nil {
			t.Fatal(err)
		}
		var plan []string
		err = d.Read(t.Context(), db.Scope{Tenant: tenant}, func(tx *db.Tx) error {
			if d.Engine() == db.PostgreSQL { // of few rows it is cheap to read all
				for _, way := range []string{"hashjoin", "mergejoin", "seqscan"} {
					tx.Queue("SET LOCAL enable_"+way+" = off", nil, nil)
				}
			}
			return tx.Query(explain+linkRowsSQL, []any{tenant, `["` + tenant + `"]`}, func(r *db.Row) error {
				plan = append(plan, r.Text(r.Len()-1))
				return nil
			})
		})
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Join(plan, "\n")
		for engine, want := range map[db.Engine]string{db.SQLite: "(tenant_id=? AND id=?)",
			db.PostgreSQL: "AND (id = v.id))"} {
			if d.Engine() == engine && !strings.Contains(text, want) {
				t.Errorf("no %q in\n%s", want, text)
			}
		}
	})
}
