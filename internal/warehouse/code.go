package warehouse

import (
	"errors"
	"strings"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/gs1"
	"holdfast/internal/query"
)

// coded is what a scanned code says about goods.
type coded struct {
	item, unit string // by item_barcodes or SKU; "" when nothing is known by it
	lot        string
	serial     string
	expires    string // YYYY-MM-DD
	lpn        string // SSCC of the logistic unit
	count      decimal.Dec
}

// readCodes finds what codes stand for: barcodes, GTIN and SKU as they are
// scanned first, and GS1 labels only where the text claims to be one.
func readCodes(tx *db.Tx, tenant string, codes []string, now time.Time) (map[string]*coded, error) {
	out := map[string]*coded{}
	if len(codes) == 0 {
		return out, nil
	}
	raw := map[string]barcode{}
	var values, spelled []string
	labels := map[string]gs1.Label{}
	for _, code := range codes {
		values, spelled = append(values, canonicalBarcode(code)), append(spelled, query.Identifier(code))
		l, err := gs1.Read(code)
		if err == nil {
			labels[code] = l
			values = append(values, gtinOf(l))
		} else if !errors.Is(err, gs1.ErrNotGS1) {
			return nil, fault.New(fault.Invalid, CodeMovement, "the label is damaged: %s",
				strings.TrimPrefix(err.Error(), "gs1: ")).At("barcode", "is a damaged GS1 label")
		}
	}
	tx.Queue("SELECT value, item_id, uom FROM item_barcodes WHERE tenant_id = $1 AND "+tx.DB().InText("value", 2),
		[]any{tenant, jsonList(values)}, func(r *db.Row) error {
			raw[r.Text(0)] = barcode{r.Text(0), r.Text(1), r.Text(2)}
			return nil
		})
	skus := map[string]string{}
	text := "SELECT sku, id FROM items WHERE tenant_id = $1 AND " + tx.DB().InText("sku", 2)
	tx.Queue(text, []any{tenant, jsonList(spelled)}, func(r *db.Row) error {
		skus[r.Text(0)] = r.Text(1)
		return nil
	})
	if err := tx.Flush(); err != nil {
		return nil, err
	}
	for _, code := range codes {
		c := &coded{}
		if b, ok := raw[canonicalBarcode(code)]; ok {
			c.item, c.unit = b.item, b.unit
		} else if id := skus[query.Identifier(code)]; id != "" {
			c.item = id
		} else if l, ok := labels[code]; ok {
			c.readLabel(l, raw, now)
		}
		out[code] = c
	}
	return out, nil
}

// gtinOf is the GTIN of a label: of the trade item itself or of what a logistic
// unit contains.
func gtinOf(l gs1.Label) string {
	if gtin := l.Value("01"); gtin != "" {
		return gtin
	}
	return l.Value("02")
}

// readLabel fills c from a GS1 label.
func (c *coded) readLabel(l gs1.Label, raw map[string]barcode, now time.Time) {
	if b, ok := raw[gtinOf(l)]; ok {
		c.item, c.unit = b.item, b.unit
	}
	c.lot, c.serial, c.lpn = query.Identifier(l.Value("10")), query.Identifier(l.Value("21")), l.Value("00")
	if c.expires = l.Date("17", now.Year()); c.expires == "" {
		c.expires = l.Date("15", now.Year())
	}
	for _, ai := range [...]string{"37", "30"} {
		if n, err := decimal.Parse(l.Value(ai)); err == nil {
			c.count = n
			return
		}
	}
}
