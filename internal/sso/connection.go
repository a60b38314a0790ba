package sso

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/accounts"
	"holdfast/internal/identity/gotruetime"
	"holdfast/internal/secrets"
)

// Kinds of connection.
const (
	OIDC = "oidc"
	SAML = "saml"
)

// Connection is one tie of a tenant to a provider of its own.
type Connection struct {
	ID             string            `json:"id"`
	TenantID       string            `json:"tenant_id"`
	Kind           string            `json:"kind"`
	Name           string            `json:"name"`
	Identifier     string            `json:"identifier,omitempty"`
	Leads          bool              `json:"identifier_active,omitempty"` // a sign-in by the identifier comes here
	Disabled       bool              `json:"disabled"`
	Issuer         string            `json:"issuer"` // SAML: the entity id
	MetadataURL    string            `json:"metadata_url,omitempty"`
	MetadataXML    string            `json:"metadata_xml,omitempty"`
	MetadataAt     gotruetime.Time   `json:"metadata_at,omitzero"`
	ClientID       string            `json:"client_id,omitempty"`
	Scopes         []string          `json:"scopes"`
	NameIDFormat   string            `json:"name_id_format,omitempty"`
	Mapping        Mapping           `json:"attribute_mapping"`
	Params         map[string]string `json:"authorization_params"`
	ResourceID     string            `json:"resource_id,omitempty"`
	RoleMap        map[string]string `json:"role_map"`
	DefaultRole    string            `json:"default_role,omitempty"`
	Enforced       bool              `json:"enforced"`
	BreakGlass     string            `json:"break_glass_user_id,omitempty"`
	Unsolicited    bool              `json:"allow_unsolicited"`
	SCIM           bool              `json:"scim"` // a bearer token has been made
	Domains        []Domain          `json:"domains"`
	LastTest       json.RawMessage   `json:"last_test,omitempty"`
	LastTestAt     gotruetime.Time   `json:"last_test_at,omitzero"`
	CreatedAt      gotruetime.Time   `json:"created_at"`
	UpdatedAt      gotruetime.Time   `json:"updated_at"`
	ServiceAddress Addresses         `json:"service_provider"`

	sealed  string
	version int64
}

// Addresses are what an administrator types in at the provider.
type Addresses struct {
	EntityID string `json:"entity_id,omitempty"`
	ACS      string `json:"acs_url,omitempty"`
	Callback string `json:"callback_url,omitempty"`
	SCIM     string `json:"scim_url"`
}

const columns = `c.tenant_id, c.id, c.kind, c.name, c.identifier, c.status, c.issuer, c.metadata_url, c.metadata_xml,
	c.metadata_at, c.client_id, c.secret, c.scopes,
	c.name_id_format, c.attribute_mapping, c.role_map, c.default_role, c.enforced, c.break_glass_user_id, c.allow_unsolicited,
		c.scim_token_hash, c.last_test, c.last_test_at,
	c.created_at, c.updated_at, c.version, c.resource_id, c.authorization_params,
	(SELECT n.name FROM sso_names n WHERE n.name = c.identifier AND n.connection_id = c.id)`

func (s *Service) scanConnection(r *db.Row) (*Connection, error) {
	at := func(i int) gotruetime.Time { return gotruetime.Time{Time: r.Time(i)} }
	c := &Connection{TenantID: r.Text(0), ID: r.Text(1), Kind: r.Text(2), Name: r.Text(3), Identifier: r.Text(4),
		Disabled: r.Text(5) != "active", Issuer: r.Text(6),
		MetadataURL: r.Text(7), MetadataXML: r.Text(8), MetadataAt: at(9), ClientID: r.Text(10), sealed: r.Text(11),
		NameIDFormat: r.Text(13), DefaultRole: r.Text(16),
		Enforced: r.Bool(17), BreakGlass: r.Text(18), Unsolicited: r.Bool(19), SCIM: !r.Null(20), LastTestAt: at(22),
		CreatedAt: at(23),
		UpdatedAt: at(24), version: r.Int(25), ResourceID: r.Text(26), Leads: !r.Null(28),
		Domains: []Domain{}, ServiceAddress: Addresses{SCIM: s.SCIMBase()}}
	if t := r.Text(21); t != "" {
		c.LastTest = json.RawMessage(t)
	}
	for i, into := range map[int]any{12: &c.Scopes, 14: &c.Mapping, 15: &c.RoleMap, 27: &c.Params} {
		if err := json.Unmarshal([]byte(r.Text(i)), into); err != nil {
			return nil, err
		}
	}
	if c.Kind == SAML {
		c.ServiceAddress.EntityID, c.ServiceAddress.ACS = s.EntityID(), s.ACS()
	} else {
		c.ServiceAddress.Callback = s.Callback(c.ID)
	}
	return c, nil
}

// findConnections reads the connections that match; from is our own text.
func (s *Service) findConnections(tx *db.Tx, from string, args ...any) ([]*Connection, error) {
	var list []*Connection
	byID := map[string]*Connection{}
	err := tx.Query(db.FillWords(`
		SELECT {columns}
		FROM sso_connections c {from}`, "{columns}", columns, "{from}", from), args, func(r *db.Row) error {
		c, err := s.scanConnection(r)
		if err == nil {
			list, byID[c.ID] = append(list, c), c
		}
		return err
	})
	if err != nil || len(list) == 0 {
		return list, err
	}
	ids := make([]string, 0, len(byID))
	for id := range byID {
		ids = append(ids, id)
	}
	return list, tx.Query(db.FillWords(`
		SELECT {domain columns}
		FROM sso_domains d
		WHERE d.connection_id IN {ids $1}
		ORDER BY d.domain NULLS LAST`, "{domain columns}", domainColumns),
		[]any{asJSON(ids)}, func(r *db.Row) error {
			d, owner := scanDomain(r)
			byID[owner].Domains = append(byID[owner].Domains, d)
			return nil
		})
}

func (s *Service) findOne(tx *db.Tx, from string, args ...any) (*Connection, error) {
	list, err := s.findConnections(tx, from, args...)
	if err != nil {
		return nil, err
	}
	if len(list) != 1 {
		return nil, errNoProvider()
	}
	return list[0], nil
}

func (s *Service) byID(tx *db.Tx, id string) (*Connection, error) {
	canonical, ok := accounts.CanonicalID(id)
	if !ok {
		return nil, errNoProvider()
	}
	return s.findOne(tx, "WHERE c.id = $1", canonical)
}

// findOwn is byID for a caller: a foreign connection is an unknown one.
func (s *Service) findOwn(tx *db.Tx, a actor.Actor, id string) (*Connection, error) {
	c, err := s.byID(tx, id)
	if err == nil && a.Role != actor.Service && (c.TenantID != a.TenantID || a.TenantID == "") {
		return nil, errNoProvider()
	}
	return c, err
}

// List returns the caller's tenant's connections; a service key sees all.
func (s *Service) List(ctx context.Context, a actor.Actor) (list []*Connection, err error) {
	err = s.db.Read(ctx, everywhere, func(tx *db.Tx) (err error) {
		if a.Role == actor.Service {
			list, err = s.findConnections(tx, "ORDER BY c.created_at NULLS LAST, c.id LIMIT 1000")
			return err
		}
		list, err = s.findConnections(tx, "WHERE c.tenant_id = $1 ORDER BY c.created_at NULLS LAST, c.id", a.TenantID)
		return err
	})
	return list, err
}

// Get returns one connection of the caller's tenant.
func (s *Service) Get(ctx context.Context, a actor.Actor, id string) (c *Connection, err error) {
	err = s.db.Read(ctx, everywhere, func(tx *db.Tx) (err error) {
		c, err = s.findOwn(tx, a, id)
		return err
	})
	return c, err
}

// leading chooses the connection that a sign-in by the identifier $1 comes to.
const leading = "JOIN sso_names n ON n.tenant_id = c.tenant_id AND n.connection_id = c.id WHERE n.name = $1 AND c.kind = 'oidc'"

// ByIdentifier returns a connection of any tenant by its name custom:x, for the
// operator: the one that sign-ins by the name lead to, else the only one of that
// name. Where several tenants use the name the answer is a conflict.
func (s *Service) ByIdentifier(ctx context.Context, identifier string) (c *Connection, err error) {
	var list []*Connection
	err = s.db.Read(ctx, everywhere, func(tx *db.Tx) (err error) {
		list, err = s.findConnections(tx, "WHERE c.identifier = $1 AND c.kind = 'oidc' ORDER BY c.id LIMIT 1000", identifier)
		return err
	})
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(list, func(c *Connection) bool { return c.Leads }); i >= 0 {
		return list[i], nil
	}
	switch len(list) {
	case 0:
		return nil, errNoProvider()
	case 1:
		return list[0], nil
	}
	return nil, fault.New(fault.Conflict, "conflict",
		"Several tenants call a provider %s; name it by its id at /sso/connections", identifier)
}

// Create makes a connection. The service key names the tenant; domains it
// names count as proved by its word, a tenant's own have to be proved.
func (s *Service) Create(ctx context.Context, a actor.Actor, d Draft) (*Connection, error) {
	c := &Connection{ID: db.NewID(), TenantID: a.TenantID, Kind: OIDC, Scopes: []string{}, RoleMap: map[string]string{},
		Params: map[string]string{}, Domains: []Domain{}, version: 1}
	if a.Role == actor.Service && d.TenantID != nil {
		id, ok := accounts.CanonicalID(*d.TenantID)
		if !ok {
			return nil, refuseInvalid("tenant_id must be a UUID")
		}
		c.TenantID = id
	}
	if c.TenantID == "" {
		return nil, refuseInvalid("tenant_id is required: a provider belongs to one tenant")
	}
	if d.Kind != nil {
		c.Kind = *d.Kind
	}
	if err := s.drafts.applyDraft(ctx, c, d); err != nil {
		return nil, err
	}
	if c.Enforced {
		return nil, refuseInvalid("sign-in through the provider can be enforced once a domain is proved and a test sign-in has succeeded")
	}
	err := s.db.Write(ctx, everywhere, func(tx *db.Tx) error {
		if err := tx.One("SELECT id FROM tenants WHERE id = $1 {for update}", []any{c.TenantID}, func(*db.Row) error {
			return nil
		}); fault.Is(err, fault.NotFound) {
			return refuseInvalid("tenant_id names no tenant")
		} else if err != nil {
			return err
		}
		if err := fewConnections(tx, c.TenantID); err != nil {
			return err
		}
		if err := s.insertConnection(tx, c, a); err != nil {
			return err
		}
		s.writeAudit(tx, c, a, "sso.connection_created", map[string]any{"kind": c.Kind, "issuer": c.Issuer})
		if err := s.setDomains(tx, c, a, d.Domains); err != nil {
			return err
		}
		return claimName(tx, c, a, c.Identifier != "")
	})
	if err != nil {
		return nil, err
	}
	return s.Get(ctx, a, c.ID)
}

// maxConnections is how many connections a tenant has.
const maxConnections = 20

func fewConnections(tx *db.Tx, tenantID string) error {
	return tx.One("SELECT COUNT(*) FROM sso_connections WHERE tenant_id = $1", []any{tenantID}, func(r *db.Row) error {
		if r.Int(0) >= maxConnections {
			return fault.New(fault.Unprocessable, "validation_failed", "A tenant has at most %d connections", maxConnections)
		}
		return nil
	})
}

// classifyStored refuses a connection whose names another one of the same tenant has. What
// other tenants call theirs does not stand against it, and is not told: whoever
// signs up may try the entity ids of whole countries.
func classifyStored(err error) error {
	if fault.HasCode(err, "23505") {
		return fault.Wrap(err, fault.Unprocessable, "saml_idp_already_exists",
			"The tenant has a provider with this entity id or identifier already")
	}
	return err
}

const claimNameSQL = `
	INSERT INTO sso_names (name, tenant_id, connection_id)
	SELECT sso_connections.identifier, sso_connections.tenant_id, sso_connections.id
	FROM sso_connections
	WHERE sso_connections.tenant_id = $1
		AND sso_connections.id = $2
		AND sso_connections.kind = 'oidc'
		AND ($3 OR EXISTS (SELECT 1
		FROM sso_domains
		WHERE sso_domains.connection_id = sso_connections.id AND sso_domains.verified_at IS NOT NULL))
	ON CONFLICT (name) DO NOTHING`

// claimName makes sign-ins by the identifier lead to the connection once a domain
// of it is proved, or the operator says so, unless they lead to another one by
// then: that is shown to the tenant as identifier_active, and told to the operator
// where he named it in this call.
func claimName(tx *db.Tx, c *Connection, a actor.Actor, named bool) error {
	if _, err := tx.Exec(`
		DELETE FROM sso_names
		WHERE tenant_id = $1
			AND connection_id = $2
			AND name <> $3`, c.TenantID,
		c.ID, c.Identifier); err != nil {
		return err
	}
	if c.Identifier == "" {
		return nil
	}
	operator := a.Role == actor.Service
	_, err := tx.Exec(claimNameSQL, c.TenantID, c.ID, operator)
	if err != nil || !operator || !named || c.Kind != OIDC {
		return err
	}
	return tx.One("SELECT connection_id FROM sso_names WHERE name = $1", []any{c.Identifier}, func(r *db.Row) error {
		if r.Text(0) != c.ID {
			return fault.New(fault.Unprocessable, "saml_idp_already_exists",
				"Sign-ins by this identifier lead to another provider")
		}
		return nil
	})
}

func (c *Connection) statusName() string {
	if c.Disabled {
		return "disabled"
	}
	return "active"
}

func (c *Connection) metadataAt() any {
	if c.MetadataAt.IsZero() {
		return nil
	}
	return c.MetadataAt.Time
}

func (s *Service) insertConnection(tx *db.Tx, c *Connection, a actor.Actor) error {
	now := s.now()
	_, err := tx.Exec(`INSERT INTO sso_connections (tenant_id, id, kind, name, identifier, status, issuer, metadata_url,
		metadata_xml, metadata_at, client_id, secret, scopes,
		name_id_format, attribute_mapping, role_map, default_role, enforced, break_glass_user_id, allow_unsolicited, created_at, updated_at, created_by, resource_id,
		authorization_params, version) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19,
			$20, $21, $21, $22, $23, $24, 1)`,
		c.TenantID, c.ID, c.Kind, db.Null(c.Name), db.Null(c.Identifier), c.statusName(), c.Issuer, db.Null(c.MetadataURL),
		db.Null(c.MetadataXML), c.metadataAt(),
		db.Null(c.ClientID), db.Null(c.sealed), asJSON(c.Scopes), db.Null(c.NameIDFormat), asJSON(c.Mapping),
		asJSON(c.RoleMap), db.Null(c.DefaultRole),
		c.Enforced, db.Null(c.BreakGlass), c.Unsolicited, now, db.Null(a.UserID), db.Null(c.ResourceID), asJSON(c.Params))
	return classifyStored(err)
}

// Update changes a connection. Disabling it ends its sessions at once.
func (s *Service) Update(ctx context.Context, a actor.Actor, id string, d Draft) (*Connection, error) {
	c, err := s.Get(ctx, a, id)
	if err != nil {
		return nil, err
	}
	was := *c
	if d.Kind != nil && *d.Kind != c.Kind {
		return nil, refuseInvalid("the kind of a connection does not change; make another")
	}
	if err := s.drafts.applyDraft(ctx, c, d); err != nil {
		return nil, err
	}
	if c.Kind == SAML && c.Issuer != was.Issuer {
		return nil, fault.New(fault.Unprocessable, "saml_entity_id_mismatch",
			"The metadata are those of another entity; make another connection")
	}
	err = s.db.Write(ctx, everywhere, func(tx *db.Tx) error {
		n, err := tx.Exec(`UPDATE sso_connections SET name = $3, identifier = $4, status = $5, issuer = $6, metadata_url = $7,
			metadata_xml = $8, metadata_at = $9, client_id = $10,
			secret = $11, scopes = $12, name_id_format = $13, attribute_mapping = $14, role_map = $15, default_role = $16, enforced = $17, break_glass_user_id = $18,
			allow_unsolicited = $19, updated_at = $20, resource_id = $22, authorization_params = $23, version = version + 1
				WHERE tenant_id = $1 AND id = $2 AND version = $21`,
			c.TenantID, c.ID, db.Null(c.Name), db.Null(c.Identifier), c.statusName(), c.Issuer, db.Null(c.MetadataURL),
			db.Null(c.MetadataXML),
			c.metadataAt(), db.Null(c.ClientID), db.Null(c.sealed),
			asJSON(c.Scopes), db.Null(c.NameIDFormat), asJSON(c.Mapping), asJSON(c.RoleMap), db.Null(c.DefaultRole), c.Enforced,
			db.Null(c.BreakGlass), c.Unsolicited, s.now(), was.version,
			db.Null(c.ResourceID), asJSON(c.Params))
		if err == nil && n == 0 {
			err = fault.New(fault.Conflict, "conflict", "The connection was changed at the same time; read it again")
		}
		if err != nil {
			return classifyStored(err)
		}
		if err := s.setDomains(tx, c, a, d.Domains); err != nil {
			return err
		}
		if err := claimName(tx, c, a, d.Identifier != nil); err != nil {
			return err
		}
		if c.Enforced && !c.Disabled {
			begins := !was.Enforced || was.Disabled
			if err := s.checkEnforced(tx, c.ID, begins, d); err != nil {
				return err
			}
		}
		if c.Disabled && !was.Disabled || c.Issuer != was.Issuer {
			if err := s.endAll(tx, c); err != nil {
				return err
			}
		}
		s.writeAudit(tx, c, a, "sso.connection_changed", map[string]any{"status": c.statusName(), "enforced": c.Enforced})
		return tx.Flush()
	})
	if err != nil {
		return nil, err
	}
	return s.Get(ctx, a, id)
}

// Delete removes a connection. Its accounts remain, with their memberships
// suspended: what they did stays theirs, and nobody signs in as them. It is
// refused to who may not suspend one of them, and where no owner would remain.
func (s *Service) Delete(ctx context.Context, a actor.Actor, id string) (c *Connection, err error) {
	err = s.db.Write(ctx, everywhere, func(tx *db.Tx) error {
		if c, err = s.findOwn(tx, a, id); err != nil {
			return err
		}
		if err := s.endAll(tx, c); err != nil {
			return err
		}
		if err := s.ident.Federation.SuspendFederated(tx, a, c.TenantID,
			"tenant_id = $1 AND user_id IN (SELECT user_id FROM sso_accounts WHERE connection_id = $2)",
			c.TenantID, c.ID); err != nil {
			return err
		}
		tx.Queue(`
			DELETE FROM sso_group_members
			WHERE group_id IN (SELECT id FROM sso_groups WHERE connection_id = $1)`,
			[]any{c.ID}, nil)
		for _, table := range []string{"sso_groups", "sso_accounts", "sso_domains", "sso_names", "sso_requests"} {
			tx.Queue(db.FillWords(`
				DELETE FROM {table}
				WHERE connection_id = $1`, "{table}", table), []any{c.ID}, nil)
		}
		tx.Queue("DELETE FROM sso_connections WHERE tenant_id = $1 AND id = $2", []any{c.TenantID, c.ID}, nil)
		s.writeAudit(tx, c, a, "sso.connection_deleted", nil)
		return tx.Flush()
	})
	return c, err
}

// TokenSCIM makes a connection's bearer token for SCIM, in place of any
// before; it is shown this once.
func (s *Service) TokenSCIM(ctx context.Context, a actor.Actor, id string) (token string, err error) {
	token = "hf_scim_" + secrets.RandomHex(32)
	return token, s.setSCIM(ctx, a, id, "sso.scim_token_made", secrets.Digest(token))
}

// RevokeSCIM ends a connection's bearer token for SCIM, if there is one.
func (s *Service) RevokeSCIM(ctx context.Context, a actor.Actor, id string) error {
	return s.setSCIM(ctx, a, id, "sso.scim_token_revoked", nil)
}

const setSCIMSQL = `
	UPDATE sso_connections
	SET scim_token_hash = $3, updated_at = $4, version = version + 1
	WHERE tenant_id = $1 AND id = $2`

func (s *Service) setSCIM(ctx context.Context, a actor.Actor, id, action string, hash any) error {
	return s.db.Write(ctx, everywhere, func(tx *db.Tx) error {
		c, err := s.findOwn(tx, a, id)
		if err != nil {
			return err
		}
		tx.Queue(setSCIMSQL, []any{c.TenantID, c.ID, hash, s.now()}, nil)
		s.writeAudit(tx, c, a, action, nil)
		return tx.Flush()
	})
}

func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "null"
	}
	return string(b)
}

// isStale reports metadata due to be read again.
func (c *Connection) isStale(now time.Time, after time.Duration) bool {
	return c.MetadataURL != "" && now.Sub(c.MetadataAt.Time) > after
}

// holdsAddress reports an address within a proved domain of the connection.
func (c *Connection) holdsAddress(email string) bool {
	_, domain, _ := strings.Cut(email, "@")
	for _, d := range c.Domains {
		if d.Domain == domain && !d.VerifiedAt.IsZero() {
			return true
		}
	}
	return false
}
