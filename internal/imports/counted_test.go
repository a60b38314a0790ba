package imports_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"testing"

	"holdfast/internal/db"
	"holdfast/internal/imports"
	"holdfast/internal/imports/jobs"
	"holdfast/internal/store"
	"holdfast/internal/testkit/dbtest"
)

// What a tenant's step writes is counted when it begins; the chunks after that
// are part of it, in one transaction or in many.
func TestChunksAreNotCounted(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, o db.Options) {
		var reads, writes int
		o.Observe = func(s db.Scope, write bool, n int) {
			switch {
			case s.Tenant == "" || n == 0:
			case write:
				writes++
			default:
				reads++
			}
		}
		k := open(t, o)
		k.parted(1000)
		ctx := context.Background()
		job := k.upload("zones", "", "", "z.csv", zonesFile(4000))
		for _, step := range []struct {
			name  string
			reads int
			do    func() error
		}{
			{"process", 2, func() error { _, err := k.m.Process(ctx, k.as, job.ID); return err }},
			{"corrected file", 2 + 4, func() error {
				c, err := k.m.Corrected(ctx, k.as, job.ID, "")
				if err != nil {
					return err
				}
				return c.Write(ctx, io.Discard)
			}},
			{"apply", 2, func() error { _, err := k.m.Apply(ctx, k.as, job.ID); return err }},
			{"rollback", 2, func() error { _, err := k.m.Rollback(ctx, k.as, job.ID); return err }},
		} {
			reads, writes = 0, 0
			if err := step.do(); err != nil {
				t.Fatalf("%s: %v", step.name, err)
			}
			if reads > step.reads || writes > 1 {
				t.Errorf("%s: %d reads and %d writes were counted, want its beginning alone", step.name, reads, writes)
			}
		}
		if k.status(job) != jobs.RolledBack {
			t.Error(k.status(job))
		}
	})
}

// Of the chunks that one request reads outside a step ten count, as many as
// statements of one transaction.
func TestChunksReadCountToTen(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, o db.Options) {
		reads := 0
		o.Observe = func(s db.Scope, write bool, n int) {
			if s.Tenant != "" && n > 0 && !write {
				reads++
			}
		}
		k := open(t, o)
		ctx := context.Background()
		k.add("items", store.Row{"sku": "P-1", "name": "One"})
		var b bytes.Buffer
		b.WriteString("order_no,customer,item,quantity\n")
		const rows = 16_000
		for i := range rows {
			fmt.Fprintf(&b, "A-%d,Smith,P-1,%d\n", i/2, i%7+1)
		}
		job := k.upload("orders", "", "", "o.csv", b.Bytes())
		if p := k.process(job); p.Stats.ValidRows != rows {
			t.Fatalf("%+v", p)
		}
		for _, c := range []struct {
			name string
			do   func() error
		}{
			{"corrected file", func() error {
				c, err := k.m.Corrected(ctx, k.as, job.ID, "")
				if err != nil {
					return err
				}
				return c.Write(ctx, io.Discard)
			}},
			{"a row of the last chunk", func() error {
				_, err := k.m.EditRow(ctx, k.as, job.ID, rows, imports.Edit{Cells: map[string]string{"quantity": "9"}})
				return err
			}},
		} {
			reads = 0
			if err := c.do(); err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			if reads < 10 || reads > 15 {
				t.Errorf("%s: %d reads were counted, want ten and what is read besides", c.name, reads)
			}
		}
	})
}
