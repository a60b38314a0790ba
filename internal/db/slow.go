package db

import (
	"context"
	"time"
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

func (d *DB) slowly(ctx context.Context, q []stmt, took time.Duration) {
	if d.slow.Tell == nil || took <= d.slow.After {
		return
	}
	var texts []string
	for _, s := range q[:min(len(q), shownStatements)] {
		texts = append(texts, s.sql[:min(len(s.sql), shownBytes)])
	}
	d.slow.Tell(ctx, took, texts)
}
