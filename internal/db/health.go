package db

import (
	"context"
	"errors"
	"path/filepath"
	"sync/atomic"

	"holdfast/internal/fault"
)

// health remembers that nothing can be written.
type health struct{ failed atomic.Pointer[fault.Error] }

// noteWrite takes in how a write ended. Only what is the matter with the disk, or
// with a server that takes no writes, counts: a write that changes nothing
// succeeds on a full disk, so that success proves nothing.
func (h *health) noteWrite(err error) {
	switch f := fault.As(err); f.Code {
	case "53100", "58030", "25006": // disk full, I/O error, read-only transaction
		h.failed.Store(f)
	}
}

// probe changes a row of its own.
const probe = `
	INSERT INTO probes (name, beat)
	VALUES ('writable', 1)
	ON CONFLICT (name) DO UPDATE SET beat = probes.beat + 1`

// probeWrite tries a write, when the last one failed for the disk.
func (d *DB) probeWrite(ctx context.Context) error {
	failed := d.health.failed.Load()
	if failed == nil {
		return nil
	}
	// The probe's own row fits where no other does.
	if l, ok := d.eng.(*lite); ok && failed.Code == "53100" && !hasRoom(filepath.Dir(l.path)) {
		return failed
	}
	if err := d.Write(ctx, Scope{All: true}, func(tx *Tx) error { _, err := tx.Exec(probe); return err }); err != nil {
		return err
	}
	d.health.failed.CompareAndSwap(failed, nil)
	return nil
}

// errUndo ends a write that is only tried.
var errUndo = errors.New("db: undone")

// TryWrite changes a row and undoes it.
func (d *DB) TryWrite(ctx context.Context) error {
	_, err := d.eng.write(ctx, Scope{All: true}, func(tx *Tx) error {
		if _, err := tx.Exec(probe); err != nil {
			return err
		}
		return errUndo
	})
	if errors.Is(err, errUndo) {
		return nil
	}
	return classifyError(err)
}
