package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/app"
	"holdfast/internal/config"
	"holdfast/internal/db"
	"holdfast/internal/demo"
	"holdfast/internal/functions/programme"
	"holdfast/internal/testkit"
)

// again opens a second node on the first one's database.
func again(t *testing.T, k *testkit.Kit) *app.App {
	t.Helper()
	c := *k.App.Config
	c.Data = t.TempDir()
	a, err := app.Open(context.Background(), &c, app.Server)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return a
}

// run does the jobs of a kind, due or not.
func run(a *app.App, kind string) error {
	_, err := app.RunJobs(context.Background(), a, kind)
	return err
}

// Two nodes that come upon the safety programme's work at once do it once.
func TestProgrammeInAFleet(t *testing.T) {
	one := testkit.New(t, db.PostgreSQL)
	nodes := []*app.App{one.App, again(t, one)}
	runs := func() (n int64) {
		err := one.App.DB.Read(context.Background(), db.Scope{All: true}, func(tx *db.Tx) error {
			return tx.One("SELECT COUNT(*) FROM score_runs", nil, func(r *db.Row) error { n = r.Int(0); return nil })
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	// The night of the demonstration is over: another is made due.
	testkit.Must(t, one.App.DB.Write(context.Background(), db.Scope{All: true}, func(tx *db.Tx) error {
		_, err := tx.Exec("DELETE FROM nights")
		return err
	}))
	before := runs()
	errs := make(chan error, 4)
	for i := range 4 {
		go func() { errs <- run(nodes[i%2], "safety-programme") }()
	}
	for range 4 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if n := runs() - before; n != 2*4 {
		t.Errorf("%d runs of scores in a night, want one for each of 4 types in 2 tenants", n)
	}
}

// A critical incident is mailed to those who keep the safety programme, by a
// real mail server, once for each of them whatever the nodes do, and says
// nothing about who was hurt.
func TestCriticalIncidentIsMailed(t *testing.T) {
	box, address := newLetterbox(t)
	testkit.InTurn(t, func(t *testing.T, k *testkit.Kit) {
		r := k.Post(testkit.As(actor.Operator), "/v1/incidents",
			map[string]any{"kind": "injury", "severity": "critical", "title": "Fall from the ramp",
				"occurred_at": "2026-01-02T03:04:05Z",
				"description": "Ada Lovelace broke her arm"})
		if r.Status != http.StatusCreated {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		if r := k.Post(testkit.As(actor.Operator), "/v1/incidents",
			map[string]any{"kind": "injury", "severity": "high", "title": "Not so bad",
				"occurred_at": "2026-01-02T03:04:05Z"}); r.Status != http.StatusCreated {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		nodes := []*app.App{k.App}
		if k.Engine == db.PostgreSQL {
			nodes = append(nodes, again(t, k))
		}
		errs := make(chan error, 4)
		for i := range 4 {
			go func() { errs <- run(nodes[i%len(nodes)], programme.MailJob) }()
		}
		for range 4 {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		got := box.next(t)
		if got.To != testkit.As(actor.Safety) || !strings.Contains(got.Subject, "Critical incident IN-") ||
			!strings.Contains(got.Text, "Fall from the ramp") ||
			strings.Contains(got.Text+got.HTML, "Lovelace") {
			t.Errorf("%+v", got)
		}
		if !strings.Contains(got.Text, k.App.Config.PublicURL) {
			t.Errorf("the mail does not lead to %s:\n%s", k.App.Config.PublicURL, got.Text)
		}
		if n := len(box.got); n != 0 {
			t.Errorf("%d more mails", n)
		}
	}, func(c *config.Config) { c.SMTPURL, c.MailFrom = address, "Holdfast <noreply@holdfast.example>" })
}

// Bad input about inspections is refused by name and writes nothing; roles and
// tenants are kept apart.
func TestInspectionsOnTheWire(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		id := func(as, path string) string {
			t.Helper()
			var rows []struct{ ID string }
			k.Get(as, path+"&select=id&limit=1").JSON(t, &rows)
			if len(rows) == 0 {
				t.Fatalf("%s: nothing", path)
			}
			return rows[0].ID
		}
		truck := id(testkit.As(actor.Safety), "/v1/equipment?kind=eq.forklift")
		foreign := id("admin@south.example", "/v1/zones?order=id")
		post := func(role actor.Role, path string, body any) (made struct{ ID string }, r testkit.Response) {
			r = k.Call(testkit.Request{Method: "POST", Path: path, As: testkit.As(role), Body: body,
				Header: map[string]string{"Prefer": "return=representation"}})
			var rows []struct{ ID string }
			if r.Status == http.StatusCreated {
				r.JSON(t, &rows)
				made = rows[0]
			}
			return made, r
		}
		items := func(list string) string { return `[{"title":"","items":[` + list + `]}]` }
		tpl, r := post(actor.Manager, "/v1/checklist_templates",
			map[string]any{"code": "WIRE", "title": "Wire", "applies_to": []string{"equipment"},
				"sections": raw(items(`{"key":"brakes","prompt":"Brakes","type":"yes_no_na","required":true,"critical":true}`))})
		if r.Status != http.StatusCreated {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		patch := func(role actor.Role, path string, body any) testkit.Response {
			return k.Call(testkit.Request{Method: "PATCH", Path: path, As: testkit.As(role), Body: body})
		}
		one := "/v1/checklist_templates?id=eq." + tpl.ID
		for role, want := range map[actor.Role]int{actor.Manager: 403, actor.Operator: 403, actor.Viewer: 403} {
			if r := patch(role, one, map[string]any{"status": "published"}); r.Status != want {
				t.Errorf("%s publishes: %d %s", role, r.Status, r.Body)
			}
		}
		if r := patch(actor.Safety, one, map[string]any{"status": "published"}); r.Status != 204 {
			t.Fatalf("publish: %d %s", r.Status, r.Body)
		}
		if r := patch(actor.Owner, one, map[string]any{"title": "x"}); r.Status != 409 ||
			!strings.Contains(string(r.Body), "HF006") {
			t.Errorf("change a published template: %d %s", r.Status, r.Body)
		}
		stranger := ""
		for _, u := range demo.Users() {
			if u.Email == "operator@south.example" {
				stranger = u.ID
			}
		}
		plan := func(more map[string]any) map[string]any {
			row := map[string]any{"template_id": tpl.ID, "equipment_id": truck, "rrule": "FREQ=DAILY"}
			for f, v := range more {
				row[f] = v
			}
			return row
		}
		loop := items(`{"key":"a","prompt":"A","type":"text","show_when":{"item":"b","op":"answered"}},` +
			`{"key":"b","prompt":"B","type":"text","show_when":{"item":"a","op":"answered"}}`)
		for what, c := range map[string]struct {
			path  string
			body  map[string]any
			code  int
			names []string
		}{
			"cycle of conditions": {"/v1/checklist_templates",
				map[string]any{"code": "LOOP", "title": "Loop", "sections": raw(loop)}, 400,
				[]string{"HF011", "show_when", "sections"}},
			"unknown kind of target": {"/v1/checklist_templates",
				map[string]any{"code": "K", "title": "K", "applies_to": []string{"tenant"}},
				400, []string{"applies_to"}},
			"no rule": {"/v1/checklist_schedules", plan(map[string]any{"rrule": "now and then"}), 400,
				[]string{"HF011", "rrule"}},
			"a rule with dates by the million": {"/v1/checklist_schedules",
				plan(map[string]any{"rrule": "FREQ=SECONDLY;COUNT=10000000"}), 400, []string{"rrule"}},
			"a rule without dates": {"/v1/checklist_schedules",
				plan(map[string]any{"rrule": "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30"}), 400,
				[]string{"rrule", "never"}},
			"another tenant's zone": {"/v1/checklist_schedules", plan(map[string]any{"zone_id": foreign}), 409,
				[]string{"23503", "zone_id"}},
			"another tenant's zone, a run": {"/v1/checklist_runs", map[string]any{"title": "x", "zone_id": foreign}, 409,
				[]string{"23503", "zone_id"}},
			"a template for something else": {"/v1/checklist_runs", map[string]any{"template_id": tpl.ID}, 400,
				[]string{"equipment_id"}},
			"an incident to come": {"/v1/incidents", map[string]any{"kind": "hazard", "title": "x",
				"occurred_at": "2999-01-01T00:00:00Z"},
				400, []string{"occurred_at", "future"}},
			"an unknown kind of entity": {"/v1/incidents",
				map[string]any{"kind": "hazard", "title": "x", "occurred_at": "2026-01-01T00:00:00Z",
					"entities": raw(`[{"entity_type":"robot","entity_id":"` + truck + `"}]`)}, 400, []string{"entity_type"}},
			"another tenant's entity": {"/v1/incidents",
				map[string]any{"kind": "hazard", "title": "x", "occurred_at": "2026-01-01T00:00:00Z",
					"entities": raw(`[{"entity_type":"zone","entity_id":"` + foreign + `"}]`)}, 400, []string{"entities"}},
			"another tenant's entity, a worker": {"/v1/incidents",
				map[string]any{"kind": "hazard", "title": "x", "occurred_at": "2026-01-01T00:00:00Z",
					"entities": raw(`[{"entity_type":"worker","entity_id":"` + foreign + `"}]`)}, 400, []string{"entities", "worker"}},
			"a report to come": {"/v1/incidents",
				map[string]any{"kind": "hazard", "title": "x", "occurred_at": "2026-01-01T00:00:00Z",
					"reported_at": "2999-01-01T00:00:00Z"}, 400, []string{"reported_at", "future"}},
			"a category that is none": {"/v1/incidents",
				map[string]any{"kind": "hazard", "title": "x", "occurred_at": "2026-01-01T00:00:00Z",
					"category_tags": []string{"slip_trip", "gremlins"}}, 400, []string{"category_tags", "may hold only"}},
			"a likelihood of 6": {"/v1/incidents",
				map[string]any{"kind": "hazard", "title": "x", "occurred_at": "2026-01-01T00:00:00Z", "likelihood": 6}, 400,
				[]string{"likelihood"}},
			"a place beyond the pole": {"/v1/incidents",
				map[string]any{"kind": "hazard", "title": "x", "occurred_at": "2026-01-01T00:00:00Z", "lat": 90.5}, 400,
				[]string{"lat"}},
			"another tenant's user, to act": {"/v1/actions", map[string]any{"title": "x", "assignee_user_id": stranger}, 409,
				[]string{"23503", "assignee_user_id"}},
			"another tenant's user, to verify": {"/v1/actions", map[string]any{"title": "x", "verifier_user_id": stranger}, 409,
				[]string{"23503", "verifier_user_id"}},
			"another tenant's user, to lead": {"/v1/incidents",
				map[string]any{"kind": "hazard", "title": "x", "occurred_at": "2026-01-01T00:00:00Z", "lead_user_id": stranger},
				409, []string{"23503", "lead_user_id"}},
			"another tenant's user, to inspect": {"/v1/checklist_schedules", plan(map[string]any{"assignee_user_id": stranger}),
				409,
				[]string{"23503", "assignee_user_id"}},
			"a source that is none": {"/v1/actions", map[string]any{"title": "x", "source": "checklist_answer",
				"source_id": foreign}, 400,
				[]string{"source_id"}},
			"a talk led by nobody's worker": {"/v1/talk_attendances", map[string]any{"talk_id": foreign, "worker_id": foreign},
				409, []string{"23503"}},
		} {
			_, r := post(actor.Safety, c.path, c.body)
			if r.Status != c.code {
				t.Errorf("%s: %d %s, want %d", what, r.Status, r.Body, c.code)
			}
			for _, s := range c.names {
				if !strings.Contains(string(r.Body), s) {
					t.Errorf("%s: %s does not say %q", what, r.Body, s)
				}
			}
		}
		if r := k.Get(testkit.As(actor.Safety), "/v1/checklist_schedules?template_id=eq."+tpl.ID); string(r.Body) != "[]" {
			t.Errorf("something was written: %s", r.Body)
		}

		run, r := post(actor.Operator, "/v1/checklist_runs", map[string]any{"template_id": tpl.ID, "equipment_id": truck})
		if r.Status != http.StatusCreated {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		if r := patch(actor.Operator, "/v1/checklist_runs?id=eq."+run.ID,
			map[string]any{"due_at": "2030-01-01T00:00:00Z"}); r.Status != 403 {
			t.Errorf("an operator moves the due time: %d %s", r.Status, r.Body)
		}
		answer := func(role actor.Role, value string) testkit.Response {
			return k.Call(testkit.Request{Method: "POST", Path: "/v1/checklist_answers?on_conflict=run_id,item_key",
				As:     testkit.As(role),
				Body:   map[string]any{"run_id": run.ID, "item_key": "brakes", "value": value},
				Header: map[string]string{"Prefer": "resolution=merge-duplicates"}})
		}
		for role, want := range map[actor.Role]int{actor.Viewer: 403, actor.Driver: 409} {
			if r := answer(role, "yes"); r.Status != want {
				t.Errorf("%s answers: %d %s", role, r.Status, r.Body)
			}
		}
		for _, value := range []string{"yes", "no", "no"} {
			if r := answer(actor.Operator, value); r.Status >= 300 {
				t.Errorf("answer %s: %d %s", value, r.Status, r.Body)
			}
		}
		if r := k.Get(testkit.As(actor.Operator), "/v1/equipment?select=status&id=eq."+truck); string(r.Body) != `[{"status":"out_of_service"}]` {
			t.Errorf("the truck: %s", r.Body)
		}
		if r := k.Get(testkit.As(actor.Safety),
			"/v1/actions?select=priority,status,source&source=eq.checklist_answer&status=eq.open&order=id.desc&limit=1"); string(
			r.Body) != `[{"priority":"critical","status":"open","source":"checklist_answer"}]` {
			t.Errorf("the action: %s", r.Body)
		}
		if r := patch(actor.Operator, "/v1/checklist_runs?id=eq."+run.ID,
			map[string]any{"status": "completed"}); r.Status != 204 {
			t.Errorf("complete: %d %s", r.Status, r.Body)
		}
		want := fmt.Sprintf(`[{"score":0,"failed_critical":1,"checklist_templates":{"code":"WIRE"},`+
			`"checklist_answers":[{"result":"fail","value":"no"}],"tenant_id":%q}]`, demo.North)
		if r := k.Get(testkit.As(actor.Safety),
			"/v1/checklist_runs?select=score,failed_critical,checklist_templates(code),checklist_answers(result,value),tenant_id&id=eq."+
				run.ID); string(r.Body) != want {
			t.Errorf("the run: %s\nwant %s", r.Body, want)
		}
		if r := k.Get("admin@south.example", "/v1/checklist_runs?id=eq."+run.ID); string(r.Body) != "[]" {
			t.Errorf("south sees %s", r.Body)
		}
	})
}

// raw is JSON as it is.
func raw(s string) json.RawMessage { return json.RawMessage(s) }

// The night tells receivers of events which services, inspections and licences
// come near, once.
func TestDeadlinesAreEvents(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		plate := k.Insert(t, testkit.As(actor.Admin), "vehicles",
			map[string]any{"plate": "NEAR-1", "inspection_due_on": "2020-02-01"})
		night := func() {
			t.Helper()
			testkit.Must(t, k.App.DB.Write(context.Background(), db.Scope{All: true}, func(tx *db.Tx) error {
				_, err := tx.Exec("DELETE FROM nights")
				return err
			}))
			testkit.Must(t, run(k.App, "safety-programme"))
		}
		for range 2 {
			night()
		}
		var told []string
		testkit.Must(t, k.App.DB.Read(context.Background(), db.Scope{All: true}, func(tx *db.Tx) error {
			return tx.Query("SELECT tenant_id, data FROM outbox WHERE type = 'vehicle.inspection_due' AND data LIKE '%' || $1 || '%'", []any{plate},
				func(r *db.Row) error {
					told = append(told, r.Text(0)+" "+r.Text(1))
					return nil
				})
		}))
		if len(told) != 1 || !strings.HasPrefix(told[0], demo.North) || !strings.Contains(told[0], `"plate":"NEAR-1"`) ||
			!strings.Contains(told[0], `"inspection_due_on":"2020-02-01"`) || !strings.Contains(told[0], `"days_left":-`) {
			t.Errorf("told %q, want one", told)
		}
	})
}
