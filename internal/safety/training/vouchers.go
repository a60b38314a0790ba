package training

import (
	"slices"
	"strings"

	"holdfast/internal/db"
	"holdfast/internal/jobtitle"
	"holdfast/internal/localtime"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/safety"
	"holdfast/internal/store"
)

// vouchers are what a certificate names beside its holder: 29 CFR 1910.178(l)(6).
var vouchers = [...]string{trainedColumn, trainerColumn, evaluatedColumn, evaluatorColumn}

// wantVouchers wants to know who trained and who evaluated, and when, where the
// course needs an evaluation.
func wantVouchers(ta record.TrainingAssignment, of course) error {
	if !of.evaluated {
		return nil
	}
	for _, f := range vouchers {
		if store.Row(ta).Text(f) == "" {
			return safety.NotReady("the course needs an evaluation: say who trained and who evaluated, and when: %s", f).
				At(f, "is missing")
		}
	}
	return nil
}

// checkVouchers holds the days of the training and of the evaluation to today and
// to each other. It returns the day of the evaluation, nil for none.
func checkVouchers(ta record.TrainingAssignment, today localtime.Date) (evaluated *localtime.Date, err error) {
	for _, f := range [...]string{trainedColumn, evaluatedColumn} {
		if store.Row(ta).Text(f) == "" {
			continue
		}
		day, err := localtime.ParseDate(store.Row(ta).Text(f))
		if err != nil {
			return nil, err
		}
		if today.Before(day) {
			return nil, refuseFuture(f, day, today)
		}
		if day.Year() < today.Year()-oldestCertificate {
			return nil, refuseYear(f, day)
		}
		if f == evaluatedColumn {
			evaluated = &day
		}
	}
	if trained := ta.TrainedOn(); evaluated != nil && evaluated.String() < trained {
		return nil, safety.RefuseField(evaluatedColumn, "lies before the training, on %s", trained)
	}
	return evaluated, nil
}

// holderNamesSQL selects what workers are called, and their accounts. $1 tenant,
// $2 their ids, $3 ids of accounts.
const holderNamesSQL = `
	SELECT id, user_id, name, employee_no
	FROM workers
	WHERE tenant_id = $1
		AND (id IN {ids $2} OR user_id IN {ids $3})`

// memberNamesSQL selects the addresses of accounts. $1 tenant, $2 their ids.
const memberNamesSQL = `
	SELECT user_id, email
	FROM members
	WHERE tenant_id = $1
		AND user_id IN {ids $2}`

// refuseOwnNames keeps holders from standing on their own certificates as the
// person who trained or evaluated: by name, number or address, in any case and
// with any accents and spaces.
func refuseOwnNames(tx *store.Tx, changes []store.Change) error {
	named := slices.DeleteFunc(slices.Clone(changes), func(c store.Change) bool {
		return !record.TrainingAssignment(c.After).HasTrainer() && !record.TrainingAssignment(c.After).HasEvaluator() ||
			c.Op == store.Update && !safety.IsChanged(c, trainerColumn, evaluatorColumn)
	})
	if len(named) == 0 {
		return nil
	}
	names, err := readHolderNames(tx, named)
	if err != nil {
		return err
	}
	for _, c := range record.Changes[record.TrainingAssignment](named) {
		for _, f := range [...]string{trainerColumn, evaluatorColumn} {
			name := foldName(store.Row(c.After).Text(f))
			if name != "" && (names[c.After.WorkerID()][name] || names[c.After.UserID()][name]) {
				return safety.RefuseField(f, "is the holder: another person vouches for a certificate")
			}
		}
	}
	return nil
}

// readHolderNames returns what the holders of trainings are called, folded, by the
// ids of their workers and accounts.
func readHolderNames(tx *store.Tx, changes []store.Change) (map[string]map[string]bool, error) {
	var workers, users []string
	for _, c := range record.Changes[record.TrainingAssignment](changes) {
		workers, users = append(workers, c.After.WorkerID()), append(users, c.After.UserID())
	}
	names := map[string]map[string]bool{}
	add := func(id, name string) {
		if id == "" {
			return // a worker without an account
		}
		if names[id] == nil {
			names[id] = map[string]bool{}
		}
		names[id][foldName(name)] = true
	}
	accounts := query.List(dropEmpty(users))
	args := []any{tx.TenantID, query.List(dropEmpty(workers)), accounts}
	tx.Queue(holderNamesSQL, args, func(r *db.Row) error {
		for _, id := range [...]string{r.Text(0), r.Text(1)} {
			add(id, r.Text(2))
			add(id, r.Text(3))
		}
		return nil
	})
	tx.Queue(memberNamesSQL, []any{tx.TenantID, accounts}, func(r *db.Row) error {
		add(r.Text(0), r.Text(1))
		return nil
	})
	err := tx.Flush()
	return names, err
}

// foldName is a name in one spelling: its words, sorted, so that "Lovelace, Ada"
// is Ada Lovelace.
func foldName(name string) string {
	words := strings.Fields(jobtitle.Fold(name))
	slices.Sort(words)
	return strings.Join(words, " ")
}
