package sso

import (
	"context"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity"
	"holdfast/internal/identity/accounts"
	"holdfast/internal/secrets"
	"holdfast/internal/sso/openid"
	"holdfast/internal/sso/samlsp"
)

// Start is a request to sign in at an organisation's provider.
type Start struct {
	ProviderID, Domain, Identifier string // exactly one
	Redirect                       string // allowed already
	PKCE                           identity.PKCE
	Invited                        bool        // an invitation is named: it is not taken up here
	Wish                           openid.Wish // of an OpenID provider
}

// request is a sign-in on its way.
type request struct {
	id, connection, samlID, redirect, challenge, tester string
	sealed                                              []byte
	used                                                bool
	expires                                             time.Time
}

// Begin returns where to send the browser. A challenge is required: it is what
// binds the answer to the browser that asked, and tokens of an organisation's
// sign-in never travel in an address, where histories and logs keep them.
func (s *Service) Begin(ctx context.Context, in Start) (string, error) {
	c, err := s.chooseConnection(ctx, in)
	if err != nil && !s.cfg.SAML && in.Identifier == "" &&
		(fault.Is(err, fault.NotFound) || fault.Is(err, fault.Invalid)) {
		return "", samlOff() // what clients of a server without SAML look for
	}
	if err != nil {
		return "", err
	}
	if in.Invited {
		// Accounts of an organisation's provider are never those that were invited.
		return "", fault.New(fault.NotFound, "invite_not_found", "Invitations are not taken up at an organisation's provider")
	}
	if err := checkPKCE(in.PKCE); err != nil {
		return "", err
	}
	if c.Disabled {
		return "", refuseDisabled()
	}
	return s.sendToProvider(ctx, c, request{redirect: in.Redirect, challenge: in.PKCE.Challenge}, in.Wish)
}

func refuseDisabled() error {
	return fault.New(fault.NotFound, "sso_provider_disabled", "The SSO provider is disabled")
}

// checkPKCE takes S256 only (RFC 7636 section 4.2: 43 to 128 characters).
func checkPKCE(p identity.PKCE) error {
	switch {
	case p.Challenge == "" || p.Method == "":
		return refuseInvalid("Single sign-on needs PKCE: create the client with flowType 'pkce'")
	case !strings.EqualFold(p.Method, "s256"):
		return refuseInvalid("code_challenge_method must be s256")
	case len(p.Challenge) < 43 || len(p.Challenge) > 128:
		return refuseInvalid("code challenge has to be between 43 and 128 characters")
	}
	for _, r := range p.Challenge {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-._~", r)) {
			return refuseInvalid("code challenge holds a character other than A-Z a-z 0-9 - . _ ~")
		}
	}
	return nil
}

func (s *Service) chooseConnection(ctx context.Context, in Start) (c *Connection, err error) {
	given := 0
	for _, v := range []string{in.ProviderID, in.Domain, in.Identifier} {
		if v != "" {
			given++
		}
	}
	if given != 1 {
		return nil, refuseInvalid("Exactly one of provider_id or domain must be provided")
	}
	err = s.db.Read(ctx, everywhere, func(tx *db.Tx) (err error) {
		switch {
		case in.ProviderID != "":
			c, err = s.byID(tx, in.ProviderID)
		case in.Identifier != "":
			c, err = s.findOne(tx, leading, in.Identifier)
		default:
			_, domain, at := strings.Cut(in.Domain, "@")
			if !at {
				domain = in.Domain
			}
			if domain, err = canonicalDomain(domain); err != nil {
				return errNoProvider()
			}
			c, err = s.findOne(
				tx,
				"JOIN sso_domains d ON d.tenant_id = c.tenant_id AND d.connection_id = c.id WHERE d.domain = $1 AND d.verified_at IS NOT NULL",
				domain,
			)
		}
		return err
	})
	return c, err
}

// BeginTest sends an administrator to the provider to see what it says. No
// session comes of it, and a disabled connection can be tried.
func (s *Service) BeginTest(ctx context.Context, a actor.Actor, id string) (string, error) {
	c, err := s.Get(ctx, a, id)
	if err != nil {
		return "", err
	}
	tester := a.UserID
	if tester == "" {
		tester = c.ID // a service key's test is the connection's own
	}
	return s.sendToProvider(ctx, c, request{redirect: s.ident.Links.Target(), tester: tester}, openid.Wish{})
}

// sendToProvider stores the request and writes the provider's address.
func (s *Service) sendToProvider(ctx context.Context, c *Connection, q request, w openid.Wish) (loc string, err error) {
	q.id = db.NewID()
	if c.Kind == SAML {
		loc, err = s.sendSAML(ctx, c, &q)
	} else {
		loc, err = s.sendOIDC(ctx, c, &q, w)
	}
	if err != nil {
		return "", err
	}
	now := s.now()
	return loc, s.db.Write(ctx, everywhere, func(tx *db.Tx) error {
		_, err := tx.Exec(
			`INSERT INTO sso_requests (id, tenant_id, connection_id, request_id, redirect_to, challenge, secrets, tester_id, created_at, expires_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
			q.id,
			c.TenantID,
			c.ID,
			db.Null(q.samlID),
			q.redirect,
			db.Null(q.challenge),
			q.sealed,
			db.Null(q.tester),
			now,
			now.Add(s.cfg.RequestTTL),
		)
		return err
	})
}

func (s *Service) sendSAML(ctx context.Context, c *Connection, q *request) (string, error) {
	if !s.cfg.SAML {
		return "", samlOff()
	}
	if c.isStale(s.now(), 24*time.Hour) {
		// What is there stays good when the provider is away.
		if err := s.renewMetadata(ctx, c); err != nil && !errors.Is(err, errLately) {
			s.cfg.Log.Warn("SAML metadata not renewed", "connection", c.ID, "error", err)
		}
	}
	p, err := samlsp.Metadata([]byte(c.MetadataXML), s.now())
	if err != nil {
		return "", fault.Wrap(err, fault.NotFound, "saml_idp_not_found", "The provider's metadata are no longer usable")
	}
	q.samlID = "_" + secrets.RandomHex(20)
	return p.Location(samlsp.Request{ID: q.samlID, EntityID: s.EntityID(), ACS: s.ACS(), Relay: s.signedState(q.id),
		Format: c.NameIDFormat, Now: s.now()})
}

// metadataRetry is how long an address is left alone after it was asked: whoever
// posts a response can have it asked, and whoever signs in waits for it.
const metadataRetry = 5 * time.Minute

var errLately = errors.New("sso: the metadata were asked for a moment ago")

const renewMetadataSQL = `
	UPDATE sso_connections
	SET metadata_tried_at = $3
	WHERE tenant_id = $1 AND id = $2 AND (metadata_tried_at IS NULL OR metadata_tried_at <= $4)`

// renewMetadata reads them again from their address: this is how a rotation of
// certificates arrives. The attempt counts before it is made, for all nodes, and
// also when it fails; errLately says that it is too early for another.
func (s *Service) renewMetadata(ctx context.Context, c *Connection) error {
	err := s.db.Write(ctx, everywhere, func(tx *db.Tx) error {
		now := s.now()
		n, err := tx.Exec(renewMetadataSQL, c.TenantID, c.ID, now, now.Add(-metadataRetry))
		if err == nil && n == 0 {
			err = errLately
		}
		return err
	})
	if err != nil {
		return err
	}
	fresh := *c
	if err := s.drafts.fetchMetadata(ctx, &fresh); err != nil {
		return err
	}
	if fresh.Issuer != c.Issuer {
		return fault.New(fault.Unprocessable, "saml_entity_id_mismatch", "the metadata are those of another entity")
	}
	c.MetadataXML, c.MetadataAt = fresh.MetadataXML, fresh.MetadataAt
	return s.db.Write(ctx, everywhere, func(tx *db.Tx) error {
		_, err := tx.Exec(`
			UPDATE sso_connections
			SET metadata_xml = $3, metadata_at = $4
			WHERE tenant_id = $1
				AND id = $2`,
			c.TenantID, c.ID, c.MetadataXML, c.MetadataAt.Time)
		return err
	})
}

func (s *Service) sendOIDC(ctx context.Context, c *Connection, q *request, w openid.Wish) (string, error) {
	p, err := s.openProvider(c)
	if err != nil {
		return "", err
	}
	sec := openid.Secrets{Nonce: secrets.RandomHex(16), Verifier: oauth2.GenerateVerifier()}
	q.sealed = s.keys.Close(secrets.RequestSecrets, []byte(asJSON(sec)), q.id)
	loc, err := p.Location(ctx, s.signedState(q.id), sec, w)
	return loc, classifyAnswer(err)
}

// classifyAnswer classifies a provider's failure.
func classifyAnswer(err error) error {
	if errors.Is(err, openid.ErrUnreachable) {
		f := fault.Wrap(err, fault.Unavailable, "unexpected_failure",
			"The sign-in provider cannot be reached, or does not answer as an OpenID provider")
		f.RetryAfter = 5 * time.Second
		return f
	}
	if errors.Is(err, openid.ErrAnswer) {
		return fault.Wrap(err, fault.Unauthorized, "bad_oauth_callback", "The sign-in provider's answer cannot be verified")
	}
	return err
}

// openProvider returns the client of an OpenID connection as it is now.
func (s *Service) openProvider(c *Connection) (*openid.Provider, error) {
	key := c.ID + "/" + c.UpdatedAt.String()
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.providers[key]; p != nil {
		return p, nil
	}
	secret, err := s.drafts.openSecret(c)
	if err != nil {
		return nil, err
	}
	if len(s.providers) > 1000 {
		s.providers = map[string]*openid.Provider{}
	}
	p := openid.New(openid.Config{Issuer: c.Issuer, ClientID: c.ClientID, Secret: secret, Scopes: c.Scopes,
		Params: c.Params, Redirect: s.Callback(c.ID), Client: s.client, Now: s.now})
	s.providers[key] = p
	return p, nil
}

// signedState is a request's id with a keyed hash behind it.
func (s *Service) signedState(id string) string {
	return id + "." + hex.EncodeToString(s.keys.Sum("sso-state", id)[:16])
}

const requestOfSQL = `
	SELECT connection_id, request_id, redirect_to, challenge, secrets, tester_id, used_at,
		expires_at
	FROM sso_requests
	WHERE id = $1`

func (s *Service) requestOf(ctx context.Context, state string) (q request, c *Connection, err error) {
	id, _, _ := strings.Cut(state, ".")
	id, ok := accounts.CanonicalID(id)
	if !ok || subtle.ConstantTimeCompare([]byte(s.signedState(id)), []byte(state)) != 1 {
		return q, nil, noRelay()
	}
	err = s.db.Read(ctx, everywhere, func(tx *db.Tx) error {
		err := tx.One(requestOfSQL, []any{id}, func(r *db.Row) error {
			q = request{id: id, connection: r.Text(0), samlID: r.Text(1), redirect: r.Text(2), challenge: r.Text(3),
				sealed: r.Bytes(4), tester: r.Text(5), used: !r.Null(6), expires: r.Time(7)}
			return nil
		})
		if fault.Is(err, fault.NotFound) {
			return noRelay()
		}
		if err != nil {
			return err
		}
		c, err = s.byID(tx, q.connection)
		return err
	})
	switch {
	case err != nil:
		return q, nil, err
	case q.used:
		return q, nil, usedRelay()
	case !s.now().Before(q.expires):
		return q, nil, fault.New(fault.Unprocessable, "saml_relay_state_expired", "The sign-in took too long; begin again")
	}
	return q, c, nil
}

func noRelay() error {
	return fault.New(fault.NotFound, "saml_relay_state_not_found", "This sign-in is not known here; begin again")
}

func usedRelay() error {
	return fault.New(fault.Invalid, "flow_state_already_used", "This sign-in was completed before")
}

// claimRequest marks a request used: it works once.
func (s *Service) claimRequest(tx *db.Tx, q request) error {
	n, err := tx.Exec(`
		UPDATE sso_requests
		SET used_at = $2
		WHERE id = $1
			AND used_at IS NULL`, q.id, s.now())
	if err == nil && n == 0 {
		return usedRelay()
	}
	return err
}
