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
	Minute, Burst int // of one caller
	Ceiling       int // of all callers in a minute; 0 = sign-in attempts, which belong to no tenant
}

// SetPlan gives a tenant, by id or slug, a plan and returns what it allows.
// Limits, "category=MINUTE", "category=MINUTE/BURST" or "category=MINUTE/BURST/CEILING",
// belong to the plan custom and to no other; every server of the database obeys at once.
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
		line := LimitLine{Category: c.String(), Minute: p.Rule(c).Minute, Burst: p.Rule(c).Burst}
		if c != ratelimit.Auth {
			line.Ceiling = p.Ceiling(c).Minute
		}
		out = append(out, line)
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
	rules := map[string]map[string]int{}
	for _, text := range list {
		name, numbers, _ := strings.Cut(text, "=")
		rule, ok := parseLimit(numbers)
		if _, twice := rules[name]; !ok || twice {
			return "", fault.New(fault.Invalid, "", "%q is no limit: write category=MINUTE, category=MINUTE/BURST or "+
				"category=MINUTE/BURST/CEILING, each category once", text)
		}
		rules[name] = rule
	}
	text, err := json.Marshal(rules)
	return string(text), err
}

// parseLimit reads MINUTE/BURST/CEILING, of which the last two may be left out.
func parseLimit(numbers string) (map[string]int, bool) {
	members, parts := []string{"minute", "burst", "ceiling"}, strings.Split(numbers, "/")
	if len(parts) > len(members) {
		return nil, false
	}

	rule := map[string]int{}
	for i, part := range parts {
		n, err := strconv.Atoi(part)
		if err != nil || i > 0 && n < 1 {
			return nil, false
		}
		rule[members[i]] = n
	}
	return rule, true
}
