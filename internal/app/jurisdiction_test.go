package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/demo"
	"holdfast/internal/testkit"
)

// regulationRow is a regulation as the collection shows it.
type regulationRow struct {
	ID, Code, Jurisdiction, Status string
	Follows                        bool `json:"follows_sites"`
}

// lawKit changes sites and reads which shipped regulations are in force.
type lawKit struct {
	*testing.T
	k    *testkit.Kit
	site map[string]string
}

func (l *lawKit) must(as, method, path string, body any, status int) {
	l.Helper()
	if r := l.k.Call(testkit.Request{Method: method, Path: path, As: as, Body: body}); r.Status != status {
		l.Fatalf("%s %s %v: %d %s, want %d", method, path, body, r.Status, r.Body, status)
	}
}

func (l *lawKit) makeSite(code string, country any) {
	l.Helper()
	l.site[code] = l.k.Insert(l.T, testkit.As(actor.Admin), "sites",
		map[string]any{"code": code, "name": code, "country": country})
}

func (l *lawKit) patchSite(code string, set map[string]any) {
	l.Helper()
	l.must(testkit.As(actor.Admin), "PATCH", "/v1/sites?id=eq."+l.site[code], set, http.StatusNoContent)
}

func (l *lawKit) patchTenant(set map[string]any) {
	l.Helper()
	l.must(testkit.As(actor.Owner), "PATCH", "/v1/tenants?id=eq."+demo.North, set, http.StatusNoContent)
}

func (l *lawKit) patchRule(code string, set map[string]any) {
	l.Helper()
	l.must(testkit.As(actor.Safety), "PATCH", "/v1/regulations?code=eq."+code, set, http.StatusNoContent)
}

func (l *lawKit) rules(filter string) []regulationRow {
	l.Helper()
	var list []regulationRow
	l.k.Get(testkit.As(actor.Safety), "/v1/regulations?order=code&archived_at=is.null"+filter).JSON(l.T, &list)
	return list
}

// inForce names the jurisdictions whose following regulations are all active; one of
// which only some are is marked.
func (l *lawKit) inForce() string {
	l.Helper()
	count, on := map[string]int{}, map[string]int{}
	for _, row := range l.rules("") {
		if !row.Follows && row.Jurisdiction != "Global" {
			continue
		}
		count[row.Jurisdiction]++
		if row.Status == "active" {
			on[row.Jurisdiction]++
		}
	}
	var out []string
	for jurisdiction, n := range on {
		if n < count[jurisdiction] {
			jurisdiction += " in part"
		}
		out = append(out, jurisdiction)
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// Shipped regulations are active where a site in use is, or where the tenant says that it
// is, and drafts elsewhere; global ones are always active.
func TestShippedRulesFollowTheSites(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		l := &lawKit{t, k, map[string]string{}}
		admin := testkit.As(actor.Admin)
		archived := map[string]any{"archived_at": "2026-01-01T00:00:00Z"}
		for _, c := range []struct {
			when string
			do   func()
			want string
		}{
			{"all sites are archived and nothing is named", func() {
				l.patchTenant(map[string]any{"jurisdictions": []string{}, "country": nil})
				l.must(admin, "PATCH", "/v1/sites?archived_at=is.null", archived, http.StatusNoContent)
			}, "EU Global"},
			{"a tenant without a site names the United States", func() {
				l.patchTenant(map[string]any{"jurisdictions": []string{"US"}})
			}, "Global US"},
			{"and nothing again: it keeps what it has", func() {
				l.patchTenant(map[string]any{"jurisdictions": []string{}})
			}, "Global US"},
			{"a site without a country says nothing", func() { l.makeSite("NOWHERE", nil) }, "Global US"},
			{"a site in France", func() { l.makeSite("LILLE", "FR") }, "EU Global"},
			{"another in the United States", func() { l.makeSite("TEXAS", "US") }, "EU Global US"},
			{"a second in the Union", func() { l.makeSite("OSLO", "NO") }, "EU Global US"},
			{"one in Japan", func() { l.makeSite("KOBE", "JP") }, "EU Global US"},
			{"the first of two in the Union is archived", func() { l.patchSite("LILLE", archived) }, "EU Global US"},
			{"and the second", func() { l.patchSite("OSLO", archived) }, "Global US"},
			{"one is in use again", func() { l.patchSite("LILLE", map[string]any{"archived_at": nil}) }, "EU Global US"},
			{"Texas moves to Puerto Rico", func() { l.patchSite("TEXAS", map[string]any{"country": "PR"}) }, "EU Global US"},
			{"and to Britain", func() { l.patchSite("TEXAS", map[string]any{"country": "GB"}) }, "EU Global"},
			{"the site in France is deleted", func() {
				l.must(admin, "DELETE", "/v1/sites?id=eq."+l.site["LILLE"], nil, http.StatusNoContent)
			}, "Global"},
			{"the tenant's country is that of sites without one", func() {
				l.patchTenant(map[string]any{"country": "DE"})
			}, "EU Global"},
			{"the tenant names the United States besides", func() {
				l.patchTenant(map[string]any{"jurisdictions": []string{"US"}})
			}, "EU Global US"},
			{"a name changes nothing", func() { l.patchSite("NOWHERE", map[string]any{"name": "Somewhere"}) }, "EU Global US"},
			{"several sites at once", func() {
				l.patchTenant(map[string]any{"jurisdictions": []string{}})
				l.must(admin, "PATCH", "/v1/sites?archived_at=is.null", map[string]any{"country": "US"}, http.StatusNoContent)
			}, "Global US"},
			{"the last site is archived: the tenant keeps what it has", func() {
				l.must(admin, "PATCH", "/v1/sites?archived_at=is.null", archived, http.StatusNoContent)
			}, "Global US"},
		} {
			c.do()
			if got := l.inForce(); got != c.want {
				t.Errorf("%s: %q are in force, want %q", c.when, got, c.want)
			}
		}
	})
}

// What somebody wrote, switched or changed stands, by whichever door, until they hand it
// back.
func TestRulesInSomebodysHandsStand(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		l := &lawKit{t, k, map[string]string{}}
		officer := testkit.As(actor.Safety)
		statusOf := func(code string) string {
			t.Helper()
			rows := l.rules("&code=eq." + code)
			if len(rows) != 1 {
				t.Fatalf("%s: %+v", code, rows)
			}
			return fmt.Sprint(rows[0].Status, " ", rows[0].Follows)
		}
		want := func(when string, states map[string]string) {
			t.Helper()
			for code, state := range states {
				if got := statusOf(code); got != state {
					t.Errorf("%s: %s is %s, want %s", when, code, got, state)
				}
			}
		}
		l.patchTenant(map[string]any{"jurisdictions": []string{}})
		l.must(testkit.As(actor.Admin), "PATCH", "/v1/sites?archived_at=is.null", map[string]any{"country": "DE"},
			http.StatusNoContent)

		l.patchRule("US-1904.32", map[string]any{"status": "active"})
		l.patchRule("EU-561-56H", map[string]any{"status": "draft"})
		l.patchRule("US-1904.29", map[string]any{"severity": "low"})
		l.patchRule("US-1904.41", map[string]any{"review_on": "2027-01-01"})
		k.Insert(t, officer, "regulations", map[string]any{"code": "OWN", "title": "Own", "jurisdiction": "US",
			"rule": json.RawMessage(`{"scope":{"entity_types":["zone"]},"metric":"incident_count",
				"evidence":{"of":"incidents","absence":"insufficient_data"},"breach":{"op":">","value":1}}`)})
		before := map[string]string{"US-1904.32": "active false", "EU-561-56H": "draft false", "US-1904.29": "draft false",
			"US-1904.41": "draft true", "OWN": "active false"}
		want("before", before)

		// A file is a person's hand too, and taken back it is as if there had been none.
		job := importUpdates(t, k, officer, "regulations", "code,status\nEU-561-9H,draft\n")
		want("by a file", map[string]string{"EU-561-9H": "draft false"})
		if r := k.Post(testkit.As(actor.Admin), "/functions/v1/rollback-import-job", map[string]any{"job_id": job}); r.Status != 200 {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		want("taken back", map[string]string{"EU-561-9H": "active true"})

		l.makeSite("TEXAS", "US")
		before["US-1904.41"] = "active true"
		before["US-1904.39-8H"] = "active true"
		want("with a site in the United States", before)

		l.must(testkit.As(actor.Admin), "PATCH", "/v1/sites?archived_at=is.null", map[string]any{"country": "US"},
			http.StatusNoContent)
		before["EU-561-9H"], before["EU-2003-88-48H"] = "draft true", "draft true"
		want("with all there", before)

		l.patchRule("EU-561-56H", map[string]any{"status": "active"})
		want("switched by hand", map[string]string{"EU-561-56H": "active false"})
		l.patchRule("EU-561-56H", map[string]any{"follows_sites": true})
		want("handed back", map[string]string{"EU-561-56H": "draft true"})

		var log []struct{ Before, After struct{ Status string } }
		k.Get(testkit.As(actor.Owner), "/v1/audit?action=eq.regulations.update&order=at.desc&entity_id=eq."+
			l.rules("&code=eq.EU-2003-88-48H")[0].ID).JSON(t, &log)
		if len(log) == 0 || log[0].After.Status != "draft" {
			t.Errorf("the audit log of the switch says %+v", log)
		}
	})
}

// Whoever names the status of a rule has it in their own hands, also the one that it has;
// what says two things at once is refused, and a rule that somebody wrote never follows.
func TestHandsOnRules(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		l := &lawKit{t, k, map[string]string{}}
		officer := testkit.As(actor.Safety)
		l.patchTenant(map[string]any{"jurisdictions": []string{}})
		l.must(testkit.As(actor.Admin), "PATCH", "/v1/sites?archived_at=is.null", map[string]any{"country": "DE"},
			http.StatusNoContent)

		const code = "EU-561-9H"
		type row = map[string]any
		for _, c := range []struct {
			when  string
			set   row
			code  int
			state string // of the rule afterwards
		}{
			{"the review of a rule that follows", row{"review_on": "2027-01-01"}, 204, "active true"},
			{"the status that it has", row{"status": "active"}, 204, "active false"},
			{"another", row{"status": "draft"}, 204, "draft false"},
			{"a status, and handed back", row{"status": "draft", "follows_sites": true}, 400, "draft false"},
			{"another status, and handed back", row{"status": "active", "follows_sites": true}, 400, "draft false"},
			{"handed back", row{"follows_sites": true}, 204, "active true"},
			{"handed back again", row{"follows_sites": true}, 204, "active true"},
			{"all that it is", row{"status": "active", "follows_sites": true}, 204, "active true"},
			{"a draft that follows", row{"status": "draft", "follows_sites": true}, 400, "active true"},
			{"a draft that does not", row{"status": "draft", "follows_sites": false}, 204, "draft false"},
			{"handed back with a review", row{"follows_sites": true, "review_on": "2027-02-01"}, 204, "active true"},
		} {
			r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/regulations?code=eq." + code, As: officer,
				Body: c.set})
			if r.Status != c.code || r.Status == 400 && !strings.Contains(string(r.Body), "follows_sites") {
				t.Errorf("%s: %d %s, want %d", c.when, r.Status, r.Body, c.code)
			}
			got := l.rules("&code=eq." + code)[0]
			if state := fmt.Sprint(got.Status, " ", got.Follows); state != c.state {
				t.Errorf("%s: the rule is %s, want %s", c.when, state, c.state)
			}
		}

		own := row{"code": "OWN", "title": "Own", "jurisdiction": "US", "follows_sites": true,
			"rule": json.RawMessage(`{"scope":{"entity_types":["zone"]},"metric":"incident_count",
				"evidence":{"of":"incidents","absence":"insufficient_data"},"breach":{"op":">","value":1}}`)}
		r := k.Post(officer, "/v1/regulations", own)
		if r.Status != http.StatusBadRequest || !strings.Contains(string(r.Body), "follows_sites") {
			t.Errorf("a rule of one's own that follows the sites: %d %s", r.Status, r.Body)
		}
		delete(own, "follows_sites")
		k.Insert(t, officer, "regulations", own)
		l.must(officer, "PATCH", "/v1/regulations?code=eq.OWN", row{"follows_sites": true}, http.StatusBadRequest)
	})
}

// importUpdates uploads, processes and applies a file that changes what is there, and
// returns its job.
func importUpdates(t *testing.T, k *testkit.Kit, as, target, file string) string {
	t.Helper()
	body, kind := form(t, target, target+".csv", file)
	r := k.Call(testkit.Request{Method: "POST", Path: "/v1/import-jobs", As: as, Body: body,
		Header: map[string]string{"Content-Type": kind}})
	var job struct{ ID string }
	if r.JSON(t, &job); r.Status != 201 {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	set := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/import_jobs?id=eq." + job.ID, As: as,
		Body: map[string]any{"options": map[string]any{"mode": "update"}}})
	if set.Status != 204 {
		t.Fatalf("%d %s", set.Status, set.Body)
	}
	for _, step := range []string{"process-import-job", "apply-import-job"} {
		if r := k.Post(as, "/functions/v1/"+step, map[string]any{"job_id": job.ID}); r.Status != 200 {
			t.Fatalf("%s: %d %s", step, r.Status, r.Body)
		}
	}
	return job.ID
}
