package app

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/limit"
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
	p, named := limit.Named(plan)
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
		if p, err = limit.Parse(text); err != nil {
			return nil, fault.Wrap(err, fault.Invalid, "", "%s", err)
		}
		row["limits"] = text
	}
	tenants, _ := a.catalog.Get("tenants")
	err = a.DB.Write(ctx, db.Scope{Tenant: t.ID}, func(tx *db.Tx) error {
		_, err := a.Store.UpdateTx(tx, operator(t.ID), tenants, []string{t.ID}, row)
		return err
	})
	if err != nil {
		return nil, err
	}
	out := []LimitLine{}
	for _, c := range []limit.Category{limit.API, limit.Auth, limit.Webhook, limit.Read, limit.Write} {
		out = append(out, LimitLine{c.String(), p.Rule(c).Minute, p.Rule(c).Burst})
	}
	return out, nil
}

// ownLimits writes a command line's limits as limit.Parse reads them.
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
			return "", fault.New(fault.Invalid, "", "%q is no limit: write category=MINUTE or category=MINUTE/BURST, each category once", text)
		}
		rules[name] = rule{m, b}
	}
	text, err := json.Marshal(rules)
	return string(text), err
}
