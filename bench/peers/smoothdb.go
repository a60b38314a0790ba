package peers

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"
)

// SmoothDatabase is the database that smoothdb serves, SmoothOrders its table's address.
const (
	SmoothDatabase = "smooth"
	SmoothOrders   = "/api/" + SmoothDatabase + "/orders"
	SmoothUp       = "/"
)

// clerk is the role of its requests: it may read and write the table, and no row
// policy is asked for it.
const clerk = "clerk"

// FillSmooth makes the table with its index and enters orders, the oldest first.
func FillSmooth(ctx context.Context, database string, orders []Order) error {
	conn, err := pgx.Connect(ctx, database)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	raw, err := json.Marshal(orders)
	if err != nil {
		return err
	}
	for _, q := range []struct {
		sql  string
		args []any
	}{
		{sql: `create table orders (id uuid primary key default gen_random_uuid(), tenant uuid not null, order_no text, type text not null,
			status text not null default 'draft', priority bigint not null, party_name text not null, carrier text, requested_at timestamptz,
			promised_at timestamptz, qty_ordered numeric not null default 0, total_value numeric not null default 0,
			created_at timestamptz not null default clock_timestamp())`},
		{sql: `insert into orders (tenant, order_no, type, status, priority, party_name, carrier, requested_at, promised_at, qty_ordered, total_value)
			select tenant, order_no, type, status, priority, party_name, carrier, requested_at, promised_at, qty_ordered, total_value
			from json_populate_recordset(null::orders, $1)`, args: []any{string(raw)}},
		{sql: "create index page on orders (tenant, status, created_at desc)"},
		{sql: role(clerk)}, {sql: role("anon_" + clerk)}, {sql: "grant all on orders to " + clerk},
		{sql: "vacuum analyze orders"},
	} {
		if _, err := conn.Exec(ctx, q.sql, q.args...); err != nil {
			return fmt.Errorf("%.40s: %w", q.sql, err)
		}
	}
	return nil
}

// role makes a role, which is of the whole cluster and may be there.
func role(name string) string {
	return "do $$ begin create role " + name + "; exception when duplicate_object then null; end $$"
}

// SmoothSample is the ids of n orders of the tenant.
func SmoothSample(ctx context.Context, database, tenant string, n int) (ids []string, err error) {
	conn, err := pgx.Connect(ctx, database)
	if err != nil {
		return nil, err
	}
	defer conn.Close(ctx)
	rows, err := conn.Query(ctx, "select id::text from orders where tenant = $1 limit $2", tenant, n)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// ServeSmooth is the command that serves the cluster that the database is of, and a
// token of the clerk.
func ServeSmooth(program, dir, database, address string) (*exec.Cmd, string, error) {
	secret := rand.Text() + rand.Text()
	config, err := json.Marshal(map[string]any{"Address": address, "AllowAnon": false, "JWTSecret": secret,
		"EnableAdminRoute": false,
		"Database": map[string]any{"URL": database, "AnonRole": "anon_" + clerk, "AllowedDatabases": []string{SmoothDatabase},
			"MinPoolConnections": 10, "MaxPoolConnections": 10},
		"Logging": map[string]any{"Level": "error", "FileLogging": false, "StdOut": false}})
	if err != nil {
		return nil, "", err
	}
	at := filepath.Join(dir, "smoothdb.jsonc")
	if err := os.WriteFile(at, config, 0o600); err != nil {
		return nil, "", err
	}
	cmd := exec.Command(program, "-c", at, "-a", address, "-d", database)
	cmd.Dir = dir
	return cmd, hs256(secret, map[string]any{"role": clerk}, time.Now().Add(time.Hour)), nil
}

// SmoothPage is the address of a page of the tenant's confirmed orders, newest first.
func SmoothPage(tenant, columns string, offset int) string {
	return fmt.Sprintf("%s?select=%s&tenant=eq.%s&status=eq.confirmed&order=created_at.desc&limit=50&offset=%d",
		SmoothOrders, columns, tenant, offset)
}
