package db_test

import (
	"context"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/testkit/pgtest"
)

// pair is a primary and its standby, with a migrated database in both.
type pair struct {
	*testing.T
	primary, standby *pgtest.Cluster
}

const pairName = "failover"

func newPair(t *testing.T) *pair {
	t.Helper()
	c, err := pgtest.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Stop() })
	r, err := c.Replica(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Stop() })
	x := &pair{t, c, r}
	x.run(c.DSN(), "CREATE DATABASE "+pairName+" TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'")
	d, err := db.Open(t.Context(), db.Options{URL: x.at(c), Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	d.Close()
	x.eventually("the standby has it all", func() bool {
		conn, err := pgx.Connect(t.Context(), x.at(r))
		if err != nil {
			return false
		}
		defer conn.Close(t.Context())
		var isThere bool
		err = conn.QueryRow(t.Context(), "SELECT to_regclass('schema_shape') IS NOT NULL").Scan(&isThere)
		return err == nil && isThere
	})
	return x
}

func (x *pair) eventually(what string, ok func() bool) {
	x.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			x.Fatalf("not within a minute: %s", what)
		}
	}
}

func (x *pair) run(dsn string, statements ...string) {
	x.Helper()
	conn, err := pgx.Connect(x.Context(), dsn)
	if err != nil {
		x.Fatal(err)
	}
	defer conn.Close(x.Context())
	for _, sql := range statements {
		if _, err := conn.Exec(x.Context(), sql); err != nil {
			x.Fatalf("%s: %v", sql, err)
		}
	}
}

// at is the address of the database in a cluster.
func (x *pair) at(c *pgtest.Cluster) string {
	x.Helper()
	u, err := url.Parse(c.DSN())
	if err != nil {
		x.Fatal(err)
	}
	u.Path = "/" + pairName
	return u.String()
}

// socketOf is where a cluster listens.
func (x *pair) socketOf(c *pgtest.Cluster) string {
	x.Helper()
	u, err := url.Parse(c.DSN())
	if err != nil {
		x.Fatal(err)
	}
	return filepath.Join(u.Query().Get("host"), ".s.PGSQL."+u.Query().Get("port"))
}

// moving is an address that leads to one server and then to another. Connections that
// are open stay where they are.
func (x *pair) moving(to *atomic.Pointer[string]) string {
	x.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		x.Fatal(err)
	}
	x.Cleanup(func() { l.Close() })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("unix", *to.Load())
			if err != nil {
				client.Close()
				continue
			}
			go func() { io.Copy(server, client); server.Close() }()
			go func() { io.Copy(client, server); client.Close() }()
		}
	}()
	u, err := url.Parse(x.at(x.primary))
	if err != nil {
		x.Fatal(err)
	}
	u.Host, u.RawQuery = l.Addr().String(), "sslmode=disable"
	return u.String()
}

// portsOf reads on so many connections at once, and counts those of each server.
func portsOf(t *testing.T, d *db.DB, conns int) map[string]int {
	t.Helper()
	var mu sync.Mutex
	ports := map[string]int{}
	var all, arrived sync.WaitGroup
	arrived.Add(conns)
	for range conns {
		all.Go(func() {
			port, isThere := "none", sync.OnceFunc(arrived.Done)
			defer isThere()
			err := d.Read(context.Background(), db.Scope{}, func(tx *db.Tx) error {
				err := tx.Query("SELECT current_setting('port')", nil,
					func(r *db.Row) error { port = r.Text(0); return nil })
				isThere()
				arrived.Wait() // each has a connection of its own
				return err
			})
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			ports[port]++
		})
	}
	all.Wait()
	return ports
}

// After a failover behind one address the first write that the old primary refuses has
// every connection left: none stays with it, neither for writes nor for reads.
func TestFailoverBehindOneAddress(t *testing.T) {
	t.Parallel() // it waits, and does little else
	x := newPair(t)
	var to atomic.Pointer[string]
	primary, standby := x.socketOf(x.primary), x.socketOf(x.standby)
	to.Store(&primary)
	const conns = 8
	d, err := db.Open(t.Context(), db.Options{URL: x.moving(&to), PoolSize: conns})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	before := portsOf(t, d, conns)
	if len(before) != 1 {
		t.Fatalf("before the failover: %v", before)
	}

	x.run(x.at(x.standby), "SELECT pg_promote()")
	to.Store(&standby)
	x.run(x.at(x.primary), "ALTER SYSTEM SET default_transaction_read_only = on", "SELECT pg_reload_conf()")
	write := func() error {
		return d.Write(t.Context(), db.Scope{All: true}, func(tx *db.Tx) error {
			_, err := tx.Exec("INSERT INTO probes (name, beat) VALUES ('after', 1) ON CONFLICT (name) DO NOTHING")
			return err
		})
	}
	x.eventually("the old primary refuses a write", func() bool { return fault.HasCode(write(), "25006") })
	if err := write(); err != nil {
		t.Errorf("the write after it: %v", err)
	}
	after := portsOf(t, d, conns)
	for port := range before {
		if len(after) != 1 || after[port] > 0 {
			t.Errorf("connections by server were %v, and are %v", before, after)
		}
	}
}

// A standby is refused in words; among several hosts the one that takes writes is
// found, and target_session_attrs chooses otherwise.
func TestStandbyIsNoPrimary(t *testing.T) {
	t.Parallel()
	x := newPair(t)
	_, err := db.Open(t.Context(), db.Options{URL: x.at(x.standby)})
	if !fault.HasCode(err, "25006") || !strings.Contains(err.Error(), "it is a standby") {
		t.Errorf("a standby alone: %v", err)
	}
	s, p := x.query(x.standby), x.query(x.primary)
	both := "postgres:///" + pairName + "?" + url.Values{"user": {p.Get("user")},
		"host": {s.Get("host") + "," + p.Get("host")}, "port": {s.Get("port") + "," + p.Get("port")}}.Encode()
	for address, want := range map[string]string{both: p.Get("port"),
		x.at(x.standby) + "&target_session_attrs=any": s.Get("port")} {
		d, err := db.Open(t.Context(), db.Options{URL: address, PoolSize: 2})
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		if got := portsOf(t, d, 2); got[want] != 2 {
			t.Errorf("%s leads to %v, want %s", address, got, want)
		}
		d.Close()
	}
}

// query are the parameters in the address of a cluster.
func (x *pair) query(c *pgtest.Cluster) url.Values {
	x.Helper()
	u, err := url.Parse(c.DSN())
	if err != nil {
		x.Fatal(err)
	}
	q := u.Query()
	if u.User != nil {
		q.Set("user", u.User.Username())
	}
	return q
}
