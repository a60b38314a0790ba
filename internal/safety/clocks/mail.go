package clocks

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"holdfast/internal/job"
	"holdfast/internal/query"
	"holdfast/internal/store"
)

// MailJob is the kind of job that tells by mail of clocks at a moment of theirs.
const MailJob = "legal-clock"

// shortClock is how long a clock may be for which the middle of its time comes too late:
// those are told of at once.
const shortClock = 24 * time.Hour

// Moment is what a job of [MailJob] knows. At is empty for what is told at
// once; else it is told if it still is the middle or the end of the clock's time.
type Moment struct {
	Clocks []string `json:"clocks"` // ids
	At     string   `json:"at,omitempty"`
}

// Span is the time of a clock.
type Span struct {
	Starts, Due time.Time
	Rule        *Rule
}

// IsOver reports that the end has passed.
func (s Span) IsOver(now time.Time) bool { return !now.Before(s.Due) }

// IsHalfOver reports that the middle has passed.
func (s Span) IsHalfOver(now time.Time) bool { return !now.Before(s.middle()) }

func (s Span) middle() time.Time { return s.Starts.Add(s.Due.Sub(s.Starts) / 2) }

// isUrgent reports a clock whose middle comes too late, or has passed.
func (s Span) isUrgent(now time.Time) bool {
	return !s.Rule.IsOption && (s.Due.Sub(s.Starts) <= shortClock || s.IsHalfOver(now))
}

// moments are when members are told of the clock after it started. The end of a right is
// no news, and what is due without delay has no middle.
func (s Span) moments() []time.Time {
	if s.Rule.IsOption {
		return []time.Time{s.middle()}
	}
	if s.Rule.Unit == AtOnce {
		return nil
	}
	return []time.Time{s.middle(), s.Due}
}

// AskForMails is the effect of changes to clocks of one tenant: it asks for the mails
// about clocks that started or moved. One change asks for one mail a moment, however many
// clocks it moves.
func AskForMails(tx *store.Tx, changes []store.Change) error {
	if !tx.Store.Audited() {
		return nil
	}
	const atOnce = ""
	now := tx.Now()
	mails := map[string]*Moment{}
	for _, c := range changes {
		s, runs := spanOf(c.After)
		before, ran := spanOf(c.Before)
		if !runs || ran && before == s {
			continue
		}
		id := c.After.Text(idColumn)
		if s.isUrgent(now) && !(ran && before.isUrgent(now) && before.IsOver(now) == s.IsOver(now)) {
			addClock(mails, atOnce, id)
		}
		for _, at := range s.moments() {
			if at.After(now) {
				addClock(mails, query.FormatTime(at), id)
			}
		}
	}

	jobs := make([]job.Job, 0, len(mails))
	for _, moment := range slices.Sorted(maps.Keys(mails)) {
		j, err := mails[moment].clockJob(tx.TenantID, now)
		if err != nil {
			return err
		}
		jobs = append(jobs, j)
	}
	return job.Add(tx.Tx, jobs...)
}

func addClock(mails map[string]*Moment, moment, id string) {
	if mails[moment] == nil {
		mails[moment] = &Moment{At: moment}
	}
	mails[moment].Clocks = append(mails[moment].Clocks, id)
}

// clockJob is the job of a moment: at once where it names none.
func (m *Moment) clockJob(tenant string, now time.Time) (job.Job, error) {
	due := now
	if m.At != "" {
		var err error
		if due, err = time.Parse(time.RFC3339Nano, m.At); err != nil {
			return job.Job{}, fmt.Errorf("clocks: moment of a clock: %w", err)
		}
	}
	payload, err := json.Marshal(m)
	if err != nil {
		return job.Job{}, fmt.Errorf("clocks: clocks to tell of: %w", err)
	}
	key := fmt.Sprintf("%s %t %s", query.FormatTime(due), m.At == "", m.Clocks[0])
	return job.Job{Tenant: tenant, Kind: MailJob, Key: key, Payload: payload, Made: due}, nil
}

// spanOf is the time of a clock that runs.
func spanOf(row store.Row) (s Span, runs bool) {
	if row == nil || row.Text(stateColumn) != running {
		return s, false
	}
	rule, known := Find(row.Text(codeColumn))
	starts, err := time.Parse(time.RFC3339Nano, row.Text(startsColumn))
	due, failed := time.Parse(time.RFC3339Nano, row.Text(dueColumn))
	return Span{Starts: starts.UTC(), Due: due.UTC(), Rule: rule}, known && err == nil && failed == nil
}

// HasMoment reports that members are told of the clock at a moment.
func (s Span) HasMoment(text string) bool {
	for _, at := range s.moments() {
		if query.FormatTime(at) == text {
			return true
		}
	}
	return false
}
