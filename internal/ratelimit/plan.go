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

func (r Rule) multiplyBy(n int) Rule { return Rule{Minute: n * r.Minute, Burst: n * r.Burst} }

// divideBy is an nth of the rule, and at least one unit where it allows any.
func (r Rule) divideBy(n int) Rule {
	if n <= 1 || r.Minute <= 0 {
		return r
	}
	return Rule{Minute: max(r.Minute/n, 1), Burst: max(r.Burst/n, 1)}
}

// perMinute is the rule with the interface's proportion of burst to minute.
func perMinute(n int) Rule { return Rule{Minute: n, Burst: max(n/5, 1)} }

// A Plan is what a tenant may use: for each category one rule for each of its people
// and keys, and a ceiling for all of them together. The zero Plan allows nothing.
type Plan struct {
	name     string
	rules    [categories]Rule
	ceilings [categories]Rule // zero = callersInCeiling times the rule
}

// callersInCeiling is how many callers at their limit a tenant's ceiling has room for,
// where a plan names none.
const callersInCeiling = 10

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

// withCeilings is the plan with ceilings of its own: units of a minute by category. The
// burst of a ceiling has the proportion of its rule's.
func (p Plan) withCeilings(minutes map[Category]int) (Plan, error) {
	for c, n := range minutes {
		r := p.rules[c]
		if n < r.Minute || n > most {
			return Plan{}, fmt.Errorf("limit: %s: the ceiling %d is below the %d of one caller, or above %d",
				c, n, r.Minute, most)
		}
		p.ceilings[c] = Rule{Minute: n, Burst: max(int(int64(n)*int64(r.Burst)/int64(r.Minute)), r.Burst)}
	}
	return p, nil
}

// Check is Parse for limits that a tenant is about to be given: it refuses those
// of attempts to sign in, which belong to addresses and accounts.
func Check(text string) (Plan, error) {
	limits, err := parseLimits(text)
	if err != nil {
		return Plan{}, err
	}
	if _, named := limits.rules[Auth]; named {
		return Plan{},
			errors.New(`limit: "auth" is no limit of a tenant: attempts to sign in belong to addresses and accounts; signin_limit is the server's setting for them`)
	}
	return limits.makePlan()
}

// Parse reads a tenant's own limits: a JSON object of categories by name, each
// with the units of a caller's minute and, if wanted, of its burst and of the minute of
// all callers together (ceiling). What is not named is as in Standard, and so is auth,
// which earlier versions let be named.
func Parse(text string) (Plan, error) {
	limits, err := parseLimits(text)
	if err != nil {
		return Plan{}, err
	}
	delete(limits.rules, Auth)
	delete(limits.ceilings, Auth)
	return limits.makePlan()
}

// ownLimits are the limits that a tenant's row names.
type ownLimits struct {
	rules    map[Category]Rule
	ceilings map[Category]int
}

func (l ownLimits) makePlan() (Plan, error) {
	p, err := Custom(l.rules)
	if err != nil {
		return Plan{}, err
	}
	return p.withCeilings(l.ceilings)
}

func parseLimits(text string) (ownLimits, error) {
	var named map[string]*struct {
		Minute  int  `json:"minute"`
		Burst   int  `json:"burst"`
		Ceiling *int `json:"ceiling"`
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&named); err != nil {
		return ownLimits{}, fmt.Errorf("limit: not an object of {minute, burst, ceiling} by category: %w", err)
	}
	if dec.More() {
		return ownLimits{}, errors.New("limit: more than one JSON value")
	}

	limits := ownLimits{map[Category]Rule{}, map[Category]int{}}
	for name, r := range named {
		c, ok := parseCategory(name)
		if !ok || r == nil {
			return ownLimits{}, fmt.Errorf(
				"limit: %q is no category with {minute, burst, ceiling}; api, webhook, read and write are", name)
		}
		limits.rules[c] = Rule{Minute: r.Minute, Burst: r.Burst}
		if r.Ceiling != nil {
			limits.ceilings[c] = *r.Ceiling
		}
	}
	return limits, nil
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

// Ceiling is what all of a tenant's people and keys may use of c together.
func (p Plan) Ceiling(c Category) Rule {
	if c >= categories {
		return Rule{}
	}
	if p.ceilings[c] != (Rule{}) {
		return p.ceilings[c]
	}
	r := p.rules[c]
	return Rule{Minute: min(callersInCeiling*r.Minute, most), Burst: min(callersInCeiling*r.Burst, most)}
}

// Rule is the plan's rule for one caller's c; an unknown category has the zero rule.
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

// Times is the plan with n times the room in every rule and ceiling.
func (p Plan) Times(n int) Plan {
	for c := range categories {
		p.rules[c], p.ceilings[c] = p.rules[c].multiplyBy(n), p.ceilings[c].multiplyBy(n)
	}
	return p
}

// Share is what one of n nodes allows when they cannot count together: an nth
// of every rule and ceiling, so that all of them allow no more than the plan, but at least
// one unit.
func (p Plan) Share(n int) Plan {
	for c := range categories {
		p.rules[c], p.ceilings[c] = p.rules[c].divideBy(n), p.Ceiling(c).divideBy(n)
	}
	return p
}
