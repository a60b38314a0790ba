package record_test

import (
	"encoding/json"
	"testing"

	"holdfast/internal/decimal"
	"holdfast/internal/record"
	"holdfast/internal/store"
)

// A record is its row by another name: null reads as nothing, and what is set of the one
// is set in the other.
func TestRecordIsItsRow(t *testing.T) {
	row := store.Row{"item_id": "i", "lot_id": nil, "qty": decimal.One, "seq": int64(3)}
	line := record.PickLine(row)
	if line.ItemID() != "i" || line.Qty() != decimal.One || line.Seq() != 3 || line.LotID() != "" {
		t.Errorf("%v reads as %q, %s, %d and %q", row, line.ItemID(), line.Qty(), line.Seq(), line.LotID())
	}
	if line.HasLotID() || line.LotIDOrNull() != nil {
		t.Error("null is passed on as a value")
	}

	line.SetLotID("l")
	line.SetStatus("picked")
	if row["lot_id"] != "l" || row.Text("status") != "picked" {
		t.Errorf("what was set of the record is not in its row: %v", row)
	}
	line.ClearLotID()
	if row["lot_id"] != nil {
		t.Errorf("lot_id is %v after it was cleared", row["lot_id"])
	}
	if record.NameOf[record.PickLine]() != "pick_lines" {
		t.Errorf("the resource is %q", record.NameOf[record.PickLine]())
	}
}

// A document is compared as it is stored, and does not end the request that asks.
func TestAltersDocuments(t *testing.T) {
	pair := func(before, after any) record.Change[record.Badge] {
		return record.ChangeOf[record.Badge](store.Change{
			Op: store.Update, Before: store.Row{"rule": before}, After: store.Row{"rule": after}})
	}
	one, other := json.RawMessage(`{"points":1}`), json.RawMessage(`{"points":2}`)
	for _, c := range []struct {
		name          string
		before, after any
		altered       bool
	}{
		{"the same document", one, json.RawMessage(`{"points":1}`), false},
		{"another document", one, other, true},
		{"a first document", nil, one, true},
		{"a document that is cleared", one, nil, true},
		{"none before and after", nil, nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if is := pair(c.before, c.after).Alters(record.Badge.RuleOrNull); is != c.altered {
				t.Errorf("its rule is altered: %t", is)
			}
		})
	}
}

func TestChange(t *testing.T) {
	draft, confirmed := record.Order{"status": "draft"}, record.Order{"status": "confirmed"}
	for _, c := range []struct {
		name                     string
		op                       store.Op
		before, after            record.Order
		becomes, leaves, altered bool
	}{
		{"an insert that begins there", store.Insert, nil, confirmed, true, false, false},
		{"an insert that begins elsewhere", store.Insert, nil, draft, false, false, false},
		{"an update that brings it there", store.Update, draft, confirmed, true, false, true},
		{"an update that leaves it there", store.Update, confirmed, confirmed, false, false, false},
		{"an update that takes it away", store.Update, confirmed, draft, false, true, true},
		{"the end of the record", store.Delete, confirmed, nil, false, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			change := record.ChangeOf[record.Order](store.Change{
				Op: c.op, Before: store.Row(c.before), After: store.Row(c.after)})
			if is := change.Becomes(record.Order.Status, "confirmed"); is != c.becomes {
				t.Errorf("it becomes confirmed: %t", is)
			}
			if is := change.Leaves(record.Order.Status, "confirmed"); is != c.leaves {
				t.Errorf("it is no longer confirmed: %t", is)
			}
			if is := change.Alters(record.Order.StatusOrNull); is != c.altered {
				t.Errorf("its status is altered: %t", is)
			}
			if change.Current() == nil {
				t.Error("it has no row")
			}
		})
	}
}
