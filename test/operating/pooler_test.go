package operating_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"holdfast/internal/db"
	"holdfast/internal/testkit/pgtest"
	"holdfast/internal/testkit/program"
)

// Behind a PgBouncer whose few connections serve everybody, a transaction at a
// time, two tenants read and write at once, and each sees what is its own; an
// import runs. One that nobody declared is found, and the server says what to do.
func TestBehindPgBouncer(t *testing.T) {
	s := program.DemoOn(t, db.PostgreSQL)
	direct := s.DSN
	s.DSN = pgtest.Pooled(t, direct, 4)
	expect(s, "pooler", "warning", "pooler", nil)
	s.Refused("set database_pooler = transaction", "serve", "--listen", "127.0.0.1:0")
	v := s.Serve("--dev", "--database-pooler", "transaction")
	var all sync.WaitGroup
	const each = 40
	for _, tenant := range []string{"north", "south"} {
		bearer := v.Token("admin@"+tenant+".example", "holdfast-demo")
		for client := range 6 {
			all.Go(func() {
				for i := range each {
					code := fmt.Sprintf("POOL-%s-%d-%d", tenant, client, i)
					if r := v.Call("POST", "/v1/zones", bearer, map[string]any{"code": code,
						"name": "x"}); r.Status != http.StatusCreated {
						t.Errorf("%s: %d %s", code, r.Status, r.Body)
						return
					}
					r := v.Call("GET", "/v1/zones?select=code&code=like.POOL-*&order=id.desc&limit=50", bearer, nil)
					var rows []struct{ Code string }
					r.Into(t, &rows)
					own := len(rows) > 0
					for _, row := range rows {
						own = own && strings.HasPrefix(row.Code, "POOL-"+tenant)
					}
					if !own {
						t.Errorf("%s reads %s", tenant, r.Body)
						return
					}
				}
			})
		}
	}
	all.Wait()
	bearer := v.Token("admin@north.example", "holdfast-demo")
	job := v.Uploaded(bearer, 500)
	for _, step := range []string{"process", "apply"} {
		if r := v.Call("POST", "/functions/v1/"+step+"-import-job", bearer,
			map[string]string{"job_id": job}); r.Status != http.StatusOK {
			t.Errorf("%s: %d %s", step, r.Status, r.Body)
		}
	}
	v.Stop()
	s.DSN = direct
	if n := s.Number("SELECT COUNT(*) FROM zones WHERE code LIKE 'POOL-%'"); n != 2*6*each {
		t.Errorf("%d records are there, %d were acknowledged", n, 2*6*each)
	}
	if n := s.Number("SELECT COUNT(*) FROM items WHERE sku LIKE 'LIFE-%'"); n != 500 {
		t.Errorf("%d items were imported", n)
	}
	if strings.Contains(v.Out.String(), `"ERROR"`) {
		t.Errorf("errors were logged:\n%s", v.Out)
	}
}
