package operating_test

import (
	"path/filepath"
	"regexp"
	"testing"

	"holdfast/internal/testkit/program"
)

// A disk that is full in the middle ends the backup in words, with nothing left.
func TestBackupDiskFull(t *testing.T) {
	program.Each(t, func(s *program.Site) {
		s.Exec("tenant", "create", "Acme")
		upload(s, 24<<20)
		dir := s.TempDir()
		for _, blocks := range []string{"200", "20000"} { // of 512 or 1024 bytes: in the snapshot, in the file
			if o := full(s, blocks, "backup", filepath.Join(dir, "a.backup")); o.Code != 1 || !fullWords.MatchString(o.Err) {
				s.Errorf("%s blocks: %s", blocks, o)
			}
			nothingIn(s, dir)
		}
		backup(s, filepath.Join(dir, "a.backup"))
	})
}

var fullWords = regexp.MustCompile("full|large|size limit|cannot be read or written") // the second and third are the test's own disk

// full runs a command that can write so many blocks to a file and no more.
func full(s *program.Site, blocks string, args ...string) program.Outcome {
	s.Helper()
	cmd := s.Command(withPassphrase, args...)
	cmd.Path, cmd.Args = "/bin/sh", append([]string{"sh", "-c", "trap '' XFSZ; ulimit -f " + blocks + `; exec "$0" "$@"`},
		cmd.Args...)
	return s.Finish(cmd, "")
}

// A disk that is full in the middle of a restore, while the database is unpacked
// or a file is, ends it in words; nothing is left, and it is repeated when there
// is room.
func TestRestoreDiskFull(t *testing.T) {
	program.Each(t, func(s *program.Site) {
		s.Exec("tenant", "create", "Acme")
		upload(s, 24<<20)
		path := backup(s, filepath.Join(s.TempDir(), "one.backup"))
		n := another(s)
		for _, blocks := range []string{"200", "20000"} { // in the database, in the file
			if o := full(n, blocks, "restore", path); o.Code != 1 || !fullWords.MatchString(o.Err) {
				s.Errorf("%s blocks: %s", blocks, o)
			}
			untouched(n, blocks+" blocks")
		}
		if o := restore(n, path); o.Code != 0 {
			s.Errorf("with room: %s", o)
		}
	})
}

// A disk without room for the copy before an upgrade keeps the upgrade from
// beginning, and the database stays as it was.
func TestUpgradeDiskFull(t *testing.T) {
	s := program.Embedded(t)
	s.Exec("migrate")
	behind(s)
	before := s.Fingerprint()
	if o := full(s, "200", "serve", "--listen", "127.0.0.1:0"); o.Code != 1 || !fullWords.MatchString(o.Err) {
		t.Errorf("%s", o)
	}
	if s.Fingerprint() != before {
		t.Error("the schema was changed")
	}
	if left, _ := filepath.Glob(filepath.Join(s.Data, "before-upgrade", "*")); len(left) > 0 {
		t.Errorf("half a copy is left: %v", left)
	}
	s.Serve().Stop()
}
