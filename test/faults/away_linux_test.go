package faults_test

import (
	"context"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sys/unix"

	"holdfast/internal/db"
	"holdfast/internal/testkit/program"
)

// admin runs statements on the cluster of the site's database, from another
// database of it; of $ it makes the site's.
func admin(s *program.Site, statements ...string) {
	s.Helper()
	u, err := url.Parse(s.DSN)
	if err != nil {
		s.Fatal(err)
	}
	name := strings.Trim(u.Path, "/")
	u.Path = "/postgres"
	c, err := pgx.Connect(context.Background(), u.String())
	if err != nil {
		s.Fatal(err)
	}
	defer c.Close(context.Background())
	for _, sql := range statements {
		sql = strings.ReplaceAll(sql, "$", name)
		if _, err := c.Exec(context.Background(), sql, pgx.QueryExecModeSimpleProtocol); err != nil {
			s.Fatalf("%s: %v", sql, err)
		}
	}
}

// ended ends the connections to the site's PostgreSQL database; it takes no new
// ones.
const ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '$'"

// away takes the database away from a running server: PostgreSQL lets nobody
// in, the embedded one's disk takes no writes. What it returns brings it back.
func away(v *program.Server) (back func()) {
	if v.DSN == "" {
		return bound(v, unix.RLIMIT_FSIZE, 1)
	}
	admin(v.Site, `ALTER DATABASE "$" ALLOW_CONNECTIONS false`, ended)
	back = func() { admin(v.Site, `ALTER DATABASE "$" ALLOW_CONNECTIONS true`) }
	v.Cleanup(back)
	return back
}

// A sign-out that the database takes no note of is no sign-out: it is answered
// with 503, the session lives on, and is ended when there is a database again.
func TestSignOutWithoutDatabase(t *testing.T) {
	t.Parallel() // it waits, and does little else
	program.EachDemo(t, func(s *program.Site) {
		v := s.ServeAs(fileSizes, "--dev")
		got, _ := v.SignIn("viewer@north.example", "holdfast-demo")
		user := func() int { return v.Call("GET", "/auth/v1/user", got.AccessToken, nil).Status }
		back := away(v)
		if r := v.Call("POST", "/auth/v1/logout", got.AccessToken, nil); r.Status != http.StatusServiceUnavailable ||
			r.Header.Get("Retry-After") == "" {
			s.Errorf("without the database: %d %v %s", r.Status, r.Header, r.Body)
		}
		back()
		s.Eventually("the server is ready again", func() bool {
			return v.Call("GET", "/readyz", "",
				nil).Status == http.StatusOK
		})
		if a := user(); a != http.StatusOK {
			s.Errorf("the session that was not ended: %d", a)
		}
		if r := v.Call("POST", "/auth/v1/logout", got.AccessToken, nil); r.Status != http.StatusNoContent {
			s.Errorf("again: %d %s", r.Status, r.Body)
		}
		if a := user(); a != http.StatusForbidden { // as GoTrue answers session_not_found
			s.Errorf("the session that was ended: %d", a)
		}
		v.Stop()
	})
}

// A database that is moved away under a running server, with an empty one in its
// place or none, is missed: no write is acknowledged, the server says that it is
// not ready, begins nothing anew, and goes on when the database is back.
func TestDatabaseReplaced(t *testing.T) {
	program.EachDemo(t, func(s *program.Site) {
		v := s.Serve("--dev")
		bearer := v.Token("admin@north.example", "holdfast-demo")
		write := func(code string) int {
			return v.Call("POST", "/v1/zones", bearer, map[string]any{"code": code, "name": code}).Status
		}
		ready := func() int { return v.Call("GET", "/readyz", "", nil).Status }
		file := filepath.Join(s.Data, db.FileName)
		rename := func(from, to string) {
			if err := os.Rename(from, to); err != nil {
				s.Fatal(err)
			}
		}
		moved := []struct {
			name     string
			do, undo func()
		}{{"moved away", func() { rename(file, file+".moved") }, func() { rename(file+".moved", file) }},
			{"replaced", func() { rename(file, file+".moved"); s.File(file, "") }, func() { rename(file+".moved", file) }}}
		if s.DSN != "" {
			put := func() { admin(s, `ALTER DATABASE "$_moved" RENAME TO "$"`) }
			take := func() {
				admin(s, `ALTER DATABASE "$" ALLOW_CONNECTIONS false`, ended, `ALTER DATABASE "$" RENAME TO "$_moved"`)
			}
			moved[0].do, moved[0].undo = take, func() { put(); admin(s, `ALTER DATABASE "$" ALLOW_CONNECTIONS true`) }
			moved[1].do = func() { take(); admin(s, `CREATE DATABASE "$" TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'`) }
			moved[1].undo = func() {
				admin(s, `ALTER DATABASE "$" ALLOW_CONNECTIONS false`, ended, `DROP DATABASE "$"`)
				moved[0].undo()
			}
		}
		for _, m := range moved {
			m.do()
			if got := write("GONE-" + m.name[:3]); got != http.StatusServiceUnavailable {
				s.Errorf("%s: a write: %d", m.name, got)
			}
			if got := ready(); got != http.StatusServiceUnavailable {
				s.Errorf("%s: ready: %d", m.name, got)
			}
			if s.DSN == "" {
				if st, err := os.Stat(file); err == nil && st.Size() > 0 {
					s.Errorf("%s: another database was begun, of %d bytes", m.name, st.Size())
				}
			} else if m.name == "replaced" && s.Tables() > 0 {
				s.Errorf("%s: another database was begun", m.name)
			}
			m.undo()
			s.Eventually("the server is ready again", func() bool { return ready() == http.StatusOK })
			if got := write("BACK-" + m.name[:3]); got != http.StatusCreated {
				s.Errorf("%s and back: a write: %d", m.name, got)
			}
		}
		v.Stop()
		s.Exec("verify")
	})
}

// A database file that is emptied under a running server is missed at once, and
// no server begins anew on it.
func TestDatabaseEmptied(t *testing.T) {
	t.Parallel()
	s := program.DemoOn(t, db.SQLite)
	v := s.Serve("--dev")
	bearer := v.Token("admin@north.example", "holdfast-demo")
	file := filepath.Join(s.Data, db.FileName)
	if err := os.Truncate(file, 0); err != nil {
		t.Fatal(err)
	}
	if got := v.Call("POST", "/v1/zones", bearer, map[string]any{"code": "EMPTIED",
		"name": "Emptied"}); got.Status != http.StatusServiceUnavailable {
		t.Errorf("a write: %d %s", got.Status, got.Body)
	}
	if got := v.Call("GET", "/readyz", "", nil); got.Status != http.StatusServiceUnavailable {
		t.Errorf("ready: %d %s", got.Status, got.Body)
	}
	v.Signal(unix.SIGKILL)
	<-v.Gone
	s.Refused("missing or empty", "serve", "--listen", "127.0.0.1:0")
}
