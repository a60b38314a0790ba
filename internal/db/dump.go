package db

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"

	"github.com/jackc/pgx/v5"
)

// dumpPostgres has pg_dump read the snapshot that the rows are counted in.
func dumpPostgres(ctx context.Context, dsn, path string) (out Snapshot, err error) {
	c, err := connectOwner(ctx, dsn)
	if err != nil {
		return out, err
	}
	defer c.Close(context.WithoutCancel(ctx))
	err = pgx.BeginTxFunc(ctx, c, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly},
		func(tx pgx.Tx) error {
			if out, err = examinePostgres(ctx, tx); err != nil {
				return err
			}
			var id string
			if err := tx.QueryRow(ctx, "SELECT pg_export_snapshot()").Scan(&id); err != nil {
				return fmt.Errorf("db: keep a snapshot: %w", err)
			}
			return pgTool(ctx, dsn, "pg_dump", "--format=custom", "--compress=0", "--no-owner", "--enable-row-security",
				"--schema=public", "--snapshot="+id, "--file="+path)
		})
	return out, err
}

// connectOwner connects as the database's owner, whom row policies let see all.
func connectOwner(ctx context.Context, dsn string) (*pgx.Conn, error) {
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("db: the database URL cannot be read: %w", err)
	}
	cfg.DefaultQueryExecMode = pgx.QueryExecModeExec
	for name := range cfg.RuntimeParams {
		if strings.HasPrefix(name, "pool_") { // the pool's own, which no server knows
			delete(cfg.RuntimeParams, name)
		}
	}
	c, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("db: connect to PostgreSQL: %w", err)
	}
	return c, nil
}

// examinePostgres says what is in the database that tx sees.
func examinePostgres(ctx context.Context, tx pgx.Tx) (Snapshot, error) {
	out := Snapshot{Engine: PostgreSQL, Counts: map[string]int64{}}
	if _, err := tx.Exec(ctx, "SET LOCAL holdfast.all_tenants = 'on'"); err != nil {
		return out, fmt.Errorf("db: %w", err)
	}
	err := tx.QueryRow(ctx, `
		SELECT current_setting('server_version'), coalesce(max(version), 0)
		FROM schema_migrations`).Scan(&out.Version, &out.Schema)
	if err != nil {
		return out, fmt.Errorf("db: read the schema: %w", classifyError(err))
	}
	rows, err := tx.Query(ctx, `
		SELECT table_name
		FROM information_schema.tables
		WHERE table_schema = 'public'
			AND table_type = 'BASE TABLE'
		ORDER BY table_name`)
	if err != nil {
		return out, fmt.Errorf("db: read the schema: %w", classifyError(err))
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return out, fmt.Errorf("db: read the schema: %w", classifyError(err))
	}
	for _, t := range tables {
		var n int64
		if err := tx.QueryRow(ctx, "SELECT COUNT(*) FROM "+pgx.Identifier{t}.Sanitize()).Scan(&n); err != nil {
			return out, fmt.Errorf("db: count %s: %w", t, classifyError(err))
		}
		out.Counts[t] = n
	}
	return out, nil
}

// ErrNotEmpty says that a database which is to be restored into has tables.
var ErrNotEmpty = errors.New("the database is not empty")

const restoreTool = "pg_restore"

// restoreLock is the advisory lock of whoever restores into a database.
const restoreLock = 0x686f6c6472

// Load puts an archive of pg_dump into an empty database, in one transaction,
// and says what is in it then. On an error it leaves nothing of the archive, and
// touches nothing that others put there: another restore, or a server that began
// meanwhile.
func Load(ctx context.Context, dsn, path string) (out Snapshot, err error) {
	c, err := connectOwner(ctx, dsn)
	if err != nil {
		return out, err
	}
	defer c.Close(context.WithoutCancel(ctx))
	if err := byteOrder(ctx, c); err != nil {
		return out, err
	}
	if err := checkEmpty(ctx, c); err != nil {
		return out, err
	}
	// A lock of a transaction holds behind a transaction pooler too.
	err = pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error { return loadAlone(ctx, tx, dsn, path) })
	if err != nil {
		return out, err
	}
	err = pgx.BeginTxFunc(ctx, c, pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		out, err = examinePostgres(ctx, tx)
		return err
	})
	if err != nil {
		err = errors.Join(err, Clear(context.WithoutCancel(ctx), dsn))
	}
	return out, err
}

// loadAlone fills the database while tx keeps other restores away.
func loadAlone(ctx context.Context, tx pgx.Tx, dsn, path string) error {
	if _, err := tx.Exec(ctx, "SET LOCAL idle_in_transaction_session_timeout = 0"); err != nil {
		return fmt.Errorf("db: %w", err)
	}
	// Of a restore that was killed the lock is gone, but pg_restore may live on.
	const free = `
		SELECT pg_try_advisory_xact_lock($1) AND NOT EXISTS (
			SELECT 1
			FROM pg_stat_activity
			WHERE datname = current_database()
				AND application_name = $2
		)`
	var alone bool
	if err := tx.QueryRow(ctx, free, int64(restoreLock), toolName+restoreTool).Scan(&alone); err != nil {
		return fmt.Errorf("db: %w", err)
	}
	if !alone {
		return errors.New("db: another restore into this database is under way")
	}
	if err := checkEmpty(ctx, tx); err != nil {
		return err
	}
	if err := roleFor(ctx, dsn); err != nil {
		return err
	}
	return pgTool(ctx, dsn, restoreTool, "--single-transaction", "--exit-on-error", "--no-owner", "--schema=public", path)
}

// roleFor makes the role that servers work as, on a connection of its own:
// pg_restore sees it only once that is committed.
func roleFor(ctx context.Context, dsn string) error {
	c, err := connectOwner(ctx, dsn)
	if err != nil {
		return err
	}
	defer c.Close(context.WithoutCancel(ctx))
	return pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error { return makeRole(ctx, tx) })
}

// Empty fails with ErrNotEmpty when a PostgreSQL database has tables.
func Empty(ctx context.Context, dsn string) error {
	c, err := connectOwner(ctx, dsn)
	if err != nil {
		return err
	}
	defer c.Close(context.WithoutCancel(ctx))
	return checkEmpty(ctx, c)
}

func checkEmpty(ctx context.Context, c interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}) error {
	var tables int
	if err := c.QueryRow(ctx, "SELECT COUNT(*) FROM pg_tables WHERE schemaname = 'public'").Scan(&tables); err != nil {
		return fmt.Errorf("db: look at the database: %w", classifyError(err))
	}
	if tables > 0 {
		return fmt.Errorf("db: %w: it has %d tables; a backup is restored into a new database", ErrNotEmpty, tables)
	}
	return nil
}

// Clear takes away what Load put into a database that was empty before.
func Clear(ctx context.Context, dsn string) error {
	c, err := connectOwner(ctx, dsn)
	if err != nil {
		return err
	}
	defer c.Close(context.WithoutCancel(ctx))
	for _, sql := range []string{
		`DO $$ DECLARE t text; BEGIN
			FOR t IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' LOOP EXECUTE format('DROP TABLE public.%I CASCADE', t); END LOOP;
		END $$`,
		"DROP FUNCTION IF EXISTS hf_tenant(), hf_user(), hf_all(), hf_place(text, text)",
	} {
		if _, err := c.Exec(ctx, sql); err != nil {
			return fmt.Errorf("db: empty the database again: %w", err)
		}
	}
	return nil
}

// toolName begins what the server calls a connection of PostgreSQL's programs.
const toolName = "holdfast "

// pgTool runs one of PostgreSQL's own programs on a database. The password goes
// by the environment, which other users of the machine cannot read.
func pgTool(ctx context.Context, dsn, name string, args ...string) error {
	program, err := exec.LookPath(name)
	if err != nil {
		return fmt.Errorf("db: %s is not installed: it comes with PostgreSQL's client programs (Debian: postgresql-client)",
			name)
	}
	plain, password, err := withoutPassword(dsn)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, program, append([]string{"--dbname=" + plain}, args...)...)
	cmd.Env = append(os.Environ(), "PGOPTIONS=-c holdfast.all_tenants=on -c jit=off", "PGAPPNAME="+toolName+name)
	if password != "" {
		cmd.Env = append(cmd.Env, "PGPASSWORD="+password)
	}
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		text, _, _ := strings.Cut(strings.TrimSpace(said.String()), "\n")
		return fmt.Errorf("db: %s: %w: %s", name, err, text)
	}
	return nil
}

// withoutPassword splits a database URL, and leaves out what only the pool of
// this program understands.
func withoutPassword(dsn string) (plain, password string, err error) {
	u, err := url.Parse(dsn)
	if err != nil || u.Scheme == "" {
		return "", "", errors.New("db: backups of PostgreSQL need the database as a URL: postgres://user:password@host/name")
	}
	if u.User != nil {
		password, _ = u.User.Password()
		u.User = url.User(u.User.Username())
	}
	q := u.Query()
	for name := range q {
		if strings.HasPrefix(name, "pool_") || strings.HasPrefix(name, "default_query") ||
			strings.Contains(name, "cache_capacity") {
			q.Del(name)
		}
	}
	u.RawQuery = q.Encode()
	return u.String(), password, nil
}
