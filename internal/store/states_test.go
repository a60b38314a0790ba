package store_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
)

// Every record with states is led from each of them to each of them by every
// role: what is no move is refused as such, a move that is not the role's as
// such, and the others happen. Records begin only where their machine says.
func TestEveryMove(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		made := map[string]string{}
		people, _ := k.cat.Get("workers")
		k.seed(north, people, made)
		for _, r := range k.cat.All() {
			if r.States == nil {
				continue
			}
			f, _ := r.Field(r.States.Field)
			t.Run(r.Name, func(t *testing.T) {
				k := &kit{TB: t, d: k.d, cat: k.cat, s: k.s, now: k.now}
				id := k.seed(north, r, made)
				key := actor.Actor{Role: actor.Service, TenantID: north}
				if f.ReadOnly {
					k.refused(k.do(key, "PATCH", r.Name+"?id=eq."+id, "", `{"`+f.Name+`":"`+f.OneOf[0]+`"}`), "428C9")
					return
				}
				for _, from := range f.OneOf {
					if _, ok := catalog.Find(r.Access.Create, actor.Owner); ok && !slices.Contains(r.States.Initial, from) &&
						!k.others(r) {
						k.refused(k.do(key, "POST", r.Name, "", `{"`+f.Name+`":"`+from+`"`+k.bodyWithout(r, f.Name)+`}`), "HF001")
					}
					for _, to := range f.OneOf {
						if to == from {
							continue
						}
						k.moves(r, id, from, to, append(slices.Clone(actor.Members), actor.Service))
					}
				}
			})
		}
	})
}

// others reports a resource whose rows need another that the loop would have to
// make for each.
func (k *kit) others(r *catalog.Resource) bool {
	return slices.ContainsFunc(r.Fields, func(f catalog.Field) bool {
		return f.Required && f.Default == "" && (f.Ref != "" || f.Names != "")
	})
}

// moves tries one step as every role.
func (k *kit) moves(r *catalog.Resource, id, from, to string, roles []actor.Role) {
	k.Helper()
	for _, role := range roles {
		a := actor.Actor{Role: role, TenantID: north}
		if role != actor.Service {
			a = as(north, role)
		}
		legal, permitted := r.States.Allows(from, to, role)
		g, granted := catalog.Find(r.Access.Update, role)
		granted = granted && g.Scope != catalog.None && (len(g.Fields) == 0 || slices.Contains(g.Fields, r.States.Field))
		if !legal && role != actor.Service && role != actor.Owner {
			continue // what is no move is none for everybody: the key and the owner stand for all
		}
		k.begin(r, id, from, &a)
		got := k.do(a, "PATCH", r.Name+"?id=eq."+id+"&select="+r.States.Field, "return=representation",
			`{"`+r.States.Field+`":"`+to+`"}`)
		want := "42501"
		switch {
		case granted && !legal:
			want = "HF001"
		case granted && permitted:
			want = `[{"` + r.States.Field + `":"` + to + `"}]`
		}
		if got.String() != want {
			k.Errorf("%s from %s to %s as %s: %v, want %s", r.Name, from, to, role, got, want)
		}
	}
}

// begin puts the row in a state, past the machine, and makes it the actor's own.
func (k *kit) begin(r *catalog.Resource, id, state string, a *actor.Actor) {
	k.Helper()
	sets, args := []string{r.States.Field + " = $3"}, []any{north, id, state}
	for _, c := range r.Own {
		f, _ := r.Field(c)
		if f.Ref == "workers" {
			a.WorkerID = rows(k, k.must(actor.Actor{Role: actor.Service, TenantID: north}, "GET",
				"workers?select=id&order=id&limit=1", "", "").Body)[0]["id"].(string)
			args = append(args, a.WorkerID)
		} else if a.UserID != "" {
			args = append(args, a.UserID)
		} else {
			continue
		}
		sets = append(sets, fmt.Sprint(c, " = $", len(args)))
	}
	err := k.d.Write(context.Background(), db.Scope{Tenant: north}, func(tx *db.Tx) error {
		_, err := tx.Exec("UPDATE "+r.Name+" SET "+strings.Join(sets, ", ")+" WHERE tenant_id = $1 AND id = $2", args...)
		return err
	})
	if err != nil {
		k.Fatal(err)
	}
}
