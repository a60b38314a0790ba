package operating_test

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/internal/db"
	"holdfast/internal/testkit/program"
)

// A column that somebody dropped is named by the start, by doctor, by the check before an
// upgrade and by the restore of a backup that was made without it; put back, all go on.
func TestDroppedColumnIsNamed(t *testing.T) {
	program.EachDemo(t, func(s *program.Site) {
		path := s.TempDir() + "/without.backup"
		alterSchema(s, "ALTER TABLE items DROP COLUMN description")
		const gone = `column items\.description is gone`
		s.Refused(gone, "serve", "--listen", "127.0.0.1:0")
		s.Refused(gone, "upgrade", "check")
		found, code := doctor(s, nil)
		if code != 1 || !strings.Contains(found["schema"].What, "column items.description") {
			s.Errorf("doctor: %d %+v", code, found["schema"])
		}
		backup(s, path) // what is there is worth a backup
		o := restore(another(s), path)
		if o.Code == 0 || !strings.Contains(o.String(), "column items.description is gone") {
			s.Errorf("restore: %s", o)
		}
		alterSchema(s, "ALTER TABLE items ADD COLUMN description text")
		s.Serve("--dev").Stop()
	})
}

// alterSchema changes the schema past the program, which opens no schema that lacks
// something.
func alterSchema(s *program.Site, statement string) {
	s.Helper()
	driver, at := "sqlite", filepath.Join(s.Data, db.FileName)
	if s.DSN != "" {
		driver, at = "pgx", s.DSN
	}
	d, err := sql.Open(driver, at)
	if err != nil {
		s.Fatal(err)
	}
	defer d.Close()
	if _, err := d.Exec(statement); err != nil {
		s.Fatal(err)
	}
}
