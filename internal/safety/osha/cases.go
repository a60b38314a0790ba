package osha

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/localtime"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/safety"
	"holdfast/internal/safety/absence"
	"holdfast/internal/safety/jurisdiction"
	"holdfast/internal/store"
)

// keepYears is how long after its year a case is kept: 29 CFR 1904.33(a).
const keepYears = 5

// changeCases completes cases, holds them to the rules and gives recordable
// ones their number.
func changeCases(tx *store.Tx, changes []store.Change) error {
	if err := checkKept(tx.Tx, tx.Now(), changes, "case"); err != nil {
		return err
	}
	return safety.PerTenant(writeCases)(tx, changes)
}

// checkKept refuses to delete a record before the end of the fifth year after its
// own, where the tenant is.
func checkKept(tx *db.Tx, now time.Time, changes []store.Change, what string) error {
	for _, c := range changes {
		if c.Op != store.Delete {
			continue
		}
		zone, err := tenantZone(tx, c.Before.Text("tenant_id"))
		if err != nil {
			return err
		}
		last := intField(c.Before, "year") + keepYears
		if int64(localtime.Year(now, localtime.Zone(zone))) <= last {
			return refuseEarly("29 CFR 1904.33(a)", "the %s is kept until the end of %d", what, last)
		}
	}
	return nil
}

func writeCases(tx *store.Tx, changes []store.Change) error {
	b, err := readBackground(tx, changes)
	if err != nil {
		return err
	}
	var unnumbered []record.OSHACase
	for _, c := range record.Changes[record.OSHACase](changes) {
		if err := b.completeCase(c, tx.Now()); err != nil {
			return err
		}
		if c.After.Recordable() == "yes" && (!c.After.HasCaseNo() || c.Op == store.Update && changedLog(c)) {
			unnumbered = append(unnumbered, c.After)
		}
	}
	return numberCases(tx.Tx, tx.TenantID, unnumbered)
}

// changedLog reports a case that went to another log.
func changedLog(c record.Change[record.OSHACase]) bool {
	return c.Before.SiteID() != c.After.SiteID() || c.Before.YearOrNull() != c.After.YearOrNull()
}

// background is what the rules look at beside the case itself.
type background struct {
	incidents map[string]record.Incident
	workers   map[string]record.Worker
	sites     map[string]record.Site
	absences  map[string][]absence.Period // by case
	zone      string                      // the tenant's time zone
}

func readBackground(tx *store.Tx, changes []store.Change) (*background, error) {
	incidents, workers, sites := map[string]bool{}, map[string]bool{}, map[string]bool{}
	var cases []string
	for _, c := range record.Changes[record.OSHACase](changes) {
		if c.Op == store.Update {
			cases = append(cases, c.After.ID())
		}
		addID(incidents, c.After.IncidentID())
		addID(workers, c.After.WorkerID())
		addID(sites, c.After.SiteID())
	}
	b := &background{}
	var err error
	if b.absences, err = absence.ListAbsences(tx.Tx, tx.TenantID, cases); err != nil {
		return nil, fmt.Errorf("osha: read absences: %w", err)
	}
	if b.incidents, err = byID[record.Incident](tx, incidents); err != nil {
		return nil, fmt.Errorf("osha: read incidents: %w", err)
	}
	if err := fillSites(tx, b.incidents); err != nil {
		return nil, err
	}
	for _, in := range b.incidents {
		addID(sites, in.SiteID())
	}
	if b.workers, err = byID[record.Worker](tx, workers); err != nil {
		return nil, fmt.Errorf("osha: read workers: %w", err)
	}
	if b.sites, err = byID[record.Site](tx, sites); err != nil {
		return nil, fmt.Errorf("osha: read sites: %w", err)
	}
	if b.zone, err = tenantZone(tx.Tx, tx.TenantID); err != nil {
		return nil, err
	}
	return b, nil
}

// fillSites gives incidents that name a zone alone the site where it lies.
func fillSites(tx *store.Tx, incidents map[string]record.Incident) error {
	ids := map[string]bool{}
	for _, in := range incidents {
		if !in.HasSiteID() {
			addID(ids, in.ZoneID())
		}
	}
	zones, err := byID[record.Zone](tx, ids)
	if err != nil {
		return fmt.Errorf("osha: read zones: %w", err)
	}
	for _, in := range incidents {
		if z := zones[in.ZoneID()]; !in.HasSiteID() && z != nil {
			in.SetSiteIDOrNull(z.SiteIDOrNull())
		}
	}
	return nil
}

func addID(set map[string]bool, id string) {
	if id != "" {
		set[id] = true
	}
}

func tenantZone(tx *db.Tx, tenant string) (zone string, err error) {
	store.QueueZone(tx, tenant, &zone)
	if err := tx.Flush(); err != nil {
		return "", fmt.Errorf("osha: read the time zone: %w", err)
	}
	return zone, nil
}

// establishmentZone is the time zone of an establishment; the tenant's where it has none.
func (b *background) establishmentZone(site string) *time.Location {
	if z := b.sites[site].Timezone(); z != "" {
		return localtime.Zone(z)
	}
	return localtime.Zone(b.zone)
}

// injuryDay is the day of a case's injury where it happened.
func (b *background) injuryDay(c record.OSHACase) time.Time {
	at := momentField(store.Row(b.incidents[c.IncidentID()]), occurredColumn)
	return localtime.DateOf(at, b.establishmentZone(c.SiteID())).UTC()
}

// completeCase fills what the server keeps and what other records know, then holds
// the case to the rules.
func (b *background) completeCase(ch record.Change[record.OSHACase], now time.Time) error {
	c := ch.After
	in := b.incidents[c.IncidentID()]
	if in == nil {
		return fault.New(fault.Conflict, "23503", "there is no incident %s", c.IncidentID()).At("incident_id",
			"names no incident")
	}
	if in.Status() == "void" && c.Recordable() == "yes" {
		return refuseRule("recordable", "29 CFR 1904.4(a)", "the report of the incident is void")
	}
	if c.SiteIDOrNull() == nil {
		c.SetSiteIDOrNull(in.SiteIDOrNull())
	}
	loc := b.establishmentZone(c.SiteID())
	injured := b.injuryDay(c)
	c.SetYear(int64(injured.Year()))
	b.fromWorker(c)
	if !c.HasIllnessType() && in.Kind() == "injury" {
		c.SetIllnessType("injury")
	}
	today := localtime.DateOf(now, loc).UTC()
	absences := b.absences[c.ID()]
	if err := checkMomentsOf(c, in, now); err != nil {
		return err
	}
	tally := absence.CountPeriods(absences, injured, today)
	if ch.Op == store.Update && safety.IsChanged(ch.Change, siteColumn) {
		if err := checkFollow(absences, injured, siteColumn); err != nil {
			return err
		}
	}
	if len(absences) == 0 {
		countDays(c, injured)
	} else if err := takeAbsences(ch, absences, tally); err != nil {
		return err
	}
	noteDecision(ch, in, now, loc)
	c.ClearOSHADueAt()
	isUnsupervised := IsUnsupervised(b.workers[c.WorkerID()])
	if due := DueAt(c, in, loc); !due.IsZero() && !isUnsupervised {
		c.SetOSHADueAt(query.FormatTime(due))
	}
	return Check(c, Facts{Kind: in.Kind(), Injured: injured, Today: today,
		Counted: len(absences) > 0, Expected: tally.Expected, IsUnsupervised: isUnsupervised})
}

func (b *background) fromWorker(c record.OSHACase) {
	w := b.workers[c.WorkerID()]
	if w == nil {
		return
	}
	for field, from := range map[string]string{"employee_name": "name", "job_title": "job_title", "hire_date": "hired_on"} {
		if c[field] == nil {
			c[field] = w[from]
		}
	}
}

// countDays counts periods that have both ends.
func countDays(c record.OSHACase, injured time.Time) {
	for _, p := range [...][3]string{{"days_away", "away_from", "away_until"}, {"days_restricted", "restricted_from", "restricted_until"}} {
		from, until := parseDay(store.Row(c).Text(p[1])), parseDay(store.Row(c).Text(p[2]))
		if !from.IsZero() && !until.IsZero() && !until.Before(from) {
			c[p[0]] = Days(injured, from, until)
		}
	}
}

// noteDecision notes when the case was decided, and whether that was in time.
func noteDecision(ch record.Change[record.OSHACase], in record.Incident, now time.Time, loc *time.Location) {
	c := ch.After
	if c.Recordable() == "undecided" {
		c.ClearEnteredAt()
		c.ClearEnteredLate()
		return
	}
	if c.HasEnteredAt() {
		return
	}
	c.SetEnteredAt(query.FormatTime(now))
	deadline := localtime.DateOf(momentField(store.Row(in), "reported_at"), loc).UTC().AddDate(0, 0, logDays)
	c.SetEnteredLate(localtime.DateOf(now, loc).UTC().After(deadline))
}

// logDays is how many calendar days there are to enter a case:
// 29 CFR 1904.29(b)(3).
const logDays = 7

// log names one log: an establishment and a year.
type log struct {
	site string
	year int64
}

// numberCases gives each case the next number of its log. The establishment's
// row is the lock: two cases never get one number.
func numberCases(tx *db.Tx, tenant string, cases []record.OSHACase) error {
	last := map[log]int64{}
	for _, c := range cases {
		l := log{c.SiteID(), c.Year()}
		if _, ok := last[l]; ok || l.site == "" {
			continue // the store names a missing establishment
		}
		tx.Queue(`
			SELECT id
			FROM sites
			WHERE tenant_id = $1
				AND id = $2
			{for update}`, []any{tenant, l.site},
			func(*db.Row) error { return nil })
		tx.Queue(`
			SELECT coalesce(MAX(case_no), 0)
			FROM osha_cases
			WHERE tenant_id = $1
				AND site_id = $2
				AND year = $3`, []any{tenant, l.site, l.year},
			func(r *db.Row) error {
				last[l] = r.Int(0)
				return nil
			})
		last[l] = 0
	}
	if err := tx.Flush(); err != nil {
		return fmt.Errorf("osha: number cases: %w", err)
	}
	for _, c := range cases {
		l := log{c.SiteID(), c.Year()}
		last[l]++
		c.SetCaseNo(last[l])
	}
	return nil
}

// guardIncidents keeps incidents and their cases in step: a recordable case's
// incident is neither void nor deleted, an injury or illness in the United States,
// or a critical one anywhere, is closed only when its case is decided, and what a
// case rests on is changed by the safety officer with a reason.
func guardIncidents(tx *store.Tx, changes []store.Change) error {
	return safety.PerTenant(guardEnded)(tx, changes)
}

const guardEndedSQL = `
	SELECT incident_id, recordable
	FROM osha_cases
	WHERE tenant_id = $1 AND incident_id IN {ids $2}`

func guardEnded(tx *store.Tx, changes []store.Change) error {
	var ended []record.Incident
	var ids []string
	for _, c := range record.Changes[record.Incident](changes) {
		ends := safety.Becomes(c.Change, "void") || safety.Becomes(c.Change, "closed")
		if ends {
			ended = append(ended, c.After)
		}
		if ends || findChangedLabel(c) != "" {
			ids = append(ids, c.After.ID())
		}
	}
	if len(ids) == 0 {
		return nil
	}
	decided := map[string]string{}
	tx.Queue(guardEndedSQL, []any{tx.TenantID, query.List(ids)}, func(r *db.Row) error {
		decided[r.Text(0)] = r.Text(1)
		return nil
	})
	l := queueLand(tx.Tx, tx.TenantID, ended)
	if err := tx.Flush(); err != nil {
		return fmt.Errorf("osha: look for cases: %w", err)
	}
	for _, c := range record.Changes[record.Incident](changes) {
		if field := findChangedLabel(c); field != "" {
			if err := checkLabels(tx.Actor, c, field, decided[c.After.ID()]); err != nil {
				return err
			}
		}
	}
	for _, in := range ended {
		if err := mayEnd(in, decided[in.ID()], l.isAmerican(in)); err != nil {
			return err
		}
	}
	return nil
}

// land says which of a tenant's places are in the United States.
type land struct {
	site, zone map[string]bool // by id; zones that name a site
	tenant     bool
}

// landOfTenantSQL selects whether a tenant is in the United States. $1 tenant.
var landOfTenantSQL = jurisdiction.FillStatement(`
	SELECT {is american}
	FROM tenants AS tenant
	LEFT JOIN sites AS site ON site.tenant_id = $1 AND FALSE
	WHERE tenant.id = $1`)

// landOfSitesSQL selects a tenant's sites in the United States. $1 tenant.
var landOfSitesSQL = jurisdiction.FillStatement(`
	SELECT site.id
	FROM sites AS site
	JOIN tenants AS tenant ON tenant.id = site.tenant_id
	WHERE site.tenant_id = $1
		AND {is american}`)

// landOfZonesSQL selects zones that name a site, and whether that is in the United
// States. $1 tenant, $2 ids of zones.
var landOfZonesSQL = jurisdiction.FillStatement(`
	SELECT zone.id, {is american}
	FROM zones AS zone
	JOIN sites AS site ON site.tenant_id = zone.tenant_id AND site.id = zone.site_id
	JOIN tenants AS tenant ON tenant.id = zone.tenant_id
	WHERE zone.tenant_id = $1
		AND zone.id IN {ids $2}`)

func queueLand(tx *db.Tx, tenant string, incidents []record.Incident) *land {
	l := &land{site: map[string]bool{}, zone: map[string]bool{}}
	zones := map[string]bool{}
	for _, in := range incidents {
		addID(zones, in.ZoneID())
	}
	tx.Queue(landOfTenantSQL, []any{tenant}, func(r *db.Row) error {
		l.tenant = r.Bool(0)
		return nil
	})
	tx.Queue(landOfSitesSQL, []any{tenant}, func(r *db.Row) error {
		l.site[r.Text(0)] = true
		return nil
	})
	tx.Queue(landOfZonesSQL, []any{tenant, query.List(slices.Sorted(maps.Keys(zones)))}, func(r *db.Row) error {
		l.zone[r.Text(0)] = r.Bool(1)
		return nil
	})
	return l
}

// isAmerican reports whether an incident happened in the United States: at its
// site, else at its zone's, else where the tenant is.
func (l *land) isAmerican(in record.Incident) bool {
	if site := in.SiteID(); site != "" {
		return l.site[site]
	}
	if us, known := l.zone[in.ZoneID()]; known {
		return us
	}
	return l.tenant
}

func mayEnd(in record.Incident, decided string, american bool) error {
	switch {
	case in.Status() == "void" && decided == "yes":
		return refuseEarly("29 CFR 1904.33(b)", "the incident has a recordable case: change the case first")
	case in.Status() == "closed" && (isCriticalUndecided(in, decided) ||
		isHurt(in) && (decided == "undecided" || decided == "" && american)):
		return refuseEarly("29 CFR 1904.29(b)(3)", "decide first whether the case is recordable (osha_cases)")
	}
	return nil
}
