package programme

import (
	"context"
	"fmt"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/functions/programme/wording"
	"holdfast/internal/job"
	"holdfast/internal/localtime"
	"holdfast/internal/mail"
	"holdfast/internal/query"
	"holdfast/internal/safety/clocks"
)

// ClockMails is the kind of job that words the mails about legal clocks and hands them to
// [MailJob]; away reports that no mail can be sent.
func (p *Programme) ClockMails(away func() bool) job.Kind {
	return job.Kind{
		Name: clocks.MailJob, Doc: "mails about legal clocks that start, are half over or end", Idle: away,
		Run: func(ctx context.Context, j job.Job) error {
			var m clocks.Moment
			if err := j.Decode(&m); err != nil {
				return err
			}
			return p.tellOfClocks(ctx, j, m)
		},
	}
}

// tellOfClocks queues the mails of a moment. A job that an operator hurried is put off to its
// moment again.
func (p *Programme) tellOfClocks(ctx context.Context, j job.Job, m clocks.Moment) error {
	due, err := m.Due()
	if err != nil {
		return job.Stop(err)
	}
	if due.After(p.now()) {
		later := job.Job{Tenant: j.Tenant, Kind: j.Kind, Key: j.Key + " again", Payload: j.Payload, Made: due}
		return p.write(ctx, serverActor(j.Tenant), func(tx *db.Tx) error { return job.Add(tx, later) })
	}
	err = p.write(ctx, serverActor(j.Tenant), func(tx *db.Tx) error {
		st := queueSettings(tx, j.Tenant)
		words := wording.QueueWords(tx, j.Tenant)
		d := &digest{tenant: j.Tenant, now: p.now().UTC(), people: queueMembers(tx, j.Tenant),
			lines: map[string]map[wording.Topic][]wording.Line{}}
		if err := tx.Flush(); err != nil {
			return err
		}

		var lines []wording.ClockLine
		err := tx.Query(toldClocksSQL, []any{j.Tenant, query.List(m.Clocks), m.At != ""}, func(r *db.Row) error {
			if line, isTold := clockLine(r, m, d.now, st.place); isTold {
				lines = append(lines, line)
			}
			return nil
		})
		if err != nil || len(lines) == 0 {
			return err
		}
		message, err := words.ClockMail(lines, wording.Letterhead(p.hooks.Letterhead))
		if err != nil {
			return err
		}
		return queueMails(tx, d.clockMails(j, message))
	})
	if err != nil {
		return fmt.Errorf("programme: tell of clocks: %w", err)
	}
	return nil
}

// clockMails address a message to the members who are told of the law's deadlines: safety
// officers and administrators, or the owner where there is none of them.
func (d *digest) clockMails(j job.Job, message mail.Message) (mails []queuedMail) {
	d.tellAll(wording.LawClocks, wording.Line{}, actor.Safety, actor.Admin)
	if len(d.lines) == 0 {
		d.tellAll(wording.LawClocks, wording.Line{}, actor.Owner)
	}
	message.Kind = clocks.MailJob
	for user := range d.lines {
		message.To = d.people[user].email
		mails = append(mails, queuedMail{tenant: d.tenant, key: clocks.MailJob + ":" + j.Key + ":" + user, at: d.now,
			mailPayload: mailPayload{Message: message, User: user}})
	}
	return mails
}

// toldClocksSQL selects clocks of an active tenant that run. $1 tenant, $2 ids, $3 whether all
// are meant.
const toldClocksSQL = `
	SELECT clock.code, clock.starts_at, clock.due_at, incident.incident_no, coalesce(site.timezone, '')
	FROM legal_clocks AS clock
	JOIN incidents AS incident ON incident.tenant_id = $1 AND incident.id = clock.incident_id
	LEFT JOIN sites AS site ON site.tenant_id = $1 AND site.id = clock.site_id
	WHERE clock.tenant_id = $1
		AND ($3 OR clock.id IN {ids $2})
		AND clock.state = 'running'
		AND EXISTS (
			SELECT 1
			FROM tenants
			WHERE id = $1
				AND status = 'active')
	ORDER BY clock.due_at, clock.id`

// clockLine is a row of toldClocksSQL as a mail says it, on the clock of the site, if its
// facts still ask for that.
func clockLine(r *db.Row, m clocks.Moment, now time.Time, zone string) (line wording.ClockLine, isTold bool) {
	rule, known := clocks.Find(r.Text(0))
	s := clocks.Span{Starts: r.Time(1), Due: r.Time(2), Rule: rule}
	if !known || !s.IsToldAt(m.At, now) {
		return line, false
	}
	if site := r.Text(4); site != "" {
		zone = site
	}
	due := s.Due.In(localtime.Zone(zone)).Format("2006-01-02 15:04 MST")
	return wording.ClockLine{No: r.Text(3), Citation: rule.Citation, Status: statusOf(s, now), Due: due}, true
}

// statusOf is how much of a clock's time has passed.
func statusOf(s clocks.Span, now time.Time) wording.ClockStatus {
	switch {
	case s.Rule.Unit == clocks.AtOnce:
		return wording.WithoutDelay
	case s.IsOver(now):
		return wording.TimeOver
	case s.IsHalfOver(now):
		return wording.HalfPassed
	}
	return wording.JustStarted
}
