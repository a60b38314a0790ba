package app

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"holdfast/internal/backup"
	"holdfast/internal/blob"
	"holdfast/internal/config"
	"holdfast/internal/db"
	"holdfast/internal/installation"
	"holdfast/internal/testkit/dbtest"
	"holdfast/internal/testkit/pgtest"
	"holdfast/internal/testkit/s3test"
)

// large is a file of twice the bytes that an empty database has: files must
// outweigh it to be left out of the next backup.
const large = 6 << 20

// days is an installation whose clock a test turns.
type days struct {
	*testing.T
	*schedule
	files  blob.Store
	at     time.Time
	opener backup.Opener // a key: what a passphrase costs is paid elsewhere
}

func newDays(t *testing.T, o db.Options, to string) *days {
	d, err := db.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	key := make([]byte, 32)
	rand.Read(key)
	identity, recipient, err := backup.NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	opener := backup.Opener{IdentityFile: filepath.Join(t.TempDir(), "identity")}
	if err := os.WriteFile(opener.IdentityFile, []byte(identity+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	x := &days{T: t, opener: opener, at: time.Now().Add(-100 * 24 * time.Hour)}
	now := func() time.Time { return x.at }
	c := &config.Config{Data: o.Dir, DatabaseURL: o.URL, MasterKey: base64.StdEncoding.EncodeToString(key),
		BackupTo: to, BackupEvery: time.Hour, BackupKeep: 3, BackupRecipient: recipient}
	guard, err := installation.NewGuard(t.Context(), d, outsidePlaces(c), now, true)
	if err != nil {
		t.Fatal(err)
	}
	x.schedule = newSchedule(d, c, nil, guard, now)
	if x.files, err = blob.OpenDir(filepath.Join(o.Dir, "files")); err != nil {
		t.Fatal(err)
	}
	return x
}

// upload keeps so many bytes and returns their key and what they are.
func (x *days) upload(size int) (string, []byte) {
	x.Helper()
	text := make([]byte, size)
	rand.Read(text)
	ref, err := x.files.Put(x.Context(), bytes.NewReader(text), int64(size))
	if err != nil {
		x.Fatal(err)
	}
	return ref.Key, text
}

// next is a day later; it returns the name and the bytes of the backup that is
// then made.
func (x *days) next() (name string, size int64) {
	x.Helper()
	x.at = x.at.Add(24 * time.Hour)
	if err := x.backupIfDue(x.Context()); err != nil {
		x.Fatal(err)
	}
	err := x.db.Write(x.Context(), db.Scope{All: true}, func(tx *db.Tx) error {
		id := ""
		err := tx.One("SELECT name, bytes, id FROM backups ORDER BY made_at DESC LIMIT 1", nil, func(r *db.Row) error {
			name, size, id = r.Text(0), r.Int(1), r.Text(2)
			return nil
		})
		if err == nil { // a backup has the machine's time: the day of its row is the test's
			_, err = tx.Exec("UPDATE backups SET made_at = $1 WHERE id = $2", x.at, id)
		}
		return err
	})
	if err != nil {
		x.Fatal(err)
	}
	return name, size
}

func (x *days) there(name string) bool {
	x.Helper()
	backend, err := blob.OpenBackend(x.c.BackupTo)
	if err != nil {
		x.Fatal(err)
	}
	_, err = backend.Size(x.Context(), name)
	return err == nil
}

// eachPlace runs f for a directory and a bucket, on each engine.
func eachPlace(t *testing.T, f func(t *testing.T, o db.Options, to string)) {
	dbtest.Abreast(t, func(t *testing.T, e db.Engine) {
		f(t, dbtest.Options(t, e),
			filepath.Join(t.TempDir(), "backups"))
	})
	t.Run("bucket", func(t *testing.T) {
		dbtest.Abreast(t, func(t *testing.T, e db.Engine) { f(t, dbtest.Options(t, e), s3test.Start(t).Address("nightly")) })
	})
}

// Files that outweigh the database are stored once by the server's own backups,
// each of which restores; every third, when three are kept, is whole, and what a
// kept one needs stays.
func TestScheduledBackupsIncremental(t *testing.T) {
	eachPlace(t, func(t *testing.T, o db.Options, to string) {
		x := newDays(t, o, to)
		kept := map[string][]byte{}
		for _, size := range []int{large, 100} {
			key, text := x.upload(size)
			kept[key] = text
		}
		var names []string
		for i, whole := range []bool{true, false, false, true, false} {
			name, size := x.next()
			if names = append(names, name); whole != (size > large) {
				t.Errorf("backup %d has %d bytes; whole: %v", i, size, whole)
			}
			key, text := x.upload(10 + i)
			if i < 4 {
				kept[key] = text
			}
		}
		for i, name := range names { // the last three are kept, and the third needs the first two
			if !x.there(name) {
				t.Errorf("backup %d is gone", i)
			}
		}
		x.restored(names[4], kept)
		x.next()
		sixth, _ := x.next()
		for i, name := range names {
			if x.there(name) != (i > 2) {
				t.Errorf("of the fourth and what came after it, backup %d is there: %v", i, x.there(name))
			}
		}
		x.restored(sixth, kept)
	})
}

// A base that cannot be relied on is none: the next backup is whole.
func TestScheduledBackupsDoubtfulBase(t *testing.T) {
	for what, spoil := range map[string]func(x *days, last string) error{
		"the last one is gone": func(x *days, last string) error { return os.Remove(filepath.Join(x.c.BackupTo, last)) },
		"what is known of it is damaged": func(x *days, _ string) error {
			return os.WriteFile(filepath.Join(x.c.Data, lastName), []byte(`{"name":`), 0o600)
		},
		"it went elsewhere": func(x *days, _ string) error { x.c.BackupTo += "2"; return nil },
		"the database does not know it": func(x *days, _ string) error {
			return x.db.Write(x.Context(), db.Scope{All: true},
				func(tx *db.Tx) error { _, err := tx.Exec("DELETE FROM backups"); return err })
		},
	} {
		t.Run(what, func(t *testing.T) {
			dbtest.Abreast(t, func(t *testing.T, e db.Engine) {
				x := newDays(t, dbtest.Options(t, e), filepath.Join(t.TempDir(), "backups"))
				x.upload(large)
				last, _ := x.next()
				if err := spoil(x, last); err != nil {
					t.Fatal(err)
				}
				if _, size := x.next(); size < large {
					t.Errorf("it has %d bytes and leaves the file out", size)
				}
			})
		})
	}
}

// restored fails when a backup does not bring these files back. One of a bucket
// is restored into an installation that keeps its files in another.
func (x *days) restored(name string, want map[string][]byte) {
	x.Helper()
	c, err := config.Load("", nil, map[string]string{"data": filepath.Join(x.TempDir(), "new")})
	if err != nil {
		x.Fatal(err)
	}
	if x.c.DatabaseURL != "" {
		c.DatabaseURL = pgtest.DSN(x.T)
	}
	address := filepath.Join(x.c.BackupTo, name)
	if place, query, ok := strings.Cut(x.c.BackupTo, "?"); ok {
		address, c.BlobURL = fmt.Sprintf("%s/%s?%s", place, name, query), s3test.Start(x.T).Address("live")
	}
	if _, err := Restore(x.Context(), c, Restoring{From: address, Opener: x.opener}); err != nil {
		x.Errorf("restore %s: %v", name, err)
		return
	}
	files, err := blob.Open(x.Context(), c.BlobURL, filepath.Join(c.Data, "files"))
	if err != nil {
		x.Fatal(err)
	}
	defer files.Close()
	for key, text := range want {
		r, err := files.Open(x.Context(), key)
		if err != nil {
			x.Errorf("%s: %v", key, err)
			continue
		}
		if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, text) {
			x.Errorf("%s came back with %d of %d bytes, %v", key, len(got), len(text), err)
		}
		r.Close()
	}
	if left, _ := filepath.Glob(filepath.Join(c.Data, "files", "*")); c.BlobURL != "" && len(left) > 0 {
		x.Errorf("files that are in the bucket stay here too: %v", left)
	}
}

// A backup that somebody made by hand in another place does not put off the one that
// backup_to asks for; one in its place does.
func TestBackupElsewhereIsNotTheSchedules(t *testing.T) {
	dbtest.Abreast(t, func(t *testing.T, e db.Engine) {
		place := filepath.Join(t.TempDir(), "backups")
		x := newDays(t, dbtest.Options(t, e), place)
		noteByHand := func(where string) {
			t.Helper()
			b := BackedUp{Where: where, Name: uuid.NewString() + ".backup.by-hand", Size: 1}
			if err := os.WriteFile(filepath.Join(where, b.Name), []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
			b.ID, b.Made = uuid.NewString(), x.now()
			if err := noteBackup(t.Context(), x.db, b, false); err != nil {
				t.Fatal(err)
			}
		}
		countFiles := func() int {
			t.Helper()
			if err := x.backupIfDue(t.Context()); err != nil {
				t.Fatal(err)
			}
			list, err := filepath.Glob(filepath.Join(place, "*.backup"))
			if err != nil {
				t.Fatal(err)
			}
			return len(list)
		}

		if err := os.MkdirAll(place, 0o700); err != nil {
			t.Fatal(err)
		}
		noteByHand(place)
		if n := countFiles(); n != 0 {
			t.Errorf("%d scheduled backups beside a new one in their place", n)
		}
		x.at = x.at.Add(2 * time.Hour)
		noteByHand(t.TempDir())
		if n := countFiles(); n != 1 {
			t.Errorf("%d scheduled backups where the only new one is elsewhere", n)
		}
	})
}
