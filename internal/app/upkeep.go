package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"holdfast/internal/backoff"
	"holdfast/internal/backups/shipping"
	"holdfast/internal/db"
	"holdfast/internal/heap"
	"holdfast/internal/installation"
	"holdfast/internal/store"
)

// How often what is due in the background is looked at.
const (
	foldEvery    = 2 * time.Second
	recoverEvery = 5 * time.Second
	peerEvery    = time.Second
	sweepEvery   = time.Hour
	sealEvery    = 5 * time.Second
	mostSealing  = 2 * time.Second // at the end
	// The heads are kept once an hour; who looks more often is not late by another hour.
	keepHeadsEvery = 5 * time.Minute
	settleAfter    = 2 * time.Second
	keyUseEvery    = time.Minute
	mostPause      = 10 * time.Second // between two attempts of what fails and is due more often
)

// runBackground runs the server's background work until ctx ends; webhooks are sent
// until sending does.
func (a *App) runBackground(ctx, sending context.Context) {
	var wg sync.WaitGroup
	every := func(d time.Duration, name string, f func(context.Context) error) {
		wg.Go(func() { repeatWork(ctx, d, name, a.runGuarded(name, f)) })
	}
	if a.DB.Engine() == db.PostgreSQL {
		every(foldEvery, "fold counters", foldCounters(a.Store))
	} else {
		if a.ship != nil {
			every(shipping.Every, "ship the log", a.ship.ShipRound)
			every(time.Second, "make a backup for the log", a.backups.backupForLog)
		}
		every(peerEvery, "watch other processes", a.watchPeers)
	}
	every(installation.RefreshEvery, "look who owns the places outside", a.guard.Refresh)
	every(recoverEvery, "recover imports", a.recoverImports)
	every(sweepEvery, "sweep unfinished uploads", a.sweepUploads)
	every(keyUseEvery, "write uses of service keys", a.Identity.Keyring.WriteKeyUses)
	every(sealEvery, "seal the audit log", a.Identity.Admin.SealAudit)
	every(keepHeadsEvery, "keep the ends of the audit log", a.Identity.Admin.KeepAuditHeads)
	wg.Go(func() {
		logFailure(ctx, "give memory back", a.runGuarded("give memory back", releaseStartMemory(a.DB)))
	})
	wg.Go(func() { a.jobs.Work(ctx) })
	wg.Go(func() { a.notifier.Run(ctx) })
	wg.Go(func() { a.Webhooks.Run(sending) })
	wg.Wait()
	sealBeforeEnd(ctx, a.Identity.Admin.SealAudit)
}

// sealBeforeEnd seals what this process wrote to the audit log in its last seconds. What is
// left when the database does not answer is sealed by the next process.
func sealBeforeEnd(ctx context.Context, seal func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), mostSealing)
	defer cancel()
	if err := seal(ctx); err != nil {
		slog.Warn("the audit log was not sealed to its end", "error", err)
	}
}

// releaseStartMemory gives back, a little after the start, what only the start needed: what
// migrations and the generator of the demonstration used, and the pages of the
// program's file that ran once.
func releaseStartMemory(d *db.DB) func(context.Context) error {
	return func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(settleAfter):
		}
		err := d.Shrink(ctx)
		debug.FreeOSMemory()
		if err := errors.Join(err, heap.ReleaseImage()); err != nil && ctx.Err() == nil {
			slog.Warn("memory that only the start needed was not all given back", "error", err)
		}
		return nil
	}
}

// Events publishes events and sends webhooks until ctx ends.
func (a *App) Events(ctx context.Context) {
	var wg sync.WaitGroup
	wg.Go(func() { a.notifier.Run(ctx) })
	wg.Go(func() { a.Webhooks.Run(ctx) })
	wg.Wait()
}

// repeatWork does background work every so often until ctx ends, and less often while
// it fails.
func repeatWork(ctx context.Context, every time.Duration, name string, f func(context.Context) error) {
	pace := backoff.New(nil, name, every, max(every, mostPause))
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			if pace.IsReady() {
				pace.Note(ctx, f(ctx))
			}
		}
	}
}

// runGuarded is background work that keeps the process alive when it panics: that is
// logged, counted and an error.
func (a *App) runGuarded(name string, f func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) (err error) {
		defer func() {
			if p := recover(); p != nil {
				slog.Error("background work panicked", "work", name, "panic", p, "stack", string(debug.Stack()))
				if a.metrics != nil {
					a.metrics.Panicked()
				}
				err = fmt.Errorf("panic: %v", p)
			}
		}()
		return f(ctx)
	}
}

// logFailure does background work that is done once.
func logFailure(ctx context.Context, name string, f func(context.Context) error) {
	if err := f(ctx); err != nil && ctx.Err() == nil {
		slog.Warn("background work failed", "work", name, "error", err)
	}
}

// foldFrom is how many deltas a tenant gathers before they are added up.
const foldFrom = 200

// foldCounters adds up what tenants have gathered.
func foldCounters(s *store.Store) func(context.Context) error {
	return func(ctx context.Context) error {
		tenants, err := s.UnfoldedTenants(ctx, foldFrom)
		if err != nil {
			return err
		}
		for _, t := range tenants {
			if err := s.FoldCounters(ctx, t); err != nil {
				return err
			}
		}
		return nil
	}
}

// watchPeers forgets what is kept when another process, a command-line tool,
// has written to the embedded database.
func (a *App) watchPeers(ctx context.Context) error {
	changed, err := a.DB.WrittenByOthers(ctx)
	if err != nil || !changed {
		return err
	}
	a.forgetAll()
	return nil
}

// recoverImports puts jobs whose worker died back to their last stable state.
func (a *App) recoverImports(ctx context.Context) error {
	n, err := a.Imports.Recover(ctx)
	if n > 0 {
		slog.Info("import jobs recovered", "jobs", n)
	}
	return err
}

// sweepFiles removes import files past their time and those nobody owns.
func (a *App) sweepFiles(ctx context.Context) error {
	if !a.guard.MayDelete() {
		return nil // they may be another installation's
	}
	s, err := a.Imports.Sweep(ctx)
	if s.Expired+s.Orphans > 0 {
		slog.Info("import files removed", "expired", s.Expired, "orphans", s.Orphans)
	}
	return err
}

// sweepUploads removes what uploads to this node left unfinished.
func (a *App) sweepUploads(context.Context) error {
	_, err := a.blobs.SweepTemporary(time.Hour)
	return err
}
