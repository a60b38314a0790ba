package programme_test

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/safety"
	"holdfast/internal/testkit/dbtest"
)

// The size of the measure: 100,000 workers, a million incidents and a million
// shifts over 90 days.
const (
	benchEntities = 100_000
	benchEvents   = 1_000_000
)

func benchID(kind string, n int) string { return fmt.Sprintf("0190e000-%s-7000-8000-%012d", kind, n) }

// bulk writes rows of a table in statements of many.
func (k *kit) bulk(table string, cols []safety.Column, n int, row func(i int) []any) {
	const step = 100_000
	for from := 0; from < n; from += step {
		err := k.d.Write(context.Background(), db.Scope{Tenant: north}, func(tx *db.Tx) error {
			rows := safety.NewRows(tx, table, cols, "")
			for i := from; i < min(from+step, n); i++ {
				if err := rows.Add(row(i)...); err != nil {
					return err
				}
			}
			return rows.Send()
		})
		if err != nil {
			k.Fatal(explain(err))
		}
	}
}

func uuidCol(n string) safety.Column { return safety.Column{Name: n, Type: "uuid"} }
func textCol(n string) safety.Column { return safety.Column{Name: n, Type: "text"} }
func intCol(n string) safety.Column  { return safety.Column{Name: n, Type: "bigint"} }
func timeCol(n string) safety.Column { return safety.Column{Name: n, Type: "timestamptz"} }

func (k *kit) crowd() {
	at := func(i int) time.Time { return k.now.Add(-time.Duration(i%(90*24*3600)) * time.Second) }
	k.bulk("workers", []safety.Column{uuidCol("tenant_id"), uuidCol("id"), textCol("employee_no"), textCol("name"), textCol("employment"), textCol("status"), timeCol("created_at"),
		timeCol("updated_at"), intCol("version")}, benchEntities, func(i int) []any {
		return []any{north, benchID("0001", i), fmt.Sprint("N", i), "W", "employee", "active", k.now, k.now, 1}
	})
	kinds := []string{"near_miss", "hazard", "near_miss", "injury", "property_damage"}
	k.bulk("incidents", []safety.Column{uuidCol("tenant_id"), uuidCol("id"), textCol("kind"), textCol("severity"), textCol("status"), textCol("title"), timeCol("occurred_at"),
		timeCol("reported_at"), {Name: "anonymous", Type: "boolean"}, textCol("entities"), textCol("category_tags"), textCol("attachments"), textCol("root_causes"),
		timeCol("created_at"), timeCol("updated_at"), intCol("version")}, benchEvents, func(i int) []any {
		return []any{north, benchID("0002", i), kinds[i%5], "low", "closed", "x", at(i * 7), at(i * 7), true, "[]", "[]", "[]", "[]", k.now, k.now, 1}
	})
	k.bulk("incident_entities", []safety.Column{uuidCol("tenant_id"), uuidCol("incident_id"), textCol("entity_type"), uuidCol("entity_id"), timeCol("at"), textCol("kind"), textCol("severity")},
		benchEvents, func(i int) []any {
			return []any{north, benchID("0002", i), "worker", benchID("0001", i*7919%benchEntities), at(i * 7), kinds[i%5], "low"}
		})
	k.bulk("shifts", []safety.Column{uuidCol("tenant_id"), uuidCol("id"), uuidCol("worker_id"), timeCol("started_at"), timeCol("ended_at"), intCol("break_minutes"), intCol("hours"),
		intCol("units_done"), textCol("source"), textCol("status"), timeCol("created_at"), timeCol("updated_at"), intCol("version")}, benchEvents, func(i int) []any {
		return []any{north, benchID("0003", i), benchID("0001", i*104729%benchEntities), at(i * 7).Add(-8 * time.Hour), at(i * 7), 30, 75_000, 4_500_000, "clock", "approved", k.now, k.now, 1}
	})
	if err := k.d.Analyze(context.Background(), "workers", "incidents", "incident_entities", "shifts"); err != nil {
		k.Fatal(err)
	}
}

// oneStatement reads the same rows in one statement: two grouped index scans
// joined to the entities.
const oneStatement = "SELECT w.id, i.n, i.m, s.h, s.u FROM workers w " +
	"LEFT JOIN (SELECT entity_id, COUNT(*) FILTER (WHERE kind NOT IN ('near_miss', 'hazard')) AS n, COUNT(*) FILTER (WHERE kind IN ('near_miss', 'hazard')) AS m " +
	"FROM incident_entities WHERE tenant_id = $1 AND entity_type = 'worker' AND at > $2 AND at <= $3 GROUP BY entity_id) i ON i.entity_id = w.id " +
	"LEFT JOIN (SELECT worker_id, SUM(hours) AS h, SUM(units_done) AS u FROM shifts WHERE tenant_id = $1 AND ended_at > $2 AND ended_at <= $3 GROUP BY worker_id) s ON s.worker_id = w.id " +
	"WHERE w.tenant_id = $1"

// BenchmarkScores measures the scores of 100,000 workers against the one
// statement that reads the same rows (goal: at most three times its time,
// less than 200 MB), and the compliance scan after it.
func BenchmarkScores(b *testing.B) {
	for engine, o := range map[string]db.Options{"sqlite": dbtest.Options(b, db.SQLite), "postgresql": dbtest.Options(b, db.PostgreSQL)} {
		if only := os.Getenv("ENGINE"); only != "" && only != engine {
			continue
		}
		k := open(b, o)
		k.crowd()
		b.Run(engine+"/sql", func(b *testing.B) {
			for range b.N {
				n := 0
				err := k.d.Read(context.Background(), db.Scope{Tenant: north}, func(tx *db.Tx) error {
					return tx.Query(oneStatement, []any{north, k.now.AddDate(0, 0, -30), k.now}, func(r *db.Row) error { n++; return nil })
				})
				if err != nil || n != benchEntities {
					b.Fatal(n, err)
				}
			}
		})
		b.Run(engine+"/scores", func(b *testing.B) {
			peak := watch()
			for range b.N {
				out, err := k.ask("calculate-predictive-safety-scores", `{"entity_type":"worker"}`)
				if err != nil {
					b.Fatal(explain(err))
				}
				b.SetBytes(int64(len(out)))
			}
			b.ReportMetric(peak(), "MB-peak")
		})
		b.Run(engine+"/one", func(b *testing.B) {
			for i := range b.N {
				if _, err := k.ask("calculate-predictive-safety-scores", `{"entity_type":"worker","entity_id":"`+benchID("0001", i%1000)+`"}`); err != nil {
					b.Fatal(explain(err))
				}
			}
		})
		err := k.d.Write(context.Background(), db.Scope{Tenant: north}, func(tx *db.Tx) error { return safety.SeedRegulations(tx, k.s, north) })
		if err != nil {
			b.Fatal(err)
		}
		b.Run(engine+"/compliance", func(b *testing.B) {
			peak := watch()
			for range b.N {
				if _, err := k.ask("check-compliance-rules", ""); err != nil {
					b.Fatal(explain(err))
				}
			}
			b.ReportMetric(peak(), "MB-peak")
		})
	}
}

// watch samples the heap until its result is called, which gives the most it
// held beyond the beginning, in MB.
func watch() func() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	base, most := m.HeapAlloc, uint64(0)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			case <-time.After(10 * time.Millisecond):
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				most = max(most, m.HeapAlloc)
			}
		}
	}()
	return func() float64 {
		close(stop)
		<-done
		return float64(most-min(most, base)) / 1e6
	}
}
