package clocks

import (
	"crypto/sha256"
	"encoding/hex"
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

// Moment is what a job of [MailJob] knows: the clocks that are told of at once, or the moment
// at which all are told of whose middle or end it is.
type Moment struct {
	Clocks []string `json:"clocks,omitempty"` // ids
	Ends   []string `json:"ends,omitempty"`   // of the clocks, when the job was asked for
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
func (s Span) IsHalfOver(now time.Time) bool { return !now.Before(s.middleMoment()) }

func (s Span) middleMoment() time.Time { return s.Starts.Add(s.Due.Sub(s.Starts) / 2) }

// isUrgent reports a clock whose middle comes too late, or has passed.
func (s Span) isUrgent(now time.Time) bool {
	return !s.Rule.IsOption && (s.Due.Sub(s.Starts) <= shortClock || s.IsHalfOver(now))
}

// listMoments are when members are told of the clock after it started. The end of a right is
// no news, and what is due without delay has no middle.
func (s Span) listMoments() []time.Time {
	if s.Rule.IsOption {
		return []time.Time{s.middleMoment()}
	}
	if s.Rule.Unit == AtOnce {
		return nil
	}
	return []time.Time{s.middleMoment(), s.Due}
}

// AskForMails is the effect of changes to clocks of one tenant: it asks for the mails
// about clocks that started or moved. One change asks for one mail a moment, however many
// clocks it moves.
func AskForMails(tx *store.Tx, changes []store.Change) error {
	if !tx.Store.Audited() {
		return nil
	}
	now := tx.Now()
	urgent := Moment{}
	moments := map[string]bool{}
	for _, c := range changes {
		s, runs := spanOf(c.After)
		before, ran := spanOf(c.Before)
		if !runs || ran && before == s {
			continue
		}
		if s.isUrgent(now) && !(ran && before.isUrgent(now) && before.IsOver(now) == s.IsOver(now)) {
			urgent.Clocks = append(urgent.Clocks, c.After.Text(idColumn))
			urgent.Ends = append(urgent.Ends, query.FormatTime(s.Due))
		}
		for _, at := range s.listMoments() {
			if at.After(now) {
				moments[query.FormatTime(at)] = true
			}
		}
	}

	var jobs []job.Job
	if len(urgent.Clocks) > 0 {
		j, err := urgent.mailJob(tx.TenantID, now)
		if err != nil {
			return err
		}
		jobs = append(jobs, j)
	}
	for _, at := range slices.Sorted(maps.Keys(moments)) {
		m := Moment{At: at}
		j, err := m.mailJob(tx.TenantID, now)
		if err != nil {
			return err
		}
		jobs = append(jobs, j)
	}
	return job.Add(tx.Tx, jobs...)
}

// Due is the moment before which a mail is not sent; zero for what is told at once.
func (m *Moment) Due() (at time.Time, err error) {
	if m.At == "" {
		return at, nil
	}
	if at, err = time.Parse(time.RFC3339Nano, m.At); err != nil {
		return at, fmt.Errorf("clocks: moment of a clock: %w", err)
	}
	return at, nil
}

// mailJob is the job of a moment. Its key is what the mail is about: of the same clocks with the
// same ends nobody is told twice, however often their state turns.
func (m *Moment) mailJob(tenant string, now time.Time) (job.Job, error) {
	due, err := m.Due()
	if err != nil {
		return job.Job{}, err
	}
	if due.IsZero() {
		due = now
	}
	payload, err := json.Marshal(m)
	if err != nil {
		return job.Job{}, fmt.Errorf("clocks: clocks to tell of: %w", err)
	}
	digest := sha256.Sum256(payload)
	return job.Job{Tenant: tenant, Kind: MailJob, Key: hex.EncodeToString(digest[:]), Payload: payload, Made: due}, nil
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

// IsToldAt reports that members are told of the clock by the mail of a moment. The end is told
// by a mail of its own: that of the middle says nothing once the end has passed too.
func (s Span) IsToldAt(moment string, now time.Time) bool {
	for _, at := range s.listMoments() {
		if query.FormatTime(at) == moment {
			return at.Equal(s.Due) || !s.IsOver(now)
		}
	}
	return moment == ""
}
