package sso

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity"
	"holdfast/internal/identity/providers"
	"holdfast/internal/identity/redirect"
	"holdfast/internal/secrets"
	"holdfast/internal/sso/openid"
	"holdfast/internal/sso/samlsp"
)

// Response is a SAML response as it was posted.
type Response struct {
	SAMLResponse string // base64
	RelayState   string
}

// FinishSAML takes a response. Whatever goes wrong is told in a redirect: to
// the site where the request is unknown, else to its target.
func (s *Service) FinishSAML(ctx context.Context, in Response, who identity.Client) identity.Landing {
	target := s.ident.Links.Target()
	if !s.cfg.SAML {
		return s.misledLanding(target, samlOff())
	}
	raw, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(cutText(in.SAMLResponse, 2*samlsp.MaxXML)),
		""))
	if err != nil || len(raw) == 0 {
		return s.misledLanding(target, badResponse(err))
	}
	q, c, err := s.requestOf(ctx, in.RelayState)
	if err != nil {
		if q.id != "" || !fault.HasCode(err, "saml_relay_state_not_found") {
			return s.misledLanding(target, err)
		}
		return s.takeUnsolicited(ctx, raw, in.RelayState, who)
	}
	if c.Kind != SAML {
		return s.misledLanding(target, noRelay())
	}
	a, err := s.verifyResponse(ctx, c, raw, q.samlID)
	if err != nil {
		return s.failSignIn(ctx, c, q, arrival{}, err, who)
	}
	arr := samlArrival(a)
	return s.finishSignIn(ctx, c, q, arr, who, func(tx *db.Tx, f *identity.Federated) error {
		f.EndsAt = a.SessionEnd
		return s.storeAssertionID(tx, c, a)
	})
}

func (s *Service) misledLanding(target string, err error) identity.Landing {
	return identity.Landing{Location: s.ident.Federation.Misled(target, err)}
}

// badResponse keeps the reason for the log, the test result and the audit log;
// whoever forged a response learns nothing from the redirect.
func badResponse(err error) error {
	f := fault.Wrap(err, fault.Invalid, "validation_failed", "The SAML response is not valid")
	return f
}

// verifyResponse checks a response against the connection's metadata. When no
// certificate fits, the metadata may be behind the provider's rotation: they
// are read again, at most every five minutes.
func (s *Service) verifyResponse(
	ctx context.Context, c *Connection, raw []byte, requestID string,
) (*samlsp.Assertion, error) {
	w := samlsp.Want{EntityID: s.EntityID(), ACS: s.ACS(), RequestID: requestID, Now: s.now()}
	p, err := samlsp.Metadata([]byte(c.MetadataXML), w.Now)
	if err != nil {
		return nil, badResponse(err)
	}
	a, err := samlsp.Verify(raw, p, w)
	if errors.Is(err, samlsp.ErrSignature) && c.isStale(w.Now, metadataRetry) && s.renewMetadata(ctx, c) == nil {
		if p, err = samlsp.Metadata([]byte(c.MetadataXML), w.Now); err == nil {
			a, err = samlsp.Verify(raw, p, w)
		}
	}
	if errors.Is(err, samlsp.ErrNoName) {
		return nil, fault.Wrap(err, fault.Invalid, "saml_assertion_no_user_id",
			"The provider names no user; a persistent or e-mail name id is needed")
	}
	if err != nil {
		return nil, badResponse(err)
	}
	return a, nil
}

// storeAssertionID stores an assertion's id until it would be refused as expired: it is
// taken once (saml-profiles-2.0 section 4.1.4.5).
func (s *Service) storeAssertionID(tx *db.Tx, c *Connection, a *samlsp.Assertion) error {
	end := a.Expires
	if end.IsZero() {
		end = s.now().Add(s.cfg.RequestTTL)
	}
	n, err := tx.Exec(`
		INSERT INTO sso_replays (assertion_hash, expires_at)
		VALUES ($1, $2)
		ON CONFLICT (assertion_hash) DO NOTHING`,
		secrets.Digest(c.ID+"\x00"+a.ID), end.Add(time.Hour))
	if err == nil && n == 0 {
		return fault.New(fault.Invalid, "flow_state_already_used", "The SAML response was used before")
	}
	return err
}

// takeUnsolicited takes a response that nobody asked for, where the connection
// allows it. The issuer is read to choose the provider, which then has to have
// signed it; RelayState may name a target.
func (s *Service) takeUnsolicited(ctx context.Context, raw []byte, relay string, who identity.Client) identity.Landing {
	target := s.ident.Links.Target(relay)
	issuer, err := samlsp.Issuer(raw)
	if err != nil {
		return s.misledLanding(s.ident.Links.Target(), badResponse(err))
	}
	list, err := s.listAddressed(ctx, issuer, raw)
	if err != nil || len(list) == 0 {
		// One answer: which providers are known here is nobody's business.
		return s.misledLanding(s.ident.Links.Target(), noRelay())
	}
	c, a, err := findTaker(list, func(c *Connection) (*samlsp.Assertion, error) {
		return s.verifyResponse(ctx, c, raw, "")
	})
	q := request{redirect: target, connection: c.ID}
	if err != nil {
		return s.failSignIn(ctx, c, q, arrival{}, err, who)
	}
	return s.finishSignIn(ctx, c, q, samlArrival(a), who, func(tx *db.Tx, f *identity.Federated) error {
		f.EndsAt = a.SessionEnd
		return s.storeAssertionID(tx, c, a)
	})
}

// listAddressed lists the connections that a response nobody asked for may be meant
// for: of its issuer, which any tenant may name, those that proved the domain of an
// address in it. A domain is one connection's, so a tenant that copies another's
// provider takes none of its people.
func (s *Service) listAddressed(ctx context.Context, issuer string, raw []byte) (list []*Connection, err error) {
	addresses, err := samlsp.Addresses(raw)
	if err != nil {
		return nil, err
	}
	domains := []string{}
	for _, a := range addresses {
		_, d, _ := strings.Cut(a, "@")
		if d, err := canonicalDomain(d); err == nil {
			domains = append(domains, d)
		}
	}
	err = s.db.Read(ctx, everywhere, func(tx *db.Tx) (err error) {
		list, err = s.findConnections(tx,
			"WHERE c.issuer = $1 AND c.kind = 'saml' AND c.status = 'active' AND c.allow_unsolicited = $2 AND EXISTS "+
				"(SELECT 1 FROM sso_domains d WHERE d.connection_id = c.id AND d.verified_at IS NOT NULL AND "+
				tx.DB().InText("d.domain", 3)+") ORDER BY c.id",
			issuer, true, asJSON(domains))
		return err
	})
	return list, err
}

// findTaker verifies a response by each connection it may be meant for and returns
// the one that has a place for its person; of none, and of two, the first and why.
func findTaker(
	list []*Connection, verify func(*Connection) (*samlsp.Assertion, error),
) (*Connection, *samlsp.Assertion, error) {
	var found *Connection
	var held *samlsp.Assertion
	var refused error
	for _, c := range list {
		a, err := verify(c)
		if err == nil {
			_, err = c.mapPerson(samlArrival(a))
		}
		switch {
		case err != nil && refused == nil:
			refused = err
		case err == nil && found != nil:
			return list[0], nil, badResponse(errors.New("the response names people of two tenants"))
		case err == nil:
			found, held = c, a
		}
	}
	if found == nil {
		return list[0], nil, refused
	}
	return found, held, nil
}

// Answer is what an OpenID provider's redirect brought back.
type Answer struct {
	Connection, State, Code, Error, Description, Issuer string
}

// FinishOIDC takes an OpenID provider's answer.
func (s *Service) FinishOIDC(ctx context.Context, in Answer, who identity.Client) identity.Landing {
	q, c, err := s.requestOf(ctx, in.State)
	if err == nil && (c.Kind != OIDC || !strings.EqualFold(q.connection, in.Connection)) {
		err = noRelay() // the answer of one provider at another's door
	}
	if err != nil {
		return s.misledLanding(s.ident.Links.Target(), err)
	}
	if err := s.db.Write(ctx, everywhere, func(tx *db.Tx) error { return s.claimRequest(tx, q) }); err != nil {
		return s.misledLanding(s.ident.Links.Target(), err)
	}
	claims, err := s.redeemCode(ctx, c, q, in)
	if err != nil {
		return s.failSignIn(ctx, c, q, arrival{}, err, who)
	}
	q.used = true
	return s.finishSignIn(ctx, c, q, oidcArrival(claims), who, func(*db.Tx, *identity.Federated) error { return nil })
}

func (s *Service) redeemCode(ctx context.Context, c *Connection, q request, in Answer) (map[string]any, error) {
	switch {
	case c.Disabled && q.tester == "":
		return nil, refuseDisabled()
	case in.Error != "":
		return nil, fault.New(fault.Forbidden, "access_denied", "%s", cutText(in.Error+": "+in.Description, 200))
	case in.Code == "" || len(in.Code) > 4096:
		return nil, fault.New(fault.Invalid, "bad_oauth_callback", "OAuth callback with missing authorization code")
	}
	plain, err := s.keys.Open(secrets.RequestSecrets, q.sealed, q.id)
	if err != nil {
		return nil, err
	}
	var sec openid.Secrets
	if err := json.Unmarshal(plain, &sec); err != nil {
		return nil, err
	}
	p, err := s.openProvider(c)
	if err != nil {
		return nil, err
	}
	claims, err := p.Redeem(ctx, in.Code, in.Issuer, sec)
	return claims, classifyAnswer(err)
}

// failSignIn tells of a sign-in that did not come to pass: in the audit log, in
// the test result, and to the browser.
func (s *Service) failSignIn(
	ctx context.Context, c *Connection, q request, in arrival, err error, who identity.Client,
) identity.Landing {
	cause := reasonOf(err)
	if inner := errors.Unwrap(fault.As(err)); inner != nil && fault.As(err).Kind != fault.Internal {
		cause += ": " + inner.Error()
	}
	if noted := s.auditRefusal(ctx, c, cause, who); noted != nil {
		s.cfg.Log.Error("audit row not written", "error", noted)
	}
	if q.tester != "" {
		told := fault.New(fault.Invalid, "validation_failed", "%s", cutText(strings.ReplaceAll(cause, "samlsp: ", ""), 300))
		return s.finishTest(ctx, c, q, in, told)
	}
	return s.misledLanding(q.redirect, err)
}

// finishSignIn ends a sign-in whose answer was verified.
func (s *Service) finishSignIn(ctx context.Context, c *Connection, q request, in arrival, who identity.Client,
	extra func(tx *db.Tx, f *identity.Federated) error) identity.Landing {
	if q.tester != "" {
		return s.finishTest(ctx, c, q, in, nil)
	}
	land, err := s.ident.Federation.Arrive(ctx, identity.Arrival{Target: q.redirect, Challenge: q.challenge,
		Person: func(tx *db.Tx) (identity.Federated, error) {
			now, err := s.byID(tx, c.ID)
			if err != nil {
				return identity.Federated{}, err
			}
			if now.Disabled {
				return identity.Federated{}, refuseDisabled()
			}
			f, err := now.mapPerson(in)
			if err != nil {
				return f, err
			}
			if q.id != "" && !q.used {
				if err := s.claimRequest(tx, q); err != nil {
					return f, err
				}
			}
			if err := extra(tx, &f); err != nil {
				return f, err
			}
			return f, findProvisioned(tx, now, &f)
		}}, who)
	if err != nil {
		return s.failSignIn(ctx, c, q, in, err, who)
	}
	return land
}

// findProvisioned finds the account that SCIM made for a person before the first
// sign-in, and adds the groups that SCIM put it in. Whose account SCIM removed
// leaves it for one that was made since.
func findProvisioned(tx *db.Tx, c *Connection, f *identity.Federated) error {
	const mine = " WHERE provider = $1 AND issuer = $2 AND subject = $3"
	subject := []any{providers.FederatedProvider(c.ID), c.Issuer, f.Subject}
	known, removed := "", false
	err := tx.One(db.FillWords(`
		SELECT i.user_id, a.deleted_at
		FROM identities i
		LEFT JOIN sso_accounts a ON a.user_id = i.user_id {mine}`, "{mine}", mine), subject, func(r *db.Row) error {
		known, removed = r.Text(0), !r.Null(1)
		return nil
	})
	if fault.Is(err, fault.NotFound) || err == nil && removed {
		err = tx.One(`SELECT a.user_id FROM sso_accounts a WHERE a.connection_id = $1 AND a.deleted_at IS NULL AND a.provisioned = $2
			AND (a.user_name = $3 OR a.user_name = $4)
			AND NOT EXISTS (SELECT 1 FROM identities i WHERE i.user_id = a.user_id) ORDER BY a.created_at NULLS LAST LIMIT 1`,
			[]any{c.ID, true, strings.ToLower(f.Subject), f.Email}, func(r *db.Row) error {
				known = r.Text(0)
				return nil
			})
		if err == nil {
			f.Account = known
			tx.Queue(db.FillWords(`
				DELETE FROM identities {mine}`, "{mine}", mine), subject, nil)
		}
	}
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	groups, err := scimGroups(tx, known)
	if err != nil {
		return err
	}
	f.Role, f.Ruled = c.roleOf(slices.Concat(f.Groups, groups))
	return nil
}

func scimGroups(tx *db.Tx, userID string) (out []string, err error) {
	err = tx.Query(`
		SELECT g.display_name
		FROM sso_group_members m
		JOIN sso_groups g ON g.id = m.group_id
		WHERE m.user_id = $1`, []any{userID},
		func(r *db.Row) error {
			out = append(out, r.Text(0))
			return nil
		})
	return out, err
}

// finishTest stores what a test sign-in brought and leads back to the site.
func (s *Service) finishTest(ctx context.Context, c *Connection, q request, in arrival, failed error) identity.Landing {
	result := c.testResult(in, failed)
	err := s.db.Write(ctx, everywhere, func(tx *db.Tx) error {
		if !q.used {
			if err := s.claimRequest(tx, q); err != nil && failed == nil {
				return err
			}
		}
		tx.Queue(`
			UPDATE sso_connections
			SET last_test = $3, last_test_at = $4
			WHERE tenant_id = $1
				AND id = $2`,
			[]any{c.TenantID, c.ID, string(result), s.now()}, nil)
		s.writeAudit(tx, c, actor.Actor{UserID: q.tester}, "sso.tested", nil)
		return tx.Flush()
	})
	if err != nil {
		return s.misledLanding(q.redirect, err)
	}
	outcome := "ok"
	if strings.HasPrefix(string(result), `{"outcome":"failed"`) {
		outcome = "failed"
	}
	return identity.Landing{Location: redirect.WithQuery(q.redirect,
		url.Values{"sso_test": {outcome}, "connection": {c.ID}})}
}
