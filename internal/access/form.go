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

// FormUse is what somebody without an account does with a public form.
type FormUse string

// Uses of a public form: reports and follow-ups are counted apart, as a guesser of codes
// must not keep others from reporting.
const (
	LookAtForm FormUse = ""
	SendForm   FormUse = "form:"
	FollowUp   FormUse = "follow:"
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
	for _, x := range [...]struct {
		key  string
		rule ratelimit.Rule
	}{{string(use) + address, perAddress}, {string(use) + place, perPlace}} {
		plan, err := ratelimit.Custom(map[ratelimit.Category]ratelimit.Rule{ratelimit.API: x.rule})
		if err != nil {
			return err
		}
		if s := g.Limits.Take(x.key, ratelimit.API, plan, 1); !s.OK {
			return Refuse(s, "reports")
		}
	}
	return nil
}
