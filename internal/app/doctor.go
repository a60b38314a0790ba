package app

import (
	"context"
	"fmt"
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
		},
		Backups: func(ctx context.Context) (out doctor.BackupPlace, err error) {
			err = onTool(ctx, c, func(a *App) (err error) {
				out, err = a.backups.examinePlace(ctx)
				return err
			})
			return out, err
		},
		Recount: func(ctx context.Context) (out []string, err error) {
			err = onTool(ctx, c, func(a *App) (err error) {
				out, err = a.Verify(ctx)
				return err
			})
			return out, err
		},
		AuditBreaks: func(ctx context.Context) (out []string, err error) {
			err = onTool(ctx, c, func(a *App) (err error) {
				out, err = describeBreaks(ctx, a)
				return err
			})
			return out, err
		}})
}

// describeBreaks says where the chains of the audit log do not hold.
func describeBreaks(ctx context.Context, a *App) (out []string, err error) {
	reports, err := a.Identity.Admin.VerifyAudit(ctx, "")
	for _, r := range reports {
		for _, b := range r.Breaks {
			out = append(out, fmt.Sprintf("tenant %s, seal %d: %s", r.TenantID, b.SealNo, b.Why))
		}
	}
	return out, err
}

// examinePlace looks at the place of the backups as it is now, and notes nothing.
func (s *schedule) examinePlace(ctx context.Context) (out doctor.BackupPlace, err error) {
	report, err := s.lookAtPlace(ctx)
	if err != nil {
		return out, err
	}
	newest, err := s.openLedger().ReadNewest(ctx)
	if err != nil {
		return out, err
	}
	standing, err := s.openLedger().ReadStanding(ctx)
	if err != nil {
		return out, err
	}
	out = doctor.BackupPlace{Newest: newest.Made, Problem: report.Problem, Drill: drillPeriod(s.c),
		TriedAt: standing.TriedAt, Failure: standing.Failure, ProvedAt: standing.ProvedAt}
	for _, lost := range report.Lost {
		out.Lost = append(out.Lost, lost.Name+": "+lost.Why)
	}
	return out, nil
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
