package backups

import (
	"testing"
	"time"
)

// An alarm is set on a restore on trial that is overdue by what backup_drill says.
func TestProofIsOverdue(t *testing.T) {
	const day = 24 * time.Hour
	now := time.Now()
	l := &Ledger{Now: func() time.Time { return now }}
	for what, c := range map[string]struct {
		every, proved time.Duration // proved 0 = never
		failure       string
		want          float64
	}{
		"never, and there are no drills": {0, 0, "", -1},
		"none was due yet":               {7 * day, 0, "", -1},
		"the first one failed":           {7 * day, 0, "was altered", 0},
		"weekly, ten days ago":           {7 * day, 10 * day, "", 1},
		"weekly, 15 days ago":            {7 * day, 15 * day, "", 0},
		"monthly, 29 days ago":           {30 * day, 29 * day, "", 1},
		"monthly, 61 days ago":           {30 * day, 61 * day, "", 0},
		"daily, three days ago":          {day, 3 * day, "", 0},
		"failed since, a day ago":        {7 * day, 8 * day, "was altered", 1},
	} {
		standing := Standing{Failure: c.failure}
		if c.proved > 0 {
			standing.ProvedAt = now.Add(-c.proved)
		}
		got := float64(-1)
		if n := isProofOK(Status{Drill: l.describeDrill(standing, Terms{Drill: c.every})}); n != nil {
			got = float64(*n)
		}
		if got != c.want {
			t.Errorf("%s: holdfast_backup_proved_ok is %v, want %v", what, got, c.want)
		}
	}
}
