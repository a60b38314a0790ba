package app

import (
	"context"
	"log/slog"
	"time"

	"holdfast/internal/backups"
	"holdfast/internal/backups/shipping"
	"holdfast/internal/blob"
	"holdfast/internal/config"
	"holdfast/internal/job"
)

// betweenLooks is how long the place of the backups is taken to be as it was.
func betweenLooks(c *config.Config) time.Duration {
	return max(leastBetweenLooks, min(c.BackupEvery/10, mostBetweenLooks))
}

// lookIfDue looks at the place of the backups when the last look is old enough.
func (s *schedule) lookIfDue(ctx context.Context) error {
	standing, err := s.openLedger().ReadStanding(ctx)
	if err != nil || s.now().Sub(standing.LookedAt) < betweenLooks(s.c) {
		return err
	}
	report, err := s.lookAtPlace(ctx)
	if err != nil {
		return err
	}
	if report.Problem != "" && report.Problem != standing.Problem {
		slog.Error("the place of the backups cannot be looked at", "error", report.Problem)
	}
	for _, lost := range report.NewlyLost() {
		slog.Error("a backup is lost", "name", lost.Name, "why", lost.Why)
	}
	return s.openLedger().KeepReport(ctx, report)
}

// lookInBetween looks while a backup is made, which may take longer than a look may wait.
func (s *schedule) lookInBetween(ctx context.Context) error {
	if s.c.BackupTo == "" {
		return nil
	}
	return s.lookIfDue(ctx)
}

// lookKind is the job that looks by itself.
func lookKind(a *App) job.Kind {
	return job.Kind{Name: "backup-look", Every: backupEvery, First: backupEvery, Claim: 10 * time.Minute,
		Doc: "look whether the place of the backups holds what is noted, also while one is made",
		Run: func(ctx context.Context, _ job.Job) error { return a.backups.lookInBetween(ctx) }}
}

// lookAtPlace compares the place of the backups with what is noted of it. A place of
// another installation is not looked into: what is missing there is not missed.
func (s *schedule) lookAtPlace(ctx context.Context) (backups.Report, error) {
	if err := s.guard.CheckBackups(); err != nil {
		return backups.Report{Problem: err.Error()}, nil
	}
	place, err := blob.OpenBackend(backups.PlaceOf(s.c))
	if err != nil {
		return backups.Report{Problem: err.Error()}, nil
	}
	return s.openLedger().LookAtPlace(ctx, place, shipping.ReadLog(s.c))
}
