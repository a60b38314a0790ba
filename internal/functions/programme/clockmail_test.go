package programme_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/functions/programme"
	"holdfast/internal/job"
	"holdfast/internal/mail"
	"holdfast/internal/safety/clocks"
	"holdfast/internal/store"
)

// clockMails sends what is due and returns the mails about clocks.
func (k *kit) clockMails() []mail.Kept {
	k.Helper()
	var box mail.Sink
	for _, kind := range [...]string{clocks.MailJob, programme.MailJob} {
		if _, err := k.mails(&box).Round(context.Background(), kind); err != nil {
			k.Fatal(explain(err))
		}
	}
	var list []mail.Kept
	for _, m := range box.List("") {
		if m.Kind == clocks.MailJob {
			list = append(list, m)
		}
	}
	return list
}

// wantMails holds the mails about clocks that are due at a moment to the lines that bo is
// sent, each under its heading.
func (k *kit) wantMails(when string, at time.Time, want ...string) {
	k.Helper()
	k.now = at
	var got []string
	for _, m := range k.clockMails() {
		if m.To == "bo@north.example" {
			got = append(got, linesOf(m.Text)...)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		k.Errorf("%s: told %q, want %q", when, got, want)
	}
}

// linesOf are the lines of a mail as "heading - line".
func linesOf(text string) (list []string) {
	heading := ""
	for _, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "- ") {
			list = append(list, heading+" "+line)
		} else if line != "" {
			heading = line
		}
	}
	return list
}

// addClock starts a clock of a new incident, so many hours ago and for so many, at a site.
func (k *kit) addClock(no, code, site string, startedHours, hours int) string {
	k.Helper()
	incident := k.add("incidents", store.Row{
		"kind": "injury", "incident_no": no, "title": "Broken arm", "occurred_at": "2026-03-10T08:00:00Z"})
	starts := k.now.Add(-time.Duration(startedHours) * time.Hour)
	return k.add("legal_clocks", store.Row{"code": code, "incident_id": incident, "site_id": site, "state": "running",
		"starts_at": starts.Format(time.RFC3339), "due_at": starts.Add(time.Duration(hours) * time.Hour).Format(time.RFC3339)})
}

// Clocks of a day or less and those without delay are told of at once, all others when half
// of their time has passed and at its end, on the clock of the site, and never twice; a
// right is told of once, and what is met or moved away is not told of.
func TestMailsOfClocks(t *testing.T) {
	each(t, func(k *kit) {
		k.member(ada, "ada", "operator")
		k.member(bo, "bo", "safety")
		k.member(cy, "cy", "admin")
		azores := k.add("sites", store.Row{"code": "PDL", "name": "Ponta Delgada", "timezone": "Atlantic/Azores"})
		lille := k.add("sites", store.Row{"code": "LIL", "name": "Lille"})
		now := k.now // 2026-03-20 12:00 UTC
		k.addClock("IN-1", "US-TREATMENT", azores, 0, 24)
		k.addClock("IN-2", "FR-DAT", lille, 0, 48)
		k.addClock("IN-3", "DE-SCHWER", lille, 0, 0)
		k.addClock("IN-4", "FR-RES", lille, 0, 48)
		k.addClock("IN-5", "GB-PROC", lille, 200, 240)
		moved := k.addClock("IN-6", "DE-ANZ", lille, 0, 72)
		met := k.addClock("IN-7", "FR-DAT", lille, 0, 40)

		k.wantMails("at once", now,
			"The time has begun - IN-1: 29 CFR 1904.39(a)(2), (b)(6) (until 2026-03-21 11:00 -01)",
			"Without delay - IN-3: DGUV, Erläuterungen zur Unfallanzeige",
			"Half of the time has passed - IN-5: RIDDOR 2013 reg. 4(1), 6(1), sch. 1 para. 1 (until 2026-03-22 05:00 CET)")
		k.wantMails("a second look", now.Add(time.Minute))
		k.set("legal_clocks", moved, store.Row{"due_at": now.Add(96 * time.Hour).Format(time.RFC3339)})
		k.set("legal_clocks", met, store.Row{"state": "met", "met_at": now.Format(time.RFC3339)})
		k.wantMails("half of a day", now.Add(12*time.Hour),
			"Half of the time has passed - IN-1: 29 CFR 1904.39(a)(2), (b)(6) (until 2026-03-21 11:00 -01)")
		k.wantMails("a day, the end of the treatment's", now.Add(24*time.Hour),
			"The time is over - IN-1: 29 CFR 1904.39(a)(2), (b)(6) (until 2026-03-21 11:00 -01)",
			"Half of the time has passed - IN-2: CSS L441-2, R441-1 to R441-3 (until 2026-03-22 13:00 CET)",
			"Half of the time has passed - IN-4: CSS R441-6 (until 2026-03-22 13:00 CET)")
		k.wantMails("half of what moved, as it was", now.Add(36*time.Hour))
		k.wantMails("two days", now.Add(48*time.Hour),
			"The time is over - IN-2: CSS L441-2, R441-1 to R441-3 (until 2026-03-22 13:00 CET)",
			"The time is over - IN-5: RIDDOR 2013 reg. 4(1), 6(1), sch. 1 para. 1 (until 2026-03-22 05:00 CET)",
			"Half of the time has passed - IN-6: SGB VII § 193(1), (4), (5), (7) (until 2026-03-24 13:00 CET)")
	})
}

// Facts that move the end into the past are told of at once; one change that starts many
// clocks makes one mail for each who leads safety, in their language and without a word
// about health; the owner stands in where nobody does.
func TestMailsOfManyClocks(t *testing.T) {
	each(t, func(k *kit) {
		k.member(ada, "ada", "operator")
		k.member(cy, "cy", "owner")
		k.add("settings", store.Row{"section": "general", "key": "locale", "value": json.RawMessage(`"fr-FR"`)})
		site := k.add("sites", store.Row{"code": "LIL", "name": "Lille"})
		var rows []store.Row
		for range 12 {
			incident := k.add("incidents", store.Row{"kind": "injury", "title": "Broken arm",
				"description": "He died", "occurred_at": "2026-03-10T08:00:00Z"})
			rows = append(rows, store.Row{"code": "US-DEATH", "incident_id": incident, "site_id": site, "state": "running",
				"starts_at": "2026-03-20T12:00:00Z", "due_at": "2026-03-20T20:00:00Z"})
		}
		k.add("legal_clocks", rows...)
		list := k.clockMails()
		if len(list) != 1 || list[0].To != "cy@north.example" ||
			list[0].Subject != "12 délais légaux d’accidents" ||
			!strings.Contains(list[0].Text, "Le délai a commencé") || !strings.Contains(list[0].Text, "et 2 de plus") {
			t.Fatalf("%+v", list)
		}
		for _, word := range []string{"arm", "died", "DEATH"} {
			if strings.Contains(list[0].Text+list[0].HTML, word) {
				t.Errorf("the mail says %q:\n%s", word, list[0].Text)
			}
		}

		k.member(bo, "bo", "safety")
		id := k.addClock("IN-77", "FR-DAT", site, 0, 48)
		k.wantMails("a clock of two days", k.now)
		k.set("legal_clocks", id, store.Row{"starts_at": "2026-03-18T08:00:00Z", "due_at": "2026-03-20T08:00:00Z"})
		k.wantMails("its end moved into the past", k.now,
			"Le délai est dépassé - IN-77 : CSS L441-2, R441-1 to R441-3 (jusqu’au 2026-03-20 09:00 CET)")
	})
}

// moveClocks gives clocks another end in one change.
func (k *kit) moveClocks(due time.Time, ids ...string) {
	k.Helper()
	rows := make([]store.Row, len(ids))
	for i, id := range ids {
		rows[i] = store.Row{"id": id, "due_at": due.Format(time.RFC3339)}
	}
	err := k.d.Write(context.Background(), db.Scope{Tenant: north}, func(tx *db.Tx) error {
		return k.s.In(tx, k.as).UpdateEach("legal_clocks", rows)
	})
	if err != nil {
		k.Fatal(explain(err))
	}
}

// What an operator hurries waits for its moment all the same; of an outage one mail is left;
// a state that turns to and fro is told of once; clocks that move together are all told of,
// whatever was asked for before; and a suspended tenant is told of nothing.
func TestMailsOfClocksAtTheEdges(t *testing.T) {
	const begun, half, over = "The time has begun - ", "Half of the time has passed - ", "The time is over - "
	const dat, death = ": CSS L441-2, R441-1 to R441-3 (until ", ": 29 CFR 1904.39(a)(1), (b)(6) (until "
	edges := map[string]func(k *kit, site string){
		"hurried": func(k *kit, site string) {
			k.addClock("IN-1", "FR-DAT", site, 0, 48)
			start := k.now
			for range 2 {
				if _, err := job.Hurry(context.Background(), k.d, k.now, job.Filter{Kind: clocks.MailJob}); err != nil {
					k.Fatal(err)
				}
				k.wantMails("hurried", k.now)
			}
			k.wantMails("half", start.Add(24*time.Hour), half+"IN-1"+dat+"2026-03-22 13:00 CET)")
			k.wantMails("end", start.Add(48*time.Hour), over+"IN-1"+dat+"2026-03-22 13:00 CET)")
		},
		"an outage": func(k *kit, site string) {
			k.addClock("IN-1", "FR-DAT", site, 0, 48)
			k.wantMails("after the end", k.now.Add(60*time.Hour), over+"IN-1"+dat+"2026-03-22 13:00 CET)")
		},
		"to and fro": func(k *kit, site string) {
			id := k.addClock("IN-1", "US-DEATH", site, 0, 8)
			k.wantMails("begun", k.now, begun+"IN-1"+death+"2026-03-20 21:00 CET)")
			for range 3 {
				k.set("legal_clocks", id, store.Row{"state": "not_required", "reason": "no"})
				k.set("legal_clocks", id, store.Row{"state": "running", "reason": nil})
				k.wantMails("again", k.now.Add(time.Minute))
			}
		},
		"moved together": func(k *kit, site string) {
			start := k.now
			one := k.addClock("IN-1", "FR-DAT", site, 0, 96)
			k.moveClocks(start.Add(72*time.Hour), one)
			two := k.addClock("IN-2", "FR-DAT", site, 0, 72)
			k.moveClocks(start.Add(96*time.Hour), one, two)
			k.wantMails("half", start.Add(48*time.Hour), half+"IN-1"+dat+"2026-03-24 13:00 CET)",
				half+"IN-2"+dat+"2026-03-24 13:00 CET)")
		},
		"suspended": func(k *kit, site string) {
			k.addClock("IN-1", "FR-DAT", site, 0, 48)
			k.set("tenants", north, store.Row{"status": "suspended"})
			k.wantMails("half", k.now.Add(24*time.Hour))
		},
	}
	for name, edge := range edges {
		t.Run(name, func(t *testing.T) {
			each(t, func(k *kit) {
				k.member(bo, "bo", "safety")
				edge(k, k.add("sites", store.Row{"code": "LIL", "name": "Lille"}))
			})
		})
	}
}
