package imports_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"holdfast/internal/testkit/program"
)

// A server that starts while an import runs leaves it alone.
func TestServerStartsDuringImport(t *testing.T) {
	path := filepath.Join(t.TempDir(), "items.csv")
	if err := os.WriteFile(path, manyItems(10*rows), 0o600); err != nil {
		t.Fatal(err)
	}
	program.Each(t, func(s *program.Site) {
		s.Exec("tenant", "create", "Acme")
		cmd := s.Command(nil, "import", path, "--target", "items", "--tenant", "acme")
		done := make(chan program.Outcome, 1)
		go func() { done <- s.Finish(cmd, "") }()
		if !program.Within(time.Minute, func() bool { return s.Number("SELECT COUNT(*) FROM import_jobs WHERE status <> 'uploaded'") > 0 }) {
			s.Error("the import does not begin")
		}
		v := s.Serve()
		if o := <-done; o.Code != 0 {
			s.Errorf("the import: %s", o)
		}
		v.Stop()
		if n := s.Number("SELECT COUNT(*) FROM items"); n != 10*rows {
			s.Errorf("%d of %d records", n, 10*rows)
		}
		s.Exec("verify")
	})
}
