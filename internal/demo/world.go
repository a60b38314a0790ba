package demo

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"holdfast/internal/decimal"
	"holdfast/internal/gs1"
	"holdfast/internal/localtime"
	"holdfast/internal/store"
	"holdfast/internal/warehouse/factors"
)

// world is a tenant being made: what exists so far, and the records of it.
type world struct {
	profile
	cal     *calendar
	rows    records
	users   []User         // the tenant's members
	numbers map[string]int // last business number by series and year

	sites []string
	zones map[string]*zone // by code
	tree  []*zone          // parents first
	*rota
	drivers []*driver
	freight map[string]string // id of a carrier's record by its code
	turn    int               // of nextDriver
}

// stock is the goods of a tenant and what moves them.
type stock struct {
	*world

	items    []*item
	draws    []float64 // running sums of the items' draw
	slowTurn int       // of slowOne
	byKey    map[levelKey]*level
	levels   []*level

	orders     []*order
	deliveries []*delivery
	lists      []*pickList
	traffic    *haulage
}

// workplace is what is done for the safety of a tenant's people.
type workplace struct {
	*world

	forms map[string][]form // checklist templates by code
}

// buildTenant makes all records of a tenant.
func buildTenant(p profile, now time.Time) (records, error) {
	loc, err := time.LoadLocation(p.timezone)
	if err != nil {
		return nil, fmt.Errorf("time zone: %w", err)
	}
	w := &world{profile: p, cal: newCalendar(loc, now, p.seed), rows: records{}, zones: map[string]*zone{},
		numbers: map[string]int{}}
	w.rota = &rota{cal: w.cal, days: map[int][]*duty{}}
	size := Sample
	if p.crew {
		size = Whole
	}
	for _, u := range size.Accounts() {
		if u.Memberships[p.id] != "" {
			w.users = append(w.users, u)
		}
	}
	w.writeOrganisation()
	w.writeStaff()
	w.makeLayout()
	goods := &stock{world: w, byKey: map[levelKey]*level{}, traffic: &haulage{world: w}}
	goods.makeAssortment()
	goods.bookOpening()
	for day := -history; day <= 0; day++ {
		goods.bookSupply(day)
		if day >= -w.opened {
			goods.takeOrders(day)
		}
		goods.workDay(day)
	}
	goods.writeResults()
	people := &workplace{world: w}
	people.writeSafety()
	w.writePlatform(goods.items)
	writeProgramme(people)
	writeCases(people)
	w.writeUnits()
	people.writeRegister()
	return w.rows, nil
}

// writeUnits writes the units that a new tenant begins with. They come last: the ids that
// they take would change all that is drawn after them.
func (w *world) writeUnits() {
	made := w.cal.momentAt(-goLive-8, 10)
	for _, unit := range factors.ShippedUnits() {
		w.addRecord("uoms", -goLive-8, made, unit)
	}
}

// addRecord appends a record made on a day at a moment.
func (w *world) addRecord(resource string, day int, t time.Time, r store.Row) store.Row {
	if r["id"] == nil {
		r["id"] = w.cal.newID(day, t)
	}
	if resource != "tenants" {
		r["tenant_id"] = w.profile.id
	}
	if resource != "audit" {
		r["created_at"] = formatMoment(t)
		if r["updated_at"] == nil {
			r["updated_at"] = formatMoment(t)
		}
		if r["version"] == nil {
			r["version"] = int64(1)
		}
	}
	w.rows[resource] = append(w.rows[resource], r)
	return r
}

// nextNumber gives out a business number as the store does: prefix, year, sequence.
func (w *world) nextNumber(prefix string, t time.Time) string {
	series := fmt.Sprintf("%s-%04d", prefix, localtime.Year(t, w.cal.loc))
	w.numbers[series]++
	return fmt.Sprintf("%s-%06d", series, w.numbers[series])
}

// userID returns the id of the tenant's account with a name part, or the first
// member's.
func (w *world) userID(local string) string {
	for _, u := range w.users {
		if len(u.Email) > len(local) && u.Email[:len(local)+1] == local+"@" {
			return u.ID
		}
	}
	return w.users[0].ID
}

// nullableID is an id as a field holds it: null when absent.
func nullableID(id string) any {
	if id == "" {
		return nil
	}
	return id
}

// rawJSON is v as a JSON or Array field holds it.
func rawJSON(v any) json.RawMessage {
	var b bytes.Buffer
	to := json.NewEncoder(&b)
	to.SetEscapeHTML(false)              // as the store keeps documents
	if err := to.Encode(v); err != nil { // only literals of this package come here
		panic(err)
	}
	return bytes.TrimSpace(b.Bytes())
}

func wholeUnits(n int64) decimal.Dec { return decimal.FromInt(n) }

// moneyCents is an amount in hundredths.
func moneyCents(cents int64) decimal.Dec { return decimal.Dec(cents * decimal.Scale / 100) }

// checkDigit completes the digits of a GS1 number.
func checkDigit(digits string) string {
	d, _ := gs1.CheckDigit(digits)
	return digits + string(d)
}
