package osha

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/record"
)

// esawColumns are the variables of Regulation (EU) No 349/2011, annex, in the
// words of the methodology, behind what tells the reader which row it is.
var esawColumns = []string{"case_number", "local_unit", "country", "economic_activity", "occupation", "age", "sex", "nationality",
	"employment_status", "size_of_enterprise", "geographical_location",
	"date_of_accident", "time_of_accident", "type_of_injury", "part_of_body_injured", "days_lost", "workstation", "working_environment", "working_process",
	"specific_physical_activity", "material_agent_of_activity", "deviation", "material_agent_of_deviation", "contact_mode_of_injury", "material_agent_of_contact"}

// Codes of the methodology for what is not known.
const (
	unknownDigit  = "9"     // sex, size
	unknownPair   = "99"    // age, hour
	notSpecified  = "0"     // nationality, workstation
	noInformation = "00"    // part of the body, process, activity, deviation, contact
	unspecified   = "000"   // type of injury, working environment, employment status
	unknownAgent  = "00.02" // material agents
)

// deviations and contacts are what an incident's categories say of how it came
// about, as groups of the methodology's classifications. What a category leaves
// open is not guessed.
var (
	deviations = map[string]string{"electrical": "10", "fall_height": "51", "slip_trip": "52", "manual_handling": "70", "violence": "80"}
	contacts   = map[string]string{"electrical": "10", "chemical": "10", "fall_height": "31", "struck_by": "40", "caught_in": "60", "manual_handling": "70"}
)

// ESAW is the list behind European statistics on accidents at work, one row for
// each, without names. Source of the variables: Regulation (EU) No 349/2011; of
// the codes: Eurostat, European Statistics on Accidents at Work (ESAW), Summary
// methodology, 2013 edition. Economic activity is NACE Rev. 2, occupation ISCO-08
// and place NUTS, each as the record has it, or empty. Sex is 1 male, 2 female;
// the size is that of the local unit on the day: 1 from one employee, 2 from 10,
// 3 from 50, 4 from 250, 5 from 500. Days lost are 004 to 182, 997 from 183 on, and
// 998 for a fatal accident. Type of injury, part of the body, deviation and contact are
// the case's codes; without those the last two follow from the incident's categories.
// Nationality, workstation, environment, process, activity and material agents are in no
// record: their codes say so.
func (b *Books) ESAW(ctx context.Context, a actor.Actor, p Pick) (*Sheet, error) {
	rows, err := b.readAbsences(ctx, a, p)
	if err != nil {
		return nil, err
	}
	sheet := &Sheet{Header: esawColumns}
	for _, r := range rows {
		sheet.Rows = append(sheet.Rows, r.esawRow())
	}
	return sheet.guardTexts(), nil
}

// accident is one with the site it happened at and the worker it
// happened to.
type accident struct {
	Entry
	book   *Book
	worker record.Worker // nil when no record is named
	staff  int           // people employed at the site on the day
}

func (r accident) esawRow() []string {
	c, site := r.Case, r.book.Site
	day := r.book.Injured(r.Entry)
	hour, lost := unknownPair, lostDays(r.Days.ToDate.Away)
	if at := r.book.Time(r.Entry); at != "" {
		hour = at[:2]
	}
	if c.Outcome() == "death" {
		lost = "998"
	}
	tags := r.incidentCategories()
	return []string{r.Incident.IncidentNo(), site.Name(), site.Country(), site.NACE(), r.worker.ISCO(), r.ageInYears(),
		knownCode(map[string]string{"M": "1", "F": "2"}, unknownDigit,
			c.Sex()), notSpecified, knownCode(map[string]string{"employee": "300",
			"agency": "300"}, unspecified, r.worker.Employment()),
		sizeClass(r.staff), site.Nuts(), day.Format("20060102"), hour,
		cmp.Or(c.InjuryType(), unspecified), cmp.Or(c.BodyPart(), noInformation),
		lost, notSpecified, unspecified, noInformation, noInformation, unknownAgent,
		cmp.Or(c.Deviation(), knownCode(deviations, noInformation, tags...)), unknownAgent,
		cmp.Or(c.ContactMode(), knownCode(contacts, noInformation, tags...)), unknownAgent}
}

// longestLost is the most days that a number of days lost stands for; more are as a
// permanent incapacity.
const longestLost = 182

func lostDays(n int64) string {
	if n > longestLost {
		return "997"
	}
	return fmt.Sprintf("%03d", n)
}

// ageInYears is in completed years, of two digits.
func (r accident) ageInYears() string {
	day, born := r.book.Injured(r.Entry), parseDay(r.Case.BirthDate())
	if born.IsZero() {
		return unknownPair
	}
	n := day.Year() - born.Year()
	if born.AddDate(n, 0, 0).After(day) {
		n--
	}
	return fmt.Sprintf("%02d", min(n, 98))
}

// incidentCategories are the incident's, in the order in which they were given.
func (r accident) incidentCategories() (tags []string) {
	raw := r.Incident.CategoryTags()
	_ = json.Unmarshal(raw, &tags) // the store keeps an array of strings
	return tags
}

// knownCode is the code of the first word that has one, else the code for none.
func knownCode(codes map[string]string, none string, words ...string) string {
	for _, w := range words {
		if c := codes[w]; c != "" {
			return c
		}
	}
	return none
}

func sizeClass(staff int) string {
	switch {
	case staff >= 500:
		return "5"
	case staff >= 250:
		return "4"
	case staff >= 50:
		return "3"
	case staff >= 10:
		return "2"
	case staff >= 1:
		return "1"
	}
	return unknownDigit
}

const fillVictimsSQL = `
	SELECT site_id, hired_on, left_on
	FROM workers
	WHERE tenant_id = $1
		AND site_id IS NOT NULL
		AND employment <> 'contractor'
		AND (status <> 'left' OR left_on IS NOT NULL)`

// fillVictims finds the workers of accidents, and how many people the site employed
// that day. A worker without a date of hire has always been there; one who has left
// on a day that nobody wrote down was there on none.
func (b *Books) fillVictims(tx *db.Tx, a actor.Actor, list []accident) error {
	ids := map[string]bool{}
	for _, r := range list {
		addID(ids, r.Case.WorkerID())
	}
	workers, err := byID[record.Worker](b.store.In(tx, actor.Actor{TenantID: a.TenantID}), ids)
	if err != nil || len(list) == 0 {
		return err
	}
	for i := range list {
		list[i].worker = workers[list[i].Case.WorkerID()]
	}
	return tx.Query(fillVictimsSQL, []any{a.TenantID}, func(row *db.Row) error {
		for i, r := range list {
			day := r.book.Injured(r.Entry).Format("2006-01-02")
			if r.Case.SiteID() == row.Text(0) && row.Text(1) <= day && (row.Null(2) || row.Text(2) >= day) {
				list[i].staff++
			}
		}
		return nil
	})
}
