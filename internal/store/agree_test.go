package store_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/testkit/pgtest"
)

// Both engines answer any request alike, refusals included.
func TestEnginesAgree(t *testing.T) {
	lite := openKit(t, db.Options{Dir: t.TempDir(), Migrate: true})
	server := openKit(t, db.Options{URL: pgtest.DSN(t), Migrate: true, PoolSize: 2})
	fixture(lite)
	fixture(server)
	callers := []actor.Actor{as(north, actor.Manager), as(north, actor.Operator), as(north, actor.Driver), serviceKey}
	rnd := rand.New(rand.NewPCG(1, 2))
	pick := func(list ...string) string { return list[rnd.IntN(len(list))] }
	answered := 0
	for range rounds(t) {
		res := pick("items", "orders", "zones", "order_lines")
		q := []string{"select=" + pick("*", "id", "id,version", "count", "id::text,created_at::date", relation[res],
			groups(pick, res))}
		for range rnd.IntN(4) {
			q = append(q, filter(pick, res))
		}
		if rnd.IntN(3) == 0 {
			q = append(q, pick("or", "and", "not.or", "not.and")+"=("+clause(pick, res)+","+clause(pick, res)+")")
		}
		if rnd.IntN(2) == 0 {
			by := pick(column(pick, res), column(pick, res), column(pick, res), pick("sum", "avg", "count", "max"))
			q = append(q, "order="+by+pick("", ".desc", ".nullsfirst", ".desc.nullslast", ",id.desc"))
		}
		if rnd.IntN(3) == 0 {
			q = append(q, "limit="+pick("0", "1", "2", "7"), "offset="+pick("0", "1", "3"))
		}
		path := res + "?" + strings.Join(q, "&")
		a := callers[rnd.IntN(len(callers))]
		prefer := pick("", "count=exact", "csv", "stripped", "one")
		one, two := lite.do(a, "GET", path, prefer, ""), server.do(a, "GET", path, prefer, "")
		if one.String() != two.String() || one.err != nil && one.err.Code == "" {
			t.Errorf("%s as %s (%s)\nsqlite   %s %v\npostgres %s %v", path, a.Role, prefer, one, one.err, two, two.err)
		} else if one.err == nil && one.Count > 0 {
			answered++
		}
		if one.err == nil && two.err == nil && (one.Total != two.Total || one.Status != two.Status) {
			t.Errorf("%s: total %d %d, status %d %d", path, one.Total, two.Total, one.Status, two.Status)
		}
	}
	if answered < 150 {
		t.Errorf("only %d requests found rows: the comparison says little", answered)
	}
}

var relation = map[string]string{
	"items":  "sku,order_lines(line_no,orders(order_no))",
	"orders": "order_no,l:order_lines!inner(qty_ordered,items(sku))&l.order=line_no.desc&l.limit=1",
	"zones":  "code,zones(code),p:parent_id(code)", "order_lines": "line_no,...items(sku,unit_cost),orders!inner(tags)",
}

var fields = map[string][]string{
	"items": {"sku", "name", "unit_cost", "abc_class", "has_expiry", "shelf_life_days", "barcodes->0->>n", "id",
		"created_at"},
	"orders":      {"order_no", "priority", "promised_at", "tags", "status", "id"},
	"zones":       {"code", "name", "x", "parent_id", "hazard_tags", "utilization"},
	"order_lines": {"line_no", "qty_ordered", "item_id", "unit_price", "min_expiry"},
}

// groups is a select with an aggregate, now and then one that is refused.
func groups(pick func(...string) string, res string) string {
	folded := func() string {
		return column(pick, res) + pick("", "", "", "", "::int", "::date") + "." + pick("sum", "avg", "min", "max",
			"count") + "()" +
			pick("", "", "", "::int", "::text")
	}
	q := folded()
	for range len(pick("", "x", "xx")) {
		q += "," + pick(column(pick, res), column(pick, res)+pick("::int", "::date", "::text"), "count()", folded())
	}
	return q
}

func column(pick func(...string) string, res string) string { return pick(fields[res]...) }

func operand(pick func(...string) string) string {
	return pick("", "not.") + pick("eq.", "neq.", "gt.", "gte.", "lt.", "lte.", "isdistinct.", "like.", "ilike.") +
		pick("S-2", "2", "2.5", "0", "true", "2026-03-04", "A*", "*o*", "b%25", "", "null", id(11), "{eu}", "É")
}

func clause(pick func(...string) string, res string) string {
	return column(pick, res) + "." +
		pick(operand(pick), operand(pick), "is.null", "not.is.null", "is.true", "in.(1,2,S-1)", "cs.{eu}", "ov.{acid,x}",
			"cd.{eu,acid}", "eq(any).{1,S-1}",
			"neq(all).{1,S-1}", "not.eq(any).{2,A}", "gt(all).{1,2,3}", "like(any).{S*,A*,*t}")
}

func filter(pick func(...string) string, res string) string {
	c, rest, _ := strings.Cut(clause(pick, res), ".")
	return c + "=" + rest
}
