package db

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"holdfast/internal/fault"
)

func openTest(t *testing.T) *DB {
	t.Helper()
	d, err := Open(context.Background(), Options{Dir: t.TempDir(), Migrate: true, Exclusive: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func TestPostgresDDL(t *testing.T) {
	sql := "create table a (\n  tenant_id uuid not null,\n  id uuid not null,\n  b_id uuid,\n  packed bytea not null,\n  primary key (tenant_id, " +
		"id),\n  foreign key (tenant_id, b_id) references b (tenant_id, id)\n);\ncreate index a_x on a (tenant_id);\n"
	got := postgresDDL(sql)
	want := []string{
		"create table a (\n  tenant_id uuid not null,\n  id uuid not null,\n  b_id uuid,\n  packed bytea not null,\n  primary key (tenant_id, id)\n)",
		"ALTER TABLE a ALTER COLUMN packed SET STORAGE EXTERNAL",
		"create index a_x on a (tenant_id)",
		"SELECT hf_place('a', 'tenant_id')",
		"ALTER TABLE a ADD foreign key (tenant_id, b_id) references b (tenant_id, id) ON DELETE RESTRICT",
		"ALTER TABLE a ENABLE ROW LEVEL SECURITY",
		"ALTER TABLE a FORCE ROW LEVEL SECURITY",
		"CREATE POLICY tenant_isolation ON a USING (tenant_id = (SELECT hf_tenant()) OR (SELECT hf_all())) WITH CHECK (tenant_id = (SELECT hf_tenant()) " +
			"OR (SELECT hf_all()))",
	}
	if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestGroupCommitIsolatesFailures(t *testing.T) {
	d := openTest(t)
	ctx := context.Background()
	if err := d.Write(ctx, Scope{}, func(tx *Tx) error {
		_, err := tx.Exec("create table t (n bigint primary key)")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	veto := errors.New("veto")
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			err := d.Write(ctx, Scope{}, func(tx *Tx) error {
				if _, err := tx.Exec("INSERT INTO t VALUES ($1)", i/2*2); err != nil {
					return err
				}
				if i%20 == 0 {
					return veto
				}
				return nil
			})
			if err != nil && !errors.Is(err, veto) && !fault.HasCode(err, "23505") {
				t.Errorf("%d: %v", i, err)
			}
		}()
	}
	wg.Wait()
	n := 0
	if err := d.Read(ctx, Scope{}, func(tx *Tx) error {
		return tx.Query("SELECT count(*) FROM t", nil, func(r *Row) error { n = int(r.Int(0)); return nil })
	}); err != nil {
		t.Fatal(err)
	}
	if n != 100 {
		t.Errorf("rows = %d, want 100: each pair leaves exactly one", n)
	}
}

func TestSecondProcessIsRefused(t *testing.T) {
	dir := t.TempDir()
	d, err := Open(context.Background(), Options{Dir: dir, Migrate: true, Exclusive: true})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, err := Open(context.Background(), Options{Dir: dir, Exclusive: true}); err == nil {
		t.Error("a second exclusive open succeeded")
	}
}

func TestLikeIsCaseSensitive(t *testing.T) {
	d := openTest(t)
	var a, b bool
	if err := d.Read(context.Background(), Scope{}, func(tx *Tx) error {
		return tx.One(`SELECT 'Abc' LIKE 'abc', 'a_c' LIKE 'a\_c' ESCAPE '\'`, nil,
			func(r *Row) error { a, b = r.Bool(0), r.Bool(1); return nil })
	}); err != nil {
		t.Fatal(err)
	}
	if a || !b {
		t.Errorf("like = %v, escaped = %v", a, b)
	}
}

func TestPositional(t *testing.T) {
	for _, c := range []struct{ in, out, order string }{
		{"SELECT 1", "SELECT 1", "[]"},
		{"a = $1 AND b = $2", "a = ? AND b = ?", "[1 2]"},
		{"$2, $1, $2, $12", "?, ?, ?, ?", "[2 1 2 12]"},
		{`'it''s $1' || "$2" || $1`, `'it''s $1' || "$2" || ?`, "[1]"},
		{"'$1", "'$1", "[]"},
		{"$0 $x", "$0 $x", "[]"},
	} {
		out, order := positionalParameters(c.in)
		if out != c.out || fmt.Sprint(order) != c.order {
			t.Errorf("%s: %s %v, want %s %s", c.in, out, order, c.out, c.order)
		}
	}
}
