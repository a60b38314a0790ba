package match

import (
	"strings"

	"holdfast/internal/catalog"
	"holdfast/internal/store"
)

// called are the fields people call a record by, the best first.
func called() []string {
	return []string{"sku", "code", "lot_no", "incident_no", "order_no", "action_no", "employee_no", "plate", "asset_no",
		"external_ref", "name", "title", "certificate_no"}
}

// Label is what people call a record by.
func Label(row store.Row) string {
	for _, f := range called() {
		if s, ok := row[f].(string); ok && s != "" {
			return s
		}
	}
	s, _ := row["id"].(string)
	return s
}

// LabelSQL is Label as an expression; null where a record has only its id.
func LabelSQL(r *catalog.Resource) string {
	var fields []string
	for _, f := range called() {
		if _, ok := r.Field(f); ok {
			fields = append(fields, "NULLIF("+f+", '')")
		}
	}
	return "COALESCE(" + strings.Join(append(fields, "NULL", "NULL"), ", ") + ")"
}
