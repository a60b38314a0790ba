package app_test

import (
	"context"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/config"
	"holdfast/internal/db"
	"holdfast/internal/demo"
	"holdfast/internal/functions/programme"
	"holdfast/internal/safety/clocks"
	"holdfast/internal/store"
	"holdfast/internal/testkit"
)

// clockRow is a clock as the collection shows it.
type clockRow struct {
	ID      string
	Code    string
	Starts  string `json:"starts_at"`
	Due     string `json:"due_at"`
	Met     string `json:"met_at"`
	MetBy   string `json:"met_by"`
	Proof   string `json:"proof_ref"`
	State   string
	Reason  string
	Lapsed  bool
	Skipped []string `json:"skipped_days"`
	Version int
}

// clockKit records accidents at a site and reads their clocks.
type clockKit struct {
	*testing.T
	k    *testkit.Kit
	site string
}

func givenSite(t *testing.T, k *testkit.Kit, code, country, zone string) *clockKit {
	t.Helper()
	return &clockKit{t, k, k.Insert(t, testkit.As(actor.Admin), "sites",
		map[string]any{"code": code, "name": code, "country": country, "timezone": zone})}
}

func (c *clockKit) addInjury(occurred time.Time, more map[string]any) string {
	c.Helper()
	row := map[string]any{"kind": "injury", "title": "Fall", "site_id": c.site, "occurred_at": stamp(occurred)}
	maps.Copy(row, more)
	return c.k.Insert(c.T, testkit.As(actor.Safety), "incidents", row)
}

func (c *clockKit) clocksOf(incident string) map[string]clockRow {
	c.Helper()
	var list []clockRow
	c.k.Get(testkit.As(actor.Safety), "/v1/legal_clocks?order=code&incident_id=eq."+incident).JSON(c.T, &list)
	out := map[string]clockRow{}
	for _, row := range list {
		out[row.Code] = row
	}
	return out
}

// wantStates holds the clocks of an incident to "CODE state" in the order of codes.
func (c *clockKit) wantStates(when, incident, want string) map[string]clockRow {
	c.Helper()
	var list []clockRow
	c.k.Get(testkit.As(actor.Safety), "/v1/legal_clocks?order=code&incident_id=eq."+incident).JSON(c.T, &list)
	var got []string
	out := map[string]clockRow{}
	for _, row := range list {
		got = append(got, row.Code+" "+row.State)
		out[row.Code] = row
	}
	if s := strings.Join(got, ", "); s != want {
		c.Errorf("%s: clocks are %q, want %q", when, s, want)
	}
	return out
}

func (c *clockKit) patchRow(as actor.Role, path string, set map[string]any) testkit.Response {
	c.Helper()
	return c.k.Call(testkit.Request{Method: "PATCH", Path: path, As: testkit.As(as), Body: set})
}

func (c *clockKit) mustPatch(as actor.Role, path string, set map[string]any) {
	c.Helper()
	if r := c.patchRow(as, path, set); r.Status != http.StatusNoContent {
		c.Fatalf("PATCH %s %v: %d %s", path, set, r.Status, r.Body)
	}
}

// wantRefused holds a change to one 4xx that names the field, and to nothing written.
func (c *clockKit) wantRefused(as actor.Role, row clockRow, set map[string]any, status int, field string) {
	c.Helper()
	r := c.patchRow(as, "/v1/legal_clocks?id=eq."+row.ID, set)
	if r.Status != status || !strings.Contains(string(r.Body), field) {
		c.Errorf("%s says %v: %d %s, want %d and %s", as, set, r.Status, r.Body, status, field)
	}
	var now []clockRow
	c.k.Get(testkit.As(actor.Safety), "/v1/legal_clocks?id=eq."+row.ID).JSON(c.T, &now)
	if len(now) != 1 || now[0].Version != row.Version {
		c.Errorf("%s says %v, which is refused, and the clock changed: %+v", as, set, now)
	}
}

func stamp(at time.Time) string { return at.UTC().Format(time.RFC3339) }

func momentOf(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	testkit.Must(t, err)
	return at
}

// An accident at a French site starts the declaration's clock with the report, from when
// the employer learned of it; a person says that it is met, and the reservations begin.
func TestClocksOfFrance(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		c := givenSite(t, k, "LILLE", "FR", "Europe/Paris")
		occurred := time.Now().Add(-30 * 24 * time.Hour).Truncate(time.Second)
		known := occurred.Add(2 * time.Hour)
		id := c.addInjury(occurred, map[string]any{"reported_at": stamp(known.Add(time.Hour)),
			"known_at": stamp(known)})
		clock := c.wantStates("after the report", id, "FR-DAT running")["FR-DAT"]
		if !momentOf(t, clock.Starts).Equal(known) {
			t.Errorf("the clock starts at %s, the employer knew at %s", clock.Starts, known)
		}
		due := momentOf(t, clock.Due)
		if want := known.Add(time.Duration(48+24*len(clock.Skipped)) * time.Hour); len(clock.Skipped) == 0 &&
			!due.Equal(want) {
			t.Errorf("due %s, want %s with %v", due, want, clock.Skipped)
		}
		for _, role := range [...]actor.Role{actor.Manager, actor.Viewer} { // a code says how somebody was hurt
			for _, path := range [...]string{"/v1/legal_clocks", "/v1/incidents?select=id,legal_clocks(code)"} {
				if r := k.Get(testkit.As(role), path); r.Status < 400 || strings.Contains(string(r.Body), "FR-DAT") {
					t.Errorf("a %s reads %s: %d %s", role, path, r.Status, r.Body)
				}
			}
		}

		path := "/v1/legal_clocks?id=eq." + clock.ID
		sent := stamp(known.Add(5 * time.Hour))
		c.wantRefused(actor.Manager, clock, map[string]any{"met_at": sent}, http.StatusForbidden, "")
		c.wantRefused(actor.Safety, clock, map[string]any{"code": "FR-RES"}, http.StatusBadRequest, "code")
		c.wantRefused(actor.Safety, clock, map[string]any{"due_at": sent}, http.StatusBadRequest, "due_at")
		c.wantRefused(actor.Safety, clock, map[string]any{"lapsed": true}, http.StatusBadRequest, "lapsed")
		c.wantRefused(actor.Safety, clock, map[string]any{"state": "met"}, http.StatusBadRequest, "met_at")
		c.wantRefused(actor.Safety, clock, map[string]any{"state": "not_required"}, http.StatusBadRequest, "reason")
		c.wantRefused(actor.Safety, clock, map[string]any{"proof_ref": "R 1"}, http.StatusBadRequest, "proof_ref")
		c.wantRefused(actor.Safety, clock, map[string]any{"reason": "no"}, http.StatusBadRequest, "reason")
		c.wantRefused(actor.Safety, clock, map[string]any{"met_at": stamp(occurred.Add(-time.Minute))},
			http.StatusBadRequest, "met_at")
		c.wantRefused(actor.Safety, clock, map[string]any{"state": "not_required", "reason": "  "}, http.StatusBadRequest,
			"reason")
		c.wantRefused(actor.Safety, clock, map[string]any{"met_at": sent, "reason": "no"}, http.StatusBadRequest, "reason")
		c.wantRefused(actor.Safety, clock, map[string]any{"met_at": sent, "state": "not_required", "reason": "no"},
			http.StatusConflict, "state")
		c.wantRefused(actor.Safety, clock, map[string]any{"met_at": time.Now().Add(time.Hour).UTC().Format(time.RFC3339)},
			http.StatusBadRequest, "met_at")
		if r := k.Call(testkit.Request{Method: "DELETE", Path: path, As: testkit.As(actor.Owner)}); r.Status < 400 {
			t.Errorf("a clock was deleted: %d", r.Status)
		}

		c.mustPatch(actor.Safety, path, map[string]any{"met_at": sent, "proof_ref": "AR 2C 118"})
		both := c.wantStates("after the declaration", id, "FR-DAT met, FR-RES not_required")
		if both["FR-DAT"].MetBy == "" || both["FR-DAT"].Proof != "AR 2C 118" || !both["FR-RES"].Lapsed {
			t.Errorf("the declaration is %+v", both)
		}
		c.wantRefused(actor.Safety, both["FR-DAT"], map[string]any{"met_at": nil, "state": "not_required", "reason": "no"},
			http.StatusConflict, "state")
		c.wantRefused(actor.Safety, both["FR-DAT"], map[string]any{"met_at": nil, "proof_ref": "R 2"},
			http.StatusBadRequest, "proof_ref")
		c.mustPatch(actor.Safety, path, map[string]any{"met_at": stamp(occurred.Truncate(time.Minute))})
		c.wantStates("in the minute of the accident", id, "FR-DAT met, FR-RES not_required")
		c.mustPatch(actor.Safety, path, map[string]any{"met_at": stamp(due.Add(time.Second))})
		c.wantStates("a second late", id, "FR-DAT late, FR-RES not_required")
		c.mustPatch(actor.Safety, path, map[string]any{"met_at": stamp(due)})
		c.wantStates("at the last moment", id, "FR-DAT met, FR-RES not_required")

		c.mustPatch(actor.Admin, path, map[string]any{"met_at": nil})
		c.mustPatch(actor.Admin, path, map[string]any{"state": "not_required", "reason": "No employee of ours"})
		c.wantStates("somebody else's", id, "FR-DAT not_required, FR-RES not_required")
		c.mustPatch(actor.Safety, "/v1/incidents?id=eq."+id, map[string]any{"known_at": stamp(occurred)})
		if got := c.wantStates("known sooner", id, "FR-DAT not_required, FR-RES not_required")["FR-DAT"]; got.Reason !=
			"No employee of ours" || !momentOf(t, got.Starts).Equal(occurred) {
			t.Errorf("what was said of a clock is %+v", got)
		}
	})
}

// Clocks follow the facts: a report that is void, a register, days away, another country.
func TestClocksFollowTheFacts(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		c := givenSite(t, k, "LYON", "FR", "Europe/Paris")
		occurred := time.Now().Add(-20 * 24 * time.Hour)
		id := c.addInjury(occurred, nil)
		row := k.Insert(t, testkit.As(actor.Safety), "osha_cases", map[string]any{"incident_id": id, "minor_register": true})
		got := c.wantStates("in the register", id, "FR-BENIN running, FR-DAT not_required")
		if got["FR-DAT"].Reason == "" || !got["FR-DAT"].Lapsed {
			t.Errorf("the clock ends without a word: %+v", got["FR-DAT"])
		}
		zone, err := time.LoadLocation("Europe/Paris")
		testkit.Must(t, err)
		day := func(n int) string { return occurred.In(zone).AddDate(0, 0, n).Format(time.DateOnly) }
		absence := k.Insert(t, testkit.As(actor.Safety), "absences",
			map[string]any{"case_id": row, "kind": "away", "from_on": day(2), "until_on": day(4)})
		c.wantStates("with days away", id, "FR-BENIN running, FR-DAT not_required, FR-WORSE running")
		if r := k.Call(testkit.Request{Method: "DELETE", Path: "/v1/absences?id=eq." + absence,
			As: testkit.As(actor.Safety)}); r.Status != http.StatusNoContent {
			t.Fatalf("delete an absence: %d %s", r.Status, r.Body)
		}
		c.wantStates("without", id, "FR-BENIN running, FR-DAT not_required, FR-WORSE not_required")
		c.mustPatch(actor.Safety, "/v1/osha_cases?id=eq."+row, map[string]any{"minor_register": false})
		c.wantStates("declared", id, "FR-BENIN not_required, FR-DAT running, FR-WORSE not_required")

		for n, want := range map[int]string{3: "", 4: "DE-ANZ running"} {
			de := givenSite(t, k, "KOELN"+day(n), "DE", "Europe/Berlin")
			other := de.addInjury(occurred, nil)
			de.wantStates("before days away", other, "")
			k.Insert(t, testkit.As(actor.Safety), "absences", map[string]any{"kind": "away", "from_on": day(1),
				"until_on": day(n),
				"case_id":  k.Insert(t, testkit.As(actor.Safety), "osha_cases", map[string]any{"incident_id": other})})
			if got := de.wantStates(day(n), other, want); n == 4 { // sent on the second day, before the clock began
				c.mustPatch(actor.Safety, "/v1/legal_clocks?id=eq."+got["DE-ANZ"].ID,
					map[string]any{"met_at": stamp(occurred.Add(48 * time.Hour))})
				de.wantStates("sent early", other, "DE-ANZ met")
			}
		}

		c.mustPatch(actor.Admin, "/v1/sites?id=eq."+c.site, map[string]any{"country": "GB", "timezone": "Europe/London"})
		c.wantStates("in the United Kingdom", id, "FR-BENIN not_required, FR-DAT not_required, FR-WORSE not_required")
		c.mustPatch(actor.Safety, "/v1/osha_cases?id=eq."+row, map[string]any{"specified_injury": "fracture"})
		c.wantStates("a specified injury", id, "FR-BENIN not_required, FR-DAT not_required, FR-WORSE not_required, "+
			"GB-NOTIFY running, GB-PROC running")
		c.mustPatch(actor.Safety, "/v1/osha_cases?id=eq."+row, map[string]any{"specified_injury": nil})
		c.mustPatch(actor.Safety, "/v1/incidents?id=eq."+id, map[string]any{"status": "void", "void_reason": "Entered twice"})
		void := c.wantStates("void", id, "FR-BENIN not_required, FR-DAT not_required, FR-WORSE not_required, "+
			"GB-NOTIFY not_required, GB-PROC not_required")
		if void["GB-PROC"].Reason == "" {
			t.Errorf("a void report's clock has no reason: %+v", void["GB-PROC"])
		}
	})
}

// OSHA's clocks are the case's own: osha_told_at meets them, and nothing else.
func TestClocksOfOSHA(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		c := givenSite(t, k, "TULSA", "US", "America/Chicago")
		occurred := time.Now().Add(-72 * time.Hour).Truncate(time.Second)
		known := occurred.Add(time.Hour)
		id := c.addInjury(occurred, map[string]any{"reported_at": stamp(known.Add(time.Hour)),
			"known_at": stamp(known)})
		c.wantStates("without a case", id, "")
		row := k.Insert(t, testkit.As(actor.Safety), "osha_cases", map[string]any{"incident_id": id, "in_patient": true})
		clock := c.wantStates("in-patient", id, "US-TREATMENT running")["US-TREATMENT"]
		var cases []struct {
			Due string `json:"osha_due_at"`
		}
		k.Get(testkit.As(actor.Safety), "/v1/osha_cases?id=eq."+row).JSON(t, &cases)
		if due := momentOf(t, clock.Due); !due.Equal(known.Add(24*time.Hour)) || cases[0].Due != clock.Due {
			t.Errorf("due %s and in the case %s, known %s", clock.Due, cases[0].Due, known)
		}
		c.wantRefused(actor.Safety, clock, map[string]any{"met_at": clock.Due}, http.StatusBadRequest, "osha_told_at")
		path := "/v1/osha_cases?id=eq." + row
		own := "/v1/legal_clocks?id=eq." + clock.ID
		c.mustPatch(actor.Safety, own, map[string]any{"state": "not_required", "reason": "Observation only"})
		c.mustPatch(actor.Safety, path, map[string]any{"osha_told_at": clock.Due})
		c.wantStates("told though not required", id, "US-TREATMENT not_required")
		c.mustPatch(actor.Safety, own, map[string]any{"state": "running"})
		c.wantStates("told in time", id, "US-TREATMENT met")
		c.mustPatch(actor.Safety, path, map[string]any{"osha_told_at": stamp(known.Add(24*time.Hour + time.Second))})
		c.wantStates("told late", id, "US-TREATMENT late")
		c.mustPatch(actor.Safety, path, map[string]any{"osha_told_at": nil,
			"in_patient_at": stamp(occurred.Add(24*time.Hour + time.Second))})
		c.wantStates("treated a day later", id, "US-TREATMENT not_required")
		for field, set := range map[string]map[string]any{
			"in_patient_at":  {"in_patient_at": stamp(occurred.Add(-time.Hour))},
			"death_known_at": {"death_known_at": stamp(known)},
			"death_time":     {"death_time": "10:00"},
		} {
			if r := c.patchRow(actor.Safety, path, set); r.Status != http.StatusBadRequest ||
				!strings.Contains(string(r.Body), field) {
				t.Errorf("%v: %d %s", set, r.Status, r.Body)
			}
		}
		for field, at := range map[string]time.Time{"known_at": occurred.Add(-time.Second),
			"after the report": known.Add(2 * time.Hour)} {
			r := k.Call(testkit.Request{Method: "POST", Path: "/v1/incidents", As: testkit.As(actor.Safety),
				Body: map[string]any{
					"kind": "injury", "title": "Fall", "occurred_at": stamp(occurred),
					"reported_at": stamp(known.Add(time.Hour)), "known_at": stamp(at)}})
			if r.Status != http.StatusBadRequest || !strings.Contains(string(r.Body), "known_at") {
				t.Errorf("%s: %d %s", field, r.Status, r.Body)
			}
		}
	})
}

// A notice of treatment is none of a death that came later, and the notice of the death
// takes nothing from it. What was never told stays to be told.
func TestClocksOfOSHAAfterADeath(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		c := givenSite(t, k, "TULSA", "US", "America/Chicago")
		zone, err := time.LoadLocation("America/Chicago")
		testkit.Must(t, err)
		occurred := time.Now().Add(-72 * time.Hour).Truncate(time.Second)
		known, died := occurred.Add(time.Hour), occurred.Add(48*time.Hour)
		death := map[string]any{"death_date": died.In(zone).Format(time.DateOnly),
			"death_time": died.In(zone).Format("15:04"), "death_known_at": stamp(died.Add(time.Hour))}
		for _, told := range [...]bool{true, false} {
			id := c.addInjury(occurred, map[string]any{"reported_at": stamp(known), "known_at": stamp(known)})
			path := "/v1/osha_cases?id=eq." + k.Insert(t, testkit.As(actor.Safety), "osha_cases",
				map[string]any{"incident_id": id, "in_patient": true, "in_patient_at": stamp(known)})
			treatment := "running"
			if told {
				treatment = "met"
				c.mustPatch(actor.Safety, path, map[string]any{"osha_told_at": stamp(known.Add(time.Hour))})
			}
			c.mustPatch(actor.Safety, path, death)
			got := c.wantStates("after the death", id, "US-DEATH running, US-TREATMENT "+treatment)
			if due := momentOf(t, got["US-DEATH"].Due); !due.Equal(died.Add(9 * time.Hour)) {
				t.Errorf("the death is to be told by %s, want %s", due, died.Add(9*time.Hour))
			}
			if treatment == "running" {
				treatment = "late"
			}
			c.mustPatch(actor.Safety, path, map[string]any{"osha_told_at": stamp(died.Add(2 * time.Hour))})
			c.wantStates("told of the death", id, "US-DEATH met, US-TREATMENT "+treatment)
			c.mustPatch(actor.Safety, path, map[string]any{"osha_told_at": stamp(known.Add(time.Hour))})
			c.mustPatch(actor.Safety, path,
				map[string]any{"death_date": nil, "death_time": nil, "death_known_at": nil})
			c.wantStates("no death", id, "US-DEATH not_required, US-TREATMENT met")
		}
	})
}

// The night makes up for what started by time alone, and for reports without a name, whose
// clock does not tell when they came.
func TestNightsStartClocks(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		c := givenSite(t, k, "NANTES", "FR", "Europe/Paris")
		id := c.addInjury(time.Now().Add(-3*24*time.Hour), map[string]any{"anonymous": true})
		c.wantStates("an anonymous report", id, "")
		testkit.Must(t, k.App.DB.Write(context.Background(), db.Scope{Tenant: demo.North}, func(tx *db.Tx) error {
			_, err := tx.Exec("DELETE FROM nights WHERE tenant_id = $1", demo.North)
			return err
		}))
		for range 2 { // the first call of a server's life only writes down when the job is due
			testkit.Must(t, run(k.App, "safety-programme"))
		}
		clock := c.wantStates("after the night", id, "FR-DAT running")["FR-DAT"]
		testkit.Must(t, k.App.DB.Write(context.Background(), db.Scope{Tenant: demo.North}, func(tx *db.Tx) error {
			_, err := tx.Exec("DELETE FROM nights WHERE tenant_id = $1", demo.North)
			return err
		}))
		testkit.Must(t, run(k.App, "safety-programme"))
		if again := c.clocksOf(id)["FR-DAT"]; again.Version != clock.Version {
			t.Errorf("a night without news changed a clock: %+v", again)
		}
	})
}

// What a person says while the server works out the clocks stays: neither sees half of the
// other.
func TestProofOutlastsTheNight(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		c := givenSite(t, k, "METZ", "FR", "Europe/Paris")
		id := c.addInjury(time.Now().Add(-time.Hour), nil)
		clock := c.clocksOf(id)["FR-DAT"]
		write := func(as actor.Actor, f func(*store.Tx) error) error {
			return k.App.DB.Write(context.Background(), db.Scope{Tenant: demo.North},
				func(tx *db.Tx) error { return f(k.App.Store.In(tx, as)) })
		}
		server := actor.Actor{Role: actor.Service, TenantID: demo.North}
		testkit.Must(t, write(server, func(tx *store.Tx) error { // as bulk work does, which moves no clock
			_, err := tx.Exec("UPDATE incidents SET kind = 'near_miss' WHERE tenant_id = $1 AND id = $2", demo.North, id)
			return err
		}))
		night := make(chan error, 1)
		officer := actor.Actor{Role: actor.Safety, TenantID: demo.North}
		testkit.Must(t, write(officer, func(tx *store.Tx) error {
			err := tx.UpdateRows(clocks.Resource, []string{clock.ID},
				store.Row{"met_at": stamp(time.Now()), "proof_ref": "AR 2C 118"})
			if err == nil {
				err = tx.Flush()
			}
			go func() {
				night <- write(server, func(tx *store.Tx) error { return clocks.Refresh(tx, []string{id}) })
			}()
			time.Sleep(300 * time.Millisecond)
			return err
		}))
		testkit.Must(t, <-night)
		if got := c.clocksOf(id)["FR-DAT"]; got.State != "met" || got.Met == "" || got.Proof != "AR 2C 118" {
			t.Errorf("the proof is %+v", got)
		}
	})
}

// The KPIs in detail count the clocks that run for leaders, and name those that are due first
// to those who may read them.
func TestClocksOfKPIs(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		type found struct {
			ID, Code, Citation string
			IncidentNo         string `json:"incident_no"`
			Overdue            bool
		}
		read := func(as actor.Role) (c *struct {
			Running, Overdue int
			Nearest          []found
		}) {
			var out struct {
				Detail struct {
					Clocks **struct {
						Running, Overdue int
						Nearest          []found
					} `json:"legal_clocks"`
				}
			}
			out.Detail.Clocks = &c
			k.Get(testkit.As(as), "/functions/v1/safety-kpis?detail=true").JSON(t, &out)
			return c
		}
		before := read(actor.Safety)
		c := givenSite(t, k, "LENS", "FR", "Europe/Paris")
		late := c.addInjury(time.Now().Add(-20*24*time.Hour),
			map[string]any{"reported_at": stamp(time.Now().Add(-10 * 24 * time.Hour))})
		c.addInjury(time.Now().Add(-time.Hour), nil)
		after := read(actor.Safety)
		if after.Running != before.Running+1 || after.Overdue != before.Overdue+1 {
			t.Fatalf("one more runs and one is over: %+v, before %+v", after, before)
		}
		clock := c.clocksOf(late)["FR-DAT"]
		n := 0
		for _, f := range after.Nearest {
			if f.ID == clock.ID {
				n++
				if !f.Overdue || f.Code != "FR-DAT" || !strings.Contains(f.Citation, "L441-2") || f.IncidentNo == "" {
					t.Errorf("the clock that is over is %+v", f)
				}
			}
		}
		if n != 1 {
			t.Errorf("the clock that is over is named %d times in %+v", n, after.Nearest)
		}
		if got := read(actor.Viewer); got != nil {
			t.Errorf("a viewer is told of clocks: %+v", got)
		}
		if got := read(actor.Manager); got == nil || got.Running != after.Running || got.Overdue != after.Overdue ||
			got.Nearest == nil || len(got.Nearest) != 0 {
			t.Errorf("a manager is told %+v, want the counts and no clock", got)
		}
		c.mustPatch(actor.Safety, "/v1/legal_clocks?id=eq."+clock.ID, map[string]any{"met_at": stamp(time.Now())})
		if got := read(actor.Safety); got.Overdue != before.Overdue {
			t.Errorf("met, and still over: %+v", got)
		}
	})
}

// importInjury imports an accident at a place of the site and works out its clocks as the
// night does.
func (c *clockKit) importInjury(zone, title string, reported time.Time) (job, incident string) {
	c.Helper()
	row := strings.Join([]string{"injury", title, zone, stamp(reported.Add(-time.Hour)), stamp(reported)}, ",")
	body, kind := form(c.T, "incidents", "old.csv", "kind,title,zone_id,occurred_at,reported_at\n"+row+"\n")
	var made struct{ ID string }
	c.k.Call(testkit.Request{Method: "POST", Path: "/v1/import-jobs", As: testkit.As(actor.Owner), Body: body,
		Header: map[string]string{"Content-Type": kind}}).JSON(c.T, &made)
	for _, verb := range []string{"process-import-job", "apply-import-job"} {
		if r := c.rollOn(verb, made.ID); r.Status != http.StatusOK {
			c.Fatalf("%s: %d %s", verb, r.Status, r.Body)
		}
	}
	var list []struct{ ID string }
	c.k.Get(testkit.As(actor.Safety), "/v1/incidents?select=id&title=eq."+title).JSON(c.T, &list)
	if len(list) != 1 {
		c.Fatalf("%d incidents are imported", len(list))
	}
	server := actor.Actor{Role: actor.Service, TenantID: demo.North}
	testkit.Must(c.T, c.k.App.DB.Write(context.Background(), db.Scope{Tenant: demo.North}, func(tx *db.Tx) error {
		return clocks.CatchUp(c.k.App.Store.In(tx, server), []string{list[0].ID})
	}))
	return made.ID, list[0].ID
}

func (c *clockKit) rollOn(verb, job string) testkit.Response {
	return c.k.Post(testkit.As(actor.Owner), "/functions/v1/"+verb, map[string]any{"job_id": job})
}

// An import of accidents starts no clock that was long over, and can be rolled back with the
// clocks that it did start, unless somebody has said something of one.
func TestClocksOfImports(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		c := givenSite(t, k, "ARRAS", "FR", "Europe/Paris")
		k.Insert(t, testkit.As(actor.Manager), "zones",
			map[string]any{"code": "ARRAS-1", "name": "Dock", "kind": "dock", "site_id": c.site})
		now := time.Now()
		_, old := c.importInjury("ARRAS-1", "Long-ago", now.Add(-90*24*time.Hour))
		c.wantStates("of long ago", old, "")
		c.mustPatch(actor.Safety, "/v1/incidents?id=eq."+old,
			map[string]any{"known_at": stamp(now.Add(-90*24*time.Hour - time.Minute))})
		c.wantStates("of long ago, once somebody speaks of it", old, "FR-DAT running")

		job, fresh := c.importInjury("ARRAS-1", "Last-week", now.Add(-7*24*time.Hour))
		c.wantStates("of last week", fresh, "FR-DAT running")
		if r := c.rollOn("rollback-import-job", job); r.Status != http.StatusOK {
			t.Errorf("with a clock of the server's alone: %d %s", r.Status, r.Body)
		}
		c.wantStates("rolled back", fresh, "")

		job, said := c.importInjury("ARRAS-1", "Declared", now.Add(-7*24*time.Hour))
		clock := c.wantStates("to be declared", said, "FR-DAT running")["FR-DAT"]
		c.mustPatch(actor.Safety, "/v1/legal_clocks?id=eq."+clock.ID, map[string]any{"met_at": stamp(now)})
		r := c.rollOn("rollback-import-job", job)
		if r.Status != http.StatusConflict || !strings.Contains(string(r.Body), "legal clocks") {
			t.Errorf("with a clock that is met: %d %s", r.Status, r.Body)
		}

		job, said = c.importInjury("ARRAS-1", "By-a-machine", now.Add(-7*24*time.Hour))
		clock = c.wantStates("to be declared", said, "FR-DAT running")["FR-DAT"]
		by := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/legal_clocks?id=eq." + clock.ID, Bearer: k.Service(),
			Body: map[string]any{"met_at": stamp(now), "proof_ref": "AR 123"}})
		if by.Status/100 != 2 {
			t.Fatalf("a machine declares it: %d %s", by.Status, by.Body)
		}
		if r := c.rollOn("rollback-import-job", job); r.Status != http.StatusConflict {
			t.Errorf("with a clock that a machine met: %d %s", r.Status, r.Body)
		}
		c.wantStates("kept", said, "FR-DAT late, FR-RES running")

		for _, by := range [...]string{"file", "comment"} {
			job, said := c.importInjury("ARRAS-1", "With-a-"+by, now.Add(-7*24*time.Hour))
			clock := c.wantStates("to be declared", said, "FR-DAT running")["FR-DAT"]
			if by == "file" {
				_, r := uploadFile(t, k, testkit.As(actor.Safety), "legal-clocks/"+clock.ID, "receipt.pdf",
					[]byte("%PDF-1.7\n%%EOF\n"))
				if r.Status != http.StatusCreated {
					t.Fatalf("%d %s", r.Status, r.Body)
				}
			} else {
				k.Insert(t, testkit.As(actor.Safety), "comments", map[string]any{"clock_id": clock.ID, "text": "asked"})
			}
			r := c.rollOn("rollback-import-job", job)
			if r.Status != http.StatusConflict || !strings.Contains(string(r.Body), "legal clocks") {
				t.Errorf("with a %s of a clock: %d %s", by, r.Status, r.Body)
			}
			if r := c.k.Post(testkit.As(actor.Owner), "/functions/v1/rollback-import-job",
				map[string]any{"job_id": job, "partial": true}); r.Status != http.StatusOK {
				t.Errorf("with a %s of a clock, all but that: %d %s", by, r.Status, r.Body)
			}
		}
	})
}

// What begins by time alone begins though its end is long past: an eighth day away, two
// months after the accident.
func TestClocksOfALateAbsence(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		c := givenSite(t, k, "LEEDS", "SE", "Europe/London") // a country without clocks
		day := func(ago int) string { return time.Now().AddDate(0, 0, -ago).Format(time.DateOnly) }
		hurt := func(from, until any) string {
			id := c.addInjury(time.Now().AddDate(0, 0, -60), nil)
			osha := k.Insert(t, testkit.As(actor.Safety), "osha_cases", map[string]any{"incident_id": id})
			k.Insert(t, testkit.As(actor.Safety), "absences",
				map[string]any{"case_id": osha, "kind": "away", "from_on": from, "until_on": until})
			return id
		}
		still, long := hurt(day(9), nil), hurt(day(58), day(45))
		c.mustPatch(actor.Admin, "/v1/sites?id=eq."+c.site, map[string]any{"country": "GB"})
		c.wantStates("away now", still, "GB-7D running")
		c.wantStates("back for six weeks", long, "")
	})
}

// A contractor's accident has no European clock, with a case or without one.
func TestClocksOfContractors(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		c := givenSite(t, k, "LENS", "FR", "Europe/Paris")
		worker := func(no, employment string) map[string]any {
			id := k.Insert(t, testkit.As(actor.Manager), "workers",
				map[string]any{"employee_no": no, "name": no, "employment": employment})
			return map[string]any{"entity_type": "worker", "entity_id": id, "role": "injured"}
		}
		theirs, ours := worker("L-1", "contractor"), worker("L-2", "employee")
		at := time.Now().Add(-time.Hour)
		id := c.addInjury(at, map[string]any{"entities": []any{theirs}})
		c.wantStates("a contractor", id, "")
		c.wantStates("both", c.addInjury(at, map[string]any{"entities": []any{theirs, ours}}), "FR-DAT running")
		c.wantStates("nobody is named", c.addInjury(at, nil), "FR-DAT running")
		c.mustPatch(actor.Safety, "/v1/incidents?id=eq."+id, map[string]any{"entities": []any{ours}})
		c.wantStates("it was ours", id, "FR-DAT running")
	})
}

// A report at a French site whose clock is over already is mailed by a real mail server to
// those who lead safety, by number and citation, once.
func TestClockIsMailed(t *testing.T) {
	box, address := newLetterbox(t)
	testkit.InTurn(t, func(t *testing.T, k *testkit.Kit) {
		tell := func() {
			testkit.Must(t, run(k.App, clocks.MailJob))
			testkit.Must(t, run(k.App, programme.MailJob))
		}
		for tell(); len(box.got) > 0; { // the demonstration has clocks of its own
			box.next(t)
		}
		c := givenSite(t, k, "LILLE", "FR", "Europe/Paris")
		known := time.Now().Add(-200 * time.Hour)
		c.addInjury(known, map[string]any{"title": "Broken arm", "reported_at": stamp(known), "known_at": stamp(known)})
		tell()
		tell()
		told := map[string]bool{}
		for range 2 {
			m := box.next(t)
			told[m.To] = true
			if !strings.Contains(m.Text, "CSS L441-2") || strings.Contains(m.Text+m.HTML+m.Subject, "arm") {
				t.Errorf("%+v", m)
			}
		}
		if n := len(box.got); n != 0 || !told[testkit.As(actor.Safety)] || !told[testkit.As(actor.Admin)] {
			t.Errorf("%d more mails than those to %v", n, told)
		}
	}, func(c *config.Config) { c.SMTPURL, c.MailFrom = address, "Holdfast <noreply@holdfast.example>" })
}
