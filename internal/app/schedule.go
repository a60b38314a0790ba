package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"holdfast/internal/api"
	"holdfast/internal/backup"
	"holdfast/internal/blob"
	"holdfast/internal/config"
	"holdfast/internal/db"
	"holdfast/internal/installation"
	"holdfast/internal/metrics"
)

// schedule makes the backups that backup_to asks for, one node of a fleet at a
// time, removes old ones of its own and knows how old the last good one is.
type schedule struct {
	db  *db.DB
	c   *config.Config
	now func() time.Time

	guard *installation.Guard
	ship  *shipper // nil = what is committed between backups is not shipped

	one   sync.Mutex // backup at a time
	tried time.Time  // when one was made for the log to go on from; used by follow alone

	mu     sync.Mutex
	asked  time.Time // when kept was read
	kept   api.BackupStatus
	failed float64 // attempts since the start
}

func newSchedule(d *db.DB, c *config.Config, ship *shipper, g *installation.Guard, now func() time.Time) *schedule {
	return &schedule{db: d, c: c, ship: ship, guard: g, now: now}
}

// Pauses of the schedule.
const (
	backupEvery = time.Minute      // is one due?
	backupRetry = 10 * time.Minute // after one that failed
	statusTTL   = 15 * time.Second
)

// backupIfDue makes a backup when the last good one in the place of backup_to is old
// enough. One that somebody made by hand elsewhere does not put it off: its file may
// be gone tomorrow.
func (s *schedule) backupIfDue(ctx context.Context) error {
	if s.c.BackupTo == "" {
		return nil
	}
	last, err := s.readLastInPlace(ctx)
	if err != nil {
		return err
	}
	young := !last.IsZero() && s.now().Sub(last) < s.c.BackupEvery
	if young && (s.ship == nil || s.ship.isFollowing()) {
		return nil
	}
	return s.makeBackup(ctx)
}

// backupForLog makes a backup when there is none from which the log goes on.
func (s *schedule) backupForLog(ctx context.Context) error {
	if s.ship.isFollowing() || s.now().Sub(s.tried) < backupEvery {
		return nil
	}
	s.tried = s.now()
	return s.backupIfDue(ctx)
}

func (s *schedule) makeBackup(ctx context.Context) error {
	if !s.one.TryLock() {
		return nil // it is being made
	}
	defer s.one.Unlock()
	if err := s.guard.CheckBackups(); err != nil {
		return err
	}
	if !strings.Contains(s.c.BackupTo, "://") { // a folder, also one that is not there yet
		if err := os.MkdirAll(s.c.BackupTo, 0o700); err != nil {
			return fmt.Errorf("app: scheduled backup: %w", err)
		}
	}
	secret := backup.Secret{Passphrase: s.c.BackupPassphrase, Recipient: s.c.BackupRecipient}
	made, err := Backup(ctx, s.c, BackingUp{To: s.c.BackupTo, Secret: secret, base: s.findBase(ctx), ship: s.ship})
	if err != nil {
		s.mu.Lock()
		s.failed++
		s.mu.Unlock()
		return fmt.Errorf("app: scheduled backup: %w", err)
	}
	if err := noteBackup(ctx, s.db, made, true); err != nil {
		return err
	}
	slog.Info("backup made", "where", made.Where, "name", made.Name, "bytes", made.Size, "milliseconds",
		made.Took.Milliseconds())
	if err := s.rememberBackup(made); err != nil {
		return err
	}
	return s.pruneBackups(ctx, made.Where)
}

// lastName is the file of the data directory that says what the last scheduled
// backup holds: the server may not be able to open it.
const lastName = "last-backup.json"

func (s *schedule) rememberBackup(b BackedUp) error {
	text, err := json.Marshal(base{Name: b.Name, Place: b.Where, Manifest: b.Manifest})
	if err != nil {
		return fmt.Errorf("app: scheduled backup: %w", err)
	}
	path := filepath.Join(s.c.Data, lastName)
	if err := errors.Join(os.WriteFile(path+".next", text, 0o600), os.Rename(path+".next", path)); err != nil {
		return fmt.Errorf("app: scheduled backup: %w", err)
	}
	return nil
}

// findBase is the last backup, when the next one may leave out the files that it
// has: it is where the next one goes, all that it needs itself is there too, and
// files outweigh the database, which each backup holds. Every backup_keep-th is
// whole, so that old ones can go. Where anything is in doubt it is nil.
func (s *schedule) findBase(ctx context.Context) *base {
	text, err := os.ReadFile(filepath.Join(s.c.Data, lastName))
	if err != nil {
		return nil
	}
	b := &base{}
	place, _ := Target(s.c.BackupTo)
	if json.Unmarshal(text, b) != nil || b.Place != withoutUser(place) || !b.isWorthwhile() {
		return nil
	}
	links, err := s.countLinks(ctx, b.Manifest.ID)
	if err != nil || links == 0 || links >= s.c.BackupKeep {
		return nil
	}
	backend, err := blob.OpenBackend(place)
	if err != nil {
		return nil
	}
	for _, name := range append(slices.Collect(maps.Keys(b.Manifest.Bases)), b.Name) {
		if _, err := backend.Size(ctx, name); err != nil {
			return nil
		}
	}
	return b
}

func (b *base) isWorthwhile() bool {
	var database, files int64
	for _, p := range b.Manifest.Parts {
		if p.Name == backup.Database {
			database = p.Size
		} else if strings.HasPrefix(p.Name, backup.Files) {
			files += p.Size
		}
	}
	return files > database
}

// countLinks counts the backups that stand on the same whole one as this, with it.
func (s *schedule) countLinks(ctx context.Context, id string) (n int, err error) {
	err = s.db.Read(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
		return tx.Query(`
			SELECT COUNT(*)
			FROM backups
			WHERE chain IN (SELECT chain FROM backups WHERE id = $1)`, []any{id},
			func(r *db.Row) error { n = int(r.Int(0)); return nil })
	})
	return n, err
}

// noteBackup remembers a good backup, in the chain of those that it needs files
// of.
func noteBackup(ctx context.Context, d *db.DB, b BackedUp, scheduled bool) error {
	return d.Write(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
		chain := b.ID
		for _, id := range b.Bases {
			tx.Queue("SELECT chain FROM backups WHERE id = $1", []any{id}, func(r *db.Row) error {
				chain = r.Text(0)
				return nil
			})
		}
		if err := tx.Flush(); err != nil {
			return err
		}
		_, err := tx.Exec(`
			INSERT INTO backups (id, made_at, place, name, bytes, scheduled, chain)
			VALUES ($1, $2, $3, $4, $5, $6, $7)`,
			b.ID, b.Made, b.Where, b.Name, b.Size, scheduled, chain)
		return err
	})
}

// pruneBackups removes the scheduled backups in a place past those that are kept, but
// for those of a chain of which one is kept, or one was made by hand. It touches
// no file that this installation did not make.
func (s *schedule) pruneBackups(ctx context.Context, place string) error {
	type old struct{ id, name string }
	var list []old
	err := s.db.Read(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
		return tx.Query(`SELECT id, name FROM backups WHERE place = $1 AND scheduled = $2
			AND chain NOT IN (SELECT chain FROM (SELECT chain FROM backups WHERE place = $1 AND scheduled = $2 ORDER BY made_at DESC, id DESC LIMIT $3) AS kept)
			AND chain NOT IN (SELECT chain FROM backups WHERE scheduled = $4)
			ORDER BY made_at DESC, id DESC LIMIT 1000`,
			[]any{place, true, s.c.BackupKeep, false}, func(r *db.Row) error {
				list = append(list, old{r.Text(0), r.Text(1)})
				return nil
			})
	})
	if err != nil || len(list) == 0 && s.ship == nil {
		return err
	}
	address, _ := Target(s.c.BackupTo)
	backend, err := blob.OpenBackend(address)
	if err != nil {
		return err
	}
	for _, b := range list {
		if err := backend.Remove(ctx, b.name); err != nil {
			return err
		}
		err := s.db.Write(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
			_, err := tx.Exec("DELETE FROM backups WHERE id = $1", b.id)
			return err
		})
		if err != nil {
			return err
		}
	}
	if s.ship == nil {
		return nil
	}
	var kept []string
	err = s.db.Read(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
		kept = nil
		return tx.Query("SELECT name FROM backups WHERE place = $1", []any{place}, func(r *db.Row) error {
			kept = append(kept, r.Text(0))
			return nil
		})
	})
	if err != nil {
		return err
	}
	return s.ship.pruneSegments(ctx, backend, kept)
}

// readLastInPlace returns when the newest backup in the place of backup_to was made;
// the zero time = there is none.
func (s *schedule) readLastInPlace(ctx context.Context) (last time.Time, err error) {
	place, _ := Target(s.c.BackupTo)
	err = s.db.Read(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
		last = time.Time{}
		return tx.Query(`
			SELECT made_at
			FROM backups
			WHERE place = $1
			ORDER BY made_at DESC
			LIMIT 1`, []any{withoutUser(place)},
			func(r *db.Row) error { last = r.Time(0); return nil })
	})
	return last, err
}

// readStatus says what the database knows of backups.
func (s *schedule) readStatus(ctx context.Context) (out api.BackupStatus, err error) {
	out = api.BackupStatus{Scheduled: s.c.BackupTo != "", EverySeconds: int64(s.c.BackupEvery.Seconds())}
	if !out.Scheduled {
		out.EverySeconds = 0
	}
	err = s.db.Read(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
		return tx.Query(`
			SELECT made_at, bytes
			FROM backups
			ORDER BY made_at DESC, id DESC
			LIMIT 1`, nil,
			func(r *db.Row) error {
				at, n := r.Time(0), r.Int(1)
				age := int64(s.now().Sub(at).Seconds())
				out.LastGoodAt, out.AgeSeconds, out.Bytes = &at, &age, &n
				return nil
			})
	})
	return out, err
}

// cachedStatus is read, kept for some seconds.
func (s *schedule) cachedStatus(ctx context.Context) (api.BackupStatus, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now().Sub(s.asked) < statusTTL {
		return s.kept, nil
	}
	out, err := s.readStatus(ctx)
	if err == nil {
		s.kept, s.asked = out, s.now()
	}
	return out, err
}

// metricValues are the numbers that an alarm is set on.
func (s *schedule) metricValues() []metrics.Value {
	return []metrics.Value{
		{Name: "holdfast_backup_age_seconds",
			Help: "Age of the last good backup; -1 = there is none, or the database does not answer.", Read: s.lastBackupAge},
		{Name: "holdfast_backup_failures_total", Help: "Scheduled backups that failed.", Counter: true, Read: func() float64 {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.failed
		}},
	}
}

func (s *schedule) lastBackupAge() float64 {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	got, err := s.cachedStatus(ctx)
	if err != nil || got.AgeSeconds == nil {
		return -1
	}
	return float64(*got.AgeSeconds)
}

// NoteBackup remembers a backup that a command made, when the database is one
// of this program's schema.
func NoteBackup(ctx context.Context, c *config.Config, b BackedUp) error {
	if _, err := uuid.Parse(b.ID); err != nil {
		return fmt.Errorf("app: %w", err)
	}
	d, err := db.Open(ctx, db.Options{URL: c.DatabaseURL, Dir: c.Data, Pooler: c.DatabasePooler == "transaction"})
	if err != nil {
		return err
	}
	defer d.Close()
	return noteBackup(ctx, d, b, false)
}
