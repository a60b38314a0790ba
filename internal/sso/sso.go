// Package sso signs people in at the identity provider of their own
// organisation: OpenID Connect or SAML 2.0, one connection to a tenant, with
// the domains it has proved, the roles its groups give, and SCIM. Accounts and
// sessions are package identity's; this package decides who arrives there.
//
// Layer: across domains. Begin at [New].
package sso

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity"
	"holdfast/internal/outbound"
	"holdfast/internal/secrets"
	"holdfast/internal/sso/openid"
)

// Resolver asks the domain name system for TXT records.
type Resolver interface {
	LookupTXT(ctx context.Context, name string) ([]string, error)
}

// Config is what the service needs to know.
type Config struct {
	PublicURL    string        // the server's own address
	SAML         bool          // SAML connections may be made and used
	AllowPrivate bool          // providers may be on private addresses and plain http
	MasterKey    []byte        // 32 bytes; seals client secrets
	RequestTTL   time.Duration // how long somebody may take at a provider; 0 = 10m
	Resolver     Resolver      // nil = the system's
	Log          *slog.Logger
}

// Service is safe for concurrent use.
type Service struct {
	cfg    Config
	db     *db.DB
	ident  *identity.Service
	keys   secrets.Keys
	now    func() time.Time
	client *http.Client
	drafts *drafting
	base   string // {PublicURL}/auth/v1

	mu        sync.Mutex
	providers map[string]*openid.Provider // by connection id and version
}

// everywhere is the scope of look-ups made before the tenant is known.
var everywhere = db.Scope{All: true}

// New returns the service.
func New(cfg Config, d *db.DB, ident *identity.Service, now func() time.Time) (*Service, error) {
	keys, err := secrets.New(cfg.MasterKey)
	if err != nil {
		return nil, fmt.Errorf("sso: %w", err)
	}
	if now == nil {
		now = time.Now
	}
	if cfg.RequestTTL == 0 {
		cfg.RequestTTL = 10 * time.Minute
	}
	if cfg.Resolver == nil {
		cfg.Resolver = net.DefaultResolver
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	clock := func() time.Time { return now().UTC().Truncate(time.Microsecond) }
	client := outbound.Client(cfg.AllowPrivate)
	return &Service{cfg: cfg, db: d, ident: ident, keys: keys, client: client, now: clock,
		drafts: &drafting{saml: cfg.SAML, allowPrivate: cfg.AllowPrivate, keys: keys, now: clock, client: client,
			ours: ident.OAuth.Configured},
		base: strings.TrimRight(cfg.PublicURL, "/") + "/auth/v1", providers: map[string]*openid.Provider{}}, nil
}

// EntityID is our SAML name: the address of our metadata.
func (s *Service) EntityID() string { return s.base + "/sso/saml/metadata" }

// ACS is where SAML responses are posted.
func (s *Service) ACS() string { return s.base + "/sso/saml/acs" }

// Callback is the redirect address of one OpenID connection: a path of its own
// to each, so that an answer cannot be taken for another provider's.
func (s *Service) Callback(id string) string { return s.base + "/sso/oidc/" + id + "/callback" }

// SCIMBase is the address a provider's SCIM client is given.
func (s *Service) SCIMBase() string { return s.base + "/scim/v2" }

// SAML reports whether SAML is switched on.
func (s *Service) SAML() bool { return s.cfg.SAML }

// Sweep deletes what has expired. Run it every hour or so.
func (s *Service) Sweep(ctx context.Context) error {
	return s.db.Write(ctx, everywhere, func(tx *db.Tx) error {
		for _, q := range []string{"DELETE FROM sso_requests WHERE expires_at < $1",
			"DELETE FROM sso_replays WHERE expires_at < $1"} {
			tx.Queue(q, []any{s.now()}, nil)
		}
		tx.Queue("DELETE FROM sso_code_mails WHERE sent_at < $1", []any{s.now().Add(-codeDay)}, nil)
		return tx.Flush()
	})
}

func clientOf(a actor.Actor) identity.Client {
	return identity.Client{Address: a.Address, RequestID: a.RequestID, SessionID: a.SessionID}
}

// writeAudit writes an audit row of a connection in the transaction of its change.
func (s *Service) writeAudit(tx *db.Tx, c *Connection, a actor.Actor, action string, details map[string]any) {
	s.ident.Federation.Record(tx, identity.Note{Tenant: c.TenantID, User: a.UserID, Key: a.KeyID, Action: action,
		Entity: "sso_connections", EntityID: c.ID, Details: details, Client: clientOf(a)})
}

// auditRefusal writes an audit row of its own for a sign-in that failed.
func (s *Service) auditRefusal(ctx context.Context, c *Connection, reason string, who identity.Client) error {
	return s.db.Write(ctx, everywhere, func(tx *db.Tx) error {
		s.ident.Federation.Record(tx, identity.Note{Tenant: c.TenantID, Action: "sso.refused", Outcome: "refused",
			Entity: "sso_connections", EntityID: c.ID, Details: map[string]any{"reason": cutText(reason, 300)}, Client: who})
		return tx.Flush()
	})
}

func cutText(s string, n int) string {
	if len(s) > n {
		s = s[:n]
	}
	return strings.ToValidUTF8(s, "")
}

func errNoProvider() error {
	return fault.New(fault.NotFound, "sso_provider_not_found", "No SSO provider assigned for this domain")
}

func refuseInvalid(format string, args ...any) error {
	return fault.New(fault.Invalid, "validation_failed", format, args...)
}
