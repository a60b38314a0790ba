package programme

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/functions/programme/wording"
	"holdfast/internal/job"
	"holdfast/internal/localtime"
	"holdfast/internal/query"
)

// digestHour is the local hour from which a day's digests are sent.
const digestHour = 6

// noticeDays are how many days before something runs out it is mentioned.
var noticeDays = [...]int{0, 1, 3, 7, 14, 30}

// digestRows bounds what one digest run reads of each kind: the oldest first.
const digestRows = 5000

// Mornings lists the active tenants whose digests of the local day are not
// made yet.
func (p *Programme) Mornings(ctx context.Context) (out []string, err error) {
	now := p.now().UTC()
	err = p.store.DB().Read(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
		out = nil
		made, err := job.LastKeys(tx, digestMark)
		if err != nil {
			return err
		}
		return tx.Query(`
			SELECT id, timezone
			FROM tenants
			WHERE status = 'active'
			ORDER BY id`, nil, func(r *db.Row) error {
			local := now.In(localtime.Zone(r.Text(1)))
			if local.Hour() >= digestHour && made[r.Text(0)] < dayKey(local) {
				out = append(out, r.Text(0))
			}
			return nil
		})
	})
	return out, err
}

func dayKey(local time.Time) string { return localtime.DateOf(local, local.Location()).String() }

// Digest writes, once a local day, one mail to each member for whom something
// is overdue or soon will be, and returns how many it wrote. A tenant's setting
// "digest" of false in section safety switches it off.
func (p *Programme) Digest(ctx context.Context, tenant string) (n int, err error) {
	err = p.write(ctx, serverActor(tenant), func(tx *db.Tx) error {
		n = 0
		st := queueSettings(tx, tenant)
		words := wording.QueueWords(tx, tenant)
		if err := tx.Flush(); err != nil {
			return err
		}
		local := p.now().In(localtime.Zone(st.place))
		first, err := job.Mark(tx, job.Job{Tenant: tenant, Kind: digestMark, Key: dayKey(local), Made: p.now()})
		if err != nil || !first || st.noDigest {
			return err
		}
		d := &digest{tenant: tenant, now: p.now().UTC(), local: local, lines: map[string]map[wording.Topic][]wording.Line{}}
		if err := d.gatherLines(tx); err != nil {
			return err
		}
		n, err = p.queueMemberMails(tx, d, *words, memberMail{kind: "digest", key: "digest:" + d.dateIn(0)})
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("programme: digest: %w", err)
	}
	return n, nil
}

// digest is what the members of a tenant have to be told.
type digest struct {
	tenant string
	now    time.Time
	local  time.Time
	people map[string]person // by user
	lines  map[string]map[wording.Topic][]wording.Line
}

type person struct {
	email string
	role  actor.Role
}

// addLine adds a line for a user; one who is no member, or nobody, is passed over
// for those who keep the programme.
func (d *digest) addLine(user string, t wording.Topic, l wording.Line) {
	if _, ok := d.people[user]; !ok {
		d.tellAll(t, l, actor.Safety)
		return
	}
	d.putLine(user, t, l)
}

// tellAll adds a line for everybody of some roles, or for the administrators
// where there is none.
func (d *digest) tellAll(t wording.Topic, l wording.Line, roles ...actor.Role) {
	found := false
	for user, p := range d.people {
		if slices.Contains(roles, p.role) {
			d.putLine(user, t, l)
			found = true
		}
	}
	if !found && !slices.Contains(roles, actor.Admin) {
		d.tellAll(t, l, actor.Admin, actor.Owner)
	}
}

func (d *digest) putLine(user string, t wording.Topic, l wording.Line) {
	if d.lines[user] == nil {
		d.lines[user] = map[wording.Topic][]wording.Line{}
	}
	if list := d.lines[user][t]; !slices.Contains(list, l) {
		d.lines[user][t] = append(list, l)
	}
}

// queueMembers asks for the members that have an address.
func queueMembers(tx *db.Tx, tenant string) map[string]person {
	people := map[string]person{}
	tx.Queue(`
		SELECT user_id, email, role
		FROM members
		WHERE tenant_id = $1
			AND status = 'active'
			AND email IS NOT NULL`, []any{tenant}, func(r *db.Row) error {
		people[r.Text(0)] = person{r.Text(1), actor.Role(r.Text(2))}
		return nil
	})
	return people
}

// gatherLines reads what there is to tell: a constant number of statements.
func (d *digest) gatherLines(tx *db.Tx) error {
	d.people = queueMembers(tx, d.tenant)
	if err := tx.Flush(); err != nil {
		return err
	}
	d.queueClocks(tx)
	d.queueActions(tx)
	d.queueRuns(tx)
	d.queueTraining(tx)
	d.queueService(tx)
	return tx.Flush()
}

func (d *digest) dateIn(days int) string { return d.date(d.now).AddDays(days).String() }

// date is the date where the tenant is at a moment.
func (d *digest) date(at time.Time) localtime.Date { return localtime.DateOf(at, d.local.Location()) }

// noticeDates are the days on which something that runs out is mentioned.
func (d *digest) noticeDates() string {
	var list []string
	for _, n := range noticeDays {
		list = append(list, d.dateIn(n))
	}
	return query.List(list)
}

// toldTitle is the title of an action in a mail: none where its incident is confidential, since
// mails go to people who do not read it. $1 tenant.
const toldTitle = `
	CASE WHEN EXISTS (
		SELECT 1
		FROM incidents
		WHERE incidents.tenant_id = $1
			AND incidents.id = actions.incident_id
			AND incidents.confidential)
	THEN '' ELSE actions.title END`

var openActionsSQL = db.FillWords(`
	SELECT action_no, {title}, due_at, assignee_user_id
	FROM actions
	WHERE tenant_id = $1 AND status IN ('open', 'in_progress') AND due_at <= $2
	ORDER BY due_at, id
	LIMIT %d`, "{title}", toldTitle)

var actionsToVerifySQL = db.FillWords(`
	SELECT action_no, {title}, completed_at, verifier_user_id, completed_by, assignee_user_id
	FROM actions
	WHERE tenant_id = $1 AND status = 'done'
	ORDER BY completed_at, id
	LIMIT %d`, "{title}", toldTitle)

var actionsToReviewSQL = db.FillWords(`
	SELECT action_no, {title}, review_on, verifier_user_id
	FROM actions
	WHERE tenant_id = $1 AND status = 'verified' AND effectiveness IS NULL AND review_on <= $2
	ORDER BY review_on, id
	LIMIT %d`, "{title}", toldTitle)

// nameAction is an action as a mail names it.
func nameAction(no, title string) string { return strings.TrimSpace(no + " " + title) }

func (d *digest) queueActions(tx *db.Tx) {
	tonight := d.date(d.now).End(d.local.Location())
	tx.Queue(fmt.Sprintf(openActionsSQL, digestRows),
		[]any{d.tenant, tonight}, func(r *db.Row) error {
			at, t := r.Time(2), wording.ActionsToday
			if at.Before(d.now) {
				t = wording.OverdueActions
			}
			d.addLine(r.Text(3), t, wording.Line{What: nameAction(r.Text(0), r.Text(1)), On: d.date(at).String()})
			return nil
		})
	tx.Queue(fmt.Sprintf(actionsToVerifySQL, digestRows),
		[]any{d.tenant}, func(r *db.Row) error {
			verifier := r.Text(3)
			if verifier == r.Text(4) || verifier == r.Text(5) {
				verifier = "" // who did it may not verify it
			}
			what, on := nameAction(r.Text(0), r.Text(1)), d.date(r.Time(2)).String()
			d.addLine(verifier, wording.ToVerify, wording.Line{What: what, On: on})
			return nil
		})
	tx.Queue(fmt.Sprintf(actionsToReviewSQL, digestRows),
		[]any{d.tenant, d.dateIn(0)}, func(r *db.Row) error {
			d.addLine(r.Text(3), wording.ToReview, wording.Line{What: nameAction(r.Text(0), r.Text(1)), On: r.Text(2)})
			return nil
		})
}

const missedRunsSQL = `
	SELECT title, due_at, assignee_user_id
	FROM checklist_runs
	WHERE tenant_id = $1 AND status = 'missed' AND due_at > $2 AND updated_at > $3
	ORDER BY due_at, id
	LIMIT %d`

// queueRuns asks for what was missed since the day before.
func (d *digest) queueRuns(tx *db.Tx) {
	tx.Queue(fmt.Sprintf(missedRunsSQL, digestRows),
		[]any{d.tenant, d.now.AddDate(0, 0, -9), d.now.Add(-24 * time.Hour)}, func(r *db.Row) error {
			l := wording.Line{What: r.Text(0), On: r.Time(1).In(d.local.Location()).Format("2006-01-02 15:04")}
			d.addLine(r.Text(2), wording.MissedRuns, l)
			d.tellAll(wording.MissedRuns, l, actor.Safety)
			return nil
		})
}

// overdueTrainingSQL lists people's training that is due before a day: $1 tenant,
// $2 the day.
const overdueTrainingSQL = `
	SELECT course.title, assignment.due_on, assignment.user_id
	FROM training_assignments AS assignment
	JOIN courses AS course ON course.tenant_id = assignment.tenant_id AND course.id = assignment.course_id
	WHERE assignment.tenant_id = $1
		AND assignment.user_id IS NOT NULL
		AND assignment.status IN ('assigned', 'in_progress', 'failed')
		AND assignment.due_on < $2
	ORDER BY assignment.due_on, assignment.id
	LIMIT %d`

// expiringTrainingSQL lists people's certificates that run out on some days and have
// no later one: $1 tenant, $2 the days.
const expiringTrainingSQL = `
	SELECT course.title, assignment.expires_on, assignment.user_id
	FROM training_assignments AS assignment
	JOIN courses AS course ON course.tenant_id = assignment.tenant_id AND course.id = assignment.course_id
	WHERE assignment.tenant_id = $1
		AND assignment.user_id IS NOT NULL
		AND assignment.status = 'completed'
		AND assignment.expires_on IN {texts $2}
		AND NOT EXISTS (
			SELECT 1
			FROM training_assignments AS later
			WHERE later.tenant_id = $1
				AND later.user_id = assignment.user_id
				AND later.course_id = assignment.course_id
				AND later.status = 'completed'
				AND (later.expires_on IS NULL OR later.expires_on > assignment.expires_on)
		)
	ORDER BY assignment.expires_on, assignment.id
	LIMIT %d`

const expiringLicencesSQL = `
	SELECT workers.user_id, workers.name, drivers.licence_class, drivers.licence_expires_on
	FROM drivers
	JOIN workers ON workers.tenant_id = drivers.tenant_id AND workers.id = drivers.worker_id
	WHERE drivers.tenant_id = $1
		AND drivers.archived_at IS NULL
		AND (drivers.licence_expires_on < $3 OR drivers.licence_expires_on IN {texts $2})
	ORDER BY drivers.licence_expires_on, drivers.id
	LIMIT %d`

func (d *digest) queueTraining(tx *db.Tx) {
	tx.Queue(fmt.Sprintf(overdueTrainingSQL, digestRows), []any{d.tenant, d.dateIn(0)}, func(r *db.Row) error {
		d.addPersonalLine(r.Text(2), wording.OverdueTraining, wording.Line{What: r.Text(0), On: r.Text(1)})
		return nil
	})
	tx.Queue(fmt.Sprintf(expiringTrainingSQL, digestRows), []any{d.tenant, d.noticeDates()}, func(r *db.Row) error {
		d.addPersonalLine(r.Text(2), wording.Expiring, wording.Line{What: r.Text(0), On: r.Text(1)})
		return nil
	})
	tx.Queue(fmt.Sprintf(expiringLicencesSQL, digestRows),
		[]any{d.tenant, d.noticeDates(), d.dateIn(0)}, func(r *db.Row) error {
			l := wording.Line{What: "Licence " + r.Text(2), On: r.Text(3)}
			d.addPersonalLine(r.Text(0), wording.Expiring, l)
			d.tellAll(wording.Expiring, wording.Line{What: r.Text(1) + ": " + l.What, On: l.On}, actor.Manager)
			return nil
		})
}

// addPersonalLine is for what concerns one person and nobody else.
func (d *digest) addPersonalLine(user string, t wording.Topic, l wording.Line) {
	if _, ok := d.people[user]; ok {
		d.putLine(user, t, l)
	}
}

const equipmentServiceSQL = `
	SELECT asset_no, name, service_due_on
	FROM equipment
	WHERE tenant_id = $1
		AND archived_at IS NULL
		AND status <> 'retired'
		AND (service_due_on < $3 OR service_due_on IN {texts $2})
	ORDER BY service_due_on, id`

const vehicleInspectionsSQL = `
	SELECT plate, kind, inspection_due_on
	FROM vehicles
	WHERE tenant_id = $1
		AND archived_at IS NULL
		AND status <> 'retired'
		AND (inspection_due_on < $3 OR inspection_due_on IN {texts $2})
	ORDER BY inspection_due_on, id`

// queueService asks for equipment and vehicles whose service or inspection is
// due or soon will be.
func (d *digest) queueService(tx *db.Tx) {
	for _, sql := range [...]string{equipmentServiceSQL, vehicleInspectionsSQL} {
		tx.Queue(fmt.Sprintf("%s LIMIT %d", sql, digestRows), []any{d.tenant, d.noticeDates(), d.dateIn(0)}, func(r *db.Row) error {
			what := r.Text(0)
			if r.Text(1) != "" {
				what += " " + r.Text(1)
			}
			d.tellAll(wording.Service, wording.Line{What: what, On: r.Text(2)}, actor.Manager, actor.Safety)
			return nil
		})
	}
}

// memberMail is a mail that each member gets with lines of his own: its kind, and
// the key that keeps it from being written twice. One that grows is sent so long after it was
// begun; until then what is written under its key takes its place.
type memberMail struct {
	kind, key string
	grows     time.Duration
}

// queueMemberMails writes a mail to each member for whom there is a line.
func (p *Programme) queueMemberMails(tx *db.Tx, d *digest, w wording.Wording, what memberMail) (int, error) {
	var mails []queuedMail
	users := make([]string, 0, len(d.lines))
	for user := range d.lines {
		users = append(users, user)
	}
	slices.Sort(users)
	for _, user := range users {
		m, err := w.DigestMail(d.lines[user], wording.Letterhead(p.hooks.Letterhead))
		if err != nil {
			return 0, err
		}
		m.To, m.Kind = d.people[user].email, what.kind
		mails = append(mails, queuedMail{tenant: d.tenant, key: what.key + ":" + user, at: d.now.Add(what.grows),
			mailPayload: mailPayload{Message: m, User: user}})
	}
	if err := queueMails(tx, mails); err != nil {
		return 0, err
	}
	if what.grows > 0 {
		if err := replaceMails(tx, mails); err != nil {
			return 0, err
		}
	}
	return len(users), tx.Flush()
}
