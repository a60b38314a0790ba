package imports_test

import (
	"context"
	"io"
	"testing"

	"holdfast/internal/db"
	"holdfast/internal/imports"
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
			name string
			do   func() error
		}{
			{"process", func() error { _, err := k.m.Process(ctx, k.as, job.ID); return err }},
			{"corrected file", func() error {
				c, err := k.m.Corrected(ctx, k.as, job.ID, "")
				if err != nil {
					return err
				}
				return c.Write(ctx, io.Discard)
			}},
			{"apply", func() error { _, err := k.m.Apply(ctx, k.as, job.ID); return err }},
			{"rollback", func() error { _, err := k.m.Rollback(ctx, k.as, job.ID); return err }},
		} {
			reads, writes = 0, 0
			if err := step.do(); err != nil {
				t.Fatalf("%s: %v", step.name, err)
			}
			if reads > 2 || writes > 1 {
				t.Errorf("%s: %d reads and %d writes were counted, want its beginning alone", step.name, reads, writes)
			}
		}
		if k.status(job) != imports.RolledBack {
			t.Error(k.status(job))
		}
	})
}
