package programme_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/functions/programme"
	"holdfast/internal/localtime"
	"holdfast/internal/safety"
	"holdfast/internal/store"
)

func rowID(kind string, n int) string { return fmt.Sprintf("0190e000-%s-7000-8000-%012d", kind, n) }

// bulk writes rows of a table in statements of many.
func (k *kit) bulk(table string, cols []db.Column, n int, row func(i int) []any) {
	const step = 100_000
	for from := 0; from < n; from += step {
		err := k.d.Write(context.Background(), db.Scope{Tenant: north}, func(tx *db.Tx) error {
			rows := tx.InsertMany(table, cols, "")
			for i := from; i < min(from+step, n); i++ {
				if err := rows.Add(row(i)...); err != nil {
					return err
				}
			}
			return rows.Send()
		})
		if err != nil {
			k.Fatal(explain(err))
		}
	}
}

func uuidCol(n string) db.Column { return db.Column{Name: n, Type: "uuid"} }
func textCol(n string) db.Column { return db.Column{Name: n, Type: "text"} }
func intCol(n string) db.Column  { return db.Column{Name: n, Type: "bigint"} }
func timeCol(n string) db.Column { return db.Column{Name: n, Type: "timestamptz"} }

// uneven gives the tenant 40 workers with a year of hours. Every fifth has an
// accident in most periods, the others hardly ever: history tells them apart.
func uneven(k *kit) []string {
	k.Helper()
	var ids []string
	for i := range 40 {
		ids = append(ids, k.add("workers", store.Row{"employee_no": fmt.Sprintf("U%d", i), "name": "U"}))
	}
	const periods = 13
	k.bulk("shifts", []db.Column{uuidCol("tenant_id"), uuidCol("id"), uuidCol("worker_id"), timeCol("started_at"),
		timeCol("ended_at"),
		intCol("break_minutes"), intCol("hours"),
		intCol("units_done"), textCol("source"), textCol("status"), timeCol("created_at"), timeCol("updated_at"),
		intCol("version")}, len(ids)*periods,
		func(n int) []any {
			end := k.now.AddDate(0, 0, -28*(n/len(ids))-7)
			return []any{north, rowID("0009", n), ids[n%len(ids)], end.Add(-8 * time.Hour), end, 0, 1_600_000, 96_000_000,
				"import", "approved", k.now, k.now, 1}
		})
	for i, id := range ids {
		for t := range periods {
			if i%5 == 0 && (i+t)%4 != 0 || i%5 == 1 && t%9 == i%9 {
				k.incident("injury", "low", 28*t+9, "", safety.Entity{Type: "worker", ID: id})
			}
		}
	}
	return ids
}

// The champion of the backtest becomes the active model; the others stay as
// shadows with their record, and scores say how they came about.
func TestChampion(t *testing.T) {
	each(t, func(k *kit) {
		ids := uneven(k)
		changed, err := k.p.Train(context.Background(), k.as)
		if err != nil || len(changed) != 1 || changed[0] != "worker" {
			k.Fatalf("changed %v: %v", changed, explain(err))
		}
		if k.count("score_models", "status = 'active' AND entity_type = 'worker' AND kind IN ('eb', 'poisson') AND metrics LIKE '%deviance%'") != 1 {
			k.Error("no statistical model is active")
		}
		n := k.call(scores, `{"entity_type":"worker"}`)
		kind := n.at("model.kind").(string)
		risky, safe := n.find("scores", "entity_id", ids[0]), n.find("scores", "entity_id", ids[2])
		if risky.at("score").(float64) <= 60 || safe.at("score").(float64) >= 40 {
			k.Errorf("%s: risky %v, safe %v: 50 is the mean of peers", kind, risky.at("score"), safe.at("score"))
		}
		low, rate, high := risky.at("interval_low").(float64), risky.at("rate_per_200k").(float64),
			risky.at("interval_high").(float64)
		if !(low < rate && rate < high) || risky.at("probability").(float64) <= safe.at("probability").(float64) {
			k.Errorf("interval %v < %v < %v", low, rate, high)
		}
		one := k.call(scores, `{"entity_type":"worker","entity_id":"`+ids[0]+`"}`)
		if one.at("scores.0.score") != risky.at("score") {
			k.Errorf("alone %v, among peers %v", one.at("scores.0.score"), risky.at("score"))
		}
		if changed, err = k.p.Train(context.Background(), k.as); err != nil || len(changed) != 0 {
			k.Errorf("training again changed %v: %v", changed, err)
		}
		if k.count("score_models", "status = 'active' AND entity_type = 'worker'") != 1 {
			k.Error("more than one active model")
		}
	})
}

// A night brings everything up to date, and a second one the same night
// changes nothing.
func TestNightly(t *testing.T) {
	each(t, func(k *kit) {
		p := fill(k)
		k.as = actor.Actor{Role: actor.Service, TenantID: north}
		for range 4 {
			k.incident("injury", "high", 4, p.dock)
		}
		k.shift(p.worker, 3, 8, store.Row{"zone_id": p.dock})
		course := k.add("courses", store.Row{"code": "LIFT", "title": "Lifting", "risk_threshold": "25"})
		k.add("training_assignments", store.Row{"course_id": course, "user_id": bo, "status": "completed",
			"completed_at": k.now.AddDate(-1, 0, 0),
			"expires_on":   "2026-03-19"})
		k.add("checklist_runs", store.Row{"title": "Dock", "zone_id": p.dock, "due_at": k.now.Add(-2 * time.Hour),
			"grace_minutes": 60},
			store.Row{"title": "Dock", "zone_id": p.dock, "due_at": k.now.Add(-2 * time.Hour), "grace_minutes": 180})
		night, err := k.p.Nightly(db.Patient(context.Background(), time.Millisecond),
			north) // it has more time than its caller
		if err != nil {
			k.Fatal(explain(err))
		}
		if night.Missed != 1 || night.Expired != 1 || len(night.Switched) != 0 {
			k.Errorf("night %+v", night)
		}
		if k.count("risk_clusters", "1 = 1") == 0 || k.count("training_assignments",
			"status = 'assigned' AND assignment_type = 'risk_based'") != 1 {
			k.Error("no clusters or no training")
		}
		if k.count("zone_scores", "period = '2026-03' AND period_end = '2026-03-31'") != 2 {
			k.Error("no zone scores")
		}
		if night, err = k.p.Nightly(context.Background(), north); err != nil || night.Missed != 0 || night.Expired != 0 {
			k.Errorf("second night %+v: %v", night, err)
		}
		if k.count("training_assignments", "status = 'assigned'") != 1 || k.count("zone_scores", "1 = 1") != 2 {
			k.Error("the second night added something")
		}
		if due, err := k.p.Due(context.Background()); err != nil || len(due) != 1 || due[0] != south {
			k.Errorf("due %v: %v, want the tenant that had no night", due, err)
		}
	})
}

// Neither what members ask for nor types that are not scored keep a night away
// or bring it back; one with a step that fails is tried again, not for ever.
func TestNightsAreDue(t *testing.T) {
	each(t, func(k *kit) {
		fill(k)
		broken := errors.New("nobody listens")
		var fail error
		p := programme.New(k.s, func() time.Time { return k.now },
			programme.Hooks{Due: func(*db.Tx, string, []programme.Deadline) error { return fail }})
		due := func(want bool) {
			k.Helper()
			if list, err := p.Due(context.Background()); err != nil || slices.Contains(list, north) != want {
				k.Errorf("at %s due %v: %v, want %v", k.now.Format(time.DateTime), list, explain(err), want)
			}
		}
		night := func(want error) {
			k.Helper()
			due(true)
			if _, err := p.Nightly(context.Background(), north); !errors.Is(err, want) {
				k.Errorf("%v, want %v", explain(err), want)
			}
			due(false)
		}
		k.call(scores, "") // a member's
		k.add("settings", store.Row{"section": "scoring", "key": "scores_off",
			"value": json.RawMessage(`["zone","driver","worker","equipment"]`)})
		night(nil)
		k.now = k.now.Add(24*time.Hour - time.Minute)
		k.call(scores, "")
		due(false)
		k.now = k.now.Add(time.Minute)
		fail = broken
		k.add("vehicles", store.Row{"plate": "B 1", "kind": "van", "inspection_due_on": k.now.Format(time.DateOnly)})
		for _, wait := range []time.Duration{10 * time.Minute, time.Hour, 4 * time.Hour, 24 * time.Hour} {
			night(broken)
			k.now = k.now.Add(wait - time.Second)
			due(false)
			k.now = k.now.Add(time.Second)
		}
		fail = nil
		night(nil)
		k.now = k.now.Add(24 * time.Hour)
		night(nil)
	})
}

// A night that is tried again does not do over what succeeded; the next one
// does all.
func TestNightIsTriedAgain(t *testing.T) {
	each(t, func(k *kit) {
		fill(k)
		fail := errors.New("nobody listens")
		p := programme.New(k.s, func() time.Time { return k.now },
			programme.Hooks{Due: func(*db.Tx, string, []programme.Deadline) error { return fail }})
		k.add("vehicles", store.Row{"plate": "B 1", "kind": "van", "inspection_due_on": k.now.Format(time.DateOnly)})
		runs, rounds := int64(0), int64(0)
		for _, c := range []struct {
			wait   time.Duration
			fail   error
			rounds int64
		}{{0, fail, 1}, {10 * time.Minute, fail, 1}, {time.Hour, fail, 1}, {4 * time.Hour, fail, 1},
			{24 * time.Hour, fail, 2}, {10 * time.Minute, nil, 2},
			{24 * time.Hour, nil, 3}} {
			k.now, fail = k.now.Add(c.wait), c.fail
			if _, err := p.Nightly(context.Background(), north); !errors.Is(err, c.fail) {
				k.Errorf("%v, want %v", explain(err), c.fail)
			}
			if runs == 0 {
				runs = k.count("score_runs", "1 = 1")
			}
			if rounds = k.count("score_runs", "1 = 1"); runs == 0 || rounds != c.rounds*runs {
				k.Errorf("after %s more there are %d runs of scores, want %d times %d", c.wait, rounds, c.rounds, runs)
			}
		}
	})
}

// Scores go when their time is over; the newest of a type stay, and those that
// training was assigned for.
func TestOldScoresGo(t *testing.T) {
	each(t, func(k *kit) {
		p := fill(k)
		today := k.now
		k.now = today.AddDate(0, 0, -500)
		for range 4 {
			k.incident("injury", "high", 4, p.dock, safety.Entity{Type: "worker", ID: p.worker})
		}
		k.call(scores, "")
		k.add("courses", store.Row{"code": "LIFT", "title": "Lifting", "risk_threshold": "25",
			"entity_types": []string{"worker"}})
		k.call(training, "").is("assignments_created", "1")
		k.now = today.AddDate(0, 0, -100)
		k.call(scores, "")
		k.call(scores, `{"entity_type":"zone"}`)
		purge := func(want int) {
			k.Helper()
			if n, err := k.p.PurgeScores(context.Background(), north); err != nil || n != want {
				k.Errorf("%d scores went, want %d: %v", n, want, explain(err))
			}
		}
		k.now = today
		purge(5) // of six, one is why training was assigned
		if k.count("predictive_scores", "1 = 1") != 1+6+2 || k.count("score_runs", "1 = 1") != 1+4+1 {
			k.Errorf("%d scores in %d runs are left", k.count("predictive_scores", "1 = 1"), k.count("score_runs", "1 = 1"))
		}
		k.add("settings", store.Row{"section": "scoring", "key": "score_retention_days",
			"value": json.RawMessage("0")}) // counts as 31
		purge(2) // the zones' run before their newest
		purge(0)
		k.call(clusters, "").is("entities_assigned", "6")
	})
}

// A score is points against the month's target, at most 100.
func TestUserScore(t *testing.T) {
	for _, c := range []struct {
		points, target int64
		want           float64
	}{{0, 100, 0}, {40, 100, 40}, {100, 100, 100}, {101, 100, 100}, {37, 120, 30.8}, {1, 8, 12.5}, {5, 10_000, 0.1},
		{4, 10_000, 0}, {40, 0, 0}} {
		if got := programme.UserScore(c.points, c.target); got != c.want {
			t.Errorf("%d of %d = %v, want %v", c.points, c.target, got, c.want)
		}
	}
}

// A team's score is drawn to the tenant's mean as if three more people of that
// mean were in it: one eager person makes no team of the month.
func TestTeamScore(t *testing.T) {
	for _, c := range []struct {
		name string
		sum  float64
		n    int
		mean float64
		want float64
	}{
		{"nobody: the mean", 0, 0, 40, 40},
		{"one at 100: (100 + 3 x 20) / 4", 100, 1, 20, 40},
		{"two: (180 + 3 x 40) / 5", 180, 2, 40, 60},
		{"thirty hardly feel it: (2700 + 3 x 40) / 33", 2700, 30, 40, 85.5},
	} {
		if got := programme.TeamScore(c.sum, c.n, c.mean); got != c.want {
			t.Errorf("%s = %v, want %v", c.name, got, c.want)
		}
	}
}

// Half risk, three tenths inspections in time, two tenths actions in time.
func TestZoneScore(t *testing.T) {
	risk := func(x float64) *float64 { return &x }
	for _, c := range []struct {
		name                string
		risk                *float64
		checklists, actions float64
		want                float64
	}{
		{"no risk, all in time", risk(0), 100, 100, 100},
		{"35 + 27 + 10", risk(30), 90, 50, 72},
		{"the worst", risk(100), 0, 0, 0},
		{"risk alone counts half", risk(100), 100, 100, 50},
		{"no predictive score: (27 + 10) / 0.5", nil, 90, 50, 74},
	} {
		if got := programme.ZoneScore(c.risk, c.checklists, c.actions); got != c.want {
			t.Errorf("%s = %v, want %v", c.name, got, c.want)
		}
	}
}

// A period is a calendar month of the tenant's own time zone.
func TestPeriodOf(t *testing.T) {
	berlin := localtime.Zone("Europe/Berlin")
	p := programme.PeriodOf(time.Date(2026, 3, 31, 22, 30, 0, 0, time.UTC), berlin)
	if p.Name != "2026-04" || p.Start != "2026-04-01" || p.End != "2026-04-30" ||
		!p.From.Equal(time.Date(2026, 3, 31, 22, 0, 0, 0, time.UTC)) {
		t.Errorf("after midnight in Berlin it is April: %+v", p)
	}
}
