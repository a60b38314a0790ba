package event_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/event"
	"holdfast/internal/fault"
)

// Every type is about a record that exists, carries only what every reader of
// the record sees, and stays small.
func TestTypes(t *testing.T) {
	c := fullCatalog(t)
	last := ""
	for _, ty := range event.Types() {
		if ty.Name <= last {
			t.Errorf("%s stands after %s", ty.Name, last)
		}
		last = ty.Name
		r, ok := c.Get(ty.Collection)
		if !ok {
			t.Errorf("%s: no collection %s", ty.Name, ty.Collection)
			continue
		}
		size := 400
		for _, name := range ty.Fields {
			f, ok := r.Field(name)
			switch {
			case !ok:
				t.Errorf("%s: %s has no field %s", ty.Name, r.Name, name)
			case len(f.Readers) > 0:
				t.Errorf("%s: %s.%s is not for every reader", ty.Name, r.Name, name)
			case f.Type == catalog.JSON || f.Type == catalog.Array:
				t.Errorf("%s: %s.%s is of no fixed size", ty.Name, r.Name, name)
			case f.Type == catalog.Text && f.Format == catalog.Plain && f.MaxLen == 0 && len(f.OneOf) == 0:
				t.Errorf("%s: %s.%s is a long text", ty.Name, r.Name, name)
			default:
				size += len(name) + 10 + 6*max(f.MaxLen, 200) // a character is 6 bytes at worst, escaped
			}
		}
		if size > event.MaxPayload {
			t.Errorf("%s may take %d bytes", ty.Name, size)
		}
		if ty.Doc == "" || len(ty.Fields)+len(ty.Members) == 0 {
			t.Errorf("%s says nothing", ty.Name)
		}
	}
}

// The schemas describe every member of the data, and say what may be null.
func TestSchemas(t *testing.T) {
	hooks, schemas := event.Webhooks(fullCatalog(t))
	if len(hooks) != 1 {
		t.Errorf("%d webhooks", len(hooks))
	}
	for _, ty := range event.Types() { // what several types tell stands elsewhere
		schema, _ := schemas[ty.Name].(map[string]any)
		props, _ := schema["properties"].(map[string]any)
		if data, _ := props["data"].(map[string]any); data["$ref"] != nil {
			props["data"] = schemas[strings.TrimPrefix(data["$ref"].(string), "#/components/schemas/")]
		}
	}
	b, err := json.Marshal(schemas)
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]struct {
		OneOf []struct {
			Ref string `json:"$ref"`
		}
		Properties struct {
			Type struct{ Const string }
			Data struct {
				Properties map[string]struct{ Type any }
				Required   []string
			}
		}
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	for i, ty := range event.Types() {
		if of := doc["AnyEvent"].OneOf; i >= len(of) || of[i].Ref != "#/components/schemas/"+ty.Name {
			t.Errorf("%s is not among the events", ty.Name)
		}
	}
	for _, ty := range event.Types() {
		p := doc[ty.Name].Properties
		if p.Type.Const != ty.Name || len(p.Data.Properties) != len(ty.Fields)+len(ty.Members) ||
			len(p.Data.Required) != len(p.Data.Properties) {
			t.Errorf("%s: %+v", ty.Name, p)
		}
	}
	data := doc["stock.low"].Properties.Data.Properties
	if data["available"].Type != "number" || data["sku"].Type != "string" {
		t.Errorf("stock.low: %v", data)
	}
}

func TestTopics(t *testing.T) {
	for _, c := range []struct {
		topics, event string
		has           bool
	}{
		{"*", "order.completed", true},
		{"order.*", "order.completed", true},
		{"order.*,incident.reported", "incident.reported", true},
		{"order.completed", "order.confirmed", false},
		{"stock.*", "order.confirmed", false},
	} {
		ts, err := event.ParseTopics(strings.Split(c.topics, ","), "types")
		if err != nil {
			t.Error(err)
		}
		if ts.Has(c.event) != c.has {
			t.Errorf("%s has %s: %v", c.topics, c.event, !c.has)
		}
	}
	for _, bad := range []string{"", "orders.*", "order", "order.", "order.complete", ".*", "**", "*.completed",
		"order.*.x", "ORDER.*"} {
		_, err := event.ParseTopics([]string{"order.*", bad}, "types")
		f := fault.As(err)
		if !fault.Is(err, fault.Invalid) || len(f.Fields) != 1 || f.Fields[0].Name != "types" ||
			!strings.Contains(f.Msg, `"`+bad+`"`) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func FuzzTopics(f *testing.F) {
	f.Add("order.*,*")
	f.Fuzz(func(t *testing.T, s string) {
		ts, err := event.ParseTopics(strings.Split(s, ","), "types")
		if err != nil {
			return
		}
		if !slices.ContainsFunc(event.Names(), ts.Has) {
			t.Errorf("%q was accepted and has nothing", s)
		}
	})
}

// Which change makes which event.
func TestFromChange(t *testing.T) {
	c := fullCatalog(t)
	row := func(kv ...any) map[string]any {
		m := map[string]any{"tenant_id": north, "id": "i", "created_by": "u"}
		for i := 0; i < len(kv); i += 2 {
			m[kv[i].(string)] = kv[i+1]
		}
		return m
	}
	for _, x := range []struct {
		collection    string
		before, after map[string]any
		want          string
	}{
		{"orders", row("status", "draft"), row("status", "confirmed"), "order.confirmed"},
		{"orders", row("status", "on_hold"), row("status", "confirmed"), ""},
		{"orders", row("status", "confirmed"), row("status", "confirmed", "notes", "x"), ""},
		{"orders", nil, row("status", "draft"), ""},
		{"orders", row("status", "in_progress"), row("status", "completed"), "order.completed"},
		{"orders", row("status", "draft"), row("status", "cancelled"), "order.cancelled"},
		{"orders", row("status", "in_progress"), row("status", "on_hold"), "order.on_hold"},
		{"orders", row("status", "on_hold"), row("status", "on_hold", "notes", "x"), ""},
		{"pick_lists", row("status", "draft"), row("status", "released"), "pick_list.released"},
		{"pick_lists", row("status", "in_progress"), row("status", "completed"), "pick_list.completed"},
		{"pick_lines", row("status", "pending"), row("status", "short"), "pick_list.short"},
		{"shipments", row("status", "ready"), row("status", "in_transit"), "shipment.dispatched"},
		{"shipments", row("status", "in_transit"), row("status", "delivered"), "shipment.delivered"},
		{"shipments", row("status", "in_transit"), row("status", "exception"), "shipment.exception"},
		{"shipments", row("status", "arrived"), row("status", "received"), "shipment.received"},
		{"shipments", row("status", "in_transit"), row("status", "arrived"), ""},
		{"items", row("low_stock", false), row("low_stock", true), "stock.low"},
		{"items", row("low_stock", true), row("low_stock", true, "name", "x"), ""},
		{"items", nil, row("low_stock", true), ""},
		{"stock_movements", nil, row("type", "adjust_loss"), "stock.adjusted"},
		{"stock_movements", nil, row("type", "receipt"), ""},
		{"incidents", nil, row("status", "reported"), "incident.reported"},
		{"incidents", row("status", "reported"), row("status", "closed"), "incident.closed"},
		{"import_jobs", row("status", "applying"), row("status", "completed"), "import.completed"},
		{"import_jobs", row("status", "rolling_back"), row("status", "completed"), ""},
		{"import_jobs", row("status", "processing"), row("status", "failed"), "import.failed"},
		{"import_jobs", row("status", "applying"), row("status", "failed"), "import.failed"},
		{"import_jobs", row("status", "rolling_back"), row("status", "failed"), ""},
		{"import_jobs", row("status", "rolling_back"), row("status", "rolled_back"), "import.rolled_back"},
		{"members", nil, row("status", "active"), "member.added"},
		{"members", row("role", "viewer"), row("role", "admin"), "member.role_changed"},
		{"members", row("status", "active"), nil, "member.removed"},
		{"members", row("status", "active"), row("status", "suspended"), "member.suspended"},
		{"checklist_runs", row("status", "scheduled"), row("status", "missed"), "checklist.failed"},
		{"checklist_runs", row("status", "in_progress"), row("status", "completed", "failed", int64(1)), "checklist.failed"},
		{"checklist_runs", row("status", "in_progress"), row("status", "completed", "failed", int64(0)), ""},
		{"compliance_events", nil, row("status", "compliant"), "compliance.changed"},
		{"compliance_events", nil, row("status", "warning"), "compliance.changed"},
		{"compliance_events", nil, row("status", "breach"), "compliance.changed"},
		{"compliance_events", row("status", "breach"), row("status", "breach", "notes", "x"), ""},
		{"training_assignments", nil, row("status", "assigned"), "training.assigned"},
		{"training_assignments", nil, row("status", "completed"), ""},
		{"training_assignments", row("status", "assigned"), row("status", "in_progress"), ""},
		{"training_assignments", row("status", "completed"),
			row("status", "completed", "reminded_at", "2026-01-01T00:00:00.000000Z"), "training.expiring"},
		{"webhooks", row("status", "active"), row("status", "disabled"), "webhook.disabled"},
		{"actions", row("status", "open"), row("status", "open", "escalated_to", "safety"), "action.escalated"},
		{"actions", row("escalated_to", "safety"), row("escalated_to", "manager"), "action.escalated"},
		{"actions", row("escalated_to", "manager"), row("due_on", "2026-01-01"), ""},
		{"actions", nil, row("status", "open", "due_at", "2026-01-01T00:00:00.000000Z", "updated_at",
			"2026-01-02T00:00:00.000000Z"), "action.overdue"},
		{"actions", nil, row("status", "open", "due_at", "2026-01-03T00:00:00.000000Z", "updated_at",
			"2026-01-02T00:00:00.000000Z"), ""},
		{"actions", nil, row("status", "done", "due_at", "2026-01-01T00:00:00.000000Z", "updated_at",
			"2026-01-02T00:00:00.000000Z"), ""},
		{"actions", row("status", "open", "due_at", "2026-01-01T00:00:00.000000Z"),
			row("status", "open", "due_at", "2026-01-01T00:00:00.000000Z", "updated_at", "2026-01-02T00:00:00.000000Z"), ""},
		{"lots", nil, row("status", "released", "expires_on", "2026-01-20", "updated_at", "2026-01-02T00:00:00.000000Z"),
			"lot.expiring"},
		{"lots", row("status", "released"), row("status", "released", "expires_on", "2026-02-01", "updated_at",
			"2026-01-02T00:00:00.000000Z"), "lot.expiring"},
		{"lots", nil, row("status", "released", "expires_on", "2026-02-02", "updated_at", "2026-01-02T00:00:00.000000Z"), ""},
		{"lots", nil, row("status", "released", "expires_on", "2026-01-01", "updated_at", "2026-01-02T00:00:00.000000Z"), ""},
		{"lots", nil, row("status", "recalled", "expires_on", "2026-01-20", "updated_at", "2026-01-02T00:00:00.000000Z"), ""},
		{"lots", row("status", "released", "expires_on", "2026-01-20"),
			row("status", "released", "expires_on", "2026-01-19", "updated_at", "2026-01-02T00:00:00.000000Z"), ""},
		{"zones", nil, row("code", "A"), ""},
	} {
		r, ok := c.Get(x.collection)
		if !ok {
			t.Fatal(x.collection)
		}
		var got []string
		for _, e := range event.FromChange(r, x.before, x.after) {
			got = append(got, e.Type)
			if e.Tenant != north {
				t.Errorf("%s: tenant %q", e.Type, e.Tenant)
			}
			b, err := json.Marshal(e.Data)
			if err != nil || !json.Valid(b) {
				t.Errorf("%s: %s %v", e.Type, b, err)
			}
		}
		if strings.Join(got, " ") != x.want {
			t.Errorf("%s %v -> %v: %v, want %q", x.collection, x.before, x.after, got, x.want)
		}
	}
}

// A role sees the events of records it may read, its own where that is all it
// may read, and never another tenant's.
func TestVisible(t *testing.T) {
	c := fullCatalog(t)
	mine := map[string]string{"reported_by": "me", "assigned_worker_id": "w1"}
	for _, x := range []struct {
		role     actor.Role
		event    string
		audience map[string]string
		want     bool
	}{
		{actor.Admin, "webhook.disabled", nil, true},
		{actor.Manager, "webhook.disabled", nil, false},
		{actor.Manager, "order.confirmed", nil, true},
		{actor.Driver, "order.confirmed", nil, false},
		{actor.Operator, "incident.reported", nil, false},
		{actor.Operator, "incident.reported", mine, false}, // the record is asked: it may be for others alone by now
		{actor.Manager, "incident.reported", nil, false},
		{actor.Safety, "incident.reported", nil, true},
		{actor.Operator, "incident.reported", map[string]string{"reported_by": "another"}, false},
		{actor.Driver, "shipment.dispatched", mine, true},
		{actor.Driver, "shipment.dispatched", map[string]string{"assigned_worker_id": "w2"}, false},
		{actor.Viewer, "import.completed", nil, false},
		{actor.Viewer, "score.cluster_changed", map[string]string{"entity_type": "zone"}, true},
		{actor.Viewer, "score.cluster_changed", map[string]string{"entity_type": "worker", "user_id": "you"}, false},
		{actor.Operator, "score.cluster_changed", map[string]string{"entity_type": "worker", "user_id": "me"}, true},
		{actor.Safety, "score.cluster_changed", map[string]string{"entity_type": "worker", "user_id": "you"}, true},
		{actor.Anon, "stock.low", nil, false},
		{actor.Service, "member.added", nil, true},
	} {
		e := &event.Event{Tenant: north, Type: x.event, Audience: x.audience}
		a := actor.Actor{TenantID: north, UserID: "me", WorkerID: "w1", Role: x.role}
		if got := event.Visible(c, a, e); got != x.want {
			t.Errorf("%s sees %s of %v: %v", x.role, x.event, x.audience, got)
		}
		a.TenantID = south
		if event.Visible(c, a, e) {
			t.Errorf("%s sees another tenant's %s", x.role, x.event)
		}
	}
}

// What is no event, or too large for one, is refused and vetoes its change.
func TestEmitRefuses(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		k := start(t, d, &ledger{})
		for name, e := range map[string]event.Emitted{
			"unknown type": {Type: "order.eaten", Data: map[string]int{}},
			"no object":    {Type: "order.completed", Data: []int{1}},
			"too large":    {Type: "order.completed", Data: map[string]string{"x": strings.Repeat("x", event.MaxPayload)}},
		} {
			err := d.Write(context.Background(), db.Scope{Tenant: north},
				func(tx *db.Tx) error { return k.out.Emit(tx, north, e.Type, e.Data) })
			if err == nil {
				t.Errorf("%s was accepted", name)
			}
		}
	})
}
