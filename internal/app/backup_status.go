package app

import (
	"context"

	"holdfast/internal/backups"
	"holdfast/internal/metrics"
)

// readStatus says what the database knows of backups.
func (s *schedule) readStatus(ctx context.Context) (backups.Status, error) {
	terms := backups.Terms{BetweenLooks: betweenLooks(s.c), Drill: drillPeriod(s.c)}
	if s.c.BackupTo != "" {
		terms.Every = s.c.BackupEvery
	}
	return s.openLedger().ReadStatus(ctx, terms)
}

// cachedStatus is read, kept for some seconds.
func (s *schedule) cachedStatus(ctx context.Context) (backups.Status, error) {
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
	failures := metrics.Value{Name: "holdfast_backup_failures_total", Help: "Scheduled backups that failed.",
		Counter: true, Read: func() float64 {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.failed
		}}
	return append(backups.Metrics(s.cachedStatus, scrapeTime), failures)
}
