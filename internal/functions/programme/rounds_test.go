package programme_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/mail"
	"holdfast/internal/store"
)

func (k *kit) member(user, name, role string) {
	k.add("members", store.Row{"user_id": user, "email": name + "@north.example", "role": role})
}

// A schedule's runs come into being, are missed when nobody does them, and a
// tenant owes nothing when that is done.
func TestInspections(t *testing.T) {
	each(t, func(k *kit) {
		ctx := context.Background()
		tpl := k.add("checklist_templates", store.Row{"code": "W", "title": "Walk",
			"sections": json.RawMessage(`[{"title":"","items":[{"key":"a","prompt":"A","type":"text"}]}]`)})
		k.set("checklist_templates", tpl, store.Row{"status": "published"})
		plan := k.add("checklist_schedules", store.Row{"template_id": tpl, "rrule": "FREQ=DAILY", "grace_minutes": 60})
		if n := k.count("checklist_runs", "status = 'scheduled'"); n != 7 {
			t.Fatalf("%d runs, want 7", n)
		}
		if due, err := k.p.Owing(ctx); err != nil || len(due) != 0 {
			t.Errorf("owing %v %v", due, err)
		}
		// The 21st at 8:00 in Berlin is 7:00 UTC; the grace ends at 8:00.
		for _, c := range []struct {
			at     time.Time
			missed int64
			runs   int64
		}{{time.Date(2026, 3, 21, 8, 0, 0, 0, time.UTC), 0, 8}, {time.Date(2026, 3, 21, 8, 0, 1, 0, time.UTC), 1, 8},
			{time.Date(2026, 3, 23, 12, 0, 0, 0, time.UTC), 3, 10}} {
			k.now = c.at
			if due, err := k.p.Owing(ctx); err != nil || len(due) != 1 || due[0] != north {
				t.Errorf("%s: owing %v %v", c.at, due, err)
			}
			for range 2 {
				if err := k.p.Inspections(ctx, north); err != nil {
					t.Fatal(explain(err))
				}
				if missed, runs := k.count("checklist_runs", "status = 'missed'"),
					k.count("checklist_runs", "1 = 1"); missed != c.missed || runs != c.runs {
					t.Errorf("%s: %d missed of %d runs, want %d of %d", c.at, missed, runs, c.missed, c.runs)
				}
			}
		}
		k.set("checklist_schedules", plan, store.Row{"status": "ended"})
		if due, err := k.p.Owing(ctx); err != nil || len(due) != 0 {
			t.Errorf("owing %v %v", due, err)
		}
	})
}

// However many inspections wait for the end of their grace, those behind them
// are missed in time, and none is looked at twice.
func TestMissedBehindGrace(t *testing.T) {
	each(t, func(k *kit) {
		at := k.now.Add(-10 * time.Hour)
		columns := []db.Column{uuidCol("tenant_id"), uuidCol("id"), textCol("title"), timeCol("due_at"),
			intCol("grace_minutes"), timeCol("deadline_at"),
			textCol("status"), timeCol("created_at"), timeCol("updated_at"), intCol("version")}
		k.bulk("checklist_runs", columns,
			1800, func(i int) []any {
				grace := 0
				if i < 600 || i%3 == 0 {
					grace = 6000
				}
				due := at.Add(time.Duration(i/7) * time.Minute)
				late := due.Add(time.Duration(grace) * time.Minute)
				return []any{north, rowID("000c", i), "Walk", due, grace, late, "scheduled", at, at, 1}
			})
		for _, want := range []int{800, 0} {
			if n, err := k.p.MissChecklists(context.Background(), north); err != nil || n != want {
				t.Errorf("%d missed, want %d: %v", n, want, explain(err))
			}
		}
		if n := k.count("checklist_runs", "status = 'scheduled' AND grace_minutes = 6000"); n != 1000 {
			t.Errorf("%d wait for the end of their grace, want 1000", n)
		}
	})
}

// Two nodes that plan the same schedules at the same time make each run once.
func TestInspectionsAtOnce(t *testing.T) {
	each(t, func(k *kit) {
		tpl := k.add("checklist_templates", store.Row{"code": "W", "title": "Walk",
			"sections": json.RawMessage(`[{"title":"","items":[{"key":"a","prompt":"A","type":"text"}]}]`)})
		k.set("checklist_templates", tpl, store.Row{"status": "published"})
		for range 20 {
			k.add("checklist_schedules", store.Row{"template_id": tpl, "rrule": "FREQ=DAILY"})
		}
		k.now = k.now.Add(48 * time.Hour)
		errs := make(chan error, 4)
		for range 4 {
			go func() { errs <- k.p.Inspections(context.Background(), north) }()
		}
		for range 4 {
			if err := <-errs; err != nil {
				t.Error(explain(err))
			}
		}
		if n := k.count("checklist_runs", "1 = 1"); n != 20*9 {
			t.Errorf("%d runs, want %d", n, 20*9)
		}
	})
}

// A certificate that runs out is told of once and the course assigned again,
// unless it is assigned already or there is a later certificate.
func TestRemindTraining(t *testing.T) {
	each(t, func(k *kit) {
		for i, u := range []string{ada, bo, cy} {
			k.member(u, fmt.Sprint("m", i), "operator")
		}
		course := k.add("courses", store.Row{"code": "LIFT", "title": "Lifting"})
		cert := func(user, expires string) string {
			return k.add("training_assignments", store.Row{"course_id": course, "user_id": user, "status": "completed",
				"completed_at": k.now.AddDate(-1, 0, 0),
				"expires_on":   expires})
		}
		soon := cert(ada, "2026-04-19") // 30 days ahead in Berlin
		cert(bo, "2026-04-10")
		k.add("training_assignments", store.Row{"course_id": course, "user_id": bo})
		cert(cy, "2026-04-10")
		cert(cy, "2026-04-20") // later, and 31 days ahead
		for night := range 2 {
			n, err := k.p.RemindTraining(context.Background(), north)
			if err != nil {
				t.Fatal(explain(err))
			}
			if want := []int{2, 0}[night]; n != want {
				t.Errorf("night %d told of %d, want %d", night, n, want)
			}
			if n := k.count("training_assignments", "assignment_type = 'renewal' AND due_on = '2026-04-19' AND user_id = '"+ada+"'"); n != 1 ||
				k.count("training_assignments", "assignment_type = 'renewal'") != 1 {
				t.Errorf("night %d: %d renewals", night, n)
			}
		}
		if k.count("training_assignments", "reminded_at IS NOT NULL") != 2 ||
			k.count("training_assignments", "id = '"+soon+"' AND reminded_at IS NOT NULL") != 1 {
			t.Error("the wrong certificates are marked")
		}
	})
}

// A day that comes near is told once for each notice before it, however often
// the round runs and however long it did not; a new day is told anew.
func TestRemindDeadlines(t *testing.T) {
	each(t, func(k *kit) {
		truck := k.add("equipment", store.Row{"asset_no": "F1", "service_due_on": "2026-04-19"}) // 30 days ahead in Berlin
		later := k.add("equipment", store.Row{"asset_no": "F2", "service_due_on": "2026-04-20"}) // 31
		k.add("equipment", store.Row{"asset_no": "F3", "service_due_on": "2026-03-01", "status": "retired"})
		van := k.add("vehicles", store.Row{"plate": "V1", "inspection_due_on": "2026-03-01"}) // passed long ago
		driver := k.add("drivers", store.Row{"worker_id": k.add("workers", store.Row{"employee_no": "1", "name": "Ada"}),
			"licence_expires_on": "2026-03-25"})
		k.as.TenantID = south
		k.add("vehicles", store.Row{"plate": "S1", "inspection_due_on": "2026-03-21"})
		k.as.TenantID = north
		service := func(days int) string { return fmt.Sprint("equipment.service_due ", truck, " ", days) }
		start := k.now
		for _, c := range []struct {
			day  int // from the start
			what string
			do   func() error
			want []string
		}{
			{0, "first", nil, []string{service(30), fmt.Sprint("vehicle.inspection_due ", van, " -19"),
				fmt.Sprint("driver.licence_expiring ", driver, " 5")}},
			{0, "again", nil, nil},
			{2, "renewed", func() error { return k.change("drivers", driver, store.Row{"licence_expires_on": "2036-01-01"}) },
				nil},
			{29, "after four weeks", nil, []string{service(1)}},
			{30, "on the day", nil, []string{service(0)}},
			{33, "past it", nil, nil},
			{33, "put off", func() error { return k.change("equipment", truck, store.Row{"service_due_on": "2026-04-25"}) },
				[]string{service(3)}},
		} {
			k.now, k.due = start.AddDate(0, 0, c.day), nil
			if c.do != nil {
				if err := c.do(); err != nil {
					t.Fatal(explain(err))
				}
			}
			n, err := k.p.RemindDeadlines(context.Background(), north)
			if err != nil {
				t.Fatal(explain(err))
			}
			got := slices.DeleteFunc(slices.Clone(k.due), func(d string) bool { return c.day > 0 && strings.Contains(d, later) })
			if n != len(k.due) || !slices.Equal(got, c.want) {
				t.Errorf("day %d, %s: %d told, %v, want %v", c.day, c.what, n, got, c.want)
			}
		}
		if n := k.count("deadline_notices", "tenant_id = '"+south+"'"); n != 0 {
			t.Errorf("%d notices of another tenant", n)
		}
	})
}

// More days than one transaction tells of are all told, once.
func TestRemindManyDeadlines(t *testing.T) {
	each(t, func(k *kit) {
		var rows []store.Row
		for i := range 1003 {
			rows = append(rows, store.Row{"plate": fmt.Sprint("P", i), "inspection_due_on": "2026-03-22"})
		}
		k.add("vehicles", rows...)
		for _, want := range []int{1003, 0} {
			if n, err := k.p.RemindDeadlines(context.Background(), north); err != nil || n != want {
				t.Errorf("%d told, want %d, %v", n, want, err)
			}
		}
	})
}

// stubborn refuses mails until it is told to take them.
type stubborn struct {
	mail.Sink
	mu     sync.Mutex
	refuse error
	asked  int
}

func (s *stubborn) Send(ctx context.Context, m mail.Message) error {
	s.mu.Lock()
	s.asked++
	refuse := s.refuse
	s.mu.Unlock()
	if refuse != nil {
		return refuse
	}
	return s.Sink.Send(ctx, m)
}

// digests of a tenant in which something waits for everybody.
func digests(k *kit) {
	k.member(ada, "ada", "operator")
	k.member(bo, "bo", "safety")
	k.member(cy, "cy", "manager")
	action := func(more store.Row) string {
		row := store.Row{"title": "Fix <b>rail</b>", "assignee_user_id": ada, "due_on": "2026-03-18"}
		for f, v := range more {
			row[f] = v
		}
		return k.add("actions", row)
	}
	action(nil)
	action(store.Row{"title": "Today", "due_on": "2026-03-20"})
	action(store.Row{"title": "Tomorrow", "due_on": "2026-03-21"})
	action(store.Row{"title": "Nobody's", "assignee_user_id": nil})
	k.set("actions", action(store.Row{"title": "To verify", "verifier_user_id": cy}), store.Row{"status": "done"})
	for i := range 12 {
		action(store.Row{"title": fmt.Sprint("Old ", i), "due_on": "2026-03-01", "assignee_user_id": cy})
	}
	k.add("equipment", store.Row{"asset_no": "F1", "name": "Truck", "service_due_on": "2026-03-27"},
		store.Row{"asset_no": "F2", "service_due_on": "2026-03-28"})
	k.add("vehicles", store.Row{"plate": "HH-X 1", "inspection_due_on": "2026-03-01"})
	run := k.add("checklist_runs", store.Row{"title": "Dock", "due_at": "2026-03-20T06:00:00Z", "assignee_user_id": ada})
	k.set("checklist_runs", run, store.Row{"status": "missed"})
	course := k.add("courses", store.Row{"code": "LIFT", "title": "Lifting"})
	k.add("training_assignments", store.Row{"course_id": course, "user_id": ada, "due_on": "2026-03-19"})
	certificate := func(course, until string) {
		row := store.Row{"course_id": course, "user_id": bo, "status": "completed", "completed_at": "2025-03-01T12:00:00Z"}
		if until != "" {
			row["expires_on"] = until
		}
		k.add("training_assignments", row)
	}
	for title, renewed := range map[string][]string{"Renewed": {"2027-03-27"}, "Life": {""}, "Ending": {"2026-03-26"}} {
		course := k.add("courses", store.Row{"code": title, "title": title})
		certificate(course, "2026-03-27")
		for _, until := range renewed {
			certificate(course, until)
		}
	}
}

// Each member has one mail a day, about what is his or his to keep, in the
// tenant's language, that leads to the configured address.
func TestDigest(t *testing.T) {
	each(t, func(k *kit) {
		ctx := context.Background()
		digests(k)
		k.now = time.Date(2026, 3, 20, 4, 59, 0, 0, time.UTC) // one minute to six in Berlin
		if due, err := k.p.Mornings(ctx); err != nil || len(due) != 0 {
			t.Errorf("before six: %v %v", due, err)
		}
		k.now = time.Date(2026, 3, 20, 12, 0, 0, 0, time.UTC)
		if due, err := k.p.Mornings(ctx); err != nil || len(due) != 2 {
			t.Errorf("at noon: %v %v", due, err)
		}
		n, err := k.p.Digest(ctx, north)
		if err != nil || n != 3 {
			t.Fatalf("%d digests: %v", n, explain(err))
		}
		if n, err := k.p.Digest(ctx, north); err != nil || n != 0 {
			t.Errorf("a second time: %d %v", n, err)
		}
		if due, err := k.p.Mornings(ctx); err != nil || len(due) != 1 || due[0] != south {
			t.Errorf("after: %v %v", due, err)
		}
		var box mail.Sink
		if n, err := k.send(&box); err != nil || n != 3 {
			t.Fatalf("sent %d: %v", n, explain(err))
		}
		text := map[string]string{}
		for _, m := range box.List("") {
			text[m.To] += m.Subject + "\n" + m.Text
			if len(m.Links) != 1 || m.Links[0] != "https://site.example/app" {
				t.Errorf("%s leads to %v", m.To, m.Links)
			}
			if strings.Contains(m.HTML, "<b>rail") {
				t.Errorf("%s: a title is read as HTML", m.To)
			}
		}
		for to, c := range map[string]struct{ has, lacks []string }{
			"ada@north.example": {[]string{"4 things", "Overdue actions", "Fix <b>rail</b> (2026-03-18)", "Actions due today",
				"Today (2026-03-20)",
				"Missed inspections", "Dock (2026-03-20 07:00)", "Overdue training", "Lifting (2026-03-19)"},
				[]string{"Tomorrow", "Nobody's", "Old", "verified", "F1"}},
			"bo@north.example": {[]string{"Nobody's", "Dock", "Service and inspection due", "F1 Truck (2026-03-27)",
				"HH-X 1 (2026-03-01)", "Ending (2026-03-27)"},
				[]string{"Renewed", "Life", "Fix", "F2", "Old", "To verify", "Lifting"}},
			"cy@north.example": {[]string{"15 things", "Old 0", "Old 9", "and 2 more", "To verify", "F1 Truck"},
				[]string{"Old 10", "Dock", "Fix"}},
		} {
			for _, s := range c.has {
				if !strings.Contains(text[to], s) {
					t.Errorf("%s is not told %q:\n%s", to, s, text[to])
				}
			}
			for _, s := range c.lacks {
				if strings.Contains(text[to], s) {
					t.Errorf("%s is told %q:\n%s", to, s, text[to])
				}
			}
		}

		k.add("settings", store.Row{"section": "general", "key": "locale", "value": json.RawMessage(`"de-AT"`)})
		k.now = k.now.AddDate(0, 0, 1)
		if n, err := k.p.Digest(ctx, north); err != nil || n != 3 {
			t.Fatalf("next day: %d %v", n, err)
		}
		if _, err := k.send(&box); err != nil {
			t.Fatal(err)
		}
		if m := box.List("ada@north.example")[0]; m.Subject != "Arbeitssicherheit: 4 Punkte warten auf Sie" ||
			!strings.Contains(m.Text, "Überfällige Maßnahmen") {
			t.Errorf("in German: %s\n%s", m.Subject, m.Text)
		}
		k.add("settings", store.Row{"section": "safety", "key": "digest", "value": json.RawMessage(`false`)})
		k.now = k.now.AddDate(0, 0, 1)
		if n, err := k.p.Digest(ctx, north); err != nil || n != 0 {
			t.Errorf("switched off: %d %v", n, err)
		}
	})
}

// A mail is sent once by however many nodes; it is tried again when the server
// is away, and given up after a while or at once when it never can be sent.
func TestSendMails(t *testing.T) {
	each(t, func(k *kit) {
		ctx := context.Background()
		digests(k)
		if _, err := k.p.Digest(ctx, north); err != nil {
			t.Fatal(explain(err))
		}
		box := &stubborn{refuse: fault.New(fault.Unavailable, "", "away")}
		for try, wait := range []time.Duration{time.Minute, 5 * time.Minute, 30 * time.Minute} {
			if n, err := k.send(box); err == nil || n != 0 || box.asked != 3*(try+1) {
				t.Errorf("try %d: %d sent, %d asked, %v", try, n, box.asked, err)
			}
			k.now = k.now.Add(wait - time.Second)
			if n, err := k.send(box); err != nil || n != 0 || box.asked != 3*(try+1) {
				t.Errorf("too soon after try %d: %d sent, %d asked, %v", try, n, box.asked, err)
			}
			k.now = k.now.Add(2 * time.Second)
		}
		box.refuse = nil
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				if _, err := k.send(box); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if n := len(box.List("")); n != 3 {
			t.Errorf("%d mails, want 3", n)
		}
		if k.count("jobs", "status = 'done' AND kind = 'safety-mail'") != 3 {
			t.Error("not noted as sent")
		}

		k.now = k.now.AddDate(0, 0, 1)
		if _, err := k.p.Digest(ctx, north); err != nil {
			t.Fatal(explain(err))
		}
		box.refuse = fault.New(fault.Invalid, "mail_address", "no such address")
		if _, err := k.send(box); err == nil {
			t.Error("a mail that cannot be sent is an error")
		}
		if k.count("jobs", "status = 'failed'") != 3 {
			t.Error("what never can be sent is not given up")
		}

		k.now = k.now.AddDate(0, 0, 1)
		if _, err := k.p.Digest(ctx, north); err != nil {
			t.Fatal(explain(err))
		}
		// A server that is away for a night, or refuses for its own reasons, loses
		// nothing; it is not asked for ever.
		for hour := range 48 {
			box.refuse = errors.New("broken pipe")
			if hour%2 == 1 {
				box.refuse = fault.New(fault.Invalid, "mail_refused", "quota spent")
			}
			_, _ = k.send(box) // each try fails; what counts is when they end
			if pending := k.count("jobs", "status = 'pending'"); hour <= 22 && pending != 3 || hour > 26 && pending != 0 {
				k.Fatalf("after %d hours %d mails wait", hour, pending)
			}
			k.now = k.now.Add(time.Hour)
		}
		if k.count("jobs", "status = 'failed'") != 6 {
			t.Error("mails are lost otherwise than by being given up")
		}
		k.now = k.now.AddDate(0, 1, 1)
		if err := k.mails(box).Sweep(ctx); err != nil || k.count("jobs", "1 = 1") != 0 {
			t.Errorf("old mails are kept: %v", err)
		}
	})
}

// A truck is held to the last look at the truck itself, a zone to the last
// round of the zone: one does not stand for the other. A look without answers is
// none, and one that is older than the rule's window is late, not forgotten.
func TestDaysSinceChecklist(t *testing.T) {
	each(t, func(k *kit) {
		zone := k.add("zones", store.Row{"code": "A", "name": "A", "kind": "area"})
		truck := k.add("equipment", store.Row{"asset_no": "F1", "kind": "forklift", "zone_id": zone})
		for kind, code := range map[string]string{"equipment": "T", "zone": "Z"} {
			k.add("regulations", store.Row{"code": code, "title": code,
				"rule": json.RawMessage(`{"scope":{"entity_types":["` + kind +
					`"],"filter":{}},
					"evidence":{"of":"checklist_runs","absence":"insufficient_data"},
					"metric":"days_since_checklist","window_days":90,"warn":{"op":">","value":1},"breach":{"op":">","value":3}}`)})
		}
		look := func(days int, row store.Row) {
			now := k.now
			k.now = now.AddDate(0, 0, -days)
			row["title"] = "Look"
			k.set("checklist_runs", k.add("checklist_runs", row), store.Row{"status": "completed"})
			k.now = now
		}
		is := func(want map[string][2]string) {
			t.Helper()
			k.purge("compliance_states")
			n := k.call(compliance, "")
			for entity, want := range want {
				n.find("events", "entity_id", entity).is("status", want[0], "value", want[1])
			}
		}
		is(map[string][2]string{truck: {`"insufficient_data"`, "null"}, zone: {`"insufficient_data"`, "null"}})
		look(0, store.Row{"zone_id": zone})
		is(map[string][2]string{zone: {`"insufficient_data"`, "null"}})
		look(100, store.Row{"zone_id": zone, "score": "100"})
		is(map[string][2]string{zone: {`"breach"`, "100"}})
		look(5, store.Row{"zone_id": zone, "score": "100"})
		look(2, store.Row{"equipment_id": truck, "score": "100"})
		is(map[string][2]string{truck: {`"warning"`, "2"}, zone: {`"breach"`, "5"}})
	})
}

// The mean week counts the time that a person was there: a week of 56 hours over
// ten days is 56, and weeks of leave change nothing (2003/88/EC art. 16(b)).
func TestMeanWeek(t *testing.T) {
	each(t, func(k *kit) {
		k.add("regulations", store.Row{"code": "MEAN", "title": "Mean",
			"rule": json.RawMessage(`{"scope":{"entity_types":["worker"]},` +
				`"evidence":{"of":"shifts","absence":"insufficient_data"},` +
				`"metric":"weekly_hours_max","window_days":122,"per":"window","warn":{"op":">","value":44},"breach":{"op":">","value":48}}`)})
		worker := func(name string, hours float64, days ...int) string {
			id := k.add("workers", store.Row{"employee_no": name, "name": name})
			for _, day := range days {
				k.shift(id, day, hours, nil)
			}
			return id
		}
		span := func(from, to int) (days []int) {
			for day := from; day >= to; day-- {
				days = append(days, day)
			}
			return days
		}
		want := map[string][2]string{
			worker("ten days", 8, span(10, 1)...): {"56", "breach"},
			// Monday to Friday in two weeks, three weeks of leave between them.
			worker("leave", 9.6, append(span(39, 35), span(11, 7)...)...): {"48", "warning"},
			worker("above", 9.7, append(span(39, 35), span(11, 7)...)...): {"48.5", "breach"},
			worker("below", 8.8, append(span(39, 35), span(11, 7)...)...): {"44", "compliant"},
			worker("one long day", 12, 1):                                 {"12", "compliant"},
			worker("never", 0):                                            {"null", "insufficient_data"},
		}
		n := k.call(compliance, "")
		for id, w := range want {
			n.find("events", "entity_id", id).is("value", w[0], "status", `"`+w[1]+`"`)
		}
	})
}

// A certificate that ran out is counted, and who has none is not found to have
// valid ones; a kind of entity that is not scored has no verdict on its scores.
func TestNothingOnRecord(t *testing.T) {
	each(t, func(k *kit) {
		p := fill(k)
		k.add("regulations", store.Row{"code": "PAPERS", "title": "Papers",
			"rule": json.RawMessage(`{"scope":{"entity_types":["worker","driver"]},
				"evidence":{"of":"training_assignments","absence":"insufficient_data"},
				"metric":"expired_certifications","breach":{"op":">=","value":1}}`)})
		k.add("regulations", store.Row{"code": "SCORE", "title": "Score",
			"rule": json.RawMessage(`{"scope":{"entity_types":["equipment"]},
				"evidence":{"of":"predictive_scores","absence":"insufficient_data"},
				"metric":"predictive_score","breach":{"op":">=","value":90}}`)})
		k.add("regulations", store.Row{"code": "LATE", "title": "Late",
			"rule": json.RawMessage(`{"scope":{"entity_types":["zone"]},
				"evidence":{"of":"actions","absence":"insufficient_data"},
				"metric":"overdue_actions","per":"tenant","breach":{"op":">=","value":1}}`)})
		is := func(code, entity, value, status string) {
			t.Helper()
			k.purge("compliance_states")
			n := k.call(compliance, "")
			if entity != "" {
				n = n.find("events", "entity_id", entity)
			} else {
				n = n.find("events", "regulation_code", code)
			}
			n.is("value", value, "status", `"`+status+`"`)
		}
		is("PAPERS", p.worker, "null", "insufficient_data")
		is("PAPERS", p.driver, "null", "insufficient_data")
		is("LATE", "", "null", "insufficient_data")
		k.add("actions", store.Row{"title": "x"})
		is("LATE", "", "0", "compliant")

		course := k.add("courses", store.Row{"code": "C", "title": "C", "validity_months": 12})
		certify := func(at string) {
			k.add("training_assignments", store.Row{"course_id": course, "user_id": ada, "status": "completed",
				"completed_at": at})
		}
		certify("2025-03-19T12:00:00Z")
		is("PAPERS", p.worker, "1", "breach")
		certify("2026-03-19T12:00:00Z")
		is("PAPERS", p.worker, "0", "compliant")
		k.set("drivers", p.driver, store.Row{"licence_expires_on": "2026-03-20"})
		is("PAPERS", p.driver, "0", "compliant")

		k.call(scores, "")
		is("SCORE", "", "0", "compliant")
		k.add("settings", store.Row{"section": "scoring", "key": "scores_off", "value": json.RawMessage(`["equipment"]`)})
		is("SCORE", "", "null", "insufficient_data")
	})
}
