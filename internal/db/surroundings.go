package db

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// Surroundings are what stands around PostgreSQL; nothing stands around the
// embedded engine.
type Surroundings struct {
	Pooled   bool // something answers for the server: PgBouncer, or its like
	Login    string
	Replicas []Replica
}

// Replica is a server that follows this one.
type Replica struct {
	Name   string
	Behind time.Duration
	Hidden bool // the login may see that it is there, and no more
}

// Surroundings asks as the login, on a connection of its own: the role that
// requests run as sees nothing of the server's statistics.
func (d *DB) Surroundings(ctx context.Context) (s Surroundings, err error) {
	p, ok := d.eng.(*postgres)
	if !ok {
		return s, nil
	}
	cfg, err := pgx.ParseConfig(p.url)
	if err != nil {
		return s, classifyError(err)
	}
	// a pooler may hand the next statement to another server process
	cfg.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	c, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return s, classifyError(err)
	}
	defer c.Close(context.WithoutCancel(ctx))
	var process uint32
	if err := c.QueryRow(ctx, "SELECT pg_backend_pid(), session_user").Scan(&process, &s.Login); err != nil {
		return s, classifyError(err)
	}
	// A pooler names processes of its own when a client connects.
	s.Pooled = process != c.PgConn().PID()
	const replicas = `
		SELECT coalesce(application_name, ''), coalesce(extract(epoch FROM replay_lag), 0)::float8,
			state IS NULL
		FROM pg_stat_replication`
	rows, err := c.Query(ctx, replicas)
	if err != nil {
		return s, classifyError(err)
	}
	defer rows.Close()
	for rows.Next() {
		var r Replica
		var seconds float64
		if err := rows.Scan(&r.Name, &seconds, &r.Hidden); err != nil {
			return s, classifyError(err)
		}
		r.Behind = time.Duration(seconds * float64(time.Second))
		s.Replicas = append(s.Replicas, r)
	}
	return s, classifyError(rows.Err())
}
