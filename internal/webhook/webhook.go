// Package webhook sends events to the addresses tenants name, at least once,
// signed as Standard Webhooks has it (specification 1.0.0).
//
// An event becomes one delivery for each webhook that chose it, in the
// transaction that publishes the event. Each webhook has a lane; a node leases
// a lane, sends what is due in it and gives it back, so no two nodes send the
// same attempt, and a receiver that hangs holds up nobody but itself.
//
// Layer: domains. Begin at [New].
package webhook

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"
	"unicode"

	"code.dny.dev/ssrf"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/outbound"
	"holdfast/internal/secrets"
	"holdfast/internal/store"
)

// Options configure the service.
type Options struct {
	Store        *store.Store // its catalog has webhooks and webhook_deliveries
	Key          []byte       // 32 bytes that seal the secrets
	AllowPrivate bool         // http and private addresses too: for tests and closed networks
	// AllowLoopback lets webhooks call this machine, over http too: a demonstration
	// that only this machine reaches.
	AllowLoopback bool
	Product       string // User-Agent of deliveries; "Holdfast" when empty
	Now           func() time.Time

	// Lookup resolves a host when a webhook is made; nil = the system's resolver.
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)

	// Notify tells a tenant's administrators that a webhook was disabled; it is
	// called after the commit and may take its time. nil = nobody is told.
	Notify func(ctx context.Context, n Notice) error

	// Held reports whether nothing may be sent for now; nil = never.
	Held func() bool
}

// Notice says that a webhook was disabled, and whom to tell.
type Notice struct {
	WebhookID, URL, Reason string
	Emails                 []string // the tenant's owners and admins
}

// Service keeps webhooks and sends deliveries. It is safe for concurrent use.
type Service struct {
	store      *store.Store
	db         *db.DB
	webhooks   *catalog.Resource
	deliveries *catalog.Resource
	keys       secrets.Keys
	private    bool
	loopback   bool
	product    string
	now        func() time.Time
	lookup     outbound.Resolver
	notify     func(ctx context.Context, n Notice) error
	held       func() bool
	guard      *ssrf.Guardian
	client     *http.Client
	wake       chan struct{}
	pace       pace

	mu     sync.Mutex
	leases map[string]time.Time // of lanes, by owner: when this node first saw them
}

// pace is how fast things go.
type pace struct {
	attempt   time.Duration // one request and its answer
	turn      time.Duration // a lane is served this long before others get their turn
	lease     time.Duration // then another node may take the lane; more than turn, attempt and what is written after
	poll      time.Duration // between two looks for what is due
	lanes     int           // lanes served at once by this node
	perTenant int           // of these, lanes of one tenant
	perLane   int           // attempts at once to one webhook
}

func standardPace() pace {
	return pace{attempt: 10 * time.Second, turn: 10 * time.Second, lease: 45 * time.Second, poll: time.Second, lanes: 48,
		perTenant: 8, perLane: 4}
}

// New returns the service. It fails when the key is not of 32 bytes or the
// catalog lacks its resources.
func New(o Options) (*Service, error) {
	s := &Service{store: o.Store, db: o.Store.DB(), private: o.AllowPrivate, loopback: o.AllowLoopback, product: o.Product,
		now: o.Now, lookup: o.Lookup, notify: o.Notify, held: o.Held, wake: make(chan struct{}, 1), pace: standardPace()}
	for name, r := range map[string]**catalog.Resource{"webhooks": &s.webhooks, "webhook_deliveries": &s.deliveries} {
		found, ok := o.Store.Catalog().Get(name)
		if !ok {
			return nil, fmt.Errorf("webhook: the catalog has no %s", name)
		}
		*r = found
	}
	var err error
	if s.keys, err = secrets.New(o.Key); err != nil {
		return nil, err
	}
	if s.product = headerToken(s.product); s.product == "" {
		s.product = "Holdfast"
	}
	if s.now == nil {
		s.now = time.Now
	}
	if s.lookup == nil {
		s.lookup = outbound.LookupHost
	}
	s.guard = ssrf.New(ssrf.WithAnyPort())
	s.client = s.newClient()
	return s, nil
}

// headerToken makes a name one that a User-Agent header may hold (RFC 9110, 10.1.5):
// what is no letter or digit becomes a dash.
func headerToken(name string) string {
	words := strings.FieldsFunc(name, func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	return strings.Join(words, "-")
}

// Wake tells the dispatcher that something may be due. It never blocks.
func (s *Service) Wake() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// requireAdministrator refuses callers who may not keep webhooks.
func requireAdministrator(a actor.Actor) error {
	if !a.Administrator() || a.TenantID == "" {
		return fault.New(fault.Forbidden, "42501", "only an administrator of the tenant may keep its webhooks")
	}
	if a.Suspended {
		return fault.New(fault.Forbidden, "42501", "the tenant is suspended: nothing can be changed")
	}
	return nil
}

// serverActor is the actor of changes the service makes by itself.
func serverActor(tenant string) actor.Actor {
	return actor.Actor{Role: actor.Service, TenantID: tenant}
}
