package tenants

import (
	"context"
	"net/url"
	"slices"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/accounts"
	"holdfast/internal/identity/codes"
	"holdfast/internal/identity/redirect"
	"holdfast/internal/secrets"
)

// Invitation is a standing offer of membership.
type Invitation struct {
	ID       string     `json:"id"`
	TenantID string     `json:"tenant_id"`
	Email    string     `json:"email"`
	Role     actor.Role `json:"role"`
	Reach
	ExpiresAt accounts.Time `json:"expires_at"`
	Link      string        `json:"link,omitempty"` // to hand over; shown once
}

// How an invitation reaches who is invited.
const (
	DeliverMail = "mail"
	DeliverLink = "link"
)

// Invite asks for an invitation.
type Invite struct {
	Email   string
	Role    actor.Role
	Deliver string // DeliverMail ("") or DeliverLink
	Reach   Reach
}

// Rank orders roles, strongest first; an unknown one is last.
func Rank(r actor.Role) int {
	if r == actor.Service {
		return -1
	}
	if i := slices.Index(actor.Members, r); i >= 0 {
		return i
	}
	return len(actor.Members)
}

// MayGrant says whether by may give somebody role: nobody above himself, so
// only an owner makes an owner.
func MayGrant(by, role actor.Role) error {
	if !role.Valid() {
		return fault.New(fault.Invalid, "validation_failed",
			"role is not one of owner, admin, manager, safety, operator, driver, viewer").At("role", "unknown role")
	}
	if Rank(by) > Rank(role) {
		return fault.New(fault.Forbidden, "42501", "a role above your own cannot be granted").At("role", "above your own")
	}
	return nil
}

// mayInvite is MayGrant, and a fresh proof of who invites an administrator.
func (s *Store) mayInvite(a actor.Actor, role actor.Role) error {
	if err := MayGrant(a.Role, role); err != nil || !accounts.Administrates(role) {
		return err
	}
	return s.Proofs.Admit(a)
}

// Invite offers membership in the caller's tenant to an address and mails it,
// or answers with a link that the caller hands over. Its reach becomes the member's. Whoever has the address
// joins by accepting: by the link, by naming the invitation at a sign-in or
// sign-up, or signed in. A pending invitation of the same
// address is replaced, and a link of it is dead. A second mail of the tenant to
// the address within the mail interval is refused with over_email_send_rate_limit.
func (s *Invitations) Invite(ctx context.Context, a actor.Actor, in Invite) (Invitation, error) {
	if !a.Administrator() || a.TenantID == "" {
		return Invitation{}, fault.New(fault.Forbidden, "not_admin", "Only an administrator of the tenant may invite")
	}
	if a.Suspended {
		return Invitation{}, fault.New(fault.Forbidden, "not_admin", "The tenant is suspended")
	}
	if in.Deliver == "" {
		in.Deliver = DeliverMail
	}
	if in.Deliver != DeliverMail && in.Deliver != DeliverLink {
		return Invitation{}, fault.New(fault.Invalid, "validation_failed", "deliver: use mail or link").At("deliver",
			"mail or link")
	}
	addr, err := accounts.Canonical(in.Email)
	if err != nil {
		return Invitation{}, err
	}
	if err := s.Tenants.mayInvite(a, in.Role); err != nil {
		return Invitation{}, err
	}
	inv := Invitation{ID: db.NewID(), TenantID: a.TenantID, Email: addr, Role: in.Role, Reach: in.Reach,
		ExpiresAt: accounts.Time{Time: s.Now().Add(s.Config.InviteTTL)}}
	err = s.Write(ctx, func(tx *db.Tx) error {
		if inv.Reach, err = checkReach(tx, inv.TenantID, inv.Role, inv.Reach); err != nil {
			return err
		}
		if err := refuseMember(tx, inv); err != nil {
			return err
		}
		if err := s.keepInvitation(tx, a, inv); err != nil {
			return err
		}
		s.Audit(tx, accounts.Event{Tenant: a.TenantID, User: a.UserID, Key: a.KeyID, Action: "member.invited",
			Entity: "invitations", EntityID: inv.ID,
			Details: map[string]any{"role": in.Role, "deliver": in.Deliver, "reach": inv.Reach},
			Client:  accounts.ClientOf(a)})
		if in.Deliver == DeliverLink {
			inv.Link, err = s.handedOver(tx, inv)
			return err
		}
		if err := s.queueMails(tx, a.TenantID, inv); err != nil {
			return err
		}
		return tx.Flush()
	})
	return inv, err
}

const activeMemberSQL = `
	SELECT id
	FROM members
	WHERE tenant_id = $1
		AND email = $2
		AND status = 'active'`

// refuseMember refuses to say a reach of who is a member already: the membership says it.
func refuseMember(tx *db.Tx, inv Invitation) error {
	isMember := false
	if !inv.Reach.isEmpty() {
		err := tx.Query(activeMemberSQL, []any{inv.TenantID, inv.Email}, func(*db.Row) error {
			isMember = true
			return nil
		})
		if err != nil {
			return err
		}
	}
	if isMember {
		return errMemberAlready()
	}
	return nil
}

func errMemberAlready() error {
	return fault.New(fault.Conflict, "23505",
		"this person is a member already: change worker, zones and owner of the membership").At("email", "is a member")
}

const insertInvitationSQL = `
	INSERT INTO invitations (tenant_id, id, email, role, worker_id, zone_ids, owner_id, status, invited_by, expires_at,
		created_at, updated_at, created_by, version)
	VALUES ($1, $2, $3, $4, $5, $6, $7, 'pending', $8, $9, $10, $10, $8, 1)`

// keepInvitation stores an invitation in the place of the one that the address had.
func (s *Invitations) keepInvitation(tx *db.Tx, a actor.Actor, inv Invitation) error {
	zones, err := inv.zonesText()
	if err != nil {
		return err
	}
	now := s.Now()
	revokePending(tx, inv.TenantID, inv.Email, now)
	tx.Queue(insertInvitationSQL, []any{inv.TenantID, inv.ID, inv.Email, string(inv.Role), db.Null(inv.WorkerID), zones,
		db.Null(inv.OwnerID), db.Null(a.UserID), inv.ExpiresAt.Time, now}, nil)
	return nil
}

// handedOver returns the link of an invitation that its sender hands over. A
// mail proves whose the address is; a link that went from hand to hand does
// not. So it opens an account only where the sender may vouch for the address:
// where addresses need no proof, or the domain is the tenant's, or the operator
// trusts every tenant's administrators. Elsewhere it leads to the site, where
// the person signs in or up in a way of his own. It never opens an account that
// is in use: that would be a key to somebody else's.
func (s *Invitations) handedOver(tx *db.Tx, inv Invitation) (string, error) {
	vouched, err := s.vouchesFor(tx, inv.TenantID, inv.Email)
	if err != nil || !vouched {
		return s.invitationLink(inv), err
	}
	u, _, err := s.findOrMakeInvitee(tx, inv.Email)
	if err != nil {
		return "", err
	}
	if !u.EmailConfirmedAt.IsZero() {
		return s.invitationLink(inv), nil
	}
	c, err := s.Codes.MakeCode(tx, u, codes.CodeOrder{Kind: codes.KindInvite, Address: inv.Email,
		TTL: inv.ExpiresAt.Sub(s.Now())})
	if err != nil {
		return "", err
	}
	return c.Link, markLinked(tx, inv, secrets.Digest(c.Hash))
}

// invitationLink leads to the site, which shows the invitation to who signs in there.
func (s *Invitations) invitationLink(inv Invitation) string {
	return redirect.WithQuery(s.Config.Home(), url.Values{"invite_token": {s.invitationToken(inv.TenantID, inv.ID)}})
}

func (s *Invitations) vouchesFor(tx *db.Tx, tenantID, email string) (bool, error) {
	if s.Config.Autoconfirm || s.Config.InviteLinksAny {
		return true, nil
	}
	noted := ""
	err := tx.One("SELECT email_domains FROM tenants WHERE id = $1", []any{tenantID}, func(r *db.Row) error {
		noted = r.Text(0)
		return nil
	})
	if err != nil {
		return false, err
	}
	return isTrustedDomain(tx, tenantID, noted, accounts.DomainOf(email))
}

// findOrMakeInvitee finds the account of an invited address or makes it. What a stranger
// left in one that nobody has proved, a password or a wish for another tenant,
// goes.
func (s *Invitations) findOrMakeInvitee(tx *db.Tx, email string) (u *accounts.User, known bool, err error) {
	u, err = accounts.UserByEmail(tx, email)
	if fault.Is(err, fault.NotFound) {
		u, err = s.MakeInvited(tx, email, nil)
		return u, false, err
	}
	if err == nil && u.EmailConfirmedAt.IsZero() {
		_, err = s.Accounts.Disown(tx, u)
	}
	return u, true, err
}

// MakeInvited inserts an account without a password whose address is to be
// proved by the link of the invitation.
func (s *Invitations) MakeInvited(tx *db.Tx, email string, data map[string]any) (*accounts.User, error) {
	now := s.Now()
	if data == nil {
		data = map[string]any{}
	}
	u := &accounts.User{ID: db.NewID(), Aud: "authenticated", Role: "authenticated", Email: email,
		InvitedAt: accounts.Time{Time: now}, ConfirmationSentAt: accounts.Time{Time: now},
		AppData: map[string]any{}, UserMetadata: data, CreatedAt: accounts.Time{Time: now},
		UpdatedAt: accounts.Time{Time: now}}
	u.Identities = []accounts.Identity{accounts.EmailIdentity(u, now)}
	u.Derive()
	return u, accounts.InsertUser(tx, u)
}

// InviteLife is how long an invitation of the service key's POST /invite and
// a set-up link of the command line hold.
const InviteLife = 24 * time.Hour
