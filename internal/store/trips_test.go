package store_test

import (
	"fmt"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/testkit/pgtest"
)

// How often a request waits for PostgreSQL, and that none of its statements is
// parsed when the connection has seen the like.
func TestTrips(t *testing.T) {
	tap, dsn := pgtest.Through(t, pgtest.DSN(t))
	k := openKit(t, db.Options{Migrate: true, URL: dsn, PoolSize: 1})
	m := as(north, actor.Manager)
	k.must(m, "POST", "orders", "", `{"id":"`+id(1)+`","order_no":"P"}`)
	for _, c := range []struct {
		name  string
		trips int64
		do    func(i int)
	}{
		{"point read", 1, func(int) { k.must(m, "GET", "orders?id=eq."+id(1), "", "") }},
		{"list", 1, func(int) { k.must(m, "GET", benchPage, "", "") }},
		{"insert", 1, func(i int) { k.must(m, "POST", "zones", "", fmt.Sprintf(`{"code":"Z%d","name":"zone"}`, i)) }},
		{"numbered order", 2, func(i int) { k.must(m, "POST", "orders", "", `{"priority":2}`) }},
		{"change", 2, func(i int) { k.must(m, "PATCH", "orders?id=eq."+id(1), "", fmt.Sprintf(`{"priority":%d}`, 1+i%5)) }},
	} {
		for i := range 4 {
			tap.Reset()
			c.do(i)
			if n := tap.Parses.Load(); i > 1 && n != 0 {
				t.Errorf("%s: %d statements were parsed again", c.name, n)
			}
			if n := tap.Trips.Load(); i > 1 && n != c.trips {
				t.Errorf("%s: %d round trips, want %d", c.name, n, c.trips)
			}
		}
	}
}
