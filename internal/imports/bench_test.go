package imports_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"runtime"
	"testing"
	"time"

	"github.com/google/uuid"

	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/testkit/dbtest"
)

const benchRows = 100_000

// benchFile is a stock list of n rows in twelve columns, keys in no order.
func benchFile(n int) []byte {
	var b bytes.Buffer
	b.WriteString("sku,name,description,category,base_uom,unit_cost,price,weight_kg,reorder_point,max_stock,lead_time_days,storage_class\n")
	for i := range n {
		fmt.Fprintf(&b, "SKU-%07d,Item number %d,\"A thing, of size %d\",category %d,EA,%d.%02d,%d.5,%d.125,%d,%d,%d,ambient\n",
			(i*7919)%1_000_000, i, i%97, i%50, i%900, i%100, i%1000, i%40, i%20, 100+i%500, i%60)
	}
	return b.Bytes()
}

// bare is what the import is measured against: the same rows from a CSV reader
// into the same table under the same indexes, one prepared statement, one
// transaction, nothing checked and nothing remembered.
func bare(d *db.DB, tenant string, file []byte) error {
	const insert = `INSERT INTO items (tenant_id, id, sku, name, description, category, base_uom, barcodes, tracking, has_expiry, unit_cost, price, weight_kg,
 capacity_units, reorder_point, max_stock, lead_time_days, storage_class, status, on_hand, available, stock_value, low_stock, created_at, updated_at, version)
 VALUES ($1, $2, $3, $4, $5, $6, $7, '[]', 'none', false, $8, $9, $10, 10000, $11, $12, $13, $14, 'active', 0, 0, 0, false, $15, $15, 1)`
	return d.Write(context.Background(), db.Scope{Tenant: tenant}, func(tx *db.Tx) error {
		r := csv.NewReader(bytes.NewReader(file))
		r.ReuseRecord = true
		if _, err := r.Read(); err != nil {
			return err
		}
		now := time.Now().UTC().Format(db.TimeLayout)
		for n := 0; ; n++ {
			c, err := r.Read()
			if errors.Is(err, io.EOF) {
				return tx.Flush()
			}
			if err != nil {
				return err
			}
			id, err := uuid.NewV7()
			if err != nil {
				return err
			}
			args := []any{tenant, id.String(), c[0], c[1], c[2], c[3], c[4]}
			for _, i := range []int{5, 6, 7, 8, 9} {
				v, err := decimal.Parse(c[i])
				if err != nil {
					return err
				}
				args = append(args, v)
			}
			tx.Queue(insert, append(args, c[10], c[11], now), nil)
			if n%1000 == 999 {
				if err := tx.Flush(); err != nil {
					return err
				}
			}
		}
	})
}

// BenchmarkApply applies 100,000 items and compares with the bare reader; the
// goal is at least half its speed. It reports rows per second of applying and
// of processing, the ratio of applying, and the peak of the heap.
func BenchmarkApply(b *testing.B) {
	file := benchFile(benchRows)
	engines := map[string]func(*testing.B) db.Options{
		"sqlite":     func(b *testing.B) db.Options { return db.Options{Dir: b.TempDir(), Migrate: true} },
		"postgresql": func(b *testing.B) db.Options { return dbtest.Options(b, db.PostgreSQL) },
	}
	for name, o := range engines {
		b.Run(name, func(b *testing.B) {
			var limit, process, apply time.Duration
			for b.Loop() {
				k := open(b, o(b))
				limit += timed(func() error { return bare(k.d, south, file) }, b)
				job := k.upload("items", "", "", "items.csv", file)
				process += timed(func() error { _, err := k.m.Process(context.Background(), k.as, job.ID); return err }, b)
				apply += timed(func() error {
					res, err := k.m.Apply(context.Background(), k.as, job.ID)
					if err == nil && res.ImportedCount != benchRows {
						err = fmt.Errorf("%d rows", res.ImportedCount)
					}
					return err
				}, b)
			}
			b.ReportMetric(float64(benchRows*b.N)/apply.Seconds(), "applied/s")
			b.ReportMetric(float64(benchRows*b.N)/process.Seconds(), "processed/s")
			b.ReportMetric(limit.Seconds()/apply.Seconds(), "of-bare")
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			b.ReportMetric(float64(m.Sys)/1e6, "MB")
		})
	}
}

// BenchmarkMillion takes a million items through process, apply and rollback
// and reports each in rows per second, with the most memory that the heap held
// over what it held before.
func BenchmarkMillion(b *testing.B) {
	const rows = 1_000_000
	file := benchFile(rows)
	for name, o := range map[string]func() db.Options{
		"sqlite":     func() db.Options { return db.Options{Dir: b.TempDir(), Migrate: true} },
		"postgresql": func() db.Options { return dbtest.Options(b, db.PostgreSQL) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				k := open(b, o())
				job := k.upload("items", "", "", "items.csv", file)
				peak := watchHeap()
				b.ReportMetric(rows/timed(func() error { _, err := k.m.Process(context.Background(), k.as, job.ID); return err },
					b).Seconds(), "processed/s")
				b.ReportMetric(rows/timed(func() error { _, err := k.m.Apply(context.Background(), k.as, job.ID); return err },
					b).Seconds(), "applied/s")
				b.ReportMetric(rows/timed(func() error { _, err := k.m.Rollback(context.Background(), k.as, job.ID); return err },
					b).Seconds(), "rolled-back/s")
				b.ReportMetric(float64(peak()>>20), "MB-more")
			}
		})
	}
}

// watchHeap samples the memory taken from the system until it is asked for the
// most it saw, over what was there at first.
func watchHeap() func() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	first, most := m.HeapInuse, uint64(0)
	stop, done := make(chan bool), make(chan bool)
	go func() {
		defer close(done)
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapInuse)
			select {
			case <-stop:
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
	}()
	return func() uint64 { close(stop); <-done; return most - min(most, first) }
}

func timed(f func() error, b *testing.B) time.Duration {
	b.Helper()
	start := time.Now()
	if err := f(); err != nil {
		b.Fatal(err)
	}
	return time.Since(start)
}
