package db

import (
	"context"
	"errors"
)

// Shrink gives back what the embedded engine's connections keep in memory, after
// work that read or wrote far more than is usual.
func (d *DB) Shrink(ctx context.Context) error {
	l, ok := d.eng.(*lite)
	if !ok {
		return nil
	}
	err := d.Write(ctx, Scope{}, func(tx *Tx) error {
		return tx.Query("PRAGMA shrink_memory", nil, func(*Row) error { return nil })
	})
	return errors.Join(err, l.shrinkReaders(ctx))
}

// shrinkReaders takes one reader after the other off the shelf, which would hand
// out the same again.
func (l *lite) shrinkReaders(ctx context.Context) (err error) {
	for range l.size {
		c, busy := l.waitForReader(ctx)
		if busy != nil {
			return errors.Join(err, busy)
		}
		defer l.readers.putBack(c)
		err = errors.Join(err, c.execText("PRAGMA shrink_memory"))
	}
	return err
}
