package store_test

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/store"
)

func TestInsert(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		m := as(north, actor.Manager)
		a := k.must(m, "POST", "zones", "", `{"code":"Z1","name":"One"}`)
		if a.Status != store.Created || a.Body != nil || !a.Inserted {
			t.Errorf("%+v", a.Result)
		}
		k.want(k.get(m, "zones?select=code,kind,x,status,version,created_by,created_at,hazard_tags,tenant_id"),
			`[{"code":"Z1","kind":"bin","x":0,"status":"active","version":1,"created_by":"`+m.UserID+
				`","created_at":"2026-03-01T12:00:00.000000Z","hazard_tags":[],"tenant_id":"`+north+`"}]`)
		a = k.must(m, "POST", "zones?select=code,name", "return=representation",
			`[{"code":"Z3","name":"Three"},{"code":"Z2","name":"Two"}]`)
		k.want(string(a.Body), `[{"code":"Z3","name":"Three"},{"code":"Z2","name":"Two"}]`)
		a = k.must(m, "POST", "zones?select=code&order=code", "return=representation",
			`[{"code":"Z5","name":"5"},{"code":"Z4","name":"4"}]`)
		k.want(string(a.Body), `[{"code":"Z4"},{"code":"Z5"}]`)
		a = k.must(m, "POST", "zones?select=code,parent:parent_id(code)", "return=representation,one",
			`{"code":"Z6","name":"6"}`)
		k.want(string(a.Body), `{"code":"Z6","parent":null}`)
		a = k.must(m, "POST", "zones", "return=representation", `[]`)
		k.want(fmt.Sprint(a.Status)+" "+string(a.Body), "created []")
		a = k.must(m, "POST", "zones", "return=headers-only", `{"id":"`+id(5)+`","code":"Z7","name":"7"}`)
		k.want(a.Location, "id=eq."+id(5))
		// columns= takes only the named keys; what an object lacks is null, or the default
		k.must(m, "POST", `zones?columns="code","name","x","max_weight_kg"`, "missing=default",
			`[{"code":"Z8","name":"8","x":2,"nonsense":1},{"code":"Z9","name":"9"}]`)
		k.want(k.get(m, "zones?select=x,max_weight_kg&code=in.(Z8,Z9)&order=code"),
			`[{"x":2,"max_weight_kg":null},{"x":0,"max_weight_kg":null}]`)
		// CSV
		k.must(m, "POST", "zones", "", "csv:code,name,parent_id\nC1,\"a,\"\"b\",NULL\nC2,x,"+id(5)+"\n")
		k.want(k.get(m, "zones?select=name,p:parent_id(code)&code=like.C*&order=code"),
			`[{"name":"a,\"b","p":null},{"name":"x","p":{"code":"Z7"}}]`)
	})
}

func TestInsert_refused(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		fixture(k)
		m := as(north, actor.Manager)
		for _, c := range []struct{ path, prefer, body, code, names string }{
			{"zones", "", `{"code":"N","nope":1}`, "PGRST204", "nope"},
			{"zones?columns=code,nope", "", `[{"code":"N"}]`, "PGRST204", "nope"},
			{"zones", "", `{"code":"N"}`, "23502", "name"},
			{"zones", "", `{"code":"N","name":null}`, "23502", "name"},
			{"zones?columns=code,name,x", "", `[{"code":"N","name":"n"}]`, "23502", `"x"`},
			{"zones", "", `{"code":"N","name":"n","x":"one"}`, "22P02", ""},
			{"zones", "", `{"code":"N","name":"n","x":0.12345}`, "22003", `"x"`},
			{"zones", "", `{"code":"N","name":"n","x":9007199254740993000}`, "22003", `"x"`},
			{"zones", "", `{"code":"N","name":"n","x":[1]}`, "22P02", ""},
			{"zones", "", `{"code":"N","name":"n","pick_sequence":1.5}`, "22P02", ""},
			{"zones", "", `{"code":"N","name":"n","kind":"castle"}`, "23514", "kind"},
			{"zones", "", `{"code":"N","name":"n","max_capacity":-1}`, "23514", "max_capacity"},
			{"zones", "", `{"code":"has space","name":"n"}`, "23514", "code"},
			{"zones", "", `{"code":"","name":"n"}`, "23514", "code"},
			{"zones", "", `{"code":"N","name":"two\nlines"}`, "23514", "name"},
			{"zones", "", `{"code":"N","name":"` + strings.Repeat("é", 201) + `"}`, "22001", "name"},
			{"zones", "", `{"code":"N","name":"a\u0000b"}`, "22P05", "name"},
			{"zones", "", `{"code":"N","name":"n","hazard_tags":{"a":1}}`, "22P02", ""},
			{"zones", "", `{"code":"N","name":"n","archived_at":"soon"}`, "22007", ""},
			{"zones", "", `{"code":"N","name":"n","utilization":3}`, "428C9", "utilization"},
			{"zones", "", `{"code":"N","name":"n","created_by":"` + id(1) + `"}`, "428C9", "created_by"},
			{"zones", "", `{"code":"N","name":"n","version":9}`, "428C9", "version"},
			{"zones", "", `{"code":"N","name":"n","status":"archived"}`, "HF001", "archived"},
			{"zones", "", `{"code":"N","name":"n","tenant_id":"` + south + `"}`, "42501",
				`row-level security policy for table "zones"`},
			{"zones", "", `{"code":"N","name":"n","parent_id":"` + id(91) + `"}`, "23503", "zones_parent_id_fkey"},
			{"zones", "", `{"code":"N","name":"n","parent_id":"` + id(77) + `"}`, "23503", "zones_parent_id_fkey"},
			{"zones", "", `{"code":"a-01","name":"n"}`, "23505", "zones_code_key"},
			{"zones", "", `[{"code":"N1","name":"n"},{"code":"n1","name":"n"}]`, "23505", "zones_code_key"},
			{"zones", "", `{"id":"` + id(1) + `","code":"N","name":"n"}`, "23505", "zones_pkey"},
			{"items", "", `{"sku":"N","name":"n","gtin":"4006381333932"}`, "23514", "gtin"},
			{"items", "", `{"sku":"N","name":"n","barcodes":"{"}`, "", ""},
			{"stock_levels", "", `{"quantity":1}`, "42501", "stock_levels"},
			{"zones", "one", `[]`, "PGRST116", ""},
			{"zones", "one", `[{"code":"N1","name":"n"},{"code":"N2","name":"n"}]`, "PGRST116", ""},
			{"zones?on_conflict=name", "resolution=merge-duplicates", `{"code":"N","name":"n"}`, "42P10", "code"},
			{"zones?on_conflict=code", "resolution=merge-duplicates", `[{"code":"N","name":"n"},{"code":"n","name":"m"}]`,
				"21000", "row 2"},
		} {
			if c.code == "" {
				continue
			}
			a := k.do(m, "POST", c.path, c.prefer, c.body)
			if a.err == nil || a.err.Code != c.code || !strings.Contains(a.err.Msg+a.err.Details+a.err.Hint, c.names) {
				t.Errorf("POST %s %.90s: got %v (%+v), want %s naming %s", c.path, c.body, a, a.err, c.code, c.names)
			}
		}
		k.want(k.get(m, "zones?select=count"), `[{"count":3}]`)
		for body, names := range map[string]string{
			`{"code":"N","name":"n","country":"XX"}`:         "country",
			`{"code":"N","name":"n","timezone":"Mars/Base"}`: "timezone",
		} {
			a := k.do(as(north, actor.Admin), "POST", "sites", "", body)
			if a.err == nil || a.err.Code != "23514" || !strings.Contains(a.err.Msg, names) {
				t.Errorf("%s: %v", body, a)
			}
		}
	})
}

// A reference into another tenant reads like one to nothing at all.
func TestInsert_foreignReference(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		fixture(k)
		m := as(north, actor.Manager)
		text := func(ref string) string {
			a := k.do(m, "POST", "zones", "", `{"code":"N","name":"n","parent_id":"`+ref+`"}`)
			return strings.ReplaceAll(a.err.Msg+a.err.Details, ref, "REF")
		}
		k.want(text(id(91)), text(id(77)))
		k.want(text(id(77)),
			`insert or update on table "zones" violates foreign key constraint "zones_parent_id_fkey"Key (parent_id)=(REF) is not present in table "zones".`)
		a := k.do(m, "POST", "zones", "", `{"code":"A-01","name":"n"}`)
		k.want(a.err.Details, "Key (code)=(A-01) already exists.")
		d := k.do(m, "DELETE", "zones?id=eq."+id(1), "", "")
		k.want(d.err.Msg+d.err.Details,
			`update or delete on table "zones" violates foreign key constraint "zones_parent_id_fkey" on table "zones"Key (id)=(`+id(1)+
				`) is still referenced from table "zones".`)
	})
}

func TestUpdate(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		fixture(k)
		m := as(north, actor.Manager)
		k.now = k.now.Add(time.Hour)
		a := k.must(m, "PATCH", "zones?code=eq.A-02", "", `{"name":"New","x":3}`)
		if a.Status != store.Done || a.Body != nil || a.Count != 1 || a.Total != -1 {
			t.Errorf("%+v", a.Result)
		}
		k.want(k.get(m, "zones?select=name,x,version,updated_at&code=eq.A-02"),
			`[{"name":"New","x":3,"version":2,"updated_at":"2026-03-01T13:00:00.000000Z"}]`)
		// a filter column may change in the call; the changed rows come back
		a = k.must(m, "PATCH", "zones?kind=eq.bin&code=neq.A-01&select=code,kind&order=code.desc",
			"return=representation,count=exact", `{"kind":"rack"}`)
		k.want(string(a.Body), `[{"code":"b_03","kind":"rack"},{"code":"A-02","kind":"rack"}]`)
		k.want(fmt.Sprint(a.Status, a.Count, a.Total), "rows 2 2")
		// nothing to do, nothing matched
		k.want(fmt.Sprint(k.must(m, "PATCH", "zones?code=eq.A-01", "", `{}`).Status), "done")
		k.want(k.must(m, "PATCH", "zones?code=eq.none", "return=representation", `{"name":"x"}`).String(), "[]")
		k.want(k.get(m, "zones?select=version&code=eq.A-01"), `[{"version":1}]`)
		k.must(m, "PATCH", "zones?code=eq.A-01", "", `{"name":"Dock"}`)
		k.want(k.get(m, "zones?select=version&code=eq.A-01"), `[{"version":1}]`)
		// own id and tenant may be repeated
		k.must(m, "PATCH", "zones?code=eq.A-01", "", `{"id":"`+id(1)+`","tenant_id":"`+north+`","name":"D"}`)
		for body, code := range map[string]string{
			`{"nope":1}`:                     "PGRST204",
			`{"name":null}`:                  "23502",
			`{"kind":"castle"}`:              "23514",
			`{"tenant_id":"` + south + `"}`:  "42501",
			`{"id":"` + id(50) + `"}`:        "428C9",
			`{"version":7}`:                  "428C9",
			`{"code":"B_03"}`:                "23505",
			`{"parent_id":"` + id(91) + `"}`: "23503",
			`{"status":"reserved"}`:          "23514",
		} {
			if a := k.do(m, "PATCH", "zones?code=eq.A-01", "", body); a.err == nil || a.err.Code != code {
				t.Errorf("PATCH %s: got %v, want %s", body, a, code)
			}
		}
		k.refused(k.do(m, "PATCH", "zones", "", `{"name":"x"}`), "21000")
		k.refused(k.do(m, "PATCH", "zones?limit=1", "", `{"name":"x"}`), "21000")
		k.refused(k.do(m, "PATCH", "zones?code=like.*", "one", `{"name":"x"}`), "PGRST116")
		k.refused(k.do(m, "PATCH", "zones?code=like.*", "handling=strict,max-affected=1", `{"name":"x"}`), "PGRST124")
		k.want(k.get(m, "zones?select=name&name=eq.x"), `[]`)
		// another tenant's row is not there
		k.want(k.must(m, "PATCH", "zones?id=eq."+id(91), "return=representation", `{"name":"x"}`).String(), "[]")
		k.want(k.get(as(south, actor.Manager), "zones?select=name"), `[{"name":"canary"}]`)
	})
}

func TestDelete(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		fixture(k)
		m := as(north, actor.Manager)
		a := k.must(m, "DELETE", "order_lines?line_no=eq.2&select=line_no,items(sku)", "return=representation", "")
		k.want(fmt.Sprint(a.Status)+" "+string(a.Body), `rows [{"line_no":2,"items":{"sku":"S-2"}}]`)
		k.want(fmt.Sprint(k.must(m, "DELETE", "order_lines?line_no=eq.9", "count=exact", "").Total), "0")
		k.refused(k.do(m, "DELETE", "order_lines", "", ""), "21000")
		k.refused(k.do(m, "DELETE", "orders?order_no=eq.O-1", "", ""), "23503")
		k.must(m, "DELETE", "zones?id=eq."+id(91), "", "")
		k.want(k.get(as(south, actor.Manager), "zones?select=name"), `[{"name":"canary"}]`)
	})
}

func TestUpsert(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		fixture(k)
		m := as(north, actor.Manager)
		// columns of the payload are set, the others keep their values
		a := k.must(m, "POST", "zones?on_conflict=tenant_id,code&select=code,name,x,version",
			"resolution=merge-duplicates,return=representation",
			`[{"code":"a-01","name":"merged"},{"code":"new","name":"fresh"}]`)
		k.want(fmt.Sprint(a.Status)+" "+string(a.Body),
			`created [{"code":"a-01","name":"merged","x":1.5,"version":2},{"code":"new","name":"fresh","x":0,"version":1}]`)
		a = k.must(m, "POST", "zones?select=name", "resolution=merge-duplicates,return=representation",
			`{"id":"`+id(2)+`","code":"A-02","name":"by id"}`)
		k.want(fmt.Sprint(a.Status)+" "+string(a.Body), `rows [{"name":"by id"}]`)
		a = k.must(m, "POST", "zones?on_conflict=code&select=code", "resolution=ignore-duplicates,return=representation",
			`[{"code":"A-02","name":"ignored"},{"code":"new2","name":"fresh"}]`)
		k.want(fmt.Sprint(a.Status)+" "+string(a.Body), `created [{"code":"new2"}]`)
		k.want(k.get(m, "zones?select=name&code=eq.A-02"), `[{"name":"by id"}]`)
		// another tenant's id makes a row of one's own and shows nothing
		a = k.must(m, "POST", "zones?select=code,name", "resolution=merge-duplicates,return=representation",
			`{"id":"`+id(91)+`","code":"own","name":"own"}`)
		k.want(string(a.Body), `[{"code":"own","name":"own"}]`)
		k.want(k.get(as(south, actor.Manager), "zones?select=code,name"), `[{"code":"A-01","name":"canary"}]`)
		k.refused(k.do(m, "POST", "zones?on_conflict=code", "resolution=merge-duplicates",
			`{"code":"A-01","name":"x","tenant_id":"`+south+`"}`), "42501")
		// PUT
		a = k.must(m, "PUT", "zones?id=eq."+id(60)+"&select=code", "return=representation",
			`{"id":"`+id(60)+`","code":"P","name":"p"}`)
		k.want(fmt.Sprint(a.Status)+" "+string(a.Body), `created [{"code":"P"}]`)
		k.want(fmt.Sprint(k.must(m, "PUT", "zones?id=eq."+id(60), "", `{"id":"`+id(60)+`","code":"P2","name":"p"}`).Status),
			"done")
		k.refused(k.do(m, "PUT", "zones?code=eq.P", "", `{"code":"P","name":"p"}`), "PGRST105")
		k.refused(k.do(m, "PUT", "zones?id=eq."+id(60)+"&limit=1", "", `{"id":"`+id(60)+`"}`), "PGRST114")
		k.refused(k.do(m, "PUT", "zones?id=eq."+id(60), "", `{"id":"`+id(61)+`","code":"P","name":"p"}`), "PGRST115")
	})
}

func TestNumbers(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		m := as(north, actor.Manager)
		k.want(k.must(m, "POST", "orders?select=order_no", "return=representation",
			`[{"priority":1},{"priority":2}]`).String(),
			`[{"order_no":"SO-2026-000001"},{"order_no":"SO-2026-000002"}]`)
		// the sequence steps over a number somebody chose
		k.must(m, "POST", "orders", "", `{"order_no":"SO-2026-000004"}`)
		k.want(k.must(m, "POST", "orders?select=order_no", "return=representation", `[{},{}]`).String(),
			`[{"order_no":"SO-2026-000005"},{"order_no":"SO-2026-000006"}]`)
		k.now = k.now.AddDate(1, 0, 0)
		k.want(k.must(m, "POST", "orders?select=order_no", "return=representation", `{}`).String(),
			`[{"order_no":"SO-2027-000001"}]`)
		k.want(k.must(as(south, actor.Manager), "POST", "orders?select=order_no", "return=representation", `{}`).String(),
			`[{"order_no":"SO-2027-000001"}]`)
		k.refused(k.do(m, "POST", "orders", "", `{"order_no":"SO-2026-000004"}`), "23505")
	})
}

func TestStates(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		fixture(k)
		m, op := as(north, actor.Manager), as(north, actor.Operator)
		move := func(a actor.Actor, to string) answer {
			return k.do(a, "PATCH", "orders?order_no=eq.O-1&select=status", "return=representation", `{"status":"`+to+`"}`)
		}
		k.want(move(op, "confirmed").String(), `[{"status":"confirmed"}]`)
		e := move(m, "completed")
		k.refused(e, "HF001")
		k.want(e.err.Details, `from "confirmed" to "completed"`)
		if e.err.Kind != fault.Conflict {
			t.Error(e.err.Kind)
		}
		k.refused(move(op, "on_hold"), "42501")
		k.refused(move(m, "in_progress"), "42501") // the server's own move
		k.refused(move(m, "lost"), "23514")
		k.want(move(m, "on_hold").String(), `[{"status":"on_hold"}]`)
		k.refused(k.do(op, "PATCH", "orders?order_no=eq.O-1", "", `{"priority":1}`), "42501")
		k.refused(k.do(m, "POST", "orders", "", `{"status":"confirmed"}`), "HF001")
		k.refused(k.do(m, "PATCH", "stock_movements?id=eq."+id(1), "", `{}`), "42501")
	})
}

func TestScopes(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		fixture(k)
		m := as(north, actor.Manager)
		op := as(north, actor.Operator)
		// zone scope
		zoned := op
		zoned.ZoneIDs = []string{id(2)}
		k.want(k.get(zoned, "zones?select=code"), `[{"code":"A-02"}]`)
		k.want(k.get(op, "zones?select=count"), `[{"count":3}]`)
		// own scope: incidents of others do not exist for an operator
		k.must(m, "POST", "incidents", "", `{"kind":"hazard","title":"theirs","occurred_at":"2026-03-01T08:00:00Z"}`)
		k.must(op, "POST", "incidents", "", `{"kind":"hazard","title":"mine","occurred_at":"2026-03-01T08:00:00Z"}`)
		k.want(k.get(op, "incidents?select=title"), `[{"title":"mine"}]`)
		k.want(k.get(op, "incidents?select=count"), `[{"count":1}]`)
		k.want(k.get(op, "zones?select=code,incidents(title)&code=eq.A-01"), `[{"code":"A-01","incidents":[]}]`)
		k.want(k.get(as(north, actor.Viewer), "incidents?select=title&order=title"), `[{"title":"mine"},{"title":"theirs"}]`)
		// worker rows: own by worker id, personal fields masked
		k.must(m, "POST", "workers", "", `[{"id":"`+id(41)+`","employee_no":"7","name":"Ann","hired_on":"2020-01-02"},`+
			`{"id":"`+id(42)+`","employee_no":"8","name":"Bob","hired_on":"2020-01-02"}]`)
		k.must(m, "POST", "drivers", "", `[{"worker_id":"`+id(41)+`","phone":"1"},{"worker_id":"`+id(42)+`","phone":"2"}]`)
		d := as(north, actor.Driver)
		d.WorkerID = id(41)
		k.want(k.get(d, "drivers?select=worker_id,phone"), `[{"worker_id":"`+id(41)+`","phone":null}]`)
		k.want(k.get(op, "workers?select=name,hired_on&order=employee_no"),
			`[{"name":"Ann","hired_on":null},{"name":"Bob","hired_on":null}]`)
		k.refused(k.do(op, "GET", "workers?hired_on=eq.2020-01-02", "", ""), "42501")
		k.refused(k.do(op, "GET", "workers?order=hired_on", "", ""), "42501")
		k.refused(k.do(op, "GET", "drivers?select=workers(id)&workers.or=(hired_on.eq.2020-01-02)", "", ""), "42501")
		k.refused(k.do(op, "GET", "audit", "", ""), "42501")
		k.refused(k.do(op, "POST", "zones", "", `{"code":"x","name":"x"}`), "42501")
		k.refused(k.do(actor.Actor{Role: actor.Anon}, "GET", "zones", "", ""), "PGRST302")
		k.refused(k.do(actor.Actor{UserID: id(1)}, "GET", "zones", "", ""), "42501")
		// the caller's own tenant is the only one
		k.want(k.get(m, "tenants?select=id"), `[{"id":"`+north+`"}]`)
		k.refused(k.do(m, "POST", "tenants", "", `{"name":"x","slug":"x"}`), "42501")
		k.must(as(north, actor.Admin), "PATCH", "tenants?id=not.is.null", "", `{"name":"N"}`)
		k.want(k.get(as(south, actor.Admin), "tenants?select=name"), `[{"name":"T1"}]`)
		s := m
		s.Suspended = true
		k.refused(k.do(s, "POST", "zones", "", `{"code":"x","name":"x"}`), "42501")
		k.get(s, "zones")
	})
}

func TestServiceKey(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		fixture(k)
		k.want(k.get(serviceKey, "zones?select=code,name&code=eq.A-01&order=name"),
			`[{"code":"A-01","name":"Dock"},{"code":"A-01","name":"canary"}]`)
		k.want(k.get(serviceKey, "orders?select=order_no,order_lines(qty_ordered)&order_no=eq.O-1&order=id"),
			`[{"order_no":"O-1","order_lines":[{"qty_ordered":5},{"qty_ordered":2.25}]},{"order_no":"O-1","order_lines":[{"qty_ordered":9}]}]`)
		k.refused(k.do(serviceKey, "POST", "zones", "", `{"code":"S","name":"s"}`), "23502")
		// one id in two tenants is two records
		for _, tenant := range []string{north, south} {
			k.must(serviceKey, "POST", "zones", "", `{"tenant_id":"`+tenant+`","id":"`+id(70)+`","code":"S","name":"`+tenant+`"}`)
		}
		a := k.must(serviceKey, "PATCH", "zones?id=eq."+id(70)+"&tenant_id=eq."+south+"&select=name",
			"return=representation", `{"name":"changed"}`)
		k.want(string(a.Body), `[{"name":"changed"}]`)
		k.want(k.get(serviceKey, "zones?select=name&id=eq."+id(70)+"&order=name"),
			`[{"name":"`+north+`"},{"name":"changed"}]`)
		// and what hangs on it is each its own
		for _, tenant := range []string{north, south} {
			k.must(serviceKey, "POST", "orders", "", `{"tenant_id":"`+tenant+`","id":"`+id(80)+`","order_no":"T-1"}`)
		}
		k.must(serviceKey, "POST", "order_lines", "", `{"tenant_id":"`+south+`","id":"`+id(81)+`","order_id":"`+id(80)+`","line_no":1,"item_id":"`+id(92)+
			`","qty_ordered":1}`)
		k.want(k.get(serviceKey, "orders?select=order_no,order_lines!inner(line_no)&id=eq."+id(80)+"&tenant_id=eq."+north),
			`[]`)
		k.want(k.get(serviceKey, "orders?select=order_no,order_lines!inner(line_no)&id=eq."+id(80)+"&tenant_id=eq."+south),
			`[{"order_no":"T-1","order_lines":[{"line_no":1}]}]`)
		bound := serviceKey
		bound.TenantID = south
		k.want(k.get(bound, "zones?select=name&order=name"), `[{"name":"canary"},{"name":"changed"}]`)
	})
}

func TestLedger(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		m := as(north, actor.Manager)
		k.must(m, "POST", "items", "", `[{"sku":"a","name":"a","status":"active"},{"sku":"b","name":"b","status":"draft"},{"sku":"c","name":"c","status":"active"}]`)
		k.must(m, "PATCH", "items?sku=eq.c", "", `{"status":"discontinued","name":"C"}`)
		k.must(m, "DELETE", "items?sku=eq.b", "", "")
		got := map[string]int64{}
		err := k.d.Read(context.Background(), db.Scope{Tenant: north}, func(tx *db.Tx) error {
			k.s.Counts(tx, north, got)
			return tx.Flush()
		})
		want := map[string]int64{"items:active:false": 1, "items:discontinued:false": 1, "items:draft:false": 0,
			"items.stock_value": 0}
		for n, v := range got {
			if v == 0 {
				delete(got, n)
				delete(want, n)
			}
		}
		delete(want, "items.stock_value")
		delete(want, "items:draft:false")
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Error(d, err)
		}
		adm := as(north, actor.Admin)
		k.want(k.get(adm, "audit?select=action,before,after->>sku,actor_user_id,session_id,request_id&entity_type=eq.items&action=neq.items.insert&order=id"),
			`[{"action":"items.update","before":{"name":"c","status":"active","version":1},"sku":null,"actor_user_id":"`+m.UserID+`","session_id":"`+
				someSession+`","request_id":"test"},`+
				`{"action":"items.delete","before":`+auditImage(k, adm,
				"items.delete")+`,"sku":null,"actor_user_id":"`+m.UserID+`","session_id":"`+someSession+
				`","request_id":"test"}]`)
		k.want(k.get(adm, "audit?select=count&action=eq.items.insert"), `[{"count":3}]`)
		k.want(k.get(as(south, actor.Admin), "audit?select=count&entity_type=eq.items"), `[{"count":0}]`)
	})
}

func auditImage(k *kit, a actor.Actor, action string) string {
	s := k.get(a, "audit?select=before&action=eq."+action)
	return strings.TrimSuffix(strings.TrimPrefix(s, `[{"before":`), `}]`)
}

func TestEffects(t *testing.T) {
	var heard []string
	eff := store.Effects{
		Before: map[string]store.Effect{"zones": func(tx *store.Tx, cs []store.Change) error {
			for _, c := range cs {
				if c.After != nil && c.After["name"] == any("derive") {
					c.After["utilization"] = 12
				}
				if c.After != nil && c.After["name"] == any("veto") {
					return fault.New(fault.Conflict, "HF100", "vetoed")
				}
			}
			return nil
		}},
		After: map[string]store.Effect{"zones": func(tx *store.Tx, cs []store.Change) error {
			for _, c := range cs {
				if c.Op == store.Insert {
					if _, err := tx.InsertRows("sites", []store.Row{{"code": c.After["code"], "name": "made by effect"}}); err != nil {
						return err
					}
				}
			}
			return nil
		}},
	}
	eachWith(t, catalog.Default(), eff, func(t *testing.T, k *kit) {
		heard = nil
		k.s.OnChange(func(tenant string, rs []string) { heard = append(heard, tenant+" "+strings.Join(rs, ",")) })
		m := as(north, actor.Manager)
		k.must(m, "POST", "zones", "", `[{"code":"E1","name":"derive"},{"code":"E2","name":"x"}]`)
		k.want(k.get(m, "zones?select=code,utilization&order=code"),
			`[{"code":"E1","utilization":12},{"code":"E2","utilization":null}]`)
		k.want(k.get(m, "sites?select=code,name&order=code"),
			`[{"code":"E1","name":"made by effect"},{"code":"E2","name":"made by effect"}]`)
		if d := cmp.Diff([]string{north + " zones", north + " sites", north + " sites"}, heard); d != "" {
			t.Error(d)
		}
		k.must(m, "PATCH", "zones?code=eq.E2", "", `{"name":"derive"}`)
		k.want(k.get(m, "zones?select=utilization&code=eq.E2"), `[{"utilization":12}]`)
		heard = nil
		k.refused(k.do(m, "POST", "zones", "", `[{"code":"E3","name":"ok"},{"code":"E4","name":"veto"}]`), "HF100")
		k.refused(k.do(m, "POST", "zones", "", `{"code":"E5","name":"ok","parent_id":"`+id(1)+`"}`), "23503")
		k.want(k.get(m, "zones?select=count"), `[{"count":2}]`)
		k.want(k.get(m, "sites?select=count"), `[{"count":2}]`)
		if len(heard) > 0 {
			t.Errorf("a rolled back change was announced: %v", heard)
		}
	})
}

func TestTxVerbs(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		ctx := context.Background()
		job := actor.Actor{Role: actor.Service, TenantID: north}
		zones, _ := k.cat.Get("zones")
		var ids []string
		err := k.d.Write(ctx, store.Scope(job), func(tx *db.Tx) error {
			rows := make([]store.Row, 600)
			for i := range rows {
				rows[i] = store.Row{"code": fmt.Sprintf("T%03d", i), "name": "t", "x": int64(i), "utilization": 5.5,
					"archived_at": k.now}
			}
			out, err := k.s.In(tx, job).InsertRows(zones.Name, rows)
			if err != nil {
				return err
			}
			ids = []string{out[0]["id"].(string), out[1]["id"].(string)}
			cs, err := k.s.In(tx, job).ChangeRows(zones.Name, ids, store.Row{"status": "blocked", "utilization": nil})
			if err != nil || len(cs) != 2 || cs[0].Before["status"] != any("active") || cs[0].After["version"] != any(int64(2)) {
				return fmt.Errorf("%v %v", cs, err)
			}
			got, err := k.s.In(tx, job).Rows(zones.Name, "code >= $2 ORDER BY code LIMIT 1", "T599")
			if err != nil || len(got) != 1 || got[0]["x"].(interface{ String() string }).String() != "599" ||
				got[0]["archived_at"] != any("2026-03-01T12:00:00.000000Z") {
				return fmt.Errorf("%v %v", got, err)
			}
			err = k.s.In(tx, job).DeleteRows(zones.Name, ids[:1])
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		k.want(k.get(as(north, actor.Viewer), "zones?select=count"), `[{"count":599}]`)
		out, bad := k.s.Validate(zones, store.Row{"code": "a b", "x": "1,5", "nope": "1", "y": "2.5"}, store.Insert)
		var names []string
		for _, f := range bad {
			names = append(names, f.Name)
		}
		if d := cmp.Diff([]string{"code", "x", "nope", "name"}, names); d != "" ||
			out["y"].(interface{ String() string }).String() != "2.5" {
			t.Error(d, out)
		}
	})
}

func TestUpdateEach(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		fixture(k)
		job := actor.Actor{Role: actor.Service, TenantID: north}
		err := k.d.Write(context.Background(), store.Scope(job), func(tx *db.Tx) error {
			return k.s.In(tx, job).UpdateEach("items",
				[]store.Row{{"id": id(12), "name": "two"}, {"id": id(11), "name": "one", "unit_cost": "3"},
					{"id": id(92), "name": "x"}})
		})
		if err != nil {
			t.Fatal(err)
		}
		k.want(k.get(as(north, actor.Viewer), "items?select=name,unit_cost,version&order=sku"),
			`[{"name":"one","unit_cost":3,"version":2},{"name":"two","unit_cost":0.0001,"version":2},{"name":"100% nut_a","unit_cost":12,"version":1}]`)
	})
}

// Writers that race for one key, or one row, end as if one came after another.
func TestRaces(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		m := as(north, actor.Manager)
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				for n := range 5 {
					if _, err := k.try(m, "POST", "items?on_conflict=sku", "resolution=merge-duplicates",
						fmt.Sprintf(`[{"sku":"R%d","name":"n%d"},{"sku":"R","name":"n%d"}]`, n, i, i)); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		k.want(k.get(m, "items?select=count"), `[{"count":6}]`)
		var racer []struct {
			ID      string `json:"id"`
			Version int    `json:"version"`
		}
		decode(t, k.get(m, "items?select=id,version&sku=eq.R"), &racer)
		k.want(k.get(as(north, actor.Admin), "audit?select=count&action=eq.items.update&entity_id=eq."+racer[0].ID),
			fmt.Sprintf(`[{"count":%d}]`, racer[0].Version-1))
		total := map[string]int64{}
		err := k.d.Read(context.Background(), db.Scope{Tenant: north}, func(tx *db.Tx) error {
			k.s.Counts(tx, north, total)
			return tx.Flush()
		})
		if err != nil || total["items:active:false"] != 6 {
			t.Error(total, err)
		}
	})
}

// The limits of the grammar are within what both engines take.
func TestLimitsFit(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		fixture(k)
		m := as(north, actor.Manager)
		k.want(k.get(m, "items?select=count&"+strings.Repeat("sku=like.S*&", 490)+"a=eq.1"[:0]), `[{"count":3}]`)
		k.want(k.get(m, "items?select=count&or=("+strings.Repeat("sku.eq.none,", 490)+"sku.eq.S-1)"), `[{"count":1}]`)
		k.want(k.get(m, "items?select=count&or="+strings.Repeat("(not.and", 19)+"(sku.eq.S-1)"+strings.Repeat(")", 19)),
			`[{"count":2}]`)
		for _, list := range []string{"sku=in.(" + strings.Repeat("none,", 4999) + "S-1)",
			"unit_cost=in.(" + strings.Repeat("99,", 4999) + "2.5)",
			"id=in.(" + strings.Repeat(id(50)+",", 2900) + id(11) + ")",
			"created_at=in.(" + strings.Repeat("2020-01-01,", 4000) + "2026-03-01T12:00:00Z)&sku=eq.S-1"} {
			k.want(k.get(m, "items?select=count&"+list), `[{"count":1}]`)
		}
		k.get(m, "order_lines?select=*"+strings.Repeat(",items(order_lines(items(sku)))", 5))
	})
}

func TestIfVersion(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		fixture(k)
		m := as(north, actor.Manager)
		a := k.must(m, "GET", "zones?code=eq.A-01", "one", "")
		if a.Version != 1 {
			t.Errorf("version %d", a.Version)
		}
	})
}

// What a spreadsheet would run leaves as text, and comes back as it was. A description
// keeps the white space around it, which a name or code does not.
func TestCSVFormulas(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		m := as(north, actor.Manager)
		texts := []struct{ text, cell string }{
			{`=HYPERLINK("http://x","y")`, `'=HYPERLINK("http://x","y")`},
			{"+49 170 1", "'+49 170 1"},
			{"-5", "-5"},
			{"-5 °C", "'-5 °C"},
			{"@SUM(A1)", "'@SUM(A1)"},
			{"\t=1", "'\t=1"},
			{"＝1", "'＝1"},
			{"'=1", "''=1"},
			{"''-1", "'''-1"},
			{"'tis", "'tis"},
			{"a=1", "a=1"},
		}
		var rows []map[string]any
		for i, x := range texts {
			rows = append(rows, map[string]any{"sku": fmt.Sprintf("F%02d", i), "name": "n", "description": x.text})
		}
		b, err := json.Marshal(rows)
		if err != nil {
			t.Fatal(err)
		}
		k.must(m, "POST", "items", "missing=default", string(b))

		const path = "items?select=sku,name,description&sku=like.F*&order=sku"
		was := k.get(m, path)
		file := string(k.must(m, "GET", path, "csv", "").Body)
		cells, err := csv.NewReader(strings.NewReader(file)).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range texts {
			if got := cells[i+1][2]; got != x.cell {
				t.Errorf("%q leaves as %q", x.text, got)
			}
		}

		k.must(m, "PATCH", "items?sku=like.F*", "", `{"description":"changed"}`)
		k.must(m, "POST", "items?on_conflict=sku", "resolution=merge-duplicates", "csv:"+file)
		k.want(k.get(m, path), was)
	})
}

// A number below zero is no formula: it leaves as a number.
func TestCSVNumbersBelowZero(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		m := as(north, actor.Manager)
		k.must(m, "POST", "zones", "", `{"code":"F01","name":"n","x":-2.5}`)

		file := string(k.must(m, "GET", "zones?select=code,x&code=eq.F01", "csv", "").Body)
		if !strings.Contains(file, "F01,-2.5") {
			t.Errorf("a place at x = -2.5 leaves as %q", file)
		}
	})
}

// What is missing is told before any rule says what is wrong with the rest, in
// one order, and the same on both engines.
func TestMissingIsToldFirst(t *testing.T) {
	rule := func(*store.Tx, []store.Change) error {
		return fault.New(fault.Invalid, "HF999", "a rule")
	}
	rules := store.Effects{Before: map[string]store.Effect{}}
	for _, r := range catalog.Default().All() {
		if !r.Root {
			rules.Before[r.Name] = rule
		}
	}
	answers := map[string]map[string]bool{}
	eachWith(t, catalog.Default(), rules, func(t *testing.T, k *kit) {
		for _, r := range k.cat.All() {
			if _, ok := catalog.Find(r.Access.Create, actor.Owner); !ok || r.Root {
				continue
			}
			a := k.do(as(north, actor.Owner), "POST", r.Name, "", "{}")
			if a.err == nil {
				continue
			}
			if answers[r.Name] == nil {
				answers[r.Name] = map[string]bool{}
			}
			answers[r.Name][fmt.Sprint(a.err.Code, a.err.Msg, a.err.Fields)] = true
			if required := given(r); (a.err.Code == "23502") != (len(required) > 0) {
				t.Errorf("%s needs %v and answers %s %s", r.Name, required, a.err.Code, a.err.Msg)
			}
		}
	})
	for name, all := range answers {
		if len(all) > 1 {
			t.Errorf("%s answers differently: %v", name, all)
		}
	}
}

// given lists the fields that a caller has to give.
func given(r *catalog.Resource) (out []string) {
	for _, f := range r.Fields {
		common := f.Name == "id" || f.Name == "tenant_id"
		if f.Required && !f.Filled && f.Default == "" && !f.ReadOnly && !common && f.Format != catalog.Number &&
			(r.States == nil || r.States.Field != f.Name) {
			out = append(out, f.Name)
		}
	}
	return out
}

// A change of nothing changes no row.
func TestPatchOfNothing(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		fixture(k)
		m := as(north, actor.Manager)
		before := k.get(m, "zones")
		k.want(string(k.must(m, "PATCH", "zones?code=not.is.null", "return=representation", `{}`).Body), "[]")
		k.want(k.get(m, "zones"), before)
		// columns= without a name means those of the body
		k.must(m, "POST", "zones?columns=", "", `{"code":"COL","name":"n"}`)
		for range 20 {
			a := k.do(m, "PATCH", "zones?code=eq.COL", "", `{"version":9,"utilization":3,"load_units":2,"created_by":null}`)
			if a.err == nil || a.err.Code != "428C9" || !strings.Contains(a.err.Msg, `"created_by"`) {
				t.Fatalf("%+v", a.err)
			}
		}
	})
}

// A service key without a tenant says which tenant's record it means.
func TestIdOfTwoTenants(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		for _, tenant := range []string{north, south} {
			k.must(as(tenant, actor.Manager), "POST", "zones", "", `{"id":"`+id(7)+`","code":"TWO","name":"n"}`)
		}
		for _, method := range []string{"PATCH", "DELETE"} {
			a := k.do(serviceKey, method, "zones?id=eq."+id(7), "", `{"name":"m"}`)
			if a.err == nil || a.err.Code != "21000" || !strings.Contains(a.err.Msg, id(7)) {
				t.Errorf("%s: %v", method, a)
			}
		}
		k.must(serviceKey, "PATCH", "zones?id=eq."+id(7)+"&tenant_id=eq."+south, "", `{"name":"m"}`)
		k.want(k.get(serviceKey, "zones?select=name&order=tenant_id"), `[{"name":"n"},{"name":"m"}]`)
	})
}
