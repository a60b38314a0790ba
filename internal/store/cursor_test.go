package store_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/query"
)

// fillItems makes n items of one moment out of one, by statement.
func fillItems(b *testing.B, k *kit, n int) {
	k.must(as(north, actor.Manager), "POST", "items", "", `{"sku":"SEED","name":"Bolt","unit_cost":2.5}`)
	r, _ := k.cat.Get("items")
	var names, values []string
	for i := range r.Fields {
		name := r.Fields[i].Name
		names = append(names, name)
		switch name {
		case "id":
			name = "'0190c000-0000-7000-8000-' || substr('000000000000' || CAST(n.i AS text), -12)"
			if k.d.Engine() == db.PostgreSQL {
				name = "CAST('0190c000-0000-7000-8000-' || lpad(CAST(n.i AS text), 12, '0') AS uuid)"
			}
		case "sku":
			name = "'K-' || CAST(10000000 + n.i AS text)"
		default:
			name = "s." + name
		}
		values = append(values, name)
	}
	err := k.d.Write(db.Patient(context.Background(), 10*time.Minute), db.Scope{Tenant: north}, func(tx *db.Tx) error {
		tx.Queue("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < "+strconv.Itoa(n)+") INSERT INTO items ("+
			strings.Join(names, ", ")+") SELECT "+strings.Join(values,
			", ")+" FROM n CROSS JOIN items s WHERE s.tenant_id = $1 AND s.sku = 'SEED'",
			[]any{north}, nil)
		return tx.Flush()
	})
	if err != nil {
		b.Fatal(err)
	}
	if err := k.d.Analyze(context.Background(), "items"); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkCursor reads in turn the first page of 50 and one nine tenths into a
// list of HOLDFAST_CURSOR_ROWS items (20,000), by three orders: two of a key, one
// all of whose rows tie. It tells the medians of both and their ratio, which a
// busy machine leaves alone.
func BenchmarkCursor(b *testing.B) {
	n, err := strconv.Atoi(os.Getenv("HOLDFAST_CURSOR_ROWS"))
	if err != nil {
		n = 20_000
	}
	benchEach(b, func(b *testing.B, k *kit) {
		fillItems(b, k, n)
		deep := n / 10 * 9
		id := json.RawMessage(fmt.Sprintf(`"0190c000-0000-7000-8000-%012d"`, deep))
		made, _ := json.Marshal(query.FormatTime(k.now))
		for order, place := range map[string][]json.RawMessage{
			"id":         {id},
			"sku":        {json.RawMessage(fmt.Sprintf(`"K-%d"`, 10_000_000+deep))},
			"created_at": {made, id},
		} {
			b.Run(order, func(b *testing.B) {
				raw := "select=id,sku,name&order=" + order + "&limit=50"
				var took [2][]time.Duration
				for b.Loop() {
					for i, from := range [][]json.RawMessage{nil, place} {
						begun := time.Now()
						page(b, k, raw, from)
						took[i] = append(took[i], time.Since(begun))
					}
				}
				for i := range took {
					slices.Sort(took[i])
				}
				first, far := took[0][len(took[0])/2], took[1][len(took[1])/2]
				b.ReportMetric(float64(first.Nanoseconds()), "ns/first")
				b.ReportMetric(float64(far.Nanoseconds()), "ns/deep")
				b.ReportMetric(float64(far)/float64(first), "deep/first")
			})
		}
	})
}

func page(b *testing.B, k *kit, raw string, from []json.RawMessage) {
	b.Helper()
	req, err := query.Parse(raw)
	if err != nil {
		b.Fatal(err)
	}
	r, _ := k.cat.Get("items")
	m := as(north, actor.Manager)
	q, err := query.BindSelect(k.cat, m, r, req)
	if err != nil {
		b.Fatal(err)
	}
	q.Paged = true
	if from != nil {
		if err := q.From(from); err != nil {
			b.Fatal(err)
		}
	}
	res, err := k.s.Select(context.Background(), m, q)
	if err != nil || res.Count != 50 || len(res.Next) == 0 {
		b.Fatalf("%v %+v", err, res)
	}
}
