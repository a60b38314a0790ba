package programme

import (
	"fmt"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/functions/programme/wording"
	"holdfast/internal/job"
	"holdfast/internal/query"
	"holdfast/internal/store"
)

// pageEvery is the least time between two mails about critical incidents to one
// person: a flood of reports must not bury the first one, nor have the mail
// server's operator refuse us. What comes meanwhile is gathered in the next.
const pageEvery = 15 * time.Minute

// paged is the latest mail to a person.
type paged struct {
	job.Latter
	about wording.Alarms
}

// Page writes a mail about incidents that are critical to those who keep the
// programme, or to the administrators where nobody does, in the transaction in
// which they became it: at once, or with the next mail where one has just gone.
func (l Letterhead) Page(tx *db.Tx, tenant string, incidents []store.Row, now time.Time) error {
	if len(incidents) == 0 {
		return nil
	}
	d := &digest{
		tenant: tenant, now: now.UTC(),
		lines: map[string]map[wording.Topic][]wording.Line{}, people: queueMembers(tx, tenant),
	}
	w := wording.QueueWords(tx, tenant)
	job.LockKind(tx, tenant, pageTurn, d.now)
	if err := tx.Flush(); err != nil {
		return fmt.Errorf("programme: page: %w", err)
	}
	d.tellAll(wording.OverdueActions, wording.Line{}, actor.Safety)
	last, err := lastPaged(tx, tenant, d.now)
	if err != nil {
		return err
	}
	var fresh []queuedMail
	for user := range d.lines {
		m, waits := last[user].nextMail(tenant, user, d.now)
		for _, in := range incidents {
			m.About.AddAlarm(alarmOf(in))
		}
		if m.Message, err = w.PageMail(m.About, wording.Letterhead(l)); err != nil {
			return err
		}
		m.Message.Kind, m.Message.To = "critical", d.people[user].email
		if !waits {
			fresh = append(fresh, m)
			continue
		}
		j, err := m.mailJob()
		if err != nil {
			return err
		}
		job.Replace(tx, j)
	}
	return queueMails(tx, fresh)
}

// nextMail is what a person is told next: in the latest mail where it has not gone,
// which waits is then true for, else in a new one, pageEvery behind it.
func (p *paged) nextMail(tenant, user string, now time.Time) (m queuedMail, waits bool) {
	m = queuedMail{tenant: tenant, at: now, mailPayload: mailPayload{User: user, About: &wording.Alarms{}}}
	if p != nil && p.Untouched {
		m.key, m.About = p.Key, &p.about
		return m, true
	}
	if p != nil && p.Made.Add(pageEvery).After(now) {
		m.at = p.Made.Add(pageEvery)
	}
	m.key = "critical:" + user + ":" + query.FormatTime(m.at)
	return m, false
}

func alarmOf(in store.Row) wording.Alarm {
	at, _ := in["occurred_at"].(string)
	title, _ := in["title"].(string)
	return wording.Alarm{No: fmt.Sprint(in["incident_no"]), Title: title, At: at}
}

// lastPaged is the latest mail about critical incidents of each person, locked:
// who sends one meanwhile waits, and sends what it says then.
func lastPaged(tx *db.Tx, tenant string, now time.Time) (map[string]*paged, error) {
	list, err := job.Latest(tx, tenant, MailJob, now.Add(-pageEvery))
	if err != nil {
		return nil, err
	}
	last := map[string]*paged{}
	for _, j := range list {
		var m mailPayload
		if err := j.Decode(&m); err != nil {
			return nil, err
		}
		if m.About != nil {
			last[m.User] = &paged{j, *m.About}
		}
	}
	return last, nil
}
