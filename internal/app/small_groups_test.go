package app_test

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/demo"
	"holdfast/internal/functions/programme"
	"holdfast/internal/mingroup"
	"holdfast/internal/testkit"
)

// crowd is who belongs to which team of tenant north.
type crowd struct {
	teams   map[string]string // id by code
	workers map[string]int    // people of a team, by its id; "" = of none
	members map[string]int    // those of them who sign in
}

// addTeams adds teams of some sizes, all of whose people sign in.
func addTeams(t *testing.T, k *testkit.Kit, sizes map[string]int) {
	t.Helper()
	manager := testkit.As(actor.Manager)
	for code, n := range sizes {
		team := k.Insert(t, manager, "teams", map[string]any{"code": code, "name": code})
		people := make([]map[string]any, n)
		for i := range people {
			people[i] = map[string]any{"employee_no": code + "-" + strconv.Itoa(i), "name": code, "team_id": team,
				"user_id": addMember(t, k)}
		}
		if r := k.Post(testkit.As(actor.Admin), "/v1/workers", people); r.Status != http.StatusCreated {
			t.Fatalf("workers of %s: %d %s", code, r.Status, r.Body)
		}
	}
}

const memberSQL = `
	INSERT INTO members (tenant_id, id, user_id, role, status, zone_ids, created_at, updated_at, version)
	VALUES ($1, $2, $2, 'operator', 'active', '[]', $3, $3, 1)`

// addMember adds somebody who signs in: an account and its mails are beside the point.
func addMember(t *testing.T, k *testkit.Kit) string {
	t.Helper()
	id := db.NewID()
	testkit.Must(t, k.App.DB.Write(t.Context(), db.Scope{All: true}, func(tx *db.Tx) error {
		tx.Queue(memberSQL, []any{demo.North, id, time.Now()}, nil)
		return tx.Flush()
	}))
	return id
}

func readCrowd(t *testing.T, k *testkit.Kit) *crowd {
	t.Helper()
	c := &crowd{map[string]string{}, map[string]int{}, map[string]int{}}
	admin := testkit.As(actor.Admin)
	for _, x := range testkit.List[struct{ ID, Code string }](t, k, admin, "teams?select=id,code&archived_at=is.null") {
		c.teams[x.Code] = x.ID
	}
	people := testkit.List[struct {
		Team string `json:"team_id"`
		User string `json:"user_id"`
	}](t, k, admin, "workers?select=team_id,user_id&status=neq.left&archived_at=is.null&limit=1000")
	for _, x := range people {
		c.workers[x.Team]++
		if x.User != "" {
			c.members[x.Team]++
		}
	}
	return c
}

// setLeast sets the least size of a group; 0 leaves it unset.
func setLeast(t *testing.T, k *testkit.Kit, n int) {
	t.Helper()
	const path = "settings?select=id&key=eq.min_group"
	for _, x := range testkit.List[struct{ ID string }](t, k, testkit.As(actor.Admin), path) {
		r := k.Call(testkit.Request{Method: "DELETE", Path: "/v1/settings?id=eq." + x.ID, As: testkit.As(actor.Admin)})
		if r.Status/100 != 2 {
			t.Fatalf("delete of the setting: %d %s", r.Status, r.Body)
		}
	}
	if n > 0 {
		k.Insert(t, testkit.As(actor.Admin), "settings", map[string]any{"section": "scoring", "key": "min_group", "value": n})
	}
}

// keepBoards writes the boards as the nightly round does.
func keepBoards(t *testing.T, k *testkit.Kit) {
	t.Helper()
	p := programme.New(k.App.Store, time.Now, programme.Hooks{Changed: func(string, []string) {}})
	testkit.Must(t, p.KeepBoards(context.Background(), demo.North))
}

// checkGroups holds every record of a team's figures in an answer to the least
// size, and returns how many people are shown by team.
func (c *crowd) checkGroups(t *testing.T, what string, least int, answer any) map[string]int {
	t.Helper()
	shown := map[string]int{}
	eachRecord(answer, func(x map[string]any) {
		team, _ := x["team_id"].(string)
		_, scored := x["score"]
		n, counted := x["n"].(float64)
		if team == "" || !scored && !counted {
			return
		}
		shown[team] = int(n)
		if size := max(c.workers[team], c.members[team]); size < least || int(n) < least {
			t.Errorf("%s shows a figure of a team of %d, the least is %d: %v", what, size, least, x)
		}
	})
	return shown
}

// checkRest holds what is left out to be nobody or a group that is large enough.
func checkRest(t *testing.T, what string, least int, shown, people map[string]int) {
	t.Helper()
	rest := 0
	for team, n := range people {
		if shown[team] == 0 {
			rest += n
		}
	}
	if len(shown) > 0 && rest > 0 && rest < least {
		t.Errorf("%s leaves %d people out, whose figure is the total less what it shows: %v of %v", what, rest, shown, people)
	}
}

// A group of fewer people than min_group is in no answer of any function, as any
// role, and in no collection that keeps figures of teams, in lists or files; what
// is left out is counted, and is no small group that the total gives away.
func TestSmallGroupsAreShownNowhere(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		addTeams(t, k, map[string]int{"ONE": 1, "NINE": 9, "TEN": 10, "TWELVE": 12})
		c := readCrowd(t, k)
		for _, step := range []struct{ set, least int }{{0, int(mingroup.Default)}, {2, 2}, {11, 11}, {100, 100}} {
			setLeast(t, k, step.set)
			c.askFunctions(t, k, step.least)
			keepBoards(t, k)
			c.askCollections(t, k, step.least)
		}
	})
}

// askFunctions calls every function as every role.
func (c *crowd) askFunctions(t *testing.T, k *testkit.Kit, least int) {
	t.Helper()
	boards := 0
	for _, f := range k.App.Functions() {
		for _, role := range actor.Members {
			r := k.Post(testkit.As(role), "/functions/v1/"+f.Name, map[string]any{})
			if slices.Contains(f.Methods, http.MethodGet) {
				r = k.Get(testkit.As(role), "/functions/v1/"+f.Name)
			}
			var answer any
			if r.Status != http.StatusOK || json.Unmarshal(r.Body, &answer) != nil {
				continue
			}
			what := f.Name + " to " + string(role)
			shown := c.checkGroups(t, what, least, answer)
			record := answer.(map[string]any)
			people := c.members
			if _, is := record["team_means"]; is {
				people = c.workers
			} else if _, is := record["team_scores"]; !is {
				continue
			}
			boards++
			checkRest(t, what, least, shown, people)
			hidden, _ := record["suppressed"].(float64)
			if at := shown[c.teams["TEN"]]; hidden == 0 || least == 10 && at != 10 || least == 11 && at != 0 {
				t.Errorf("%s: %v teams left out at a least size of %d, %v shown", what, hidden, least, shown)
			}
		}
	}
	if boards < 3 {
		t.Errorf("%d boards: the loop looks at nothing", boards)
	}
}

// askCollections reads every collection that keeps a figure of a team.
func (c *crowd) askCollections(t *testing.T, k *testkit.Kit, least int) {
	t.Helper()
	kept := 0
	for _, of := range catalog.Default().All() {
		if _, is := of.Field("team_id"); !is {
			continue
		}
		if _, is := of.Field("n"); !is {
			continue
		}
		kept++
		for _, role := range actor.Members {
			r := k.Get(testkit.As(role), "/v1/"+of.Name+"?limit=1000")
			var rows any
			if r.Status != http.StatusOK || json.Unmarshal(r.Body, &rows) != nil {
				continue
			}
			c.checkGroups(t, of.Name+" to "+string(role), least, rows)
			if ten := strings.Contains(string(r.Body), c.teams["TEN"]); least == 10 && !ten || least == 11 && ten {
				t.Errorf("%s keeps the team of ten: %v, at a least size of %d", of.Name, ten, least)
			}
			file := k.Call(testkit.Request{Method: "GET", Path: "/v1/" + of.Name + "?select=team_id,n&limit=1000",
				As: testkit.As(role), Header: map[string]string{"Accept": "text/csv"}})
			lines, err := csv.NewReader(strings.NewReader(string(file.Body))).ReadAll()
			testkit.Must(t, err)
			for _, line := range lines[1:] {
				if n, _ := strconv.Atoi(line[1]); n < least {
					t.Errorf("a file of %s has a group of %d", of.Name, n)
				}
			}
		}
	}
	if kept == 0 {
		t.Error("no collection keeps figures of teams: the loop looks at nothing")
	}
}

// How fast lines are picked is a figure of the pickers: shown of as many as
// min_group, and of fewer neither it nor the hours that it is made of.
func TestFewPickersHaveNoRate(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		pickers := map[string]bool{}
		since := time.Now().AddDate(0, 0, -29).UTC().Format(time.RFC3339)
		for offset := 0; ; offset += 1000 {
			rows := testkit.List[struct {
				Worker string `json:"assigned_worker_id"`
			}](t, k, testkit.As(actor.Manager), "pick_lines?select=assigned_worker_id&picked_at=gt."+since+
				"&assigned_worker_id=not.is.null&order=id&limit=1000&offset="+strconv.Itoa(offset))
			for _, x := range rows {
				pickers[x.Worker] = true
			}
			if len(rows) < 1000 {
				break
			}
		}
		for _, c := range []struct {
			least int
			shown bool
		}{{len(pickers) - 1, true}, {len(pickers), true}, {len(pickers) + 1, false}} {
			setLeast(t, k, c.least)
			var out struct {
				KPIs struct {
					Rate       *float64 `json:"lines_per_hour"`
					Hours      *float64 `json:"pick_hours"`
					Lines      int      `json:"lines_picked"`
					Suppressed int
				} `json:"kpis"`
			}
			k.Get(testkit.As(actor.Viewer), "/functions/v1/warehouse-kpis?days=30").JSON(t, &out)
			f := out.KPIs
			if (f.Rate != nil) != c.shown || (f.Hours != nil) != c.shown || (f.Suppressed == 0) != c.shown || f.Lines == 0 {
				t.Errorf("%d pickers at a least size of %d: %s", len(pickers), c.least, k.Get(testkit.As(actor.Viewer),
					"/functions/v1/warehouse-kpis?days=30").Body)
			}
		}
	})
}
