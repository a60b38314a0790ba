package db

import (
	"context"
	"strings"
	"time"

	"holdfast/internal/trace"
)

// Slow is told of statements that went to the database together and took longer
// than After: their texts, which hold no values. The zero value is told nothing.
type Slow struct {
	After time.Duration
	Tell  func(ctx context.Context, took time.Duration, statements []string)
}

// shown is how many statements are told of, and how much of each.
const (
	shownStatements = 5
	shownBytes      = 400
)

// runWatched runs statements that go to the database together, in a span where the
// context is traced, and tells of those that take long.
func (t *Tx) runWatched(q []stmt, run func([]stmt) error) error {
	_, span := trace.Client(t.ctx, spanName(q))
	if span.On() {
		span.Text("db.system.name", map[Engine]string{SQLite: "sqlite", PostgreSQL: "postgresql"}[t.db.Engine()])
		span.Text("db.query.text", strings.Join(shownTexts(q), ";\n"))
		span.Number("db.operation.batch.size", len(q))
	}
	begin := time.Now()
	err := run(q)
	t.db.reportSlow(t.ctx, q, time.Since(begin))
	span.End(err)
	return err
}

// spanName is what a span of statements is called: the keyword of one, BATCH
// for several.
func spanName(q []stmt) string {
	switch len(q) {
	case 0:
		return "COMMIT"
	case 1:
		word, _, _ := strings.Cut(strings.TrimSpace(q[0].sql), " ")
		return word
	}
	return "BATCH"
}

// shownTexts are the texts of the first statements.
func shownTexts(q []stmt) []string {
	var texts []string
	for _, s := range q[:min(len(q), shownStatements)] {
		texts = append(texts, s.sql[:min(len(s.sql), shownBytes)])
	}
	return texts
}

func (d *DB) reportSlow(ctx context.Context, q []stmt, took time.Duration) {
	// of work that was promised more time, so many times later
	after := d.slow.After * max(1, longestStatement(ctx, statementTimeout)/statementTimeout)
	if d.slow.Tell != nil && took > after {
		d.slow.Tell(ctx, took, shownTexts(q))
	}
}
