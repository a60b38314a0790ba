package safety_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/safety"
	"holdfast/internal/store"
	"holdfast/internal/testkit/dbtest"
	"holdfast/internal/testkit/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

const (
	north = "0190a000-0000-7000-8000-000000000001"
	south = "0190a000-0000-7000-8000-000000000002"
	ada   = "0190b000-0000-7000-8000-000000000001"
	bo    = "0190b000-0000-7000-8000-000000000002"
	noon  = "2026-03-01T12:00:00.000000Z"
)

type kit struct {
	testing.TB
	d   *db.DB
	s   *store.Store
	now time.Time
	as  actor.Actor
}

func each(t *testing.T, f func(k *kit)) {
	t.Helper()
	dbtest.Each(t, func(t *testing.T, o db.Options) { f(open(t, o)) })
}

func open(t testing.TB, o db.Options) *kit {
	t.Helper()
	d := dbtest.Open(t, o)
	k := &kit{TB: t, d: d, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), as: actor.Actor{Role: actor.Service}}
	k.s = store.New(d, catalog.Default(), safety.Effects(), func() time.Time { return k.now })
	for i, id := range []string{south, north} {
		k.as.TenantID = id
		k.add("tenants", store.Row{"id": id, "name": "T", "slug": fmt.Sprintf("t%d", i), "timezone": "America/Sao_Paulo"})
	}
	return k
}

func (k *kit) try(name string, row store.Row) (id string, err error) {
	err = k.d.Write(context.Background(), db.Scope{Tenant: k.as.TenantID}, func(tx *db.Tx) error {
		r, _ := k.s.Catalog().Get(name)
		rows, err := k.s.InsertTx(tx, k.as, r, []store.Row{row})
		if err == nil {
			id = rows[0]["id"].(string)
		}
		return err
	})
	return id, err
}

func (k *kit) add(name string, row store.Row) string {
	k.Helper()
	id, err := k.try(name, row)
	if err != nil {
		k.Fatalf("insert %s %v: %v", name, row, err)
	}
	return id
}

func (k *kit) change(name, id string, set store.Row) error {
	return k.d.Write(context.Background(), db.Scope{Tenant: k.as.TenantID}, func(tx *db.Tx) error {
		r, _ := k.s.Catalog().Get(name)
		_, err := k.s.UpdateTx(tx, k.as, r, []string{id}, set)
		return err
	})
}

func (k *kit) set(name, id string, set store.Row) {
	k.Helper()
	if err := k.change(name, id, set); err != nil {
		k.Fatalf("update %s %v: %v", name, set, err)
	}
}

func (k *kit) is(name, id, field, want string) {
	k.Helper()
	err := k.d.Read(context.Background(), db.Scope{Tenant: k.as.TenantID}, func(tx *db.Tx) error {
		r, _ := k.s.Catalog().Get(name)
		rows, err := k.s.RowsTx(tx, k.as, r, "id = $2", []any{id})
		if err != nil {
			return err
		}
		got := "null"
		if v := rows[0][field]; v != nil {
			got = fmt.Sprint(v)
			if raw, ok := v.(json.RawMessage); ok {
				got = string(raw)
			}
		}
		if got != want {
			k.Errorf("%s.%s = %s, want %s", name, field, got, want)
		}
		return nil
	})
	if err != nil {
		k.Fatal(err)
	}
}

func (k *kit) refused(err error, code string) {
	k.Helper()
	if !fault.HasCode(err, code) {
		k.Errorf("err = %v, want code %s", err, code)
	}
}

func hazard(more store.Row) store.Row {
	r := store.Row{"kind": "hazard", "title": "Oil", "occurred_at": "2026-03-01T11:00:00Z"}
	for f, v := range more {
		r[f] = v
	}
	return r
}

func TestReports(t *testing.T) {
	each(t, func(k *kit) {
		k.as.UserID, k.as.Role = ada, actor.Operator
		in := k.add("incidents", hazard(store.Row{"severity": "high", "likelihood": 4, "reported_by": bo}))
		k.is("incidents", in, "reported_at", noon)
		k.is("incidents", in, "reported_by", ada)
		k.is("incidents", in, "risk_rating", "12")
		hidden := k.add("incidents", hazard(store.Row{"anonymous": true, "reported_by": ada}))
		k.is("incidents", hidden, "reported_by", "null")
		k.is("incidents", hidden, "created_by", "null")
		_, err := k.try("incidents", hazard(store.Row{"occurred_at": "2026-03-01T12:05:01Z"}))
		k.refused(err, "HF007")
		k.add("incidents", hazard(store.Row{"occurred_at": "2026-03-01T12:05:00Z"}))
		k.set("incidents", in, store.Row{"severity": "low"})
		k.is("incidents", in, "risk_rating", "4")
	})
}

func TestEntities(t *testing.T) {
	each(t, func(k *kit) {
		zone := k.add("zones", store.Row{"code": "A", "name": "A"})
		entity := func(kind, id, role string) store.Row {
			return hazard(store.Row{"entities": json.RawMessage(fmt.Sprintf(`[{"entity_type":%q,"entity_id":%q,"role":%q}]`, kind, id, role))})
		}
		in := k.add("incidents", entity("zone", zone, "source"))
		k.is("incidents", in, "entities", `[{"entity_type":"zone","entity_id":"`+zone+`","role":"source"}]`)
		k.add("incidents", entity("equipment", k.add("equipment", store.Row{"asset_no": "T1"}), "source"))
		for name, row := range map[string]store.Row{
			"unknown zone":   entity("zone", bo, "source"),
			"unknown worker": entity("worker", bo, "injured"),
			"unknown truck":  entity("equipment", bo, "source"),
			"unknown type":   entity("tenant", north, "source"),
			"unknown role":   entity("zone", zone, "boss"),
			"no array":       hazard(store.Row{"entities": json.RawMessage(`{}`)}),
		} {
			if _, err := k.try("incidents", row); err == nil {
				t.Errorf("%s: accepted", name)
			} else {
				k.refused(err, "HF007")
			}
		}
		k.as.TenantID = south
		_, err := k.try("incidents", entity("zone", zone, "source"))
		k.refused(err, "HF007")
	})
}

func TestIncidentStates(t *testing.T) {
	each(t, func(k *kit) {
		in := k.add("incidents", hazard(nil))
		k.refused(k.change("incidents", in, store.Row{"status": "void"}), "HF006")
		k.set("incidents", in, store.Row{"status": "triaged"})
		k.refused(k.change("incidents", in, store.Row{"status": "action_pending"}), "HF006")
		ac := k.add("actions", store.Row{"title": "Mop", "incident_id": in})
		k.set("incidents", in, store.Row{"status": "action_pending"})
		k.refused(k.change("incidents", in, store.Row{"status": "closed"}), "HF006")
		k.refused(k.change("actions", ac, store.Row{"status": "cancelled"}), "HF006")
		k.set("actions", ac, store.Row{"status": "cancelled", "cancel_reason": "dry by itself"})
		k.set("incidents", in, store.Row{"status": "closed"})
		k.is("incidents", in, "closed_at", noon)
		k.set("incidents", in, store.Row{"lessons": "none"})
		k.is("incidents", in, "closed_at", noon)
		k.set("incidents", in, store.Row{"status": "investigating"})
		k.is("incidents", in, "closed_at", "null")

		twin := k.add("incidents", hazard(nil))
		k.refused(k.change("incidents", twin, store.Row{"duplicate_of": twin}), "HF007")
		k.set("incidents", twin, store.Row{"status": "void", "duplicate_of": in})
	})
}

func TestActions(t *testing.T) {
	each(t, func(k *kit) {
		// The day ends in Sao Paulo, three hours behind UTC.
		ac := k.add("actions", store.Row{"title": "Mop", "due_on": "2026-03-05", "assignee_user_id": ada, "priority": "high"})
		k.is("actions", ac, "due_at", "2026-03-06T02:59:59.999999Z")
		k.set("actions", ac, store.Row{"due_on": nil})
		k.is("actions", ac, "due_at", "null")
		k.set("actions", ac, store.Row{"due_at": "2026-03-04T00:00:00Z"})
		k.is("actions", ac, "due_at", "2026-03-04T00:00:00.000000Z")

		k.as.UserID, k.as.Role = ada, actor.Operator
		k.refused(k.change("actions", ac, store.Row{"status": "done"}), "HF006")
		k.set("actions", ac, store.Row{"status": "done", "evidence": json.RawMessage(`["photo"]`)})
		k.is("actions", ac, "completed_at", noon)
		k.refused(k.change("actions", ac, store.Row{"status": "verified"}), "42501")
		k.set("actions", ac, store.Row{"status": "in_progress"})
		k.is("actions", ac, "completed_at", "null")
		k.set("actions", ac, store.Row{"status": "done"})
		k.as.UserID = bo
		k.set("actions", ac, store.Row{"status": "verified"})
		k.is("actions", ac, "verified_at", noon)
		k.is("actions", ac, "verifier_user_id", bo)
	})
}

// Who finishes an action that nobody was assigned is its assignee from then on:
// somebody else verifies it, however the action is handed around.
func TestFourEyesWithoutAssignee(t *testing.T) {
	each(t, func(k *kit) {
		k.as.UserID, k.as.Role = bo, actor.Safety
		ac := k.add("actions", store.Row{"title": "Fix the rail", "priority": "low"})
		k.as.UserID = ada
		k.set("actions", ac, store.Row{"status": "done"})
		k.is("actions", ac, "assignee_user_id", ada)
		k.refused(k.change("actions", ac, store.Row{"status": "verified"}), "42501")
		k.refused(k.change("actions", ac, store.Row{"status": "verified", "verifier_user_id": bo}), "42501")
		k.refused(k.change("actions", ac, store.Row{"status": "verified", "assignee_user_id": bo}), "HF006")
		k.refused(k.change("actions", ac, store.Row{"assignee_user_id": bo}), "HF006")
		k.refused(k.change("actions", ac, store.Row{"assignee_user_id": nil}), "HF006")
		k.as.UserID = bo
		k.set("actions", ac, store.Row{"status": "verified"})
		k.is("actions", ac, "verifier_user_id", bo)
		k.is("actions", ac, "assignee_user_id", ada)
	})
}

func TestChecklistRuns(t *testing.T) {
	each(t, func(k *kit) {
		k.as.UserID = ada
		for _, c := range []struct {
			due, onTime string
			grace       int
		}{{"2026-03-01T12:00:00Z", "true", 0}, {"2026-03-01T11:59:59Z", "false", 0}, {"2026-03-01T11:50:00Z", "true", 10}, {"2026-03-01T11:49:59Z", "false", 10}} {
			run := k.add("checklist_runs", store.Row{"title": "Racks", "due_at": c.due, "grace_minutes": c.grace})
			k.is("checklist_runs", run, "on_time", "null")
			k.set("checklist_runs", run, store.Row{"status": "completed"})
			k.is("checklist_runs", run, "on_time", c.onTime)
			k.is("checklist_runs", run, "completed_by", ada)
			k.is("checklist_runs", run, "started_at", noon)
		}
	})
}
