package imports_test

import (
	"context"
	"io"
	"testing"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/imports"
	"holdfast/internal/store"
)

// A server that stops does not wait for a step of an import, however long it
// still takes: the job is back in a state from which it goes on after the next
// start.
func TestCloseEndsSteps(t *testing.T) {
	each(t, func(k *kit) {
		files := k.TempDir()
		k.d.Close()
		k.connect(k.again, files)
		k.imported("items", "", "", "base.csv", []byte("sku,name\nC-1,Before\n"))
		base := k.dump("items")
		job := k.upload("items", "", "", "i.csv", []byte("sku,name\nC-1,After\n"))
		for _, c := range []struct {
			step, rest string
			act        func(m *imports.Importer) error
		}{
			{"process", "uploaded", func(m *imports.Importer) error {
				_,
					err := m.Process(context.Background(), k.as, job.ID)
				return err
			}},
			{"apply", "ready", func(m *imports.Importer) error {
				_,
					err := m.Apply(context.Background(), k.as, job.ID)
				return err
			}},
			{"rollback", "completed", func(m *imports.Importer) error {
				_,
					err := m.Rollback(context.Background(), k.as, job.ID)
				return err
			}},
		} {
			began := make(chan bool, 1)
			endless := k.o
			endless.Files = never{k.o.Files, began}
			k.effects.Before["items"] = func(tx *store.Tx, _ []store.Change) error {
				return endure(tx.Tx, began)
			}
			k.m.Close()
			m := imports.New(endless)
			ended := make(chan error, 1)
			go func() { ended <- c.act(m) }()
			select {
			case <-began:
			case err := <-ended:
				k.Fatalf("%s ended by itself: %v", c.step, err)
			}
			closed := make(chan bool)
			go func() {
				m.Close()
				k.d.Close()
				close(closed)
			}()
			select {
			case <-closed:
			case <-time.After(30 * time.Second):
				k.Fatalf("%s holds up the stop", c.step)
			}
			if err := <-ended; err == nil {
				k.Errorf("%s was ended and says nothing", c.step)
			}
			k.connect(k.again, files)
			if state := k.settled(job.ID); state != c.rest {
				k.Errorf("%s left the job %s", c.step, state)
			}
			if err := c.act(k.m); err != nil {
				k.Errorf("%s again: %v", c.step, err)
			}
		}
		if k.status(job) != "rolled_back" || k.dump("items") != base {
			k.Errorf("job %s, %s", k.status(job), k.dump("items"))
		}
	})
}

// endure works until its transaction is ended: on PostgreSQL in one statement,
// on SQLite in many short ones.
func endure(tx *db.Tx, began chan bool) error {
	sql := "SELECT 1"
	if tx.DB().Engine() == db.PostgreSQL {
		sql = "SELECT pg_sleep(3600)"
	}
	began <- true
	for {
		if err := tx.Query(sql, nil, func(*db.Row) error { return nil }); err != nil {
			return err
		}
	}
}

// never gives a file whose reading comes to no end.
type never struct {
	imports.Files
	began chan bool
}

func (n never) Open(ctx context.Context, _ string) (io.ReadSeekCloser, error) {
	n.began <- true
	<-ctx.Done()
	return nil, ctx.Err()
}
