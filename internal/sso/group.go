package sso

import (
	"context"
	"strings"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity"
	"holdfast/internal/identity/accounts"
)

// Group is a group that SCIM keeps (RFC 7643 section 4.2). Its display name is
// what role_map speaks of.
type Group struct {
	ID, Display, ExternalID string
	Members                 []Ref
	CreatedAt, UpdatedAt    time.Time
}

// maxMembers is how many a group has, maxListed how many a list of groups shows.
const maxMembers, maxListed = 10000, 50000

const groupColumns = "g.id, g.display_name, g.external_id, g.created_at, g.updated_at FROM sso_groups g WHERE g.connection_id = $1"

func scanGroup(r *db.Row) Group {
	return Group{ID: r.Text(0), Display: r.Text(1), ExternalID: r.Text(2), CreatedAt: r.Time(3), UpdatedAt: r.Time(4)}
}

const groupBySQL = `
	SELECT sso_group_members.user_id, sso_accounts.user_name
	FROM sso_group_members
	JOIN sso_accounts ON sso_accounts.user_id = sso_group_members.user_id
	WHERE sso_group_members.group_id = $1
	ORDER BY sso_accounts.user_name NULLS LAST`

func (s Directory) groupBy(tx *db.Tx, c *Connection, id string) (g Group, err error) {
	canonical, ok := accounts.CanonicalID(id)
	if !ok {
		return g, noResource()
	}
	err = tx.One(db.FillWords(`
		SELECT {group columns} AND g.id = $2
		{for update}`, "{group columns}", groupColumns), []any{c.ID, canonical},
		func(r *db.Row) error {
			g = scanGroup(r)
			return nil
		})
	if fault.Is(err, fault.NotFound) {
		return g, noResource()
	}
	if err != nil {
		return g, err
	}
	return g,
		tx.Query(groupBySQL, []any{g.ID}, func(r *db.Row) error {
			g.Members = append(g.Members, Ref{r.Text(0), r.Text(1)})
			return nil
		})
}

// Group returns one group with its members.
func (s Directory) Group(ctx context.Context, c *Connection, id string) (g Group, err error) {
	err = s.db.Write(ctx, everywhere, func(tx *db.Tx) (err error) {
		g, err = s.groupBy(tx, c, id)
		return err
	})
	return g, err
}

// Groups lists groups, with their members where those are wanted, and how many
// there are in all.
func (s Directory) Groups(
	ctx context.Context, c *Connection, q Query, members bool,
) (list []Group, total int64, err error) {
	where, args := "", []any{c.ID}
	if q.Attr != "" {
		col, ok := map[string]string{"displayname": "g.display_name", "externalid": "g.external_id",
			"id": "CAST(g.id AS text)"}[strings.ToLower(q.Attr)]
		if !ok {
			return nil, 0, fault.New(fault.Invalid, "invalidFilter", "displayName, externalId and id can be compared")
		}
		where, args = " AND "+col+" = $2", append(args, q.Value)
	}
	err = s.db.Read(ctx, everywhere, func(tx *db.Tx) error {
		list = nil
		tx.Queue(db.FillWords(`
			SELECT COUNT(*)
			FROM sso_groups g
			WHERE g.connection_id = $1 {where}`, "{where}", where), args, func(r *db.Row) error {
			total = r.Int(0)
			return nil
		})
		limit, offset := pageBounds(q)
		err := tx.Query(db.FillWords(`
			SELECT {group columns} {where}
			ORDER BY g.created_at NULLS LAST, g.id {limit offset}`,
			"{group columns}", groupColumns, "{where}", where, "{limit offset}", limitOffset(len(args))),
			append(args, limit, offset), func(r *db.Row) error {
				list = append(list, scanGroup(r))
				return nil
			})
		if err != nil || !members {
			return err
		}
		list, err = readMembers(tx, list)
		return err
	})
	return list, total, err
}

const readMembersSQL = `
	SELECT group_id, COUNT(*)
	FROM sso_group_members
	WHERE group_id IN {ids $1}
	GROUP BY group_id`

const selectSsoGroupMembersSQL = `
	SELECT sso_group_members.group_id, sso_group_members.user_id, sso_accounts.user_name
	FROM sso_group_members
	JOIN sso_accounts ON sso_accounts.user_id = sso_group_members.user_id
	WHERE sso_group_members.group_id IN {ids $1}
	ORDER BY sso_accounts.user_name NULLS LAST`

// readMembers reads the members of listed groups. It ends the list before the group
// that would show too many; a page may be shorter than asked for (RFC 7644,
// 3.4.2.4).
func readMembers(tx *db.Tx, list []Group) ([]Group, error) {
	at, ids, sizes := map[string]int{}, []string{}, make([]int64, len(list))
	for i, g := range list {
		at[g.ID], ids = i, append(ids, g.ID)
	}
	err := tx.Query(readMembersSQL, []any{asJSON(ids)},
		func(r *db.Row) error {
			sizes[at[r.Text(0)]] = r.Int(1)
			return nil
		})
	if err != nil {
		return nil, err
	}
	shown := shownOf(sizes, maxListed)
	list = list[:shown]
	err = tx.Query(selectSsoGroupMembersSQL, []any{asJSON(ids[:shown])}, func(r *db.Row) error {
		g := &list[at[r.Text(0)]]
		g.Members = append(g.Members, Ref{r.Text(1), r.Text(2)})
		return nil
	})
	return list, err
}

// shownOf is how many groups of these sizes a list shows: the first one, and those
// after it as long as there are not too many members.
func shownOf(sizes []int64, most int64) int {
	var n int64
	for i, size := range sizes {
		if n += size; i > 0 && n > most {
			return i
		}
	}
	return len(sizes)
}

func (g *Group) checkGroup() error {
	g.Display = strings.TrimSpace(g.Display)
	if g.Display == "" || len(g.Display) > 300 || len(g.ExternalID) > 255 || len(g.Members) > maxMembers {
		return fault.New(fault.Invalid, "invalidValue",
			"displayName is required, of at most 300 characters; a group has at most %d members", maxMembers)
	}
	return nil
}

const createGroupSQL = `
	INSERT INTO sso_groups (id, tenant_id, connection_id, display_name, external_id, created_at, updated_at)
	VALUES ($1, $2, $3, $4, $5, $6, $6)`

// CreateGroup makes a group; its members get the role it maps to.
func (s Directory) CreateGroup(ctx context.Context, c *Connection, g Group, who identity.Client) (Group, error) {
	if err := g.checkGroup(); err != nil {
		return g, err
	}
	g.ID = db.NewID()
	err := s.db.Write(ctx, everywhere, func(tx *db.Tx) error {
		now := s.now()
		_, err := tx.Exec(createGroupSQL, g.ID, c.TenantID, c.ID, g.Display, db.Null(g.ExternalID), now)
		if err != nil {
			return err
		}
		return s.setMembers(tx, c, Group{ID: g.ID}, g, who)
	})
	if fault.HasCode(err, "23505") {
		err = fault.New(fault.Conflict, "uniqueness", "There is a group with this displayName")
	}
	if err != nil {
		return g, err
	}
	return s.Group(ctx, c, g.ID)
}

// ChangeGroup writes what change makes of a group.
func (s Directory) ChangeGroup(
	ctx context.Context, c *Connection, id string, who identity.Client, change func(*Group) error,
) (Group, error) {
	err := s.db.Write(ctx, everywhere, func(tx *db.Tx) error {
		was, err := s.groupBy(tx, c, id)
		if err != nil {
			return err
		}
		g := was
		g.Members = append([]Ref{}, was.Members...)
		if err := change(&g); err != nil {
			return err
		}
		g.ID = was.ID
		if err := g.checkGroup(); err != nil {
			return err
		}
		if _, err := tx.Exec(`
			UPDATE sso_groups
			SET display_name = $2, external_id = $3, updated_at = $4
			WHERE id = $1`, g.ID,
			g.Display, db.Null(g.ExternalID), s.now()); err != nil {
			return err
		}
		return s.setMembers(tx, c, was, g, who)
	})
	if fault.HasCode(err, "23505") {
		err = fault.New(fault.Conflict, "uniqueness", "There is a group with this displayName")
	}
	if err != nil {
		return Group{}, err
	}
	return s.Group(ctx, c, id)
}

// setMembers makes the members exactly g's, and lets the roles of whoever came,
// went, or sits in a renamed group follow.
func (s Directory) setMembers(tx *db.Tx, c *Connection, was, g Group, who identity.Client) error {
	before, after := memberIDs(was.Members), map[string]bool{}
	touched := map[string]bool{}
	for _, m := range g.Members {
		id, ok := accounts.CanonicalID(m.ID)
		if !ok {
			return fault.New(fault.Invalid, "invalidValue", "A member's value is not the id of a user")
		}
		if after[id] {
			continue
		}
		after[id] = true
		if before[id] && was.Display == g.Display {
			continue
		}
		touched[id] = true
		if before[id] {
			continue
		}
		// Members are the connection's own accounts and nobody else's.
		if _, err := s.personBy(tx, c, id); fault.Is(err, fault.NotFound) {
			return fault.New(fault.Invalid, "invalidValue", "A member is not a user of this connection")
		} else if err != nil {
			return err
		}
		tx.Queue("INSERT INTO sso_group_members (group_id, user_id) VALUES ($1, $2)", []any{g.ID, id}, nil)
	}
	for id := range before {
		if !after[id] {
			touched[id] = true
			tx.Queue(`
				DELETE FROM sso_group_members
				WHERE group_id = $1
					AND user_id = $2`, []any{g.ID, id}, nil)
		}
	}
	for id := range touched {
		if err := s.followGroups(tx, c, id, who); err != nil {
			return err
		}
	}
	s.ident.Federation.Record(tx, identity.Note{Tenant: c.TenantID, Key: "scim:" + c.ID, Action: "scim.group_changed",
		Entity: "sso_groups", EntityID: g.ID,
		Details: map[string]any{"group": g.Display, "members": len(after)}, Client: who})
	return tx.Flush()
}

func memberIDs(list []Ref) map[string]bool {
	out := map[string]bool{}
	for _, m := range list {
		out[m.ID] = true
	}
	return out
}

// DeleteGroup removes a group; the roles of its members follow.
func (s Directory) DeleteGroup(ctx context.Context, c *Connection, id string, who identity.Client) error {
	return s.db.Write(ctx, everywhere, func(tx *db.Tx) error {
		was, err := s.groupBy(tx, c, id)
		if err != nil {
			return err
		}
		empty := was
		empty.Members = nil
		if err := s.setMembers(tx, c, was, empty, who); err != nil {
			return err
		}
		_, err = tx.Exec("DELETE FROM sso_groups WHERE id = $1", was.ID)
		return err
	})
}
