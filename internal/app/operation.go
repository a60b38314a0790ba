package app

import (
	"cmp"
	"context"
	"encoding/json"

	"holdfast/internal/api"
	"holdfast/internal/db"
	"holdfast/internal/event"
	"holdfast/internal/job"
)

// shownToTenants is how much of a list administrators see.
const shownToTenants = 200

// newOperation is what a tenant's administrators see of the server's work for it.
func newOperation(a *App) *api.Operation {
	return &api.Operation{Now: a.now,
		Jobs: func(ctx context.Context, tenant, status string) ([]api.BackgroundJob, error) {
			return tenantJobs(ctx, a, tenant, status)
		},
		Retry: func(ctx context.Context, tenant, kind, key string) (int64, error) {
			return job.Hurry(ctx, a.DB, a.now(), job.Filter{Tenant: tenant, Kind: kind, Key: key})
		},
		Chain: func(ctx context.Context, tenant string) (api.ChainVerdict, error) {
			return chainVerdict(ctx, a, tenant)
		},
		Refusals: func(ctx context.Context, tenant string) ([]api.LimitRefusal, error) {
			return limitRefusals(ctx, a, tenant)
		}}
}

func tenantJobs(ctx context.Context, a *App, tenant, status string) ([]api.BackgroundJob, error) {
	out, docs := []api.BackgroundJob{}, JobDocs(a)
	for _, owner := range [...]struct{ whose, tenant string }{{"tenant", tenant}, {"server", db.NoTenant}} {
		list, err := job.List(ctx, a.DB, job.Filter{Tenant: owner.tenant, Status: status, Open: status == ""}, shownToTenants)
		if err != nil {
			return nil, err
		}
		for _, j := range list {
			out = append(out, api.BackgroundJob{Kind: j.Kind, Doc: docs[j.Kind], Key: j.Key, Whose: owner.whose,
				Status: j.Status, Tries: j.Tries, Made: j.Made, Due: j.Due, Done: j.Done})
		}
	}
	return out, nil
}

func chainVerdict(ctx context.Context, a *App, tenant string) (v api.ChainVerdict, err error) {
	reports, err := a.Identity.Admin.VerifyAudit(ctx, tenant)
	if err != nil || len(reports) != 1 {
		return v, err
	}
	r := reports[0]
	v = api.ChainVerdict{Whole: r.Whole(), Rows: r.Rows, Waiting: r.Waiting, Head: r.Head, Breaks: []api.ChainBreak{}}
	if !r.SealedAt.IsZero() {
		v.SealedAt = &r.SealedAt
	}
	for _, b := range r.Breaks {
		v.Breaks = append(v.Breaks, api.ChainBreak{No: b.SealNo, ID: b.ID, Why: b.Why})
	}
	return v, nil
}

func limitRefusals(ctx context.Context, a *App, tenant string) ([]api.LimitRefusal, error) {
	events, err := event.RateLimits(ctx, a.DB, tenant, shownToTenants)
	if err != nil {
		return nil, err
	}
	out := make([]api.LimitRefusal, len(events))
	for i, e := range events {
		var data event.RateLimit
		if err := json.Unmarshal(e.Data, &data); err != nil {
			return nil, err
		}
		out[i] = api.LimitRefusal{
			At: e.At, Category: data.Category, Scope: cmp.Or(data.Scope, "tenant"),
			Limit: data.Limit, RetryAfter: data.RetryAfter,
		}
	}
	return out, nil
}
