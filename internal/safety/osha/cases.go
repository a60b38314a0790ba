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
	var unnumbered []store.Row
	for _, c := range changes {
		if err := b.completeCase(c, tx.Now()); err != nil {
			return err
		}
		if c.After.Text("recordable") == "yes" && (c.After["case_no"] == nil || c.Op == store.Update && changedLog(c)) {
			unnumbered = append(unnumbered, c.After)
		}
	}
	return numberCases(tx.Tx, tx.TenantID, unnumbered)
}

// changedLog reports a case that went to another log.
func changedLog(c store.Change) bool {
	return c.Before["site_id"] != c.After["site_id"] || c.Before["year"] != c.After["year"]
}

// background is what the rules look at beside the case itself.
type background struct {
	incidents, workers, sites map[string]store.Row
	absences                  map[string][]absence.Period // by case
	zone                      string                      // the tenant's time zone
}

func readBackground(tx *store.Tx, changes []store.Change) (*background, error) {
	incidents, workers, sites := map[string]bool{}, map[string]bool{}, map[string]bool{}
	var cases []string
	for _, c := range changes {
		if c.Op == store.Update {
			cases = append(cases, c.After.Text(idColumn))
		}
		addID(incidents, c.After.Text("incident_id"))
		addID(workers, c.After.Text("worker_id"))
		addID(sites, c.After.Text("site_id"))
	}
	b := &background{}
	var err error
	if b.absences, err = absence.ListAbsences(tx.Tx, tx.TenantID, cases); err != nil {
		return nil, fmt.Errorf("osha: read absences: %w", err)
	}
	if b.incidents, err = byID(tx, "incidents", incidents); err != nil {
		return nil, fmt.Errorf("osha: read incidents: %w", err)
	}
	if err := fillSites(tx, b.incidents); err != nil {
		return nil, err
	}
	for _, in := range b.incidents {
		addID(sites, in.Text("site_id"))
	}
	if b.workers, err = byID(tx, "workers", workers); err != nil {
		return nil, fmt.Errorf("osha: read workers: %w", err)
	}
	if b.sites, err = byID(tx, "sites", sites); err != nil {
		return nil, fmt.Errorf("osha: read sites: %w", err)
	}
	if b.zone, err = tenantZone(tx.Tx, tx.TenantID); err != nil {
		return nil, err
	}
	return b, nil
}

// fillSites gives incidents that name a zone alone the site where it lies.
func fillSites(tx *store.Tx, incidents map[string]store.Row) error {
	ids := map[string]bool{}
	for _, in := range incidents {
		if in["site_id"] == nil {
			addID(ids, in.Text("zone_id"))
		}
	}
	zones, err := byID(tx, "zones", ids)
	if err != nil {
		return fmt.Errorf("osha: read zones: %w", err)
	}
	for _, in := range incidents {
		if z := zones[in.Text("zone_id")]; in["site_id"] == nil && z != nil {
			in["site_id"] = z["site_id"]
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
	if z := b.sites[site].Text("timezone"); z != "" {
		return localtime.Zone(z)
	}
	return localtime.Zone(b.zone)
}

// injuryDay is the day of a case's injury where it happened.
func (b *background) injuryDay(c store.Row) time.Time {
	at := momentField(b.incidents[c.Text("incident_id")], occurredColumn)
	return localtime.DateOf(at, b.establishmentZone(c.Text(siteColumn))).UTC()
}

// completeCase fills what the server keeps and what other records know, then holds
// the case to the rules.
func (b *background) completeCase(ch store.Change, now time.Time) error {
	c := ch.After
	in := b.incidents[c.Text("incident_id")]
	if in == nil {
		return fault.New(fault.Conflict, "23503", "there is no incident %s", c.Text("incident_id")).At("incident_id", "names no incident")
	}
	if in.Text("status") == "void" && c.Text("recordable") == "yes" {
		return refuseRule("recordable", "29 CFR 1904.4(a)", "the report of the incident is void")
	}
	if c["site_id"] == nil {
		c["site_id"] = in["site_id"]
	}
	loc := b.establishmentZone(c.Text("site_id"))
	injured := b.injuryDay(c)
	c["year"] = int64(injured.Year())
	b.fromWorker(c)
	if c["illness_type"] == nil && in.Text("kind") == "injury" {
		c["illness_type"] = "injury"
	}
	today := localtime.DateOf(now, loc).UTC()
	absences := b.absences[c.Text(idColumn)]
	if err := checkMomentsOf(c, in, now); err != nil {
		return err
	}
	tally := absence.CountPeriods(absences, injured, today)
	if ch.Op == store.Update && safety.IsChanged(ch, siteColumn) {
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
	c["osha_due_at"] = nil
	isUnsupervised := IsUnsupervised(b.workers[c.Text("worker_id")])
	if due := DueAt(c, in, loc); !due.IsZero() && !isUnsupervised {
		c["osha_due_at"] = query.FormatTime(due)
	}
	return Check(c, Facts{Kind: in.Text("kind"), Injured: injured, Today: today,
		Counted: len(absences) > 0, Expected: tally.Expected, IsUnsupervised: isUnsupervised})
}

func (b *background) fromWorker(c store.Row) {
	w := b.workers[c.Text("worker_id")]
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
func countDays(c store.Row, injured time.Time) {
	for _, p := range [...][3]string{{"days_away", "away_from", "away_until"}, {"days_restricted", "restricted_from", "restricted_until"}} {
		from, until := parseDay(c.Text(p[1])), parseDay(c.Text(p[2]))
		if !from.IsZero() && !until.IsZero() && !until.Before(from) {
			c[p[0]] = Days(injured, from, until)
		}
	}
}

// noteDecision notes when the case was decided, and whether that was in time.
func noteDecision(ch store.Change, in store.Row, now time.Time, loc *time.Location) {
	c := ch.After
	if c.Text("recordable") == "undecided" {
		c["entered_at"], c["entered_late"] = nil, nil
		return
	}
	if c["entered_at"] != nil {
		return
	}
	c["entered_at"] = query.FormatTime(now)
	deadline := localtime.DateOf(momentField(in, "reported_at"), loc).UTC().AddDate(0, 0, logDays)
	c["entered_late"] = localtime.DateOf(now, loc).UTC().After(deadline)
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
func numberCases(tx *db.Tx, tenant string, cases []store.Row) error {
	last := map[log]int64{}
	for _, c := range cases {
		l := log{c.Text("site_id"), intField(c, "year")}
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
		l := log{c.Text("site_id"), intField(c, "year")}
		last[l]++
		c["case_no"] = last[l]
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
	var ended []store.Row
	var ids []string
	for _, c := range changes {
		ends := safety.Becomes(c, "void") || safety.Becomes(c, "closed")
		if ends {
			ended = append(ended, c.After)
		}
		if ends || findChangedLabel(c) != "" {
			ids = append(ids, c.After.Text(idColumn))
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
	for _, c := range changes {
		if field := findChangedLabel(c); field != "" {
			if err := checkLabels(tx.Actor, c, field, decided[c.After.Text(idColumn)]); err != nil {
				return err
			}
		}
	}
	for _, in := range ended {
		if err := mayEnd(in, decided[in.Text("id")], l.isAmerican(in)); err != nil {
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

func queueLand(tx *db.Tx, tenant string, incidents []store.Row) *land {
	l := &land{site: map[string]bool{}, zone: map[string]bool{}}
	zones := map[string]bool{}
	for _, in := range incidents {
		addID(zones, in.Text("zone_id"))
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
func (l *land) isAmerican(in store.Row) bool {
	if site := in.Text("site_id"); site != "" {
		return l.site[site]
	}
	if us, known := l.zone[in.Text("zone_id")]; known {
		return us
	}
	return l.tenant
}

func mayEnd(in store.Row, decided string, american bool) error {
	switch {
	case in.Text("status") == "void" && decided == "yes":
		return refuseEarly("29 CFR 1904.33(b)", "the incident has a recordable case: change the case first")
	case in.Text("status") == "closed" && (isCriticalUndecided(in, decided) ||
		isHurt(in) && (decided == "undecided" || decided == "" && american)):
		return refuseEarly("29 CFR 1904.29(b)(3)", "decide first whether the case is recordable (osha_cases)")
	}
	return nil
}
