package tenants

import (
	"context"
	"errors"
	"fmt"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/gate"
	"holdfast/internal/identity/accounts"
	"holdfast/internal/identity/codes"
	"holdfast/internal/identity/letter"
	"holdfast/internal/mail"
	"holdfast/internal/seal"
)

// Mails of invitations wait in the database: who was told that somebody is
// invited may rely on the mail, and a tenant that invites a crowd stands in
// nobody's way. They share no queue with the mails of people who wait.

// invitesADay is how many invitations of one tenant are mailed within a day.
const invitesADay = 1000

// How a mail of an invitation is retried: after each of these, then after the
// last one again as long as the invitation stands. A node that dies while it
// sends leaves the mail to the others after inviteClaim.
var inviteRetries = [...]time.Duration{time.Minute, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour}

const (
	inviteClaim   = 5 * time.Minute
	inviteTimeout = 30 * time.Second
	invitePage    = 20
	inviteFaults  = 3 // that end a round: the mail server is away
)

// announce stores the mails of new invitations of a tenant with them: one to an
// address within the mail interval, no more than invitesADay. They are sent
// after the commit, and by upkeep.
func (s *Invitations) announce(tx *db.Tx, tenantID string, list ...Invitation) error {
	switch {
	case len(list) == 0:
		return nil
	case len(list) > invitesADay:
		return fault.New(fault.Invalid, "validation_failed", "A tenant's invitations are mailed to %d addresses a day: no more at once", invitesADay)
	}
	now, n := s.Now(), int64(0)
	for _, inv := range list {
		if err := s.Post.ThrottleTx(tx, "invitation", inv.TenantID+"|"+inv.Email); err != nil {
			return err
		}
		tx.Queue("INSERT INTO invitation_mails (tenant_id, invitation_id, status, tries, made_at, next_at) VALUES ($1, $2, 'pending', 0, $3, $3)",
			[]any{inv.TenantID, inv.ID, now}, nil)
	}
	err := tx.One("SELECT COUNT(*) FROM invitation_mails WHERE tenant_id = $1 AND made_at > $2", []any{tenantID, now.Add(-24 * time.Hour)}, func(r *db.Row) error {
		n = r.Int(0)
		return nil
	})
	if err == nil && n > invitesADay {
		f := fault.New(fault.Limited, "over_email_send_rate_limit",
			"A tenant's invitations are mailed to %d addresses a day; invite the others tomorrow, or with deliver=link", invitesADay)
		f.RetryAfter = time.Hour
		gate.Explain(f, invitesADay, now.Add(f.RetryAfter))
		return f
	}
	tx.After(s.Invites.Ring)
	return err
}

// invitationMail is one that is due.
type invitationMail struct {
	Invitation
	tries int64
}

// SendInvitations mails the invitations whose mail is due, of all tenants in
// turn. Several nodes may: each mail is claimed by one, and sent again only when
// its node died between sending and noting so.
func (s *Invitations) SendInvitations(ctx context.Context) error {
	var errs []error
	faults := 0
	for {
		list, err := s.dueInvitations(ctx)
		if err != nil || len(list) == 0 {
			return errors.Join(append(errs, err)...)
		}
		for _, m := range list {
			if ctx.Err() != nil {
				return errors.Join(errs...)
			}
			err := s.sendInvitation(ctx, m)
			if err != nil {
				errs = append(errs, err)
			}
			if err != nil && !fault.Is(err, fault.Invalid) { // a refused message says nothing of the next
				faults++
			}
			if faults >= inviteFaults {
				return errors.Join(errs...)
			}
		}
	}
}

func (s *Invitations) dueInvitations(ctx context.Context) (list []invitationMail, err error) {
	err = s.DB.Read(ctx, accounts.Everywhere, func(tx *db.Tx) error {
		list = nil
		return tx.Query(`SELECT m.tenant_id, m.invitation_id, m.tries, i.email, i.role, i.expires_at
			FROM (SELECT tenant_id, invitation_id, tries, ROW_NUMBER() OVER (PARTITION BY tenant_id ORDER BY next_at, invitation_id) AS turn
				FROM invitation_mails WHERE status = 'pending' AND next_at <= $1) m
			JOIN invitations i ON i.tenant_id = m.tenant_id AND i.id = m.invitation_id JOIN tenants t ON t.id = m.tenant_id
			WHERE i.status = 'pending' AND i.expires_at > $1 AND i.declined_at IS NULL AND t.status = 'active'
				ORDER BY m.turn, m.invitation_id LIMIT $2`, []any{s.Now(), invitePage}, func(r *db.Row) error {
			list = append(list, invitationMail{Invitation{TenantID: r.Text(0), ID: r.Text(1), Email: r.Text(3), Role: actor.Role(r.Text(4)),
				ExpiresAt: accounts.Time{Time: r.Time(5)}}, r.Int(2)})
			return nil
		})
	})
	return list, err
}

func (s *Invitations) sendInvitation(ctx context.Context, m invitationMail) error {
	mine, err := s.claimInvitation(ctx, &m)
	if err != nil || !mine {
		return err
	}
	// What is begun is finished and noted, even while the server stops.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), inviteTimeout)
	defer cancel()
	err = s.mailInvitation(ctx, m)
	status, next := "sent", s.Now()
	switch {
	case mail.Hopeless(err):
		status = "failed"
	case err != nil:
		status, next = "pending", next.Add(inviteRetries[min(m.tries, int64(len(inviteRetries)))-1])
	}
	noted := s.DB.Write(context.WithoutCancel(ctx), accounts.Everywhere, func(tx *db.Tx) error {
		_, err := tx.Exec("UPDATE invitation_mails SET status = $4, next_at = $5 WHERE tenant_id = $1 AND invitation_id = $2 AND tries = $3", m.TenantID,
			m.ID, m.tries, status, next)
		return err
	})
	if err = errors.Join(err, noted); err != nil {
		return fmt.Errorf("identity: mail of invitation %s: %w", m.ID, err)
	}
	return nil
}

// claimInvitation takes a mail that no other node has taken: the number of tries
// tells.
func (s *Invitations) claimInvitation(ctx context.Context, m *invitationMail) (mine bool, err error) {
	err = s.DB.Write(ctx, accounts.Everywhere, func(tx *db.Tx) error {
		n, err := tx.Exec("UPDATE invitation_mails SET tries = tries + 1, next_at = $4 WHERE tenant_id = $1 AND invitation_id = $2 AND tries = $3 AND "+
			"status = 'pending'",
			m.TenantID, m.ID, m.tries, s.Now().Add(inviteClaim))
		mine = n == 1
		return err
	})
	m.tries++
	return mine, err
}

// mailInvitation words the mail and hands it on. A stranger gets an account and a
// link that opens it; an account holder is asked to sign in, and so is who was
// mailed a code within the mail interval, which stays good.
func (s *Invitations) mailInvitation(ctx context.Context, m invitationMail) error {
	inv := m.Invitation
	l := letter.Letter{Kind: letter.TenantInvite, TenantID: inv.TenantID, To: inv.Email, Link: s.link(inv), Role: string(inv.Role),
		Valid: inv.ExpiresAt.Sub(s.Now())}
	err := s.Write(ctx, func(tx *db.Tx) error {
		err := tx.One("SELECT name FROM tenants WHERE id = $1", []any{inv.TenantID}, func(r *db.Row) error {
			l.Tenant = r.Text(0)
			return nil
		})
		if err != nil {
			return err
		}
		u, known, err := s.invitee(tx, inv.Email)
		if err != nil {
			return err
		}
		if known {
			l.User = u.ID
		}
		if !u.EmailConfirmedAt.IsZero() || known && m.tries == 1 && s.Post.SentLately(u.ConfirmationSentAt) {
			return nil
		}
		c, err := s.Codes.MakeCode(tx, u, codes.CodeOrder{Kind: codes.KindInvite, Address: inv.Email, TTL: inv.ExpiresAt.Sub(s.Now())})
		if err != nil {
			return err
		}
		l.Kind, l.Link = letter.Invite, c.Link
		return named(tx, inv, seal.Digest(c.Hash))
	})
	if err != nil {
		return err
	}
	return s.Post.Deliver(ctx, l)
}
