package safety_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/safety"
	"holdfast/internal/store"
)

// badges are the codes of those that a person has.
func (k *kit) badges(user string) string {
	k.Helper()
	var codes []string
	err := k.d.Write(context.Background(), db.Scope{Tenant: north}, func(tx *db.Tx) error {
		if err := safety.AwardBadges(k.s.In(tx, k.as), []string{user}); err != nil {
			return err
		}
		codes = nil
		return tx.Query("SELECT b.code FROM user_badges u JOIN badges b ON b.tenant_id = u.tenant_id AND b.id = u.badge_id WHERE u.tenant_id = $1 AND "+
			"u.user_id = $2 ORDER BY b.code",
			[]any{north, user}, func(r *db.Row) error { codes = append(codes, r.Text(0)); return nil })
	})
	if err != nil {
		k.Fatal(err)
	}
	return strings.Join(codes, " ")
}

// earn gives a person n point events of a kind.
func (k *kit) earn(user, kind, source string, n int) {
	k.Helper()
	for range n {
		k.add("point_events", store.Row{"user_id": user, "kind": kind, "points": 1, "source_type": source,
			"source_id": uuid.NewString(), "occurred_at": noon})
	}
}

// Each of the five badges: one step short of it, and there. A badge rewards a
// habit, never the absence of reports (29 CFR 1904.35(b)(1)(iv)).
func TestBadges(t *testing.T) {
	each(t, func(k *kit) {
		err := k.d.Write(context.Background(), db.Scope{Tenant: north}, func(tx *db.Tx) error {
			return safety.SeedRegulations(k.s.In(tx, actor.Actor{TenantID: north}))
		})
		if err != nil {
			t.Fatal(err)
		}
		week := func(user string, ago int, done bool) {
			due := k.now.AddDate(0, 0, -7*ago-2)
			now := k.now
			k.now = due
			run := k.add("checklist_runs", store.Row{"title": "Racks", "due_at": due, "assignee_user_id": user})
			k.set("checklist_runs", run, store.Row{"status": map[bool]string{true: "completed", false: "missed"}[done]})
			k.now = now
		}
		weeks := func(n int) func(string) {
			return func(user string) {
				for ago := range n {
					week(user, ago, true)
				}
			}
		}
		course := k.add("courses", store.Row{"code": "LIFT", "title": "Lifting"})
		trained := func(statuses ...string) func(string) {
			return func(user string) {
				for _, st := range statuses {
					c := course
					if st != "completed" {
						c = k.add("courses", store.Row{"code": uuid.NewString(), "title": "Other"})
					}
					id := k.add("training_assignments", store.Row{"course_id": c, "user_id": user, "assignment_type": "manual",
						"assignment_reason": "x"})
					if st == "completed" {
						k.set("training_assignments", id, store.Row{"status": "in_progress"})
						k.set("training_assignments", id, store.Row{"status": "completed"})
					}
				}
			}
		}
		for i, c := range []struct {
			name string
			do   func(user string)
			want string
		}{
			{"nothing yet", func(string) {}, ""},
			{"a first report accepted", func(u string) { k.earn(u, "hazard", "incidents", 1) }, "first_report"},
			{"an injury reported is a report", func(u string) { k.earn(u, "injury_report", "incidents", 1) }, "first_report"},
			{"four near misses", func(u string) { k.earn(u, "near_miss", "incidents", 4) }, "first_report"},
			{"five near misses", func(u string) { k.earn(u, "near_miss", "incidents", 5) }, "first_report near_miss_5"},
			{"five hazards are no near misses", func(u string) { k.earn(u, "hazard", "incidents", 5) }, "first_report"},
			{"three weeks of inspections", weeks(3), ""},
			{"four weeks of inspections", weeks(4), "checklists_4w"},
			{"four weeks, one inspection missed", func(u string) { weeks(4)(u); week(u, 1, false) }, ""},
			{"all training valid", trained("completed"), "training_valid"},
			{"a course renewed", func(u string) {
				k.add("training_assignments",
					store.Row{"course_id": course, "user_id": u, "status": "completed", "completed_at": "2025-01-01T12:00:00Z",
						"expires_on": "2026-01-01"})
				k.set("training_assignments", k.only("training_assignments", "user_id = $2", u), store.Row{"status": "expired"})
				trained("completed")(u)
			}, "training_valid"},
			{"one renewed, another run out", func(u string) {
				k.add("training_assignments",
					store.Row{"course_id": k.add("courses", store.Row{"code": "GAS", "title": "Gas"}), "user_id": u,
						"status":       "completed",
						"completed_at": "2025-01-01T12:00:00Z", "expires_on": "2026-01-01"})
				k.set("training_assignments", k.only("training_assignments", "user_id = $2", u), store.Row{"status": "expired"})
				trained("completed")(u)
			}, ""},
			{"one course still open", trained("assigned", "completed"), ""},
			{"nine actions verified", func(u string) { k.earn(u, "action_verified", "actions", 9) }, ""},
			{"ten actions verified", func(u string) { k.earn(u, "action_verified", "actions", 10) }, "mentor"},
		} {
			user := fmt.Sprintf("0190b000-0000-7000-8000-0000000001%02d", i)
			c.do(user)
			if got := k.badges(user); got != c.want {
				t.Errorf("%s: %q, want %q", c.name, got, c.want)
			}
			if got := k.badges(user); got != c.want {
				t.Errorf("%s: a second look gives %q", c.name, got)
			}
		}
	})
}

// The weeks of a streak are those of the tenant: an inspection at the turn of a day is of
// the fourth week in one place and of the third in another.
func TestStreaksGoByTheDaysOfTheTenant(t *testing.T) {
	const user = "0190b000-0000-7000-8000-000000000150"
	for _, c := range []struct {
		zone, oldest, want string
	}{
		{"UTC", "2026-02-27T23:59:59Z", "checklists_4w"}, // 21 days before
		{"UTC", "2026-02-28T00:00:00Z", ""},
		{"Asia/Tokyo", "2026-02-27T14:59:59Z", "checklists_4w"},
		{"Asia/Tokyo", "2026-02-27T15:00:00Z", ""},                   // the 28th there
		{"Atlantic/Azores", "2026-02-28T00:59:59Z", "checklists_4w"}, // the 27th there
		{"Atlantic/Azores", "2026-02-28T01:00:00Z", ""},
	} {
		each(t, func(k *kit) {
			err := k.d.Write(context.Background(), db.Scope{Tenant: north}, func(tx *db.Tx) error {
				return safety.SeedRegulations(k.s.In(tx, actor.Actor{TenantID: north}))
			})
			if err != nil {
				t.Fatal(err)
			}
			k.set("tenants", north, store.Row{"timezone": c.zone})
			for _, due := range []string{"2026-03-19T12:00:00Z", "2026-03-12T12:00:00Z", "2026-03-05T12:00:00Z", c.oldest} {
				at, err := time.Parse(time.RFC3339, due)
				if err != nil {
					t.Fatal(err)
				}
				k.now = at
				run := k.add("checklist_runs", store.Row{"title": "Racks", "due_at": at, "assignee_user_id": user})
				k.set("checklist_runs", run, store.Row{"status": "completed"})
			}
			k.now = time.Date(2026, 3, 20, 12, 0, 0, 0, time.UTC)
			if got := k.badges(user); got != c.want {
				t.Errorf("%s, inspected at %s: %q, want %q", c.zone, c.oldest, got, c.want)
			}
		})
	}
}

// Reports of one person that are accepted at once: none is refused, each badge
// is given once, and the day's cap holds.
func TestPointsAtOnce(t *testing.T) {
	each(t, func(k *kit) {
		err := k.d.Write(context.Background(), db.Scope{Tenant: north}, func(tx *db.Tx) error {
			return safety.SeedRegulations(k.s.In(tx, actor.Actor{TenantID: north}))
		})
		if err != nil {
			t.Fatal(err)
		}
		for round := range 4 {
			user := fmt.Sprintf("0190b000-0000-7000-8000-0000000002%02d", round)
			k.add("members", store.Row{"user_id": user, "email": fmt.Sprintf("r%d@x.example", round), "role": "operator"})
			left := fmt.Sprintf("0190b000-0000-7000-8000-0000000003%02d", round) // is no member any more
			var wg sync.WaitGroup
			for i := range 12 {
				who := user
				if i%2 == 1 {
					who = left
				}
				in := k.add("incidents", store.Row{"kind": "near_miss", "title": "x", "occurred_at": "2026-03-01T11:00:00Z",
					"reported_by": who})
				wg.Add(1)
				go func() {
					defer wg.Done()
					if err := k.change("incidents", in, store.Row{"status": "triaged"}); err != nil {
						t.Errorf("round %d: %v", round, err)
					}
				}()
			}
			wg.Wait()
			if n := len(k.all("point_events", "user_id = $2", user)); n != 4 {
				t.Errorf("%d reports of 10 points on one day, the cap is 40", n)
			}
			for _, who := range []string{user, left} {
				if got := k.badges(who); !strings.HasPrefix(got, "first_report") {
					t.Errorf("badges %q", got)
				}
			}
		}
	})
}

// The cap is of a local day: midnight in Sao Paulo is 03:00 UTC. Reports that
// turn out to be void make room again.
func TestDailyCap(t *testing.T) {
	each(t, func(k *kit) {
		k.as.UserID = ada
		report := func() string {
			in := k.add("incidents", store.Row{"kind": "near_miss", "title": "x", "occurred_at": "2026-03-01T11:00:00Z",
				"reported_by": ada})
			k.set("incidents", in, store.Row{"status": "triaged"})
			return in
		}
		points := func() (n int) { return len(k.all("point_events", "reversed_at IS NULL")) }
		k.now = time.Date(2026, 3, 3, 2, 59, 59, 0, time.UTC)
		first := report()
		for range 5 {
			report()
		}
		if points() != 4 {
			t.Errorf("%d reports of 10 points on one day, the cap is 40", points())
		}
		k.set("incidents", first, store.Row{"status": "void", "void_reason": "twice"})
		if report(); points() != 4 {
			t.Errorf("%d reports count after one was void, want 4", points())
		}
		k.now = k.now.Add(time.Second)
		if report(); points() != 5 {
			t.Errorf("%d after local midnight, want 5", points())
		}
	})
}
