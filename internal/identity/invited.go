package identity

import (
	"context"
	"crypto/subtle"
	"encoding/base64"

	"github.com/google/uuid"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/post"
)

// Invitations are the invitations of a person: what waits for an answer, and
// the answer.
type Invitations struct {
	*Base
	accounts *Accounts
	codes    *Codes
	post     *Post
	proofs   *Proofs
	tenants  *Tenants
	invites  *post.Bell
}

// ReceivedInvitation is an invitation as the person sees it whom it is for.
type ReceivedInvitation struct {
	ID         string     `json:"id"`
	TenantID   string     `json:"tenant_id"`
	TenantName string     `json:"tenant_name"`
	Role       actor.Role `json:"role"`
	CreatedAt  Time       `json:"created_at"`
	ExpiresAt  Time       `json:"expires_at"`
}

// maxReceived is how many invitations a list shows.
const maxReceived = 100

// standsFor picks the invitations, i, of tenants, t, that are open to the
// address $1 at the time $2.
const standsFor = `i.email = $1 AND i.status = 'pending' AND i.expires_at > $2 AND i.declined_at IS NULL AND t.status = 'active'`

// received are the invitations that stand for an account's proved address. An
// account of an organisation's provider gets none: who works where is the
// provider's to say.
func (s *Invitations) received(tx *db.Tx, u *User, where string, args ...any) (list []ReceivedInvitation, err error) {
	list = []ReceivedInvitation{}
	if u.EmailConfirmedAt.IsZero() || u.sso {
		return list, nil
	}
	query := "SELECT i.id, i.tenant_id, t.name, i.role, i.created_at, i.expires_at FROM invitations i JOIN tenants t ON t.id = i.tenant_id WHERE " +
		standsFor + where + " ORDER BY i.created_at DESC NULLS LAST, i.id LIMIT $3"
	err = tx.Query(query, append([]any{u.Email, s.now(), maxReceived}, args...), func(r *db.Row) error {
		inv := ReceivedInvitation{ID: r.Text(0), TenantID: r.Text(1), TenantName: r.Text(2), Role: actor.Role(r.Text(3))}
		inv.CreatedAt, inv.ExpiresAt = Time{Time: r.Time(4)}, Time{Time: r.Time(5)}
		list = append(list, inv)
		return nil
	})
	return list, err
}

// List lists the invitations that wait for the caller's answer, newest first.
func (s *Invitations) List(ctx context.Context, a actor.Actor) (list []ReceivedInvitation, err error) {
	err = s.db.Read(ctx, everywhere, func(tx *db.Tx) error {
		u, err := userByID(tx, a.UserID)
		if err != nil {
			return err
		}
		list, err = s.received(tx, u, "")
		return err
	})
	return list, err
}

// Accept makes the caller a member where he is invited. One that is
// somebody else's, was answered, revoked or has expired is invite_not_found.
func (s *Invitations) Accept(ctx context.Context, a actor.Actor, id string) (ReceivedInvitation, error) {
	return s.answer(ctx, a, id, "invitation.accept_refused", func(tx *db.Tx, u *User, inv ReceivedInvitation) error {
		return s.accepted(tx, u, inv, clientOf(a))
	})
}

// Decline turns an invitation down. Its tenant is not told: the invitation
// stays pending there until it expires.
func (s *Invitations) Decline(ctx context.Context, a actor.Actor, id string) error {
	_, err := s.answer(ctx, a, id, "invitation.decline_refused", func(tx *db.Tx, u *User, inv ReceivedInvitation) error {
		s.record(tx, event{user: u.ID, action: "invitation.declined", entity: "invitations", entityID: inv.ID, client: clientOf(a)})
		_, err := tx.Exec("UPDATE invitations SET declined_at = $3 WHERE tenant_id = $1 AND id = $2", inv.TenantID, inv.ID, s.now())
		return err
	})
	return err
}

func (s *Invitations) answer(ctx context.Context, a actor.Actor, id, refused string, do func(tx *db.Tx, u *User, inv ReceivedInvitation) error) (
	out ReceivedInvitation, err error,
) {
	err = s.write(ctx, func(tx *db.Tx) error {
		u, err := locked(tx, a.UserID)
		if err != nil {
			return err
		}
		if err := needAAL2(u, a, fault.Forbidden, "AAL2 required to answer an invitation"); err != nil {
			return err
		}
		list, err := s.received(tx, u, " AND i.id = $4", id)
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
		note := event{user: a.UserID, action: refused, outcome: "refused", entity: "invitations", entityID: id, client: clientOf(a)}
		if err := s.note(ctx, note); err != nil {
			return out, err
		}
	}
	return out, err
}

// accepted turns a pending invitation into a membership, once.
func (s *Invitations) accepted(tx *db.Tx, u *User, inv ReceivedInvitation, c Client) error {
	n, err := tx.Exec(`UPDATE invitations SET status = 'accepted', accepted_at = $3, updated_at = $3, version = version + 1
		WHERE tenant_id = $1 AND id = $2 AND status = 'pending'`,
		inv.TenantID, inv.ID, s.now())
	if err == nil && n == 0 {
		err = errNoInvitation()
	}
	if err != nil {
		return err
	}
	return s.tenants.addMember(tx, inv.TenantID, u, inv.Role, c)
}

func errNoInvitation() error {
	return fault.New(fault.NotFound, "invite_not_found", "The invitation is unknown, used or expired")
}

// takeUp accepts the invitation that a sign-in or sign-up names by its token.
func (s *Invitations) takeUp(tx *db.Tx, u *User, token string, c Client) error {
	tenant, id, ok := s.parse(token)
	if !ok {
		return errNoInvitation()
	}
	list, err := s.received(tx, u, " AND i.tenant_id = $4 AND i.id = $5", tenant, id)
	if err == nil && len(list) == 0 {
		err = errNoInvitation()
	}
	if err != nil {
		return err
	}
	return s.accepted(tx, u, list[0], c)
}

// inviteMAC is how many bytes of a token vouch for the two ids before them.
const inviteMAC = 16

// token names an invitation to a client: tenant, id and a keyed hash of
// both in base64url. It opens no account; whoever shows it accepts with an
// account that has the invited address.
func (s *Invitations) token(tenantID, id string) string {
	tenant, own := uuid.MustParse(tenantID), uuid.MustParse(id)
	raw := append(append(tenant[:], own[:]...), s.secrets.Sum("invitation", tenant.String(), own.String())[:inviteMAC]...)
	return base64.RawURLEncoding.EncodeToString(raw)
}

// parse reads what token made.
func (s *Invitations) parse(token string) (tenantID, id string, ok bool) {
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(raw) != 32+inviteMAC {
		return "", "", false
	}
	tenantID, id = uuid.UUID(raw[:16]).String(), uuid.UUID(raw[16:32]).String()
	return tenantID, id, subtle.ConstantTimeCompare([]byte(s.token(tenantID, id)), []byte(token)) == 1
}

// Leave ends the caller's membership in a tenant, and his sessions there work
// elsewhere from their next refresh on. The last owner is refused with
// fault.Conflict, and an account of an organisation's provider with
// user_sso_managed.
func (s *Invitations) Leave(ctx context.Context, a actor.Actor, tenantID string) error {
	return s.write(ctx, func(tx *db.Tx) error {
		u, err := locked(tx, a.UserID)
		if err != nil {
			return err
		}
		if u.sso {
			return errManaged()
		}
		if err := needAAL2(u, a, fault.Forbidden, "AAL2 required to leave a tenant"); err != nil {
			return err
		}
		m, err := memberOf(tx, u.ID, tenantID)
		if fault.Is(err, fault.NotFound) {
			return errNoTenant()
		}
		if err != nil {
			return err
		}
		return s.leave(tx, u, m, clientOf(a))
	})
}

func (s *Invitations) leave(tx *db.Tx, u *User, m Member, c Client) error {
	s.record(tx, event{tenant: m.TenantID, user: u.ID, action: "member.left", entity: "user", entityID: u.ID,
		details: map[string]any{"role": m.Role}, client: c})
	if err := s.tenants.RemoveMember(tx, m.TenantID, u.ID); err != nil {
		return err
	}
	tx.Queue("UPDATE sessions SET tenant_id = NULL, updated_at = $3 WHERE user_id = $1 AND tenant_id = $2", []any{u.ID, m.TenantID, s.now()}, nil)
	if m.Role == actor.Owner {
		return keepOwner(tx, m.TenantID)
	}
	return tx.Flush()
}

// invitedBy reads the invitation that a link's code was made for, as its
// token; "" for the service key's, which is none of a tenant's. A code whose
// invitation does not stand any more opens nothing.
func (s *Invitations) invitedBy(tx *db.Tx, t oneTime) (token string, err error) {
	stands := true
	err = tx.Query(`SELECT i.status, i.expires_at, t.status, i.declined_at, i.tenant_id, i.id FROM invitations i JOIN tenants t ON t.id = i.tenant_id
		WHERE i.email = $1 AND i.token_hash = $2`,
		[]any{t.address, t.link}, func(r *db.Row) error {
			stands = r.Text(0) == "pending" && s.now().Before(r.Time(1)) && r.Text(2) == "active" && r.Null(3)
			token = s.token(r.Text(4), r.Text(5))
			return nil
		})
	if err == nil && !stands {
		err = errLink()
	}
	return token, err
}

// named marks an invitation as the one that a link's code was made for.
func named(tx *db.Tx, inv Invitation, hash string) error {
	_, err := tx.Exec("UPDATE invitations SET token_hash = $3 WHERE tenant_id = $1 AND id = $2", inv.TenantID, inv.ID, hash)
	return err
}

// shown reads the token of an invitation that a client shows: the one in a
// link that opens an account, whose code it returns, or that of a tenant's
// offer. offer is "" where the service key invited.
func (s *Invitations) shown(tx *db.Tx, token string) (code, offer string, err error) {
	if _, _, ok := s.parse(token); ok {
		return "", token, nil
	}
	t, err := s.codes.codeByLink(tx, token)
	offer, err = s.check(tx, t, err)
	return t.id, offer, err
}

// check refuses a code, as a look-up found it, that is no invitation's or
// whose invitation stands no more.
func (s *Invitations) check(tx *db.Tx, t oneTime, found error) (offer string, err error) {
	if found == nil && t.kind == kindInvite && s.now().Before(t.expires) {
		offer, found = s.invitedBy(tx, t)
	} else if found == nil {
		found = errLink()
	}
	if fault.Is(found, fault.NotFound) || fault.HasCode(found, "otp_expired") {
		found = errNoInvitation()
	}
	return offer, found
}
