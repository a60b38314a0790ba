package match

import (
	"testing"

	"holdfast/internal/catalog"
	"holdfast/internal/store"
)

// Two rows have one key when they are about the same record: whatever the case of
// its code, and whether or not they say what is so anyway.
func TestKey(t *testing.T) {
	for _, c := range []struct {
		resource string
		a, b     store.Row
		same     bool
	}{
		{"zones", store.Row{"code": "A-1"}, store.Row{"code": "a-1"}, true},
		{"zones", store.Row{"code": "A-1"}, store.Row{"code": "A-2"}, false},
		{"workers", store.Row{"employee_no": "E1"}, store.Row{"employee_no": "e1"}, false},
		{"order_lines", store.Row{"order_id": "o", "line_no": int64(1)}, store.Row{"order_id": "o", "line_no": int64(2)},
			false},
		{"order_lines", store.Row{"order_id": "o", "line_no": int64(12)}, store.Row{"order_id": "o1", "line_no": int64(2)},
			false},
		{"stock_levels", store.Row{"zone_id": "z", "item_id": "i"},
			store.Row{"zone_id": "z", "item_id": "i", "stock_status": "available"}, true},
		{"stock_levels", store.Row{"zone_id": "z", "item_id": "i"},
			store.Row{"zone_id": "z", "item_id": "i", "stock_status": "damaged"}, false},
		{"stock_levels", store.Row{"zone_id": "z", "item_id": "i", "lot_id": "x"},
			store.Row{"zone_id": "z", "item_id": "i", "serial": "x"}, false},
	} {
		r, _ := catalog.Default().Get(c.resource)
		a, b := Key(r, c.a), Key(r, c.b)
		if a == "" || b == "" || (a == b) != c.same {
			t.Errorf("%s: %v has key %q, %v has %q", c.resource, c.a, a, c.b, b)
		}
	}
	levels, _ := catalog.Default().Get("stock_levels")
	if k := Key(levels, store.Row{"item_id": "i", "lot_id": "x"}); k != "" {
		t.Errorf("a count of no zone has key %q", k)
	}
}
