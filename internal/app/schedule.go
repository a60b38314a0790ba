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

	"holdfast/internal/backup"
	"holdfast/internal/backups"
	"holdfast/internal/backups/shipping"
	"holdfast/internal/blob"
	"holdfast/internal/config"
	"holdfast/internal/db"
	"holdfast/internal/installation"
)

// schedule makes the backups that backup_to asks for, one node of a fleet at a
// time, removes old ones of its own and knows how old the last good one is.
type schedule struct {
	db  *db.DB
	c   *config.Config
	now func() time.Time

	guard *installation.Guard
	ship  *shipping.Shipper // nil = what is committed between backups is not shipped

	one   sync.Mutex // backup at a time
	tried time.Time  // when one was made for the log to go on from; used by follow alone

	isBrokenHere func(ctx context.Context, tenant string) (bool, error) // an audit log; may be nil

	opener backup.Opener // of the backups that the server makes; its zero value opens none

	mu     sync.Mutex
	asked  time.Time // when kept was read
	kept   backups.Status
	failed float64 // attempts since the start
}

func newSchedule(d *db.DB, c *config.Config, ship *shipping.Shipper, g *installation.Guard,
	now func() time.Time) *schedule {
	s := &schedule{db: d, c: c, ship: ship, guard: g, now: now}
	if c.BackupRecipient == "" {
		s.opener = backup.Opener{Passphrase: c.BackupPassphrase}
	}
	return s
}

// openLedger is what is noted of the backups in the place of backup_to.
func (s *schedule) openLedger() *backups.Ledger {
	return &backups.Ledger{DB: s.db, Now: s.now, Place: backups.WithoutUser(backups.PlaceOf(s.c))}
}

// Pauses of the schedule.
const (
	backupEvery = time.Minute      // is one due?
	backupRetry = 10 * time.Minute // after one that failed
	statusTTL   = 15 * time.Second
	// mostInTurn is how many are made in backup_every; one more makes up for a lost one.
	mostInTurn = 1
	// A tenth of backup_every, within these bounds, is between two looks at the place.
	leastBetweenLooks = time.Minute
	mostBetweenLooks  = time.Hour
)

// backupIfDue makes a backup when the last good one in the place of backup_to is old
// enough, or a newer one was lost; for a loss once in backup_every, since something may
// move each away. One that somebody made by hand elsewhere does not put it off: its file
// may be gone tomorrow.
func (s *schedule) backupIfDue(ctx context.Context) error {
	if s.c.BackupTo == "" {
		return nil
	}
	if err := s.lookIfDue(ctx); err != nil {
		return err
	}
	last, err := s.openLedger().ReadNewest(ctx)
	if err != nil {
		return err
	}
	isYoung := !last.Made.IsZero() && s.now().Sub(last.Made) < s.c.BackupEvery
	if s.ship != nil && !s.ship.IsFollowing() {
		return s.makeBackup(ctx)
	}
	if isYoung && !last.HasLost {
		return nil
	}
	made, err := s.openLedger().CountSince(ctx, s.now().Add(-s.c.BackupEvery))
	if err != nil || made > mostInTurn {
		return err
	}
	return s.makeBackup(ctx)
}

// backupForLog makes a backup when there is none from which the log goes on.
func (s *schedule) backupForLog(ctx context.Context) error {
	if s.ship.IsFollowing() || s.now().Sub(s.tried) < backupEvery {
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
	secret := backup.Secret{Passphrase: s.c.BackupPassphrase, Recipient: s.c.BackupRecipient}
	made, err := Backup(ctx, s.c, BackingUp{To: backups.AsDirectory(backups.PlaceOf(s.c)), Secret: secret,
		base: s.findBase(ctx), ship: s.ship})
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
	return s.pruneBackups(ctx)
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
	place := backups.PlaceOf(s.c)
	if json.Unmarshal(text, b) != nil || b.Place != backups.WithoutUser(place) || !b.isWorthwhile() {
		return nil
	}
	links, err := s.openLedger().CountLinks(ctx, b.Manifest.ID)
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

// noteBackup remembers a good backup.
func noteBackup(ctx context.Context, d *db.DB, b BackedUp, scheduled bool) error {
	return backups.AddBackup(ctx, d, backups.Note{ID: b.ID, Made: b.Made, Place: b.Where, Name: b.Name, Size: b.Size,
		Scheduled: scheduled, Bases: slices.Collect(maps.Values(b.Bases))})
}

// pruneBackups removes the scheduled backups past those that are kept. It touches no
// file that this installation did not make.
func (s *schedule) pruneBackups(ctx context.Context) error {
	ledger := s.openLedger()
	surplus, err := ledger.ListSurplus(ctx, s.c.BackupKeep)
	if err != nil {
		return err
	}
	if err := ledger.ForgetLost(ctx, s.c.BackupKeep); err != nil {
		return err
	}
	if len(surplus) == 0 && s.ship == nil {
		return nil
	}
	backend, err := blob.OpenBackend(backups.PlaceOf(s.c))
	if err != nil {
		return err
	}
	for _, b := range surplus {
		if err := backend.Remove(ctx, b.Name); err != nil {
			return err
		}
		if err := ledger.ForgetBackup(ctx, b.ID); err != nil {
			return err
		}
	}
	if s.ship == nil {
		return nil
	}
	kept, err := ledger.ListNames(ctx)
	if err != nil {
		return err
	}
	return s.ship.PruneSegments(ctx, backend, kept)
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
