package accounts

import (
	"context"
	"strings"
	"time"

	"holdfast/internal/cache"
	"holdfast/internal/db"
	"holdfast/internal/identity/oidc"
	"holdfast/internal/secrets"
)

// Base is what every room stands on: configuration, database, clock, secrets, what
// is kept of tokens, and the writer of the audit log.
type Base struct {
	Config      Config
	DB          *db.DB
	Now         func() time.Time // UTC, in microseconds as databases keep them
	Secrets     secrets.Keys
	TokenIssuer string
	Tokens      *tokenCache
	ServiceKeys cache.Memo[*TenantKey] // by hash, and by id
	Providers   map[string]*oidc.Provider
}

// NewBase takes a configuration that is complete.
func NewBase(cfg Config, d *db.DB, now func() time.Time) (*Base, error) {
	b := &Base{Config: cfg, DB: d, Tokens: NewTokenCache(), TokenIssuer: strings.TrimRight(cfg.PublicURL, "/") +
		"/auth/v1"}
	b.Now = func() time.Time { return now().UTC().Truncate(time.Microsecond) }
	var err error
	if b.Secrets, err = secrets.New(cfg.MasterKey); err != nil {
		return nil, err
	}
	b.Providers, err = newProviders(cfg, b.TokenIssuer, b.Now)
	return b, err
}

func newProviders(cfg Config, issuer string, now func() time.Time) (map[string]*oidc.Provider, error) {
	made := map[string]*oidc.Provider{}
	for name, p := range cfg.OIDC {
		c := oidc.Config{Name: name, ClientID: p.ClientID, Secret: p.Secret, TeamID: p.TeamID, KeyID: p.KeyID,
			Issuer: p.Issuer, Domains: p.Domains}
		one, err := oidc.New(c, issuer+"/callback/"+name, now)
		if err != nil {
			return nil, err
		}
		made[name] = one
	}
	return made, nil
}

// Write is a change of accounts: what is kept of them is read again.
func (s *Base) Write(ctx context.Context, f func(tx *db.Tx) error) error {
	err := s.DB.Write(ctx, Everywhere, f)
	s.Tokens.Changes.Add(1)
	return err
}

// EndSessionsWhere deletes the sessions that where names and empties the cache.
func (s *Base) EndSessionsWhere(tx *db.Tx, userID, where string, args ...any) error {
	_, err := tx.Exec(db.FillWords(`
		DELETE FROM sessions
		WHERE user_id = $1 {where}`, "{where}", where), append([]any{userID}, args...)...)
	tx.After(func() { s.Forget(userID) })
	return err
}
