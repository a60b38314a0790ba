package programme

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/query"
	"holdfast/internal/store"
)

// pageEvery is the least time between two mails about critical incidents to one
// person: a flood of reports must not bury the first one, nor have the mail
// server's operator refuse us. What comes meanwhile is gathered in the next.
const pageEvery = 15 * time.Minute

// alarm is a critical incident as a mail tells it: what and where, not who;
// health data stay in the record.
type alarm struct {
	No    string `json:"no"`
	Title string `json:"title"`
	At    string `json:"at"`
}

// alarms are what a mail tells of: the first linesShown, and how many in all.
type alarms struct {
	Shown []alarm `json:"shown"`
	N     int     `json:"n"`
}

func (l *alarms) add(x alarm) {
	if slices.Contains(l.Shown, x) {
		return
	}
	l.N++
	if len(l.Shown) < linesShown {
		l.Shown = append(l.Shown, x)
	}
}

// paged is the latest mail to a person.
type paged struct {
	key     string
	at      time.Time // when it goes out, or went
	waiting bool      // nobody has taken it to the mail server, and it says what it tells of
	about   string
}

// Page writes a mail about incidents that are critical to those who keep the
// programme, or to the administrators where nobody does, in the transaction in
// which they became it: at once, or with the next mail where one has just gone.
func (l Letterhead) Page(tx *db.Tx, tenant string, incidents []store.Row, now time.Time) error {
	if len(incidents) == 0 {
		return nil
	}
	d := &digest{tenant: tenant, now: now.UTC(), lines: map[string]map[topic][]line{}, people: queueMembers(tx, tenant)}
	w := queueWords(tx, tenant)
	// Two reports at once must not both find that no mail has gone.
	tx.Queue("INSERT INTO safety_mails (tenant_id, key, user_id, kind, address, subject, body, html, status, tries, made_at, next_at) VALUES ($1, 'turn', $2, 'turn', '', '', '', '', 'sent', 0, $3, $3) "+
		"ON CONFLICT (tenant_id, key) DO UPDATE SET made_at = excluded.made_at", []any{tenant, db.NoTenant, d.now}, nil)
	if err := tx.Flush(); err != nil {
		return fmt.Errorf("programme: page: %w", err)
	}
	d.tellAll(overdueActions, line{}, actor.Safety)
	last, err := lastPaged(tx, tenant, d.now)
	if err != nil {
		return err
	}
	rows := newMails(tx)
	for user := range d.lines {
		m, err := last[user].more(incidents, d.now)
		if err != nil {
			return err
		}
		told, err := w.page(m.list, l)
		if err != nil {
			return err
		}
		about, err := json.Marshal(m.list)
		if err != nil {
			return err
		}
		if m.key != "" {
			tx.Queue("UPDATE safety_mails SET subject = $3, body = $4, html = $5, about = $6 WHERE tenant_id = $1 AND key = $2", []any{tenant, m.key, told.Subject, told.Text, told.HTML, string(about)}, nil)
			continue
		}
		told.Kind, told.To = "critical", d.people[user].email
		if err := rows.add(queuedMail{tenant: tenant, key: "critical:" + user + ":" + query.FormatTime(m.at), user: user, Message: told, at: m.at, about: string(about)}); err != nil {
			return err
		}
	}
	rows.Queue()
	return nil
}

// nextMail is what a person is told next: in the mail of that key, or in a new
// one that goes out at a moment.
type nextMail struct {
	key  string
	at   time.Time
	list alarms
}

// more adds incidents to the latest mail where it has not gone, else to a new
// one, pageEvery behind it.
func (p paged) more(incidents []store.Row, now time.Time) (m nextMail, err error) {
	m.at = now
	if p.waiting {
		m.key = p.key
		if err := json.Unmarshal([]byte(p.about), &m.list); err != nil {
			return m, fmt.Errorf("programme: what a mail tells: %w", err)
		}
	} else if next := p.at.Add(pageEvery); next.After(now) {
		m.at = next
	}
	for _, in := range incidents {
		m.list.add(alarmOf(in))
	}
	return m, nil
}

func alarmOf(in store.Row) alarm {
	at, _ := in["occurred_at"].(string)
	title, _ := in["title"].(string)
	return alarm{fmt.Sprint(in["incident_no"]), title, at}
}

// lastPaged is the latest mail about critical incidents of each person, locked:
// who sends one meanwhile waits, and sends what it says then.
func lastPaged(tx *db.Tx, tenant string, now time.Time) (map[string]paged, error) {
	last := map[string]paged{}
	err := tx.Query("SELECT user_id, key, made_at, status, tries, about FROM safety_mails WHERE tenant_id = $1 AND kind = 'critical' AND made_at > $2 ORDER BY made_at, key"+tx.DB().ForUpdate(),
		[]any{tenant, now.Add(-pageEvery)}, func(r *db.Row) error {
			last[r.Text(0)] = paged{key: r.Text(1), at: r.Time(2), waiting: r.Text(3) == "pending" && r.Int(4) == 0 && !r.Null(5), about: r.Text(5)}
			return nil
		})
	if err != nil {
		return nil, fmt.Errorf("programme: the latest mails: %w", err)
	}
	return last, nil
}
