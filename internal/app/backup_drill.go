package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"holdfast/internal/backup"
	"holdfast/internal/backups"
	"holdfast/internal/config"
	"holdfast/internal/job"
)

// drillJob restores the newest scheduled backup on trial.
const drillJob = "backup-drill"

const (
	drillLook  = time.Hour      // is one due?
	drillRetry = 24 * time.Hour // after one that failed
)

// drillPeriods are the choices of backup_drill besides never.
var drillPeriods = map[string]time.Duration{"daily": 24 * time.Hour, "weekly": 7 * 24 * time.Hour,
	"monthly": 30 * 24 * time.Hour}

// drillPeriod is how often a backup is restored on trial; 0 = never. Where backups are
// encrypted to a recipient, nobody here can open one.
func drillPeriod(c *config.Config) time.Duration {
	if c.BackupTo == "" || c.BackupRecipient != "" {
		return 0
	}
	return drillPeriods[c.BackupDrill]
}

// drillIfDue restores the newest scheduled backup on trial when the last drill is old
// enough, or somebody asked for one.
func (s *schedule) drillIfDue(ctx context.Context) error {
	if s.c.BackupTo == "" {
		return nil
	}
	standing, err := s.openLedger().ReadStanding(ctx)
	if err != nil {
		return err
	}
	period := drillPeriod(s.c)
	if standing.Failure != "" {
		period = min(period, drillRetry)
	}
	isAskedFor := !standing.AskedAt.IsZero()
	if !isAskedFor && (period == 0 || s.now().Sub(standing.TriedAt) < period) {
		return nil
	}
	return s.runDrill(ctx)
}

// runDrill restores the newest scheduled backup on trial, and notes how that ended.
func (s *schedule) runDrill(ctx context.Context) error {
	newest, err := s.openLedger().ReadNewestScheduled(ctx)
	if err != nil || newest.Made.IsZero() {
		return err
	}
	before, err := s.openLedger().BeginDrill(ctx)
	if err != nil {
		return err
	}
	made, failed := s.restoreOnTrial(ctx, newest.Name)
	if failed != nil && ctx.Err() != nil { // the server stops: it proves nothing
		return errors.Join(failed, s.openLedger().TakeBackDrill(context.WithoutCancel(ctx), before))
	}
	if failed != nil {
		failed = fmt.Errorf("app: drill of %s: %w", newest.Name, failed)
	} else {
		slog.Info("a backup was restored on trial", "name", newest.Name, "leads to", made)
	}
	return errors.Join(failed, s.openLedger().KeepDrill(ctx, made, failed))
}

// restoreOnTrial restores a backup into a directory that goes afterwards, and returns
// the moment to which it leads. It opens nothing that the settings name but the place
// of the backups.
func (s *schedule) restoreOnTrial(ctx context.Context, name string) (made time.Time, err error) {
	scratch, err := scratchDir(s.c.Data)
	if err != nil {
		return made, err
	}
	defer os.RemoveAll(scratch)
	c, err := config.Load("", nil, map[string]string{"data": filepath.Join(scratch, "drill")})
	if err != nil {
		return made, err
	}
	from := filepath.Join(backups.PlaceOf(s.c), name)
	if place, query, _ := strings.Cut(backups.PlaceOf(s.c), "?"); strings.Contains(place, "://") {
		if from = strings.TrimSuffix(place, "/") + "/" + name; query != "" {
			from += "?" + query
		}
	}
	out, err := Restore(ctx, c, Restoring{From: from, Opener: s.opener, Verify: true, DryRun: true, onTrial: true,
		isBrokenHere: s.isBrokenHere})
	if err != nil {
		return made, err
	}
	if made = out.Made; out.Reached.After(made) {
		made = out.Reached
	}
	return made, nil
}

// askForDrill makes a drill due, where one can be done.
func (s *schedule) askForDrill(ctx context.Context) error {
	if s.c.BackupTo == "" {
		return errors.New("app: a drill restores what the server backs up by itself, and backup_to is not set; " +
			"`holdfast restore --dry-run` restores any other backup on trial")
	}
	if s.opener == (backup.Opener{}) {
		return errors.New("app: what opens the backups is not here: they are encrypted to backup_recipient; " +
			"where its identity is, run `holdfast restore --dry-run`")
	}
	return s.openLedger().AskForDrill(ctx)
}

// findBrokenAudit reports whether the chain of a tenant's audit log is broken.
func findBrokenAudit(a *App) func(ctx context.Context, tenant string) (bool, error) {
	return func(ctx context.Context, tenant string) (bool, error) {
		reports, err := a.Identity.Admin.VerifyAudit(ctx, tenant)
		return len(reports) == 1 && !reports[0].Whole(), err
	}
}

// drillKind is the job that does drills.
func drillKind(a *App) job.Kind {
	return job.Kind{Name: drillJob, Doc: "restore the newest scheduled backup on trial, when backup_drill says so",
		Every: drillLook, Claim: 10 * time.Minute, Retries: []time.Duration{drillRetry},
		Run: func(ctx context.Context, _ job.Job) error { return a.backups.drillIfDue(ctx) }}
}

// compareArchive compares the rows of an archive of pg_dump with the manifest. It needs
// no database: one on the server beside would be a guest of production.
func (x *restoring) compareArchive(m *backup.Manifest) (err error) {
	if x.snap.Counts, err = backups.CountArchive(x.ctx, filepath.Join(x.scratch, backup.Database)); err != nil {
		return err
	}
	if err := x.snap.Compare(m.Counts); err != nil {
		return fmt.Errorf("app: the archive in the backup is not of the database that was backed up: %w", err)
	}
	return nil
}
