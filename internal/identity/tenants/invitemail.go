package tenants

import (
	"context"
	"errors"
	"time"

	"holdfast/internal/access"
	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/accounts"
	"holdfast/internal/identity/codes"
	"holdfast/internal/identity/mailtemplate"
	"holdfast/internal/job"
	"holdfast/internal/secrets"
)

// Mails of invitations wait in the database: who was told that somebody is
// invited may rely on the mail, and a tenant that invites a crowd stands in
// nobody's way. They share no queue with the mails of people who wait.

// invitesADay is how many invitations of one tenant are mailed within a day.
const invitesADay = 1000

// MailJob is the kind of job that is the mail of an invitation; its key is the
// invitation's id.
const MailJob = "invitation-mail"

// queueMails stores the mails of new invitations of a tenant with them: one to an
// address within the mail interval, no more than invitesADay. They are
// jobs, which begin after the commit.
func (s *Invitations) queueMails(tx *db.Tx, tenantID string, list ...Invitation) error {
	switch {
	case len(list) == 0:
		return nil
	case len(list) > invitesADay:
		return fault.New(fault.Invalid, "validation_failed",
			"A tenant's invitations are mailed to %d addresses a day: no more at once", invitesADay)
	}
	now, jobs := s.Now(), make([]job.Job, len(list))
	for i, inv := range list {
		if err := s.Post.ThrottleTx(tx, "invitation", inv.TenantID+"|"+inv.Email); err != nil {
			return err
		}
		jobs[i] = job.Job{Tenant: inv.TenantID, Kind: MailJob, Key: inv.ID, Made: now}
	}
	if err := job.Add(tx, jobs...); err != nil {
		return err
	}
	n, err := job.Made(tx, tenantID, MailJob, now.Add(-24*time.Hour))
	if err == nil && n > invitesADay {
		f := fault.New(fault.Limited, "over_email_send_rate_limit",
			"A tenant's invitations are mailed to %d addresses a day; invite the others tomorrow, or with deliver=link",
			invitesADay)
		f.RetryAfter = time.Hour
		access.Explain(f, invitesADay, now.Add(f.RetryAfter))
		return f
	}
	if s.Config.Ring != nil {
		tx.After(func() { s.Config.Ring(MailJob) })
	}
	return err
}

// Mails is how mails of invitations are handed to the mail server, as long as
// the invitation stands.
func (s *Invitations) Mails(away func() bool) job.Kind {
	return job.Mails(job.Kind{
		Name: MailJob, Doc: "the mail of an invitation", Timeout: 30 * time.Second, Life: s.Config.InviteTTL,
		Keep: s.Config.InviteTTL + 24*time.Hour,
		Run: func(ctx context.Context, j job.Job) error {
			inv, err := s.mailedInvitation(ctx, j)
			if err != nil || inv == nil {
				return err
			}
			return job.Mailed(s.mailInvitation(ctx, *inv, j.Tries == 1))
		},
	}, away)
}

// mailedInvitationSQL finds an invitation that is still to be mailed. $1 tenant,
// $2 now, $3 invitation.
const mailedInvitationSQL = `
	SELECT i.email, i.role, i.expires_at, t.status
	FROM invitations AS i
	JOIN tenants AS t ON t.id = i.tenant_id
	WHERE i.tenant_id = $1
		AND i.id = $3
		AND i.status = 'pending'
		AND i.expires_at > $2
		AND i.declined_at IS NULL
		AND ` + inviterMayGrant

// mailedInvitation is the invitation that a job is about, or nil where it stands no more. A
// tenant that is suspended may not be tomorrow.
func (s *Invitations) mailedInvitation(ctx context.Context, j job.Job) (inv *Invitation, err error) {
	suspended := false
	err = s.DB.Read(ctx, accounts.Everywhere, func(tx *db.Tx) error {
		inv = nil
		return tx.Query(mailedInvitationSQL,
			[]any{j.Tenant, s.Now(), j.Key}, func(r *db.Row) error {
				inv = &Invitation{TenantID: j.Tenant, ID: j.Key, Email: r.Text(0), Role: actor.Role(r.Text(1)),
					ExpiresAt: accounts.Time{Time: r.Time(2)}}
				suspended = r.Text(3) != "active"
				return nil
			})
	})
	if err == nil && suspended {
		err = job.Alone(errors.New("identity: the tenant that invites is suspended"))
	}
	return inv, err
}

// mailInvitation words the mail and hands it on. A stranger gets an account and a
// link that opens it; an account holder is asked to sign in, and so is who was
// mailed a code within the mail interval, which stays good.
func (s *Invitations) mailInvitation(ctx context.Context, inv Invitation, first bool) error {
	l := mailtemplate.Letter{Kind: mailtemplate.TenantInvite, TenantID: inv.TenantID, To: inv.Email,
		Link: s.invitationLink(inv), Role: string(inv.Role), Valid: inv.ExpiresAt.Sub(s.Now())}
	err := s.Write(ctx, func(tx *db.Tx) error {
		err := tx.One("SELECT name FROM tenants WHERE id = $1", []any{inv.TenantID}, func(r *db.Row) error {
			l.Tenant = r.Text(0)
			return nil
		})
		if err != nil {
			return err
		}
		u, known, err := s.findOrMakeInvitee(tx, inv.Email)
		if err != nil {
			return err
		}
		if known {
			l.User = u.ID
		}
		if !u.EmailConfirmedAt.IsZero() || known && first && s.Post.SentLately(u.ConfirmationSentAt) {
			return nil
		}
		c, err := s.Codes.MakeCode(tx, u, codes.CodeOrder{Kind: codes.KindInvite, Address: inv.Email,
			TTL: inv.ExpiresAt.Sub(s.Now())})
		if err != nil {
			return err
		}
		l.Kind, l.Link = mailtemplate.Invite, c.Link
		return markLinked(tx, inv, secrets.Digest(c.Hash))
	})
	if err != nil {
		return err
	}
	return s.Post.Deliver(ctx, l)
}
