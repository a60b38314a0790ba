package app

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/ratelimit"
	"holdfast/internal/store"
)

// LimitLine is what a plan allows in one category.
type LimitLine struct {
	Category      string
	Minute, Burst int
}

// SetPlan gives a tenant, by id or slug, a plan and returns what it allows.
// Limits, "category=MINUTE" or "category=MINUTE/BURST", belong to the plan
// custom and to no other; every server of the database obeys at once.
func (a *App) SetPlan(ctx context.Context, tenant, plan string, limits []string) ([]LimitLine, error) {
	t, err := a.Tenant(ctx, tenant)
	if err != nil {
		return nil, err
	}
	row := store.Row{"plan": plan, "limits": nil}
	p, named := ratelimit.Named(plan)
	switch {
	case named && len(limits) > 0:
		return nil, fault.New(fault.Invalid, "", "the plan %s has its own limits; --limit goes with the plan custom", plan)
	case !named && plan != "custom":
		return nil, fault.New(fault.Invalid, "", "there is no plan %q; standard, enterprise and custom are", plan)
	case !named && len(limits) == 0:
		return nil, fault.New(fault.Invalid, "", "the plan custom needs at least one --limit, such as api=3000/600")
	case !named:
		text, err := ownLimits(limits)
		if err != nil {
			return nil, err
		}
		if p, err = ratelimit.Check(text); err != nil {
			return nil, fault.Wrap(err, fault.Invalid, "", "%s", err)
		}
		row["limits"] = text
	}
	if err := a.setTenant(ctx, t.ID, row); err != nil {
		return nil, err
	}
	out := []LimitLine{}
	for _, c := range []ratelimit.Category{ratelimit.API, ratelimit.Auth, ratelimit.Webhook, ratelimit.Read,
		ratelimit.Write} {
		out = append(out, LimitLine{c.String(), p.Rule(c).Minute, p.Rule(c).Burst})
	}
	return out, nil
}

// setTenant changes a tenant's row as the operator of the server.
func (a *App) setTenant(ctx context.Context, id string, set store.Row) error {
	return a.DB.Write(ctx, db.Scope{Tenant: id}, func(tx *db.Tx) error {
		err := a.Store.In(tx, commandLineActor(id)).UpdateRows("tenants", []string{id}, set)
		return err
	})
}

// quotas are the kinds of files that a tenant may have a quota of its own for.
var quotas = map[string]string{"imports": "import_quota", "photos": "photo_quota"}

// SetQuota gives a tenant, by id or slug, quotas of its own for kinds of files,
// imports and photos: megabytes, or "default" for the server's. The next upload
// obeys.
func (a *App) SetQuota(ctx context.Context, tenant string, sizes map[string]string) error {
	t, err := a.Tenant(ctx, tenant)
	if err != nil {
		return err
	}
	row := store.Row{}
	for kind, size := range sizes {
		if row[quotas[kind]] = nil; size == "default" {
			continue
		}
		n, err := strconv.ParseInt(size, 10, 64)
		if err != nil || n < 0 {
			return fault.New(fault.Invalid, "", "%q is no quota of %s: write megabytes, or default", size, kind)
		}
		row[quotas[kind]] = n
	}
	if len(row) == 0 {
		return fault.New(fault.Invalid, "", "say which quota: --imports or --photos")
	}
	return a.setTenant(ctx, t.ID, row)
}

// ownLimits writes a command line's limits as ratelimit.Check reads them.
func ownLimits(list []string) (string, error) {
	type rule struct {
		Minute int `json:"minute"`
		Burst  int `json:"burst,omitempty"`
	}
	rules := map[string]rule{}
	for _, text := range list {
		name, numbers, _ := strings.Cut(text, "=")
		minute, burst, both := strings.Cut(numbers, "/")
		m, err := strconv.Atoi(minute)
		b := 0
		if err == nil && both {
			b, err = strconv.Atoi(burst)
		}
		if _, twice := rules[name]; err != nil || twice || both && b < 1 {
			return "", fault.New(fault.Invalid, "",
				"%q is no limit: write category=MINUTE or category=MINUTE/BURST, each category once", text)
		}
		rules[name] = rule{m, b}
	}
	text, err := json.Marshal(rules)
	return string(text), err
}
