package db

import "context"

// Shrink gives back what the embedded engine's writer keeps in memory, after
// work that wrote far more than is usual.
func (d *DB) Shrink(ctx context.Context) error {
	if d.kind != SQLite {
		return nil
	}
	return d.Write(ctx, Scope{}, func(tx *Tx) error {
		return tx.Query("PRAGMA shrink_memory", nil, func(*Row) error { return nil })
	})
}
