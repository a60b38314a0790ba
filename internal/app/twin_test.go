package app_test

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/demo"
	"holdfast/internal/testkit"
)

// twin is a tenant that has every record of tenant north under the same id, as
// a caller who chooses ids can make them; cousin has them all under other ids.
// Whatever forgets to ask for the tenant finds more than there is.
const (
	twin   = "0190a000-0000-7000-8000-0000000071e1"
	cousin = "0190a000-0000-7000-8000-0000000071e2"
)

// Nothing that north asks for, computes, imports or takes back depends on its
// twin or cousin, and nothing of theirs changes by it.
func TestTwinTenant(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		ask := func(list []testkit.Request) map[string]string {
			if r := k.Call(testkit.Request{Method: "DELETE", Path: "/v1/cache", As: testkit.As(actor.Admin)}); r.Status != 204 {
				t.Fatalf("clear the cache: %d %s", r.Status, r.Body)
			}
			out := map[string]string{}
			for _, q := range list {
				r := k.Call(q)
				if r.Status >= 300 {
					t.Errorf("%s %s as %s: %d %s", q.Method, q.Path, q.As, r.Status, r.Body)
				}
				out[q.Method+" "+q.Path+" as "+q.As] = steady(r.Body)
			}
			return out
		}
		reads, writes := questions(k)
		ask(writes) // what is found for the first time is found
		done := ask(writes)
		before := ask(reads)
		copyNorth(t, k, twin)
		copyNorth(t, k, cousin)
		was := census(t, k)
		if was["items"] == "0 0" || was["items"] == "" {
			t.Fatal("there is no twin")
		}
		if d := cmp.Diff(before, ask(reads)); d != "" {
			t.Errorf("other tenants' records change the answers (-before +after):\n%s", d)
		}
		if d := cmp.Diff(done, ask(writes)); d != "" {
			t.Errorf("other tenants' records change what is computed (-before +after):\n%s", d)
		}
		importBesideTwin(t, k)
		if d := cmp.Diff(was, census(t, k)); d != "" {
			t.Errorf("north's requests changed the others:\n%s", d)
		}
	})
}

// questions are every collection, its newest rows and their number, every
// function that reads, and every function that writes.
func questions(k *testkit.Kit) (reads, writes []testkit.Request) {
	for _, fn := range k.App.Functions() {
		if strings.HasSuffix(fn.Name, "-import-job") {
			continue
		}
		for _, role := range []actor.Role{actor.Owner, actor.Operator} {
			q := testkit.Request{Method: fn.Methods[0], Path: "/functions/v1/" + fn.Name, As: testkit.As(role)}
			switch {
			case len(fn.Roles) > 0 && !slices.Contains(fn.Roles, role):
			case k.Call(q).Status == http.StatusBadRequest: // needs to be told what about
			case fn.Writes:
				writes = append(writes, q)
			default:
				reads = append(reads, q)
			}
		}
	}
	for _, r := range catalog.Default().All() {
		if _, ok := catalog.Find(r.Access.Read, actor.Owner); ok && r.Name != "audit" && r.Name != "webhook_deliveries" {
			reads = append(reads, testkit.Request{Method: "GET", Path: "/v1/" + r.Name + "?limit=20&order=id.desc",
				As:     testkit.As(actor.Owner),
				Header: map[string]string{"Prefer": "count=exact"}},
				testkit.Request{Method: "GET", Path: "/v1/" + r.Name + "?select=count", As: testkit.As(actor.Owner)})
		}
	}
	return reads, writes
}

// moment is what differs from one answer to the next by itself.
var moment = regexp.MustCompile(`"20\d\d-\d\d-\d\dT[^"]*"|"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}"|"version":\d+`)

func steady(body []byte) string { return moment.ReplaceAllString(string(body), `""`) }

// copyNorth copies north's records to a new tenant, those they refer to first,
// under names of its own.
func copyNorth(t *testing.T, k *testkit.Kit, tenant string) {
	t.Helper()
	err := k.App.DB.Write(context.Background(), db.Scope{All: true}, func(tx *db.Tx) error {
		if _, err := tx.Exec(`INSERT INTO tenants (id, name, slug, plan, status, timezone, currency, jurisdictions, join_policy,
			email_domains, created_at, updated_at, version)
			SELECT $1, 'Twin', $3, plan, status, 'Pacific/Kiritimati', currency, jurisdictions, join_policy, email_domains, created_at,
				updated_at, 1 FROM tenants WHERE id = $2`,
			tenant, demo.North, tenant[30:]); err != nil {
			return err
		}
		for _, r := range parentsFirst() {
			var to, from []string
			for i := range r.Fields {
				to, from = append(to, r.Fields[i].Name), append(from, copied(&r.Fields[i], k.Engine, tenant == cousin))
			}
			if _, err := tx.Exec(fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM %s WHERE tenant_id = $2", r.Name,
				strings.Join(to, ", "),
				strings.Join(from, ", "), r.Name), tenant, demo.North); err != nil {
				return fmt.Errorf("%s: %w", r.Name, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// copied is the SQL of a field's value in a copy.
func copied(f *catalog.Field, e db.Engine, otherIDs bool) string {
	switch {
	case f.Name == "tenant_id":
		return "$1"
	case otherIDs && (f.Name == "id" || f.Ref != "") && e == db.SQLite:
		return "'7717' || substr(" + f.Name + ", 5)"
	case otherIDs && (f.Name == "id" || f.Ref != ""):
		return "CAST('7717' || substr(CAST(" + f.Name + " AS text), 5) AS uuid)"
	case f.Type == catalog.Text && f.Format == catalog.Name && len(f.OneOf) == 0 && !f.ReadOnly && f.MaxLen == 0:
		return "'TWIN ' || " + f.Name
	}
	return f.Name
}

// parentsFirst are the resources a tenant's records are in. Memberships and
// what follows from them belong to people, who are the same in both.
func parentsFirst() (out []*catalog.Resource) {
	cat := catalog.Default()
	done := map[string]bool{"members": true, "invitations": true, "audit": true, "tenants": true, "sso_connections": true,
		"webhooks":           true,
		"webhook_deliveries": true}
	var add func(r *catalog.Resource)
	add = func(r *catalog.Resource) {
		if done[r.Name] {
			return
		}
		done[r.Name] = true
		for i := range r.Fields {
			if ref, ok := cat.Get(r.Fields[i].Ref); ok {
				add(ref)
			}
		}
		out = append(out, r)
	}
	for _, r := range cat.All() {
		add(r)
	}
	return out
}

// census tells whether any record of the copies was made, changed or removed.
func census(t *testing.T, k *testkit.Kit) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := k.App.DB.Read(context.Background(), db.Scope{All: true}, func(tx *db.Tx) error {
		for _, r := range parentsFirst() {
			sum := "COUNT(*)"
			if !r.Bare {
				sum = "COUNT(*), CAST(COALESCE(SUM(version), 0) AS bigint)"
			}
			err := tx.Query("SELECT "+sum+" FROM "+r.Name+" WHERE tenant_id IN ($1, $2)", []any{twin, cousin},
				func(row *db.Row) error {
					out[r.Name] = fmt.Sprint(row.Int(0))
					if !r.Bare {
						out[r.Name] += fmt.Sprint(" ", row.Int(1))
					}
					return nil
				})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// importBesideTwin has a file checked, applied and taken back whose rows name
// records that both tenants have.
func importBesideTwin(t *testing.T, k *testkit.Kit) {
	t.Helper()
	manager := testkit.As(actor.Manager)
	var items []struct{ SKU string }
	k.Get(manager, "/v1/items?select=sku&order=sku&limit=3").JSON(t, &items)
	file := "sku,name\nTWIN-NEW,New\n"
	for _, it := range items {
		file += it.SKU + ",Renamed\n"
	}
	body, kind := form(t, "items", "items.csv", file)
	var job struct{ ID string }
	k.Call(testkit.Request{Method: "POST", Path: "/v1/import-jobs", As: manager, Body: body,
		Header: map[string]string{"Content-Type": kind}}).JSON(t, &job)
	for _, c := range []struct{ verb, as, has string }{
		{"process", manager, `"valid_rows":4`}, {"apply", manager, `"imported_count":4`},
		{"rollback", testkit.As(actor.Admin), `"rolled_back"`},
	} {
		r := k.Post(c.as, "/functions/v1/"+c.verb+"-import-job", map[string]any{"job_id": job.ID})
		if r.Status != http.StatusOK || !strings.Contains(string(r.Body), c.has) {
			t.Errorf("%s: %d %s, want %s", c.verb, r.Status, r.Body, c.has)
		}
	}
}
