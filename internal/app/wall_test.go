package app_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/demo"
	"holdfast/internal/localtime"
	"holdfast/internal/testkit"
)

// wallKit makes screens and asks for boards as a screen does, without an account.
type wallKit struct{ sharing }

// makeScreen makes a screen and is its id and its token.
func (k wallKit) makeScreen(set map[string]any) (id, token string) {
	k.t.Helper()
	body := map[string]any{"name": "Hall 1"}
	for name, v := range set {
		body[name] = v
	}
	r := k.Post(testkit.As(actor.Admin), "/v1/wall-screens", body)
	var made struct{ ID, URL string }
	r.JSON(k.t, &made)
	u, err := url.Parse(made.URL)
	if r.Status != 201 || err != nil || u.Path != "/wall" || len(u.Fragment) != 64 ||
		r.Header.Get("Cache-Control") != "no-store" {
		k.t.Fatalf("a screen: %d %s %v", r.Status, r.Body, err)
	}
	return made.ID, u.Fragment
}

func (k wallKit) show(token string) testkit.Response {
	return k.Call(testkit.Request{Method: "POST", Path: "/wall/board", Body: map[string]any{"token": token}})
}

// board is what a screen shows.
type board struct {
	Name, Site, Language string
	Today                int  `json:"orders_today"`
	Done                 int  `json:"orders_done"`
	Late                 int  `json:"orders_late"`
	Hazards              int  `json:"hazards_open"`
	NewHazards           int  `json:"hazards_today"`
	OnShift              *int `json:"people_on_shift"`
	FirstAiders          *int `json:"first_aiders_on_shift"`
	IsWithheld           bool `json:"people_withheld"`
}

func (k wallKit) read(token string) (b board) {
	k.t.Helper()
	r := k.show(token)
	if r.JSON(k.t, &b); r.Status != 200 || r.Header.Get("Cache-Control") != "no-store" {
		k.t.Fatalf("the board: %d %s", r.Status, r.Body)
	}
	return b
}

// isDead holds a token to the one answer that those have which do not work.
func (k wallKit) isDead(what, token string) {
	k.t.Helper()
	r := k.show(token)
	if r.Status != 404 || !strings.Contains(string(r.Body), "does not exist or has ended") {
		k.t.Errorf("%s: %d %s", what, r.Status, r.Body)
	}
}

// The board of a site by hand: one order promised for today and one late, one hazard of
// its zone beside one that is closed, and two people whose shifts run, one of whom holds a
// certificate in first aid, beside one whose certificate has ended at another site.
func TestWallBoard(t *testing.T) {
	testkit.Run(t, func(t *testing.T, kit *testkit.Kit) {
		k := wallKit{sharing{kit, t}}
		admin, manager, safety := testkit.As(actor.Admin), testkit.As(actor.Manager), testkit.As(actor.Safety)
		site := k.Insert(t, admin, "sites", map[string]any{"code": "WALL", "name": "Wall site"})
		zone := k.Insert(t, admin, "zones", map[string]any{"code": "WALL-1", "name": "Hall", "site_id": site})
		course := k.Insert(t, admin, "courses", map[string]any{"code": "WALL-AID", "title": "First aid"})
		hall := map[string]any{"site_id": site, "first_aid_course_id": course, "language": "de"}
		id, token := k.makeScreen(hall)
		empty := k.read(second(k.makeScreen(hall)))
		if peopleOf(empty) != "0 of 0" || empty.Today+empty.Late+empty.Hazards != 0 {
			t.Errorf("a site without records: %+v", empty)
		}
		setLeast(t, kit, 2)

		now := time.Now().UTC()
		_, midnight := localtime.Day(now, localtime.Zone("Europe/Berlin"))
		for no, promised := range map[string]time.Time{
			"W-1": midnight.Add(-time.Millisecond), "W-2": now.AddDate(0, 0, -2),
			"W-3": now.AddDate(0, 0, 2)} {
			givenOrder(t, kit, no, site, promised)
		}
		for _, title := range []string{"Oil on the floor", "Loose plate"} {
			k.Insert(t, safety, "incidents", map[string]any{"kind": "hazard", "title": title, "zone_id": zone,
				"occurred_at": now.Format(time.RFC3339)})
		}
		k.Insert(t, safety, "incidents", map[string]any{"kind": "near_miss", "title": "Near", "zone_id": zone,
			"occurred_at": now.Format(time.RFC3339)})
		shut := testkit.List[struct{ ID string }](t, kit, safety, "incidents?select=id&title=eq.Loose%20plate")[0].ID
		k.Call(testkit.Request{Method: "PATCH", Path: "/v1/incidents?id=eq." + shut, As: safety,
			Body: map[string]any{"status": "closed"}})
		for i, who := range []struct {
			at   string
			aids bool
		}{{site, true}, {site, false}, {"", true}} {
			row := map[string]any{"employee_no": fmt.Sprint("WALL-", i), "name": fmt.Sprint("Nobody Known ", i)}
			if who.at != "" {
				row["site_id"] = who.at
			}
			worker := k.Insert(t, manager, "workers", row)
			k.Insert(t, manager, "shifts", map[string]any{"worker_id": worker,
				"started_at": now.Add(-time.Hour).Format(time.RFC3339)})
			if who.aids {
				k.Insert(t, admin, "training_assignments", map[string]any{"course_id": course, "worker_id": worker,
					"status": "completed"})
			}
		}
		got, want := k.read(token), board{Name: "Hall 1", Site: "WALL Wall site", Language: "de", Today: 1, Late: 1,
			Hazards: 1, NewHazards: 1}
		people := peopleOf(got)
		if got.OnShift, got.FirstAiders = nil, nil; people != "1 of 2" || got != want {
			t.Errorf("the board: %+v with %s first aiders, want %+v with 1 of 2", got, people, want)
		}
		if body := string(k.show(token).Body); strings.Contains(body, "Known") || strings.Contains(body, "Oil") ||
			strings.Contains(body, site) {
			t.Errorf("the board names somebody or something: %s", body)
		}
		all := k.read(second(k.makeScreen(nil)))
		if all.OnShift == nil || *all.OnShift < 3 || all.Hazards < 1 || all.FirstAiders != nil {
			t.Errorf("all sites, without a course: %+v", all)
		}

		k.isKeptSecret(id, token)
		r := k.Call(testkit.Request{Method: "DELETE", Path: "/v1/wall_screens?id=eq." + id, As: admin})
		if r.Status >= 300 {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		k.isDead("a revoked screen", token)
	})
}

func second(_, b string) string { return b }

// peopleOf is how many first aiders there are of how many people, "?" of what is not told.
func peopleOf(b board) string {
	word := func(n *int) string {
		if n == nil {
			return "?"
		}
		return strconv.Itoa(*n)
	}
	return word(b.FirstAiders) + " of " + word(b.OnShift)
}

// A board counts no people where they are so few that each is told by the figure: a lone
// person reads there whether they are a first aider.
func TestWallWithholdsSmallGroups(t *testing.T) {
	testkit.Run(t, func(t *testing.T, kit *testkit.Kit) {
		k := wallKit{sharing{kit, t}}
		admin, manager := testkit.As(actor.Admin), testkit.As(actor.Manager)
		site := k.Insert(t, admin, "sites", map[string]any{"code": "FEW", "name": "Small site"})
		course := k.Insert(t, admin, "courses", map[string]any{"code": "FEW-AID", "title": "First aid"})
		start := time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)
		atWork := 0
		for _, c := range []struct {
			people, least int // least 0: the tenant has not set it
			want          string
			isWithheld    bool
		}{
			{0, 0, "0 of 0", false},
			{1, 0, "? of ?", true},
			{1, 2, "? of ?", true},
			{2, 2, "0 of 2", false},
			{2, 3, "? of ?", true},
			{9, 0, "? of ?", true},
			{10, 0, "0 of 10", false},
		} {
			setLeast(t, kit, c.least)
			for ; atWork < c.people; atWork++ {
				worker := k.Insert(t, manager, "workers", map[string]any{"employee_no": fmt.Sprint("FEW-", atWork),
					"name": "Somebody", "site_id": site})
				k.Insert(t, manager, "shifts", map[string]any{"worker_id": worker, "started_at": start})
			}
			got := k.read(second(k.makeScreen(map[string]any{"site_id": site, "first_aid_course_id": course})))
			if peopleOf(got) != c.want || got.IsWithheld != c.isWithheld {
				t.Errorf("%d people, min_group %d: %s, withheld %t, want %s, %t", c.people, c.least, peopleOf(got),
					got.IsWithheld, c.want, c.isWithheld)
			}
		}
	})
}

// A board is shown while the database takes no writes, and the next one that can be kept is.
func TestWallShowsWithoutWrites(t *testing.T) {
	testkit.InTurn(t, func(t *testing.T, kit *testkit.Kit) {
		k := wallKit{sharing{kit, t}}
		id, token := k.makeScreen(nil)
		mend := broken(t, kit, "UPDATE ON wall_screens", "1 = 1")
		k.read(token)
		opened := func() any {
			admin := testkit.As(actor.Admin)
			return testkit.List[map[string]any](t, kit, admin, "wall_screens?id=eq."+id)[0]["opened_at"]
		}
		if at := opened(); at != nil {
			t.Errorf("opened at %v, though that could not be kept", at)
		}
		mend()
		if k.read(token); opened() == nil {
			t.Error("the showing is not kept once it can be")
		}
	})
}

// A board is counted once in 15 seconds, however often its link is asked.
func TestWallBoardIsKept(t *testing.T) {
	onClock(t, testkit.As(actor.Admin), func(k *clocked) {
		var made struct{ URL string }
		w := k.call("POST", "/v1/wall-screens", `{"name": "Hall 1"}`)
		if err := json.Unmarshal(w.Body.Bytes(), &made); err != nil || w.Code != 201 {
			k.Fatalf("a screen: %d %s", w.Code, w.Body)
		}
		_, token, _ := strings.Cut(made.URL, "#")
		hazards := func() (n int) {
			k.Helper()
			var b board
			w := k.call("POST", "/wall/board", `{"token": "`+token+`"}`)
			if err := json.Unmarshal(w.Body.Bytes(), &b); err != nil || w.Code != 200 {
				k.Fatalf("the board: %d %s", w.Code, w.Body)
			}
			return b.Hazards
		}
		before := hazards()
		w = k.call("POST", "/v1/incidents", `{"kind": "hazard", "title": "Oil", "occurred_at": "`+
			time.Now().UTC().Format(time.RFC3339)+`"}`)
		if w.Code != 201 {
			k.Fatalf("a hazard: %d %s", w.Code, w.Body)
		}
		time.Sleep(14 * time.Second)
		if n := hazards(); n != before {
			k.Errorf("%d hazards after 14 s, want the %d that are kept", n, before)
		}
		time.Sleep(2 * time.Second)
		if n := hazards(); n != before+1 {
			k.Errorf("%d hazards after 16 s, want %d", n, before+1)
		}
	})
}

// givenOrder confirms an order of a site that is promised for a moment.
func givenOrder(t *testing.T, k *testkit.Kit, no, site string, promised time.Time) {
	t.Helper()
	admin := testkit.As(actor.Admin)
	item := first(t, k, "/v1/items?select=id&limit=1&tenant_id=eq."+demo.North, "id")
	order := k.Insert(t, admin, "orders", map[string]any{"type": "outbound", "order_no": no, "site_id": site,
		"promised_at": promised.Format(time.RFC3339Nano)})
	k.Insert(t, admin, "order_lines", map[string]any{"order_id": order, "line_no": 1, "item_id": item,
		"qty_ordered": 1})
	r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/orders?id=eq." + order, As: admin,
		Body: map[string]any{"status": "confirmed"}})
	if r.Status >= 300 {
		t.Fatalf("confirm %s: %d %s", no, r.Status, r.Body)
	}
}

// isKeptSecret holds what is kept and logged of a screen to say nothing of its token.
func (k wallKit) isKeptSecret(id, token string) {
	k.t.Helper()
	admin := testkit.As(actor.Admin)
	row := testkit.List[map[string]any](k.t, k.Kit, admin, "wall_screens?id=eq."+id)[0]
	if row["token_hash"] != nil || row["opened_at"] == nil || row["created_by"] == nil {
		k.t.Errorf("the screen as administrators see it: %v", row)
	}
	actions := map[string]int{}
	for _, x := range testkit.List[map[string]any](k.t, k.Kit, admin, "audit?entity_id=eq."+id) {
		actions[x["action"].(string)]++
		if text, _ := json.Marshal(x); strings.Contains(string(text), token) {
			k.t.Errorf("the log has the token: %s", text)
		}
	}
	want := map[string]int{"wall_screens.insert": 1, "wall_screens.opened": 1}
	if fmt.Sprint(actions) != fmt.Sprint(want) {
		k.t.Errorf("the log has %v, want %v", actions, want)
	}
}

// A token that is guessed, cut, late or of a suspended tenant is answered alike.
func TestWallRefusesTokens(t *testing.T) {
	testkit.InTurn(t, func(t *testing.T, kit *testkit.Kit) {
		k := wallKit{sharing{kit, t}}
		id, token := k.makeScreen(nil)
		_, other := k.makeScreen(nil)
		k.read(other)
		foreign := "IiIiIiIiQiKCIiIiIiIiIg" + token[22:] // the same secret under another tenant
		for what, dead := range map[string]string{
			"nothing": "", "a word": "hall-1", "a cut one": token[:63], "a longer one": token + "A",
			"a guess": token[:60] + "AAAA", "of another tenant": foreign, "a line break": token + "\n",
		} {
			k.isDead(what, dead)
		}
		k.execute("UPDATE wall_screens SET expires_at = $1 WHERE id = $2", time.Now().Add(-time.Second), id)
		k.isDead("a late one", token)
		k.execute("UPDATE tenants SET status = 'suspended' WHERE id = $1", demo.North)
		k.isDead("of a suspended tenant", other)
		for _, body := range []any{"text", map[string]any{"token": 7}, map[string]any{"tokens": other}} {
			r := k.Call(testkit.Request{Method: "POST", Path: "/wall/board", Body: body})
			if r.Status != 400 {
				t.Errorf("%v: %d %s", body, r.Status, r.Body)
			}
		}
	})
}

// Administrators make, see and revoke screens, and nobody else.
func TestWallScreensByRole(t *testing.T) {
	testkit.Run(t, func(t *testing.T, kit *testkit.Kit) {
		k := wallKit{sharing{kit, t}}
		id, token := k.makeScreen(nil)
		for _, role := range actor.Members {
			if role == actor.Client {
				continue
			}
			as, may := testkit.As(role), role == actor.Owner || role == actor.Admin
			if r := k.Post(as, "/v1/wall-screens", map[string]any{"name": "Hall 2"}); (r.Status == 201) != may ||
				!may && r.Status != 403 {
				t.Errorf("%s makes a screen: %d %s", role, r.Status, r.Body)
			}
			if r := k.Get(as, "/v1/wall_screens?id=eq."+id); (r.Status == 200) != may {
				t.Errorf("%s reads screens: %d %s", role, r.Status, r.Body)
			}
			if r := k.Call(testkit.Request{Method: "DELETE", Path: "/v1/wall_screens?id=eq." + id, As: as}); !may &&
				r.Status != 403 {
				t.Errorf("%s revokes a screen: %d %s", role, r.Status, r.Body)
			}
			if !may {
				k.read(token)
			}
			if may {
				id, token = k.makeScreen(nil)
			}
		}
		r := k.Call(testkit.Request{Method: "POST", Path: "/v1/wall-screens", Body: map[string]any{"name": "X"}})
		if r.Status != 401 {
			t.Errorf("nobody makes a screen: %d %s", r.Status, r.Body)
		}
	})
}

func TestWallScreenInputs(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		for field, bad := range map[string][]any{
			"name":                {"", "   ", strings.Repeat("x", 81)},
			"site_id":             {"x", demo.South, k.Foreign(t, "sites")},
			"first_aid_course_id": {"x", demo.South},
			"language":            {"it", "EN"},
			"expires_in_days":     {0, -1, 367},
		} {
			for _, v := range bad {
				body := map[string]any{"name": "Hall"}
				body[field] = v
				r := k.Post(testkit.As(actor.Admin), "/v1/wall-screens", body)
				if r.Status < 400 || r.Status >= 500 || !strings.Contains(string(r.Body), field) {
					t.Errorf("%s %v: %d %s", field, v, r.Status, r.Body)
				}
			}
		}
	})
}

// The page is one for all and admits its own style and script alone.
func TestWallPage(t *testing.T) {
	testkit.InTurn(t, func(t *testing.T, k *testkit.Kit) {
		r := k.Call(testkit.Request{Method: "GET", Path: "/wall"})
		policy := r.Header.Get("Content-Security-Policy")
		if r.Status != 200 || !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") ||
			r.Header.Get("Cache-Control") != "no-store" || !strings.Contains(r.Header.Get("X-Robots-Tag"), "noindex") {
			t.Errorf("%d %v", r.Status, r.Header)
		}
	})
}
