package db

import (
	"context"
	"slices"
	"strings"
	"time"

	"holdfast/internal/trace"
)

// Slow reports statements that went to the database together and took longer than
// After: their texts, which hold no values. The zero value reports nothing.
type Slow struct {
	After time.Duration
	Tell  func(ctx context.Context, took time.Duration, statements []string)
}

// shownStatements is how many statements a log shows, and shownBytes how much of each: half
// of it from the beginning, half from the end, where its conditions and its order stand.
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
		span.Text("db.query.text", strings.Join(ShortenStatements(statementTexts(q)), ";\n"))
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
		return strings.Fields(q[0].sql)[0]
	}
	return "BATCH"
}

// ShortenStatements returns the first of some statements for a log, each in one line whose
// middle is left out where it grows long.
func ShortenStatements(texts []string) []string {
	texts = slices.Clone(texts[:min(len(texts), shownStatements)])
	for i, text := range texts {
		text = strings.Join(strings.Fields(text), " ")
		if len(text) > shownBytes {
			text = text[:shownBytes/2] + " ... " + text[len(text)-shownBytes/2:]
		}
		texts[i] = text
	}
	return texts
}

func (d *DB) reportSlow(ctx context.Context, q []stmt, took time.Duration) {
	// of work that was promised more time, so many times later
	after := d.slow.After * max(1, longestStatement(ctx, statementTimeout)/statementTimeout)
	if d.slow.Tell != nil && took > after {
		d.slow.Tell(ctx, took, statementTexts(q))
	}
}

func statementTexts(q []stmt) (texts []string) {
	for _, s := range q {
		texts = append(texts, s.sql)
	}
	return texts
}
