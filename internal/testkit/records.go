package testkit

import (
	"context"
	"encoding/json"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/demo"
)

// As is a member of tenant north by role.
func As(r actor.Role) string { return string(r) + "@north.example" }

// Must fails the test on an error.
func Must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Insert makes a record and returns its id.
func (k *Kit) Insert(t *testing.T, as, collection string, row map[string]any) string {
	t.Helper()
	r := k.Call(Request{Method: "POST", Path: "/v1/" + collection, As: as, Body: row,
		Header: map[string]string{"Prefer": "return=representation"}})
	var out []struct{ ID string }
	if r.Status != 201 || json.Unmarshal(r.Body, &out) != nil || len(out) != 1 {
		t.Fatalf("insert into %s: %d %s", collection, r.Status, r.Body)
	}
	return out[0].ID
}

// Say says a verb and reads its answer into out, nil = none; it fails the test
// unless the status is want.
func (k *Kit) Say(t *testing.T, as, name string, in map[string]any, want int, out any) Response {
	t.Helper()
	r := k.Post(as, "/v1/rpc/"+name, in)
	if r.Status != want {
		t.Fatalf("%s %v: %d %s, want %d", name, in, r.Status, r.Body, want)
	}
	if out != nil {
		r.JSON(t, out)
	}
	return r
}

// Foreign is the id of some record of tenant south.
func (k *Kit) Foreign(t *testing.T, collection string) string {
	t.Helper()
	var out []struct{ ID string }
	k.Call(Request{Method: "GET", Path: "/v1/" + collection + "?select=id&limit=1&tenant_id=eq." + demo.South,
		Bearer: k.Service()}).JSON(t, &out)
	if len(out) == 0 {
		t.Fatalf("tenant south has no %s: let furnish in internal/app/verbs_test.go make one", collection)
	}
	return out[0].ID
}

// Counted counts the rows of a table, whatever tenant's; from may have a WHERE.
func (k *Kit) Counted(t *testing.T, from string) (n int) {
	t.Helper()
	Must(t, k.App.DB.Read(context.Background(), db.Scope{All: true}, func(tx *db.Tx) error {
		return tx.One("SELECT count(*) FROM "+from, nil, func(r *db.Row) error { n = int(r.Int(0)); return nil })
	}))
	return n
}

// Told counts the events of a type in tenant north.
func (k *Kit) Told(t *testing.T, kind string) (n int) {
	t.Helper()
	Must(t, k.App.DB.Read(t.Context(), db.Scope{All: true}, func(tx *db.Tx) error {
		return tx.Query("SELECT COUNT(*) FROM outbox WHERE tenant_id = $1 AND type = $2", []any{demo.North, kind},
			func(r *db.Row) error {
				n = int(r.Int(0))
				return nil
			})
	}))
	return n
}

// Verified fails the test for each total that does not agree with its records.
func (k *Kit) Verified(t *testing.T) {
	t.Helper()
	found, err := k.App.Verify(t.Context())
	Must(t, err)
	for _, d := range found {
		t.Error(d)
	}
}

// List reads a collection, at most a thousand records.
func List[T any](t *testing.T, k *Kit, as, path string) (out []T) {
	t.Helper()
	r := k.Get(as, "/v1/"+path)
	if r.Status/100 != 2 || json.Unmarshal(r.Body, &out) != nil {
		t.Fatalf("%s: %d %s", path, r.Status, r.Body)
	}
	return out
}
