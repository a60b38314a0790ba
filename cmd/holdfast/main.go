// Holdfast runs a warehouse and keeps its people safe. This is its one binary:
// server, operator's tools and importer.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"holdfast/internal/fault"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	go func() {
		<-ctx.Done()
		stop() // a second signal ends the process at once
	}()
	if err := rootCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "holdfast:", explainError(err))
		os.Exit(1)
	}
}

// explainError shows an operator the whole chain: a fault's own message hides its
// cause, which is meant for remote callers.
func explainError(err error) string {
	var f *fault.Error
	if !errors.As(err, &f) {
		return err.Error()
	}
	s := f.Msg
	for _, fd := range f.Fields {
		s += "\n  " + fd.Name + ": " + fd.Msg
	}
	if f.Details != "" {
		s += "\n  " + f.Details
	}
	if f.Hint != "" {
		s += "\n  " + f.Hint
	}
	if f.Err != nil {
		s += "\n  cause: " + f.Err.Error()
	}
	return s
}
