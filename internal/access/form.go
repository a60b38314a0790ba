package access

import (
	"net/http"

	"holdfast/internal/ratelimit"
	"holdfast/internal/web"
)

// How often a form that needs no account may be sent: by one address, and
// altogether at one place. Looking at it counts as any request of an address.
var (
	perAddress = ratelimit.Rule{Minute: 10, Burst: 5}
	perPlace   = ratelimit.Rule{Minute: 60, Burst: 30}
)

// perFollower is how often one address may follow up at all. Wrong codes have perAddress and
// perPlace: who holds a code is not taken for a guesser.
var perFollower = ratelimit.Rule{Minute: 120, Burst: 40}

// FormUse is what somebody without an account does with a public form.
type FormUse string

// Uses of a public form: reports and follow-ups are counted apart, as a guesser of codes
// must not keep others from reporting.
const (
	LookAtForm FormUse = ""
	SendForm   FormUse = "form:"
	FollowUp   FormUse = "follow:"

	wrongCode FormUse = "wrong:" // of a follow-up
)

// TakeForm counts a use of a public form, and refuses it when the address or the place has
// none left.
func (g *Gate) TakeForm(w http.ResponseWriter, r *http.Request, place string, use FormUse) error {
	if g.Limits == nil {
		return nil
	}
	address := web.AddressKey(web.ClientAddress(r))
	if use == LookAtForm {
		s := g.Limits.Take(address, ratelimit.API, g.plans["standard"], 1)
		if !s.OK {
			return Refuse(s, unitName(ratelimit.API))
		}
		return nil
	}
	if use == FollowUp {
		return g.takeWindow(formWindow{string(use) + address, perFollower}, "requests")
	}
	for _, x := range windowsOf(use, address, place) {
		if err := g.takeWindow(x, "reports"); err != nil {
			return err
		}
	}
	return nil
}

// A formWindow is what somebody without an account, or all of them at a place, has.
type formWindow struct {
	key  string
	rule ratelimit.Rule
}

func windowsOf(use FormUse, address, place string) []formWindow {
	return []formWindow{{string(use) + address, perAddress}, {string(use) + place, perPlace}}
}

func (x formWindow) makePlan() (ratelimit.Plan, error) {
	return ratelimit.Custom(map[ratelimit.Category]ratelimit.Rule{ratelimit.API: x.rule})
}

// takeWindow counts one use, and refuses it where none is left.
func (g *Gate) takeWindow(x formWindow, what string) error {
	plan, err := x.makePlan()
	if err != nil {
		return err
	}
	if s := g.Limits.Take(x.key, ratelimit.API, plan, 1); !s.OK {
		return Refuse(s, what)
	}
	return nil
}

// CheckGuesses refuses a follow-up, before its code is looked at, when the address or the
// place has used up its wrong codes: an answer past that would tell a guesser what is right.
func (g *Gate) CheckGuesses(r *http.Request, place string) error {
	if g.Limits == nil {
		return nil
	}
	for _, x := range windowsOf(wrongCode, web.AddressKey(web.ClientAddress(r)), place) {
		plan, err := x.makePlan()
		if err != nil {
			return err
		}
		if s := g.Limits.Peek(x.key, ratelimit.API, plan); !s.OK {
			return Refuse(s, "wrong codes")
		}
	}
	return nil
}

// CountGuess counts a code that was wrong. Those that are sent at once all count, and what is
// past the limit puts off the next.
func (g *Gate) CountGuess(r *http.Request, place string) {
	if g.Limits == nil {
		return
	}
	for _, x := range windowsOf(wrongCode, web.AddressKey(web.ClientAddress(r)), place) {
		g.Limits.Add(x.key, ratelimit.API, 1)
	}
}
