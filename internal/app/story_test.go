package app_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/testkit"
)

func callFunction[T any](t *testing.T, k *testkit.Kit, as, method, name string) (out T) {
	t.Helper()
	r := k.Call(testkit.Request{Method: method, Path: "/functions/v1/" + name, As: as})
	if r.Status != 200 || json.Unmarshal(r.Body, &out) != nil {
		t.Fatalf("%s: %d %s", name, r.Status, r.Body)
	}
	return out
}

// since writes a moment some days ago for a filter.
func since(days int) string {
	return url.QueryEscape(time.Now().UTC().AddDate(0, 0, -days).Format(time.RFC3339Nano))
}

// berlin is where the demonstration tenant's days and months begin.
func berlin(t *testing.T) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation("Europe/Berlin")
	testkit.Must(t, err)
	return loc
}

// sameDay waits while a day ends: what the server counted on one, the test would
// look for on the next.
func sameDay(t *testing.T) {
	t.Helper()
	for _, loc := range []*time.Location{time.UTC, berlin(t)} {
		now := time.Now().In(loc)
		if left := time.Date(now.Year(), now.Month(), now.Day()+1, 0, 0, 1, 0, loc).Sub(now); left < time.Minute {
			time.Sleep(left)
		}
	}
}

// The demonstration tenant tells one story: aisle A of the pick hall is where
// it goes wrong. Its score counts the incidents that are on record, the worst
// cluster holds it, the rules name what the records show, training is asked of
// those who work there, and the board that an administrator sees shows it at most
// risk.
func TestDemoTellsOneStory(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		sameDay(t)
		officer := testkit.As(actor.Safety)
		ids, bands := map[string]float64{}, map[string]int{}
		var full struct {
			Scores []struct {
				Type    string `json:"entity_type"`
				ID      string `json:"entity_id"`
				Score   float64
				Cluster string
				Inputs  struct {
					Incidents int     `json:"incident_count"`
					Near      int     `json:"near_miss_count"`
					Hours     float64 `json:"shift_hours"`
				}
			}
		}
		k.Post(officer, "/functions/v1/calculate-predictive-safety-scores", nil).JSON(t, &full)
		top := -1
		for i, x := range full.Scores {
			ids[x.ID] = x.Score
			bands[x.Cluster]++
			if top < 0 && x.Type == "zone" {
				top = i
			}
		}
		worst := full.Scores[top].ID
		theScoreCountsTheRecords(t, k, worst, full.Scores[top].Inputs.Incidents, full.Scores[top].Inputs.Near,
			full.Scores[top].Inputs.Hours)
		theClustersHoldTheScores(t, k, worst, ids, bands)
		theRulesNameTheRecords(t, k, ids)
		theTrainingReachesPeople(t, k, worst, ids[worst])
		theBoardAgrees(t, k, worst)
	})
}

func theScoreCountsTheRecords(t *testing.T, k *testkit.Kit, zone string, incidents, near int, hours float64) {
	t.Helper()
	type report struct {
		Kind     string
		Zone     string `json:"zone_id"`
		Entities []struct {
			Type string `json:"entity_type"`
			ID   string `json:"entity_id"`
		}
	}
	var gotIncidents, gotNear int
	for _, in := range testkit.List[report](t, k, testkit.As(actor.Safety),
		"incidents?select=kind,zone_id,entities&status=neq.void&limit=1000&occurred_at=gt."+since(30)) {
		about := in.Zone == zone
		for _, e := range in.Entities {
			about = about || e.Type == "zone" && e.ID == zone
		}
		switch {
		case !about:
		case in.Kind == "near_miss" || in.Kind == "hazard":
			gotNear++
		default:
			gotIncidents++
		}
	}
	var worked float64
	for _, s := range testkit.List[struct{ Hours float64 }](t, k, testkit.As(actor.Safety),
		"shifts?select=hours&limit=1000&zone_id=eq."+zone+"&ended_at=gt."+since(30)) {
		worked += s.Hours
	}
	if incidents == 0 || gotIncidents != incidents || gotNear != near || math.Abs(worked-hours) > 1e-6 {
		t.Errorf("the score counts %d incidents, %d near misses and %v hours; the records %d, %d and %v", incidents, near,
			hours, gotIncidents, gotNear, worked)
	}
}

func theClustersHoldTheScores(t *testing.T, k *testkit.Kit, worst string, scores map[string]float64,
	bands map[string]int) {
	t.Helper()
	out := callFunction[struct {
		Assigned int `json:"entities_assigned"`
		Clusters []struct {
			Name  string `json:"cluster_name"`
			Count int    `json:"entity_count"`
		}
	}](t, k, testkit.As(actor.Safety), "POST", "assign-risk-clusters")
	if out.Assigned != len(scores) || len(out.Clusters) != len(bands) {
		t.Errorf("%d entities in %d clusters, there are %d scores in %d bands", out.Assigned, len(out.Clusters), len(scores),
			len(bands))
	}
	for _, c := range out.Clusters {
		if bands[c.Name] != c.Count {
			t.Errorf("%s holds %d, the scores say %d", c.Name, c.Count, bands[c.Name])
		}
	}
	found := false
	for _, c := range testkit.List[struct {
		Members []struct {
			ID    string `json:"entity_id"`
			Score float64
		}
	}](t, k, testkit.As(actor.Safety), "risk_clusters?order=severity.desc&limit=1") {
		for _, m := range c.Members {
			found = found || m.ID == worst
			if scores[m.ID] != m.Score {
				t.Errorf("%s scored %v, in its cluster %v", m.ID, scores[m.ID], m.Score)
			}
		}
	}
	if !found {
		t.Error("the zone with the highest score is not in the worst cluster")
	}
}

func theRulesNameTheRecords(t *testing.T, k *testkit.Kit, scores map[string]float64) {
	t.Helper()
	officer := testkit.As(actor.Safety)
	k.Insert(t, officer, "regulations", map[string]any{"code": "STORY-CERT", "title": "Certificates kept up",
		"jurisdiction": "Global",
		"rule": json.RawMessage(`{"scope":{"entity_types":["worker"]},
			"evidence":{"of":"training_assignments","absence":"insufficient_data"},
			"metric":"expired_certifications","breach":{"op":">=","value":1}}`)})
	callFunction[any](t, k, officer, "POST", "check-compliance-rules")
	type event struct {
		ID         string `json:"entity_id"`
		Value      float64
		Status     string
		Regulation struct{ Code string } `json:"regulations"`
	}
	failing := map[string]map[string]float64{}
	// Events come oldest first: the last one of an entity is in force.
	for _, e := range testkit.List[event](t, k, officer,
		"compliance_events?select=entity_id,value,status,regulations(code)&order=id&limit=1000"+
			"&regulations.code=in.(STORY-CERT,GLOBAL-ACTIONS,GLOBAL-SCORE)&regulations=not.is.null") {
		if failing[e.Regulation.Code] == nil {
			failing[e.Regulation.Code] = map[string]float64{}
		}
		delete(failing[e.Regulation.Code], e.ID)
		if e.Status == "warning" || e.Status == "breach" {
			failing[e.Regulation.Code][e.ID] = e.Value
		}
	}
	late := testkit.List[struct{ ID string }](t, k, officer,
		"actions?select=id&priority=eq.critical&status=in.(open,in_progress,done)&due_at=lt."+since(0))
	var counted float64
	for _, n := range failing["GLOBAL-ACTIONS"] {
		counted += n
	}
	if len(late) == 0 || counted != float64(len(late)) {
		t.Errorf("%d critical actions are overdue, the rule says %v", len(late), counted)
	}
	for id, s := range scores {
		if _, named := failing["GLOBAL-SCORE"][id]; named != (s >= 75) {
			t.Errorf("%s scored %v; named by the rule on scores: %v", id, s, named)
		}
	}
	lapsed := lapsedCertificates(t, k)
	if len(lapsed) == 0 {
		t.Error("nobody's certificate has run out: the demonstration shows nothing")
	}
	if fmt.Sprint(failing["STORY-CERT"]) != fmt.Sprint(lapsed) {
		t.Errorf("certificates that ran out: the rule names %v, the records %v", failing["STORY-CERT"], lapsed)
	}
}

// lapsedCertificates counts, by worker in use, courses whose certificate ran out
// and was not renewed.
func lapsedCertificates(t *testing.T, k *testkit.Kit) map[string]float64 {
	t.Helper()
	type certificate struct {
		User    string `json:"user_id"`
		Course  string `json:"course_id"`
		Status  string
		Expires string `json:"expires_on"`
	}
	users := map[string]string{}
	for _, w := range testkit.List[struct {
		ID   string
		User string `json:"user_id"`
	}](t, k, testkit.As(actor.Safety), "workers?select=id,user_id&user_id=not.is.null&status=neq.left&archived_at=is.null") {
		users[w.User] = w.ID
	}
	today := time.Now().In(berlin(t)).Format(time.DateOnly)
	lapsed, valid := map[[2]string]bool{}, map[[2]string]bool{}
	for _, c := range testkit.List[certificate](t, k, testkit.As(actor.Safety),
		"training_assignments?select=user_id,course_id,status,expires_on&status=in.(completed,expired)&limit=1000") {
		key := [2]string{users[c.User], c.Course}
		if c.Status == "completed" && (c.Expires == "" || c.Expires >= today) {
			valid[key] = true
		} else if c.Expires < today {
			lapsed[key] = true
		}
	}
	out := map[string]float64{}
	for key := range lapsed {
		if key[0] != "" && !valid[key] {
			out[key[0]]++
		}
	}
	return out
}

func theTrainingReachesPeople(t *testing.T, k *testkit.Kit, zone string, score float64) {
	t.Helper()
	officer := testkit.As(actor.Safety)
	callFunction[any](t, k, officer, "POST", "auto-assign-training")
	again := callFunction[struct {
		Created int `json:"assignments_created"`
		Courses int `json:"courses_checked"`
	}](t, k, officer, "POST", "auto-assign-training")
	if again.Created != 0 {
		t.Errorf("assigned twice: %d", again.Created)
	}
	type asked struct {
		Course string `json:"course_id"`
		User   string `json:"user_id"`
	}
	has := map[asked]bool{}
	for _, a := range testkit.List[asked](t, k, officer,
		"training_assignments?select=course_id,user_id&status=in.(assigned,in_progress,failed,completed)&limit=1000") {
		has[a] = true
	}
	due := 0
	for _, c := range testkit.List[struct {
		ID        string
		Threshold float64  `json:"risk_threshold"`
		Types     []string `json:"entity_types"`
	}](t, k, officer, "courses?select=id,risk_threshold,entity_types&status=eq.active&risk_threshold=not.is.null") {
		forZones := len(c.Types) == 0
		for _, x := range c.Types {
			forZones = forZones || x == "zone"
		}
		if !forZones || score < c.Threshold {
			continue
		}
		for _, s := range testkit.List[struct {
			Worker struct {
				User string `json:"user_id"`
			} `json:"workers"`
		}](t, k, officer, "shifts?select=workers!inner(user_id)&limit=1000&workers.user_id=not.is.null&zone_id=eq."+zone+"&ended_at=gt."+since(30)) {
			due++
			if !has[asked{c.ID, s.Worker.User}] {
				t.Errorf("%s works where the score is %v and was not asked to take %s", s.Worker.User, score, c.ID)
			}
		}
	}
	if due == 0 {
		t.Error("nobody who signs in works in the worst zone: the demonstration shows nothing")
	}
}

func theBoardAgrees(t *testing.T, k *testkit.Kit, worst string) {
	t.Helper()
	board := callFunction[struct {
		User  string `json:"user_id"`
		Total int    `json:"total_points"`
		Zones []struct {
			ID    string `json:"zone_id"`
			Score float64
			Start string `json:"period_start"`
			Parts struct {
				Risk float64 `json:"predictive_score"`
			}
		} `json:"zone_scores"`
	}](t, k, testkit.As(actor.Admin), "GET", "safety-engagement")
	if len(board.Zones) == 0 {
		t.Fatal("the board is empty")
	}
	top := board.Zones[0]
	for _, z := range board.Zones {
		if z.Parts.Risk > top.Parts.Risk {
			top = z
		}
	}
	if top.ID != worst {
		t.Fatalf("the zone at most risk on the board is %+v, the highest score is that of %s", top, worst)
	}
	var sum float64
	start, err := time.ParseInLocation(time.DateOnly, top.Start, berlin(t))
	testkit.Must(t, err)
	from := start.UTC().Format(time.RFC3339)
	month := testkit.List[struct{ Score float64 }](t, k, testkit.As(actor.Safety),
		"predictive_scores?select=score&limit=1000&entity_id=eq."+worst+"&computed_at=gte."+from)
	for _, s := range month {
		sum += s.Score
	}
	if mean := math.Floor(10*sum/float64(len(month))+0.5) / 10; mean != top.Parts.Risk {
		t.Errorf("the mean score of the month is %v, the board says %v", mean, top.Parts.Risk)
	}
	points := 0
	for _, p := range testkit.List[struct{ Points int }](t, k, testkit.As(actor.Admin),
		"point_events?select=points&limit=1000&reversed_at=is.null&user_id=eq."+board.User) {
		points += p.Points
	}
	if points == 0 || points != board.Total {
		t.Errorf("%d points, the events add up to %d", board.Total, points)
	}
}
