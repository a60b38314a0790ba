package imports_test

import (
	"context"
	"fmt"
	"testing"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/imports/jobs"
	"holdfast/internal/testkit/dbtest"
)

// A caller who hangs up while his node looks whether its claim holds ends it for
// none of the jobs the node works on: another node takes none over.
func TestHangUpKeepsTheClaim(t *testing.T) {
	ctx := context.Background()
	k := open(t, dbtest.Options(t, db.PostgreSQL))
	held, busy := holding(k)
	job := k.upload("zones", "", "", "z.csv", []byte(shelves))
	ended := make(chan error, 1)
	go func() {
		_, err := busy.Process(ctx, k.as, job.ID)
		ended <- err
	}()
	<-held.began
	gone, hangUp := context.WithCancel(ctx)
	hangUp()
	busy.ClaimAsked(gone)
	if n, err := k.m.Recover(ctx); n != 0 || err != nil || k.status(job) != "processing" {
		t.Errorf("%d jobs were given back, this one is %s: %v", n, k.status(job), err)
	}
	close(held.release)
	if err := <-ended; err != nil || k.status(job) != "ready" {
		t.Errorf("job %s: %v", k.status(job), err)
	}
}

// A tenant has four steps worked on at once; the next is told to try again, other
// tenants are not kept waiting, and each step that ends makes room, as does one
// that is refused.
func TestStepsOfOneTenant(t *testing.T) {
	each(t, func(k *kit) {
		ctx := context.Background()
		held, busy := holding(k)
		upload := func(i int) *jobs.Job {
			return k.upload("zones", "", "", "z.csv", fmt.Appendf(nil, "code,name\nZ-%d,Zone\n", i))
		}
		ended := make(chan error, 4)
		for i := range 4 {
			job := upload(i)
			go func() {
				_, err := busy.Process(ctx, k.as, job.ID)
				ended <- err
			}()
			<-held.began
		}
		fifth := upload(5)
		for range 2 {
			_, err := busy.Process(ctx, k.as, fifth.ID)
			if !fault.HasCode(err, "import_busy") || fault.As(err).RetryAfter == 0 {
				k.Errorf("the fifth: %v", err)
			}
		}
		other := *k
		other.as.TenantID = south
		job := other.upload("zones", "", "", "z.csv", []byte(shelves))
		for range 5 {
			if _, err := busy.Apply(ctx, other.as, job.ID); !fault.HasCode(err, "import_state") {
				k.Errorf("before it is processed: %v", err)
			}
		}
		if _, err := busy.Process(ctx, other.as, job.ID); err != nil {
			k.Errorf("another tenant's: %v", err)
		}
		close(held.release)
		for range 4 {
			if err := <-ended; err != nil {
				k.Error(err)
			}
		}
		if _, err := busy.Process(ctx, k.as, fifth.ID); err != nil {
			k.Errorf("the fifth, afterwards: %v", err)
		}
	})
}
