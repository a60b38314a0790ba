package imports

import (
	"holdfast/internal/catalog"
	"holdfast/internal/imports/cell"
)

// column is one thing a file may give: a field of the record, or (extra) what
// is needed to find or make a record it refers to.
type column struct {
	name  string
	field *catalog.Field
	fold  []string // header spellings, folded, most telling first
}

// target is a kind of record that files are imported into.
type target struct {
	name     string
	resource *catalog.Resource
	columns  []column
	defaults map[string]string // for columns no file gives
}

// lotExpiry is a column of stock files: the expiry of the lot the row names,
// so that missing lots can be made.
const lotExpiry = "lot_expires_on"

// lotNumber is staged in place of lot_id while the lot does not exist.
const lotNumber = "lot_no"

// targets are the catalog's resources that have an Import section.
func targets(c *catalog.Catalog) map[string]*target {
	out := map[string]*target{}
	for _, r := range c.All() {
		if r.Import == nil {
			continue
		}
		t := &target{name: r.Name, resource: r, defaults: map[string]string{}}
		for _, name := range r.Import.Fields {
			f, _ := r.Field(name)
			t.columns = append(t.columns, newColumn(f, r.Import.Synonyms[name]))
		}
		switch r.Name {
		case "stock_movements":
			t.columns = append(t.columns, newColumn(&catalog.Field{Name: lotExpiry, Type: catalog.Date, Label: "Lot expiry"},
				[]string{"expiration date", "expiry date", "expiry", "expires on", "use by", "verfallsdatum", "date de peremption"}))
			t.defaults["type"] = "opening"
		case "incidents":
			// A register of accidents says nowhere that its rows are accidents.
			t.defaults["kind"] = "injury"
		}
		out[r.Name] = t
	}
	return out
}

func newColumn(f *catalog.Field, synonyms []string) column {
	c := column{name: f.Name, field: f, fold: []string{cell.Fold(f.Name), cell.Fold(f.Label)}}
	for _, s := range synonyms {
		c.fold = append(c.fold, cell.Fold(s))
	}
	return c
}

func (t *target) column(name string) *column {
	for i := range t.columns {
		if t.columns[i].name == name {
			return &t.columns[i]
		}
	}
	return nil
}

// keyed reports whether rows can be found again by a key.
func (t *target) keyed() bool { return len(t.resource.Import.Key) > 0 }
