package db

import "context"

// Analyze brings the planner's statistics of tables up to date, after a bulk
// write: until PostgreSQL does so by itself, up to a minute later, it scans
// tenants whole. Statistics are the owner's to take, so the transaction sheds
// the application role. SQLite plans these queries well without.
func (d *DB) Analyze(ctx context.Context, tables ...string) error {
	if d.kind != PostgreSQL {
		return nil
	}
	for _, t := range tables {
		err := d.Write(ctx, Scope{}, func(tx *Tx) error {
			tx.Queue("SELECT set_config('role', 'none', true)", nil, nil)
			tx.Queue("ANALYZE "+t, nil, nil)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
