package functions_test

import (
	"fmt"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/functions"
	"holdfast/internal/store"
	"holdfast/internal/testkit/dbtest"
)

// granting is the catalog with another read grant of one collection.
func granting(t *testing.T, name string, g catalog.Grant) *catalog.Catalog {
	t.Helper()
	list := catalog.Resources()
	for i := range list {
		if list[i].Name == name {
			list[i].Access.Read = []catalog.Grant{g}
		}
	}
	c, err := catalog.New(list...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The lists of a dashboard show the records that the collection itself would
// show to the caller: those of no grant, own ones, and those that a grant of own
// ones is widened to.
func TestListsFollowTheRowPolicy(t *testing.T) {
	viewers := []actor.Role{actor.Viewer}
	for _, c := range []struct {
		name  string
		grant catalog.Grant
		want  string
	}{
		{"everything", catalog.Grant{Roles: viewers, Scope: catalog.All}, "[fire theirs mine]"},
		{"own", catalog.Grant{Roles: viewers, Scope: catalog.Own}, "[mine]"},
		{"own and of some kinds", catalog.Grant{Roles: viewers, Scope: catalog.Own, Also: "kind", In: []string{"fire"}},
			"[fire mine]"},
		{"nothing", catalog.Grant{Roles: viewers, Scope: catalog.None}, "[]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dbtest.Each(t, func(t *testing.T, o db.Options) {
				k := open(t, o)
				incident := func(title, kind, by, at string) {
					k.add("incidents", store.Row{"kind": kind, "severity": "low", "title": title, "reported_by": by,
						"occurred_at": at, "reported_at": at})
				}
				incident("mine", "hazard", ada, "2026-02-26T12:00:00Z")
				incident("theirs", "hazard", bo, "2026-02-27T12:00:00Z")
				incident("fire", "fire", bo, "2026-02-28T12:00:00Z")
				clock := func() time.Time { return k.now }
				s := store.New(k.d, granting(t, "incidents", c.grant), store.Effects{}, clock)
				k.table = functions.Table(functions.Deps{Store: s, Now: clock})
				k.as = actor.Actor{UserID: ada, TenantID: north, Role: actor.Viewer}
				for _, place := range []struct{ function, list string }{{"get-dashboard-snapshot-v2", "safety.recent_incidents"},
					{"safety-kpis", "recent_incidents"}} {
					var got []string
					for _, x := range k.call(place.function, "").at(place.list).([]any) {
						got = append(got, x.(map[string]any)["title"].(string))
					}
					if fmt.Sprint(got) != c.want {
						t.Errorf("%s shows %v, want %s", place.function, got, c.want)
					}
				}
			})
		})
	}
}
