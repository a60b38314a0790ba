package db

import "context"

type counted struct{}

// Counted marks what runs under the context as parts of a wish that was counted
// when it began: Options.Observe is not told of its transactions.
func Counted(ctx context.Context) context.Context { return context.WithValue(ctx, counted{}, true) }

type onBehalf struct{}

// OnBehalf names the user whose request runs under the context. Options.Observe hears of
// transactions that reach the rows of a whole tenant as of that user's.
func OnBehalf(ctx context.Context, user string) context.Context {
	return context.WithValue(ctx, onBehalf{}, user)
}

// observeTransaction hands a transaction to the observer.
func (d *DB) observeTransaction(ctx context.Context, s Scope, write bool, statements int) {
	if ctx.Value(counted{}) != nil {
		return
	}
	if s.User == "" {
		s.User, _ = ctx.Value(onBehalf{}).(string)
	}
	d.observe(s, write, statements)
}
