// Package scanning says what codes stand for that people scan: barcodes and GTIN of items in
// their units, the elements of GS1 labels (GS1 General Specifications, section 3), numbers of
// records and of pieces. It keeps item_barcodes, where one code stands for one item in one
// unit.
//
// Layer: domains. Begin at [ScanCode].
package scanning

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

// The codes of refusals.
const (
	CodeScan     = "HF025" // a scan does not match
	codeMovement = "HF003" // a movement does not fit its type, item, lot or zone
)

// Goods is what a scanned code says about goods.
type Goods struct {
	ItemID, Unit string // by item_barcodes or SKU; "" when nothing is known by it
	LotNo        string
	Serial       string
	ExpiresOn    string // YYYY-MM-DD
	LPN          string // SSCC of the logistic unit
	Count        decimal.Dec
	IsOfPieces   bool // Count is of pieces in a trade item of variable measure
}

// ReadCodes finds what codes stand for, by code: barcodes, GTIN and SKU as they are
// scanned first, and GS1 labels only where the text claims to be one. A damaged label is
// fault.Invalid at barcode.
func ReadCodes(tx *db.Tx, tenant string, codes []string, now time.Time) (map[string]*Goods, error) {
	out := map[string]*Goods{}
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
			return nil, fault.New(fault.Invalid, codeMovement, "the label is damaged: %s",
				strings.TrimPrefix(err.Error(), "gs1: ")).At("barcode", "is a damaged GS1 label")
		}
	}
	tx.Queue(`
		SELECT value, item_id, uom
		FROM item_barcodes
		WHERE tenant_id = $1
			AND value IN {texts $2}`,
		[]any{tenant, query.List(values)}, func(r *db.Row) error {
			raw[r.Text(0)] = barcode{r.Text(0), r.Text(1), r.Text(2)}
			return nil
		})
	skus := map[string]string{}
	text := `
		SELECT sku, id
		FROM items
		WHERE tenant_id = $1
			AND sku IN {texts $2}`
	tx.Queue(text, []any{tenant, query.List(spelled)}, func(r *db.Row) error {
		skus[r.Text(0)] = r.Text(1)
		return nil
	})
	if err := tx.Flush(); err != nil {
		return nil, err
	}
	for _, code := range codes {
		c := &Goods{}
		if b, ok := raw[canonicalBarcode(code)]; ok {
			c.ItemID, c.Unit = b.item, b.unit
		} else if id := skus[query.Identifier(code)]; id != "" {
			c.ItemID = id
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
func (c *Goods) readLabel(l gs1.Label, raw map[string]barcode, now time.Time) {
	if b, ok := raw[gtinOf(l)]; ok {
		c.ItemID, c.Unit = b.item, b.unit
	}
	c.LotNo, c.Serial, c.LPN = query.Identifier(l.Value("10")), query.Identifier(l.Value("21")), l.Value("00")
	if c.ExpiresOn = l.Date("17", now.Year()); c.ExpiresOn == "" {
		c.ExpiresOn = l.Date("15", now.Year())
	}
	count, isOfPieces := countOf(l)
	if n, err := decimal.Parse(count); err == nil {
		c.Count = n
	}
	if c.IsOfPieces = isOfPieces; isOfPieces {
		c.Unit = ""
	}
}

// countOf is how much a label says there is: trade items in a logistic unit (AI 37), else
// pieces in a variable measure trade item (AI 30), whatever unit its number stands for (GS1
// General Specifications 3.6.1 and 3.6.5); "" is nothing. Beside the number of a trade item of
// fixed measure, which does not begin with 9, AI 30 is redundant and says nothing.
func countOf(l gs1.Label) (count string, isOfPieces bool) {
	if count := l.Value("37"); count != "" {
		return count, false
	}
	if !strings.HasPrefix(gtinOf(l), "9") {
		return "", false
	}
	count = l.Value("30")
	return count, count != ""
}
