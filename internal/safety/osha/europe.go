package osha

import (
	"context"
	"fmt"
	"strings"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/audit"
	"holdfast/internal/db"
	"holdfast/internal/localtime"
	"holdfast/internal/record"
	"holdfast/internal/store"
)

// Bounds of the European lists in days of absence: more than three
// (89/391/EEC art. 9(1)(c)); for statistics at least four full days
// (Regulation (EU) 349/2011, ESAW). The day of the accident counts for neither, days
// are calendar days, and neither stops counting where OSHA does.
const europeDays = 4

var accidentColumns = []string{"case_id", "incident_no", "date", "time", "employee", "job_title", "workplace", "description", "days_away", "fatal"}

// Accidents is the list of accidents at work with more than three days of
// absence, or death, that an employer in the Union keeps (89/391/EEC
// art. 9(1)(c)). Privacy cases show no name.
func (b *Books) Accidents(ctx context.Context, a actor.Actor, p Pick) (*Sheet, error) {
	rows, err := b.readAbsences(ctx, a, p)
	if err != nil {
		return nil, err
	}
	sheet := &Sheet{Header: accidentColumns}
	for _, r := range rows {
		c := r.Case
		sheet.Rows = append(sheet.Rows,
			[]string{c.ID(), r.Incident.IncidentNo(),
				r.book.Injured(r.Entry).Format("2006-01-02"), r.book.Time(r.Entry), Name(c), c.JobTitle(),
				c.WhereOccurred(), Description(c), formatWhole(r.Days.ToDate.Away), formatBit(c.Outcome() == "death")})
	}
	return sheet.guardTexts(), nil
}

// longAbsencesSQL is the condition of injuries that may be on a list: whether those with
// absences are is known once these are counted.
const longAbsencesSQL = `
	year = $2
		AND ($3 = '' OR CAST(site_id AS text) = $3)
		AND illness_type = 'injury'
		AND (
			days_away >= $4
			OR outcome = 'death'
			OR EXISTS (
				SELECT 1
				FROM absences
				WHERE absences.tenant_id = $1
					AND absences.case_id = osha_cases.id
			)
		)
	ORDER BY id`

// readAbsences reads the injuries of a year with at least four days away, or death,
// at one establishment or at all.
func (b *Books) readAbsences(ctx context.Context, a actor.Actor, p Pick) ([]accident, error) {
	if err := b.checkMayRead(a, "osha_cases"); err != nil {
		return nil, err
	}
	var out []accident
	err := b.store.DB().Read(ctx, store.Scope(a), func(tx *db.Tx) error {
		zone, err := tenantZone(tx, a.TenantID)
		if err != nil {
			return err
		}
		cases, err := record.List[record.OSHACase](b.store.In(tx, a), longAbsencesSQL, p.Year, p.Site, europeDays)
		if err != nil {
			return err
		}
		entries, err := b.readEntries(tx, a, cases)
		if err != nil {
			return err
		}
		ids := map[string]bool{}
		for _, c := range cases {
			addID(ids, c.SiteID())
		}
		sites, err := byID[record.Site](b.store.In(tx, actor.Actor{TenantID: a.TenantID}), ids)
		if err != nil {
			return err
		}
		bg := &background{sites: sites, zone: zone}
		bookOf := func(e Entry) *Book {
			site := e.Case.SiteID()
			return &Book{Site: sites[site], Year: p.Year, Place: bg.establishmentZone(site)}
		}
		err = countEntries(tx, a.TenantID, entries, func(e Entry) (time.Time, time.Time) {
			book := bookOf(e)
			return book.Injured(e), localtime.DateOf(b.store.Now(), book.Place).UTC()
		})
		if err != nil {
			return err
		}
		for _, e := range entries {
			if e.Incident.Status() != "void" && (e.Days.ToDate.Away >= europeDays || e.Case.Outcome() == "death") {
				out = append(out, accident{Entry: e, book: bookOf(e)})
			}
		}
		return b.fillVictims(tx, a, out)
	})
	if err != nil {
		return nil, wrapReadError(err)
	}
	return out, nil
}

// Audit notes that somebody took a form or file out of the log.
func (b *Books) Audit(ctx context.Context, a actor.Actor, what string, p Pick) error {
	note := audit.Entry{Tenant: a.TenantID, At: b.store.Now(), By: a, Action: "export." + strings.TrimPrefix(what, "/v1/"),
		Details: map[string]any{"site_id": p.Site, "year": p.Year}}
	err := b.store.DB().Write(ctx, store.Scope(a), func(tx *db.Tx) error {
		audit.Write(tx, note)
		return nil
	})
	if err != nil {
		return fmt.Errorf("osha: note the export: %w", err)
	}
	return nil
}

// ThisYear is the local year at an actor's tenant.
func (b *Books) ThisYear(ctx context.Context, a actor.Actor) (int64, error) {
	year := int64(0)
	err := b.store.DB().Read(ctx, store.Scope(a), func(tx *db.Tx) error {
		zone, err := tenantZone(tx, a.TenantID)
		year = int64(localtime.Year(b.store.Now(), localtime.Zone(zone)))
		return err
	})
	return year, err
}
