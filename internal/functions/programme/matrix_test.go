package programme_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/store"
	"holdfast/internal/testkit/dbtest"
)

const trainingMatrix = "training-matrix"

// cellText is a cell of the matrix as a test compares it: state, gap, what asks, the
// certificate's end and the state of what is open.
func cellText(k *kit, asked, worker, course string) string {
	k.Helper()
	row := k.call(trainingMatrix, asked).find("people", "worker_id", worker)
	for _, x := range row.at("cells").([]any) {
		cell := x.(map[string]any)
		if cell["course_id"] != any(course) {
			continue
		}
		reasons, _ := json.Marshal(cell["reasons"])
		return fmt.Sprint(cell["state"], " ", cell["gap"], " ", string(reasons), " ", cell["expires_on"], " ",
			cell["assignment_status"])
	}
	return "nothing"
}

// A cell says how a person stands with a course and what asks for it: the job that
// the title means, or a machine of the person's shifts. Nothing on record is missing,
// never held.
func TestTrainingMatrix(t *testing.T) {
	each(t, func(k *kit) {
		p := fill(k) // Ada is a loader, Bo has no title; today is 20 March 2026
		byJob := k.add("courses", store.Row{"code": "A-JOB", "title": "By job",
			"required_for": json.RawMessage(`["loader"]`)})
		byKind := k.add("courses", store.Row{"code": "B-KIND", "title": "By kind",
			"required_for": json.RawMessage(`["forklift"]`)})
		own := k.add("courses", store.Row{"code": "C-OWN", "title": "Of the machine"})
		old := k.add("courses", store.Row{"code": "D-OLD", "title": "Given no more",
			"required_for": json.RawMessage(`["loader"]`)})
		k.set("courses", old, store.Row{"status": "retired"})
		k.set("equipment", p.truck, store.Row{"required_course_id": own})
		want := func(worker, course, what string) {
			k.Helper()
			if got := cellText(k, "", worker, course); got != what {
				k.Errorf("%s of %s: %s, want %s", course, worker, got, what)
			}
		}
		const ofTitle, ofTruck = `[{"by":"job_title","name":"Loader"}]`, `[{"by":"equipment","equipment_id":"%s","name":"T1"}]`

		k.call(trainingMatrix, "").is("courses.#", "3", "courses.0.code", `"A-JOB"`, "people.#", "2",
			"people.0.name", `"Ada"`, "people.0.gaps", "1", "people.1.gaps", "0", "people.1.cells.#", "0",
			"today", `"2026-03-20"`, "next", "null")
		want(p.worker, byJob, "missing true "+ofTitle+" <nil> <nil>")
		want(p.worker, byKind, "nothing")

		k.shift(p.colleague, 89, 8, store.Row{"equipment_id": p.truck})
		truck := fmt.Sprintf(ofTruck, p.truck)
		want(p.colleague, byKind, "missing true "+truck+" <nil> <nil>")
		want(p.colleague, own, "missing true "+truck+" <nil> <nil>")

		certify := func(course, worker, until string) string {
			return k.add("training_assignments", store.Row{"course_id": course, "worker_id": worker, "status": "completed",
				"completed_at": "2025-01-01T12:00:00Z", "expires_on": until})
		}
		certify(byJob, p.worker, "2026-03-19")
		want(p.worker, byJob, "ended true "+ofTitle+" 2026-03-19 <nil>")
		open := k.add("training_assignments", store.Row{"course_id": byJob, "worker_id": p.worker})
		want(p.worker, byJob, "ended true "+ofTitle+" 2026-03-19 assigned")
		k.set("training_assignments", open, store.Row{"status": "waived", "close_reason": "Works in the office now"})
		want(p.worker, byJob, "waived false "+ofTitle+" 2026-03-19 waived")
		certify(byJob, p.worker, "2026-04-19")
		want(p.worker, byJob, "ending false "+ofTitle+" 2026-04-19 <nil>")
		certify(byJob, p.worker, "2026-04-20")
		want(p.worker, byJob, "valid false "+ofTitle+" 2026-04-20 <nil>")

		k.add("training_assignments", store.Row{"course_id": byKind, "worker_id": p.worker})
		want(p.worker, byKind, "assigned true null <nil> assigned")
		certify(own, p.worker, "2026-03-01")
		want(p.worker, own, "ended false null 2026-03-01 <nil>") // nobody asks for it

		k.now = k.now.AddDate(0, 0, 2) // the shift is 91 days ago
		want(p.colleague, byKind, "nothing")
		k.set("workers", p.worker, store.Row{"status": "left"})
		k.call(trainingMatrix, "").is("people.#", "1", "people.0.name", `"Bo"`)
	})
}

// A waiver excuses what it was given for: a certificate that came after it and ended is
// a gap again, whether it was recorded later or only dates from later.
func TestOldWaiverExcusesNothing(t *testing.T) {
	each(t, func(k *kit) {
		p := fill(k)
		course := k.add("courses", store.Row{"code": "A", "title": "A", "required_for": json.RawMessage(`["loader"]`)})
		state := func(want string) {
			k.Helper()
			got, _, _ := strings.Cut(cellText(k, "", p.worker, course), " [")
			if got != want {
				k.Errorf("%s, want %s", got, want)
			}
		}
		const trainings = "training_assignments"
		row := store.Row{"course_id": course, "worker_id": p.worker}
		waive := func() string {
			id := k.add(trainings, row)
			k.set(trainings, id, store.Row{"status": "waived", "close_reason": "Office"})
			return id
		}
		waive()
		state("waived false")
		certificate := k.add(trainings, store.Row{"course_id": course, "worker_id": p.worker, "status": "completed",
			"completed_at": "2024-01-10T12:00:00Z", "expires_on": "2025-01-10"})
		state("ended true")
		waive()
		state("waived false")
		k.now = k.now.AddDate(0, 0, 2) // completed after the waiver, in the older record
		k.set(trainings, certificate, store.Row{"completed_at": "2026-03-21T12:00:00Z", "expires_on": "2026-03-21"})
		state("ended true")
	})
}

// Who was to be trained anew, and failed or let the day pass, is a gap whatever
// certificate is held.
func TestOverdueRetrainingIsAGap(t *testing.T) {
	each(t, func(k *kit) {
		p := fill(k)
		course := k.add("courses", store.Row{"code": "A", "title": "A", "required_for": json.RawMessage(`["loader"]`)})
		const trainings = "training_assignments"
		k.add(trainings, store.Row{"course_id": course, "worker_id": p.worker, "status": "completed",
			"completed_at": "2026-01-01T12:00:00Z", "expires_on": "2027-01-01"})
		again := k.add(trainings, store.Row{"course_id": course, "worker_id": p.worker, "due_on": "2026-03-20"})
		want := func(what string) {
			k.Helper()
			of := `[{"by":"job_title","name":"Loader"}]`
			if got := cellText(k, "", p.worker, course); got != fmt.Sprintf(what, of+" 2027-01-01") {
				k.Errorf("%s, want "+what, got, of)
			}
		}
		want("valid false %s assigned")
		k.set(trainings, again, store.Row{"due_on": "2026-03-19"})
		want("valid true %s assigned")
		k.set(trainings, again, store.Row{"due_on": "2026-04-19", "status": "in_progress"})
		want("valid false %s in_progress")
		k.set(trainings, again, store.Row{"status": "failed"})
		want("valid true %s failed")
		k.call(trainingMatrix, `{"only":"gaps"}`).is("people.#", "1", "people.0.gaps", "1")
	})
}

// A shift that runs still asks for the course of its truck; one that has not begun
// asks for none.
func TestRunningShiftAsks(t *testing.T) {
	each(t, func(k *kit) {
		p := fill(k)
		course := k.add("courses", store.Row{"code": "K", "title": "K", "required_for": json.RawMessage(`["forklift"]`)})
		k.add("shifts", store.Row{"worker_id": p.colleague, "equipment_id": p.truck, "started_at": k.now.Add(-time.Hour)})
		if got := cellText(k, "", p.colleague, course); !strings.HasPrefix(got, "missing true") {
			k.Errorf("in a shift that runs: %s", got)
		}
		k.now = k.now.Add(-2 * time.Hour)
		if got := cellText(k, "", p.colleague, course); got != "nothing" {
			k.Errorf("before the shift: %s", got)
		}
	})
}

// A rule in force says over how many days shifts ask for training.
func TestMatrixGoesByTheRule(t *testing.T) {
	each(t, func(k *kit) {
		p := fill(k)
		course := k.add("courses", store.Row{"code": "K", "title": "K", "required_for": json.RawMessage(`["forklift"]`)})
		k.shift(p.colleague, 60, 8, store.Row{"equipment_id": p.truck})
		if got := cellText(k, "", p.colleague, course); got[:7] != "missing" {
			k.Errorf("without a rule: %s", got)
		}
		k.add("regulations", store.Row{"code": "L4", "title": "L4", "rule": json.RawMessage(`{
			"scope":{"entity_types":["worker"],"filter":{}},
			"evidence":{"of":"training_assignments","absence":"breach"},
			"metric":"training_coverage","window_days":30,"breach":{"op":"<","value":100}}`)})
		if got := cellText(k, "", p.colleague, course); got != "nothing" {
			k.Errorf("60 days ago, by a rule of 30: %s", got)
		}
	})
}

// Pages follow one another without a gap and without a repetition, also where only
// people with gaps are asked for; filters leave out who is not meant.
func TestMatrixPages(t *testing.T) {
	each(t, func(k *kit) {
		site := k.add("sites", store.Row{"code": "S", "name": "S", "country": "DE"})
		loading := k.add("courses", store.Row{"code": "A", "title": "A", "required_for": json.RawMessage(`["loader"]`)})
		k.add("courses", store.Row{"code": "B", "title": "B", "validity_months": 1})
		var loaders, all []string
		for i := range 450 {
			row := store.Row{"employee_no": fmt.Sprintf("%04d", i), "name": "W", "job_title": "Clerk"}
			if i%150 == 7 {
				row["job_title"], row["site_id"] = "Loader", site
			}
			id := k.add("workers", row)
			all = append(all, id)
			if i%150 == 7 {
				loaders = append(loaders, id)
			}
		}
		walk := func(asked map[string]any) (found []string, pages int) {
			k.Helper()
			for {
				body, _ := json.Marshal(asked)
				out := k.call(trainingMatrix, string(body))
				pages++
				for _, x := range out.at("people").([]any) {
					found = append(found, x.(map[string]any)["worker_id"].(string))
				}
				next, goesOn := out.at("next").(string)
				if !goesOn {
					return found, pages
				}
				asked["after"] = next
			}
		}
		for _, c := range []struct {
			asked map[string]any
			want  []string
			pages int
		}{
			{map[string]any{"limit": 200}, all, 3},
			{map[string]any{"limit": 150}, all, 3},
			{map[string]any{"only": "gaps"}, loaders, 3},
			{map[string]any{"only": "gaps", "limit": 1}, loaders, 4},
			{map[string]any{"only": "ending"}, nil, 3},
			{map[string]any{"site_id": site}, loaders, 1},
			{map[string]any{"job_title": "Loader"}, loaders, 1},
			{map[string]any{"job_title": "Loader", "only": "gaps", "course_id": loading}, loaders, 1},
			{map[string]any{"worker_id": all[3]}, all[3:4], 1},
		} {
			name := fmt.Sprint(c.asked)
			if found, pages := walk(c.asked); !slices.Equal(found, c.want) || pages != c.pages {
				k.Errorf("%s: %d people in %d pages, want %d in %d", name, len(found), pages, len(c.want), c.pages)
			}
		}

		k.as.TenantID = south
		k.call(trainingMatrix, `{"worker_id":"`+all[0]+`"}`).is("people.#", "0", "courses.#", "0")
	})
}

// crowdMatrix gives the tenant people who need 60 courses, each with so many
// trainings, most of them valid.
func (k *kit) crowdMatrix(people, trainings int) {
	k.Helper()
	const courses = 60
	for i := range courses {
		k.add("courses", store.Row{"id": rowID("0001", i), "code": fmt.Sprintf("C%02d", i), "title": "Course",
			"required_for": json.RawMessage(`["loader"]`)})
	}
	k.bulk("workers", []db.Column{uuidCol("tenant_id"), uuidCol("id"), timeCol("created_at"), timeCol("updated_at"),
		intCol("version"), textCol("employee_no"), textCol("name"), textCol("employment"), textCol("status"),
		textCol("job_title"), {Name: "supervised", Type: "boolean"}}, people,
		func(i int) []any {
			return []any{north, worker(i), k.now, k.now, 1, fmt.Sprintf("N%06d", i), "W", "employee", "active", "Loader", false}
		})
	k.bulk("training_assignments", []db.Column{uuidCol("tenant_id"), uuidCol("id"), timeCol("created_at"),
		timeCol("updated_at"), intCol("version"), uuidCol("worker_id"), uuidCol("course_id"), textCol("assignment_type"),
		textCol("status"), timeCol("completed_at"), textCol("expires_on")}, people*trainings,
		func(i int) []any {
			until := k.now.AddDate(0, 0, i%400-20).Format(time.DateOnly)
			return []any{north, rowID("0002", i), k.now, k.now, 1, worker(i / trainings), rowID("0001", i%trainings),
				"manual", "completed", k.now, until}
		})
}

// A page costs as many statements among 10,000 people as among 100, wherever it lies
// and whatever it looks for.
func TestMatrixIsFlat(t *testing.T) {
	each(t, func(k *kit) {
		count := func(asked string) int64 {
			k.Helper()
			k.statements.Store(0)
			if n := k.call(trainingMatrix, asked).at("people.#").(int); n != 25 {
				k.Errorf("%s: %d people", asked, n)
			}
			return k.statements.Load()
		}
		k.crowdMatrix(100, 1)
		few := count("")
		k.purge("training_assignments")
		k.purge("workers")
		k.purge("courses")
		k.crowdMatrix(10_000, 2)
		for _, asked := range []string{"", `{"after":"N009900"}`, `{"only":"gaps"}`, `{"job_title":"Loader"}`} {
			at := time.Now()
			if n := count(asked); n != few {
				k.Errorf("%s: %d statements among 10,000 people, %d among 100", asked, n, few)
			}
			k.Logf("%s: %d statements, %v", asked, few, time.Since(at))
		}
	})
}

// BenchmarkMatrix is a page of 25 people by 60 courses among 10,000 people with all
// of their 600,000 trainings.
func BenchmarkMatrix(b *testing.B) {
	for _, e := range []db.Engine{db.SQLite, db.PostgreSQL} {
		b.Run(string(e), func(b *testing.B) {
			k := open(b, dbtest.Options(b, e))
			k.crowdMatrix(10_000, 60)
			for _, asked := range []string{`{"after":"N%06d"}`, `{"after":"N%06d","only":"gaps"}`} {
				var took []time.Duration
				b.Run(asked, func(b *testing.B) {
					for i := 0; b.Loop(); i++ {
						at := time.Now()
						if _, err := k.ask(trainingMatrix, fmt.Sprintf(asked, i*37%9000)); err != nil {
							b.Fatal(err)
						}
						took = append(took, time.Since(at))
					}
				})
				slices.Sort(took)
				b.Logf("%s %s: p99 %v", e, asked, took[len(took)*99/100])
			}
		})
	}
}
