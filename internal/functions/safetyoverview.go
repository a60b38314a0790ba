package functions

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/functions/output"
	"holdfast/internal/localtime"
	"holdfast/internal/mingroup"
	"holdfast/internal/query"
	"holdfast/internal/store"
)

// SafetyOverviewIn asks for the safety overview.
type SafetyOverviewIn struct {
	Months int64  `query:"months" default:"12" min:"1" max:"24" doc:"Calendar months."`
	SiteID string `query:"site_id" format:"uuid" doc:"Figures of one establishment; all when absent."`
}

// SafetyOverviewOut is the answer of safety-overview.
type SafetyOverviewOut struct {
	output.Kept
	SiteID   *string        `json:"site_id" format:"uuid" doc:"The establishment, null for all."`
	TimeZone string         `json:"timezone" doc:"The tenant's, in which the months are."`
	Months   []SafetyPeriod `json:"months" doc:"One by one, the current month last."`
	Window   SafetyPeriod   `json:"window" doc:"All of them together."`
	// Withheld is of hours and cases: they are for leaders; those of one establishment, and where fewer than min_group
	// people worked in a month, for those who read osha_cases.
	Withheld bool            `json:"work_withheld" doc:"Work is not for the caller: few people, or the role."`
	Waiting  WaitingOut      `json:"waiting" doc:"What wants somebody now."`
	Riskiest []RiskOut       `json:"riskiest" doc:"Five places and machines of the last official run; no people."`
	Recent   json.RawMessage `json:"recent_incidents" records:"incidents" doc:"The ten of the window reported last."`
}

// WaitingOut is what wants somebody now.
type WaitingOut struct {
	Today          string          `json:"today" format:"date" doc:"The tenant's."`
	MyOverdue      int64           `json:"my_overdue_actions" doc:"The caller's, open or in progress, past due_at."`
	Mine           json.RawMessage `json:"my_actions" records:"actions" doc:"The five that wait longest."`
	Investigations int64           `json:"investigations_due" doc:"Not concluded, due_on today or before."`
	Due            json.RawMessage `json:"investigations" records:"incidents" doc:"The five that wait longest."`
	Certificates   int64           `json:"certificates_ending" doc:"Ending up to certificates_until."`
	Until          string          `json:"certificates_until" format:"date" doc:"30 days from today."`
	Clocks         *ClocksOut      `json:"legal_clocks" doc:"Null for roles that do not lead."`
}

// Sizes of the safety overview.
const (
	waitingRows     = 5
	certificateDays = 30
)

// safetyOverview is what an overview's answer is made of.
type safetyOverview struct {
	out      *SafetyOverviewOut
	site     string
	now      time.Time
	found    bool // the establishment
	least    *mingroup.Least
	periods  []*period
	risks    []RiskOut
	mine     *store.List
	due      *store.List
	recent   *store.List
	maySites bool // of one site and of few people, cases may be counted for the caller
}

// safetyOverview answers safety-overview: what waits, and the months up to now, each from
// its first moment where the tenant is. A month counts reports by when they were reported,
// recordable cases by when they happened, and hours by when the shift began. What nothing
// is on record of is null, never 0.
func (d *dashboard) safetyOverview(ctx context.Context, a actor.Actor, in *SafetyOverviewIn) (
	*SafetyOverviewOut, error,
) {
	now := d.now().UTC().Truncate(time.Microsecond)
	o := &safetyOverview{site: in.SiteID, now: now, found: in.SiteID == "", maySites: d.readsCases(a),
		out: &SafetyOverviewOut{Kept: output.KeptOf(a.TenantID, now)}}
	if in.SiteID != "" {
		o.out.SiteID = &in.SiteID
	}
	guess, _ := d.places.Get(a.TenantID, now)
	place := "UTC"
	err := d.store.DB().Read(ctx, db.Scope{Tenant: a.TenantID}, func(plain *db.Tx) error {
		tx := d.store.In(plain, a)
		store.QueueZone(plain, a.TenantID, &place)
		o.queueSite(tx)
		o.queueAll(d, tx, in.Months, guess)
		if err := tx.Flush(); err != nil {
			return err
		}
		if localtime.Zone(place).String() != localtime.Zone(guess).String() {
			o.queueAll(d, tx, in.Months, place)
		}
		return tx.Flush()
	})
	if err != nil {
		return nil, err
	}
	if !o.found {
		return nil, fault.New(fault.NotFound, "", "there is no establishment %s", in.SiteID).At("site_id", "unknown")
	}
	d.places.Put(a.TenantID, place, now.Add(24*time.Hour))
	return o.finishOverview(a)
}

// readsCases reports a role that reads single cases.
func (d *dashboard) readsCases(a actor.Actor) bool {
	cases, known := d.store.Catalog().Get("osha_cases")
	return known && query.May(cases.Access.Read, a.Role)
}

func (o *safetyOverview) queueSite(tx *store.Tx) {
	if o.site == "" {
		return
	}
	tx.Queue(`
		SELECT id
		FROM sites
		WHERE tenant_id = $1
			AND id = $2`, []any{tx.TenantID, o.site}, func(*db.Row) error {
		o.found = true
		return nil
	})
}

// queueAll asks for everything, by the calendar of a place. What it asked for before is
// forgotten.
func (o *safetyOverview) queueAll(d *dashboard, tx *store.Tx, months int64, place string) {
	zone := localtime.Zone(place)
	o.out.TimeZone = zone.String()
	o.least = mingroup.Queue(tx.Tx, tx.TenantID)
	o.queuePeriods(d, tx, months, zone)
	o.queueRisks(tx)
	o.queueWaiting(d, tx, zone)
	o.recent = d.lists.Of(tx.Actor, "incidents")
	o.recent.Queue(tx, store.Page{Size: recent}, recentReports, "r.reported_at DESC, r.id DESC",
		o.periods[0].from, o.now, o.site)
}

// recentReports narrows a list of incidents to the reports of a window and an
// establishment: the one that the incident names, else that of its zone. $2 from, $3 to,
// $4 establishment, empty for all.
const recentReports = `
		AND r.reported_at >= $2
		AND r.reported_at <= $3
		AND r.status <> 'void'
		AND ($4 = '' OR CAST(coalesce(r.site_id, (
			SELECT zone.site_id
			FROM zones AS zone
			WHERE zone.tenant_id = $1
				AND zone.id = r.zone_id
		)) AS text) = $4)`

// myOverdueSQL counts the actions of an account that are late. $1 tenant, $2 account, $3
// now.
const myOverdueSQL = `
	SELECT COUNT(*)
	FROM actions
	WHERE tenant_id = $1
		AND assignee_user_id = $2
		AND status IN ('open', 'in_progress')
		AND due_at < $3`

// investigationsSQL counts investigations that are to be done. $1 tenant, $2 today.
const investigationsSQL = `
	SELECT COUNT(*)
	FROM incidents
	WHERE tenant_id = $1
		AND status IN ('reported', 'triaged', 'investigating')
		AND due_on <= $2`

// certificatesSQL counts certificates that end. $1 tenant, $2 and $3 first and last day.
const certificatesSQL = `
	SELECT COUNT(*)
	FROM training_assignments
	WHERE tenant_id = $1
		AND status = 'completed'
		AND expires_on >= $2
		AND expires_on <= $3`

// queueWaiting asks for what wants somebody. Every role that has the overview reads all
// incidents, actions and training, so counts need no policy beside the tenant's.
func (o *safetyOverview) queueWaiting(d *dashboard, tx *store.Tx, zone *time.Location) {
	today := localtime.DateOf(o.now, zone)
	o.out.Waiting = WaitingOut{Today: today.String(), Until: today.AddDays(certificateDays).String()}
	w := &o.out.Waiting
	count := func(sql string, into *int64, args ...any) {
		tx.Queue(sql, append([]any{tx.TenantID}, args...), func(r *db.Row) error {
			*into = r.Int(0)
			return nil
		})
	}
	page := store.Page{Size: waitingRows}
	o.mine, o.due = d.lists.Of(tx.Actor, "actions"), d.lists.Of(tx.Actor, "incidents")
	if tx.Actor.UserID != "" {
		count(myOverdueSQL, &w.MyOverdue, tx.Actor.UserID, o.now)
		o.mine.Queue(tx, page, ` AND r.assignee_user_id = $2
			AND r.status IN ('open', 'in_progress')
			AND r.due_at < $3`, "r.due_at, r.id", tx.Actor.UserID, o.now)
	}
	count(investigationsSQL, &w.Investigations, w.Today)
	o.due.Queue(tx, page, ` AND r.status IN ('reported', 'triaged', 'investigating')
		AND r.due_on <= $2`, "r.due_on, r.id", w.Today)
	count(certificatesSQL, &w.Certificates, w.Today, w.Until)
	w.Clocks = queueClocks(tx, tx.Actor, o.now)
}

// finishOverview is what is answered of all that was read.
func (o *safetyOverview) finishOverview(a actor.Actor) (*SafetyOverviewOut, error) {
	out := o.out
	out.Waiting.Mine, out.Waiting.Due, out.Recent = o.mine.JSON(), o.due.JSON(), o.recent.JSON()
	out.Riskiest = worstRisks(o.risks)
	out.Withheld = !o.showsWork(a)
	out.Window = newSafetyPeriod(o.periods[0].from, o.periods[len(o.periods)-1].until)
	var all work
	for _, p := range o.periods {
		m := &p.out
		out.Window.addPeriod(m)
		if !out.Withheld {
			all.addMonth(p.work)
			if err := m.fillWork(workOf(p.work)); err != nil {
				return nil, fmt.Errorf("functions: the work of a month: %w", err)
			}
		}
		m.fillShares()
		out.Months = append(out.Months, *m)
	}
	out.Window.IsPartial = true
	if !out.Withheld {
		if err := out.Window.fillWork(all); err != nil {
			return nil, fmt.Errorf("functions: the work of the months: %w", err)
		}
	}
	out.Window.fillShares()
	return out, nil
}
