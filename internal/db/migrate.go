package db

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"holdfast/internal/db/shape"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// Migration is one forward step of the schema, the same text on both engines.
type Migration struct {
	Version int
	Name    string
	SQL     string
}

// Migrations returns the embedded steps in order.
func Migrations() ([]Migration, error) {
	names, err := fs.Glob(migrationFiles, "migrations/*.sql")
	if err != nil {
		return nil, fmt.Errorf("db: migrations: %w", err)
	}
	sort.Strings(names)
	var out []Migration
	for _, n := range names {
		text, err := migrationFiles.ReadFile(n)
		if err != nil {
			return nil, fmt.Errorf("db: migrations: %w", err)
		}
		base := strings.TrimSuffix(strings.TrimPrefix(n, "migrations/"), ".sql")
		num, name, _ := strings.Cut(base, "_")
		v, err := strconv.Atoi(num)
		if err != nil || v != len(out)+1 {
			return nil, fmt.Errorf("db: migration %s is out of sequence", n)
		}
		out = append(out, Migration{Version: v, Name: name, SQL: string(text)})
	}
	return out, nil
}

// ErrNewerSchema says that a newer Holdfast has been here.
var ErrNewerSchema = errors.New(
	"the database was written by a newer Holdfast; start that version, or restore a backup made by this one")

// ErrOldSchema says that migrations are due.
var ErrOldSchema = errors.New("the database schema is older than this program; run `holdfast migrate`")

const versionTable = "create table if not exists schema_migrations (version bigint primary key, name text not null, applied_at timestamptz not null)"

// Reading and noting which migrations the database has.
const (
	schemaVersion = "SELECT coalesce(max(version), 0) FROM schema_migrations"
	noteMigration = "INSERT INTO schema_migrations VALUES ($1, $2, $3)"
)

// pendingMigrations returns the steps after have, and refuses a newer schema.
func pendingMigrations(have int, apply bool) ([]Migration, error) {
	all, err := Migrations()
	if err != nil {
		return nil, err
	}
	if have > len(all) {
		return nil, fmt.Errorf("db: schema %d, this program knows %d: %w", have, len(all), ErrNewerSchema)
	}
	if have < len(all) && !apply {
		return nil, fmt.Errorf("db: schema %d, this program needs %d: %w", have, len(all), ErrOldSchema)
	}
	return all[have:], nil
}

// sqlOfMigrations is the text of the first so many migrations.
func sqlOfMigrations(first int) (sql string) {
	all, _ := Migrations() // they were read for what is pending
	for _, m := range all[:min(first, len(all))] {
		sql += m.SQL
	}
	return sql
}

// migrate brings the file up to date in one transaction; BEGIN IMMEDIATE is
// the lock against a second process.
func (l *lite) migrate(apply bool) (err error) {
	w := l.writer
	if err := w.execText("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			w.execText("ROLLBACK")
		}
	}()
	if err := w.execText(versionTable); err != nil {
		return err
	}
	have := 0
	if err := w.queryRows(schemaVersion, nil, func(r *Row) error { have = int(r.Int(0)); return nil }); err != nil {
		return err
	}
	steps, err := pendingMigrations(have, apply)
	if err != nil {
		return err
	}
	if err := shape.SQLite.CheckWhole(w.queryTexts); err != nil {
		return err
	}
	others, err := shape.SQLite.ListOthers(w.queryTexts, sqlOfMigrations(have))
	if err != nil {
		return err
	}
	for _, m := range steps {
		for _, s := range splitStatements(m.SQL) {
			if err := w.execText(s); err != nil {
				return fmt.Errorf("db: migration %d %s: %w\n%s", m.Version, m.Name, err, s)
			}
		}
		args := []any{m.Version, m.Name, time.Now()}
		if err := w.runOne(stmt{sql: noteMigration, args: args}); err != nil {
			return err
		}
	}
	if err := l.describeIndexes(); err != nil {
		return err
	}
	if len(steps) > 0 {
		if err := shape.SQLite.NoteShape(w.queryTexts, w.runText, others); err != nil {
			return err
		}
	}
	return w.execText("COMMIT")
}

// migratePostgres runs as the database's owner, on a connection of its own.
func migratePostgres(ctx context.Context, cfg *pgx.ConnConfig, apply bool) (pgServer, error) {
	cfg.DefaultQueryExecMode = pgx.QueryExecModeExec
	c, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return pgServer{}, fmt.Errorf("db: connect to PostgreSQL: %w", err)
	}
	defer c.Close(context.WithoutCancel(ctx))
	server, err := askServer(ctx, c)
	if err != nil {
		return pgServer{}, err
	}
	if err := byteOrder(ctx, c); err != nil {
		return pgServer{}, err
	}
	if err := ensureVersionTable(ctx, c); err != nil {
		return pgServer{}, err
	}
	return server, migratePatiently(ctx, c, apply)
}

const (
	// lockTime is how long a migration waits for a table, and with it everybody
	// who comes after it and wants that table.
	lockTime = time.Second
	// lockPatience is how often it comes again: a backup may read for minutes.
	lockPatience = 600
)

// migratePatiently migrates beside servers that go on. A migration that waits for
// a table which somebody reads for long holds up all who come after it, so it
// gives up soon, lets them pass, and begins anew.
func migratePatiently(ctx context.Context, c *pgx.Conn, apply bool) error {
	for try := 1; ; try++ {
		err := pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error { return migrateIn(ctx, tx, apply) })
		var pe *pgconn.PgError
		if !errors.As(err, &pe) || pe.Code != "55P03" {
			return err
		}
		if try == lockPatience {
			return fmt.Errorf("db: a table that changes is in use all the time; see pg_locks for who holds it: %w", err)
		}
		if try%30 == 1 {
			slog.Warn("the migration waits for a table that is in use", "error", pe.Message, "where", pe.Where)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lockTime):
		}
	}
}

// ensureVersionTable tolerates two servers starting at once: "if not exists"
// can still collide in the system catalog.
func ensureVersionTable(ctx context.Context, c *pgx.Conn) (err error) {
	for range 5 {
		var there bool
		if err = c.QueryRow(ctx, "SELECT to_regclass('schema_migrations') IS NOT NULL").Scan(&there); err == nil && there {
			return nil
		}
		if _, err = c.Exec(ctx, versionTable); err == nil {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return fmt.Errorf("db: create schema_migrations: %w", err)
}

func migrateIn(ctx context.Context, tx pgx.Tx, apply bool) error {
	if apply {
		if _, err := tx.Exec(ctx, "LOCK TABLE schema_migrations IN EXCLUSIVE MODE"); err != nil {
			return fmt.Errorf("db: lock migrations: %w", err)
		}
	}
	var have int
	if err := tx.QueryRow(ctx, schemaVersion).Scan(&have); err != nil {
		return fmt.Errorf("db: read schema version: %w", err)
	}
	steps, err := pendingMigrations(have, apply)
	if err != nil {
		return err
	}
	if err := shape.PostgreSQL.CheckWhole(queryTexts(ctx, tx)); err != nil || len(steps) == 0 {
		return err
	}
	others, err := shape.PostgreSQL.ListOthers(queryTexts(ctx, tx), sqlOfMigrations(have))
	if err != nil {
		return err
	}
	if have == 0 {
		if err := preparePostgres(ctx, tx); err != nil {
			return err
		}
	}
	// Row policies bind the owner too: a step that moves rows must see all.
	for _, s := range []string{"SET LOCAL holdfast.all_tenants = 'on'",
		fmt.Sprintf("SET LOCAL lock_timeout = %d", lockTime.Milliseconds())} {
		if _, err := tx.Exec(ctx, s); err != nil {
			return fmt.Errorf("db: migrate: %w", err)
		}
	}
	for _, m := range steps {
		for _, s := range postgresDDL(m.SQL) {
			if _, err := tx.Exec(ctx, s); err != nil {
				return fmt.Errorf("db: migration %d %s: %w\n%s", m.Version, m.Name, err, s)
			}
		}
		if _, err := tx.Exec(ctx, noteMigration, m.Version, m.Name, time.Now().UTC()); err != nil {
			return fmt.Errorf("db: record migration: %w", err)
		}
	}
	run := func(sql string, args ...any) error { _, err := tx.Exec(ctx, sql, args...); return err }
	if err := shape.PostgreSQL.NoteShape(queryTexts(ctx, tx), run, others); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO "+appRole)
	return err
}

// preparePostgres makes what row policies lean on. hf_place distributes a
// table where the Citus extension is present and does nothing elsewhere.
func preparePostgres(ctx context.Context, tx pgx.Tx) error {
	if err := makeRole(ctx, tx); err != nil {
		return err
	}
	for _, s := range []string{
		`CREATE OR REPLACE FUNCTION hf_tenant() RETURNS uuid LANGUAGE sql STABLE AS
			$$ SELECT CAST(nullif(current_setting('holdfast.tenant_id', true), '') AS uuid) $$`,
		`CREATE OR REPLACE FUNCTION hf_user() RETURNS uuid LANGUAGE sql STABLE AS
			$$ SELECT CAST(nullif(current_setting('holdfast.user_id', true), '') AS uuid) $$`,
		`CREATE OR REPLACE FUNCTION hf_all() RETURNS boolean LANGUAGE sql STABLE AS
			$$ SELECT coalesce(current_setting('holdfast.all_tenants', true), '') = 'on' $$`,
		`CREATE OR REPLACE FUNCTION hf_place(t text, kind text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
			IF EXISTS (SELECT FROM pg_extension WHERE extname = 'citus') THEN
				IF kind = 'reference' THEN PERFORM create_reference_table(t::regclass);
				ELSE PERFORM create_distributed_table(t::regclass, kind); END IF;
			END IF; END $$`,
	} {
		if _, err := tx.Exec(ctx, s); err != nil {
			return prepareError(err)
		}
	}
	return nil
}

// makeRole makes the role of requests where there is none, and lets the
// connected user take it on.
func makeRole(ctx context.Context, tx pgx.Tx) error {
	for _, s := range []string{
		`DO $$ BEGIN
			IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '` + appRole + `') THEN CREATE ROLE ` + appRole + ` NOLOGIN; END IF;
		EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$`,
		`DO $$ BEGIN
			IF NOT pg_has_role(current_user, '` + appRole + `', 'MEMBER') THEN GRANT ` + appRole + ` TO CURRENT_USER; END IF;
		END $$`,
		`GRANT USAGE ON SCHEMA public TO ` + appRole,
	} {
		if _, err := tx.Exec(ctx, s); err != nil {
			return prepareError(err)
		}
	}
	return nil
}

func prepareError(err error) error {
	return fmt.Errorf("db: prepare PostgreSQL (the migrating user must own the database and be able to create the role %s, "+
		"or an administrator creates it and grants it): %w", appRole, err)
}

// splitStatements splits a migration at semicolons that end a line.
func splitStatements(sql string) []string {
	var out []string
	for _, s := range regexp.MustCompile(`;[ \t]*(\n|$)`).Split(sql, -1) {
		if strings.TrimSpace(stripComments(s)) != "" {
			out = append(out, strings.TrimSpace(s))
		}
	}
	return out
}

func stripComments(s string) string {
	return regexp.MustCompile(`(?m)--.*$`).ReplaceAllString(s, "")
}

var (
	createTable = regexp.MustCompile(`(?is)^\s*(?:--[^\n]*\n\s*)*create table (\w+)\s*\(`)
	foreignKey  = regexp.MustCompile(`(?im)^\s*(?:constraint (\w+) )?(foreign key .*?),?\s*$`)
	// packed or sealed already: PostgreSQL need not try to compress it
	bytesColumn = regexp.MustCompile(`(?im)^\s*(\w+) bytea\b`)
	tenantField = regexp.MustCompile(`(?im)^\s*tenant_id uuid\b`)
	unfenced    = regexp.MustCompile(`(?i)-- no rls:`)
	rlsComment  = regexp.MustCompile(`(?i)-- rls: (\w+)(?:, user (\w+))?`)
)

// postgresDDL orders one migration for PostgreSQL and Citus: create, place,
// then foreign keys (declared earlier, Citus would refuse to distribute the
// graph), then row level security.
func postgresDDL(sql string) []string {
	var create, place, keys, policy []string
	for _, s := range splitStatements(sql) {
		m := createTable.FindStringSubmatch(s)
		if m == nil {
			create = append(create, s)
			continue
		}
		table := m[1]
		for _, fk := range foreignKey.FindAllStringSubmatch(s, -1) {
			name := ""
			if fk[1] != "" {
				name = "CONSTRAINT " + fk[1] + " "
			}
			keys = append(keys, fmt.Sprintf("ALTER TABLE %s ADD %s%s%s", table, name, fk[2], onDelete))
		}
		create = append(create, trailingComma.ReplaceAllString(stripComments(foreignKey.ReplaceAllString(s, "")), "\n)"))
		for _, c := range bytesColumn.FindAllStringSubmatch(s, -1) {
			create = append(create, fmt.Sprintf("ALTER TABLE %s ALTER COLUMN %s SET STORAGE EXTERNAL", table, c[1]))
		}
		col, user := tenantColumn(s, len(m[0]))
		if col != "" {
			place = append(place, fmt.Sprintf("SELECT hf_place('%s', '%s')", table, col))
		} else if tenantField.MatchString(s) && !unfenced.MatchString(s) {
			col = "tenant_id"
		}
		if col != "" {
			policy = append(policy, policyStatements(table, col, user)...)
		}
	}
	return append(append(append(create, place...), keys...), policy...)
}

// onDelete is what a foreign key says on PostgreSQL of the rows it points to.
// The default, NO ACTION, asks for every row that is deleted whether another
// has taken its key (ri_Check_Pk_Match in its ri_triggers.c) before it asks
// whether the row is pointed to: twice the work of RESTRICT, for keys that are
// never reused.
const onDelete = " ON DELETE RESTRICT"

var trailingComma = regexp.MustCompile(`,\s*\)\s*$`)

// tenantColumn finds the column by which a table is placed: named by an "-- rls:" remark, or tenant_id in first
// place. Others are platform tables, kept whole on one node; those that have a tenant_id are fenced by it all the
// same, unless a "-- no rls:" remark says why not.
func tenantColumn(create string, body int) (col, user string) {
	if m := rlsComment.FindStringSubmatch(create); m != nil {
		return m[1], m[2]
	}
	if strings.HasPrefix(strings.TrimSpace(create[body:]), "tenant_id ") {
		return "tenant_id", ""
	}
	return "", ""
}

// policyStatements fences a table. The sub-selects make PostgreSQL evaluate each
// setting once per statement instead of once per row.
func policyStatements(table, col, user string) []string {
	cond := fmt.Sprintf("%s = (SELECT hf_tenant()) OR (SELECT hf_all())", col)
	out := []string{
		fmt.Sprintf("ALTER TABLE %s ENABLE ROW LEVEL SECURITY", table),
		fmt.Sprintf("ALTER TABLE %s FORCE ROW LEVEL SECURITY", table),
		fmt.Sprintf("CREATE POLICY tenant_isolation ON %s USING (%s) WITH CHECK (%s)", table, cond, cond),
	}
	if user != "" {
		out = append(out, fmt.Sprintf("CREATE POLICY own_rows ON %s FOR SELECT USING (%s = (SELECT hf_user()))", table, user))
	}
	return out
}
