package db

import (
	"context"
	"time"
)

// statementTimeout ends a runaway statement. With what a server that has gone
// silent is given beyond it (silence, cancelTime), a request is answered within
// 15 seconds of the statement that hangs.
const statementTimeout = 12 * time.Second

type patient struct{}

// Patient lets each statement under the context run for d instead of 12
// seconds: for work that reads all a tenant has in one statement, and that
// nobody waits for, or somebody who was promised that it takes long.
func Patient(ctx context.Context, d time.Duration) context.Context {
	return context.WithValue(ctx, patient{}, max(d, time.Millisecond)) // none is for ever to PostgreSQL
}

// longestStatement is how long a statement under ctx may take, by default usual.
func longestStatement(ctx context.Context, usual time.Duration) time.Duration {
	if d, ok := ctx.Value(patient{}).(time.Duration); ok {
		return d
	}
	return usual
}
