package clocks

import (
	"encoding/json"
	"fmt"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/store"
)

// Resource is the collection of clocks.
const Resource = "legal_clocks"

// Columns of the collection.
const (
	idColumn       = "id"
	codeColumn     = "code"
	incidentColumn = "incident_id"
	siteColumn     = "site_id"
	startsColumn   = "starts_at"
	dueColumn      = "due_at"
	skippedColumn  = "skipped_days"
	stateColumn    = "state"
	metColumn      = "met_at"
	proofColumn    = "proof_ref"
	reasonColumn   = "reason"
	lapsedColumn   = "lapsed"
	toldColumn     = "osha_told_at" // of a case
)

// States of a clock.
const (
	running     = "running"
	met         = "met"
	late        = "late"
	notRequired = "not_required"
)

// Why the server says that a clock is not required.
const (
	voidWords    = "the report of the incident is void"
	factsWords   = "the facts on record do not ask for it, or no longer"
	reservedTime = "the time in which reservations could be sent has passed"
)

// engineKey names the server where it moves clocks; what it writes is no act of a person.
const engineKey = "legal-clocks"

func isEngine(a actor.Actor) bool { return a.KeyID == engineKey }

func engineOf(tenant string) actor.Actor {
	return actor.Actor{Role: actor.Service, TenantID: tenant, KeyID: engineKey}
}

// plan is what becomes of the clocks of some incidents.
type plan struct {
	inserts, updates []record.LegalClock
	since            time.Time // what had ended before is not started; zero: all is
}

// Refresh works out the clocks of incidents by what is on record of them now: it starts
// those that are new, moves those whose facts moved, and says of those that nothing asks
// for any more that they are not required.
func Refresh(tx *store.Tx, incidents []string) error { return refreshSince(tx, incidents, time.Time{}) }

// tooOld is how long after its end a clock is no longer started by the calendar.
const tooOld = 30 * 24 * time.Hour

// CatchUp is Refresh where nobody said anything of the incidents: it starts no clock whose
// end is long past, unless somebody was away or at restricted work since. So the history
// that an import brings, or a site's country, is no flood of duties that were done before
// records were kept here.
func CatchUp(tx *store.Tx, incidents []string) error {
	return refreshSince(tx, incidents, tx.Now().Add(-tooOld))
}

func refreshSince(tx *store.Tx, incidents []string, since time.Time) error {
	r, err := readRecords(tx, incidents)
	if err != nil {
		return fmt.Errorf("clocks: read what clocks rest on: %w", err)
	}
	p := &plan{since: since}
	for id := range r.incidents {
		if err := p.compareClocks(r, id, tx.Now()); err != nil {
			return err
		}
	}
	if _, err := record.Insert(tx, p.inserts); err != nil {
		return fmt.Errorf("clocks: start clocks: %w", err)
	}
	if err := tx.As(engineOf(tx.TenantID)).UpdateEach(Resource, record.Rows(p.updates)); err != nil {
		return fmt.Errorf("clocks: move clocks: %w", err)
	}
	return nil
}

// compareClocks holds the clocks that are kept of an incident against those that run.
func (p *plan) compareClocks(r *records, incident string, now time.Time) error {
	kept := r.clocks[incident]
	closing := factsWords
	var wanted []Clock
	since := p.since
	in := r.incidents[incident]
	if in.Status() == "void" {
		closing = voidWords
	} else if isHealth(in.Kind()) {
		f := r.factsOf(incident, now)
		wanted = Running(f)
		if f.LastUnfitDay().After(since) {
			since = time.Time{} // an eighth of the days may begin a clock that ended before
		}
	}

	told := noticesOf(wanted, r.cases[incident].OSHAToldAtOrNull(), kept)
	seen := map[string]bool{}
	for _, c := range wanted {
		if c.Unit == NoPeriod {
			continue // the case itself is the record
		}
		seen[c.Code] = true
		row, err := rowOf(c, incident, r.siteOf(incident))
		if err != nil {
			return err
		}
		if c.Country == "US" {
			row.SetMetAtOrNull(told[c.Code])
		}
		if old := kept[c.Code]; old != nil {
			p.moveClock(old, row, now)
		} else if !c.Due.Before(since) {
			row.SetState(stateOf(row))
			if isOptionOver(row, now) {
				row.SetState(notRequired)
				row.SetReason(reservedTime)
				row.SetLapsed(true)
			}
			p.inserts = append(p.inserts, row)
		}
	}
	for code, old := range kept {
		if !seen[code] && isOpen(old, r.cases[incident]) {
			set := record.LegalClock{idColumn: old.ID(), stateColumn: notRequired, reasonColumn: closing,
				lapsedColumn: true}
			if isAmerican(code) {
				set.ClearMetAt()
			}
			p.updates = append(p.updates, set)
		}
	}
	return nil
}

// noticesOf is when OSHA was told of what each of its clocks is about, by code; nil where
// it was not. A case holds one moment for all its notices: one from before a clock began
// was about something else, and the notice of a death takes nothing from an earlier one of
// the treatment, which its clock has kept.
func noticesOf(wanted []Clock, told any, kept map[string]record.LegalClock) map[string]any {
	out := map[string]any{}
	at, _ := told.(string)
	for _, c := range wanted {
		if c.Country == "US" && at >= query.FormatTime(c.Starts) {
			out[c.Code] = told
		}
	}
	before := kept[OSHATreatment].MetAt()
	if before != "" && out[OSHADeath] != nil && before < startsOf(wanted, OSHADeath) {
		out[OSHATreatment] = before
	}
	return out
}

// startsOf is when the clock of a code starts, as it is stored.
func startsOf(wanted []Clock, code string) string {
	for _, c := range wanted {
		if c.Code == code {
			return query.FormatTime(c.Starts)
		}
	}
	return ""
}

// isOpen reports a clock of which nothing was said: what was done stays done. OSHA's
// follows its case.
func isOpen(old record.LegalClock, osha record.OSHACase) bool {
	state := old.State()
	return state == running || isAmerican(old.Code()) && !osha.HasOSHAToldAt() && state != notRequired
}

// isAmerican reports a clock whose met_at is what the case says of OSHA.
func isAmerican(code string) bool {
	rule, found := Find(code)
	return found && rule.Country == "US"
}

// rowOf is a clock as the collection keeps it.
func rowOf(c Clock, incident string, site any) (record.LegalClock, error) {
	days := make([]string, len(c.Skipped))
	for i, d := range c.Skipped {
		days[i] = d.String()
	}
	skipped, err := json.Marshal(days)
	if err != nil {
		return nil, fmt.Errorf("clocks: write the days that did not count: %w", err)
	}
	return record.LegalClock{
		codeColumn: c.Code, incidentColumn: incident, siteColumn: site,
		startsColumn: query.FormatTime(c.Starts), dueColumn: query.FormatTime(c.Due),
		skippedColumn: json.RawMessage(skipped),
	}, nil
}

// moveClock has a kept clock follow its facts. What a person said of it stays.
func (p *plan) moveClock(old, row record.LegalClock, now time.Time) {
	set := record.LegalClock{}
	for name, v := range row {
		if !store.Same(old[name], v) {
			set[name] = v
		}
	}
	after := record.LegalClock{}
	for _, list := range [...]record.LegalClock{old, row} {
		for name, v := range list {
			after[name] = v
		}
	}
	isLapsed := old.Lapsed()
	switch {
	case isOptionOver(after, now):
		if old.State() == running {
			set.SetState(notRequired)
			set.SetReason(reservedTime)
			set.SetLapsed(true)
		}
	case isLapsed:
		after.SetState(running)
		set.SetState(stateOf(after))
		set.ClearReason()
		set.SetLapsed(false)
	default:
		set.SetState(stateOf(after))
	}
	if set.StateOrNull() == old.State() {
		delete(set, stateColumn)
	}
	if len(set) > 0 {
		set.SetIDOrNull(old.ID())
		p.updates = append(p.updates, set)
	}
}

// isOptionOver reports a right that was not used in its time: no breach.
func isOptionOver(row record.LegalClock, now time.Time) bool {
	rule, known := Find(row.Code())
	return known && rule.IsOption && !row.HasMetAt() && row.DueAt() < query.FormatTime(now)
}

// stateOf is the state of a clock by when it was met. What is to be done without delay has
// no hour after which it is late.
func stateOf(row record.LegalClock) string {
	at := row.MetAt()
	rule, known := Find(row.Code())
	switch {
	case row.State() == notRequired:
		return notRequired
	case at == "":
		return running
	case at > row.DueAt() && !(known && rule.Unit == AtOnce):
		return late
	}
	return met
}

func isHealth(kind string) bool { return kind == "injury" || kind == "illness" }
