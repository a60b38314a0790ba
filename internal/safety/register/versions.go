package register

import (
	"fmt"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/localtime"
	"holdfast/internal/record"
	"holdfast/internal/safety"
	"holdfast/internal/store"
)

// keepYears is for how long a version is kept: Code du travail R4121-4.
const keepYears = 40

// keepUntil is the day until which a version of a day is kept.
func keepUntil(made localtime.Date) localtime.Date { return made.AddMonths(keepYears * 12) }

// guardVersions keeps versions as they were published: the days on which others got one are
// said once, and it is deleted by nobody, service keys included, before its time is over.
func guardVersions(tx *store.Tx, changes []store.Change) error {
	for _, c := range record.Changes[record.RiskRegisterVersion](changes) {
		var err error
		switch c.Op {
		case store.Delete:
			err = refuseEarly(tx, c.Before)
		case store.Update:
			err = checkDaysOf(tx, c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readToday is the day of a tenant.
func readToday(tx *store.Tx, tenant string) (localtime.Date, *time.Location, error) {
	name := ""
	store.QueueZone(tx.Tx, tenant, &name)
	if err := tx.Flush(); err != nil {
		return localtime.Date{}, nil, fmt.Errorf("register: read the tenant's day: %w", err)
	}
	zone := localtime.Zone(name)
	return localtime.DateOf(tx.Now(), zone), zone, nil
}

// refuseEarly refuses to delete a version before the day until which it is kept.
func refuseEarly(tx *store.Tx, version record.RiskRegisterVersion) error {
	today, _, err := readToday(tx, version.TenantID())
	if err != nil {
		return err
	}
	if until := version.KeepUntil(); today.String() < until {
		const rule = "Code du travail R4121-4"
		return fault.New(fault.Forbidden, safety.CodeGuard,
			"a version of the risk register is kept for %d years, this one until %s (%s): nobody deletes it before",
			keepYears, until, rule).With("rule: "+rule, "")
	}
	return nil
}

// checkDaysOf holds the days of a version, on which it was sent and the works council was
// consulted: each is said once, and lies between the day of the tenant on which the version
// was made and today.
func checkDaysOf(tx *store.Tx, c record.Change[record.RiskRegisterVersion]) error {
	for _, field := range [...]string{sentColumn, consultedColumn} {
		if !safety.IsChanged(c.Change, field) {
			continue
		}
		if c.Before[field] != nil {
			return fault.New(fault.Conflict, safety.CodeGuard, "%s is %s and is said once: a version is not changed",
				field, store.Row(c.Before).Text(field)).At(field, "is said once")
		}
		today, zone, err := readToday(tx, c.Before.TenantID())
		if err != nil {
			return err
		}
		if store.Row(c.After).Text(field) > today.String() {
			return safety.RefuseField(field, "lies in the future: today is %s", today)
		}
		at, err := time.Parse(db.TimeLayout, c.Before.MadeAt())
		if err != nil {
			return fmt.Errorf("register: the moment of a version: %w", err)
		}
		if made := localtime.DateOf(at, zone); store.Row(c.After).Text(field) < made.String() {
			return safety.RefuseField(field, "lies before the version was made, on %s", made)
		}
	}
	return nil
}
