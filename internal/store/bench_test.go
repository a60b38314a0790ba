package store_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/testkit/pgtest"
)

func benchEach(b *testing.B, f func(b *testing.B, k *kit)) {
	for _, engine := range []string{"sqlite", "postgres"} {
		b.Run(engine, func(b *testing.B) {
			o := db.Options{Migrate: true, Dir: b.TempDir()}
			if engine == "postgres" {
				o = db.Options{Migrate: true, URL: pgtest.DSN(b)}
			}
			f(b, openKit(b, o))
		})
	}
}

func fillOrders(k *kit, n int) {
	m := as(north, actor.Manager)
	for i := 0; i < n; i += 1000 {
		var s strings.Builder
		for j := 0; j < 1000; j++ {
			fmt.Fprintf(&s, `,{"order_no":"B-%d","priority":%d,"party_name":"Party %d","promised_at":"2026-03-%02dT10:00:00Z","carrier":"UPS"}`, i+j, 1+j%5, j, 1+j%28)
		}
		k.must(m, "POST", "orders", "", "["+s.String()[1:]+"]")
	}
}

const benchPage = "orders?select=id,order_no,status,priority,party_name,promised_at,carrier,total_value,created_at,updated_at" +
	"&status=eq.draft&order=id.desc&limit=50"

// BenchmarkList reads a page of 50 rows of 10 columns through the grammar and
// the store.
func BenchmarkList(b *testing.B) {
	benchEach(b, func(b *testing.B, k *kit) {
		fillOrders(k, 5000)
		m := as(north, actor.Manager)
		b.ReportAllocs()
		for b.Loop() {
			k.must(m, "GET", benchPage, "", "")
		}
	})
}

// BenchmarkListByHand is the same page by a hand-written statement, its limit.
func BenchmarkListByHand(b *testing.B) {
	benchEach(b, func(b *testing.B, k *kit) {
		fillOrders(k, 5000)
		b.ReportAllocs()
		for b.Loop() {
			var out []byte
			err := k.d.Read(context.Background(), db.Scope{Tenant: north}, func(tx *db.Tx) error {
				return tx.Query("SELECT id, order_no, status, priority, party_name, promised_at, carrier, total_value, created_at, updated_at FROM orders WHERE "+
					"tenant_id = $1 AND status = $2 ORDER BY id DESC LIMIT 50",
					[]any{north, "draft"}, func(r *db.Row) error {
						for i, f := range []string{`{"id":"`, `","order_no":"`, `","status":"`, `","priority":"`, `","party_name":"`,
							`","promised_at":"`,
							`","carrier":"`, `","total_value":"`, `","created_at":"`, `","updated_at":"`} {
							out = r.AppendText(append(out, f...), i)
						}
						out = append(out, `"},`...)
						return nil
					})
			})
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkInsert is one durable row with audit and counters.
func BenchmarkInsert(b *testing.B) {
	benchEach(b, func(b *testing.B, k *kit) {
		m := as(north, actor.Manager)
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			i++
			k.must(m, "POST", "zones", "", fmt.Sprintf(`{"code":"Z%d","name":"zone"}`, i))
		}
	})
}

// BenchmarkUpdate is one durable change of one row by id.
func BenchmarkUpdate(b *testing.B) {
	benchEach(b, func(b *testing.B, k *kit) {
		m := as(north, actor.Manager)
		k.must(m, "POST", "zones", "", `{"id":"`+id(1)+`","code":"Z","name":"zone"}`)
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			i++
			k.must(m, "PATCH", "zones?id=eq."+id(1), "", fmt.Sprintf(`{"name":"zone %d"}`, i))
		}
	})
}

// BenchmarkBulk is a thousand rows in one request.
func BenchmarkBulk(b *testing.B) {
	benchEach(b, func(b *testing.B, k *kit) {
		m := as(north, actor.Manager)
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			var s strings.Builder
			for j := 0; j < 1000; j++ {
				i++
				fmt.Fprintf(&s, `,{"sku":"S-%d","name":"Item %d","unit_cost":%d.25,"category":"cat","reorder_point":5}`, i, i, j)
			}
			k.must(m, "POST", "items", "", "["+s.String()[1:]+"]")
		}
	})
}

// BenchmarkPoint reads one row by id.
func BenchmarkPoint(b *testing.B) {
	benchEach(b, func(b *testing.B, k *kit) {
		m := as(north, actor.Manager)
		k.must(m, "POST", "orders", "", `{"id":"`+id(1)+`","order_no":"P"}`)
		b.ReportAllocs()
		for b.Loop() {
			k.must(m, "GET", "orders?id=eq."+id(1), "", "")
		}
	})
}
