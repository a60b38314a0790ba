package api

import (
	"bytes"
	"encoding/csv"
	"net/http"

	"holdfast/internal/api/route"
	"holdfast/internal/catalog"
	"holdfast/internal/fault"
	grammar "holdfast/internal/query"
	"holdfast/internal/warehouse/costs"
)

// StockValue serves what the stock of a day was, and what it was worth.
type StockValue struct{ books *costs.Books }

// NewStockValue returns the face of b.
func NewStockValue(b *costs.Books) *StockValue { return &StockValue{b} }

// Routes lists what is served.
func (s *StockValue) Routes() []route.Route {
	return []route.Route{{Method: "GET", Pattern: "/v1/stock-value.csv", Who: route.TenantMember, Handle: s.serveDay,
		Tag: "stock", Media: "text/csv", Query: map[string]string{"as_of": "string"},
		Doc: "Stock and what it was worth at the end of a day (as_of, today without it), by item, owner and site"}}
}

// serveDay answers with a file, a row for each item, owner and site. A day without stock
// has a row that says so.
func (s *StockValue) serveDay(w http.ResponseWriter, c *route.Call) error {
	if !catalog.SeesCosts(c.Actor.Role) {
		return fault.New(fault.Forbidden, "42501", "what stock is worth is not for the role %s", c.Actor.Role)
	}
	if len(c.Query["as_of"]) > 1 {
		return fault.New(fault.Invalid, "22023", "as_of may be given once").At("as_of", "repeated")
	}
	asOf := ""
	if given := c.Query["as_of"]; len(given) == 1 {
		if asOf = given[0]; asOf == "" {
			return fault.New(fault.Invalid, "22007", "as_of is no date such as 2026-01-31").At("as_of", "is no date")
		}
	}
	day, err := s.books.ReadDay(c.Context(), c.Actor, asOf)
	if err != nil {
		return err
	}
	body, err := writeDay(day)
	if err != nil {
		return err
	}
	return (&file{"stock-value-" + day.Date.String() + ".csv", "text/csv; charset=utf-8", body}).sendFile(w)
}

// writeDay writes a day's stock as CSV that spreadsheet programs take for data.
func writeDay(day *costs.Day) ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	date := day.Date.String()
	rows := [][]string{{"as_of", "sku", "name", "owner", "site", "quantity", "unit", "unit_cost", "value", "currency"}}
	for _, line := range day.Stock {
		row := []string{date, grammar.Guard(line.SKU), grammar.Guard(line.Name), grammar.Guard(line.OwnerCode),
			grammar.Guard(line.SiteCode), line.Quantity.String(), line.Unit, "", "", day.Currency}
		if line.Known {
			row[7], row[8] = line.Cost.String(), line.Value.String()
		}
		rows = append(rows, row)
	}
	if len(day.Stock) == 0 {
		rows = append(rows, []string{date, "", "no stock at the end of this day", "", "", "0", "", "", "0", day.Currency})
	}
	if err := w.WriteAll(rows); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
