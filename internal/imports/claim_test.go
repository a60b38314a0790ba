package imports_test

import (
	"context"
	"testing"

	"holdfast/internal/db"
	"holdfast/internal/imports"
	"holdfast/internal/testkit/dbtest"
)

// A caller who hangs up while his node looks whether its claim holds ends it for
// none of the jobs the node works on: another node takes none over.
func TestHangUpKeepsTheClaim(t *testing.T) {
	ctx := context.Background()
	k := open(t, dbtest.Options(t, db.PostgreSQL))
	held := &slow{Files: k.o.Files, began: make(chan bool), release: make(chan bool)}
	o := k.o
	o.Files = held
	busy := imports.New(o)
	t.Cleanup(busy.Close)
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
