package app

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/internal/backup"
	"holdfast/internal/blob"
	"holdfast/internal/db"
	"holdfast/internal/installation"
	"holdfast/internal/testkit/dbtest"
)

// backend is the place of the backups.
func (x *days) backend() blob.Backend {
	x.Helper()
	place, err := blob.OpenBackend(x.c.BackupTo)
	if err != nil {
		x.Fatal(err)
	}
	return place
}

func (x *days) listFiles() []string {
	x.Helper()
	names, err := x.backend().List(x.Context(), "holdfast-2")
	if err != nil {
		x.Fatal(err)
	}
	return names
}

// later passes some minutes, and the job of the backups runs.
func (x *days) later(passed time.Duration) {
	x.Helper()
	x.at = x.at.Add(passed)
	if err := x.backupIfDue(x.Context()); err != nil {
		x.Fatal(err)
	}
}

func (x *days) remove(name string) {
	x.Helper()
	if err := x.backend().Remove(x.Context(), name); err != nil {
		x.Fatal(err)
	}
}

// asIfMadeNow gives the newest backup the day of the test: it has the machine's time.
func (x *days) asIfMadeNow() {
	x.Helper()
	err := x.db.Write(x.Context(), db.Scope{All: true}, func(tx *db.Tx) error {
		_, err := tx.Exec("UPDATE backups SET made_at = $1 WHERE made_at > $1", x.at)
		return err
	})
	if err != nil {
		x.Fatal(err)
	}
}

// A backup that is gone, or changed, or whose base is gone, is noticed within a tenth of
// backup_every: the status and doctor say so, and another is made at once.
func TestLostBackupIsMadeAnew(t *testing.T) {
	for what, c := range map[string]struct {
		lose func(x *days, base, last string)
		says string // of the last one; "" = it is as it was
	}{
		"nothing":  {func(*days, string, string) {}, ""},
		"its file": {func(x *days, _, last string) { x.remove(last) }, "its file is missing"},
		"its base": {func(x *days, base, _ string) { x.remove(base) }, "it stands on "},
		"all of the place": {func(x *days, base, last string) {
			for _, name := range []string{base, last, installation.MarkerName} {
				x.remove(name)
			}
		}, "its file is missing"},
	} {
		t.Run(what, func(t *testing.T) {
			eachPlace(t, func(t *testing.T, o db.Options, to string) {
				x := newDays(t, o, to)
				x.upload(large)
				base, _ := x.next()
				last, _ := x.next()
				made := len(x.listFiles())
				c.lose(x, base, last)
				left := len(x.listFiles())

				x.later(30 * time.Second)
				if got := len(x.listFiles()); got != left {
					t.Fatalf("%d files: it looked before the tenth of backup_every was over", got)
				}
				x.later(6 * time.Minute)
				want := left
				if c.says != "" {
					want++
				}
				if got := len(x.listFiles()); got != want {
					t.Fatalf("%d files of %d made, %d left: want %d", got, made, left, want)
				}
				x.asIfMadeNow()
				status, err := x.readStatus(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if ok := status.Place.OK; ok != (c.says == "") || (status.Place.Problem == "") != ok {
					t.Errorf("the status: %+v", status.Place)
				}
				if status.AgeSeconds == nil || c.says != "" && *status.AgeSeconds > 60 {
					t.Errorf("the age of the last good one: %v", status.AgeSeconds)
				}
				seen, err := x.examinePlace(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				said := strings.Join(seen.Lost, "\n")
				if !strings.Contains(said, c.says) || (said == "") != (c.says == "") {
					t.Errorf("doctor is told: %q, want %q", said, c.says)
				}
				x.later(6 * time.Minute)
				if got := len(x.listFiles()); got != want {
					t.Errorf("%d files, one more for the same loss", got)
				}
			})
		})
	}
}

// A file that was cut counts as lost, and counts again once it is as it was.
func TestLostBackupComesBack(t *testing.T) {
	dbtest.Abreast(t, func(t *testing.T, e db.Engine) {
		x := newDays(t, dbtest.Options(t, e), filepath.Join(t.TempDir(), "backups"))
		name, _ := x.next()
		path := filepath.Join(x.c.BackupTo, name)
		if err := errors.Join(os.Rename(path, path+".away"), os.WriteFile(path, []byte("cut"), 0o600)); err != nil {
			t.Fatal(err)
		}
		x.later(6 * time.Minute)
		status, err := x.readStatus(t.Context())
		if err != nil || status.Place.Missing != 1 || len(x.listFiles()) != 3 {
			t.Errorf("%+v %v, files %v", status.Place, err, x.listFiles())
		}
		if err := os.Rename(path+".away", path); err != nil {
			t.Fatal(err)
		}
		x.later(6 * time.Minute)
		if status, err := x.readStatus(t.Context()); err != nil || !status.Place.OK {
			t.Errorf("%+v %v", status.Place, err)
		}
	})
}

// A place that cannot be read, or that is another installation's, is told, and nothing
// that is noted of it counts as lost: it may be there.
func TestPlaceThatCannotBeLookedAt(t *testing.T) {
	for what, c := range map[string]struct {
		spoil func(x *days) error
		says  string
	}{
		"a file stands there": {func(x *days) error {
			return errors.Join(os.Rename(x.c.BackupTo, x.c.BackupTo+".away"), os.WriteFile(x.c.BackupTo, nil, 0o600))
		}, "not a directory"},
		"it is another's": {func(x *days) error {
			err := installation.TakeOver(x.Context(), x.backend(), "another", x.now())
			x.at = x.at.Add(2 * time.Minute)
			return errors.Join(err, x.guard.Refresh(x.Context()))
		}, "belongs to installation another"},
	} {
		t.Run(what, func(t *testing.T) {
			dbtest.Abreast(t, func(t *testing.T, e db.Engine) {
				x := newDays(t, dbtest.Options(t, e), filepath.Join(t.TempDir(), "backups"))
				x.next()
				if err := c.spoil(x); err != nil {
					t.Fatal(err)
				}
				x.later(6 * time.Minute)
				status, err := x.readStatus(t.Context())
				if err != nil || status.Place.OK || status.Place.Missing != 0 || status.Place.Problem == "" {
					t.Errorf("the status: %+v %v", status.Place, err)
				}
				if strings.Contains(status.Place.Problem, x.c.BackupTo) {
					t.Errorf("the status names the place: %s", status.Place.Problem)
				}
				seen, err := x.examinePlace(t.Context())
				if err != nil || !strings.Contains(seen.Problem, c.says) {
					t.Errorf("doctor is told: %+v %v", seen, err)
				}
			})
		})
	}
}

// Lost backups take no place among those that are kept, and are forgotten once so many
// newer ones are there.
func TestLostBackupsAreForgotten(t *testing.T) {
	dbtest.Abreast(t, func(t *testing.T, e db.Engine) {
		x := newDays(t, dbtest.Options(t, e), filepath.Join(t.TempDir(), "backups"))
		first, _ := x.next()
		lost, _ := x.next()
		x.remove(lost)
		for i, want := range []string{"1", "1", "0"} {
			x.next()
			if got := x.countLost(); got != want {
				t.Errorf("after %d newer ones %s are noted as lost, want %s", i+1, got, want)
			}
			if kept := x.there(first); kept != (i < 2) {
				t.Errorf("after %d newer ones the first is there: %v", i+1, kept)
			}
		}
	})
}

func (x *days) countLost() (n string) {
	x.Helper()
	err := x.db.Read(x.Context(), db.Scope{All: true}, func(tx *db.Tx) error {
		return tx.Query("SELECT COUNT(*) FROM backups WHERE lost_at IS NOT NULL", nil,
			func(r *db.Row) error { n = r.Text(0); return nil })
	})
	if err != nil {
		x.Fatal(err)
	}
	return n
}

// A drill restores the newest scheduled backup into a directory that goes afterwards,
// and leaves the database, the files and the place as they are; one of a backup that
// was altered says why it failed.
func TestDrill(t *testing.T) {
	eachPlace(t, func(t *testing.T, o db.Options, to string) {
		x := newDays(t, o, to)
		x.c.BackupRecipient, x.c.BackupPassphrase, x.c.BackupDrill = "", "a passphrase of the test", "weekly"
		x.schedule.opener = backup.Opener{Passphrase: x.c.BackupPassphrase}
		x.upload(large)
		x.next()
		x.upload(100)
		name, _ := x.next()
		before := x.describeAll()

		x.drill("")
		if status, err := x.readStatus(t.Context()); err != nil || status.Drill.ProvedAgeSeconds == nil {
			t.Fatalf("%+v %v", status.Drill, err)
		}
		x.at = x.at.Add(24 * time.Hour)
		x.drill("") // not due: nothing reads the backup that is altered now
		x.alter(name)
		x.drill("")
		x.at = x.at.Add(7 * 24 * time.Hour)
		x.drill(name + ": ")
		if seen, err := x.examinePlace(t.Context()); err != nil || !strings.Contains(seen.Failure, "was altered") {
			t.Errorf("doctor is told: %+v %v", seen, err)
		}
		if after := x.describeAll(); after != before {
			t.Errorf("before the drills:\n%s\nafter them:\n%s", before, after)
		}
	})
}

// drill runs the job of the drills; it fails so.
func (x *days) drill(want string) {
	x.Helper()
	err := x.drillIfDue(x.Context())
	if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
		x.Fatalf("the drill: %v, want %q", err, want)
	}
}

// alter changes one byte in the middle of a backup.
func (x *days) alter(name string) {
	x.Helper()
	f, err := x.backend().Open(x.Context(), name)
	if err != nil {
		x.Fatal(err)
	}
	text, err := io.ReadAll(f)
	if err := errors.Join(err, f.Close()); err != nil {
		x.Fatal(err)
	}
	text[len(text)/2] ^= 1
	x.remove(name)
	err = x.backend().Create(x.Context(), name, func(w io.Writer) error { _, err := w.Write(text); return err })
	if err != nil {
		x.Fatal(err)
	}
}

// describeAll is what a drill leaves as it is.
func (x *days) describeAll() string {
	x.Helper()
	var all []string
	err := filepath.WalkDir(x.c.Data, func(path string, _ fs.DirEntry, err error) error {
		all = append(all, path)
		return err
	})
	if err != nil {
		x.Fatal(err)
	}
	is, err := installation.Read(x.Context(), x.db)
	if err != nil {
		x.Fatal(err)
	}
	return strings.Join(append(append(all, x.listFiles()...), is.ID, string(is.State)), "\n")
}
