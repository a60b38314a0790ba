package app

import (
	"context"
	"time"

	"holdfast/internal/config"
	"holdfast/internal/doctor"
)

// Doctor looks an installation over, beside a running server or without one.
func Doctor(ctx context.Context, c *config.Config, fix bool) []doctor.Finding {
	return doctor.Examine(ctx, &doctor.Patient{Config: c, Fix: fix, Now: time.Now, Open: func(ctx context.Context) error {
		quiet := *c
		a, err := Open(ctx, &quiet, Tool)
		if err == nil {
			a.Close()
		}
		return err
	}})
}
