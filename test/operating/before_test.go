package operating_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"holdfast/internal/db"
	"holdfast/internal/testkit/program"
)

// remake is the command that makes the data of testdata anew, which CONTRIBUTING
// names too.
const remake = "HOLDFAST_MAKE_BEFORE=1 bin/pgtest -- go test ./test/operating -run TestDataOfTheFirstRelease"

// The databases that 0.1.0 made of a small tenant are started by this program, one
// of each engine, and brought up to its schema: everybody and everything is there,
// and the schema is that of a new database.
func TestDataOfTheFirstRelease(t *testing.T) {
	program.Each(t, func(s *program.Site) {
		file := filepath.Join("testdata", "0.1.0-sqlite.gz")
		if s.DSN != "" {
			file = filepath.Join("testdata", "0.1.0-postgresql.gz")
		}
		if os.Getenv("HOLDFAST_MAKE_BEFORE") != "" {
			makeBefore(another(s), file)
		}
		n := another(s)
		unpackedFrom(n, file)
		n.Exec("migrate")
		if n.Fingerprint() != s.Fingerprint() {
			s.Errorf("%s, brought up to date by the migrations, has not the schema of a new database. As long as 0.1.0 is not released, make it anew:\n%s\n"+
				"Once it is, write a migration: see upgrading.md.", file, remake)
			return
		}
		n.Exec("verify")
		v := n.Serve()
		bearer := v.Token("jo@acme.example", program.Passphrase)
		for path, want := range map[string]int{"zones": 2, "items": 30, "stock_levels": 10, "stock_movements": 10,
			"orders": 1, "members": 1, "import_jobs": 1} {
			r := v.Call("GET", "/v1/"+path+"?select=count", bearer, nil)
			var got []struct{ Count int }
			r.Into(s, &got)
			if len(got) != 1 || got[0].Count != want {
				s.Errorf("%s: %s, want %d", path, r.Body, want)
			}
		}
		if r := v.Call("GET", "/v1/orders?select=total_value", bearer, nil); string(r.Body) != `[{"total_value":6.666}]` {
			s.Errorf("the order's value: %s", r.Body)
		}
		v.Stop()
	})
}

// makeBefore makes the backup: a tenant with a few goods, an order and an import.
func makeBefore(s *program.Site, file string) {
	s.Helper()
	s.Exec("migrate")
	s.ExecWith(program.Passphrase+"\n", "admin", "create", "jo@acme.example", "--tenant", "acme")
	v := s.Serve()
	bearer := v.Token("jo@acme.example", program.Passphrase)
	must := func(path string, body any) {
		s.Helper()
		if r := v.Call("POST", path, bearer, body); r.Status >= 300 {
			s.Fatalf("%s: %d %s", path, r.Status, r.Body)
		}
	}
	add := func(collection string, row map[string]any) string {
		s.Helper()
		must("/v1/"+collection, row)
		var rows []struct{ ID string }
		v.Call("GET", "/v1/"+collection+"?select=id&order=id.desc&limit=1", bearer, nil).Into(s, &rows)
		return rows[0].ID
	}
	dock := add("zones", map[string]any{"code": "DOCK", "name": "Dock", "kind": "dock"})
	bin := add("zones", map[string]any{"code": "BIN", "name": "Bin", "parent_id": dock})
	order := add("orders", map[string]any{"party_name": "Receiver"})
	for i := range 10 {
		item := add("items", map[string]any{"sku": "FIRST-" + strconv.Itoa(i), "name": "Item of the first release"})
		add("stock_movements", map[string]any{"type": "receipt", "item_id": item, "to_zone_id": bin, "quantity": 20 + i})
		add("order_lines", map[string]any{"order_id": order, "line_no": i + 1, "item_id": item, "qty_ordered": 2,
			"unit_price": 0.3333})
	}
	job := v.Uploaded(bearer, 20)
	for _, step := range []string{"process", "apply"} {
		must("/functions/v1/"+step+"-import-job", map[string]string{"job_id": job})
	}
	s.Eventually("the rows are applied", func() bool { return s.Number("SELECT COUNT(*) FROM items") == 30 })
	v.Stop()
	packedTo(s, file)
	if n := program.FileSize(s.T, file); n > 300_000 {
		s.Errorf("%s has %d bytes", file, n)
	}
}

// packedTo writes to a file what a site holds, which nobody has open: the master
// key, a line, and the database, the embedded one as it is, PostgreSQL's as text.
func packedTo(s *program.Site, file string) {
	s.Helper()
	key, err := os.ReadFile(s.MasterKeyFile())
	if err != nil {
		s.Fatal(err)
	}
	var database []byte
	if s.DSN != "" {
		database = tool(s, nil, "pg_dump", "--no-owner", s.DSN)
	} else if database, err = os.ReadFile(filepath.Join(s.Data, db.FileName)); err != nil {
		s.Fatal(err)
	}
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		s.Fatal(err)
	}
	_, err = z.Write(append(append(bytes.TrimSpace(key), '\n'), database...))
	if err := errors.Join(err, z.Close(), os.MkdirAll(filepath.Dir(file), 0o755),
		os.WriteFile(file, b.Bytes(), 0o644)); err != nil {
		s.Fatal(err)
	}
}

// unpackedFrom undoes packedTo.
func unpackedFrom(s *program.Site, file string) {
	s.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		s.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		s.Fatal(err)
	}
	all, err := io.ReadAll(z)
	if err := errors.Join(err, os.MkdirAll(s.Data, 0o700)); err != nil {
		s.Fatal(err)
	}
	key, database, _ := bytes.Cut(all, []byte("\n"))
	s.File(s.MasterKeyFile(), string(key)+"\n")
	if s.DSN != "" {
		tool(s, database, "psql", "--quiet", "--set=ON_ERROR_STOP=1", "--dbname="+s.DSN)
		return
	}
	s.File(filepath.Join(s.Data, db.FileName), string(database))
}

// tool is a program of PostgreSQL, and what it printed.
func tool(s *program.Site, stdin []byte, name string, args ...string) []byte {
	s.Helper()
	cmd := exec.Command(name, args...)
	var errs bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(stdin), &errs
	out, err := cmd.Output()
	if err != nil {
		s.Fatalf("%s: %v\n%s", name, err, &errs)
	}
	return out
}
