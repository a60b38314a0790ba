package app_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/testkit"
)

// trainings are what the tests of certificates write.
type trainings struct {
	*testkit.Kit
	courses int
}

// course makes a course that needs an evaluation.
func (k *trainings) course(t *testing.T) string {
	t.Helper()
	k.courses++
	return k.Insert(t, testkit.As(actor.Owner), "courses", map[string]any{
		"code": fmt.Sprintf("VOUCH-%d", k.courses), "title": "Trucks", "validity_months": 36, "needs_evaluation": true,
	})
}

// assign gives somebody a course and sets fields.
func (k *trainings) assign(t *testing.T, as, course, user string, set map[string]any) string {
	t.Helper()
	row := map[string]any{"course_id": course, "user_id": user}
	for name, value := range set {
		row[name] = value
	}
	return k.Insert(t, as, "training_assignments", row)
}

func (k *trainings) patch(as, id string, set map[string]any) testkit.Response {
	return k.Call(testkit.Request{Method: "PATCH", Path: "/v1/training_assignments?id=eq." + id, As: as, Body: set})
}

// wants holds an answer to a status, 200 for any success, and a refusal to the
// field that it names.
func wants(t *testing.T, what string, r testkit.Response, status int, field string) {
	t.Helper()
	got := r.Status
	if got >= 200 && got < 300 {
		got = 200
	}
	if got != status || !strings.Contains(string(r.Body), field) {
		t.Errorf("%s: %d %s, want %d at %q", what, r.Status, r.Body, status, field)
	}
}

// evaluation is what a certificate of a truck operator names.
func evaluation() map[string]any {
	return map[string]any{
		"trained_on": "2026-01-05", "trainer": "Grace Hopper", "evaluated_on": "2026-01-06", "evaluator": "Mary Ward",
	}
}

// A holder is never the person who trained or evaluated, by whatever name, and
// says nothing of it, in whatever way (29 CFR 1910.178(l)(6)).
func TestNobodyVouchesForThemselves(t *testing.T) {
	testkit.Run(t, func(t *testing.T, kit *testkit.Kit) {
		k, owner, manager := &trainings{Kit: kit}, testkit.As(actor.Owner), testkit.As(actor.Manager)
		mine := userOf(t, manager)

		// What the holder sets: at the beginning, later, and of many at once.
		for name, value := range evaluation() {
			row := map[string]any{"course_id": k.course(t), "user_id": mine, name: value}
			wants(t, "a row with "+name, k.Post(manager, "/v1/training_assignments", row), 403, name)
			wants(t, "rows with "+name, k.Post(manager, "/v1/training_assignments", []any{row}), 403, name)
			id := k.assign(t, owner, k.course(t), mine, nil)
			wants(t, "setting "+name, k.patch(manager, id, map[string]any{name: value}), 403, name)
		}

		// Whom others name: the holder by name, number and address, in other spellings.
		worker := k.Insert(t, owner, "workers", map[string]any{"employee_no": "VOUCH-1", "name": "José  Lovelace"})
		for _, f := range []string{"trainer", "evaluator"} {
			for _, name := range []string{"José Lovelace", "JOSE LOVELACE", "Lovelace, José", "vouch-1"} {
				row := map[string]any{"course_id": k.course(t), "worker_id": worker, f: name}
				wants(t, "a row with "+name, k.Post(owner, "/v1/training_assignments", row), 400, f)
				id := k.Insert(t, owner, "training_assignments", map[string]any{"course_id": k.course(t), "worker_id": worker})
				wants(t, "setting "+name, k.patch(owner, id, map[string]any{f: name}), 400, f)
			}
			id := k.assign(t, owner, k.course(t), mine, nil)
			wants(t, "the address", k.patch(owner, id, map[string]any{f: manager}), 400, f)
		}

		// From a file.
		code := k.course(t)
		file := "employee no,course,completed,trained on,trainer,evaluated on,evaluator\n" +
			fmt.Sprintf("VOUCH-1,VOUCH-%d,2026-01-31,2026-01-30,Grace Hopper,2026-01-31,Jose Lovelace\n", k.courses)
		body, kind := form(t, "training_assignments", "done.csv", file)
		r := k.Call(testkit.Request{
			Method: "POST", Path: "/v1/import-jobs", As: owner, Body: body, Header: map[string]string{"Content-Type": kind},
		})
		var job struct{ ID string }
		if r.JSON(t, &job); r.Status != 201 {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		for _, step := range []string{"process-import-job", "apply-import-job"} {
			if r := k.Post(owner, "/functions/v1/"+step, map[string]any{"job_id": job.ID}); r.Status >= 500 {
				t.Errorf("%s: %d %s", step, r.Status, r.Body)
			}
		}
		if rows := testkit.List[any](t, kit, owner, "training_assignments?select=id&course_id=eq."+code); len(rows) > 0 {
			t.Errorf("%d certificates of a file name their holder", len(rows))
		}

		// Somebody else completes it, naming others.
		id := k.assign(t, owner, k.course(t), mine, map[string]any{"status": "assigned"})
		wants(t, "begun", k.patch(manager, id, map[string]any{"status": "in_progress"}), 200, "")
		wants(t, "without an evaluation", k.patch(owner, id, map[string]any{"status": "completed"}), 409, "trained_on")
		set := evaluation()
		set["status"] = "completed"
		wants(t, "with one", k.patch(owner, id, set), 200, "")
		if got := first(t, kit, "/v1/training_assignments?select=expires_on&id=eq."+id, "expires_on"); got != "2029-01-06" {
			t.Errorf("it is valid until %v", got)
		}
	})
}

// An external certificate is entered by one person with its file and verified by
// another, who is neither a machine nor the holder; then it stays as it is.
func TestExternalCertificates(t *testing.T) {
	testkit.Run(t, func(t *testing.T, kit *testkit.Kit) {
		k, owner, manager := &trainings{Kit: kit}, testkit.As(actor.Owner), testkit.As(actor.Manager)
		safety, operator := testkit.As(actor.Safety), userOf(t, testkit.As(actor.Operator))
		external := func(set map[string]any) map[string]any {
			row := evaluation()
			row["issuer"], row["completed_at"] = "Truck school", "2026-01-06T12:00:00Z"
			for name, value := range set {
				row[name] = value
			}
			return row
		}
		complete := func(as, id string) testkit.Response { return k.patch(as, id, map[string]any{"status": "completed"}) }
		enter := func(set map[string]any) string {
			id := k.assign(t, manager, k.course(t), operator, external(set))
			wants(t, "begun", k.patch(owner, id, map[string]any{"status": "in_progress"}), 200, "")
			return id
		}
		show := func(as, id string) {
			t.Helper()
			if _, r := uploadFile(t, kit, as, "training-assignments/"+id, "1.pdf", []byte("%PDF-1.7")); r.Status != 201 {
				t.Fatalf("%s adds the file: %d %s", as, r.Status, r.Body)
			}
		}

		row := external(map[string]any{"course_id": k.course(t), "user_id": operator, "status": "completed"})
		wants(t, "completed from the beginning", k.Post(manager, "/v1/training_assignments", row), 409, "status")
		wants(t, "without a file", complete(owner, enter(nil)), 409, "file")
		undated := enter(map[string]any{"completed_at": nil})
		show(manager, undated)
		wants(t, "without a day", complete(owner, undated), 409, "completed_at")

		id := enter(nil)
		show(owner, id)
		wants(t, "by the one who added the file", complete(owner, id), 403, "status")
		wants(t, "by the one who entered it", complete(manager, id), 403, "status")
		both := map[string]any{"status": "completed", "certificate_no": "X"}
		admin := testkit.As(actor.Admin)
		wants(t, "by who changes it meanwhile", k.patch(admin, id, both), 403, "status")
		wants(t, "a change", k.patch(admin, id, map[string]any{"certificate_no": "X"}), 200, "")
		wants(t, "by who changed it", complete(admin, id), 403, "status")
		wants(t, "by a second person", complete(safety, id), 200, "")
		got := testkit.List[struct {
			EnteredBy  string  `json:"entered_by"`
			VerifiedBy string  `json:"verified_by"`
			VerifiedAt *string `json:"verified_at"`
		}](t, kit, owner, "training_assignments?select=entered_by,verified_by,verified_at&id=eq."+id)[0]
		if got.EnteredBy != userOf(t, admin) || got.VerifiedBy != userOf(t, safety) || got.VerifiedAt == nil {
			t.Errorf("%+v", got)
		}
		if _, r := uploadFile(t, kit, owner, "training-assignments/"+id, "2.pdf", []byte("%PDF-1.7")); r.Status != 409 {
			t.Errorf("a file is added behind the verification: %d %s", r.Status, r.Body)
		}
		for method, body := range map[string]any{"DELETE": nil, "PATCH": map[string]any{"note": "another"}} {
			r := kit.Call(testkit.Request{Method: method, Path: "/v1/files?assignment_id=eq." + id, As: owner, Body: body})
			wants(t, method+" of its file", r, 409, "files")
		}
		later := map[string]any{"issuer": nil, "expires_on": "2027-01-01", "evaluator": "Else"}
		for name, value := range later {
			wants(t, "changing "+name, k.patch(owner, id, map[string]any{name: value}), 409, name)
		}

		gone := kit.Call(testkit.Request{Method: "DELETE", Path: "/v1/training_assignments?id=eq." + id, As: owner})
		wants(t, "the whole training is deleted", gone, 200, "")

		own := k.assign(t, owner, k.course(t), operator, map[string]any{"status": "assigned"})
		set := map[string]any{"verified_by": userOf(t, owner)}
		wants(t, "a field of the server", k.patch(owner, own, set), 400, "verified_by")
	})
}

// Once a report is accepted, whoever took part with equipment and holds a
// certificate that it asks for takes the course again; witnesses and people who
// never held one do not (29 CFR 1910.178(l)(4)(ii)).
func TestRefreshers(t *testing.T) {
	testkit.Run(t, func(t *testing.T, kit *testkit.Kit) {
		k, owner := &trainings{Kit: kit}, testkit.As(actor.Owner)
		course := k.course(t)
		truck := k.Insert(t, owner, "equipment",
			map[string]any{"asset_no": "VT-1", "kind": "vouched", "required_course_id": course})
		people := map[string]string{}
		account := first(t, kit, "/v1/members?select=user_id&email=eq."+owner, "user_id")
		for _, name := range []string{"drove", "saw", "was hit", "left", "learns", "reported", "was there"} {
			worker := map[string]any{"employee_no": "VT " + name, "name": name}
			if name == "reported" {
				worker["user_id"] = account
			}
			people[name] = k.Insert(t, owner, "workers", worker)
			row := evaluation()
			row["course_id"], row["worker_id"], row["status"] = course, people[name], "completed"
			if name != "was hit" {
				k.Insert(t, testkit.As(actor.Admin), "training_assignments", row)
			}
		}
		k.Insert(t, owner, "training_assignments", map[string]any{"course_id": course, "worker_id": people["learns"]})
		leave := testkit.Request{Method: "PATCH", Path: "/v1/workers?id=eq." + people["left"], As: owner}
		leave.Body = map[string]any{"status": "left", "left_on": "2026-01-10"}
		wants(t, "somebody leaves", k.Call(leave), 200, "")

		entity := func(kind, id, role string) map[string]any {
			return map[string]any{"entity_type": kind, "entity_id": id, "role": role}
		}
		incident := func(entities ...any) string {
			return k.Insert(t, owner, "incidents", map[string]any{
				"kind": "near_miss", "title": "Close", "occurred_at": "2026-01-20T08:00:00Z", "entities": entities,
			})
		}
		move := func(id, status string) {
			t.Helper()
			path := "/v1/incidents?id=eq." + id
			set := map[string]any{"status": status, "void_reason": "none"}
			wants(t, status, k.Call(testkit.Request{Method: "PATCH", Path: path, As: owner, Body: set}), 200, "")
		}
		refreshed := func(want string) {
			t.Helper()
			got, query := "", "select=worker_id,source_incident_id,due_on&assignment_type=eq.incident&course_id=eq."+course
			for _, row := range testkit.List[struct {
				Worker   string `json:"worker_id"`
				Incident string `json:"source_incident_id"`
				Due      string `json:"due_on"`
			}](t, kit, owner, "training_assignments?"+query) {
				for name, id := range people {
					if id == row.Worker && row.Incident != "" && row.Due != "" {
						got += name
					}
				}
			}
			if got != want {
				t.Errorf("%q take a refresher, want %q", got, want)
			}
		}

		everybody := []any{
			entity("equipment", truck, "source"), entity("worker", people["drove"], "involved"),
			entity("worker", people["saw"], "witness"), entity("worker", people["was hit"], "injured"),
			entity("worker", people["left"], "involved"), entity("worker", people["learns"], "involved"),
		}
		id := incident(everybody...)
		refreshed("") // nobody has looked at the report
		move(incident(everybody...), "void")
		move(incident(everybody[1:]...), "triaged")
		refreshed("")
		move(id, "triaged")
		refreshed("drove")
		move(incident(everybody...), "triaged") // it is open already
		refreshed("drove")

		// Named without a part, everybody took part but the person who reported it.
		unsaid := []any{entity("equipment", truck, "source")}
		for _, name := range []string{"reported", "was there"} {
			unsaid = append(unsaid, map[string]any{"entity_type": "worker", "entity_id": people[name]})
		}
		move(incident(unsaid...), "triaged")
		refreshed("drovewas there")

		// A refresher that was taken back does not come back when roles are put right.
		open := "/v1/training_assignments?status=eq.assigned&source_incident_id=eq." + id
		cancel := testkit.Request{Method: "PATCH", Path: open, As: owner}
		cancel.Body = map[string]any{"status": "cancelled", "close_reason": "Talked through"}
		wants(t, "cancelled", k.Call(cancel), 200, "")
		more := map[string]any{"entities": slices.Concat(everybody[:5], []any{entity("worker", people["learns"], "witness")})}
		named := testkit.Request{Method: "PATCH", Path: "/v1/incidents?id=eq." + id, As: owner, Body: more}
		wants(t, "another role", k.Call(named), 200, "")
		refreshed("drovewas there")

		// A viewer reads trainings, and not who was in which incident.
		path := "/v1/training_assignments?select=source_incident_id&course_id=eq." + course
		if r := k.Get(testkit.As(actor.Viewer), path); strings.Contains(string(r.Body), id) || r.Status >= 500 {
			t.Errorf("a viewer reads the incident: %d %s", r.Status, r.Body)
		}
	})
}
