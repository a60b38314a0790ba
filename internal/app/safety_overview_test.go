package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/demo"
	"holdfast/internal/localtime"
	"holdfast/internal/testkit"
)

// safetyPeriod is a month of safety-overview.
type safetyPeriod struct {
	From       string         `json:"from_at"`
	Until      string         `json:"until_at"`
	Partial    bool           `json:"partial"`
	Reports    int            `json:"reports"`
	Kinds      map[string]int `json:"by_category"`
	Severities map[string]int `json:"by_severity"`
	NearMisses *float64       `json:"near_misses_per_injury"`

	ActionsDue      int      `json:"actions_due"`
	ActionShare     *float64 `json:"actions_in_time_share"`
	InspectionsDue  int      `json:"inspections_due"`
	InspectionShare *float64 `json:"inspections_in_time_share"`
	Work            *struct {
		Hours *float64                                    `json:"hours_worked"`
		Cases int                                         `json:"recordable_cases"`
		TRIR  struct{ Value, Low, High *float64 }         `json:"trir"`
		DART  struct{ Value, Low, High *float64 }         `json:"dart"`
		LTIFR struct{ Value, Low, High *json.RawMessage } `json:"ltifr"`
	} `json:"work"`
}

// safetyOverview is the answer of safety-overview.
type safetyOverview struct {
	Zone     string `json:"timezone"`
	Withheld bool   `json:"work_withheld"`
	Months   []safetyPeriod
	Window   safetyPeriod
	Recent   []map[string]any `json:"recent_incidents"`
	Waiting  struct {
		MyOverdue      int                             `json:"my_overdue_actions"`
		Mine           []map[string]any                `json:"my_actions"`
		Investigations int                             `json:"investigations_due"`
		Certificates   int                             `json:"certificates_ending"`
		Clocks         *struct{ Running, Overdue int } `json:"legal_clocks"`
	}
	Riskiest []struct {
		Kind  string  `json:"entity_type"`
		Score float64 `json:"score"`
	}
}

// overviewKit writes a story about one establishment into the months before now.
type overviewKit struct {
	*testing.T
	k          *testkit.Kit
	site, zone string
	place      *time.Location
	months     [4]time.Time // their first moments, [3] that of the current one
}

func givenOverview(t *testing.T, k *testkit.Kit) *overviewKit {
	o := &overviewKit{T: t, k: k, place: localtime.Zone("Europe/Berlin")}
	admin := testkit.As(actor.Admin)
	o.site = k.Insert(t, admin, "sites", map[string]any{"code": "TREND", "name": "Trend", "timezone": "Europe/Berlin"})
	o.zone = k.Insert(t, admin, "zones", map[string]any{"code": "TREND-1", "name": "Hall", "site_id": o.site})
	current, _ := localtime.Month(time.Now(), o.place)
	for i := range o.months {
		o.months[i] = current.AddMonths(i - 3).Start(o.place)
	}
	return o
}

// read asks anew: the answers of others are kept for a minute.
func (o *overviewKit) read(as, query string) (out safetyOverview) {
	o.Helper()
	r := o.k.Call(testkit.Request{Method: "GET", Path: "/functions/v1/safety-overview?months=4" + query, As: as,
		Header: map[string]string{"Cache-Control": "no-cache"}})
	if r.Status != http.StatusOK {
		o.Fatalf("the overview of %s: %d %s", as, r.Status, r.Body)
	}
	r.JSON(o.T, &out)
	return out
}

// report records an incident that is reported at a moment.
func (o *overviewKit) report(kind, severity string, at time.Time, more map[string]any) string {
	o.Helper()
	text := at.UTC().Format(time.RFC3339Nano)
	row := map[string]any{"kind": kind, "severity": severity, "title": kind, "occurred_at": text, "reported_at": text}
	for name, v := range more {
		row[name] = v
	}
	return o.k.Insert(o.T, testkit.As(actor.Safety), "incidents", row)
}

// tellStory records, with [1] the month two months before the current one and [2] the one
// before it: nothing in [1]; in [2] a near miss half an hour after the month began in
// Berlin, when it had not in UTC, an injury in its last half hour that names only a zone,
// a void report, an action and an inspection that are late, and eight hours of one person.
func (o *overviewKit) tellStory() {
	o.Helper()
	safety, manager := testkit.As(actor.Safety), testkit.As(actor.Manager)
	here := map[string]any{"site_id": o.site}
	o.report("hazard", "medium", o.months[0].Add(72*time.Hour), here)
	o.report("near_miss", "low", o.months[2].Add(30*time.Minute), here)
	injury := o.report("injury", "high", o.months[3].Add(-30*time.Minute), map[string]any{"zone_id": o.zone})
	void := o.report("injury", "critical", o.months[2].Add(48*time.Hour), here)
	r := o.k.Call(testkit.Request{Method: "PATCH", Path: "/v1/incidents?id=eq." + void, As: safety,
		Body: map[string]any{"status": "void", "void_reason": "Seen twice"}})
	if r.Status >= 300 {
		o.Fatalf("void: %d %s", r.Status, r.Body)
	}
	o.report("near_miss", "low", o.months[2].Add(24*time.Hour), nil) // of no establishment
	day := o.months[2].Add(10 * 24 * time.Hour)
	o.k.Insert(o.T, safety, "actions", map[string]any{"title": "Rail", "incident_id": injury,
		"due_at": day.UTC().Format(time.RFC3339)})
	o.k.Insert(o.T, safety, "checklist_runs", map[string]any{"title": "Racks", "zone_id": o.zone,
		"due_at": day.UTC().Format(time.RFC3339)})
	o.k.Insert(o.T, safety, "osha_cases", map[string]any{"incident_id": injury, "recordable": "yes",
		"basis": "days_away", "outcome": "days_away", "days_away": 5, "job_title": "Picker",
		"employee_name": "Ada", "where_occurred": "Hall", "description": "A fall"})
	worker := o.k.Insert(o.T, manager, "workers", map[string]any{"employee_no": "TREND-1", "name": "Ada",
		"site_id": o.site})
	o.k.Insert(o.T, manager, "shifts", map[string]any{"worker_id": worker, "status": "approved",
		"started_at": day.UTC().Format(time.RFC3339), "ended_at": day.UTC().Add(8 * time.Hour).Format(time.RFC3339)})
}

// The months of an establishment by hand: a case over eight hours is 1 x 200,000 / 8 =
// 25,000 (LTIFR 1 x 1,000,000 / 8 = 125,000); a month of which nothing is on record has
// counts of 0 and no rates.
func TestSafetyOverviewMonths(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		o := givenOverview(t, k)
		safety := testkit.As(actor.Safety)
		before := o.read(safety, "")
		empty := o.read(safety, "&site_id="+o.site)
		o.tellStory()
		got := o.read(safety, "&site_id="+o.site)

		if len(got.Months) != 4 || got.Zone != "Europe/Berlin" || got.Withheld {
			t.Fatalf("%d months of %s, withheld %v", len(got.Months), got.Zone, got.Withheld)
		}
		for i, m := range got.Months {
			wantFrom := o.months[i].UTC().Format("2006-01-02T15:04:05.000000Z")
			if m.From != wantFrom || m.Partial != (i == 3) {
				t.Errorf("month %d begins %s, partial %v, want %s", i, m.From, m.Partial, wantFrom)
			}
		}
		const (
			nothing = " ratio null actions 0 null inspections 0 null hours null cases 0 rates null null null"
			story   = " ratio 1 actions 1 0 inspections 1 0 hours 8 cases 1 rates 25000 25000 125000"
		)
		for i, want := range []string{
			"1 reports [0 0 1] [0 1 0 0]" + nothing,
			"0 reports [0 0 0] [0 0 0 0]" + nothing,
			"2 reports [1 1 0] [1 0 1 0]" + story,
			"0 reports [0 0 0] [0 0 0 0]" + nothing,
		} {
			if line := got.Months[i].String(); line != want {
				t.Errorf("month %d: %s\nwant    %s", i, line, want)
			}
		}
		if line, all := got.Window.String(), "3 reports [1 1 1] [1 1 1 0]"+story; line != all {
			t.Errorf("all months: %s\nwant        %s", line, all)
		}
		if empty.Window.Reports != 0 || empty.Window.Work.TRIR.Value != nil || empty.Window.NearMisses != nil {
			t.Errorf("an establishment without records: %s", empty.Window)
		}
		if len(got.Recent) != 3 || got.Recent[0]["title"] != "injury" {
			t.Errorf("the last reports: %v", got.Recent)
		}

		// The whole tenant's are counted as reports come, and are the same.
		after := o.read(safety, "")
		for i, want := range []int{1, 0, 3, 0} {
			if more := after.Months[i].Reports - before.Months[i].Reports; more != want {
				t.Errorf("month %d of the tenant grew by %d reports, want %d", i, more, want)
			}
		}
		if after.Months[2].InspectionsDue-before.Months[2].InspectionsDue != 1 {
			t.Errorf("inspections due: %d after %d", after.Months[2].InspectionsDue, before.Months[2].InspectionsDue)
		}
		if after.Waiting.Certificates < 0 || after.Waiting.Clocks == nil {
			t.Errorf("what waits: %+v", after.Waiting)
		}
		for _, r := range after.Riskiest {
			if r.Kind != "zone" && r.Kind != "equipment" || r.Score <= 0 {
				t.Errorf("the riskiest: %+v", r)
			}
		}
	})
}

func (m safetyPeriod) String() string {
	value := func(v any) string { b, _ := json.Marshal(v); return string(b) }
	work := "withheld"
	if m.Work != nil {
		work = fmt.Sprintf("hours %s cases %d rates %s %s %s", value(m.Work.Hours), m.Work.Cases,
			value(m.Work.TRIR.Value), value(m.Work.DART.Value), value(m.Work.LTIFR.Value))
	}
	return fmt.Sprintf("%d reports [%d %d %d] [%d %d %d %d] ratio %s actions %d %s inspections %d %s %s", m.Reports,
		m.Kinds["injury"], m.Kinds["near_miss"], m.Kinds["hazard"],
		m.Severities["low"], m.Severities["medium"], m.Severities["high"], m.Severities["critical"],
		value(m.NearMisses), m.ActionsDue, value(m.ActionShare), m.InspectionsDue, value(m.InspectionShare), work)
}

// Leaders and viewers have the overview. Hours and cases by month are for leaders; of one
// establishment, and where few people worked in a month, for those who read single cases.
// The name of a reporter is shown to none but leaders.
func TestSafetyOverviewByRole(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		o := givenOverview(t, k)
		o.tellStory()
		setLeast(t, k, 2)
		for role, want := range map[actor.Role]struct {
			open, ofSite, ofAll, names bool
		}{
			actor.Owner: {true, true, true, true}, actor.Admin: {true, true, true, true},
			actor.Safety: {true, true, true, true}, actor.Manager: {true, false, true, true},
			actor.Viewer: {true, false, false, false}, actor.Operator: {}, actor.Driver: {},
		} {
			as := testkit.As(role)
			if !want.open {
				if r := k.Get(as, "/functions/v1/safety-overview"); r.Status != http.StatusForbidden {
					t.Errorf("%s: %d %s", role, r.Status, r.Body)
				}
				continue
			}
			ofSite, ofAll := o.read(as, "&site_id="+o.site), o.read(as, "")
			if ofSite.Withheld == want.ofSite || (ofSite.Months[2].Work != nil) != want.ofSite {
				t.Errorf("%s: hours and cases of a site: %s", role, ofSite.Months[2])
			}
			if ofAll.Withheld == want.ofAll || (ofAll.Window.Work != nil) != want.ofAll {
				t.Errorf("%s: hours and cases of the tenant: %s", role, ofAll.Window)
			}
			if ofSite.Months[2].Reports != 2 || len(ofSite.Recent) != 3 {
				t.Errorf("%s: %d reports, %d shown", role, ofSite.Months[2].Reports, len(ofSite.Recent))
			}
			if _, shown := ofSite.Recent[0]["reported_by"]; shown != want.names {
				t.Errorf("%s sees who reported: %v", role, shown)
			}
			if (ofAll.Waiting.Clocks != nil) != (role != actor.Viewer) {
				t.Errorf("%s: clocks %v", role, ofAll.Waiting.Clocks)
			}
		}
		setLeast(t, k, 10000)
		if few := o.read(testkit.As(actor.Manager), ""); !few.Withheld || few.Window.Work != nil {
			t.Errorf("few people worked, and the manager is told: %s", few.Window)
		}
		if few := o.read(testkit.As(actor.Safety), ""); few.Withheld {
			t.Error("who reads the cases may count them")
		}
	})
}

// Overdue actions are the caller's own.
func TestSafetyOverviewWaitsForTheCaller(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		o := givenOverview(t, k)
		safety := testkit.As(actor.Safety)
		var me struct {
			User string `json:"user_id"`
		}
		k.Get(safety, "/v1/permissions").JSON(t, &me)
		before, others := o.read(safety, ""), o.read(testkit.As(actor.Manager), "")
		hour := time.Now().UTC().Add(-time.Hour).Format(time.RFC3339)
		mine := map[string]any{"title": "Mine", "due_at": hour, "assignee_user_id": me.User}
		k.Insert(t, safety, "actions", mine)
		k.Insert(t, safety, "actions", map[string]any{"title": "Nobody's", "due_at": hour})
		after := o.read(safety, "")
		if after.Waiting.MyOverdue != before.Waiting.MyOverdue+1 || len(after.Waiting.Mine) > 5 {
			t.Errorf("overdue: %d after %d", after.Waiting.MyOverdue, before.Waiting.MyOverdue)
		}
		if again := o.read(testkit.As(actor.Manager), ""); again.Waiting.MyOverdue != others.Waiting.MyOverdue {
			t.Errorf("the manager's: %d after %d", again.Waiting.MyOverdue, others.Waiting.MyOverdue)
		}
		injury := o.report("injury", "high", time.Now().Add(-50*time.Hour), nil)
		r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/incidents?id=eq." + injury, As: safety,
			Body: map[string]any{"due_on": localtime.DateOf(time.Now(), o.place).String(), "lead_user_id": me.User}})
		if r.Status >= 300 {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		if due := o.read(safety, "").Waiting.Investigations; due != before.Waiting.Investigations+1 {
			t.Errorf("investigations due: %d after %d", due, before.Waiting.Investigations)
		}
	})
}

func TestSafetyOverviewRefusals(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		for query, want := range map[string]int{
			"months=0": 400, "months=25": 400, "months=x": 400, "site_id=x": 400,
			"site_id=" + k.Foreign(t, "sites"): 404, "site_id=" + demo.South: 404, "months=24": 200,
		} {
			r := k.Get(testkit.As(actor.Safety), "/functions/v1/safety-overview?"+query)
			if r.Status != want {
				t.Errorf("%s: %d %s, want %d", query, r.Status, r.Body, want)
			}
		}
	})
}
