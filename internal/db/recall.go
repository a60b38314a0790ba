package db

import (
	"fmt"
	"strings"
	"sync"

	"holdfast/internal/fault"
)

// recalled are the last answers of queries that transactions begin with (see
// [Tx.Recall]), by the query and its arguments.
type recalled struct {
	mu      sync.Mutex
	answers map[string]string
}

// maxRecalled bounds what is remembered. When there is more, all is forgotten.
const maxRecalled = 10_000

func (r *recalled) findAnswer(key string) (answer string, found bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	answer, found = r.answers[key]
	return answer, found
}

func (r *recalled) keepAnswer(key, answer string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.answers == nil || len(r.answers) >= maxRecalled {
		r.answers = map[string]string{}
	}
	r.answers[key] = answer
}

func (r *recalled) forgetAnswers(keys []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, key := range keys {
		delete(r.answers, key)
	}
}

// stillSQL divides by zero when a query answers something else than before.
const stillSQL = `
	SELECT 1 / (CASE WHEN coalesce(({query}), '') = {before} THEN 1 ELSE 0 END)`

// codeDivision is PostgreSQL's division_by_zero.
const codeDivision = "22012"

// Recall returns the one text that a query gives, "" for null or no row. args are texts.
//
// On PostgreSQL a write does not wait for an answer that was given before: it goes by
// that one, and the query travels with the next statements. Where it answers something
// else by then, or the function refuses something before, the transaction runs once more,
// without what was remembered.
// So what it returns is as true as a query's, for a round trip less. SQLite has none to
// save.
func (t *Tx) Recall(sql string, args ...string) (answer string, err error) {
	values := make([]any, len(args))
	for i, arg := range args {
		values[i] = arg
	}
	key := sql + "\x00" + strings.Join(args, "\x00")
	isRecalled := t.db.Engine() == PostgreSQL && !t.reads
	if before, found := t.db.recalled.findAnswer(key); isRecalled && found {
		text := FillWords(stillSQL, "{query}", sql, "{before}", fmt.Sprintf("$%d", len(args)+1))
		t.Queue(text, append(values, before), nil)
		t.guessed = append(t.guessed, key)
		return before, nil
	}
	err = t.Query(sql, values, func(r *Row) error {
		answer = r.Text(0)
		return nil
	})
	if err != nil {
		return "", err
	}
	if isRecalled {
		t.db.recalled.keepAnswer(key, answer)
	}
	return answer, nil
}

// rerunGuessed forgets what a failed transaction went by before the database had said that
// it is still so, and returns the error with which the transaction runs once more where
// that may be why it failed: the database found another answer, or the transaction's own
// function refused something.
func (t *Tx) rerunGuessed(err error, byFunction bool) error {
	if len(t.guessed) == 0 {
		return err
	}
	t.db.recalled.forgetAnswers(t.guessed)
	refusal := fault.As(classifyError(err))
	if refusal.Code != codeDivision && (!byFunction || !isRefusal(refusal.Kind)) {
		return err
	}
	return unavailableFault(err, "40001", "what the transaction went by was changed meanwhile")
}

// isRefusal reports an error that speaks of what was asked for, not of the server.
func isRefusal(kind fault.Kind) bool {
	return kind != fault.Internal && kind != fault.Unavailable && kind != fault.NoSpace
}
