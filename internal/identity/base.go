package identity

import (
	"strings"
	"time"

	"holdfast/internal/cache"
	"holdfast/internal/db"
	"holdfast/internal/identity/oidc"
	"holdfast/internal/seal"
)

// Base is what every room stands on: configuration, database, clock, secrets, what
// is kept of tokens, and the writer of the audit log.
type Base struct {
	cfg         Config
	db          *db.DB
	now         func() time.Time // UTC, in microseconds as databases keep them
	secrets     seal.Keys
	issuer      string
	tokens      *tokenCache
	serviceKeys cache.Memo[*tenantKey] // by hash, and by id
	providers   map[string]*oidc.Provider
}

func newBase(cfg Config, d *db.DB, now func() time.Time) (*Base, error) {
	b := &Base{cfg: cfg, db: d, tokens: newTokenCache(), issuer: strings.TrimRight(cfg.PublicURL, "/") + "/auth/v1"}
	b.now = func() time.Time { return now().UTC().Truncate(time.Microsecond) }
	var err error
	if b.secrets, err = seal.New(cfg.MasterKey); err != nil {
		return nil, err
	}
	b.providers, err = newProviders(cfg, b.issuer, b.now)
	return b, err
}

func newProviders(cfg Config, issuer string, now func() time.Time) (map[string]*oidc.Provider, error) {
	made := map[string]*oidc.Provider{}
	for name, p := range cfg.OIDC {
		c := oidc.Config{Name: name, ClientID: p.ClientID, Secret: p.Secret, TeamID: p.TeamID, KeyID: p.KeyID, Issuer: p.Issuer, Domains: p.Domains}
		one, err := oidc.New(c, issuer+"/callback/"+name, now)
		if err != nil {
			return nil, err
		}
		made[name] = one
	}
	return made, nil
}
