// Package programme runs the safety programme: it scores entities, groups
// them, checks rules, assigns training and shows engagement. Each verb reads
// and writes sets, with a number of statements that does not depend on how many
// entities a tenant has.
//
// Layer: functions. Begin at [New].
package programme

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/audit"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/localtime"
	"holdfast/internal/mingroup"
	"holdfast/internal/safety"
	"holdfast/internal/score"
	"holdfast/internal/store"
)

// Programme is the verbs over one store. It is safe for concurrent use.
type Programme struct {
	store *store.Store
	now   func() time.Time
	hooks Hooks
	slot  chan struct{} // holds a token while a large tenant is worked for
	mu    sync.Mutex
	asked map[string]bool // large tenants with a request that runs or waits for its turn; under mu
}

// Letterhead is whose mails they are: what they call the product, and the
// address that they lead to.
type Letterhead struct{ Product, Site string }

// Hooks are told of what is written in bulk, past the store; each may be nil.
type Hooks struct {
	Letterhead
	// CanMail reports whether mails can be sent at all.
	CanMail func() bool
	// Changed hears after the commit which collections of a tenant changed.
	Changed func(tenant string, collections []string)
	// Tell hears in the transaction of new records that somebody may wait for:
	// assigned training, and verdicts that changed or are not compliant.
	Tell func(tx *db.Tx, resource string, rows []store.Row) error
	// Moved hears in the transaction of entities in another cluster than before.
	Moved func(tx *db.Tx, tenant string, moves []Move) error
	// Due hears in the transaction of days that come near.
	Due func(tx *db.Tx, tenant string, list []Deadline) error
}

// Move is an entity that came from one cluster into another.
type Move struct {
	ScoreID    string
	EntityType string
	EntityID   string
	UserID     string // whom a person's score is about, or ""
	From, To   string // names of clusters
}

// New returns the verbs over a store; now is the clock.
func New(s *store.Store, now func() time.Time, h Hooks) *Programme {
	if h.CanMail == nil {
		h.CanMail = func() bool { return true }
	}
	if h.Changed == nil {
		h.Changed = func(string, []string) {}
	}
	if h.Tell == nil {
		h.Tell = func(*db.Tx, string, []store.Row) error { return nil }
	}
	if h.Due == nil {
		h.Due = func(*db.Tx, string, []Deadline) error { return nil }
	}
	if h.Moved == nil {
		h.Moved = func(*db.Tx, string, []Move) error { return nil }
	}
	return &Programme{store: s, now: now, hooks: h, slot: make(chan struct{}, 1), asked: map[string]bool{}}
}

// seesPeople reports whether a role may see scores of single people; managers see
// the means of teams.
func seesPeople(r actor.Role) bool {
	return r == actor.Owner || r == actor.Admin || r == actor.Safety || r == actor.Service
}

// isPersonal reports the types of entity that are people.
func isPersonal(entityType string) bool {
	return entityType == score.Worker || entityType == score.Driver
}

// entityTypes are the entity types asked for; "" is all.
func entityTypes(asked string) []string {
	if asked != "" {
		return []string{asked}
	}
	return safety.EntityTypes[:]
}

// kindsWithin are the entity types asked for. Held against a bound of the
// caller's choice, what comes of a person's score would tell it.
func kindsWithin(a actor.Actor, asked string, bound bool) []string {
	list := entityTypes(asked)
	if bound && !seesPeople(a.Role) {
		list = slices.DeleteFunc(slices.Clone(list), isPersonal)
	}
	return list
}

// settings are the tenant's choices for the programme.
type settings struct {
	weights      score.Weights
	bounds       map[string]score.Bounds
	cuts         score.Cuts
	standard     map[string]float64 // units an hour that count as a workload of 1, by entity type
	off          []string           // types that are not scored
	within       bool               // what happens in the places within a zone counts for it
	minGroup     mingroup.Least     // people a team needs before a figure of it is shown
	dueDays      int64              // days until assigned training is due
	escalateDays int                // days overdue after which the next level is told; 0 is never
	keepDays     int64              // days that scores are kept
	points       safety.Points
	noDigest     bool
	place        string // time zone
}

// keepScoresDays is how long scores are kept unless the tenant says otherwise:
// a year, and a month to look back from; never less than leastKeepDays.
const (
	keepScoresDays = 396
	leastKeepDays  = 31
)

// standardUnits an hour: one a minute, until the tenant says what is usual.
const standardUnits = 60

func defaultSettings() *settings {
	s := &settings{weights: score.DefaultWeights(), bounds: map[string]score.Bounds{}, cuts: score.DefaultCuts(), standard: map[string]float64{},
		minGroup: mingroup.Default, dueDays: 30, keepDays: keepScoresDays, points: safety.DefaultPoints(), place: "UTC"}
	for _, t := range safety.EntityTypes {
		// The types of the list are the types that have bounds.
		s.bounds[t], _ = score.DefaultBounds(t)
		s.standard[t] = standardUnits
	}
	return s
}

// queueSettings asks for the tenant's settings; they are there after the next
// flush.
func queueSettings(tx *db.Tx, tenant string) *settings {
	s := defaultSettings()
	store.QueueZone(tx, tenant, &s.place)
	tx.Queue(`
		SELECT key, value
		FROM settings
		WHERE tenant_id = $1
			AND section IN ('scoring', 'engagement', 'safety')`, []any{tenant}, func(r *db.Row) error {
		s.setSetting(r.Text(0), []byte(r.Text(1)))
		return nil
	})
	return s
}

// setSetting takes one setting; a value of the wrong form leaves the default.
func (s *settings) setSetting(key string, value []byte) {
	if s.points.Set(key, string(value)) {
		return
	}
	number := map[string]*float64{
		"weight_incident": &s.weights.Incident, "weight_near_miss": &s.weights.NearMiss, "weight_shift_hours": &s.weights.ShiftHours, "weight_load": &s.weights.Load,
		"cut_medium": &s.cuts.Medium, "cut_high": &s.cuts.High, "cut_critical": &s.cuts.Critical,
	}[key]
	switch {
	case number != nil:
		takeJSON(value, number)
	case key == "standard_units_per_hour":
		takeJSON(value, &s.standard)
	case key == "score_bounds":
		takeJSON(value, &s.bounds)
	case key == "scores_off":
		takeJSON(value, &s.off)
	case key == "score_places_within":
		takeJSON(value, &s.within)
	case key == "min_group":
		s.minGroup.Set(value)
	case key == "score_retention_days":
		takeJSON(value, &s.keepDays)
	case key == "escalate_after_days":
		takeJSON(value, &s.escalateDays)
	case key == "digest":
		wanted := true
		takeJSON(value, &wanted)
		s.noDigest = !wanted
	case key == "training_due_days":
		takeJSON(value, &s.dueDays)
	}
}

func takeJSON[T any](value []byte, into *T) {
	v := *into
	if json.Unmarshal(value, &v) == nil {
		*into = v
	}
}

// timeZone is the place by which the tenant counts days.
func (s *settings) timeZone() *time.Location { return localtime.Zone(s.place) }

// repairSettings replaces weights, cuts and bounds that cannot be used by the shipped
// ones: a wrong setting must not stop the programme. Weights have the four
// decimals that the record of a model keeps.
func (s *settings) repairSettings() {
	for _, w := range [...]*float64{&s.weights.Incident, &s.weights.NearMiss, &s.weights.ShiftHours, &s.weights.Load} {
		*w = score.Round(*w, 4)
	}
	if _, err := score.NewWeighted(s.weights, s.bounds[score.Zone]); err != nil {
		s.weights = score.DefaultWeights()
	}
	if _, err := s.cuts.Bands(); err != nil {
		s.cuts = score.DefaultCuts()
	}
	s.keepDays = max(s.keepDays, leastKeepDays)
	for _, t := range safety.EntityTypes {
		if _, err := score.NewWeighted(score.DefaultWeights(), s.bounds[t]); err != nil {
			s.bounds[t], _ = score.DefaultBounds(t)
		}
		if !(s.standard[t] > 0) {
			s.standard[t] = standardUnits
		}
	}
}

// isScored reports whether entities of a type get scores.
func (s *settings) isScored(entityType string) bool { return !slices.Contains(s.off, entityType) }

// keepScored are those of some types that get scores: what was computed before a type
// was switched off has no consequences any more.
func (s *settings) keepScored(types []string) []string {
	return slices.DeleteFunc(slices.Clone(types), func(t string) bool { return !s.isScored(t) })
}

// lockTenant keeps the verbs of one tenant from running into each other until the
// transaction ends, from the next flush on. SQLite has one writer.
func lockTenant(tx *db.Tx, tenant string) {
	if tx.DB().ForUpdate() != "" {
		tx.Queue("SELECT id FROM tenants WHERE id = $1 {for update}", []any{tenant}, nil)
	}
}

func (p *Programme) read(ctx context.Context, a actor.Actor, fn func(*db.Tx) error) error {
	return p.store.DB().Read(ctx, db.Scope{Tenant: a.TenantID}, fn)
}

func (p *Programme) write(ctx context.Context, a actor.Actor, fn func(*db.Tx) error) error {
	return p.store.DB().Write(ctx, db.Scope{Tenant: a.TenantID}, fn)
}

func (p *Programme) resource(name string) (*catalog.Resource, error) {
	r, ok := p.store.Catalog().Get(name)
	if !ok {
		return nil, fmt.Errorf("programme: the catalog has no %s", name)
	}
	return r, nil
}

// insertRows writes rows through the store.
func (p *Programme) insertRows(tx *db.Tx, a actor.Actor, name string, rows []store.Row) ([]store.Row, error) {
	r, err := p.resource(name)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return p.store.In(tx, a).InsertRows(r.Name, rows)
}

// writeAudit notes a verb that wrote in bulk.
func (p *Programme) writeAudit(tx *db.Tx, a actor.Actor, action string, details any) {
	audit.Write(tx, audit.Entry{Tenant: a.TenantID, At: p.now(), By: a, Action: action, Details: details})
}

// notFound is the answer for an entity that the tenant does not have.
func notFound(what, id string) error {
	if what == "" {
		what = "entity"
	}
	return fault.New(fault.NotFound, "", "there is no %s %s", what, id).At("entity_id", "is not known")
}

// windowOf is (now - days x 24 h, now].
func windowOf(now time.Time, days int64) (from, to time.Time) {
	return now.Add(-time.Duration(days) * 24 * time.Hour), now
}
