package pgtest

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
)

// RefuseWrites makes a database read-only, as a server that was restarted as a
// standby is: its sessions are ended, and transactions of new ones only read.
// allow makes it writable again, in the same way.
func RefuseWrites(t testing.TB, dsn string) (allow func()) {
	t.Helper()
	set := func(readOnly string) {
		t.Helper()
		if err := setReadOnly(context.Background(), dsn, readOnly); err != nil {
			t.Fatal(err)
		}
	}
	set("on")
	return func() { set("off") }
}

func setReadOnly(ctx context.Context, dsn, value string) error {
	return withConn(ctx, dsn, func(conn *pgx.Conn) error {
		name := pgx.Identifier{conn.Config().Database}.Sanitize()
		for _, sql := range []string{
			"SET default_transaction_read_only = off",
			"ALTER DATABASE " + name + " SET default_transaction_read_only = " + value,
			"SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
		} {
			if _, err := conn.Exec(ctx, sql); err != nil {
				return fmt.Errorf("pgtest: %s: %w", sql, err)
			}
		}
		return nil
	})
}

// Lock takes all access to a table away from everybody else, as a migration that
// hangs does, until release is called.
func Lock(t testing.TB, dsn, table string) (release func()) {
	t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(ctx, "BEGIN; LOCK TABLE "+pgx.Identifier{table}.Sanitize()+
		" IN ACCESS EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := conn.Close(ctx); err != nil {
			t.Error(err)
		}
	}
}
