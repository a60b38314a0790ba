package doctor

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"holdfast/internal/db"
)

// BackupPlace is what a look at the place of backup_to found.
type BackupPlace struct {
	Newest   time.Time // the newest backup in it that can be restored; zero = there is none
	Problem  string    // why it could not be looked at; "" = it was
	Lost     []string  // backups that are not there as they were made, each with what is wrong
	Drill    time.Duration
	TriedAt  time.Time // the last restore on trial
	Failure  string    // of it
	ProvedAt time.Time // the last one that succeeded
}

// oldBackup is the age past which a backup made by hand is old.
const oldBackup = 8 * 24 * time.Hour

// What to do about backups, and why.
const (
	makeBackups   = "holdfast backup /srv/backups/, or backup_to for one a day"
	whyBackups    = "a broken disk would take everything"
	runBackup     = "holdfast jobs run backup"
	whyPlace      = "the backups that are noted are not to be had"
	runDrill      = "holdfast jobs run backup-drill"
	whyDrill      = "only a backup that was restored is known to be one"
	mostLostNamed = 5
)

func lookBackup(ctx context.Context, p *Patient) []Finding {
	return p.onDatabase(ctx, "", func(d *db.DB) ([]Finding, error) {
		if p.Config.BackupTo != "" && p.Backups != nil {
			place, err := p.Backups(ctx)
			if err != nil {
				return nil, err
			}
			return p.judgePlace(place), nil
		}
		last, err := readLastBackup(ctx, d)
		if err != nil {
			return nil, err
		}
		return append(last.judgeFile(), p.judgeAge(last.madeAt, oldBackup, makeBackups)...), nil
	})
}

// lastBackup is the newest that is noted; zero = there is none.
type lastBackup struct {
	madeAt      time.Time
	place, name string
}

// judgeFile finds that a backup is not where it was made, as far as this machine can see.
func (l lastBackup) judgeFile() []Finding {
	dir := localPath(l.place)
	if !filepath.IsAbs(dir) {
		return nil // a bucket, or noted relative to a directory that is not known
	}
	path := filepath.Join(dir, l.name)
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return newFailure("ls -l "+path+"; "+makeBackups, whyPlace, "the last backup is not there: %s", path)
}

func readLastBackup(ctx context.Context, d *db.DB) (last lastBackup, err error) {
	err = d.Read(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
		return tx.Query(`
			SELECT made_at, place, name
			FROM backups
			WHERE lost_at IS NULL
			ORDER BY made_at DESC
			LIMIT 1`, nil, func(r *db.Row) error {
			last = lastBackup{r.Time(0), r.Text(1), r.Text(2)}
			return nil
		})
	})
	return last, err
}

func (p *Patient) judgeAge(newest time.Time, limit time.Duration, command string) []Finding {
	if newest.IsZero() {
		return newWarning(command, whyBackups, "no backup is known")
	}
	if age := p.Now().Sub(newest); age > limit {
		return newWarning(command, whyBackups, "the last backup is %s old", age.Round(time.Minute))
	}
	return nil
}

// judgePlace judges the place of backup_to by itself: a backup that somebody made
// elsewhere does not make up for it.
func (p *Patient) judgePlace(place BackupPlace) (out []Finding) {
	if place.Problem != "" {
		return newFailure("ls -la the directory that backup_to names, or see whether the bucket answers", whyPlace,
			"the place of the backups cannot be used: %s", place.Problem)
	}
	for i, lost := range place.Lost {
		if i == mostLostNamed {
			out = append(out, newFailure(runBackup, whyPlace, "and %d more backups are lost", len(place.Lost)-i)...)
			break
		}
		out = append(out, newFailure(runBackup, whyPlace, "a backup is lost: %s", lost)...)
	}
	out = append(out, p.judgeAge(place.Newest, 2*p.Config.BackupEvery, runBackup)...)
	return append(out, p.judgeDrill(place)...)
}

func (p *Patient) judgeDrill(place BackupPlace) []Finding {
	if place.Failure != "" {
		return newFailure(runDrill, whyDrill, "the restore on trial of %s failed: %s",
			place.TriedAt.UTC().Format(time.RFC3339), place.Failure)
	}
	if place.Drill == 0 || place.ProvedAt.IsZero() {
		return nil
	}
	if age := p.Now().Sub(place.ProvedAt); age > 2*place.Drill {
		return newWarning(runDrill, whyDrill, "the last restore on trial was %s ago", age.Round(time.Hour))
	}
	return nil
}
