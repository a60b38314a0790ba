package ratelimit

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// A Category is what a request or statement counts as.
type Category uint8

// The categories, each with a limit of its own.
const (
	API     Category = iota // requests to /v1, /rest/v1 and /functions/v1
	Auth                    // sign-in, sign-up, recovery
	Webhook                 // requests to webhook endpoints
	Read                    // reading statements run for the tenant
	Write                   // writing statements run for the tenant
	categories
)

func (c Category) String() string {
	switch c {
	case API:
		return "api"
	case Auth:
		return "auth"
	case Webhook:
		return "webhook"
	case Read:
		return "read"
	case Write:
		return "write"
	}
	return fmt.Sprintf("category %d", uint8(c))
}

// A Rule bounds one category: at most Minute units in any 60 seconds and at
// most Burst in any 10.
type Rule struct {
	Minute int
	Burst  int
}

// perMinute is the rule with the interface's proportion of burst to minute.
func perMinute(n int) Rule { return Rule{Minute: n, Burst: max(n/5, 1)} }

// A Plan is what a tenant may use: one rule for each category. The zero Plan
// allows nothing.
type Plan struct {
	name  string
	rules [categories]Rule
}

// Standard is the plan of a tenant that has no other.
func Standard() Plan {
	return Plan{name: "standard", rules: [categories]Rule{
		API:     {Minute: 1000, Burst: 200},
		Auth:    {Minute: 60, Burst: 10},
		Webhook: {Minute: 500, Burst: 100},
		Read:    {Minute: 5000, Burst: 1000},
		Write:   {Minute: 1000, Burst: 200},
	}}
}

// Enterprise is the interface's larger plan. Its bursts are a fifth of the
// minute, as in the table; sign-in stays as in Standard, because a bigger
// tenant does not guess passwords faster.
func Enterprise() Plan {
	p := Standard()
	p.name = "enterprise"
	p.rules[API] = perMinute(10_000)
	p.rules[Webhook] = perMinute(5_000)
	p.rules[Read] = perMinute(50_000)
	p.rules[Write] = perMinute(50_000)
	return p
}

// most is the widest rule a tenant is given: a window's slot of a quarter
// second holds 65,535 units.
const most = 10_000_000

// Custom is Standard with some rules replaced. A rule's zero Burst means a
// fifth of its Minute. It fails when a number is below 1 or a burst is above
// its minute, or a minute allows more than 10,000,000.
func Custom(rules map[Category]Rule) (Plan, error) {
	p := Standard()
	p.name = "custom"
	for c, r := range rules {
		if c >= categories {
			return Plan{}, fmt.Errorf("limit: unknown %s", c)
		}
		if r.Burst == 0 {
			r.Burst = perMinute(r.Minute).Burst
		}
		if r.Minute < 1 || r.Minute > most || r.Burst < 1 || r.Burst > r.Minute {
			return Plan{}, fmt.Errorf("limit: %s: %d a minute with bursts of %d is no rule", c, r.Minute, r.Burst)
		}
		p.rules[c] = r
	}
	return p, nil
}

// Check is Parse for limits that a tenant is about to be given: it refuses those
// of attempts to sign in, which belong to addresses and accounts.
func Check(text string) (Plan, error) {
	rules, err := parseRules(text)
	if err != nil {
		return Plan{}, err
	}
	if _, named := rules[Auth]; named {
		return Plan{},
			errors.New(`limit: "auth" is no limit of a tenant: attempts to sign in belong to addresses and accounts; signin_limit is the server's setting for them`)
	}
	return Custom(rules)
}

// Parse reads a tenant's own limits: a JSON object of categories by name, each
// with the minute's units and, if wanted, the burst's. What is not named is as
// in Standard, and so is auth, which earlier versions let be named.
func Parse(text string) (Plan, error) {
	rules, err := parseRules(text)
	if err != nil {
		return Plan{}, err
	}
	delete(rules, Auth)
	return Custom(rules)
}

func parseRules(text string) (map[Category]Rule, error) {
	var named map[string]*struct {
		Minute int `json:"minute"`
		Burst  int `json:"burst"`
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&named); err != nil {
		return nil, fmt.Errorf("limit: not an object of {minute, burst} by category: %w", err)
	}
	if dec.More() {
		return nil, errors.New("limit: more than one JSON value")
	}
	rules := map[Category]Rule{}
	for name, r := range named {
		c, ok := parseCategory(name)
		if !ok || r == nil {
			return nil, fmt.Errorf("limit: %q is no category with {minute, burst}; api, webhook, read and write are", name)
		}
		rules[c] = Rule{Minute: r.Minute, Burst: r.Burst}
	}
	return rules, nil
}

func parseCategory(name string) (Category, bool) {
	for c := range categories {
		if c.String() == name {
			return c, true
		}
	}
	return 0, false
}

// Named finds the plans that need no numbers: "standard" and "enterprise".
func Named(name string) (Plan, bool) {
	for _, p := range []Plan{Standard(), Enterprise()} {
		if p.name == name {
			return p, true
		}
	}
	return Plan{}, false
}

// Rule is the plan's rule for c; an unknown category has the zero rule.
func (p Plan) Rule(c Category) Rule {
	if c >= categories {
		return Rule{}
	}
	return p.rules[c]
}

// With is the plan with another rule for c.
func (p Plan) With(c Category, r Rule) Plan {
	p.rules[c] = r
	return p
}

// Times is the plan with n times the room in every rule.
func (p Plan) Times(n int) Plan {
	for c, r := range p.rules {
		p.rules[c] = Rule{Minute: n * r.Minute, Burst: n * r.Burst}
	}
	return p
}

// Share is what one of n nodes allows when they cannot count together: an nth
// of every rule, so that all of them allow no more than the plan, but at least
// one unit.
func (p Plan) Share(n int) Plan {
	for c, r := range p.rules {
		if n > 1 && r.Minute > 0 {
			p.rules[c] = Rule{Minute: max(r.Minute/n, 1), Burst: max(r.Burst/n, 1)}
		}
	}
	return p
}
