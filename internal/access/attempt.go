package access

import (
	"net/http"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/ratelimit"
	"holdfast/internal/web"
)

// An Attempt is one try to authenticate.
type Attempt struct {
	Address string // the client's
	Account string // the one name of the account that is tried; "" where none is named
	// Known reports whether somebody signed in to the account from the address
	// before; it is asked only when others have left no room. nil = nobody did.
	Known   func() bool
	Session bool // a session of the account makes it
	Found   bool // an account that was looked up for an attempt which is counted already
	Many    bool // a server that stands for many people makes it: its address says nothing
	Secret  bool // what it shows nobody can guess: a link, a passkey, a token of a provider
	Mail    bool // it asks for a mail or a text and tries nothing: counted apart
}

// Windows of sign-in attempts, as multiples of the one that an address has.
const (
	ofAccount = 2   // one account, whichever addresses name it
	ofMails   = 10  // one account, of mails asked for: more than five addresses ask for
	ofSite    = 10  // one site's networks: 65,536 of those that an IPv6 address is counted by
	ofOverall = 100 // everybody together
)

// reserve is what an address has left for secrets that nobody can guess while its
// site or everybody together has no room.
var reserve = ratelimit.Rule{Minute: 6, Burst: 2}

// A shared window is taken by whoever comes.
type shared struct {
	key  string
	plan ratelimit.Plan
}

const overall = "overall"

func (g *Gate) attemptPlan(times int) ratelimit.Plan { return g.attempt.Times(times) }

// sharedWindows are the windows an attempt is counted in, together with others': its
// address' and its site's, its account's, and the one that all have together.
func (g *Gate) sharedWindows(a Attempt) []shared {
	account := shared{a.windowName("account:" + a.Account), g.attemptPlan(ofAccount)}
	if a.Mail {
		account.plan = g.attemptPlan(ofMails)
	}
	if a.Found {
		return []shared{account}
	}
	list := make([]shared, 0, 4)
	if !a.Many {
		list = append(list, shared{a.windowName("address:" + web.AddressKey(a.Address)), g.attempt})
		if site := web.SiteKey(a.Address); site != "" {
			list = append(list, shared{a.windowName("site:" + site), g.attemptPlan(ofSite)})
		}
	}
	if a.Account != "" {
		list = append(list, account)
	}
	return append(list, shared{a.windowName(overall), g.attemptPlan(ofOverall)})
}

// windowName is the name of a window for an attempt of this kind: who asks for mails
// uses up nobody's sign-ins, and who guesses nobody's mails.
func (a Attempt) windowName(key string) string {
	if a.Mail {
		return "mail:" + key
	}
	return key
}

// TakeAuth counts an attempt before anything is looked at. Strangers who use up
// what an account, an address or everybody together has do not keep out who
// signed in to the account from the same address before: each such pair has a
// share of its own, as wide as an address' and used up by its own attempts alone.
func (g *Gate) TakeAuth(w http.ResponseWriter, a Attempt) error {
	if g.Limits == nil {
		Headers(w, unusedState(g.attempt.Rule(ratelimit.Auth)))
		return nil
	}
	for i, x := range g.sharedWindows(a) {
		s := g.Limits.Take(x.key, ratelimit.Auth, x.plan, 1)
		if !s.OK {
			own, ok := g.takeShare(a, x)
			if !ok {
				Headers(w, s)
				return Refuse(s, unitName(ratelimit.Auth))
			}
			Headers(w, own)
			return nil
		}
		switch {
		case a.Found || i > 0:
		case a.Many:
			Headers(w, unusedState(g.attempt.Rule(ratelimit.Auth)))
		default:
			Headers(w, s)
		}
	}
	if a.Account != "" && !a.Many {
		g.Limits.Add(a.ownWindow(), ratelimit.Auth, 1)
	}
	return nil
}

// ownWindow is the window of an attempt's own. Sessions of an account have one
// together: a stolen one must not buy guesses by changing its address.
func (a Attempt) ownWindow() string {
	if a.Session {
		return "session:" + a.Account
	}
	return a.windowName("share:" + web.AddressKey(a.Address) + " " + a.Account)
}

// unusedState is what the headers show of a rule that does not bind the caller, as
// of every rule where limits are off: all of it is left.
func unusedState(r ratelimit.Rule) ratelimit.State {
	return ratelimit.State{Limit: r.Minute, Remaining: r.Minute, Reset: time.Now()}
}

// takeShare takes an attempt's own share when a window it shares is full. What is
// asked of the database for that has a bound, an address' requests.
func (g *Gate) takeShare(a Attempt, full shared) (ratelimit.State, bool) {
	address := web.AddressKey(a.Address)
	if a.Account == "" {
		s := ratelimit.State{}
		if a.Secret && full.key != a.windowName("address:"+address) {
			s = g.Limits.Take("reserve:"+address, ratelimit.Auth, g.attempt.With(ratelimit.Auth, reserve), 1)
		}
		return s, s.OK
	}
	if a.Many || !a.Session && a.Known == nil || !g.Limits.Peek(a.ownWindow(), ratelimit.Auth, g.attempt).OK {
		return ratelimit.State{}, false
	}
	if !a.Found && !a.Session && !g.Limits.Take("neighbours:"+address, ratelimit.API, g.plans["standard"], 1).OK {
		return ratelimit.State{}, false
	}
	if !a.Session && !a.Known() {
		return ratelimit.State{}, false
	}
	s := g.Limits.Take(a.ownWindow(), ratelimit.Auth, g.attempt, 1)
	return s, s.OK
}

// Allow sets how often one address may try, in place of the interface's figures;
// the other windows of attempts are multiples of it.
func (g *Gate) Allow(r ratelimit.Rule) { g.attempt = g.attempt.With(ratelimit.Auth, r) }

// TakeSession counts a request of a session, or of a key that belongs to a
// tenant, under the API category. The service key's are not counted.
func (g *Gate) TakeSession(w http.ResponseWriter, a actor.Actor, address string) error {
	if g.Limits == nil || a.Role == actor.Service {
		Headers(w, unusedState(g.Plan(a).Rule(ratelimit.API)))
		return nil
	}
	key := web.AddressKey(address)
	if a.SessionID != "" {
		key = "session:" + a.SessionID
	} else if a.KeyID != "" && a.TenantID != "" {
		key = "key:" + a.KeyID
	}
	s := g.Limits.Take(key, ratelimit.API, g.Plan(a), 1)
	Headers(w, s)
	if !s.OK {
		return Refuse(s, unitName(ratelimit.API))
	}
	return nil
}

// TakeUnknown counts a refresh token of no session on a client's address; with
// came false it only asks whether another may come. The window is as wide as
// the API's and holds nothing else: who shares the address is not kept from
// refreshing by sign-ins, nor by old tokens of his neighbours.
func (g *Gate) TakeUnknown(w http.ResponseWriter, address string, came bool) error {
	return g.takeApart(w, shared{"unknown:" + web.AddressKey(address), g.plans["standard"]}, ratelimit.API, came)
}

// TakeVisit counts a browser that opens a mailed link, on its address. That tries
// nothing, so the window is as wide as the API's, and an office behind one address
// keeps its sign-ins.
func (g *Gate) TakeVisit(w http.ResponseWriter, address string) error {
	return g.takeApart(w, shared{"visit:" + web.AddressKey(address), g.plans["standard"]}, ratelimit.API, true)
}

// departures is how many windows of sign-ins one of departures holds.
const departures = 4

// TakeDeparture counts a browser that goes to a provider, on its address: apart
// from sign-ins, and fewer than visits, because the database keeps a row of each
// until it ends.
func (g *Gate) TakeDeparture(w http.ResponseWriter, address string) error {
	if g.Limits == nil {
		Headers(w, unusedState(g.attemptPlan(departures).Rule(ratelimit.Auth)))
		return nil
	}
	s := g.Limits.Take("departure:"+web.AddressKey(address), ratelimit.Auth, g.attemptPlan(departures), 1)
	Headers(w, s)
	if s.OK {
		return nil
	}
	return Refuse(s, unitName(ratelimit.Auth))
}

// TakeCode counts an authorization code that nobody has on a client's address;
// with came false it only asks whether another may come.
func (g *Gate) TakeCode(w http.ResponseWriter, address string, came bool) error {
	return g.takeApart(w, shared{"code:" + web.AddressKey(address), g.attempt}, ratelimit.Auth, came)
}

func (g *Gate) takeApart(w http.ResponseWriter, x shared, c ratelimit.Category, came bool) error {
	if g.Limits == nil {
		Headers(w, unusedState(x.plan.Rule(c)))
		return nil
	}
	s := g.Limits.Peek(x.key, c, x.plan)
	if s.OK && came {
		s = g.Limits.Take(x.key, c, x.plan, 1)
	}
	Headers(w, s)
	if s.OK {
		return nil
	}
	return Refuse(s, unitName(ratelimit.Auth))
}
