package sso

import (
	"context"
	"crypto/subtle"
	"strings"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity"
	"holdfast/internal/identity/accounts"
	"holdfast/internal/identity/providers"
	"holdfast/internal/secrets"
)

// Person is an account as SCIM sees it (RFC 7643 section 4.1).
type Person struct {
	ID, UserName, ExternalID, Email string
	Display, Given, Family          string
	Active                          bool
	Groups                          []Ref
	CreatedAt, UpdatedAt            time.Time
}

// Ref points to a person or a group.
type Ref struct{ ID, Display string }

// Query is a list request: at most one attribute compared for equality, and a
// page (RFC 7644 section 3.4.2; start counts from 1).
type Query struct {
	Attr, Value  string
	Start, Count int
}

// Directory is what directories may do with the people and groups of their own
// connection (RFC 7644).
type Directory struct{ *Service }

// Directory returns the side of the service that directories see.
func (s *Service) Directory() Directory { return Directory{s} }

// maxPage is how many resources one answer holds.
const maxPage = 200

// BySCIMToken returns the connection a bearer token belongs to, and the plan of
// its tenant.
func (s *Service) BySCIMToken(ctx context.Context, token string) (c *Connection, plan string, err error) {
	refused := fault.New(fault.Unauthorized, "no_authorization", "The SCIM token is not valid")
	if !strings.HasPrefix(token, "hf_scim_") || len(token) > 100 {
		return nil, "", refused
	}
	hash := secrets.Digest(token)
	err = s.db.Read(ctx, everywhere, func(tx *db.Tx) (err error) {
		c = nil
		stored := ""
		err = tx.One(`
			SELECT scim_token_hash
			FROM sso_connections
			WHERE scim_token_hash = $1`, []any{hash}, func(r *db.Row) error {
			stored = r.Text(0)
			return nil
		})
		if err != nil || subtle.ConstantTimeCompare([]byte(stored), []byte(hash)) != 1 {
			return err
		}
		if c, err = s.findOne(tx, "JOIN tenants t ON t.id = c.tenant_id WHERE c.scim_token_hash = $1 AND t.status = 'active'", hash); err != nil {
			return err
		}
		return tx.One("SELECT plan FROM tenants WHERE id = $1", []any{c.TenantID}, func(r *db.Row) error {
			plan = r.Text(0)
			return nil
		})
	})
	if fault.Is(err, fault.NotFound) || err == nil && (c == nil || c.Disabled) {
		return nil, "", refused
	}
	return c, plan, err
}

const personColumns = `a.user_id, a.user_name, a.external_id, u.email, a.display_name, a.given_name, a.family_name, a.active, a.created_at, a.updated_at
	FROM sso_accounts a JOIN users u ON u.id = a.user_id WHERE a.connection_id = $1 AND a.deleted_at IS NULL`

func scanPerson(r *db.Row) Person {
	return Person{ID: r.Text(0), UserName: r.Text(1), ExternalID: r.Text(2), Email: r.Text(3), Display: r.Text(4), Given: r.Text(5), Family: r.Text(6),
		Active:    r.Bool(7),
		CreatedAt: r.Time(8), UpdatedAt: r.Time(9)}
}

func noResource() error { return fault.New(fault.NotFound, "not_found", "There is no such resource") }

func (s Directory) personBy(tx *db.Tx, c *Connection, id string) (p Person, err error) {
	canonical, ok := accounts.CanonicalID(id)
	if !ok {
		return p, noResource()
	}
	err = tx.One(db.FillWords(`
		SELECT {person columns} AND a.user_id = $2`, "{person columns}", personColumns),
		[]any{c.ID, canonical}, func(r *db.Row) error {
			p = scanPerson(r)
			return nil
		})
	if fault.Is(err, fault.NotFound) {
		return p, noResource()
	}
	if err != nil {
		return p, err
	}
	list := []Person{p}
	err = readGroups(tx, c, list)
	return list[0], err
}

// Person returns one account of the connection.
func (s Directory) Person(ctx context.Context, c *Connection, id string) (p Person, err error) {
	err = s.db.Read(ctx, everywhere, func(tx *db.Tx) (err error) {
		p, err = s.personBy(tx, c, id)
		return err
	})
	return p, err
}

// filters are the attributes a list can be asked by, and their columns.
var filters = map[string]string{"username": "a.user_name", "externalid": "a.external_id", "emails.value": "u.email", "emails": "u.email",
	"id": "CAST(a.user_id AS text)"}

// People lists accounts of the connection and how many there are in all.
func (s Directory) People(ctx context.Context, c *Connection, q Query) (list []Person, total int64, err error) {
	where, args := "", []any{c.ID}
	if q.Attr != "" {
		col, ok := filters[strings.ToLower(q.Attr)]
		if !ok {
			return nil, 0, fault.New(fault.Invalid, "invalidFilter", "userName, externalId, emails.value and id can be compared")
		}
		if col == "a.user_name" || col == "u.email" {
			q.Value = strings.ToLower(q.Value)
		}
		where, args = " AND "+col+" = $2", append(args, q.Value)
	}
	err = s.db.Read(ctx, everywhere, func(tx *db.Tx) error {
		list = nil
		tx.Queue(db.FillWords(`
			SELECT COUNT(*)
			FROM sso_accounts a
			JOIN users u ON u.id = a.user_id
			WHERE a.connection_id = $1
				AND a.deleted_at IS NULL {where}`, "{where}", where), args,
			func(r *db.Row) error {
				total = r.Int(0)
				return nil
			})
		limit, offset := pageBounds(q)
		err := tx.Query(db.FillWords(`
			SELECT {person columns} {where}
			ORDER BY a.created_at NULLS LAST, a.user_id {limit offset}`,
			"{person columns}", personColumns, "{where}", where, "{limit offset}", limitOffset(len(args))),
			append(args, limit, offset),
			func(r *db.Row) error {
				list = append(list, scanPerson(r))
				return nil
			})
		if err != nil {
			return err
		}
		return readGroups(tx, c, list)
	})
	return list, total, err
}

const readGroupsSQL = `
	SELECT sso_group_members.user_id, sso_groups.id, sso_groups.display_name
	FROM sso_group_members
	JOIN sso_groups ON sso_groups.id = sso_group_members.group_id
	WHERE sso_group_members.user_id IN {ids $1} AND sso_groups.connection_id = $2
	ORDER BY sso_groups.display_name NULLS LAST`

// readGroups reads the groups of listed people.
func readGroups(tx *db.Tx, c *Connection, list []Person) error {
	at, ids := map[string]int{}, []string{}
	for i, p := range list {
		at[p.ID], ids = i, append(ids, p.ID)
	}
	return tx.Query(readGroupsSQL, []any{asJSON(ids), c.ID}, func(r *db.Row) error {
		p := &list[at[r.Text(0)]]
		p.Groups = append(p.Groups, Ref{r.Text(1), r.Text(2)})
		return nil
	})
}

func limitOffset(have int) string {
	return " LIMIT $" + string(rune('1'+have)) + " OFFSET $" + string(rune('2'+have))
}

func pageBounds(q Query) (limit, offset int) {
	limit = q.Count
	if limit < 0 {
		limit = 0
	}
	return min(limit, maxPage), max(q.Start, 1) - 1
}

// completePerson fills in and checks a person that SCIM sent.
func (p *Person) completePerson() error {
	p.UserName = strings.ToLower(strings.TrimSpace(p.UserName))
	if p.UserName == "" || len(p.UserName) > 255 {
		return fault.New(fault.Invalid, "invalidValue", "userName is required")
	}
	if p.Email == "" {
		p.Email = p.UserName
	}
	email, err := accounts.Canonical(p.Email)
	if err != nil {
		return fault.New(fault.Invalid, "invalidValue", "userName or a primary e-mail must be an address")
	}
	p.Email = email
	for _, v := range []string{p.ExternalID, p.Display, p.Given, p.Family} {
		if len(v) > 255 || strings.ContainsRune(v, 0) {
			return fault.New(fault.Invalid, "invalidValue", "A value is longer than 255 characters")
		}
	}
	return nil
}

func errForeign() error {
	return fault.New(fault.Invalid, "invalidValue", "The address is not in a domain that this organisation has proved")
}

// mayBecome holds a change to the proved domains: a new address, and one that
// comes into use again, is in one of them. A leaver is shut out whatever became of
// the domain; an address that would be refused is not taken over with that.
func (c *Connection) mayBecome(was Person, p *Person) error {
	if c.holdsAddress(p.Email) || p.Email == was.Email && p.UserName == was.UserName && (was.Active || !p.Active) {
		return nil
	}
	if was.Active && !p.Active {
		p.UserName, p.Email = was.UserName, was.Email
		return nil
	}
	return errForeign()
}

// lastingID is the externalId where it says who a person is whatever the address:
// one that repeats a name passes on with it. "" = there is none.
func (p Person) lastingID() string {
	for _, name := range []string{p.UserName, p.Email} {
		local, _, _ := strings.Cut(name, "@")
		if strings.EqualFold(p.ExternalID, name) || strings.EqualFold(p.ExternalID, local) {
			return ""
		}
	}
	return p.ExternalID
}

func (p Person) profileData() map[string]any {
	out := map[string]any{}
	for k, v := range map[string]string{"name": p.Display, "full_name": p.Display, "given_name": p.Given, "family_name": p.Family} {
		if v != "" {
			out[k] = v
		}
	}
	return out
}

// errTaken is RFC 7644 section 3.3's answer to a userName that exists.
func errTaken() error {
	return fault.New(fault.Conflict, "uniqueness", "There is a user with this userName")
}

// CreatePerson provisions an account, or takes over one that a sign-in of the
// same connection made: a second one would stay open when this one is closed. An
// account that was removed comes back for the externalId it had, and never for
// its name, which may be somebody else's by now.
func (s Directory) CreatePerson(ctx context.Context, c *Connection, p Person, who identity.Client) (Person, error) {
	if err := p.completePerson(); err != nil {
		return p, err
	}
	if !c.holdsAddress(p.Email) {
		return p, errForeign()
	}
	err := s.db.Write(ctx, everywhere, func(tx *db.Tx) error {
		was, removed := Person{}, false
		err := tx.One(`SELECT a.user_id, a.provisioned, a.deleted_at, a.active FROM sso_accounts a JOIN users u ON u.id = a.user_id WHERE a.connection_id = $1
			AND (a.deleted_at IS NULL AND (a.user_name = $2 OR u.email = $3 AND a.provisioned = $4
				AND a.user_name <> CAST(a.user_id AS text)) OR a.deleted_at IS NOT NULL AND a.external_id = $5)
			ORDER BY a.deleted_at DESC NULLS FIRST, a.provisioned DESC NULLS LAST, a.created_at NULLS LAST LIMIT 1`,
			[]any{c.ID, p.UserName, p.Email, false, p.lastingID()}, func(r *db.Row) error {
				was.ID, was.Active = r.Text(0), r.Bool(3)
				removed = !r.Null(2)
				if r.Bool(1) && !removed {
					return errTaken()
				}
				return nil
			})
		if fault.Is(err, fault.NotFound) {
			return s.provisionPerson(tx, c, &p, who)
		}
		if err != nil {
			return err
		}
		p.ID = was.ID
		if removed {
			// The sign-in that was the person's may be a new one now: the next one links.
			tx.Queue("DELETE FROM identities WHERE user_id = $1 AND provider = $2", []any{p.ID, providers.FederatedProvider(c.ID)}, nil)
		}
		_, err = tx.Exec(`
			UPDATE sso_accounts
			SET provisioned = $2, deleted_at = NULL
			WHERE user_id = $1`, was.ID, true)
		if err != nil {
			return err
		}
		return s.storePerson(tx, c, was, p, who)
	})
	if fault.HasCode(err, "23505") {
		err = errTaken()
	}
	if err != nil {
		return p, err
	}
	return s.Person(ctx, c, p.ID)
}

func (s Directory) provisionPerson(tx *db.Tx, c *Connection, p *Person, who identity.Client) error {
	u, err := s.ident.Federation.MakeFederated(tx, c.TenantID, p.Email, p.profileData(), who)
	if err != nil {
		return err
	}
	p.ID = u.ID
	now := s.now()
	tx.Queue(`INSERT INTO sso_accounts (user_id, tenant_id, connection_id, user_name, external_id, display_name, given_name,
		family_name, active, provisioned, groups, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, '[]', $11, $11)`,
		[]any{u.ID, c.TenantID, c.ID, p.UserName, db.Null(p.ExternalID), db.Null(p.Display), db.Null(p.Given), db.Null(p.Family), p.Active, true, now}, nil)
	s.ident.Federation.Record(tx, identity.Note{Tenant: c.TenantID, Key: "scim:" + c.ID, Action: "scim.user_created", Entity: "user", EntityID: u.ID, Client: who})
	if role, _ := c.roleOf(nil); role != "" && p.Active {
		return s.ident.Federation.JoinFederated(tx, c.TenantID, u, role, who)
	}
	return tx.Flush()
}

// ChangePerson writes what change makes of a person. Deactivation ends the
// person's sessions at once.
func (s Directory) ChangePerson(ctx context.Context, c *Connection, id string, who identity.Client, change func(*Person) error) (Person, error) {
	err := s.db.Write(ctx, everywhere, func(tx *db.Tx) error {
		was, err := s.personBy(tx, c, id)
		if err != nil {
			return err
		}
		p := was
		if err := change(&p); err != nil {
			return err
		}
		p.ID = was.ID
		if err := p.completePerson(); err != nil {
			return err
		}
		if err := c.mayBecome(was, &p); err != nil {
			return err
		}
		return s.storePerson(tx, c, was, p, who)
	})
	if fault.HasCode(err, "23505") {
		err = errTaken()
	}
	if err != nil {
		return Person{}, err
	}
	return s.Person(ctx, c, id)
}

func (s Directory) storePerson(tx *db.Tx, c *Connection, was, p Person, who identity.Client) error {
	now := s.now()
	tx.Queue(`UPDATE sso_accounts SET user_name = $2, external_id = $3, display_name = $4, given_name = $5, family_name = $6,
		active = $7, updated_at = $8 WHERE user_id = $1`,
		[]any{p.ID, p.UserName, db.Null(p.ExternalID), db.Null(p.Display), db.Null(p.Given), db.Null(p.Family), p.Active, now}, nil)
	tx.Queue(`
		UPDATE users
		SET email = $2, updated_at = $3
		WHERE id = $1
			AND email <> $2`, []any{p.ID, p.Email, now}, nil)
	tx.Queue(`
		UPDATE members
		SET email = $3, updated_at = $4
		WHERE tenant_id = $1
			AND user_id = $2
			AND email <> $3`, []any{c.TenantID, p.ID, p.Email, now}, nil)
	note := identity.Note{Tenant: c.TenantID, Key: "scim:" + c.ID, Action: "scim.user_changed", Entity: "user", EntityID: p.ID, Client: who}
	if was.Active && !p.Active {
		note.Action = "scim.user_deactivated"
		kept, err := s.shutOut(tx, c, p.ID)
		if err != nil {
			return err
		}
		note.Details = stillOwner(kept)
	} else if !was.Active && p.Active {
		note.Action = "scim.user_activated"
		if err := s.setMembership(tx, c, p.ID, who); err != nil {
			return err
		}
	}
	s.ident.Federation.Record(tx, note)
	tx.After(func() { s.ident.Forget(p.ID) })
	return tx.Flush()
}
