package draft

import (
	"maps"
	"time"

	"holdfast/internal/catalog"
	"holdfast/internal/decimal"
	"holdfast/internal/imports/match"
	"holdfast/internal/imports/plan"
	"holdfast/internal/imports/targets"
	"holdfast/internal/query"
	"holdfast/internal/store"
)

// Check validates a draft as the store would, and the rules that tie a row's
// fields together. It returns the row with stored values, only what was given.
func (v *Reader) Check(s *store.Store, d *Draft) store.Row {
	if len(d.Errs) > 0 && (d.Errs[0].Code == "columns" || len(d.Row)+len(d.refs) == 0) {
		return nil
	}
	op := store.Insert
	if v.Settings.Mode == targets.ModeUpdate {
		op = store.Update
		v.wantKey(d)
	}
	var extra store.Row // what is no field of the record
	for _, k := range []string{targets.LotNumber, targets.LotExpiry} {
		if x, ok := d.Row[k]; ok && v.Target.Posts != nil {
			if extra == nil {
				extra = store.Row{}
			}
			extra[k] = x
			delete(d.Row, k)
		}
	}
	v.inferFields(d)
	v.noteExpiryWithoutLot(d, extra)
	checked := v.validateRecord(s, d, v.Target.Resource, op, false)
	if v.Lined() {
		maps.Copy(checked, v.validateRecord(s, d, v.Target.Lines, op, true))
	}
	if v.Target.Posts != nil {
		d.checkItemUnit()
	}
	switch v.Target.Name {
	case "stock_movements":
		v.movementRules(s, d, checked)
	case "stock_levels":
		levelRules(v, d, checked)
	}
	if len(d.Errs) > 0 {
		return nil
	}
	maps.Copy(checked, extra)
	return checked
}

// wantKey asks for what finds the record to update.
func (v *Reader) wantKey(d *Draft) {
	r := v.Target.Resource
	for _, k := range r.Import.Key {
		f, _ := r.Field(k)
		if _, ok := d.Row[k]; !ok && (f.Required && f.Default == "" || len(r.Import.Key) == 1) && !d.Refused(v, k) {
			d.Fail(v.Header(k), "required", "%s is required to find the record", v.Target.Words(k))
		}
	}
}

// inferFields fills in what a row says without saying it: training with a date of
// completion is completed, a shift with an end is closed.
func (v *Reader) inferFields(d *Draft) {
	if v.Target.Name == "training_assignments" && v.Settings.Mode != targets.ModeUpdate && d.Row["completed_at"] != nil &&
		d.Row["status"] == nil {
		d.Row["status"] = "completed"
	} else if v.Target.Name == "shifts" && d.Row["ended_at"] != nil && d.Row["status"] == "open" {
		d.Row["status"] = "closed"
		d.addNote(noteEnded, v.Header("status"))
	}
}

// noteExpiryWithoutLot notes that a row says when a lot expires and names none.
func (v *Reader) noteExpiryWithoutLot(d *Draft, extra store.Row) {
	if extra[targets.LotExpiry] != nil && extra[targets.LotNumber] == nil && d.Row[targets.Lot] == nil {
		d.addNote(noteNoLot, v.Header(targets.LotExpiry))
	}
}

// validateRecord checks the part of a draft that belongs to the record, or to its
// line.
func (v *Reader) validateRecord(s *store.Store, d *Draft, r *catalog.Resource, op store.Op, line bool) store.Row {
	checked, fields := s.Validate(r, v.Target.Part(d.Row, line), op)
	for _, f := range fields {
		if d.Refused(v, f.Name) || v.Target.Column(f.Name) == nil {
			continue // what a file cannot give is the server's to fill
		}
		if f.Name == plan.LineNumber && v.Layout.Column(plan.LineNumber) == nil {
			continue // told already: it is counted, if the row says of what
		}
		code := "invalid"
		if f.Msg == "is required" {
			code = "required"
		}
		d.Fail(v.Header(f.Name), code, "%s %s", v.Target.Words(f.Name), f.Msg)
	}
	return checked
}

// Gains reports a kind of movement that brings stock in.
func Gains(kind string) bool { return gains[kind] }

// Losses reports a kind of movement that takes stock out.
func Losses(kind string) bool { return losses[kind] }

// gains bring stock in, losses take it out, moves need both zones.
var (
	gains = map[string]bool{"receipt": true, "return_in": true, "adjust_gain": true, "count_gain": true, "opening": true,
		"import": true}
	losses = map[string]bool{"ship": true, "adjust_loss": true, "count_loss": true, "scrap": true}
)

// movementRules are what makes a stock movement possible at all, so that one
// field that is not does not stop the whole file when it is applied.
func (v *Reader) movementRules(s *store.Store, d *Draft, row store.Row) {
	kind, _ := row["type"].(string)
	rule := func(broken bool, field, code, format string, args ...any) {
		if broken && !d.Refused(v, field) {
			d.Fail(v.Header(field), code, format, args...)
		}
	}
	named := targets.Spoken(kind)
	to, from := row["to_zone_id"] != nil, row["from_zone_id"] != nil
	needsTo, needsFrom := !losses[kind], !gains[kind]
	rule(needsTo && !to, "to_zone_id", "required", "a movement of the type %q needs the zone it goes to", named)
	rule(needsFrom && !from, "from_zone_id", "required", "a movement of the type %q needs the zone it comes from", named)
	rule(!needsTo && to, "to_zone_id", "invalid", "a movement of the type %q goes to no zone", named)
	rule(!needsFrom && from, "from_zone_id", "invalid", "a movement of the type %q comes from no zone", named)
	rule(to && from && row["to_zone_id"] == row["from_zone_id"] && kind != "pack" && kind != "status_change", "to_zone_id",
		"invalid", "both zones are the same")
	for _, f := range []string{"to_zone_id", "from_zone_id"} {
		rule(d.also[f] == "archived", f, "archived", "the zone is archived")
	}
	rule(d.also["item_id"] == "lot" && !d.isPending("lot_id"), "lot_id", "required",
		"the item is tracked by lot: name the lot")
	rule(d.also["item_id"] == "serial" && row["serial"] == nil, "serial", "required",
		"the item is tracked by serial number: name it")
	rule(row["serial"] != nil && match.Dec(row, "quantity") != decimal.One, "quantity", "invalid",
		"a serial number is one unit: give the quantity 1")
	if at, ok := row["occurred_at"].(string); ok {
		rule(at > query.FormatTime(s.Now().Add(skew)), "occurred_at", "future", "a movement cannot lie in the future")
	}
}

// levelRules are what makes a count of stock possible.
func levelRules(v *Reader, d *Draft, row store.Row) {
	rule := func(broken bool, field, code, why string) {
		if broken && !d.Refused(v, field) {
			d.Fail(v.Header(field), code, "%s", why)
		}
	}
	rule(d.also["zone_id"] == "archived", "zone_id", "archived", "the zone is archived")
	rule(d.also["item_id"] == "lot" && !d.isPending("lot_id"), "lot_id", "required",
		"the item is tracked by lot: name the lot")
	rule(d.also["item_id"] == "serial" && row["serial"] == nil, "serial", "required",
		"the item is tracked by serial number: name it")
	rule(row["serial"] != nil && match.Dec(row, "quantity") != 0 && match.Dec(row, "quantity") != decimal.One, "quantity",
		"invalid", "of a serial number there is one unit, or none")
	rule(row["quantity"] == nil, "quantity", "required", v.Target.Words("quantity")+" is required")
}

// skew is how far a clock may run ahead of ours.
const skew = 5 * time.Minute
