package app

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/internal/backup"
	"holdfast/internal/backups"
	"holdfast/internal/db"
	"holdfast/internal/job"
	"holdfast/internal/testkit/dbtest"
)

// A place from which something moves each backup away gets one that makes up for a loss in
// each backup_every, not one at each look.
func TestBackupsThatAreMovedAway(t *testing.T) {
	dbtest.Abreast(t, func(t *testing.T, e db.Engine) {
		x := newDays(t, dbtest.Options(t, e), filepath.Join(t.TempDir(), "backups"))
		x.next()
		made := 0
		for range 61 {
			for _, name := range x.listFiles() {
				made++
				x.remove(name)
			}
			x.later(time.Minute)
			x.asIfMadeNow()
		}
		if made < 2 || made > 3 {
			t.Errorf("%d backups were made in an hour, want two or three", made)
		}
	})
}

// After a restore of a database some days old, what was removed since is no loss, and what
// is there counts.
func TestBackupsPrunedSinceTheRestoredOne(t *testing.T) {
	dbtest.Abreast(t, func(t *testing.T, e db.Engine) {
		x := newDays(t, dbtest.Options(t, e), filepath.Join(t.TempDir(), "backups"))
		pruned, _ := x.next()
		kept, _ := x.next()
		if err := backups.DoubtAll(t.Context(), x.db); err != nil {
			t.Fatal(err)
		}
		x.remove(pruned)
		for _, says := range []string{"", kept + ": its file is missing"} {
			seen, err := x.examinePlace(t.Context())
			if err != nil || strings.Join(seen.Lost, "") != says {
				t.Errorf("doctor is told: %+v %v, want %q", seen.Lost, err, says)
			}
			x.later(6 * time.Minute)
			status, err := x.readStatus(t.Context())
			if err != nil || status.Place.OK != (says == "") {
				t.Errorf("the status: %+v %v", status.Place, err)
			}
			if says == "" {
				x.remove(kept)
			}
		}
	})
}

// While a backup is made, which may take hours, the place is looked at as ever.
func TestLookWhileBackupIsMade(t *testing.T) {
	dbtest.Abreast(t, func(t *testing.T, e db.Engine) {
		x := newDays(t, dbtest.Options(t, e), filepath.Join(t.TempDir(), "backups"))
		x.next()
		x.one.Lock() // it is being made
		defer x.one.Unlock()
		look := lookKind(&App{backups: x.schedule})
		for range 3 {
			x.at = x.at.Add(time.Hour)
			if err := look.Run(t.Context(), job.Job{}); err != nil {
				t.Fatal(err)
			}
		}
		if status, err := x.readStatus(t.Context()); err != nil || !status.Place.OK {
			t.Errorf("the status: %+v %v", status.Place, err)
		}
	})
}

// A drill that takes the server with it is not tried again at once, and is reported as one
// that did not end.
func TestDrillThatDoesNotEnd(t *testing.T) {
	dbtest.Abreast(t, func(t *testing.T, e db.Engine) {
		x := newDays(t, dbtest.Options(t, e), filepath.Join(t.TempDir(), "backups"))
		x.c.BackupRecipient, x.c.BackupPassphrase, x.c.BackupDrill = "", "a passphrase of the test", "weekly"
		x.schedule.opener = backup.Opener{Passphrase: x.c.BackupPassphrase}
		name, _ := x.next()
		ended, end := context.WithCancel(t.Context())
		end()
		if err := x.runDrill(ended); err == nil {
			t.Fatal("a drill on a server that stops succeeded")
		}
		if standing, err := x.openLedger().ReadStanding(t.Context()); err != nil || !standing.TriedAt.IsZero() {
			t.Errorf("a drill that the end of the server ended: %+v %v", standing, err)
		}
		if _, err := x.openLedger().BeginDrill(t.Context()); err != nil { // and the server is killed
			t.Fatal(err)
		}
		x.alter(name)
		for passed, want := range map[time.Duration]string{10 * time.Minute: "", 12 * time.Hour: "did not end"} {
			began := x.at
			x.at = began.Add(passed)
			x.drill("") // not due
			seen, err := x.examinePlace(t.Context())
			if err != nil || !strings.Contains(seen.Failure, want) || (seen.Failure == "") != (want == "") {
				t.Errorf("%s later doctor is told %q %v, want %q", passed, seen.Failure, err, want)
			}
			x.at = began
		}
		x.at = x.at.Add(25 * time.Hour)
		x.drill(name + ": ")
	})
}
