package catalog

import (
	"strings"
	"testing"

	"holdfast/internal/actor"
)

// shownAmounts are the amounts of money that whoever reads the row reads, each with its reason.
var shownAmounts = map[string]string{
	"items.price": "what customers pay, as on labels and offers: it says nothing of what the goods cost",
}

// otherAmounts are numbers that are called like an amount of money and are none.
var otherAmounts = map[string]string{
	"compliance_events.value": "what a rule measured",
	"compliance_states.value": "what a rule measured",
	"order_lines.price_qty":   "a quantity",
}

// A column of money says what goods or their carriage cost, and is for those who see
// costs, or it is shown with a reason. A number that is called like one is held to the
// same, so that a column without its unit does not get around it.
func TestAmountsAreDecided(t *testing.T) {
	used, costs := map[string]bool{}, 0
	for _, r := range Default().All() {
		for i := range r.Fields {
			f := &r.Fields[i]
			name := r.Name + "." + f.Name
			switch {
			case f.Cost:
				costs++
				checkCost(t, name, f)
			case f.Unit == Currency && shownAmounts[name] != "", soundsLikeMoney(f) && otherAmounts[name] != "":
				used[name] = true
			case f.Unit == Currency, soundsLikeMoney(f):
				t.Errorf("%s: set Cost, or give a reason in shownAmounts or otherAmounts", name)
			}
		}
	}
	if costs < 10 {
		t.Errorf("%d columns of cost: the loop looks at nothing", costs)
	}
	for _, list := range []map[string]string{shownAmounts, otherAmounts} {
		for name := range list {
			if !used[name] {
				t.Errorf("%s has a reason and needs none", name)
			}
		}
	}
}

func checkCost(t *testing.T, name string, f *Field) {
	t.Helper()
	if f.Unit != Currency {
		t.Errorf("%s is a cost without its unit", name)
	}
	for _, role := range actor.Members {
		if f.Visible(role) != SeesCosts(role) {
			t.Errorf("%s: visible to %s is %v", name, role, f.Visible(role))
		}
	}
}

func soundsLikeMoney(f *Field) bool {
	if f.Unit == Currency || f.Type != Decimal && f.Type != Int && f.Type != Float {
		return false
	}
	for _, word := range strings.Split(f.Name, "_") {
		switch word {
		case "cost", "costs", "price", "value", "amount", "worth", "fee", "charge":
			return true
		}
	}
	return false
}

// Who reads the audit log sees costs, so that its images of rows keep them as they were.
func TestReadersOfTheLogSeeCosts(t *testing.T) {
	log, _ := Default().Get("audit")
	for _, role := range append([]actor.Role{actor.Client}, actor.Members...) {
		if _, reads := Find(log.Access.Read, role); reads && !SeesCosts(role) {
			t.Errorf("%s reads the audit log and sees no costs: mask them there", role)
		}
	}
}
