package tenants

import (
	"context"
	"crypto/subtle"
	"encoding/base64"

	"github.com/google/uuid"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/accounts"
	"holdfast/internal/identity/codes"
)

// Invitations are the invitations of a person: what waits for an answer, and
// the answer.
type Invitations struct {
	*accounts.Base
	Accounts *accounts.Store
	Codes    *codes.Store
	Post     *codes.Post
	Proofs   *accounts.Proofs
	Tenants  *Store
}

// ReceivedInvitation is an invitation as the person sees it whom it is for.
type ReceivedInvitation struct {
	ID         string        `json:"id"`
	TenantID   string        `json:"tenant_id"`
	TenantName string        `json:"tenant_name"`
	Role       actor.Role    `json:"role"`
	CreatedAt  accounts.Time `json:"created_at"`
	ExpiresAt  accounts.Time `json:"expires_at"`
	reach      Reach
}

// maxReceived is how many invitations a list shows.
const maxReceived = 100

// standsFor picks the invitations, i, of tenants, t, that are open to the
// address $1 at the time $2.
const standsFor = `i.email = $1
	AND i.status = 'pending'
	AND i.expires_at > $2
	AND i.declined_at IS NULL
	AND t.status = 'active'
	AND ` + inviterMayGrant

// listReceived are the invitations that stand for an account's proved address. An
// account of an organisation's provider gets none: who works where is the
// provider's to say.
func (s *Invitations) listReceived(
	tx *db.Tx, u *accounts.User, where string, args ...any,
) (list []ReceivedInvitation, err error) {
	list = []ReceivedInvitation{}
	if u.EmailConfirmedAt.IsZero() || u.SSO {
		return list, nil
	}
	query := db.FillWords(`
		SELECT i.id,
			i.tenant_id,
			t.name,
			i.role,
			i.created_at,
			i.expires_at,
			i.worker_id,
			i.zone_ids,
			i.owner_id
		FROM invitations i
		JOIN tenants t ON t.id = i.tenant_id
		WHERE {stands for} {where}
		ORDER BY i.created_at DESC NULLS LAST, i.id
		LIMIT $3`, "{stands for}", standsFor, "{where}", where)
	err = tx.Query(query, append([]any{u.Email, s.Now(), maxReceived}, args...), func(r *db.Row) error {
		inv := ReceivedInvitation{ID: r.Text(0), TenantID: r.Text(1), TenantName: r.Text(2), Role: actor.Role(r.Text(3))}
		inv.CreatedAt, inv.ExpiresAt = accounts.Time{Time: r.Time(4)}, accounts.Time{Time: r.Time(5)}
		var err error
		inv.reach, err = readReach(r, 6)
		list = append(list, inv)
		return err
	})
	return list, err
}

// List lists the invitations that wait for the caller's answer, newest first.
func (s *Invitations) List(ctx context.Context, a actor.Actor) (list []ReceivedInvitation, err error) {
	err = s.DB.Read(ctx, accounts.Everywhere, func(tx *db.Tx) error {
		u, err := accounts.UserByID(tx, a.UserID)
		if err != nil {
			return err
		}
		list, err = s.listReceived(tx, u, "")
		return err
	})
	return list, err
}

// Accept makes the caller a member where he is invited. One that is
// somebody else's, was answered, revoked or has expired is invite_not_found.
func (s *Invitations) Accept(ctx context.Context, a actor.Actor, id string) (ReceivedInvitation, error) {
	return s.answerInvitation(ctx, a, id, "invitation.accept_refused",
		func(tx *db.Tx, u *accounts.User, inv ReceivedInvitation) error {
			return s.acceptOnce(tx, u, inv, accounts.ClientOf(a))
		})
}

// Decline turns an invitation down. Its tenant is not told: the invitation
// stays pending there until it expires.
func (s *Invitations) Decline(ctx context.Context, a actor.Actor, id string) error {
	_, err := s.answerInvitation(ctx, a, id, "invitation.decline_refused",
		func(tx *db.Tx, u *accounts.User, inv ReceivedInvitation) error {
			s.Audit(tx, accounts.Event{User: u.ID, Action: "invitation.declined", Entity: "invitations", EntityID: inv.ID,
				Client: accounts.ClientOf(a)})
			_, err := tx.Exec(`
				UPDATE invitations
				SET declined_at = $3
				WHERE tenant_id = $1
					AND id = $2`, inv.TenantID, inv.ID,
				s.Now())
			return err
		})
	return err
}

func (s *Invitations) answerInvitation(
	ctx context.Context,
	a actor.Actor,
	id, refused string,
	do func(tx *db.Tx, u *accounts.User, inv ReceivedInvitation) error,
) (
	out ReceivedInvitation, err error,
) {
	err = s.Write(ctx, func(tx *db.Tx) error {
		u, err := accounts.LockedUser(tx, a.UserID)
		if err != nil {
			return err
		}
		if err := accounts.NeedAAL2(u, a, fault.Forbidden, "AAL2 required to answer an invitation"); err != nil {
			return err
		}
		list, err := s.listReceived(tx, u, " AND i.id = $4", id)
		if err != nil {
			return err
		}
		if len(list) != 1 {
			return errNoInvitation()
		}
		out = list[0]
		return do(tx, u, out)
	})
	if fault.HasCode(err, "invite_not_found") {
		note := accounts.Event{User: a.UserID, Action: refused, Outcome: "refused", Entity: "invitations", EntityID: id,
			Client: accounts.ClientOf(a)}
		if err := s.AuditAlone(ctx, note); err != nil {
			return out, err
		}
	}
	return out, err
}

const acceptSQL = `
	UPDATE invitations
	SET status = 'accepted',
		worker_id = NULL, owner_id = NULL,
		accepted_at = $3,
		updated_at = $3,
		version = version + 1
	WHERE tenant_id = $1
		AND id = $2
		AND status = 'pending'`

// acceptOnce turns a pending invitation into a membership, once.
func (s *Invitations) acceptOnce(tx *db.Tx, u *accounts.User, inv ReceivedInvitation, c accounts.Client) error {
	n, err := tx.Exec(acceptSQL, inv.TenantID, inv.ID, s.Now())
	if err == nil && n == 0 {
		err = errNoInvitation()
	}
	if err != nil {
		return err
	}
	hasJoined, err := s.Tenants.addWithin(tx, inv.TenantID, u, joining{role: inv.Role, reach: inv.reach}, c)
	if err == nil && !hasJoined && !inv.reach.isEmpty() {
		err = errMemberAlready()
	}
	return err
}

func errNoInvitation() error {
	return fault.New(fault.NotFound, "invite_not_found", "The invitation is unknown, used or expired")
}

// TakeUp accepts the invitation that a sign-in or sign-up names by its token.
func (s *Invitations) TakeUp(tx *db.Tx, u *accounts.User, token string, c accounts.Client) error {
	tenant, id, ok := s.parseToken(token)
	if !ok {
		return errNoInvitation()
	}
	list, err := s.listReceived(tx, u, " AND i.tenant_id = $4 AND i.id = $5", tenant, id)
	if err == nil && len(list) == 0 {
		err = errNoInvitation()
	}
	if err != nil {
		return err
	}
	return s.acceptOnce(tx, u, list[0], c)
}

// OpenedInvitation is what the bearer of an invitation's link may know of it
// before a sign-in.
type OpenedInvitation struct {
	ID         string     `json:"id"`
	TenantID   string     `json:"tenant_id"`
	TenantName string     `json:"tenant_name"`
	Email      string     `json:"email"`
	Role       actor.Role `json:"role"`
	State      string     `json:"state"` // pending, accepted, declined, revoked, expired
}

// openedInvitationSQL finds an invitation and what became of it. $1 tenant, $2
// now, $3 invitation.
const openedInvitationSQL = `
	SELECT i.id,
		i.tenant_id,
		t.name,
		i.email,
		i.role,
		CASE
			WHEN i.status <> 'pending' THEN i.status
			WHEN i.declined_at IS NOT NULL THEN 'declined'
			WHEN i.expires_at <= $2 THEN 'expired'
			WHEN t.status <> 'active' OR NOT ` + inviterMayGrant + ` THEN 'revoked'
			ELSE 'pending'
		END AS state
	FROM invitations AS i
	JOIN tenants AS t ON t.id = i.tenant_id
	WHERE i.tenant_id = $1
		AND i.id = $3`

// Opened says what an invitation's token is about and what became of it, so that
// a page can say why it lets nobody in. A forged token is invite_not_found.
func (s *Invitations) Opened(ctx context.Context, token string) (out OpenedInvitation, err error) {
	tenant, id, ok := s.parseToken(token)
	if !ok {
		return out, errNoInvitation()
	}
	err = s.DB.Read(ctx, accounts.Everywhere, func(tx *db.Tx) error {
		return tx.One(openedInvitationSQL, []any{tenant, s.Now(), id}, func(r *db.Row) error {
			out = OpenedInvitation{
				ID:         r.Text(0),
				TenantID:   r.Text(1),
				TenantName: r.Text(2),
				Email:      r.Text(3),
				Role:       actor.Role(r.Text(4)),
				State:      r.Text(5),
			}
			return nil
		})
	})
	if fault.Is(err, fault.NotFound) {
		err = errNoInvitation()
	}
	return out, err
}

// inviteMAC is how many bytes of a token vouch for the two ids before them.
const inviteMAC = 16

// invitationToken names an invitation to a client: tenant, id and a keyed hash of
// both in base64url. It opens no account; whoever shows it accepts with an
// account that has the invited address.
func (s *Invitations) invitationToken(tenantID, id string) string {
	tenant, own := uuid.MustParse(tenantID), uuid.MustParse(id)
	raw := append(append(tenant[:], own[:]...), s.Secrets.Sum("invitation", tenant.String(), own.String())[:inviteMAC]...)
	return base64.RawURLEncoding.EncodeToString(raw)
}

// parseToken reads what token made.
func (s *Invitations) parseToken(token string) (tenantID, id string, ok bool) {
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(raw) != 32+inviteMAC {
		return "", "", false
	}
	tenantID, id = uuid.UUID(raw[:16]).String(), uuid.UUID(raw[16:32]).String()
	return tenantID, id, subtle.ConstantTimeCompare([]byte(s.invitationToken(tenantID, id)), []byte(token)) == 1
}

// Leave ends the caller's membership in a tenant, and his sessions there work
// elsewhere from their next refresh on. The last owner is refused with
// fault.Conflict, and an account of an organisation's provider with
// user_sso_managed.
func (s *Invitations) Leave(ctx context.Context, a actor.Actor, tenantID string) error {
	return s.Write(ctx, func(tx *db.Tx) error {
		u, err := accounts.LockedUser(tx, a.UserID)
		if err != nil {
			return err
		}
		if u.SSO {
			return accounts.ErrManaged()
		}
		if err := accounts.NeedAAL2(u, a, fault.Forbidden, "AAL2 required to leave a tenant"); err != nil {
			return err
		}
		m, err := accounts.MemberOf(tx, u.ID, tenantID)
		if fault.Is(err, fault.NotFound) {
			return ErrNoTenant()
		}
		if err != nil {
			return err
		}
		return s.leaveTenant(tx, u, m, accounts.ClientOf(a))
	})
}

func (s *Invitations) leaveTenant(tx *db.Tx, u *accounts.User, m accounts.Member, c accounts.Client) error {
	s.Audit(tx, accounts.Event{Tenant: m.TenantID, User: u.ID, Action: "member.left", Entity: "user", EntityID: u.ID,
		Details: map[string]any{"role": m.Role}, Client: c})
	if err := s.Tenants.RemoveMember(tx, m.TenantID, u.ID); err != nil {
		return err
	}
	tx.Queue(`
		UPDATE sessions
		SET tenant_id = NULL, updated_at = $3
		WHERE user_id = $1
			AND tenant_id = $2`,
		[]any{u.ID, m.TenantID, s.Now()}, nil)
	if m.Role == actor.Owner {
		return KeepOwner(tx, m.TenantID)
	}
	return tx.Flush()
}

// linkedInvitationSQL finds the invitation that a link's code was made for, and
// whether it stands. $1 address, $2 now, $3 the code's hash.
const linkedInvitationSQL = `
	SELECT i.tenant_id,
		i.id,
		CASE WHEN ` + standsFor + ` THEN 1 ELSE 0 END AS stands
	FROM invitations AS i
	JOIN tenants AS t ON t.id = i.tenant_id
	WHERE i.email = $1
		AND i.token_hash = $3`

// InvitedBy reads the invitation that a link's code was made for, as its
// token; "" for the service key's, which is none of a tenant's. A code whose
// invitation does not stand any more opens nothing.
func (s *Invitations) InvitedBy(tx *db.Tx, t codes.OneTime) (token string, err error) {
	stands := true
	err = tx.Query(linkedInvitationSQL, []any{t.Address, s.Now(), t.Link}, func(r *db.Row) error {
		stands = r.Int(2) == 1
		token = s.invitationToken(r.Text(0), r.Text(1))
		return nil
	})
	if err == nil && !stands {
		err = codes.ErrLink()
	}
	return token, err
}

// markLinked marks an invitation as the one that a link's code was made for.
func markLinked(tx *db.Tx, inv Invitation, hash string) error {
	_, err := tx.Exec(`
		UPDATE invitations
		SET token_hash = $3
		WHERE tenant_id = $1
			AND id = $2`, inv.TenantID, inv.ID,
		hash)
	return err
}

// Shown reads the token of an invitation that a client shows: the one in a
// link that opens an account, whose code it returns, or that of a tenant's
// offer. offer is "" where the service key invited.
func (s *Invitations) Shown(tx *db.Tx, token string) (code, offer string, err error) {
	if _, _, ok := s.parseToken(token); ok {
		return "", token, nil
	}
	t, err := s.Codes.CodeByLink(tx, token)
	offer, err = s.Check(tx, t, err)
	return t.ID, offer, err
}

// Check refuses a code, as a look-up found it, that is no invitation's or
// whose invitation stands no more.
func (s *Invitations) Check(tx *db.Tx, t codes.OneTime, found error) (offer string, err error) {
	if found == nil && t.Kind == codes.KindInvite && s.Now().Before(t.Expires) {
		offer, found = s.InvitedBy(tx, t)
	} else if found == nil {
		found = codes.ErrLink()
	}
	if fault.Is(found, fault.NotFound) || fault.HasCode(found, "otp_expired") {
		found = errNoInvitation()
	}
	return offer, found
}

// JoinAsWished acts on data.invite_token and data.tenant_id once, when the
// address or the number is first proved. Nobody is told whether the tenant
// exists; an invitation that does not stand is passed over.
func (s *Invitations) JoinAsWished(tx *db.Tx, u *accounts.User, c accounts.Client) error {
	if token, ok := u.UserMetadata[accounts.WishedInvite].(string); ok {
		if err := s.TakeUp(tx, u, token, c); err != nil && !fault.HasCode(err, "invite_not_found") {
			return err
		}
		delete(u.UserMetadata, accounts.WishedInvite)
		tx.Queue("UPDATE users SET user_metadata = $2 WHERE id = $1", []any{u.ID, accounts.WriteJSON(u.UserMetadata)}, nil)
	}
	id := accounts.RequestedTenant(u.UserMetadata)
	if id == "" {
		return tx.Flush()
	}
	if list, err := s.listReceived(tx, u, " AND i.tenant_id = $4", id); err != nil || len(list) > 0 {
		if err != nil {
			return err
		}
		return s.acceptOnce(tx, u, list[0], c)
	}
	return s.joinOpen(tx, u, id, c)
}

// joinOpen makes an account a member of a tenant that it names, where the
// tenant's join policy lets it; an unknown one is made where sign-ups claim.
func (s *Invitations) joinOpen(tx *db.Tx, u *accounts.User, id string, c accounts.Client) error {
	var policy, domains, status string
	look := func() error {
		return tx.One(`
			SELECT join_policy, email_domains, status
			FROM tenants
			WHERE id = $1`, []any{id},
			func(r *db.Row) error {
				policy, domains, status = r.Text(0), r.Text(1), r.Text(2)
				return nil
			})
	}
	err := look()
	if fault.Is(err, fault.NotFound) {
		if s.Config.SignupTenants != accounts.TenantsClaim {
			return nil
		}
		made, err := s.Tenants.makeTenant(tx, Tenant{ID: id, Name: "Tenant " + id[:8], Slug: "t-" + id, JoinPolicy: "open"},
			creator{u.ID, c})
		if err != nil {
			return err
		}
		if made {
			return s.Tenants.AddMember(tx, id, u, actor.Owner, c)
		}
		err = look()
		if err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	if status != "active" {
		return nil
	}
	in := policy == "open"
	if policy == "domain" {
		if in, err = isTrustedDomain(tx, id, domains, accounts.DomainOf(u.Email)); err != nil {
			return err
		}
		in = in && !u.EmailConfirmedAt.IsZero()
	}
	if in {
		return s.Tenants.AddMember(tx, id, u, actor.Viewer, c)
	}
	return nil
}
