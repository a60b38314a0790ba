package db

import (
	"context"
	"testing"

	"holdfast/internal/fault"
)

// writingLog writes before each write, as the audit log does.
type writingLog struct{}

func (writingLog) PrepareWrite(ctx context.Context, write LogWriter) error {
	return write(ctx, func(tx *Tx) error { _, err := tx.Exec(probe); return err })
}

// A disk that takes no writes shows until one succeeds; reads go on.
func TestUnwritable(t *testing.T) {
	t.Run("alone", func(t *testing.T) { testUnwritable(t, openTest(t)) })
	t.Run("with an audit log", func(t *testing.T) {
		d := openTest(t)
		d.KeepLog(writingLog{})
		testUnwritable(t, d)
	})
}

func testUnwritable(t *testing.T, d *DB) {
	t.Helper()
	w := d.eng.(*lite).writer
	write := func(sql string) error {
		return d.Write(t.Context(), Scope{All: true}, func(tx *Tx) error { _, err := tx.Exec(sql); return err })
	}
	if err := w.execText("PRAGMA query_only = ON"); err != nil {
		t.Fatal(err)
	}
	if err := d.Ping(t.Context()); err != nil {
		t.Errorf("before anything failed: %v", err)
	}
	if err := write("INSERT INTO probes (name, beat) VALUES ('x', 1)"); fault.As(err).Code != "58030" {
		t.Fatalf("a write: %v", err)
	}
	for range 2 {
		if err := d.Ping(t.Context()); fault.As(err).Code != "58030" {
			t.Errorf("unwritable: %v", err)
		}
	}
	if err := d.Read(t.Context(), Scope{}, func(tx *Tx) error {
		return tx.Query("SELECT 1", nil,
			func(*Row) error { return nil })
	}); err != nil {
		t.Errorf("a read: %v", err)
	}
	if err := w.execText("PRAGMA query_only = OFF"); err != nil {
		t.Fatal(err)
	}
	if err := d.Ping(t.Context()); err != nil {
		t.Errorf("writable again: %v", err)
	}
	for code, counts := range map[string]bool{"53100": true, "58030": true, "25006": true, "57014": false, "23505": false,
		"": false} {
		var h health
		if h.noteWrite(fault.New(fault.Unavailable, code, "x")); (h.failed.Load() != nil) != counts {
			t.Errorf("code %q counts: %v", code, !counts)
		}
	}
}
