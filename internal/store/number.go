package store

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/localtime"
)

// numberField is the field that holds a resource's business number, or nil.
func numberField(r *catalog.Resource) *catalog.Field {
	for i := range r.Fields {
		if f := &r.Fields[i]; f.Type == catalog.Text && f.Format == catalog.Number && f.Prefix != "" {
			return f
		}
	}
	return nil
}

func lacksNumber(f *catalog.Field, row Row) bool {
	v := row[f.Name]
	return v == nil || v == any("")
}

// ours are numbers of a sequence's form; sixDigits is what people may choose of
// them. The sequence steps over what they chose, and must be able to read it.
var (
	ours      = regexp.MustCompile(`^[0-9]{4}-`)
	sixDigits = regexp.MustCompile(`^[0-9]{4}-[0-9]{6}$`)
)

// misfitPrefix is the prefix of the sequence whose numbers v resembles without being
// one, "" if there is none.
func misfitPrefix(f *catalog.Field, v string) string {
	for _, prefix := range f.AllPrefixes() {
		rest, ok := strings.CutPrefix(v, prefix+"-")
		if ok && ours.MatchString(rest) && !sixDigits.MatchString(rest) {
			return prefix
		}
	}
	return ""
}

func refuseMisnumbered(f *catalog.Field, prefix, v string) *fault.Error {
	after := fmt.Sprintf("after %s-YYYY- come six digits", prefix)
	return fault.New(fault.Invalid, "22023", "%s %q begins like a number of the sequence and is none", f.Name, v).
		With(after, "leave it out, or choose a number of another form").At(f.Name,
		"begins like a number of the sequence and is none: %s", after)
}

// prefixOf is the prefix of a row's business number.
func prefixOf(f *catalog.Field, row Row) string {
	return f.PrefixOf(func(name string) string {
		v, _ := row[name].(string)
		return v
	})
}

// giveNumbers gives business numbers to new rows that have none: prefix, year and a
// sequence per tenant, prefix and year, SO-2026-000001. The year is that where the
// tenant is.
func (n *numbering) giveNumbers(tx *db.Tx, r *catalog.Resource, changes []Change) error {
	f := numberField(r)
	if f == nil {
		return nil
	}
	bare, years := map[sequence][]Row{}, map[string]int{}
	for _, c := range changes {
		if lacksNumber(f, c.After) {
			tenant := tenantOf(r, c.After)
			if err := n.readYear(tx, tenant, years); err != nil {
				return err
			}
			q := sequence{r, f, tenant, prefixOf(f, c.After), years[tenant]}
			bare[q] = append(bare[q], c.After)
		} else if v, _ := c.After[f.Name].(string); misfitPrefix(f, v) != "" {
			return refuseMisnumbered(f, misfitPrefix(f, v), v)
		}
	}
	for q, rows := range bare {
		first, err := q.reserveNumbers(tx, len(rows))
		if err != nil {
			return err
		}
		for i, row := range rows {
			row[f.Name] = q.formatNumber(first + int64(i))
		}
	}
	return nil
}

// readYear adds to years the year that it is where a tenant is. It asks for the
// tenant's time zone only in the hours around New Year, when the year depends on
// it.
func (n *numbering) readYear(tx *db.Tx, tenant string, years map[string]int) error {
	if years[tenant] != 0 {
		return nil
	}
	now := n.now()
	earliest, latest := localtime.Dates(now)
	if earliest.Year() == latest.Year() {
		years[tenant] = latest.Year()
		return nil
	}
	zone := ""
	QueueZone(tx, tenant, &zone)
	if err := tx.Flush(); err != nil {
		return fmt.Errorf("store: read the time zone of a number's year: %w", err)
	}
	years[tenant] = localtime.Year(now, localtime.Zone(zone))
	return nil
}

// sequence is the numbers of one field and prefix for one tenant and year.
type sequence struct {
	resource *catalog.Resource
	field    *catalog.Field
	tenant   string
	lead     string // "SO"
	year     int
}

// counterName is what the sequence is kept under: the resource's name, for other
// prefixes than its first with the prefix.
func (q sequence) counterName() string {
	if q.lead == q.field.Prefix {
		return q.resource.Name
	}
	return q.resource.Name + "." + q.lead
}

func (q sequence) numberPrefix() string        { return fmt.Sprintf("%s-%04d-", q.lead, q.year) }
func (q sequence) formatNumber(n int64) string { return fmt.Sprintf("%s%06d", q.numberPrefix(), n) }

// farthest is the greatest number that people may choose. The sequence goes on
// with seven digits.
const farthest = 999_999

// sequenceText begins a sequence at $4, or says what is done to the one there is.
const sequenceText = `
	INSERT INTO sequences (tenant_id, name, year, value)
	VALUES ($1, $2, $3, $4)
	ON CONFLICT (tenant_id, name, year) DO UPDATE SET value =`

// reserveNumbers takes n numbers and returns the first. It steps over numbers people
// chose themselves, or the sequence would run into one and never get past it.
func (q sequence) reserveNumbers(tx *db.Tx, count int) (first int64, err error) {
	name := q.field.Name
	text := sequenceText + "sequences.value + excluded.value" +
		" RETURNING value, (SELECT MAX(" + name + ") FROM " + q.resource.Name + " WHERE tenant_id = $1 AND " + name +
		" >= $5 AND " + name + " < $6)"
	prefix := q.numberPrefix()
	var last, taken int64
	take := func(n int64) error {
		return tx.One(text, []any{q.tenant, q.counterName(), int64(q.year), n, prefix, prefix + ":"},
			func(row *db.Row) error {
				last = row.Int(0)
				if taken, _ = strconv.ParseInt(strings.TrimPrefix(row.Text(1), prefix), 10, 64); taken > farthest {
					taken = 0
				}
				return nil
			})
	}
	n := int64(count)
	if err = take(n); err == nil && taken > last-n {
		err = take(taken - (last - n))
	}
	if err != nil {
		return 0, fmt.Errorf("store: reserve %s: %w", name, err)
	}
	return last - n + 1, nil
}
