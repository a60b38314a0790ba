package app_test

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/google/uuid"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/demo"
	"holdfast/internal/store"
	"holdfast/internal/testkit"
	"holdfast/internal/verb"
)

// says is who may say which verb, written without a look at the table.
const says = `
verb           owner admin manager safety operator driver viewer

confirm_order     x     x     x       -      -        -      -
allocate_order    x     x     x       -      -        -      -
allocate_open     x     x     x       -      -        -      -
deallocate_order  x     x     x       -      -        -      -
hold_order        x     x     x       -      -        -      -
resume_order      x     x     x       -      -        -      -
cancel_order      x     x     x       -      -        -      -
close_order       x     x     x       -      -        -      -
plan_wave         x     x     x       -      -        -      -
release_picks     x     x     x       -      -        -      -
claim_pick_list   x     x     x       -      x        -      -
next_task         x     x     x       -      x        -      -
pick_line         x     x     x       -      x        -      -
short_pick        x     x     x       -      x        -      -
unpick            x     x     x       -      x        -      -
receive        x     x     x       -      x        -      -
suggest_putaway    x     x     x       -      x        -      -
put_away           x     x     x       -      x        -      -
move_stock         x     x     x       -      x        -      -
move_plate         x     x     x       -      x        -      -
plan_replenishment x     x     x       -      -        -      -
replenish          x     x     x       -      x        -      -
adjust_stock       x     x     x       -      x        -      -
approve_adjustment x     x     x       -      -        -      -
reject_adjustment  x     x     x       -      -        -      -
start_count        x     x     x       -      x        -      -
enter_count        x     x     x       -      x        -      -
approve_count      x     x     x       -      -        -      -
recount            x     x     x       -      -        -      -
recall_lot         x     x     x       x      -        -      -
receive_return     x     x     x       -      x        -      -
owner_activity    x     x     x       -      -        -      -
owner_stock        x     x     x       -      -        -      -
scan               x     x     x       x      x        x      x
pack              x     x     x       -      x        -      -
close_package     x     x     x       -      x        -      -
unpack            x     x     x       -      x        -      -
create_shipment   x     x     x       -      -        -      -
dispatch          x     x     x       -      -        -      -
plan_route        x     x     x       -      -        -      -
start_route       x     x     x       -      -        x      -
finish_route      x     x     x       -      -        x      -
deliver           x     x     x       -      -        x      -
report_exception  x     x     x       -      -        x      -
return_shipment   x     x     x       -      -        x      -
publish_register  x     x     -       x      -        -      -
`

// Every verb refuses in the order 404, 405, 401, 403, then the body, in the
// collections' error body, at both prefixes.
func TestVerbsRefuse(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		for _, v := range k.App.Verbs() {
			unserved := http.MethodGet
			if v.Reads {
				unserved = http.MethodDelete
			}
			for _, prefix := range []string{"/v1/rpc/", "/rest/v1/rpc/"} {
				for name, c := range map[string]struct {
					q      testkit.Request
					status int
				}{
					"unknown": {testkit.Request{Method: "POST", Path: prefix + v.Name + "s", As: testkit.As(actor.Admin),
						Body: "{}"}, http.StatusNotFound},
					"unserved": {testkit.Request{Method: unserved, Path: prefix + v.Name}, http.StatusMethodNotAllowed},
					"stranger": {testkit.Request{Method: "POST", Path: prefix + v.Name, Body: "["}, http.StatusUnauthorized},
					"of no tenant": {testkit.Request{Method: "POST", Path: prefix + v.Name, As: "nobody@none.example", Body: "["},
						http.StatusForbidden},
					"no JSON": {testkit.Request{Method: "POST", Path: prefix + v.Name, As: testkit.As(actor.Admin), Body: "["},
						http.StatusBadRequest},
					"no object": {testkit.Request{Method: "POST", Path: prefix + v.Name, As: testkit.As(actor.Admin), Body: "[]"},
						http.StatusBadRequest},
					"a member's tenant_id": {testkit.Request{Method: "POST", Path: prefix + v.Name, As: testkit.As(actor.Admin),
						Body: map[string]any{"tenant_id": demo.South}},
						http.StatusBadRequest},
					"key without tenant": {testkit.Request{Method: "POST", Path: prefix + v.Name, Bearer: k.Service(), Body: "{}"},
						http.StatusBadRequest},
				} {
					if r := k.Call(c.q); r.Status != c.status || !strings.HasPrefix(string(r.Body), `{"code":"`) {
						t.Errorf("%s, %s: %d %s, want %d", v.Name, name, r.Status, r.Body, c.status)
					}
				}
			}
		}
	})
}

// Every role meets every verb as the table says, and as /v1/permissions says.
func TestVerbRoles(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		stated, shown := map[string]bool{}, map[actor.Role]map[string]bool{}
		for _, role := range actor.Members {
			var p struct{ Verbs map[string]bool }
			k.Get(testkit.As(role), "/v1/permissions").JSON(t, &p)
			shown[role] = p.Verbs
		}
		cells(says, func(name string, role actor.Role, cell string) {
			stated[name] = true
			r := k.Post(testkit.As(role), "/v1/rpc/"+name, "[")
			if admitted := r.Status != http.StatusForbidden; admitted != (cell == "x") || admitted != shown[role][name] {
				t.Errorf("%s as %s: %d %s, the table says %s, /v1/permissions %v", name, role, r.Status, r.Body, cell,
					shown[role][name])
			}
		})
		for _, v := range k.App.Verbs() {
			if !stated[v.Name] {
				t.Errorf("the table does not say who may %s", v.Name)
			}
		}
	})
}

// members calls f with each member of a verb's input, nested ones by their path.
func members(t reflect.Type, path string, f func(path string, field reflect.StructField)) {
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		f(path+name, field)
		switch of := field.Type; {
		case of.Kind() == reflect.Slice && of.Elem().Kind() == reflect.Struct:
			members(of.Elem(), path+name+"[0].", f)
		case of.Kind() == reflect.Struct:
			members(of, path+name+".", f)
		}
	}
}

// specimen is a value that a member takes.
func specimen(field reflect.StructField) any {
	tag := field.Tag.Get
	of := field.Type
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	switch {
	case tag("format") == "uuid" && of.Kind() == reflect.Slice:
		return []any{uuid.NewString()}
	case tag("format") == "uuid":
		return uuid.NewString()
	case tag("format") == "date":
		return "2030-01-01"
	case tag("format") == "date-time":
		return "2026-01-01T00:00:00Z"
	case tag("enum") != "":
		return strings.Fields(tag("enum"))[0]
	case of.Kind() == reflect.String:
		return "X"
	case of.Kind() == reflect.Bool:
		return false
	case of.Kind() == reflect.Int64:
		return 1
	case of == reflect.TypeFor[json.RawMessage]():
		return map[string]any{}
	case of.Kind() == reflect.Slice && of.Elem().Kind() == reflect.Struct:
		return []any{body(of.Elem(), "")}
	case of.Kind() == reflect.Slice:
		return []any{"X"}
	case of.Kind() == reflect.Struct:
		return body(of, "")
	}
	return 1
}

// body is an input with every member, but the ones that a verb takes in place of
// others (either).
func body(of reflect.Type, without string) map[string]any {
	out := map[string]any{}
	for i := range of.NumField() {
		name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
		if name != without && of.Field(i).Tag.Get("required") == "true" {
			out[name] = specimen(of.Field(i))
		}
	}
	return out
}

// put sets a member by its path.
func put(of reflect.Type, b map[string]any, path string, v any) {
	name, rest, nested := strings.Cut(path, ".")
	list := strings.HasSuffix(name, "[0]")
	name = strings.TrimSuffix(name, "[0]")
	if !nested {
		b[name] = v
		return
	}
	if b[name] == nil {
		for i := range of.NumField() {
			if n, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ","); n == name {
				b[name] = specimen(of.Field(i))
			}
		}
	}
	inner, _ := b[name].(map[string]any)
	if list {
		inner = b[name].([]any)[0].(map[string]any)
	}
	put(of, inner, rest, v)
}

// Every member of every verb: the wrong type is refused by its name, and so is a
// missing one, an unknown one, a text too long, a word that is none of a closed set
// and a number that is no quantity.
func TestVerbInputs(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		for _, v := range k.App.Verbs() {
			of := reflect.TypeOf(v.In)
			refused := func(why, path string, b any) {
				t.Helper()
				r := k.Post(testkit.As(actor.Admin), "/v1/rpc/"+v.Name, b)
				if r.Status != http.StatusBadRequest || !strings.Contains(string(r.Body), `\"`+path+`\"`) {
					t.Errorf("%s, %s of %s: %d %s", v.Name, why, path, r.Status, r.Body)
				}
			}
			b := body(of, "")
			b["nonsense"] = 1
			refused("an unknown member", "nonsense", b)
			members(of, "", func(path string, field reflect.StructField) {
				wrong := func(why string, value any) {
					b := body(of, "")
					put(of, b, path, value)
					refused(why, path, b)
				}
				if field.Tag.Get("doc") == "" {
					t.Errorf("%s: %s has no doc tag", v.Name, path)
				}
				kind := field.Type
				if kind.Kind() == reflect.Pointer {
					kind = kind.Elem()
				}
				if field.Tag.Get("required") == "true" && !strings.Contains(path, ".") {
					refused("the absence", path, body(of, path))
				}
				switch {
				case kind == reflect.TypeFor[json.RawMessage]():
				case kind.Kind() == reflect.String:
					wrong("a number in place", 1)
					wrong("a text too long", strings.Repeat("x", 10_001))
				case kind.Kind() == reflect.Int64, kind.Kind() == reflect.Bool, kind.Kind() == reflect.Struct,
					kind.Kind() == reflect.Slice:
					wrong("a text in place", "x")
				}
				if field.Tag.Get("enum") != "" && kind.Kind() == reflect.String {
					wrong("a word that is none of the set", "nonsense")
				}
				if kind.Name() == "Dec" {
					wrong("five places", json.RawMessage("0.00001"))
					wrong("a number past all bounds", json.RawMessage("1e30"))
				}
			})
		}
	})
}

// What another tenant has is missing: its id is answered as one that nobody has.
func TestVerbsOfOthers(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		furnish(t, k)
		south := actor.Actor{Role: actor.Service, TenantID: demo.South}
		testkit.Must(t, k.App.DB.Write(t.Context(), db.Scope{Tenant: demo.South}, func(tx *db.Tx) error {
			_, err := k.App.Store.In(tx, south).InsertRows("packages", []store.Row{{}})
			return err
		}))
		for _, v := range k.App.Verbs() {
			of := reflect.TypeOf(v.In)
			members(of, "", func(path string, field reflect.StructField) {
				if field.Tag.Get("format") != "uuid" {
					return
				}
				if field.Tag.Get("names") == "" {
					t.Errorf("%s: %s has no names tag", v.Name, path)
					return
				}
				var answers [2]testkit.Response
				for i, id := range []string{uuid.NewString(), k.Foreign(t, field.Tag.Get("names"))} {
					b := body(of, "")
					var value any = id
					if field.Type.Kind() == reflect.Slice {
						value = []any{id}
					}
					put(of, b, path, value)
					answers[i] = k.Post(testkit.As(actor.Admin), "/v1/rpc/"+v.Name, b)
				}
				if a, b := answers[0], answers[1]; a.Status != b.Status || string(a.Body) != string(b.Body) || a.Status/100 != 4 {
					t.Errorf("%s: %s of nobody: %d %s; of another tenant: %d %s", v.Name, path, a.Status, a.Body, b.Status, b.Body)
				}
			})
		}
	})
}

// furnish gives the other tenant work on its floor: tasks, a wave, a count and
// an adjustment that waits.
func furnish(t *testing.T, k *testkit.Kit) {
	t.Helper()
	const as = "admin@south.example"
	dock := k.Insert(t, as, "zones", map[string]any{"code": "FURNISH", "name": "Dock", "kind": "dock"})
	item := k.Insert(t, as, "items", map[string]any{"sku": "FURNISH", "name": "Gold", "unit_cost": 100000})
	k.Insert(t, as, "lots", map[string]any{"item_id": item, "lot_no": "F"})
	k.Insert(t, as, "goods_owners", map[string]any{"code": "F", "name": "Client"})
	k.Say(t, as, "receive", map[string]any{"zone_id": dock,
		"lines": []any{map[string]any{"item_id": item, "quantity": 3}}}, 200, nil)
	k.Say(t, as, "start_count", map[string]any{"zone_id": dock}, 200, nil)
	face := k.Insert(t, as, "zones", map[string]any{"code": "FURNISH-F", "name": "Face"})
	reserve := k.Insert(t, as, "zones", map[string]any{"code": "FURNISH-R", "name": "Reserve"})
	k.Say(t, as, "move_stock", map[string]any{"item_id": item, "from_zone_id": dock, "to_zone_id": reserve,
		"quantity": 2}, 200, nil)
	k.Insert(t, as, "replenish_rules", map[string]any{"item_id": item, "pick_zone_id": face, "min_qty": 1, "max_qty": 1})
	k.Say(t, as, "plan_replenishment", map[string]any{}, 200, nil)
	order := k.Insert(t, as, "orders", map[string]any{"party_name": "Customer"})
	k.Insert(t, as, "order_lines", map[string]any{"order_id": order, "line_no": 1, "item_id": item, "qty_ordered": 1})
	k.Say(t, as, "confirm_order", map[string]any{"order_id": order}, 200, nil)
	k.Say(t, as, "plan_wave", map[string]any{"order_ids": []any{order}}, 200, nil)
	var made struct{ Shipment struct{ ID string } }
	k.Say(t, as, "create_shipment", map[string]any{"order_ids": []any{order}}, 200, &made)
	k.Say(t, as, "plan_route", map[string]any{"date": "2100-01-01", "driver_id": k.Foreign(t, "drivers"),
		"vehicle_id":   k.Foreign(t, "vehicles"),
		"shipment_ids": []any{made.Shipment.ID}}, 200, nil)
	k.Say(t, as, "adjust_stock", map[string]any{"zone_id": dock, "item_id": item, "quantity": 1, "reason_code": "found"},
		200, nil)
}

// Every verb is documented and answers with what can be done next.
func TestVerbTable(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		for _, v := range k.App.Verbs() {
			out := reflect.TypeOf(v.Out)
			f, ok := out.FieldByName("Answer")
			if v.Doc == "" || len(v.Roles) == 0 || !ok || f.Type != reflect.TypeFor[verb.Answer]() {
				t.Errorf("%s: doc %q, roles %v, answer %v", v.Name, v.Doc, v.Roles, ok)
			}
			for i := range out.NumField() {
				f := out.Field(i)
				of := f.Type
				if of.Kind() == reflect.Slice {
					of = of.Elem()
				}
				if of == reflect.TypeFor[verb.Record]() && f.Tag.Get("record") == "" {
					t.Errorf("%s: %s does not say whose records it holds", v.Name, f.Name)
				}
			}
		}
	})
}

// A repeat with its key, in the header or the body, is answered as before and
// done once; the same key with other content is refused; a dry run answers what
// would happen and writes nothing; a verb is one write of the tenant's budget.
func TestVerbOnce(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		as := testkit.As(actor.Manager)
		order := begin(t, k, "orders", "confirmed")
		in := map[string]any{"order_id": order, "reason": "wait", "dry_run": true}
		var out struct {
			DryRun bool `json:"dry_run"`
			Order  struct {
				Status  string
				Reason  string `json:"hold_reason"`
				Version int
			}
		}
		audited := k.Counted(t, "audit WHERE action LIKE 'orders.%'")
		k.Say(t, as, "hold_order", in, 200, &out)
		if !out.DryRun || out.Order.Status != "on_hold" || k.Counted(t, "audit WHERE action LIKE 'orders.%'") != audited {
			t.Errorf("dry run: %+v", out)
		}
		if n := k.Counted(t, "orders WHERE id = '"+order+"' AND status = 'confirmed'"); n != 1 {
			t.Error("a dry run changed the order")
		}
		delete(in, "dry_run")
		in["idempotency_key"] = "hold-1"
		left := func() int {
			var s struct {
				Window struct{ Remaining int } `json:"database_write"`
			}
			k.Get(as, "/v1/rate-limit/status").JSON(t, &s)
			return s.Window.Remaining
		}
		had := left()
		first := k.Say(t, as, "hold_order", in, 200, nil)
		if n := left(); had-n > 1 { // less, when earlier writes leave the window meanwhile
			t.Errorf("a verb used %d of the database writes, want one", had-n)
		}
		second := k.Say(t, as, "hold_order", in, 200, nil)
		if string(first.Body) != string(second.Body) || second.Header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("repeat: %s\nfirst: %s", second.Body, first.Body)
		}
		if n := k.Counted(t, "audit WHERE action LIKE 'orders.%'"); n != audited+1 {
			t.Errorf("%d audit rows of orders, want one more than %d", n, audited)
		}
		in["reason"] = "another"
		k.Say(t, as, "hold_order", in, 422, nil)
	}, testkit.Limited)
}
