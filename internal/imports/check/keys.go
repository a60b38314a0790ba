package check

import (
	"context"
	"slices"
	"strings"

	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/imports/draft"
	"holdfast/internal/imports/match"
	"holdfast/internal/imports/targets"
	"holdfast/internal/store"
)

// refuseRepeatedKey refuses a key that an earlier row of the file has.
func (st *stager) refuseRepeatedKey(d *draft.Draft, row store.Row) {
	key := st.v.RowKey(row)
	if key == "" {
		return
	}
	if line, ok := st.seen.Put(key, d.Line); ok {
		given := slices.DeleteFunc(slices.Clone(st.v.KeyFields()), func(k string) bool { return row[k] == nil })
		d.Fail(st.v.Header(given[len(given)-1]), "duplicate", "line %d has the same %s", line,
			strings.Join(st.v.Titles(given), " and "))
	}
}

// standing is what is known of a record that a row may change.
type standing struct{ id, state string }

// readStandings reads the records that have the keys of rows.
func (st *stager) readStandings(ctx context.Context, rows []store.Row) (map[string]standing, error) {
	r := st.v.Target.Resource
	read := []string{"id"}
	if r.States != nil {
		read = append(read, r.States.Field)
	}
	there := map[string]standing{}
	err := st.m.db.Read(ctx, store.Scope(st.step.Actor), func(tx *db.Tx) error {
		return match.Look(tx, st.step.Actor.TenantID, r, rows, read, func(key string, row *db.Row) {
			s := standing{id: row.Text(0)}
			if len(read) > 1 {
				s.state = row.Text(1)
			}
			there[key] = s
		})
	})
	return there, err
}

// checkPresence refuses keys that exist already when only new records are wanted or
// allowed, unknown ones when only existing ones are, and states that a record
// cannot begin in or move to.
func (st *stager) checkPresence(ctx context.Context, batch []*draft.Draft, good []store.Row) error {
	if err := st.refuseKept(ctx, batch, good); err != nil {
		return err
	}
	t, mode := st.v.Target, st.v.Settings.Mode
	r := t.Resource
	create, update := t.Rights(st.step.Actor.Role)
	states := r.States != nil && slices.Contains(st.fields, r.States.Field)
	if !t.Keyed() || mode == targets.ModeUpsert && create && update && !states && !st.v.Lined() {
		return nil
	}
	there, err := st.readStandings(ctx, good)
	if err != nil {
		return err
	}
	last := r.Import.Key[len(r.Import.Key)-1]
	for i, d := range batch {
		if good[i] == nil || len(d.Errs) > 0 {
			continue
		}
		was, exists := there[match.Key(r, good[i])]
		name := st.recordName(good[i])
		switch {
		case exists && mode == targets.ModeInsert:
			d.Fail(st.v.Header(last), "exists", "%s exists already", name)
		case exists && !update:
			d.Fail(st.v.Header(last), "exists", "%s exists already, and your role may not change it", name)
		case !exists && mode == targets.ModeUpdate:
			d.Fail(st.v.Header(last), "unknown", "there is no record %s to update", name)
		case !exists && !create:
			d.Fail(st.v.Header(last), "unknown", "there is no record %s, and your role may not make one", name)
		case exists && st.v.Lined() && st.isClosedState(was.state):
			d.Fail(st.v.Header(last), "state", "%s is %s: its lines no longer change", name, targets.Spoken(was.state))
		case states:
			st.checkTransition(d, good[i], was.state, exists)
		}
	}
	return nil
}

// refuseKept refuses keys of records that are for named readers only, of whom the caller is none.
func (st *stager) refuseKept(ctx context.Context, batch []*draft.Draft, good []store.Row) error {
	r := st.v.Target.Resource
	if !st.v.Target.Keyed() || r.Seal == nil || r.Seal.Opens(st.step.Actor.Role) {
		return nil
	}
	there, err := st.readStandings(ctx, good)
	if err != nil || len(there) == 0 {
		return err
	}
	var ids, kept []string
	for _, was := range there {
		ids = append(ids, was.id)
	}
	err = st.m.db.Read(ctx, store.Scope(st.step.Actor), func(tx *db.Tx) (err error) {
		kept, err = st.m.store.In(tx, st.step.Actor).KeptFrom(r, ids)
		return err
	})
	last := r.Import.Key[len(r.Import.Key)-1]
	for i, d := range batch {
		if good[i] != nil && len(d.Errs) == 0 && slices.Contains(kept, there[match.Key(r, good[i])].id) {
			d.Fail(st.v.Header(last), "exists", "the record %s is not yours to change", st.recordName(good[i]))
		}
	}
	return err
}

// recordName is what a row's record is called in a message.
func (st *stager) recordName(row store.Row) string {
	if s := match.Label(row); s != "" {
		return s
	}
	return "with this " + st.v.Header(st.v.Target.Resource.Import.Key[0])
}

// isClosedState reports a state that a record does not leave.
func (st *stager) isClosedState(state string) bool {
	return !slices.ContainsFunc(st.v.Target.Resource.States.Moves, func(m catalog.Move) bool {
		return slices.Contains(m.From, state)
	})
}

// checkTransition holds a row's state to the state machine.
func (st *stager) checkTransition(d *draft.Draft, row store.Row, was string, exists bool) {
	machine := st.v.Target.Resource.States
	to, ok := row[machine.Field].(string)
	switch {
	case !ok || exists && was == to:
	case !exists && !slices.Contains(machine.Initial, to):
		d.Fail(st.v.Header(machine.Field), "state", "a new record starts as %s, not as %s",
			targets.SpokenList(machine.Initial, " or "), targets.Spoken(to))
	case exists:
		if legal, permitted := machine.Allows(was, to, st.step.Actor.Role); !legal || !permitted {
			d.Fail(st.v.Header(machine.Field), "state", "the record is %s and cannot become %s",
				targets.Spoken(was), targets.Spoken(to))
		}
	}
}
