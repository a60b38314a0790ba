package gate

import (
	"net/http"

	"holdfast/internal/limit"
	"holdfast/internal/web"
)

// How often a form that needs no account may be sent: by one address, and
// altogether at one place. Looking at it counts as any request of an address.
var (
	perAddress = limit.Rule{Minute: 10, Burst: 5}
	perPlace   = limit.Rule{Minute: 60, Burst: 30}
)

// TakeForm counts a look at a public form, or with sent its being sent, and
// refuses it when the address or the place has none left.
func (g *Gate) TakeForm(w http.ResponseWriter, r *http.Request, place string, sent bool) error {
	if g.Limits == nil {
		return nil
	}
	address := web.AddressKey(web.ClientAddress(r))
	if !sent {
		s := g.Limits.Take(address, limit.API, g.plans["standard"], 1)
		if !s.OK {
			return Refuse(s, unitName(limit.API))
		}
		return nil
	}
	for _, x := range [...]struct {
		key  string
		rule limit.Rule
	}{{"form:" + address, perAddress}, {"form:" + place, perPlace}} {
		plan, err := limit.Custom(map[limit.Category]limit.Rule{limit.API: x.rule})
		if err != nil {
			return err
		}
		if s := g.Limits.Take(x.key, limit.API, plan, 1); !s.OK {
			return Refuse(s, "reports")
		}
	}
	return nil
}
