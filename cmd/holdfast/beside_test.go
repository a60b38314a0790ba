package main_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A server that starts while an import runs leaves it alone.
func TestServerStartsDuringImport(t *testing.T) {
	path := filepath.Join(t.TempDir(), "items.csv")
	if err := os.WriteFile(path, manyItems(10*rows), 0o600); err != nil {
		t.Fatal(err)
	}
	each(t, func(s *site) {
		s.run("tenant", "create", "Acme")
		cmd := s.command(nil, "import", path, "--target", "items", "--tenant", "acme")
		done := make(chan outcome, 1)
		go func() { done <- s.finish(cmd, "") }()
		if !within(time.Minute, func() bool { return s.number("SELECT COUNT(*) FROM import_jobs WHERE status <> 'uploaded'") > 0 }) {
			s.Error("the import does not begin")
		}
		v := s.serve()
		if o := <-done; o.code != 0 {
			s.Errorf("the import: %s", o)
		}
		v.stop()
		if n := s.number("SELECT COUNT(*) FROM items"); n != 10*rows {
			s.Errorf("%d of %d records", n, 10*rows)
		}
		s.run("verify")
	})
}
