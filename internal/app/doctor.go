package app

import (
	"context"
	"time"

	"holdfast/internal/config"
	"holdfast/internal/doctor"
)

// Doctor looks an installation over, beside a running server or without one.
func Doctor(ctx context.Context, c *config.Config, fix bool) []doctor.Finding {
	return doctor.Examine(ctx, &doctor.Patient{Config: c, Fix: fix, Now: time.Now,
		Open: func(ctx context.Context) error {
			return onTool(ctx, c, func(*App) error { return nil })
		},
		Held: func(ctx context.Context) (reason string, err error) {
			err = onTool(ctx, c, func(a *App) (err error) {
				reason, err = HeldReason(ctx, a)
				return err
			})
			return reason, err
		}})
}

// onTool runs f on services that are opened beside a running server, or without one.
func onTool(ctx context.Context, c *config.Config, f func(*App) error) error {
	quiet := *c
	a, err := Open(ctx, &quiet, Tool)
	if err != nil {
		return err
	}
	defer a.Close()
	return f(a)
}
