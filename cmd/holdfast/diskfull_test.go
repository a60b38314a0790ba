package main_test

import (
	"path/filepath"
	"regexp"
	"testing"
)

// A disk that is full in the middle ends the backup in words, with nothing left.
func TestBackupDiskFull(t *testing.T) {
	each(t, func(s *site) {
		s.run("tenant", "create", "Acme")
		s.upload(24 << 20)
		dir := s.TempDir()
		for _, blocks := range []string{"200", "20000"} { // of 512 or 1024 bytes: in the snapshot, in the file
			if o := s.full(blocks, "backup", filepath.Join(dir, "a.backup")); o.code != 1 || !fullWords.MatchString(o.err) {
				s.Errorf("%s blocks: %s", blocks, o)
			}
			s.nothingIn(dir)
		}
		s.backup(filepath.Join(dir, "a.backup"))
	})
}

var fullWords = regexp.MustCompile("full|large|size limit|cannot be read or written") // the second and third are the test's own disk

// full runs a command that can write so many blocks to a file and no more.
func (s *site) full(blocks string, args ...string) outcome {
	s.Helper()
	cmd := s.command(withPassphrase, args...)
	cmd.Path, cmd.Args = "/bin/sh", append([]string{"sh", "-c", "trap '' XFSZ; ulimit -f " + blocks + `; exec "$0" "$@"`}, cmd.Args...)
	return s.finish(cmd, "")
}

// A disk that is full in the middle of a restore, while the database is unpacked
// or a file is, ends it in words; nothing is left, and it is repeated when there
// is room.
func TestRestoreDiskFull(t *testing.T) {
	each(t, func(s *site) {
		s.run("tenant", "create", "Acme")
		s.upload(24 << 20)
		path := s.backup(filepath.Join(s.TempDir(), "one.backup"))
		n := s.another()
		for _, blocks := range []string{"200", "20000"} { // in the database, in the file
			if o := n.full(blocks, "restore", path); o.code != 1 || !fullWords.MatchString(o.err) {
				s.Errorf("%s blocks: %s", blocks, o)
			}
			n.untouched(blocks + " blocks")
		}
		if o := n.restore(path); o.code != 0 {
			s.Errorf("with room: %s", o)
		}
	})
}

// A disk without room for the copy before an upgrade keeps the upgrade from
// beginning, and the database stays as it was.
func TestUpgradeDiskFull(t *testing.T) {
	s := embedded(t)
	s.run("migrate")
	s.behind()
	before := s.fingerprint()
	if o := s.full("200", "serve", "--listen", "127.0.0.1:0"); o.code != 1 || !fullWords.MatchString(o.err) {
		t.Errorf("%s", o)
	}
	if s.fingerprint() != before {
		t.Error("the schema was changed")
	}
	if left, _ := filepath.Glob(filepath.Join(s.data, "before-upgrade", "*")); len(left) > 0 {
		t.Errorf("half a copy is left: %v", left)
	}
	s.serve().stop()
}
