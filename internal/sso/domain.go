package sso

import (
	"context"
	"crypto/subtle"
	"slices"
	"strings"
	"time"

	"holdfast/internal/access"
	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/accounts"
	"holdfast/internal/identity/gotruetime"
	"holdfast/internal/identity/mailtemplate"
	"holdfast/internal/secrets"
)

// Domain is an e-mail domain a connection claims. It counts once it is proved.
type Domain struct {
	Domain     string          `json:"domain"`
	VerifiedAt gotruetime.Time `json:"verified_at,omitzero"`
	Method     string          `json:"method,omitempty"`    // dns, email or operator
	DNSName    string          `json:"dns_name,omitempty"`  // where the TXT record has to stand
	DNSValue   string          `json:"dns_value,omitempty"` // and what it has to say

	id, codeHash string
}

const (
	dnsLabel = "_holdfast-challenge."
	dnsWord  = "holdfast-domain-verification="
	// codeLife and maxAttempts bound the guesses at a mailed code.
	codeLife    = 10 * time.Minute
	maxAttempts = 5
	maxDomains  = 50
	// What the postmaster of a domain gets, and what a tenant has mailed, of
	// codes: whoever signs up may ask for them in the name of any domain.
	codeInterval = time.Minute
	codeDay      = 24 * time.Hour
	domainCodes  = 5
	tenantCodes  = 20
)

const domainColumns = "d.id, d.domain, d.verified_at, d.method, d.token, d.code_hash, d.connection_id"

func scanDomain(r *db.Row) (d Domain, owner string) {
	d = Domain{id: r.Text(0), Domain: r.Text(1), VerifiedAt: gotruetime.Time{Time: r.Time(2)}, Method: r.Text(3),
		codeHash: r.Text(5)}
	if d.VerifiedAt.IsZero() {
		d.DNSName, d.DNSValue = dnsLabel+d.Domain, dnsWord+r.Text(4)
	}
	return d, r.Text(6)
}

// canonicalDomain accepts a domain of at least two labels, in lower case.
func canonicalDomain(raw string) (string, error) {
	addr, err := accounts.Canonical("postmaster@" + strings.TrimSuffix(strings.TrimSpace(raw), "."))
	_, d, _ := strings.Cut(addr, "@")
	if err != nil || !strings.Contains(d, ".") || strings.HasPrefix(d, "[") {
		return "", refuseInvalid("domain %.80q is not a domain name", raw)
	}
	return d, nil
}

const setDomainsSQL = `
	INSERT INTO sso_domains (id, domain, tenant_id, connection_id, token, code_attempts, created_at)
	VALUES ($1, $2, $3, $4, $5, 0, $6)`

const deleteSsoNamesSQL = `
	DELETE FROM sso_names
	WHERE tenant_id = $1 AND connection_id = $2 AND NOT EXISTS (SELECT 1
		FROM sso_domains
		WHERE sso_domains.connection_id = $2 AND sso_domains.verified_at IS NOT NULL)`

// setDomains makes the claimed domains exactly these; nil leaves them. The
// operator's word, by service key, proves them.
func (s *Service) setDomains(tx *db.Tx, c *Connection, a actor.Actor, want *[]string) error {
	if want == nil {
		return nil
	}
	if len(*want) > maxDomains {
		return refuseInvalid("more than %d domains", maxDomains)
	}
	var list []string
	for _, raw := range *want {
		d, err := canonicalDomain(raw)
		if err != nil {
			return err
		}
		if !slices.Contains(list, d) {
			list = append(list, d)
		}
	}
	for _, d := range c.Domains {
		if !slices.Contains(list, d.Domain) {
			tx.Queue("DELETE FROM sso_domains WHERE connection_id = $1 AND domain = $2", []any{c.ID, d.Domain}, nil)
			s.writeAudit(tx, c, a, "sso.domain_removed", map[string]any{"domain": d.Domain})
		}
	}
	for _, d := range list {
		if slices.ContainsFunc(c.Domains, func(h Domain) bool { return h.Domain == d }) {
			continue
		}
		id := db.NewID()
		tx.Queue(setDomainsSQL, []any{id, d, c.TenantID, c.ID, secrets.RandomHex(16), s.now()}, nil)
		if a.Role != actor.Service {
			continue
		}
		if err := s.proveDomain(tx, c, a, Domain{id: id, Domain: d}, "operator"); err != nil {
			return err
		}
	}
	if a.Role != actor.Service {
		// Whose last proved domain is gone leaves its name to others.
		tx.Queue(deleteSsoNamesSQL, []any{c.TenantID, c.ID}, nil)
	}
	return tx.Flush()
}

// proveDomain marks a domain as the connection's. Of two that claim it, the first to
// prove it has it. The connection is read again under its lock, or one that is
// enforced at this moment would miss the domain.
func (s *Service) proveDomain(tx *db.Tx, c *Connection, a actor.Actor, d Domain, method string) error {
	c, err := s.findOne(tx, "WHERE c.id = $1"+tx.DB().ForUpdate(), c.ID)
	if err != nil {
		return err
	}
	d.VerifiedAt = gotruetime.Time{Time: s.now()}
	_, err = tx.Exec(`
		UPDATE sso_domains
		SET verified_at = $2, method = $3, code_hash = NULL
		WHERE id = $1`, d.id,
		d.VerifiedAt.Time, method)
	if fault.HasCode(err, "23505") {
		return fault.Wrap(err, fault.Invalid, "sso_domain_already_exists", "Domain %s belongs to another provider", d.Domain)
	}
	if err != nil {
		return err
	}
	if err := claimName(tx, c, a, false); err != nil {
		return err
	}
	s.writeAudit(tx, c, a, "sso.domain_proved", map[string]any{"domain": d.Domain, "method": method})
	if !c.Enforced || c.Disabled {
		return nil
	}
	return s.endOthers(tx, c, d)
}

func (s *Service) readClaimed(ctx context.Context, a actor.Actor, id, domain string) (*Connection, Domain, error) {
	name, err := canonicalDomain(domain)
	if err != nil {
		return nil, Domain{}, err
	}
	c, err := s.Get(ctx, a, id)
	if err != nil {
		return nil, Domain{}, err
	}
	for _, d := range c.Domains {
		if d.Domain == name {
			return c, d, nil
		}
	}
	return nil, Domain{}, fault.New(fault.NotFound, "sso_provider_not_found", "The connection does not claim this domain")
}

// ProveByDNS looks for the TXT record that only the owner of the domain can
// have made.
func (s *Service) ProveByDNS(ctx context.Context, a actor.Actor, id, domain string) (*Connection, error) {
	c, d, err := s.readClaimed(ctx, a, id, domain)
	if err != nil || !d.VerifiedAt.IsZero() {
		return c, err
	}
	ask, cancel := context.WithTimeout(ctx, 8*time.Second)
	defer cancel()
	records, err := s.cfg.Resolver.LookupTXT(ask, d.DNSName)
	if err != nil || !slices.ContainsFunc(records, func(r string) bool { return strings.TrimSpace(r) == d.DNSValue }) {
		return nil, fault.Wrap(err, fault.Unprocessable, "validation_failed",
			"There is no TXT record %s with the value %s yet", d.DNSName, d.DNSValue)
	}
	err = s.db.Write(ctx, everywhere, func(tx *db.Tx) error { return s.proveDomain(tx, c, a, d, "dns") })
	if err != nil {
		return nil, err
	}
	return s.Get(ctx, a, id)
}

// MailCode sends a code to postmaster of the domain (RFC 2142 section 5 says
// that the mailbox exists), for those who cannot reach their DNS.
func (s *Service) MailCode(ctx context.Context, a actor.Actor, id, domain string) error {
	c, d, err := s.readClaimed(ctx, a, id, domain)
	if err != nil || !d.VerifiedAt.IsZero() {
		return err
	}
	now, code := s.now(), secrets.RandomHex(16)
	err = s.db.Write(ctx, everywhere, func(tx *db.Tx) error {
		if err := s.countCode(tx, "domain:"+d.Domain, codeInterval, domainCodes); err != nil {
			return err
		}
		if err := s.countCode(tx, "tenant:"+c.TenantID, 0, tenantCodes); err != nil {
			return err
		}
		tx.Queue(`
			UPDATE sso_domains
			SET code_hash = $2, code_expires_at = $3, code_attempts = 0
			WHERE id = $1
				AND verified_at IS NULL`,
			[]any{d.id, secrets.Digest(code), now.Add(codeLife)}, nil)
		s.writeAudit(tx, c, a, "sso.domain_code_mailed", map[string]any{"domain": d.Domain})
		return tx.Flush()
	})
	if err != nil {
		return err
	}
	return s.ident.Post.Deliver(ctx,
		mailtemplate.Letter{Kind: mailtemplate.SSODomain, TenantID: c.TenantID, To: "postmaster@" + d.Domain, Other: d.Domain,
			Code: code, Valid: codeLife})
}

// countCode counts a mail of key, and refuses it sooner than interval after the
// last, or as one more than most in a day.
func (s *Service) countCode(tx *db.Tx, key string, interval time.Duration, most int) error {
	now := s.now()
	n, err := tx.Exec(`INSERT INTO sso_code_mails (counted_for, sent, since, sent_at) VALUES ($1, 1, $2, $2) ON CONFLICT (counted_for) DO UPDATE SET
		sent = CASE WHEN sso_code_mails.since <= $3 THEN 1 ELSE sso_code_mails.sent + 1 END,
			since = CASE WHEN sso_code_mails.since <= $3 THEN excluded.since ELSE sso_code_mails.since END,
		sent_at = excluded.sent_at WHERE sso_code_mails.sent_at <= $4 AND (sso_code_mails.since <= $3 OR sso_code_mails.sent < $5)`,
		key, now, now.Add(-codeDay), now.Add(-interval), most)
	if err != nil || n > 0 {
		return err
	}
	return s.overCode(tx, key, interval, most)
}

// overCode refuses a mail of key, and says when it may come.
func (s *Service) overCode(tx *db.Tx, key string, interval time.Duration, most int) error {
	now, opens, allowed := s.now(), time.Time{}, 1
	err := tx.One(`
		SELECT sent, since, sent_at
		FROM sso_code_mails
		WHERE counted_for = $1`, []any{key},
		func(r *db.Row) error {
			opens = r.Time(2).Add(interval)
			if day := r.Time(1).Add(codeDay); r.Int(0) >= int64(most) && day.After(opens) {
				opens, allowed = day, most
			}
			return nil
		})
	if err != nil {
		return err
	}
	f := fault.New(fault.Limited, "over_email_send_rate_limit",
		"For security purposes, you can only request this once a minute and a few times a day; a TXT record proves the domain too")
	f.RetryAfter = max(opens.Sub(now), time.Second)
	access.Explain(f, allowed, now.Add(f.RetryAfter))
	return f
}

const proveByCodeSQL = `
	UPDATE sso_domains
	SET code_attempts = code_attempts + 1
	WHERE id = $1 AND code_hash IS NOT NULL AND code_expires_at > $2 AND code_attempts < $3`

// ProveByCode takes the code that was mailed.
func (s *Service) ProveByCode(ctx context.Context, a actor.Actor, id, domain, code string) (*Connection, error) {
	c, d, err := s.readClaimed(ctx, a, id, domain)
	if err != nil || !d.VerifiedAt.IsZero() {
		return c, err
	}
	wrong := fault.New(fault.Forbidden, "otp_expired", "Token has expired or is invalid")
	var refused error
	err = s.db.Write(ctx, everywhere, func(tx *db.Tx) error {
		refused = nil
		// The attempt is counted before the code is looked at.
		n, err := tx.Exec(proveByCodeSQL, d.id, s.now(), maxAttempts)
		if err != nil {
			return err
		}
		if n == 0 || subtle.ConstantTimeCompare([]byte(secrets.Digest(code)), []byte(d.codeHash)) != 1 {
			refused = wrong
			return nil
		}
		return s.proveDomain(tx, c, a, d, "email")
	})
	if err == nil {
		err = refused
	}
	if err != nil {
		return nil, err
	}
	return s.Get(ctx, a, id)
}
