package doctor_test

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/internal/config"
	"holdfast/internal/db"
	"holdfast/internal/doctor"
	"holdfast/internal/testkit/dbtest"
	"holdfast/internal/testkit/pgtest"
)

// A clock two hours off is found: on PostgreSQL by the server's, on the embedded
// engine when it is behind what was recorded. One that agrees is not.
func TestClockOff(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, o db.Options) {
		d, err := db.Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		err = d.Write(t.Context(), db.Scope{All: true}, func(tx *db.Tx) error {
			_, err := tx.Exec("INSERT INTO audit_writers (epoch, sealed_through, seen_at) VALUES (9, 0, $1)", time.Now())
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		d.Close()
		c := settings(t, o)
		for off, want := range map[time.Duration]bool{0: false, -2 * time.Hour: true, 2 * time.Hour: o.URL != ""} {
			p := &doctor.Patient{Config: c, Now: func() time.Time { return time.Now().Add(off) },
				Open: func(context.Context) error { return nil }}
			var found []doctor.Finding
			for _, f := range doctor.Examine(t.Context(), p) {
				if f.Check == "clock" && f.Level == doctor.Failure {
					found = append(found, f)
				}
			}
			if (len(found) > 0) != want {
				t.Errorf("%s off: %+v", off, found)
			}
			for _, f := range found {
				if !strings.Contains(f.What, "2h0m") && !strings.Contains(f.What, "1h59m5") || f.Command == "" {
					t.Errorf("%s off: %+v", off, f)
				}
			}
		}
	})
}

func settings(t *testing.T, o db.Options) *config.Config {
	t.Helper()
	dir := o.Dir
	if dir == "" {
		dir = t.TempDir()
	}
	c, err := config.Load("", nil, map[string]string{"data": dir})
	if err != nil {
		t.Fatal(err)
	}
	c.DatabaseURL = o.URL
	return c
}

// about is what one look finds.
func about(t *testing.T, check string, p *doctor.Patient) (out doctor.Finding) {
	t.Helper()
	p.Now, p.Open = time.Now, func(context.Context) error { return nil }
	for _, f := range doctor.Examine(t.Context(), p) {
		if f.Check == check && out.Level != doctor.Failure {
			out = f
		}
	}
	return out
}

// Low room warns before it fails, and a slow disk warns.
func TestDisk(t *testing.T) {
	const gigabyte = 1 << 30
	for name, r := range map[string]struct {
		room  uint64
		takes time.Duration
		level doctor.Level
		what  string
	}{
		"sound":    {10 * gigabyte, 5 * time.Millisecond, doctor.Fine, "there is room"},
		"low":      {gigabyte, 5 * time.Millisecond, doctor.Warning, "1024 MB are free"},
		"full":     {100 << 20, 5 * time.Millisecond, doctor.Failure, "only 100 MB are free"},
		"slow":     {10 * gigabyte, 80 * time.Millisecond, doctor.Warning, "takes 80 ms"},
		"low, too": {gigabyte, 80 * time.Millisecond, doctor.Warning, "takes 80 ms"},
	} {
		p := &doctor.Patient{Config: settings(t, db.Options{}), Room: func(string) (uint64, error) { return r.room, nil },
			Sync: func(string) (time.Duration, error) { return r.takes, nil }}
		f := about(t, "disk", p)
		if f.Level != r.level || !strings.Contains(f.What, r.what) || f.Level != doctor.Fine &&
			(f.Command == "" || f.Why == "") {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// migrated is a database of its own cluster, with today's schema.
func migrated(t *testing.T, c *pgtest.Cluster) db.Options {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), c.DSN())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), "CREATE DATABASE looked_at TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'"); err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(c.DSN())
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/looked_at"
	o := db.Options{URL: u.String(), Migrate: true}
	d, err := db.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	return o
}

// A replica that does not follow is found, and a login from which that is
// hidden is told so.
func TestReplicaBehind(t *testing.T) {
	t.Parallel() // it waits, and does little else
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
	o := migrated(t, c)
	do := func(dsn string, sql ...string) {
		t.Helper()
		conn, err := pgx.Connect(context.Background(), dsn)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(context.Background())
		for _, s := range sql {
			if _, err := conn.Exec(context.Background(), s); err != nil {
				t.Fatalf("%s: %v", s, err)
			}
		}
	}
	if f := about(t, "replicas", &doctor.Patient{Config: settings(t, o)}); f.Level != doctor.Fine {
		t.Errorf("one that follows: %+v", f)
	}
	standby := settings(t, db.Options{URL: strings.Replace(r.DSN(), "/postgres?", "/looked_at?", 1)})
	itself := about(t, "schema", &doctor.Patient{Config: standby})
	for end := time.Now().Add(time.Minute); strings.Contains(itself.What, "the schema is 0") && // not yet replayed
		time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		itself = about(t, "schema", &doctor.Patient{Config: standby})
	}
	if itself.Level != doctor.Failure || !strings.Contains(itself.What, "is a standby") ||
		!strings.Contains(itself.Command, "primary") {
		t.Errorf("the replica itself: %+v", itself)
	}
	do(r.DSN(), "SELECT pg_wal_replay_pause()")
	do(o.URL, "CREATE TABLE not_followed (x int)")
	p := &doctor.Patient{Config: settings(t, o), Late: 2 * time.Second}
	var f doctor.Finding
	for end := time.Now().Add(time.Minute); f.Level != doctor.Warning &&
		time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		do(o.URL, "INSERT INTO not_followed VALUES (1)")
		f = about(t, "replicas", p)
	}
	if f.Level != doctor.Warning || !strings.Contains(f.What, "behind") || f.Command == "" {
		t.Errorf("one that does not follow: %+v", f)
	}
	do(o.URL, "CREATE ROLE plain LOGIN", "GRANT holdfast_app TO plain", "GRANT CONNECT ON DATABASE looked_at TO plain",
		"GRANT SELECT ON ALL TABLES IN SCHEMA public TO plain")
	u, err := url.Parse(o.URL)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.User("plain")
	f = about(t, "replicas", &doctor.Patient{Config: settings(t, db.Options{URL: u.String()})})
	if f.Level != doctor.Warning || !strings.Contains(f.What, "hidden from plain") ||
		!strings.Contains(f.Command, "pg_read_all_stats") {
		t.Errorf("a login that may not see it: %+v", f)
	}
}

// A pooler that nobody declared is found, on whatever port it listens.
func TestPoolerUndeclared(t *testing.T) {
	dsn := pgtest.DSN(t)
	d, err := db.Open(t.Context(), db.Options{URL: dsn, Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	d.Close()
	c := settings(t, db.Options{URL: dsn})
	if f := about(t, "pooler", &doctor.Patient{Config: c}); f.Level != doctor.Fine {
		t.Errorf("without one: %+v", f)
	}
	c.DatabaseURL = pooled(t, dsn)
	if f := about(t, "pooler", &doctor.Patient{Config: c}); f.Level != doctor.Warning ||
		!strings.Contains(f.Command, "database_pooler = transaction") {
		t.Errorf("with one: %+v", f)
	}
	c.DatabasePooler = "transaction"
	if f := about(t, "pooler", &doctor.Patient{Config: c}); f.Level != doctor.Fine {
		t.Errorf("with one that is declared: %+v", f)
	}
}

// pooled is the address of something that stands before a database as PgBouncer
// does: it tells clients of another process than the server's.
func pooled(t *testing.T, dsn string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	server := filepath.Join(q.Get("host"), ".s.PGSQL."+q.Get("port"))
	q.Del("host")
	q.Del("port")
	q.Set("sslmode", "disable")
	u.Host, u.RawQuery = l.Addr().String(), q.Encode()
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer client.Close()
				s, err := net.Dial("unix", server)
				if err != nil {
					return
				}
				defer s.Close()
				go io.Copy(s, client)
				answers(client, s)
			}()
		}
	}()
	return u.String()
}

// answers passes on what the server says, but for the process it names: the
// message K of protocol 3.0, whose first four bytes are its number.
func answers(client io.Writer, server io.Reader) {
	head := make([]byte, 5)
	for {
		if _, err := io.ReadFull(server, head); err != nil {
			return
		}
		body := make([]byte, binary.BigEndian.Uint32(head[1:])-4)
		if _, err := io.ReadFull(server, body); err != nil {
			return
		}
		if head[0] == 'K' {
			copy(body, "pool")
		}
		if _, err := client.Write(append(head[:5:5], body...)); err != nil {
			return
		}
	}
}
