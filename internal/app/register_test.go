package app_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/demo"
	"holdfast/internal/localtime"
	"holdfast/internal/testkit"
)

// columns are values of a record by column.
type columns = map[string]any

// register is a risk register of tenant north with a unit at a site.
type register struct {
	*testkit.Kit
	t                *testing.T
	site, unit, zone string
}

func onRegister(t *testing.T, f func(t *testing.T, k *register)) {
	testkit.Run(t, func(t *testing.T, kit *testkit.Kit) {
		k := &register{Kit: kit, t: t}
		admin := testkit.As(actor.Admin)
		k.site = kit.Insert(t, admin, "sites", columns{"code": "LILLE", "name": "Lille", "country": "FR"})
		k.zone = kit.Insert(t, admin, "zones", columns{"code": "LIL-DOCK", "name": "Quai", "site_id": k.site})
		k.unit = kit.Insert(t, testkit.As(actor.Safety), "work_units", columns{"code": "UT-QUAI", "name": "Quai",
			"zone_ids": []string{k.zone}, "headcount": 14, "activities": []string{"Chargement"},
			"equipment_kinds": []string{"forklift"}})
		f(t, k)
	})
}

// entry is a complete risk of the unit, with other values for some fields.
func (k *register) entry(other columns) columns {
	row := columns{"unit_id": k.unit, "hazard_family": "powered_truck", "situation": "Piétons au quai",
		"severity_before": "critical", "likelihood_before": 4, "measure": "Barrières", "control_level": "engineer",
		"severity_after": "critical", "likelihood_after": 1, "owner_user_id": accountOf(k.t, actor.Safety)}
	for name, v := range other {
		row[name] = v
		if v == nil {
			delete(row, name)
		}
	}
	return row
}

func (k *register) patch(as, path string, set columns) testkit.Response {
	return k.Call(testkit.Request{Method: "PATCH", Path: "/v1/" + path, As: as, Body: set, Header: whole})
}

// dayFromNow is a day of the tenant by its distance from today.
func (k *register) dayFromNow(days int) string {
	zone := localtime.Zone(first(k.t, k.Kit, "/v1/tenants?select=timezone&slug=eq.north", "timezone"))
	return localtime.DateOf(time.Now(), zone).AddDays(days).String()
}

// southern is the account of somebody who is no member of tenant north.
func southern(t *testing.T) string {
	t.Helper()
	for _, u := range demo.Users() {
		if u.Email == "admin@south.example" {
			return u.ID
		}
	}
	t.Fatal("nobody is in tenant south alone")
	return ""
}

// A risk that cannot be right is refused by the name of its field, and nothing is written.
func TestRegisterRefuses(t *testing.T) {
	onRegister(t, func(t *testing.T, k *register) {
		officer := testkit.As(actor.Safety)
		elsewhere := k.Insert(t, testkit.As(actor.Admin), "sites", columns{"code": "LYON", "name": "Lyon"})
		archived := k.Insert(t, officer, "work_units", columns{"code": "OLD", "name": "Old",
			"archived_at": "2026-01-01T00:00:00Z"})
		others := k.Insert(t, "admin@south.example", "work_units", columns{"code": "S", "name": "South"})
		checked := columns{"measure_done_on": k.dayFromNow(-5), "effect_checked_on": k.dayFromNow(-2),
			"effective": true}
		with := func(other columns) columns {
			row := k.entry(checked)
			for name, v := range other {
				row[name] = v
			}
			return row
		}
		const risks = "risk_entries"
		for _, c := range []struct {
			what, resource string
			row            columns
			status         int
			field          string
		}{
			{"a likelihood after above before", risks, k.entry(columns{"likelihood_after": 5}), 400,
				"likelihood_after"},
			{"a severity after above before", risks, k.entry(columns{"severity_before": "high"}), 400,
				"severity_after"},
			{"an after without a before", risks, k.entry(columns{"likelihood_before": nil}), 400, "likelihood_after"},
			{"a likelihood off the scale", risks, k.entry(columns{"likelihood_before": 6}), 400, "likelihood_before"},
			{"a review in the past", risks, k.entry(columns{"review_on": k.dayFromNow(-1)}), 400, "review_on"},
			{"a check before the measure", risks, with(columns{"effect_checked_on": k.dayFromNow(-6)}), 400,
				"effect_checked_on"},
			{"a check of what is not made", risks, with(columns{"measure_done_on": nil}), 400, "effect_checked_on"},
			{"a check to come", risks, with(columns{"effect_checked_on": k.dayFromNow(1)}), 400, "effect_checked_on"},
			{"a check without a result", risks, with(columns{"effective": nil}), 400, "effective"},
			{"a measure of blanks", risks, k.entry(columns{"measure": " \t "}), 400, "measure"},
			{"a situation of blanks", risks, k.entry(columns{"situation": "  "}), 400, "situation"},
			{"a measure that is not there", risks, k.entry(columns{"measure": nil}), 400, "control_level"},
			{"a family off the list", risks, k.entry(columns{"hazard_family": "ghosts"}), 400, "hazard_family"},
			{"a priority of the caller's", risks, k.entry(columns{"priority": "low"}), 400, "priority"},
			{"a rating of the caller's", risks, k.entry(columns{"rating_now": 1}), 400, "rating_now"},
			{"an archived unit", risks, k.entry(columns{"unit_id": archived}), 409, "unit_id"},
			{"another tenant's unit", risks, k.entry(columns{"unit_id": others}), 409, "unit_id"},
			{"another tenant's member", risks, k.entry(columns{"owner_user_id": southern(t)}), 409,
				"owner_user_id"},
			{"zones of another site", "work_units", columns{"code": "X", "name": "X", "site_id": elsewhere,
				"zone_ids": []string{k.zone}}, 400, "zone_ids"},
			{"another tenant's zone", "work_units", columns{"code": "X", "name": "X",
				"zone_ids": []string{k.Foreign(t, "zones")}}, 409, "zone_ids"},
		} {
			wants(t, c.what, k.Post(officer, "/v1/"+c.resource, c.row), c.status, c.field)
		}
		if n := k.Counted(t, "risk_entries WHERE unit_id = '"+k.unit+"'"); n != 0 {
			t.Errorf("%d risks were written, want none", n)
		}
		id := k.Insert(t, officer, risks, k.entry(columns{"review_on": k.dayFromNow(0)}))
		wants(t, "a move to a site that the zones are not at",
			k.patch(officer, "work_units?id=eq."+k.unit, columns{"site_id": elsewhere}), 400, "zone_ids")
		wants(t, "a priority set later",
			k.patch(officer, "risk_entries?id=eq."+id, columns{"priority": "low"}), 400, "priority")
		for role, want := range map[actor.Role]int{actor.Manager: 403, actor.Operator: 403, actor.Viewer: 403,
			actor.Admin: 200} {
			r := k.Post(testkit.As(role), "/v1/risk_entries", k.entry(nil))
			wants(t, "a risk entered by "+string(role), r, want, "")
		}
	})
}

// The server rates a risk and gives it its priority: by what is in place today, until a check
// finds that the measure works.
func TestRegisterPriority(t *testing.T) {
	onRegister(t, func(t *testing.T, k *register) {
		officer := testkit.As(actor.Safety)
		type rated struct {
			Before   *int64  `json:"rating_before"`
			After    *int64  `json:"rating_after"`
			Now      *int64  `json:"rating_now"`
			Priority *string `json:"priority"`
			Scale    string  `json:"scale"`
		}
		made := columns{"measure_done_on": k.dayFromNow(-9), "effect_checked_on": k.dayFromNow(0)}
		for _, c := range []struct {
			what     string
			row      columns
			now      int64
			priority string
		}{
			{"critical and likely", columns{}, 16, "critical"},
			{"a measure that works", columns{"effective": true}, 4, "medium"},
			{"a measure that does not", columns{"effective": false}, 16, "critical"},
			{"high", columns{"severity_before": "medium", "severity_after": "low", "likelihood_before": 5}, 10, "high"},
			{"medium", columns{"severity_before": "low", "severity_after": "low", "likelihood_before": 5}, 5, "medium"},
			{"low", columns{"severity_before": "low", "severity_after": "low"}, 4, "low"},
			{"none", columns{"severity_before": nil, "severity_after": nil}, 0, ""},
		} {
			row := k.entry(c.row)
			if c.row["effective"] != nil {
				for name, v := range made {
					row[name] = v
				}
			}
			id := k.Insert(t, officer, "risk_entries", row)
			got := testkit.List[rated](t, k.Kit, officer, "risk_entries?id=eq."+id)[0]
			if got.Scale != "severity_4_likelihood_5" || c.now == 0 && (got.Now != nil || got.Priority != nil) ||
				c.now != 0 && (got.Now == nil || *got.Now != c.now) ||
				c.now != 0 && (got.Priority == nil || *got.Priority != c.priority) {
				text, _ := json.Marshal(got)
				t.Errorf("%s: %s, want %d %s", c.what, text, c.now, c.priority)
			}
		}
	})
}

// What a check found holds for what was checked: a change of the measure, of its day or of what
// is expected of it forgets the check, unless the change names a new one.
func TestRegisterCheckHoldsForItsMeasure(t *testing.T) {
	onRegister(t, func(t *testing.T, k *register) {
		officer := testkit.As(actor.Safety)
		type checked struct {
			On       *string `json:"effect_checked_on"`
			Works    *bool   `json:"effective"`
			Now      int64   `json:"rating_now"`
			Priority string  `json:"priority"`
			Measure  string  `json:"measure"`
		}
		for _, c := range []struct {
			what   string
			set    columns
			isKept bool
			now    int64
		}{
			{"another measure", columns{"measure": "Feux"}, false, 16},
			{"another severity", columns{"severity_after": "high"}, false, 16},
			{"another likelihood", columns{"likelihood_after": 2}, false, 16},
			{"another day", columns{"measure_done_on": k.dayFromNow(-8)}, false, 16},
			{"no day", columns{"measure_done_on": nil}, false, 16},
			{"a new check with it", columns{"likelihood_after": 2, "effect_checked_on": k.dayFromNow(0)}, true, 8},
			{"another situation", columns{"situation": "Piétons"}, true, 4},
			{"the same measure with blanks", columns{"measure": " Barrières "}, true, 4},
		} {
			id := k.Insert(t, officer, "risk_entries", k.entry(columns{"measure_done_on": k.dayFromNow(-9),
				"effect_checked_on": k.dayFromNow(-5), "effective": true}))
			wants(t, c.what, k.patch(officer, "risk_entries?id=eq."+id, c.set), 200, "")
			got := testkit.List[checked](t, k.Kit, officer, "risk_entries?id=eq."+id)[0]
			isKept := got.On != nil && got.Works != nil && *got.Works
			if isKept != c.isKept || (got.On == nil) != (got.Works == nil) || got.Now != c.now ||
				strings.TrimSpace(got.Measure) != got.Measure {
				text, _ := json.Marshal(got)
				t.Errorf("%s: %s, want a check that is kept %v and the rating %d", c.what, text, c.isKept, c.now)
			}
		}
	})
}

// A gap is named and refuses a publication that does not accept it: a responsible person who is
// no active member any more, and a unit without a site in the register of a site.
func TestRegisterGaps(t *testing.T) {
	onRegister(t, func(t *testing.T, k *register) {
		officer, admin := testkit.As(actor.Safety), testkit.As(actor.Admin)
		k.Insert(t, officer, "risk_entries", k.entry(columns{"owner_user_id": accountOf(t, actor.Manager)}))
		here, everywhere := columns{"site_id": k.site, "reason": "yearly"}, columns{"reason": "yearly"}
		refuses := func(what string, in columns, want string) {
			t.Helper()
			_, r := k.publish(in, 409)
			wants(t, what, r, 409, want)
		}
		k.publish(here, 200)

		member := "members?user_id=eq." + accountOf(t, actor.Manager)
		const hasLeft = "of UT-QUAI has a responsible person who has left"
		wants(t, "a member suspended", k.patch(admin, member, columns{"status": "suspended"}), 200, "")
		refuses("a suspended person responsible", here, hasLeft)
		refuses("the same in the whole organisation", everywhere, hasLeft)
		wants(t, "a member back", k.patch(admin, member, columns{"status": "active"}), 200, "")
		k.publish(here, 200)

		k.Insert(t, officer, "work_units", columns{"code": "UT-ROUTE", "name": "Route"})
		k.publish(everywhere, 200)
		refuses("a unit without a site", here, "UT-ROUTE is at no site")
		gone := testkit.Request{Method: "DELETE", Path: "/v1/" + member, As: admin}
		wants(t, "a membership that ends", k.Call(gone), 200, "")
		refuses("who has left", here, hasLeft+", UT-ROUTE is at no site")
		accepted := columns{"site_id": k.site, "reason": "yearly", "accept_gaps": true}
		if v, _ := k.publish(accepted, 200); v.Gaps != 2 {
			t.Errorf("the version lists %d gaps, want 2", v.Gaps)
		} else {
			text, _ := readSheet(t, k.Kit, officer, "/v1/risk-register-versions/"+v.ID+"/risk-register.pdf?language=en")
			holdSaid(t, "the sheet", text, []string{"the responsible person has left", "UT-ROUTE",
				"the unit is at no site"})
		}
	})
}

// What is archived is left as it is: a site that is archived has no new version, and the risks
// of an archived unit can only be archived.
func TestRegisterLeavesWhatIsArchived(t *testing.T) {
	onRegister(t, func(t *testing.T, k *register) {
		officer := testkit.As(actor.Safety)
		id := k.Insert(t, officer, "risk_entries", k.entry(nil))
		const moment = "2026-01-01T00:00:00Z"
		archive := func(path string, at any) testkit.Response {
			return k.patch(testkit.As(actor.Admin), path, columns{"archived_at": at})
		}
		site, unit, risk := "sites?id=eq."+k.site, "work_units?id=eq."+k.unit, "risk_entries?id=eq."+id
		wants(t, "an archived site", archive(site, moment), 200, "")
		_, r := k.publish(columns{"site_id": k.site, "reason": "yearly"}, 409)
		wants(t, "a version of an archived site", r, 409, "site_id names LILLE, which is archived")
		wants(t, "a site in use again", archive(site, nil), 200, "")
		k.publish(columns{"site_id": k.site, "reason": "yearly"}, 200)

		wants(t, "an archived unit", archive(unit, moment), 200, "")
		wants(t, "a change of its risk", k.patch(officer, risk, columns{"likelihood_before": 5}), 409, "UT-QUAI")
		wants(t, "its risk closed", archive(risk, moment), 200, "")
		wants(t, "its risk opened again", archive(risk, nil), 409, "unit_id")
		wants(t, "a unit in use again", archive(unit, nil), 200, "")
		wants(t, "its risk in use again", archive(risk, nil), 200, "")
	})
}

// versionRow is a version as a leader reads it.
type versionRow struct {
	ID      string          `json:"id"`
	Number  int64           `json:"number"`
	SHA256  string          `json:"sha256"`
	Content json.RawMessage `json:"content"`
	Keep    string          `json:"keep_until"`
	Gaps    int64           `json:"gaps"`
	Entries int64           `json:"entries"`
}

func (k *register) publish(in columns, want int) (v versionRow, r testkit.Response) {
	k.t.Helper()
	var out struct{ Version versionRow }
	r = k.Say(k.t, testkit.As(actor.Safety), "publish_register", in, want, nil)
	if want == http.StatusOK {
		r.JSON(k.t, &out)
	}
	return out.Version, r
}

// A version is what the register said: numbered by site, with the hash of its content, and as
// it was when the register has moved on.
func TestRegisterVersion(t *testing.T) {
	onRegister(t, func(t *testing.T, k *register) {
		officer := testkit.As(actor.Safety)
		yearly := func(other columns) columns {
			in := columns{"site_id": k.site, "reason": "yearly"}
			for name, v := range other {
				in[name] = v
			}
			return in
		}
		_, r := k.publish(yearly(nil), 409)
		wants(t, "a register without risks", r, 409, "no risk")

		whole := k.Insert(t, officer, "risk_entries", k.entry(nil))
		gap := k.Insert(t, officer, "risk_entries", k.entry(columns{"severity_before": nil, "severity_after": nil,
			"owner_user_id": nil, "situation": "Bruit <&> \u2028 ü"}))
		no := first(t, k.Kit, "/v1/risk_entries?select=entry_no&id=eq."+gap, "entry_no")
		_, r = k.publish(yearly(nil), 409)
		wants(t, "gaps", r, 409, no+" of UT-QUAI has no rating and has nobody responsible")
		_, r = k.publish(yearly(columns{"accept_gaps": true, "dry_run": true}), 200)
		wants(t, "gaps of a dry run", r, 200, no)
		wants(t, "a dry run without the copy", r, 200, `"content":null`)
		if n := k.Counted(t, "risk_register_versions"); n != 0 {
			t.Errorf("%d versions after a dry run", n)
		}

		v, _ := k.publish(yearly(columns{"accept_gaps": true}), 200)
		wants(t, "a unit that moves on", k.patch(officer, "work_units?id=eq."+k.unit,
			columns{"name": "Nouveau"}), 200, "")
		wants(t, "a risk that goes", k.Call(testkit.Request{Method: "DELETE", Path: "/v1/risk_entries?id=eq." + whole,
			As: officer}), 200, "")
		wants(t, "the gap filled", k.patch(officer, "risk_entries?id=eq."+gap, columns{"severity_before": "low",
			"owner_user_id": accountOf(t, actor.Admin)}), 200, "")
		kept := testkit.List[versionRow](t, k.Kit, officer, "risk_register_versions?id=eq."+v.ID)[0]
		sum := sha256.Sum256(kept.Content)
		if kept.Number != 1 || kept.Gaps != 1 || kept.Entries != 2 || kept.SHA256 != hex.EncodeToString(sum[:]) ||
			!strings.Contains(string(kept.Content), `"name":"Quai"`) ||
			!strings.Contains(string(kept.Content), "Piétons") {
			t.Errorf("version: %+v %s", kept, kept.Content)
		}
		if !strings.HasSuffix(kept.Keep, k.dayFromNow(0)[4:]) && !strings.HasSuffix(kept.Keep, "-03-01") ||
			kept.Keep[:4] != k.dayFromNow(0)[:2]+"66" {
			t.Errorf("kept until %s", kept.Keep)
		}
		second, _ := k.publish(yearly(nil), 200)
		all, _ := k.publish(columns{"reason": "new_information"}, 200)
		if got := []int64{second.Number, all.Number, second.Gaps}; !slices.Equal(got, []int64{2, 1, 0}) {
			t.Errorf("numbers of the second, of the whole, and gaps: %v", got)
		}
		_, r = k.publish(columns{"site_id": k.Foreign(t, "sites"), "reason": "yearly"}, 404)
		wants(t, "another tenant's site", r, 404, "site_id")
	})
}

// A version that no document could hold is refused before it is kept for 40 years, and one
// just below is printed.
func TestRegisterVersionFits(t *testing.T) {
	onRegister(t, func(t *testing.T, k *register) {
		officer := testkit.As(actor.Safety)
		long := strings.Repeat("Quai ", 390)
		row := k.entry(columns{"situation": long, "existing_measures": long, "measure": long})
		rows := make([]columns, 110)
		for i := range rows {
			rows[i] = row
		}
		wants(t, "many risks", k.Post(officer, "/v1/risk_entries", rows), 200, "")
		v, _ := k.publish(columns{"site_id": k.site, "reason": "yearly"}, 200)
		readSheet(t, k.Kit, officer, "/v1/risk-register-versions/"+v.ID+"/risk-register.pdf")
		wants(t, "more risks", k.Post(officer, "/v1/risk_entries", rows[:20]), 200, "")
		_, r := k.publish(columns{"site_id": k.site, "reason": "yearly"}, http.StatusRequestEntityTooLarge)
		wants(t, "a register that is too long", r, http.StatusRequestEntityTooLarge, "archive the risks of this site")
		_, r = k.publish(columns{"reason": "yearly"}, http.StatusRequestEntityTooLarge)
		wants(t, "an organisation's that is too long", r, http.StatusRequestEntityTooLarge, "publish it by site")
	})
}

// Versions that are published at once have numbers of their own.
func TestRegisterVersionsAtOnce(t *testing.T) {
	onRegister(t, func(t *testing.T, k *register) {
		k.Insert(t, testkit.As(actor.Safety), "risk_entries", k.entry(nil))
		const n = 6
		var all sync.WaitGroup
		for range n {
			all.Go(func() {
				in := columns{"site_id": k.site, "reason": "yearly"}
				r := k.Post(testkit.As(actor.Safety), "/v1/rpc/publish_register", in)
				wants(t, "one of several at once", r, 200, "")
			})
		}
		all.Wait()
		list := testkit.List[versionRow](t, k.Kit, testkit.As(actor.Safety),
			"risk_register_versions?select=number&order=number&site_id=eq."+k.site)
		for i, v := range list {
			if v.Number != int64(i+1) {
				t.Errorf("the version at %d has the number %d", i+1, v.Number)
			}
		}
		if len(list) != n {
			t.Errorf("%d versions, want %d", len(list), n)
		}
	})
}

// A version is kept 40 years from the day of the tenant on which it was made: in Berlin a new
// year has begun half an hour before midnight UTC.
func TestRegisterVersionDay(t *testing.T) {
	year := time.Now().Year() + 1
	eve := func() time.Time { return time.Date(year, 12, 31, 23, 30, 0, 0, time.UTC) }
	fromClock(t, testkit.As(actor.Safety), eve, func(k *clocked) {
		w := k.call("POST", "/v1/rpc/publish_register", `{"reason":"yearly"}`)
		want := fmt.Sprintf(`"keep_until":"%d-01-01"`, year+41)
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), want) {
			k.Errorf("%d %.3000s, want %s", w.Code, w.Body, want)
		}
	})
}

// A version is changed and deleted by nobody before its 40 years are over, whatever the way;
// the days on which others got it are said once.
func TestRegisterVersionIsKept(t *testing.T) {
	onRegister(t, func(t *testing.T, k *register) {
		k.Insert(t, testkit.As(actor.Safety), "risk_entries", k.entry(nil))
		v, _ := k.publish(columns{"site_id": k.site, "reason": "important_change"}, 200)
		path := "/v1/risk_register_versions?id=eq." + v.ID
		for _, as := range append(slices.Clone(actor.Members), actor.Service) {
			q := testkit.Request{Method: "DELETE", Path: path, As: testkit.As(as)}
			if as == actor.Service {
				q.As, q.Bearer = "", k.Service()
			}
			want := ""
			if slices.Contains([]actor.Role{actor.Owner, actor.Admin, actor.Service}, as) {
				want = "until " + v.Keep
			}
			wants(t, "deleted by "+string(as), k.Call(q), 403, want)
			q.Method = "PATCH"
			for _, field := range []string{"content", "sha256", "number", "keep_until", "made_at", "reason", "gaps"} {
				q.Body = columns{field: nil}
				if r := k.Call(q); r.Status/100 != 4 {
					t.Errorf("%s changed by %s: %d %s", field, as, r.Status, r.Body)
				}
			}
			q.Method, q.Path, q.Body = "POST", "/v1/risk_register_versions", columns{"reason": "yearly", "number": 7}
			if r := k.Call(q); r.Status/100 != 4 {
				t.Errorf("made by %s: %d %s", as, r.Status, r.Body)
			}
		}
		officer := testkit.As(actor.Safety)
		set := func(field string, day any) testkit.Response {
			return k.patch(officer, "risk_register_versions?id=eq."+v.ID, columns{field: day})
		}
		wants(t, "sent before it was made", set("sent_on", k.dayFromNow(-1)), 400, "sent_on")
		wants(t, "sent in the future", set("sent_on", k.dayFromNow(1)), 400, "sent_on")
		wants(t, "sent", set("sent_on", k.dayFromNow(0)), 200, k.dayFromNow(0))
		wants(t, "sent again", set("sent_on", nil), 409, "sent_on")
		wants(t, "consulted before it was made", set("consulted_on", k.dayFromNow(-1)), 400, "consulted_on")
		wants(t, "consulted in the future", set("consulted_on", k.dayFromNow(1)), 400, "consulted_on")
		wants(t, "consulted", set("consulted_on", k.dayFromNow(0)), 200, k.dayFromNow(0))
		wants(t, "sent by a manager", k.patch(testkit.As(actor.Manager), "risk_register_versions?id=eq."+v.ID,
			columns{"consulted_on": k.dayFromNow(0)}), 403, "")

		over := func(until string) {
			testkit.Must(t, k.App.DB.Write(t.Context(), db.Scope{All: true}, func(tx *db.Tx) error {
				_, err := tx.Exec("UPDATE risk_register_versions SET keep_until = $2 WHERE id = $1", v.ID, until)
				return err
			}))
		}
		remove := testkit.Request{Method: "DELETE", Path: path, As: testkit.As(actor.Admin)}
		over(k.dayFromNow(1))
		wants(t, "deleted the day before", k.Call(remove), 403, "until")
		over(k.dayFromNow(0))
		wants(t, "deleted when its time is over", k.Call(remove), 200, "")
	})
}
