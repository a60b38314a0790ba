package sessions

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/accounts"
	"holdfast/internal/identity/keyring"
	"holdfast/internal/identity/tenants"
)

// ServiceAccounts are the machines that work for tenants. A tenant's
// administrators keep them; none reaches identity, whatever its role.
type ServiceAccounts struct {
	*accounts.Base
	Keyring *keyring.Keyring
	Proofs  *accounts.Proofs
}

// How many there may be: enough for a warehouse, too few to fill a database.
const (
	maxAccounts    = 100
	maxAccountKeys = 5 // of an account that are valid at once
	maxScopes      = 300
	maxPlaces      = 50
)

// ServiceAccount is a machine that works for a tenant.
type ServiceAccount struct {
	ID        string         `json:"id"`
	Name      string         `json:"name"`
	Role      actor.Role     `json:"role"`
	Scopes    []string       `json:"scopes"`
	Addresses []string       `json:"addresses"` // or prefixes it is taken from; none = from anywhere
	ExpiresAt *accounts.Time `json:"expires_at"`
	CreatedAt accounts.Time  `json:"created_at"`
	CreatedBy string         `json:"created_by,omitempty"`
	UpdatedAt accounts.Time  `json:"updated_at"`
	Keys      []ServiceKey   `json:"keys"` // newest first
}

// ServiceKey is a key of a service account.
type ServiceKey struct {
	ID           string         `json:"id"`
	State        string         `json:"state"` // active, retiring (until revoked_at), expired, revoked
	CreatedAt    accounts.Time  `json:"created_at"`
	CreatedBy    string         `json:"created_by,omitempty"`
	ExpiresAt    *accounts.Time `json:"expires_at"`
	RevokedAt    *accounts.Time `json:"revoked_at"`
	LastUsedAt   *accounts.Time `json:"last_used_at"` // a minute exact
	LastUsedFrom string         `json:"last_used_from,omitempty"`
	Secret       string         `json:"secret,omitempty"` // answered once, when it is made
}

// AccountChange is what an administrator says of a service account; nil leaves
// a member as it is.
type AccountChange struct {
	Name      *string    `json:"name"`
	Role      actor.Role `json:"role"`
	Scopes    []string   `json:"scopes"`
	Addresses []string   `json:"addresses"`
	ExpiresAt *string    `json:"expires_at"` // RFC 3339; "" = never
}

// GrantableScopes lists the words that a key may be given: records and work of
// the tenant. What identity is made of (members, invitations, settings,
// providers, webhooks, the log) is no key's.
func GrantableScopes(c *catalog.Catalog, verbs, functions []string) []string {
	var out []string
	for _, r := range c.All() {
		if r.Family == "platform" && r.Name != "import_jobs" {
			continue
		}
		if len(r.Access.Read) > 0 {
			out = append(out, r.Name+":read")
		}
		if len(r.Access.Create)+len(r.Access.Update)+len(r.Access.Delete) > 0 {
			out = append(out, r.Name+":write")
		}
	}
	for _, v := range verbs {
		out = append(out, "rpc:"+v)
	}
	for _, f := range functions {
		out = append(out, "functions:"+f)
	}
	slices.Sort(out)
	return out
}

// requireAdministrator lets an administrator's session through that has both factors and a
// fresh proof.
func (s *ServiceAccounts) requireAdministrator(a actor.Actor, writes bool) error {
	switch {
	case a.Scope != nil || a.SessionID == "" || !a.Administrator() || a.TenantID == "":
		return fault.New(fault.Forbidden, "not_admin", "Only an administrator of the tenant keeps its service accounts")
	case !writes:
		return nil
	case a.Suspended:
		return fault.New(fault.Forbidden, "not_admin", "The tenant is suspended")
	case a.AAL != accounts.AAL2:
		return fault.New(fault.Forbidden, "insufficient_aal",
			"AAL2 required to change keys: enrol a second factor or verify the one you have, then try again")
	}
	return s.Proofs.Admit(a)
}

// List returns the tenant's service accounts by name, each with its keys.
func (s *ServiceAccounts) List(ctx context.Context, a actor.Actor) (list []ServiceAccount, err error) {
	if err := s.requireAdministrator(a, false); err != nil {
		return nil, err
	}
	err = s.DB.Read(ctx, accounts.Everywhere, func(tx *db.Tx) error {
		list, err = s.readAccounts(tx, a.TenantID, "")
		return err
	})
	return list, err
}

// readAccounts returns the accounts of a tenant, or the one with an id.
func (s *ServiceAccounts) readAccounts(tx *db.Tx, tenant, id string) ([]ServiceAccount, error) {
	list := []ServiceAccount{}
	at := map[string]int{}
	now, args, one := s.Now(), []any{tenant}, ""
	if id != "" {
		args, one = append(args, id), " AND a.id = $2"
	}
	tx.Queue(db.FillWords(`
		SELECT id, name, role, scopes, addresses, expires_at, created_at, created_by, updated_at
		FROM service_accounts a
		WHERE tenant_id = $1
			AND removed_at IS NULL {one}
		ORDER BY name NULLS LAST, id`, "{one}", one), args, func(r *db.Row) error {
		x := ServiceAccount{ID: r.Text(0), Name: r.Text(1), Role: actor.Role(r.Text(2)), ExpiresAt: optionalTime(r, 5),
			CreatedAt: accounts.Time{Time: r.Time(6)},
			CreatedBy: r.Text(7), UpdatedAt: accounts.Time{Time: r.Time(8)}, Keys: []ServiceKey{}}
		at[x.ID], list = len(list), append(list, x)
		last := &list[len(list)-1]
		if err := json.Unmarshal([]byte(r.Text(3)), &last.Scopes); err != nil {
			return err
		}
		return json.Unmarshal([]byte(r.Text(4)), &last.Addresses)
	})
	tx.Queue(db.FillWords(`
		SELECT k.account_id, k.id, k.created_at, k.created_by, k.expires_at, k.revoked_at, k.last_used_at,
			k.last_used_from
		FROM service_keys k
		JOIN service_accounts a ON a.tenant_id = k.tenant_id AND a.id = k.account_id
		WHERE k.tenant_id = $1
			AND a.removed_at IS NULL {one}
		ORDER BY k.created_at DESC NULLS LAST, k.id DESC`, "{one}", one), args, func(r *db.Row) error {
		k := ServiceKey{ID: r.Text(1), CreatedAt: accounts.Time{Time: r.Time(2)}, CreatedBy: r.Text(3),
			ExpiresAt: optionalTime(r, 4), RevokedAt: optionalTime(r, 5),
			LastUsedAt: optionalTime(r, 6), LastUsedFrom: r.Text(7)}
		k.State = stateOf(r.Time(4), r.Time(5), now)
		if i, ok := at[r.Text(0)]; ok {
			list[i].Keys = append(list[i].Keys, k)
		}
		return nil
	})
	return list, tx.Flush()
}

func optionalTime(r *db.Row, i int) *accounts.Time {
	if r.Null(i) {
		return nil
	}
	return &accounts.Time{Time: r.Time(i)}
}

func stateOf(expires, revoked, now time.Time) string {
	switch {
	case !revoked.IsZero() && !now.Before(revoked):
		return "revoked"
	case !expires.IsZero() && !now.Before(expires):
		return "expired"
	case !revoked.IsZero():
		return "retiring"
	}
	return "active"
}

// checked is an AccountChange that was read.
type checked struct {
	scopes, addresses any // JSON; nil = as it is
	expires           time.Time
}

func (s *ServiceAccounts) checkChange(a actor.Actor, in *AccountChange, grantable []string) (out checked, err error) {
	invalid := func(field, text string) error {
		return fault.New(fault.Invalid, "validation_failed", "%s: %s", field, text).At(field, "%s", text)
	}
	if in.Name != nil {
		if *in.Name = strings.TrimSpace(*in.Name); *in.Name == "" || len(*in.Name) > 100 ||
			strings.ContainsFunc(*in.Name, func(r rune) bool { return r < ' ' }) {
			return out, invalid("name", "1 to 100 characters")
		}
	}
	if in.Role != "" {
		if in.Role == actor.Owner {
			return out, invalid("role", "a machine owns no tenant")
		}
		if err := tenants.MayGrant(a.Role, in.Role); err != nil {
			return out, err
		}
	}
	if in.Scopes != nil {
		slices.Sort(in.Scopes)
		in.Scopes = slices.Compact(in.Scopes)
		for _, w := range in.Scopes {
			if _, ok := slices.BinarySearch(grantable, w); !ok {
				return out, invalid("scopes", fmt.Sprintf("there is no scope %q", accounts.CutText(w, 80)))
			}
		}
		if len(in.Scopes) > maxScopes {
			return out, invalid("scopes", fmt.Sprintf("at most %d", maxScopes))
		}
		out.scopes = listText(in.Scopes)
	}
	if in.Addresses != nil {
		for i, text := range in.Addresses {
			p, ok := parsePrefix(text)
			if !ok {
				return out, invalid("addresses", fmt.Sprintf("%q is no address or prefix", accounts.CutText(text, 60)))
			}
			in.Addresses[i] = p.String()
		}
		if len(in.Addresses) > maxPlaces {
			return out, invalid("addresses", fmt.Sprintf("at most %d", maxPlaces))
		}
		out.addresses = listText(in.Addresses)
	}
	out.expires, err = s.parseEnd(in.ExpiresAt)
	return out, err
}

func listText(v []string) string {
	b, _ := json.Marshal(v) // texts cannot fail
	return string(b)
}

// parsePrefix reads an address or a prefix.
func parsePrefix(text string) (netip.Prefix, bool) {
	if a, err := netip.ParseAddr(text); err == nil && a.Zone() == "" {
		a = a.Unmap()
		return netip.PrefixFrom(a, a.BitLen()), true
	}
	p, err := netip.ParsePrefix(text)
	return p.Masked(), err == nil
}

// parseEnd reads when something expires; zero = never.
func (s *ServiceAccounts) parseEnd(text *string) (time.Time, error) {
	if text == nil || *text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, *text)
	if err != nil || !at.After(s.Now()) {
		return at, fault.New(fault.Invalid, "validation_failed",
			"expires_at: a time to come, as 2030-01-31T00:00:00Z").At("expires_at", "not a time to come")
	}
	return at.UTC().Truncate(time.Microsecond), nil
}

func nullableTime(at time.Time) any {
	if at.IsZero() {
		return nil
	}
	return at
}

const createSQL = `
	INSERT INTO service_accounts (tenant_id, id, name, role, scopes, addresses, expires_at, created_at,
		created_by, updated_at)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $8)`

// Create makes a service account without keys. scopes are the grantable ones.
func (s *ServiceAccounts) Create(
	ctx context.Context, a actor.Actor, in AccountChange, grantable []string,
) (ServiceAccount, error) {
	if err := s.requireAdministrator(a, true); err != nil {
		return ServiceAccount{}, err
	}
	for field, missing := range map[string]bool{"name": in.Name == nil, "role": in.Role == "",
		"scopes": in.Scopes == nil} {
		if missing {
			return ServiceAccount{}, fault.New(fault.Invalid, "validation_failed", "%s is required", field).At(field,
				"is required")
		}
	}
	if in.Addresses == nil {
		in.Addresses = []string{}
	}
	c, err := s.checkChange(a, &in, grantable)
	if err != nil {
		return ServiceAccount{}, err
	}
	id := db.NewID()
	return s.changeAccount(ctx, a, id, "service_account.created", in, func(tx *db.Tx) error {
		n := int64(0)
		err := tx.One(`
			SELECT COUNT(*)
			FROM service_accounts
			WHERE tenant_id = $1
				AND removed_at IS NULL`, []any{a.TenantID},
			func(r *db.Row) error {
				n = r.Int(0)
				return nil
			})
		if err == nil && n >= maxAccounts {
			err = fault.New(fault.Unprocessable, "validation_failed", "A tenant has at most %d service accounts", maxAccounts)
		}
		if err != nil {
			return err
		}
		_, err = tx.Exec(createSQL,
			a.TenantID, id, *in.Name, string(in.Role), c.scopes, c.addresses, nullableTime(c.expires), s.Now(), a.UserID)
		return err
	})
}

// Change changes a service account; its keys follow within five seconds on
// every node, here at once.
func (s *ServiceAccounts) Change(
	ctx context.Context, a actor.Actor, id string, in AccountChange, grantable []string,
) (ServiceAccount, error) {
	if err := s.requireAdministrator(a, true); err != nil {
		return ServiceAccount{}, err
	}
	c, err := s.checkChange(a, &in, grantable)
	if err != nil {
		return ServiceAccount{}, err
	}
	return s.changeAccount(ctx, a, id, "service_account.changed", in, func(tx *db.Tx) error {
		if err := s.lockAccount(tx, a, id); err != nil {
			return err
		}
		if in.ExpiresAt != nil {
			tx.Queue(`
				UPDATE service_accounts
				SET expires_at = $3
				WHERE tenant_id = $1
					AND id = $2`,
				[]any{a.TenantID, id, nullableTime(c.expires)}, nil)
		}
		_, err := tx.Exec(`UPDATE service_accounts SET name = COALESCE($3, name), role = COALESCE($4, role), scopes = COALESCE($5, scopes),
			addresses = COALESCE($6, addresses), updated_at = $7 WHERE tenant_id = $1 AND id = $2`,
			a.TenantID, id, in.Name, db.Null(string(in.Role)), c.scopes, c.addresses, s.Now())
		return err
	})
}

const lockAccountSQL = `
	SELECT role
	FROM service_accounts
	WHERE tenant_id = $1 AND id = $2 AND removed_at IS NULL
	{for update}`

// lockAccount locks an account and refuses an administrator whose role is below its;
// another tenant's is missing.
func (s *ServiceAccounts) lockAccount(tx *db.Tx, a actor.Actor, id string) error {
	var role actor.Role
	err := tx.One(lockAccountSQL, []any{a.TenantID, id},
		func(r *db.Row) error { role = actor.Role(r.Text(0)); return nil })
	if fault.Is(err, fault.NotFound) {
		return errNoAccount()
	}
	if err == nil && tenants.Rank(a.Role) > tenants.Rank(role) {
		err = tenants.ErrAbove()
	}
	return err
}

func errNoAccount() error {
	return fault.New(fault.NotFound, "not_found", "There is no such service account")
}

// changeAccount runs fn, notes it and returns the account as it is then.
func (s *ServiceAccounts) changeAccount(ctx context.Context, a actor.Actor, id, action string, in AccountChange,
	fn func(*db.Tx) error) (out ServiceAccount, err error) {
	details := map[string]any{}
	for name, v := range map[string]any{"name": in.Name, "expires_at": in.ExpiresAt} {
		if p, _ := v.(*string); p != nil {
			details[name] = *p
		}
	}
	if in.Role != "" {
		details["role"] = in.Role
	}
	if in.Scopes != nil {
		details["scopes"] = in.Scopes
	}
	if in.Addresses != nil {
		details["addresses"] = in.Addresses
	}
	err = s.Write(ctx, func(tx *db.Tx) error {
		if err := fn(tx); err != nil {
			return err
		}
		s.auditChange(tx, a, accounts.Event{Action: action, Entity: "service_account", EntityID: id, Details: details})
		list, err := s.readAccounts(tx, a.TenantID, id)
		if err == nil && len(list) == 1 {
			out = list[0]
		}
		return err
	})
	if fault.Is(err, fault.Conflict) {
		err = fault.New(fault.Conflict, "conflict", "The tenant has a service account of this name").At("name", "is taken")
	}
	return out, err
}

// auditChange records what an administrator did, and makes what is kept of keys go.
func (s *ServiceAccounts) auditChange(tx *db.Tx, a actor.Actor, e accounts.Event) {
	e.Tenant, e.User, e.Key, e.Client = a.TenantID, a.UserID, a.KeyID, accounts.ClientOf(a)
	s.Audit(tx, e)
	tx.After(func() { s.Forget(e.EntityID) })
}

// Remove takes an account away, and with it its keys.
func (s *ServiceAccounts) Remove(ctx context.Context, a actor.Actor, id string) error {
	if err := s.requireAdministrator(a, true); err != nil {
		return err
	}
	return s.Write(ctx, func(tx *db.Tx) error {
		if err := s.lockAccount(tx, a, id); err != nil {
			return err
		}
		now := s.Now()
		tx.Queue(`
			UPDATE service_accounts
			SET removed_at = $3, updated_at = $3
			WHERE tenant_id = $1
				AND id = $2`,
			[]any{a.TenantID, id, now}, nil)
		revokeKeys(tx, a.TenantID, id, now)
		s.auditChange(tx, a, accounts.Event{Action: "service_account.removed", Entity: "service_account", EntityID: id})
		return tx.Flush()
	})
}
