package db

import (
	"context"
	"time"
)

// statementTimeout ends a runaway statement.
const statementTimeout = 15 * time.Second

type patient struct{}

// Patient returns a context whose statements may take as long as they need:
// for recounts of everything, never for what a request asks.
func Patient(ctx context.Context) context.Context {
	return context.WithValue(ctx, patient{}, true)
}

// endless is longer than any statement.
const endless = 365 * 24 * time.Hour

// longest is how long a statement under ctx may take, by default usual.
func longest(ctx context.Context, usual time.Duration) time.Duration {
	if ctx.Value(patient{}) != nil {
		return endless
	}
	return usual
}
