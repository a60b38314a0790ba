package faults_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/internal/testkit/pgtest"
	"holdfast/internal/testkit/program"
)

// ownCluster is a PostgreSQL server for this test alone, which keeps its
// promises, and a database on it.
func ownCluster(s *program.Site) *pgtest.Cluster {
	s.Helper()
	ctx := context.Background()
	c, err := pgtest.Start(ctx)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { c.Stop() })
	conn, err := pgx.Connect(ctx, c.DSN())
	if err != nil {
		s.Fatal(err)
	}
	defer conn.Close(ctx)
	for _, sql := range []string{"alter system set fsync = on", "alter system set synchronous_commit = on",
		"alter system set full_page_writes = on",
		"select pg_reload_conf()", "create database crashed template template0 encoding 'UTF8' locale 'C'"} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			s.Fatalf("%s: %v", sql, err)
		}
	}
	u, err := url.Parse(c.DSN())
	if err != nil {
		s.Fatal(err)
	}
	u.Path = "/crashed"
	s.DSN = u.String()
	return c
}

// A database server that ends at once under load, three times, costs the
// requests of that moment a 503, never another error; the server goes on by
// itself within 10 s, and has all that it acknowledged.
func TestDatabaseServerCrashes(t *testing.T) {
	s := program.Embedded(t)
	c := ownCluster(s)
	s.Exec("migrate")
	s.ExecWith(program.Passphrase+"\n", "admin", "create", "jo@acme.example", "--tenant", "acme")
	v := s.Serve()
	bearer := v.Token("jo@acme.example", program.Passphrase)
	x := &triples{begun: map[string]bool{}, acked: map[string]bool{}}
	var over atomic.Bool
	var made, refused atomic.Int64
	var load sync.WaitGroup
	for w := range 8 {
		load.Go(func() {
			for i := 0; !over.Load(); i++ {
				code := fmt.Sprintf("KILL-%d-%d", w, i)
				x.note(x.begun, code)
				var rows []map[string]any
				for _, part := range []string{"a", "b", "c"} {
					rows = append(rows, map[string]any{"code": code + part, "name": code})
				}
				switch r := v.Call("POST", "/v1/zones", bearer, rows); r.Status {
				case http.StatusCreated:
					x.note(x.acked, code)
					made.Add(1)
				case http.StatusServiceUnavailable:
					refused.Add(1)
					time.Sleep(20 * time.Millisecond)
				default:
					t.Errorf("a write beside the crash: %d %s", r.Status, r.Body)
					return
				}
			}
		})
	}
	for range 3 {
		from := made.Load()
		s.Eventually("writes go on", func() bool { return made.Load() > from+20 })
		if err := c.Crash(t.Context()); err != nil {
			t.Fatal(err)
		}
		from = made.Load()
		begin := time.Now()
		if !program.Within(10*time.Second, func() bool { return made.Load() > from }) {
			t.Errorf("nothing is written %s after the database is back", time.Since(begin))
		}
	}
	over.Store(true)
	load.Wait()
	t.Logf("%d writes acknowledged, %d refused", made.Load(), refused.Load())
	x.compare(s)
	v.Stop()
	s.Exec("verify")
}
