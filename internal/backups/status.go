package backups

import (
	"context"
	"time"

	"holdfast/internal/metrics"
)

// Status is what administrators may know of the server's backups: neither
// where they are nor what is in them.
type Status struct {
	Scheduled    bool       `json:"scheduled"`
	EverySeconds int64      `json:"every_seconds"` // 0 = not scheduled
	LastGoodAt   *time.Time `json:"last_good_at"`  // null = none is known
	AgeSeconds   *int64     `json:"age_seconds"`
	Bytes        *int64     `json:"bytes"`

	Place *PlaceStatus `json:"place"` // null = not scheduled
	Drill *DrillStatus `json:"drill"`
}

// PlaceStatus is what the last look at the place of the backups found.
type PlaceStatus struct {
	LookedAt *time.Time `json:"looked_at"` // null = nobody looked yet
	OK       bool       `json:"ok"`
	Missing  int64      `json:"missing"` // backups that are not there as they were made
	Problem  string     `json:"problem,omitempty"`
}

// DrillStatus is how the last restore on trial ended.
type DrillStatus struct {
	EverySeconds     int64      `json:"every_seconds"` // 0 = there are none by themselves
	TriedAt          *time.Time `json:"tried_at"`
	ProvedAt         *time.Time `json:"proved_at"`          // the last drill that succeeded
	ProvedAgeSeconds *int64     `json:"proved_age_seconds"` // age of the backup that it restored
	Problem          string     `json:"problem,omitempty"`  // of the last drill

	isProved *bool // lately enough; nil = there are no drills by themselves, or none was due yet
}

// Terms are what the settings say of the scheduled backups; Every 0 = there are none.
type Terms struct {
	Every        time.Duration
	BetweenLooks time.Duration
	Drill        time.Duration // 0 = never
}

// ReadStatus says what the database knows of backups: where the server makes them of
// those in its place, else of those that were made by hand.
func (l *Ledger) ReadStatus(ctx context.Context, t Terms) (out Status, err error) {
	out = Status{Scheduled: t.Every > 0, EverySeconds: int64(t.Every.Seconds())}
	var last Newest
	if out.Scheduled {
		last, err = l.ReadNewest(ctx)
	} else {
		last, err = ReadNewestAnywhere(ctx, l.DB)
	}
	if err != nil {
		return out, err
	}
	if !last.Made.IsZero() {
		age := l.ageOf(last.Made)
		out.LastGoodAt, out.AgeSeconds, out.Bytes = &last.Made, &age, &last.Size
	}
	if !out.Scheduled {
		return out, nil
	}
	standing, err := l.ReadStanding(ctx)
	if err != nil {
		return out, err
	}
	out.Place, out.Drill = l.describePlace(standing, t), l.describeDrill(standing, t)
	return out, nil
}

func (l *Ledger) ageOf(at time.Time) int64 { return int64(l.Now().Sub(at).Seconds()) }

// latestLook is how many times the pause between two looks one may be late.
const latestLook = 3

// describePlace says what the last look found, without the name of the place: people of
// tenants read it.
func (l *Ledger) describePlace(standing Standing, t Terms) *PlaceStatus {
	out := &PlaceStatus{Missing: standing.Lost}
	if standing.LookedAt.IsZero() {
		out.Problem = "Nobody has looked at the place of the backups yet."
		return out
	}
	out.LookedAt = &standing.LookedAt
	switch {
	case l.Now().Sub(standing.LookedAt) > latestLook*t.BetweenLooks:
		out.Problem = "The place of the backups was not looked at for too long."
	case standing.Problem != "":
		out.Problem = "The place of the backups cannot be used: `holdfast doctor` says why."
	case standing.Lost > 0:
		out.Problem = "Backups are gone from their place, or are not as they were made: `holdfast doctor` names them."
	}
	out.OK = out.Problem == ""
	return out
}

func (l *Ledger) describeDrill(standing Standing, t Terms) *DrillStatus {
	out := &DrillStatus{EverySeconds: int64(t.Drill.Seconds())}
	if !standing.TriedAt.IsZero() {
		out.TriedAt = &standing.TriedAt
	}
	if !standing.ProvedAt.IsZero() {
		age := l.ageOf(standing.ProvedMade)
		out.ProvedAt, out.ProvedAgeSeconds = &standing.ProvedAt, &age
	}
	out.isProved = l.judgeProof(standing, t)
	if standing.Failure != "" {
		out.Problem = "The last drill failed: `holdfast doctor` says why."
	}
	return out
}

// judgeProof reports whether a backup was restored on trial within twice the pause between
// two drills.
func (l *Ledger) judgeProof(standing Standing, t Terms) *bool {
	isNoneTried := standing.ProvedAt.IsZero() && standing.Failure == ""
	if t.Drill == 0 || isNoneTried {
		return nil
	}
	isProved := !standing.ProvedAt.IsZero() && l.Now().Sub(standing.ProvedAt) <= 2*t.Drill
	return &isProved
}

// Metrics are the numbers that an alarm is set on. read may not take longer than patience.
func Metrics(read func(context.Context) (Status, error), patience time.Duration) []metrics.Value {
	number := func(of func(Status) *int64) func() float64 {
		return func() float64 {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			status, err := read(ctx)
			if err != nil {
				return -1
			}
			if n := of(status); n != nil {
				return float64(*n)
			}
			return -1
		}
	}
	return []metrics.Value{
		{Name: "holdfast_backup_age_seconds",
			Help: "Age of the last good backup; -1 = there is none, or the database does not answer.",
			Read: number(func(s Status) *int64 { return s.AgeSeconds })},
		{Name: "holdfast_backup_place_ok",
			Help: "1 when the place of the backups held all that is noted; -1 = there is none, or no answer.",
			Read: number(isPlaceOK)},
		{Name: "holdfast_backups_missing",
			Help: "Backups that are gone from their place, or not as they were made; -1 as before.",
			Read: number(countMissing)},
		{Name: "holdfast_backup_proved_age_seconds",
			Help: "Age of the newest backup that was restored on trial; -1 = there is none, or no answer.",
			Read: number(provedAge)},
		{Name: "holdfast_backup_proved_ok",
			Help: "1 when a restore on trial is not overdue by twice what backup_drill says; -1 = no drills or answer.",
			Read: number(isProofOK)},
	}
}

func isPlaceOK(s Status) *int64 {
	if s.Place == nil {
		return nil
	}
	return asNumber(s.Place.OK)
}

func asNumber(ok bool) *int64 {
	n := int64(0)
	if ok {
		n = 1
	}
	return &n
}

func isProofOK(s Status) *int64 {
	if s.Drill == nil || s.Drill.isProved == nil {
		return nil
	}
	return asNumber(*s.Drill.isProved)
}

func countMissing(s Status) *int64 {
	if s.Place == nil {
		return nil
	}
	return &s.Place.Missing
}

func provedAge(s Status) *int64 {
	if s.Drill == nil {
		return nil
	}
	return s.Drill.ProvedAgeSeconds
}
