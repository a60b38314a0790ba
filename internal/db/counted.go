package db

import "context"

type counted struct{}

// Counted marks what runs under the context as parts of a wish that was counted
// when it began: Options.Observe is not told of its transactions.
func Counted(ctx context.Context) context.Context { return context.WithValue(ctx, counted{}, true) }

// observeTransaction hands a transaction to the observer.
func (d *DB) observeTransaction(ctx context.Context, s Scope, write bool, statements int) {
	if ctx.Value(counted{}) == nil {
		d.observe(s, write, statements)
	}
}
