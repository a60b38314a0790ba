package app_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/config"
	"holdfast/internal/testkit"
)

// scoreRule adds a rule by which the score of everybody is a warning.
func scoreRule(t *testing.T, k *testkit.Kit, code string) string {
	t.Helper()
	return k.Insert(t, testkit.As(actor.Safety), "regulations",
		map[string]any{"code": code, "title": code, "rule": json.RawMessage(
			`{"scope":{"entity_types":["zone","worker","driver"]},
			"evidence":{"of":"predictive_scores","absence":"insufficient_data"},
			"metric":"predictive_score","warn":{"op":">=","value":0},"breach":{"op":">=","value":50}}`)})
}

// What a rule says of a person's score is for those who may read the score: in
// the collection, whatever way it is asked, and in the answer of a check.
func TestVerdictsOnScores(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		officer := testkit.As(actor.Safety)
		callFunction[any](t, k, officer, "POST", "calculate-predictive-safety-scores")
		rule := scoreRule(t, k, "BAND")
		callFunction[any](t, k, officer, "POST", "check-compliance-rules")
		const people = "entity_type=in.(worker,driver)"
		events := "/v1/compliance_events?regulation_id=eq." + rule
		if rows := testkit.List[any](t, k, officer, strings.TrimPrefix(events, "/v1/")+"&select=id&"+people); len(rows) == 0 {
			t.Fatal("the safety officer reads no verdicts on people")
		}
		worker := first(t, k, events+"&select=entity_id&entity_type=eq.worker", "entity_id")

		for _, role := range []actor.Role{actor.Manager, actor.Viewer} {
			as := testkit.As(role)
			if rows := testkit.List[any](t, k, as, strings.TrimPrefix(events,
				"/v1/")+"&select=id&entity_type=eq.zone"); len(rows) == 0 {
				t.Errorf("%s reads no verdicts on places", role)
			}
			for _, path := range []string{events + "&" + people, events + "&entity_id=eq." + worker, events + "&about=eq.score",
				events + "&select=entity_id,status&status=neq.compliant&" + people} {
				if r := k.Get(as, path); r.Status != 200 || strings.TrimSpace(string(r.Body)) != "[]" {
					t.Errorf("%s: %s: %d %.200s", role, path, r.Status, r.Body)
				}
			}
			counted := k.Call(testkit.Request{Method: "HEAD", Path: events + "&" + people, As: as,
				Header: map[string]string{"Prefer": "count=exact"}})
			if got := counted.Header.Get("Content-Range"); !strings.HasSuffix(got, "/0") {
				t.Errorf("%s counts %s", role, got)
			}
			file := k.Call(testkit.Request{Method: "GET", Path: events, As: as, Header: map[string]string{"Accept": "text/csv"}})
			if file.Status != 200 || strings.Contains(string(file.Body), worker) ||
				strings.Contains(string(file.Body), ",worker,") {
				t.Errorf("%s: the file names people: %d %.300s", role, file.Status, file.Body)
			}
			if r := k.Get(as, "/v1/regulations?id=eq."+rule+"&select=compliance_events(entity_id)"); strings.Contains(string(r.Body), worker) {
				t.Errorf("%s: embedded verdicts name people: %.300s", role, r.Body)
			}
		}

		// A check by a manager finds them, keeps them, and does not show them.
		second := scoreRule(t, k, "BAND-2")
		r := k.Post(testkit.As(actor.Manager), "/functions/v1/check-compliance-rules",
			map[string]any{"entity_type": "worker"})
		var out struct {
			Created int `json:"events_created"`
			Events  []any
		}
		r.JSON(t, &out)
		if r.Status != 200 || out.Created != len(out.Events) || strings.Contains(string(r.Body), second) {
			t.Errorf("a manager's check: %d %.500s", r.Status, r.Body)
		}
		r = k.Post(testkit.As(actor.Manager), "/functions/v1/check-compliance-rules", map[string]any{"entity_id": worker})
		var sum struct {
			Summary struct {
				Total int `json:"total_regulations"`
			}
		}
		r.JSON(t, &sum)
		var whole = sum
		k.Post(officer, "/functions/v1/check-compliance-rules", map[string]any{"entity_id": worker}).JSON(t, &whole)
		if sum.Summary.Total >= whole.Summary.Total {
			t.Errorf("a manager's check of one person counts %d rules of %d, those on the score among them", sum.Summary.Total,
				whole.Summary.Total)
		}
	})
}

// stream follows the events of a caller and returns what came so far.
func stream(t *testing.T, k *testkit.Kit, as string) func() string {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	t.Cleanup(end)
	req, err := http.NewRequestWithContext(ctx, "GET", k.URL+"/v1/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+k.Token(as))
	res, err := http.DefaultClient.Do(req)
	if err != nil || res.StatusCode != 200 {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var b strings.Builder
	go func() {
		defer res.Body.Close()
		for sc := bufio.NewScanner(res.Body); sc.Scan(); {
			mu.Lock()
			fmt.Fprintln(&b, sc.Text())
			mu.Unlock()
		}
	}()
	return func() string { mu.Lock(); defer mu.Unlock(); return b.String() }
}

// Events that tell a person's score reach the streams of those who may read it,
// and a webhook for which an administrator switched them on.
func TestEventsOnScores(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		officer, admin := testkit.As(actor.Safety), testkit.As(actor.Admin)
		callFunction[any](t, k, officer, "POST", "calculate-predictive-safety-scores")
		callFunction[any](t, k, officer, "POST", "assign-risk-clusters")

		var mu sync.Mutex
		sent := map[string]string{}
		sink := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			mu.Lock()
			defer mu.Unlock()
			sent[r.URL.Path] += string(b) + "\n"
		}))
		defer sink.Close()
		ids := map[string]string{}
		for _, path := range []string{"/plain", "/scores"} {
			var made struct{ ID string }
			r := k.Post(admin, "/v1/webhooks", map[string]any{"url": sink.URL + path})
			if r.JSON(t, &made); r.Status != 201 {
				t.Fatalf("%d %s", r.Status, r.Body)
			}
			ids[path] = made.ID
		}
		switchOn := func(as string) int {
			return k.Call(testkit.Request{Method: "PATCH", Path: "/v1/webhooks?id=eq." + ids["/scores"], As: as,
				Body: map[string]any{"people_scores": true}}).Status
		}
		if got := switchOn(officer); got != 403 {
			t.Errorf("the safety officer switches scores on: %d", got)
		}
		if got := switchOn(admin); got >= 300 {
			t.Fatalf("an administrator switches scores on: %d", got)
		}
		seen := map[string]func() string{"officer": stream(t, k, officer), "viewer": stream(t, k, testkit.As(actor.Viewer)),
			"manager": stream(t, k, testkit.As(actor.Manager))}

		rule := scoreRule(t, k, "BAND")
		k.Insert(t, admin, "settings", map[string]any{"section": "scoring", "key": "cut_medium", "value": 1})
		callFunction[any](t, k, officer, "POST", "check-compliance-rules")
		callFunction[any](t, k, officer, "POST", "assign-risk-clusters")
		seen["plain"] = func() string { mu.Lock(); defer mu.Unlock(); return sent["/plain"] }
		seen["scores"] = func() string { mu.Lock(); defer mu.Unlock(); return sent["/scores"] }
		const person, place = `"entity_type":"worker"`, `"entity_type":"zone"`
		within := func(name, part string) {
			for range 600 {
				if strings.Contains(seen[name](), part) {
					return
				}
				time.Sleep(50 * time.Millisecond)
			}
			t.Errorf("%s: nothing with %s", name, part)
		}
		for _, name := range []string{"officer", "scores"} {
			within(name, person)
		}
		for _, name := range []string{"viewer", "manager", "plain"} {
			within(name, place)
		}
		time.Sleep(500 * time.Millisecond)
		for _, name := range []string{"viewer", "manager", "plain"} {
			for line := range strings.Lines(seen[name]()) {
				// A verdict on somebody's hours is not one on a score.
				isScore := strings.Contains(line, "score.cluster_changed") || strings.Contains(line, rule)
				if isScore && (strings.Contains(line, person) || strings.Contains(line, `"entity_type":"driver"`)) {
					t.Errorf("%s is sent %s", name, line)
					break
				}
			}
		}
	}, func(c *config.Config) { c.WebhookPrivate = true })
}

// Assignments say nothing of a score to those who may not read it: neither the
// threshold nor whose score it was.
func TestAssignmentsTellNoBand(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		officer := testkit.As(actor.Safety)
		k.Insert(t, officer, "courses", map[string]any{"code": "BAND", "title": "Band", "risk_threshold": 1})
		callFunction[any](t, k, officer, "POST", "calculate-predictive-safety-scores")
		callFunction[any](t, k, officer, "POST", "auto-assign-training")
		reasons := map[string]bool{}
		for _, role := range []actor.Role{actor.Manager, actor.Viewer} {
			as := testkit.As(role)
			rows := testkit.List[struct {
				Reason string  `json:"assignment_reason"`
				Score  *string `json:"source_score_id"`
				Course struct {
					Threshold *float64 `json:"risk_threshold"`
				} `json:"courses"`
			}](t, k, as, "training_assignments?select=assignment_reason,source_score_id,courses!inner(risk_threshold)&courses.code=eq.BAND")
			if len(rows) == 0 {
				t.Fatalf("%s reads no assignments", role)
			}
			for _, x := range rows {
				reasons[x.Reason] = true
				if x.Score != nil || x.Course.Threshold != nil {
					t.Errorf("%s reads %+v", role, x)
				}
			}
			for _, path := range []string{"courses?risk_threshold=gte.1", "courses?select=code&order=risk_threshold",
				"training_assignments?source_score_id=not.is.null"} {
				if r := k.Get(as, "/v1/"+path); r.Status < 400 || r.Status >= 500 {
					t.Errorf("%s: %s: %d", role, path, r.Status)
				}
			}
		}
		if len(reasons) != 1 {
			t.Errorf("reasons differ: %v", reasons)
		}
	})
}
